// SPDX-License-Identifier: Apache-2.0
#include "tune/gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/cost/draft_block.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/search/tile_templates.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/support/error.hpp"
#include "tune/methods.hpp"

namespace tensorsmith {
namespace {

BuiltCandidate simulated_candidate(double ns) {
  BuiltCandidate built;
  built.entry = "simulated";
  built.object.resize(sizeof(double));
  std::memcpy(built.object.data(), &ns, sizeof(double));
  return built;
}

class SimulatedBuilder final : public CandidateBuilder {
 public:
  explicit SimulatedBuilder(const Target& target) : target_(target) {}

  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const Result<GpuLatency, MeasureFault> latency = latency_on_board(state, target_);
    if (!latency) {
      return fail(latency.error());
    }
    return simulated_candidate(latency->ns);
  }

 private:
  Target target_;
};

/// Whether every stage that asks for a tensor intrinsic got it somewhere. The draft takes that for
/// granted; extents that are no multiples of what the intrinsic sums up may leave no place for it.
bool has_its_intrinsics(const State& state, const LoopProgram& program, const Target& target) {
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    const TensorIntrinsic* const wanted = find_intrinsic(target, state.stage(stage).hints);
    const auto is_it = [wanted](const Stmt& stmt) {
      const For* loop = std::get_if<For>(&stmt);
      return loop != nullptr && loop->intrinsic == wanted;
    };
    if (wanted != nullptr && !any_item(program.stmts, is_it)) {
      return false;
    }
  }
  return true;
}

/// Cycles of the draft at the nominal clock, for what can be lowered.
class DraftedBuilder final : public CandidateBuilder {
 public:
  DraftedBuilder(const Target& target, std::int32_t num_threads)
      : target_(target), num_threads_(num_threads) {}

  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const Result<KernelPrograms, LowerError> programs = lower_kernel(state, target_);
    if (!programs) {
      return fail(MeasureFault{MeasureStatus::instantiation_error, explain(programs.error())});
    }
    if (!has_its_intrinsics(state, programs->main, target_)) {
      return fail(MeasureFault{MeasureStatus::instantiation_error,
                               "no loop is left for the instruction that a stage asks for"});
    }
    const double cycles = draft_cycles(state, target_, num_threads_);
    return simulated_candidate(nominal_ns(cycles, target_));
  }

 private:
  Target target_;
  std::int32_t num_threads_;
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

bool is_worth_compiling(const LoopProgram& program, const Target& target) {
  const Result<CudaSource, std::string> source = cuda_source(program, target);
  return source && std::all_of(source->launches.begin(), source->launches.end(),
                               [&](const CudaLaunch& launch) {
                                 return check_launch(launch, *target.gpu) &&
                                        check_arrays(launch, *target.gpu) && compiles_soon(launch);
                               });
}

bool is_worth_compiling(const ProgramView& candidate, const FeatureContext& context) {
  const auto& program = candidate.part<lowered_program_of>(context);
  return program && candidate.part<gpu_latency_of>(context) &&
         is_worth_compiling(*program, context.target);
}

State first_gpu_state(const Shared<const ComputeDag>& dag, const Target& target) {
  const HardwareParams hardware = hardware_params(target);
  const SearchSpace space(generate_sketches(dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
                          gpu_space_options(hardware));
  constexpr std::uint32_t most_drawn = 1000;
  for (std::uint32_t i = 0; i < most_drawn; ++i) {
    CounterRng rng(1, 0, 0, i);
    if (std::optional<Candidate> candidate = draw_candidate(space, AnsorGpuPopulation{}, rng)) {
      return std::move(candidate->state);
    }
  }
  throw Error("the GPU space has no legal program of this workload among the first " +
              std::to_string(most_drawn));
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

Owned<CandidateBuilder> make_simulated_builder(const Target& target) {
  return make_owned<SimulatedBuilder>(target);
}

Owned<CandidateBuilder> make_drafted_builder(const Target& target, std::int32_t num_threads) {
  return make_owned<DraftedBuilder>(target, num_threads);
}

Owned<Measurer> make_simulated_measurer(const Target& target, SimulatedDevice device) {
  if (target.gpu) {
    const GpuLimits& gpu = *target.gpu;
    device.calibration.peak_gflops_f32 =
        2e-3 * gpu.f32_fma_rate * gpu.board->num_sms * gpu.board->clock_mhz;
  } else {  // of one core
    device.calibration.peak_gflops_f32 = 2e-3 * target.fma_per_cycle.value_or(1) *
                                         target.vector_lanes(32) * target.clock_mhz.value_or(1000);
  }
  device.calibration.vector_bits = target.vector_bits;
  return make_owned<SimulatedMeasurer>(latency_of, device);
}

SketchOptions gpu_sketch_options_for(const SpaceContext& context) {
  SketchOptions options = gpu_sketch_options(hardware_params(context.task.target));
  options.tiling_structure = context.params.gpu_multi_level_tiling_structure;
  for (const TensorIntrinsic* intrinsic : intrinsics_of(context.task.target)) {
    // One that rounds factors of f32 is for those who ask for it by their own rules.
    if (!(intrinsic->a == DType::f32 && intrinsic->accumulator == DType::f32)) {
      options.intrinsics.push_back(intrinsic);
    }
  }
  return options;
}

Owned<SearchPolicy> make_gpu_policy(SearchContext& context, const PolicyOptions& policy) {
  if (context.drawing == DrawingKind::native) {
    auto population = population_of<NativeGpuPopulation>(context.space);
    return make_owned<BasicEvolutionaryPolicy<NativeGpuPopulation, NativeGpuMutators>>(
        std::move(context.space), context.model, std::move(context.callbacks), policy,
        std::move(population), NativeGpuMutators{});
  }
  return make_owned<BasicEvolutionaryPolicy<AnsorGpuPopulation, AnsorGpuMutators>>(
      std::move(context.space), context.model, std::move(context.callbacks), policy,
      AnsorGpuPopulation{}, AnsorGpuMutators{});
}

}  // namespace tensorsmith
