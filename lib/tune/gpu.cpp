#include "tune/gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tensorsmith/codegen/cuda_source.hpp"
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

bool is_worth_compiling(const State& state, const Target& target) {
  const Result<LoopProgram, LowerError> program = lower(state, target);
  if (!program || !gpu_latency(*program, target)) {
    return false;
  }
  const Result<CudaSource, std::string> source = cuda_source(*program, target);
  return source && std::all_of(source->launches.begin(), source->launches.end(),
                               [&](const CudaLaunch& launch) {
                                 return check_launch(launch, *target.gpu) && compiles_soon(launch);
                               });
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
                                                    {"waiting", kernel.waiting_ns}};
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
                                              const PolicyParams& params,
                                              const PolicyOptions& policy,
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
  const auto plan = make_shared_of<const FeaturePlan>(make_feature_plan(
      options, model,
      {task.target, 1, FeatureOptions{.cache_line_bytes = space.hardware.cache_line_bytes}}));
  callbacks.extract = [plan](const ProgramView& view) { return plan->extract(view); };
  callbacks.parallel_for = std::move(parallel_for);
  if (options.space != "ansor") {
    // Parts of two programs that fit need not fit together.
    callbacks.is_valid = [target = task.target, hardware = space.hardware,
                          most = space.max_buffered_bytes](const State& state) {
      return fits_block(state, hardware, most) && is_worth_compiling(state, target);
    };
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
