#include "tune/gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/cost/corrected_draft.hpp"
#include "tensorsmith/cost/gpu_draft.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {
namespace {

class SimulatedBuilder final : public CandidateBuilder {
 public:
  explicit SimulatedBuilder(const Target& target) : target_(target) {}

  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const Result<GpuLatency, MeasureFault> latency = latency_on_board(state, target_);
    if (!latency) {
      return fail(latency.error());
    }
    BuiltCandidate built;
    built.entry = "simulated";
    built.object.resize(sizeof(double));
    std::memcpy(built.object.data(), &latency->ns, sizeof(double));
    return built;
  }

 private:
  Target target_;
};

/// Whether its kernels keep the limits of the board, and are texts of a size that compiles soon.
bool is_worth_compiling(const LoopProgram& program, const Target& target) {
  const Result<CudaSource, std::string> source = cuda_source(program, target);
  return source && std::all_of(source->launches.begin(), source->launches.end(),
                               [&](const CudaLaunch& launch) {
                                 return check_launch(launch, *target.gpu) && compiles_soon(launch);
                               });
}

/// What is known of candidates without measuring them. A search asks for validity, draft and
/// features of one candidate one after the other, from several threads: each is lowered once.
class GpuAppraiser {
 public:
  GpuAppraiser(const Target& target, const SpaceOptions& space)
      : target_(target), hardware_(space.hardware), most_buffered_(space.max_buffered_bytes) {}

  bool is_valid(const State& state) { return appraise(state).is_valid; }
  /// Of a valid one.
  DraftParts draft(const State& state) { return appraise(state).parts; }

 private:
  struct Appraisal {
    bool is_valid = false;
    DraftParts parts;
  };

  Appraisal appraise(const State& state) {
    constexpr std::size_t most_known = 1 << 16;
    const std::uint64_t key = hash_steps(state.steps());
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(key); found != known_.end()) {
        return found->second;
      }
    }
    const Appraisal made = make(state);
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most_known) {
      known_.clear();
    }
    known_.emplace(key, made);
    return made;
  }
  Appraisal make(const State& state) const {
    Appraisal made;
    if (!fits_block(state, hardware_, most_buffered_)) {
      return made;  // parts of two programs that fit need not fit together
    }
    const Result<LoopProgram, LowerError> program = lower(state, target_);
    if (!program) {
      return made;
    }
    const Result<GpuLatency, GpuLimitExceeded> latency = gpu_latency(*program, target_);
    made.is_valid = latency && is_worth_compiling(*program, target_);
    made.parts = made.is_valid ? gpu_draft_parts(*latency) : DraftParts{};
    return made;
  }

  Target target_;
  HardwareParams hardware_;
  std::int64_t most_buffered_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Appraisal> known_;
};

double latency_of(const CompiledCandidate& candidate) {
  double ns = 0;
  TENSORSMITH_ASSERT(candidate.object.size() == sizeof(ns), "a candidate of the simulated builder");
  std::memcpy(&ns, candidate.object.data(), sizeof(ns));
  return ns;
}

}  // namespace

Result<GpuLatency, MeasureFault> latency_on_board(const State& state, const Target& target) {
  const Result<LoopProgram, LowerError> program = lower(state, target);
  if (!program) {
    return fail(MeasureFault{MeasureStatus::instantiation_error, explain(program.error())});
  }
  Result<GpuLatency, GpuLimitExceeded> latency = gpu_latency(*program, target);
  if (!latency) {
    return fail(MeasureFault{MeasureStatus::compile_error, explain(latency.error())});
  }
  return std::move(latency).value();
}

std::string cuda_text(const LoopProgram& program, const Target& target, const std::string& name,
                      const std::string& comment) {
  CudaSourceOptions options;
  options.name = name;
  options.comment = comment;
  Result<CudaSource, std::string> source = cuda_source(program, target, options);
  if (!source) {
    throw Error(source.error());
  }
  return std::move(source->text);
}

std::string latency_text(const GpuLatency& latency) {
  std::string text;
  for (std::size_t i = 0; i < latency.kernels.size(); ++i) {
    const GpuKernelTime& kernel = latency.kernels[i];
    const GpuWork& work = kernel.work;
    const std::pair<const char*, double> parts[] = {{"instructions", kernel.issue_ns},
                                                    {"arithmetic", kernel.arithmetic_ns},
                                                    {"shared memory", kernel.shared_ns},
                                                    {"L1", kernel.l1_ns},
                                                    {"L2", kernel.l2_ns},
                                                    {"DRAM", kernel.dram_ns},
                                                    {"waiting", kernel.waiting_ns},
                                                    {"starting blocks", kernel.start_ns}};
    char line[256];
    std::snprintf(line, sizeof(line),
                  "kernel %zu: %.0f ns, bound by %s\n"
                  "  %lld blocks of %lld threads, %lld at a time per SM, %lld waves\n"
                  "  per thread about %d registers%s; per block %lld bytes of shared memory\n"
                  "  %.3g bytes from L2, %.3g from DRAM\n ",
                  i, kernel.ns, std::string(kernel.bound()).c_str(),
                  static_cast<long long>(work.num_blocks), static_cast<long long>(work.num_threads),
                  static_cast<long long>(work.blocks_per_sm),
                  static_cast<long long>(kernel.num_waves), work.registers,
                  work.spilled > 0 ? ", more are wanted" : "",
                  static_cast<long long>(work.shared_bytes), kernel.l2_bytes, kernel.dram_bytes);
    text += line;
    for (const auto& [name, ns] : parts) {
      std::snprintf(line, sizeof(line), "%s %s %.0f ns", name == parts[0].first ? "" : ",", name,
                    ns);
      text += line;
    }
    text += "\n";
  }
  return text;
}

std::unique_ptr<CandidateBuilder> make_simulated_builder(const Target& target) {
  return std::make_unique<SimulatedBuilder>(target);
}

std::unique_ptr<Measurer> make_simulated_measurer(const Target& target, SimulatedDevice device) {
  const GpuLimits& gpu = *target.gpu;
  device.calibration.peak_gflops_f32 =
      2e-3 * gpu.f32_fma_rate * gpu.board->num_sms * gpu.board->clock_mhz;
  device.calibration.vector_bits = target.vector_bits;
  return std::make_unique<SimulatedMeasurer>(latency_of, device);
}

SketchOptions gpu_sketch_options_for(const Target& target, const PolicyParams& params) {
  SketchOptions options = gpu_sketch_options(hardware_params(target));
  options.tiling_structure = params.gpu_multi_level_tiling_structure;
  for (const TensorIntrinsic* intrinsic : intrinsics_of(target)) {
    // One that rounds factors of f32 is for those who ask for it by their own rules.
    if (!(intrinsic->a == DType::f32 && intrinsic->accumulator == DType::f32)) {
      options.intrinsics.push_back(intrinsic);
    }
  }
  return options;
}

std::vector<State> make_gpu_sketches(const TuneTask& task, const TuneOptions& options,
                                     const SketchOptions& sketch_options) {
  return options.sketches ? options.sketches(task.dag, sketch_options)
         : options.space == "ansor"
             ? generate_sketches(task.dag, ansor_gpu_rules(), sketch_options)
             : generate_sketches(task.dag, native_gpu_rules(), sketch_options);
}

std::unique_ptr<SearchPolicy> make_gpu_policy(const TuneTask& task, const TuneOptions& options,
                                              const PolicyParams& params, PolicyOptions policy,
                                              std::vector<State> sketches, CostModel& model,
                                              ParallelFor parallel_for) {
  const bool is_reference = options.space == "ansor";
  SpaceOptions space = is_reference ? gpu_space_options(hardware_params(task.target))
                                    : native_gpu_space_options(task.target);
  space.follows_reference = is_reference;
  space.max_innermost_split_factor = params.max_innermost_split_factor;
  space.max_innermost_reduction_factor = params.max_innermost_split_factor;
  space.max_vectorize_size = params.max_vectorize_size;

  SearchCallbacks callbacks;
  const FeatureOptions features{.cache_line_bytes = space.hardware.cache_line_bytes};
  callbacks.extract = [features](const State& state) { return extract_features(state, features); };
  callbacks.parallel_for = std::move(parallel_for);
  if (options.space != "ansor") {
    const auto appraiser = std::make_shared<GpuAppraiser>(task.target, space);
    callbacks.is_valid = [appraiser](const State& state) { return appraiser->is_valid(state); };
    if (has_draft(options, task.target)) {
      const bool needs_rows = dynamic_cast<const CorrectedDraft*>(&model) == nullptr;
      callbacks.extract = [appraiser, features, needs_rows](const State& state) {
        FeatureMatrix seen = needs_rows ? extract_features(state, features) : FeatureMatrix{};
        if (!needs_rows || !seen.empty()) {
          seen.draft = draft_columns(appraiser->draft(state), schedule_choices(state));
        }
        return seen;
      };
      callbacks.draft = [appraiser](const State& state) { return appraiser->draft(state).total; };
      policy.target = task.target;
    }
    return std::make_unique<BasicEvolutionaryPolicy<NativeGpuPopulation, NativeGpuMutators>>(
        SearchSpace(std::move(sketches), space), model, std::move(callbacks), policy,
        NativeGpuPopulation{}, NativeGpuMutators{});
  }
  // As the reference, which has no features for a program that exceeds the limits of a block.
  callbacks.is_valid = [target = task.target,
                        most = space.hardware.max_shared_memory_per_block](const State& state) {
    const Result<GpuLatency, MeasureFault> latency = latency_on_board(state, target);
    return latency && std::all_of(latency->kernels.begin(), latency->kernels.end(),
                                  [most](const GpuKernelTime& kernel) {
                                    return kernel.work.shared_bytes <= most;
                                  });
  };
  return std::make_unique<BasicEvolutionaryPolicy<AnsorGpuPopulation, AnsorGpuMutators>>(
      SearchSpace(std::move(sketches), space), model, std::move(callbacks), policy,
      AnsorGpuPopulation{}, AnsorGpuMutators{});
}

}  // namespace tensorsmith
