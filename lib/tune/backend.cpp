// SPDX-License-Identifier: Apache-2.0
// The backends: this machine's CPU, a GPU of this machine, a simulated board.
// requires: llvm
#include "tensorsmith/tune/backend.hpp"

#include <algorithm>
#include <utility>

#include "tensorsmith/host.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune/calibration.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tensorsmith/tune/replay.hpp"
#include "tune/compile.hpp"
#include "tune/cuda_device.hpp"
#include "tune/gpu.hpp"

namespace tensorsmith {
namespace {

WorkerOptions worker_options(const MeasurerOptions& options) {
  WorkerOptions worker;
  worker.worker_path = options.worker_path;
  worker.start_timeout_ns = static_cast<std::int64_t>(options.start_seconds * 1e9);
  if (const std::string problem = worker_program_problem(worker); !problem.empty()) {
    throw Error("tune: " + problem);
  }
  return worker;
}

/// What real and simulated processors have in common: the texts.
class CpuTexts : public Backend {
 public:
  explicit CpuTexts(const Target& target) : target_(target) {}

  State untuned(const Shared<const ComputeDag>& dag) const override {
    return replay_steps(dag, {});
  }
  std::string source(const LoopProgram& program, std::int32_t num_threads, const std::string& name,
                     const std::string& comment) const override {
    return export_cpp(program, target_,
                      {.name = name, .comment = comment, .num_threads = num_threads})
        .source;
  }
  std::string assembly(const State& state, std::int32_t num_threads) const override {
    return assembly_of(state, target_, num_threads);
  }

 protected:
  Target target_;
};

class CpuBackend final : public CpuTexts {
 public:
  using CpuTexts::CpuTexts;

  BackendFacts facts() const override {
    return {.device_name = probe_host().model_name, .machine = machine_fingerprint(target_)};
  }
  Owned<CandidateBuilder> make_builder(std::int32_t num_threads) const override {
    return make_candidate_builder(target_, num_threads);
  }
  Owned<Measurer> make_measurer(const MeasurerOptions& options) const override {
    return make_owned<WorkerMeasurer>(worker_options(options));
  }
  PlainRunner make_reference() const override { return make_plain_runner(target_); }
};

/// A processor that this machine is not. Times are those of the draft; texts are real.
class SimulatedCpuBackend final : public CpuTexts {
 public:
  using CpuTexts::CpuTexts;

  BackendFacts facts() const override { return {.device_name = "simulated", .runs_code = false}; }
  Owned<CandidateBuilder> make_builder(std::int32_t num_threads) const override {
    return make_drafted_builder(target_, num_threads);
  }
  Owned<Measurer> make_measurer(const MeasurerOptions& options) const override {
    return make_simulated_measurer(target_, options.simulated);
  }
  PlainRunner make_reference() const override { return {}; }
  std::string call_problem() const override {
    return target_.name + " is simulated, so there is no code to call; source() gives its text";
  }
};

/// What real and simulated GPUs have in common.
class GpuBackend : public Backend {
 public:
  explicit GpuBackend(const Target& target) : target_(target) {}

  State untuned(const Shared<const ComputeDag>& dag) const override {
    return first_gpu_state(dag, target_);
  }
  std::string source(const LoopProgram& program, std::int32_t, const std::string& name,
                     const std::string& comment) const override {
    return export_cuda(program, target_, name, comment).kernel.source;
  }

 protected:
  /// NVRTC takes the longer, the more of them compile at once.
  static constexpr double build_limit_seconds = 30;
  Target target_;
};

class CudaBackend final : public GpuBackend {
 public:
  using GpuBackend::GpuBackend;

  BackendFacts facts() const override {
    return {.device_name = cuda_device_name(target_),
            .has_threads = false,
            .build_limit_seconds = build_limit_seconds,
            .first_round_size = 32};
  }
  Owned<CandidateBuilder> make_builder(std::int32_t) const override {
    return make_cuda_builder(target_);
  }
  Owned<Measurer> make_measurer(const MeasurerOptions& options) const override {
    return make_cuda_measurer(target_, worker_options(options));
  }
  PlainRunner make_reference() const override { return make_plain_runner(host_target()); }
  std::string assembly(const State&, std::int32_t) const override {
    throw Error("target " + target_.name +
                " is a GPU; tensorsmith export writes the program for nvcc, and cuobjdump shows "
                "its assembly");
  }
  std::string call_problem() const override {
    return target_.name +
           " is a GPU, and a Kernel is called on the CPU; source() gives its text, with "
           "the function that launches it";
  }
};

class SimulatedBackend final : public GpuBackend {
 public:
  using GpuBackend::GpuBackend;

  BackendFacts facts() const override {
    return {.device_name = "simulated",
            .runs_code = false,
            .has_threads = false,
            .build_limit_seconds = build_limit_seconds};
  }
  Owned<CandidateBuilder> make_builder(std::int32_t) const override {
    return make_simulated_builder(target_);
  }
  Owned<Measurer> make_measurer(const MeasurerOptions& options) const override {
    return make_simulated_measurer(target_, options.simulated);
  }
  PlainRunner make_reference() const override { return {}; }
  std::string assembly(const State&, std::int32_t) const override {
    throw Error("target " + target_.name + " is simulated; it has no assembly");
  }
  std::string call_problem() const override {
    return target_.name + " is simulated, so there is no code to call; source() gives its text";
  }
  std::string model_text(const State& state) const override {
    const Result<GpuLatency, MeasureFault> latency = latency_on_board(state, target_);
    return latency ? latency_text(*latency) : latency.error().message;
  }
};

}  // namespace

Owned<Backend> make_backend(const Target& target) {
  if (target.is_simulated) {
    return target.kind == TargetKind::cpu ? Owned<Backend>(make_owned<SimulatedCpuBackend>(target))
                                          : Owned<Backend>(make_owned<SimulatedBackend>(target));
  }
  if (target.kind == TargetKind::cpu) {
    return make_owned<CpuBackend>(target);
  }
  return make_owned<CudaBackend>(target);
}

}  // namespace tensorsmith
