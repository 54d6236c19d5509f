// SPDX-License-Identifier: Apache-2.0
#include "tune/cuda_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>
#include <utility>

#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/cuda/cuda_object.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith {
namespace {

/// With the cache of compiled kernels; without one everything is compiled, no more.
Result<NvrtcCompiler, std::string> open_compiler() {
  Result<NvrtcCompiler, std::string> compiler = NvrtcCompiler::open();
  if (const std::string folder = cache_folder(); compiler && !folder.empty()) {
    (void)compiler->use_cache(folder + "/cubins");
  }
  return compiler;
}

class CudaBuilder final : public CandidateBuilder {
 public:
  CudaBuilder(const Target& target, NvrtcCompiler compiler)
      : target_(target), compiler_(std::move(compiler)) {}

  std::int32_t num_threads() const override {
    return static_cast<std::int32_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
  }

  Shared<CandidateBuilder> another() const override {
    Result<NvrtcCompiler, std::string> compiler = open_compiler();
    return compiler ? make_shared_of<CudaBuilder>(target_, std::move(compiler).value()) : nullptr;
  }

  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const auto refuse = [](MeasureStatus status, const std::string& why) {
      return fail(MeasureFault{status, why});
    };
    const Result<LoopProgram, LowerError> program = lower(state, target_);
    if (!program) {
      return refuse(MeasureStatus::instantiation_error, explain(program.error()));
    }
    const Result<CudaSource, std::string> source = cuda_source(*program, target_);
    if (!source) {
      return refuse(MeasureStatus::compile_error, source.error());
    }
    const GpuLimits& limits = *target_.gpu;
    for (const CudaLaunch& launch : source->launches) {
      for (const auto& check : {check_launch, check_arrays}) {
        if (const Result<Done, std::string> checked = check(launch, limits); !checked) {
          return refuse(MeasureStatus::compile_error, checked.error());
        }
      }
    }
    const Result<Cubin, std::string> cubin =
        compiler_.compile({source->text, nvrtc_architecture(limits)});
    if (!cubin) {
      return refuse(MeasureStatus::compile_error, cubin.error());
    }
    for (const CudaLaunch& launch : source->launches) {
      const auto kernel =
          std::find_if(cubin->kernels.begin(), cubin->kernels.end(),
                       [&](const CubinKernel& compiled) { return compiled.name == launch.kernel; });
      if (kernel == cubin->kernels.end()) {
        return refuse(MeasureStatus::compile_error, "the code has no kernel " + launch.kernel);
      }
      const Result<Done, std::string> checked = check_kernel(*kernel, launch, limits);
      if (!checked) {
        return refuse(MeasureStatus::compile_error, checked.error());
      }
    }
    BuiltCandidate built;
    built.entry = source->launches.front().kernel;
    built.shared_bytes = source->workspace_bytes;
    built.object = cuda::encode_object(*source, cubin->code);
    return built;
  }

 private:
  Target target_;
  NvrtcCompiler compiler_;
};

class CudaMeasurer final : public Measurer {
 public:
  CudaMeasurer(const Target& target, const WorkerOptions& options) : workers_(options) {
    const GpuLimits& gpu = *target.gpu;
    peak_.peak_gflops_f32 = 2e-3 * gpu.f32_fma_rate * gpu.board->num_sms * gpu.board->clock_mhz;
    peak_.vector_bits = target.vector_bits;
  }

  Result<Done, MeasureFault> prepare(const MeasureTask& task) override {
    return workers_.prepare(task);
  }
  std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                     const MeasureContext& context) override {
    return workers_.measure(candidates, context);
  }
  RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                              const RankingPolicy& policy) override {
    return workers_.final_ranking(candidates, policy);
  }
  Result<Calibration, MeasureFault> calibrate() override { return peak_; }

 private:
  WorkerMeasurer workers_;
  Calibration peak_;
};

const CudaDevice* find_device(const std::vector<CudaDevice>& devices, const Target& target) {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const CudaDevice& device) {
    return device.number == target.device.value_or(-1);
  });
  return found == devices.end() ? nullptr : &*found;
}

}  // namespace

Owned<CandidateBuilder> make_cuda_builder(const Target& target) {
  Result<NvrtcCompiler, std::string> compiler = open_compiler();
  if (!compiler) {
    throw Error("tune: " + compiler.error());
  }
  const auto devices = list_cuda_devices();
  const CudaDevice* const device = devices ? find_device(*devices, target) : nullptr;
  if (device != nullptr &&
      std::atoi(compiler->version().c_str()) > std::atoi(device->driver.c_str())) {
    throw Error("tune: NVRTC " + compiler->version() + " (" + compiler->path() +
                ") makes code that the driver, which is of CUDA " + device->driver +
                ", does not load: set TENSORSMITH_NVRTC to an NVRTC that is no newer, or install a "
                "newer driver");
  }
  return make_owned<CudaBuilder>(target, std::move(compiler).value());
}

Owned<Measurer> make_cuda_measurer(const Target& target, const WorkerOptions& options) {
  return make_owned<CudaMeasurer>(target, options);
}

std::string cuda_device_name(const Target& target) {
  const auto devices = list_cuda_devices();
  const CudaDevice* const device = devices ? find_device(*devices, target) : nullptr;
  return device != nullptr ? device->name : "unknown GPU";
}

}  // namespace tensorsmith
