// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
// bench_cuda: from a state to machine code of a GPU, without one.
//
//   bench_cuda [--json] [--ansor] [--texts] [WORKLOAD...]   without one: every form of the grammar
// lower: state to loops. text: loops to CUDA text (wanted: together at most 1 ms). Then NVRTC on
// all cores, for four architectures each: kernels per second, and what does not compile, spills or
// exceeds the limits of the architecture. Drawn as the native space draws, or the reference's
// (--ansor); what its launch alone shows to be too large, or too long, is not compiled (pruned).
// --texts adds one line per text: its stores, its size and the compiler's time. Without a cache.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/candidates.hpp"
#include "bench/support/loop_timer.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/workload_main.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/codegen/nvrtc.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"

namespace tensorsmith::bench {
namespace {

constexpr std::int32_t capabilities[] = {75, 80, 89, 90};
constexpr std::size_t candidates_per_workload = 12;  // and architecture

struct Options {
  bool is_reference = false, prints_json = false, prints_texts = false;
};

std::vector<State> gpu_states(const std::string& workload, const Target& target, std::size_t count,
                              bool is_reference) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  const HardwareParams hardware = hardware_params(target);
  SketchOptions options = gpu_sketch_options(hardware);
  options.intrinsics = intrinsics_of(target);
  const SearchSpace space(
      is_reference ? generate_sketches(parsed->dag, ansor_gpu_rules(), options)
                   : generate_sketches(parsed->dag, native_gpu_rules(), options),
      is_reference ? gpu_space_options(hardware) : native_gpu_space_options(target));
  std::vector<State> states;
  for (std::uint32_t i = 0; states.size() < count && i < 40 * count; ++i) {
    CounterRng rng(1, 0, 0, i);
    if (std::optional<Candidate> candidate =
            is_reference ? draw_candidate(space, AnsorGpuPopulation{}, rng)
                         : draw_candidate(space, NativeGpuPopulation{}, rng)) {
      states.push_back(std::move(candidate->state));
    }
  }
  return states;
}

struct Texts {
  std::vector<CudaSource> sources;
  std::vector<GpuLimits> limits;
  std::vector<double> lower_ms, text_ms;
  std::size_t without_text = 0, pruned = 0;
  std::string first_problem;

  void problem(const std::string& why) {
    first_problem = first_problem.empty() ? why : first_problem;
  }
};

Texts make_texts(const std::string& workload, bool is_reference) {
  Texts texts;
  for (const std::int32_t capability : capabilities) {
    const Target target = Target::cuda(capability).value();
    const std::size_t num_kept = texts.sources.size() + candidates_per_workload;
    for (const State& state :
         gpu_states(workload, target, 4 * candidates_per_workload, is_reference)) {
      if (texts.sources.size() == num_kept) {
        break;
      }
      const double begin = now_ns();
      const Result<LoopProgram, LowerError> program = lower(state, target);
      const double lowered = now_ns();
      if (!program) {
        ++texts.without_text;
        texts.problem(explain(program.error()));
        continue;
      }
      Result<CudaSource, std::string> source = cuda_source(*program, target);
      const double printed = now_ns();
      if (!source) {
        ++texts.without_text;
        texts.problem(source.error());
        continue;
      }
      texts.lower_ms.push_back((lowered - begin) / 1e6);
      texts.text_ms.push_back((printed - lowered) / 1e6);
      if (any_item(source->launches, [&](const CudaLaunch& launch) {
            return !check_launch(launch, *target.gpu) || !compiles_soon(launch);
          })) {
        ++texts.pruned;
        continue;
      }
      texts.sources.push_back(std::move(*source));
      texts.limits.push_back(*target.gpu);
    }
  }
  return texts;
}

/// Stores once unrolled, characters, and the compiler's time alone on one thread.
void print_texts(const NvrtcCompiler& compiler, const Texts& texts) {
  for (std::size_t i = 0; i < texts.sources.size(); ++i) {
    const CudaSource& source = texts.sources[i];
    double num_stores = 0;
    for (const CudaLaunch& launch : source.launches) {
      num_stores += launch.num_stores;
    }
    const double begin = now_ns();
    const bool is_good =
        compiler.compile({source.text, nvrtc_architecture(texts.limits[i])}).has_value();
    std::printf("  %s: %zu kernels, %.0f stores, %zu characters, %.0f ms%s\n",
                nvrtc_architecture(texts.limits[i]).c_str(), source.launches.size(), num_stores,
                source.text.size(), (now_ns() - begin) / 1e6, is_good ? "" : ", failed");
  }
}

int run(std::vector<std::string> workloads, const Options& options) {
  const bool prints_json = options.prints_json;
  const auto compiler = NvrtcCompiler::open();
  if (!compiler) {
    std::fprintf(stderr, "bench_cuda: %s\n", compiler.error().c_str());
    return 1;
  }
  if (workloads.empty()) {
    for (const ops::GrammarLine& line : ops::workload_grammar) {
      workloads.push_back(line.example);
    }
  }
  if (!prints_json) {
    std::printf("NVRTC %s, %s\n%-46s %6s %6s %6s %8s %8s %9s %6s %6s\n",
                compiler->version().c_str(), compiler->path().c_str(), "workload", "pruned",
                "texts", "failed", "lower ms", "text ms", "kernels/s", "spill", "limits");
  }
  nlohmann::json report{{"nvrtc", compiler->version()}, {"cases", nlohmann::json::array()}};
  std::size_t num_failed = 0, num_texts = 0, num_kernels = 0;
  double seconds = 0;
  for (const std::string& workload : workloads) {
    Texts texts = make_texts(workload, options.is_reference);
    if (options.prints_texts && !prints_json) {
      print_texts(*compiler, texts);
    }
    std::vector<NvrtcJob> jobs;
    for (std::size_t i = 0; i < texts.sources.size(); ++i) {
      jobs.push_back({texts.sources[i].text, nvrtc_architecture(texts.limits[i])});
    }
    const double begin = now_ns();
    const auto cubins = compiler->compile_all(jobs);
    const double elapsed = (now_ns() - begin) / 1e9;
    std::size_t failed = texts.without_text, spilling = 0, refused = 0, kernels = 0;
    for (std::size_t i = 0; i < cubins.size(); ++i) {
      if (!cubins[i]) {
        ++failed;
        texts.problem(cubins[i].error());
        continue;
      }
      bool spills = false, is_refused = false;
      for (const CudaLaunch& launch : texts.sources[i].launches) {
        for (const CubinKernel& kernel : cubins[i]->kernels) {
          if (kernel.name == launch.kernel) {
            spills = spills || kernel.spill_bytes > 0;
            is_refused = is_refused || !check_kernel(kernel, launch, texts.limits[i]);
          }
        }
      }
      kernels += cubins[i]->kernels.size();
      spilling += spills ? 1 : 0;
      refused += is_refused && !spills ? 1 : 0;
    }
    num_failed += failed;
    num_texts += cubins.size();
    num_kernels += kernels;
    seconds += elapsed;
    const double lower_ms = texts.lower_ms.empty() ? 0 : median(texts.lower_ms);
    const double text_ms = texts.text_ms.empty() ? 0 : median(texts.text_ms);
    const double rate = static_cast<double>(kernels) / elapsed;
    report["cases"].push_back({{"workload", workload},
                               {"pruned", texts.pruned},
                               {"texts", cubins.size()},
                               {"failed", failed},
                               {"first_problem", texts.first_problem},
                               {"lower_ms", lower_ms},
                               {"text_ms", text_ms},
                               {"kernels_per_second", rate},
                               {"spilling", spilling},
                               {"beyond_limits", refused}});
    if (!prints_json) {
      std::printf("%-46s %6zu %6zu %6zu %8.3f %8.3f %9.1f %6zu %6zu\n",
                  workload.substr(0, 46).c_str(), texts.pruned, cubins.size(), failed, lower_ms,
                  text_ms, rate, spilling, refused);
      if (failed > 0) {
        std::printf("  %s\n", texts.first_problem.c_str());
      }
      std::fflush(stdout);
    }
  }
  report["texts"] = num_texts;
  report["failed"] = num_failed;
  report["kernels_per_second"] = static_cast<double>(num_kernels) / seconds;
  if (prints_json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    std::printf("%zu texts, %zu failed, %.1f kernels per second\n", num_texts, num_failed,
                static_cast<double>(num_kernels) / seconds);
  }
  return num_failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  tensorsmith::bench::Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--ansor") == 0) {
      options.is_reference = true;
    } else if (std::strcmp(argv[i], "--texts") == 0) {
      options.prints_texts = true;
    } else {
      argv[kept++] = argv[i];
    }
  }
  return tensorsmith::bench::run_on_workloads(
      "bench_cuda", kept, argv, [&](std::vector<std::string> workloads, bool prints_json) {
        options.prints_json = prints_json;
        return tensorsmith::bench::run(std::move(workloads), options);
      });
}
