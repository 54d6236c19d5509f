// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// bench_compile: milliseconds from a state to a callable function, by phase, on one thread.
//
//   bench_compile [--json] [WORKLOAD...]
// lower: state to loops. compile: loops to LLVM IR to object code. load: object code to an address.
// Code for one thread, as tuning for one thread makes it. Beside it, not part of the total: the IR
// alone (built and written as text), compiling for several threads, and the total of candidates
// that share a module, 16 at a time. "drawn": at random, as the first population of a search;
// "proposed": what a search measures first.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/candidates.hpp"
#include "bench/support/loop_timer.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/proposals.hpp"
#include "bench/support/workload_main.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/lower/lower.hpp"

namespace tensorsmith::bench {
namespace {

struct Phases {
  std::vector<double> lower, compile, load, total, ir;  // ms per candidate
  std::vector<double> parallel;                         // compile, for several threads
  std::vector<double> batched;                          // total, one entry per module
  std::size_t failed = 0, object_bytes = 0;
  std::string first_failure;
};

constexpr std::size_t num_programs = 48, batch_size = 16;

/// From states to functions, `batch_size` to a module; ms per candidate, one entry per module.
std::vector<double> measure_batched(const std::vector<State>& states, const Target& target) {
  LlvmCompiler compiler(target, LlvmOptions{.is_serial = true});
  std::vector<double> batched;
  for (std::size_t first = 0; first < states.size(); first += batch_size) {
    const double begin = now_ns();
    std::vector<LoopProgram> programs;
    for (std::size_t i = first; i < std::min(first + batch_size, states.size()); ++i) {
      Result<LoopProgram, LowerError> program = lower(states[i], target);
      if (program) {
        programs.push_back(std::move(*program));
      }
    }
    std::vector<BatchItem> items;
    for (const LoopProgram& program : programs) {
      items.push_back({&program, "kernel" + std::to_string(items.size())});
    }
    const CompiledBatch batch = compiler.compile_batch(items);
    const std::vector<Result<JitKernel, std::string>> kernels = JitKernel::load_batch(batch);
    const double elapsed = now_ns() - begin;
    std::size_t num_good = 0;
    for (const auto& kernel : kernels) {
      num_good += kernel.has_value() ? 1 : 0;
    }
    if (num_good > 0) {
      batched.push_back(elapsed / 1e6 / static_cast<double>(num_good));
    }
  }
  return batched;
}

Phases measure(const std::vector<State>& states, const Target& target) {
  Phases phases;
  LlvmCompiler compiler(target, LlvmOptions{.is_serial = true});
  LlvmCompiler parallel_compiler(target);
  const auto failure = [&](const std::string& why) {
    phases.first_failure = phases.failed++ == 0 ? why : phases.first_failure;
  };
  bool is_warm = false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const double begin = now_ns();
    const Result<LoopProgram, LowerError> program = lower(states[i], target);
    const double lowered = now_ns();
    if (!program) {
      failure(explain(program.error()));
      continue;
    }
    const Result<CompiledObject, std::string> object = compiler.compile(*program);
    const double compiled = now_ns();
    if (!object) {
      failure(object.error());
      continue;
    }
    const Result<JitKernel, std::string> kernel = JitKernel::load(*object);
    const double loaded = now_ns();
    if (!kernel) {
      failure(kernel.error());
      continue;
    }
    if (!is_warm) {  // the first one pays for LLVM's start
      is_warm = true;
      --i;
      continue;
    }
    phases.lower.push_back((lowered - begin) / 1e6);
    phases.compile.push_back((compiled - lowered) / 1e6);
    phases.load.push_back((loaded - compiled) / 1e6);
    phases.total.push_back((loaded - begin) / 1e6);
    phases.object_bytes += object->object.size();
    double before = now_ns();
    const Result<std::string, std::string> text = compiler.llvm_ir(*program);
    if (text) {
      phases.ir.push_back((now_ns() - before) / 1e6);
    }
    before = now_ns();
    if (parallel_compiler.compile(*program)) {
      phases.parallel.push_back((now_ns() - before) / 1e6);
    }
  }
  phases.batched = measure_batched(states, target);
  return phases;
}

/// A line of the table, if it `prints`, and the entry of the report.
nlohmann::json report_case(const std::string& workload, const char* kind, const Phases& phases,
                           bool prints) {
  const double ir = phases.ir.empty() ? 0 : median(phases.ir);
  const double parallel = phases.parallel.empty() ? 0 : median(phases.parallel);
  const double batched = phases.batched.empty() ? 0 : median(phases.batched);
  if (prints) {
    std::printf("%-46s %-8s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %10.2f %8.2f",
                workload.substr(0, 46).c_str(), kind, median(phases.lower), median(phases.compile),
                median(phases.load), median(phases.total), percentile(phases.total, 0.9), ir,
                parallel, batched);
    std::printf(phases.failed == 0 ? "\n" : "  failed: %zu (%s)\n", phases.failed,
                phases.first_failure.c_str());
  }
  return {{"workload", workload},
          {"programs", kind},
          {"candidates", phases.total.size()},
          {"failed", phases.failed},
          {"first_failure", phases.first_failure},
          {"lower_ms", median(phases.lower)},
          {"compile_ms", median(phases.compile)},
          {"load_ms", median(phases.load)},
          {"total_ms", median(phases.total)},
          {"total_p90_ms", percentile(phases.total, 0.9)},
          {"ir_text_ms", ir},
          {"parallel_compile_ms", parallel},
          {"batch_size", batch_size},
          {"batched_total_ms", batched},
          {"object_bytes", phases.object_bytes / phases.total.size()}};
}

int run(std::vector<std::string> workloads, bool prints_json) {
  if (workloads.empty()) {
    workloads = {"gemm:512x512x512:f32", "gemm:127x509x251:f32,bias,relu",
                 "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1,layout=free"};
  }
  const Target target = host_target();
  nlohmann::json report;
  report["machine"] = machine_facts(probe_host(), {});
  report["cases"] = nlohmann::json::array();
  if (!prints_json) {
    std::printf("median ms per candidate %40s %8s %8s %8s %8s %8s %10s %8s\n", "lower", "compile",
                "load", "total", "p90", "(IR)", "(parallel)", "(batch)");
  }
  for (const std::string& workload : workloads) {
    const std::vector<State> drawn = sample_states(workload, target, num_programs);
    const std::vector<State> proposed =
        proposed_states(*ops::parse_workload(workload), target, num_programs, num_programs);
    for (const bool is_proposed : {false, true}) {
      const Phases phases = measure(is_proposed ? proposed : drawn, target);
      if (phases.total.empty()) {
        std::fprintf(stderr, "bench_compile: no candidate of %s could be compiled: %s\n",
                     workload.c_str(), phases.first_failure.c_str());
        return 1;
      }
      report["cases"].push_back(
          report_case(workload, is_proposed ? "proposed" : "drawn", phases, !prints_json));
    }
  }
  if (prints_json) {
    std::printf("%s\n", report.dump(2).c_str());
  } else {
    std::printf("wanted: total at most 10 ms, in batches at most 5 ms\n");
  }
  return 0;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  return tensorsmith::bench::run_on_workloads("bench_compile", argc, argv, tensorsmith::bench::run);
}
