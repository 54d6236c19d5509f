// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_exports: exported C++ beside the kernel in memory that it was written from.
//
//   bench_exports --tune-seconds 3 --json exports.json
//   bench_exports --workload gemm:256x256x256 --targets host --compilers g++
//
// Every workload is tuned for every target, its C++ compiled with -O2 by every compiler, and all of
// them take turns with the machine code of the search. Exit code 0: every text compiles without a
// warning and every result agrees; 1: not; 2: wrong arguments; 130: interrupted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "bench/support/calibrate.hpp"
#include "bench/support/interrupt.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/packed_kernel.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/report_file.hpp"
#include "compiled_source.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/report/search_curve.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/export.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith::bench {
namespace {

/// All classes of named workloads, and programs in index notation.
const std::vector<std::string> default_workloads = {
    "gemm:256x256x256",
    "gemm:63x255x127",
    "gemm:128x3072x768,bias,gelu",
    "gemm:16x768x768:i8",
    "gemm:64x768x768:bf16",
    "bmm:12x128x128x64",
    "conv2d:n=1,h=28,w=28,ci=128,co=128,k=3,p=1,bias,relu",
    "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,p=1,layout=nchw",
    "depthwise:n=1,h=56,w=56,c=128,k=3,p=1",
    "max_pool:n=1,h=56,w=56,c=64,k=3,s=2,p=1",
    "softmax:512x1000",
    "layernorm:512x1024",
    "rmsnorm:128x768",
    "reduce_sum:1024x4096",
    "pointwise:512x1024,sigmoid",
    "pointwise:512x1024,tanh",
    "attention:12x128x128x64",
    "S[h:12,i:32,k:128] += Q[h,i,d:64]*K[h,k,d]; E[h,i,k] = exp(S[h,i,k]*0.125); "
    "Z[h,i] += E[h,i,k]; O[h,i,d:64] += E[h,i,k]*V[h,k,d]; Y[h,i,d] = O[h,i,d]/Z[h,i]",
    "B[j:512,i:512] = A[i,j]",
    "Y[i:510,j:510] = X[i,j]*0.25 + X[i+1,j]*0.5 + X[i+2,j+2]*0.25",
};

struct Options {
  double tune_seconds = 3;
  int pairs = 30;
  std::uint64_t seed = 1;
  std::vector<std::string> compilers{"g++", "clang++"};
  bool is_portable = false;
};

/// All bytes of the results.
using Bytes = std::vector<std::vector<std::byte>>;

Bytes outputs_of(const std::vector<KernelParameter>& parameters, const Operands& operands,
                 const std::function<void()>& run) {
  const auto bytes = [](const KernelParameter& p) {
    return static_cast<std::size_t>(p.num_elements * bytes_of(p.dtype));
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_output) {
      std::memset(operands.pointers[i], 0xA5, bytes(parameters[i]));  // what is not written differs
    }
  }
  run();
  Bytes result;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_output) {
      const auto* data = static_cast<const std::byte*>(operands.pointers[i]);
      result.emplace_back(data, data + bytes(parameters[i]));
    }
  }
  return result;
}

/// The greatest difference, of the greatest value of each result; infinity where one is NaN only.
double difference(const std::vector<KernelParameter>& parameters, const Bytes& a, const Bytes& b) {
  double worst = 0;
  std::size_t o = 0;
  for (const KernelParameter& p : parameters) {
    if (!p.is_output) {
      continue;
    }
    double most = 1e-30, apart = 0;
    for (std::int64_t e = 0; e < p.num_elements; ++e) {
      const auto real = [&](const Bytes& from) {
        const Scalar value = load_scalar(from[o].data() + e * bytes_of(p.dtype), p.dtype);
        return cast_scalar(value, p.dtype, DType::f64).real;
      };
      const double x = real(a), y = real(b);
      most = std::max(most, std::abs(x));
      const double gap = std::isnan(x) && std::isnan(y) ? 0 : std::abs(x - y);
      apart = std::isnan(gap) ? HUGE_VAL : std::max(apart, gap);
    }
    worst = std::max(worst, apart / most);
    ++o;
  }
  return worst;
}

/// Functions of f32 in C++ keep the bounds of machine code (docs/numerics.md), not its last bits.
double most_difference(const std::vector<KernelParameter>& parameters) {
  double most = 1e-5;
  for (const KernelParameter& p : parameters) {
    if (p.is_output && (p.dtype == DType::bf16 || p.dtype == DType::f16)) {
      most = std::max(most, 1e-2);
    }
  }
  return most;
}

nlohmann::ordered_json run_case(const std::string& text, const Target& target,
                                const std::string& machine_flag, const Options& options) {
  nlohmann::ordered_json entry;
  entry["suite"] = "exports";
  entry["workload"] = text;
  entry["target"] = target.name;
  entry["verified"] = false;
  Result<ops::Workload, std::string> workload = ops::parse_workload(text);
  if (!workload) {
    throw Error(workload.error());
  }
  TuneTask task;
  task.dag = workload->dag;
  task.workload = workload->name;
  task.target = target;
  TuneOptions tuning;
  tuning.budget.seconds = options.tune_seconds;
  tuning.seed = options.seed;
  tuning.is_cancelled = is_interrupted;
  const TuneResult result = tune(task, tuning);
  if (!result.has_best()) {
    entry["problem"] =
        result.summary.message.empty() ? result.summary.first_failure : result.summary.message;
    return entry;
  }
  const std::vector<KernelParameter> parameters = kernel_parameters(*task.dag);
  Operands operands(parameters);
  bool is_narrow = false;
  for (const KernelParameter& p : parameters) {
    is_narrow = is_narrow || p.dtype != DType::f32;
  }
  std::unique_ptr<NarrowOperands> narrow;
  if (is_narrow) {
    narrow = std::make_unique<NarrowOperands>(parameters, operands);
  }
  const PackedKernel ours(result.kernel(), parameters, operands);
  const Bytes own = outputs_of(parameters, operands, [&] { ours(); });

  const Result<KernelPrograms, LowerError> programs = lower_kernel(result.state(), target);
  if (!programs) {
    throw Error(explain(programs.error()));
  }
  const KernelSource source =
      export_cpp(programs->main, target, {.name = "exported", .is_portable = options.is_portable});
  bool is_right = result.summary.is_verified;
  std::vector<std::unique_ptr<CompiledSource>> compiled;
  std::vector<std::function<void()>> contestants{[&] { ours(); }};
  std::vector<std::string> names;
  entry["compilers"] = nlohmann::ordered_json::object();
  for (const std::string& compiler : options.compilers) {
    try {
      compiled.push_back(std::make_unique<CompiledSource>(source, compiler, machine_flag));
    } catch (const Error& error) {
      entry["compilers"][compiler] = {{"problem", error.what()}};
      is_right = false;
      continue;
    }
    const CompiledSource* kernel = compiled.back().get();
    contestants.emplace_back([kernel, &ours] { (*kernel)(ours.pointers.data()); });
    names.push_back(compiler);
    const Bytes theirs = outputs_of(parameters, operands, contestants.back());
    const double apart = difference(parameters, own, theirs);
    entry["compilers"][compiler] = {{"equal", own == theirs}, {"difference", apart}};
    is_right = is_right && apart <= most_difference(parameters);
  }
  PairOptions pairs;
  pairs.pairs = options.pairs;
  pairs.warm_calls = 1;
  pairs.is_stopped = is_interrupted;
  const std::vector<ContestantTimes> times = measure_interleaved(contestants, pairs);
  entry["ours_ns"] = times[0].median_ns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto& peer = entry["compilers"][names[i]];
    peer["ns"] = times[i + 1].median_ns;
    peer["speed"] = 1 / times[i + 1].ratio;
  }
  entry["verified"] = is_right;
  return entry;
}

void print_entry(const nlohmann::ordered_json& entry, std::FILE* out) {
  std::fprintf(out, "%-60.60s %-10s ", entry["workload"].get<std::string>().c_str(),
               entry["target"].get<std::string>().c_str());
  if (!entry.contains("ours_ns")) {
    std::fprintf(out, "no kernel: %s\n", entry["problem"].get<std::string>().c_str());
    return;
  }
  std::fprintf(out, "%9.1f us", entry["ours_ns"].get<double>() * 1e-3);
  for (const auto& [name, peer] : entry["compilers"].items()) {
    if (peer.contains("speed")) {
      std::fprintf(out, "   %s %.2f%s", name.c_str(), peer["speed"].get<double>(),
                   peer["equal"].get<bool>() ? "" : "~");
    } else {
      std::fprintf(out, "   %s: %s", name.c_str(), peer["problem"].get<std::string>().c_str());
    }
  }
  std::fprintf(out, "%s\n", entry["verified"].get<bool>() ? "" : "   WRONG");
}

Target named_target(const std::string& name) {
  Result<Target, UnknownTarget> target = Target::from_name(name);
  if (!target || target->kind != TargetKind::cpu) {
    throw Error("--targets: \"" + name + "\" is no CPU target");
  }
  return *std::move(target);
}

/// -march= of a target: this machine's own for the host.
std::string machine_flag_of(const std::string& target) {
  return "-march=" + (target == "host" ? std::string("native") : target);
}

int run(const std::vector<std::string>& texts, const std::vector<std::string>& targets,
        const Options& options, const std::string& json_path) {
  const ReportFile file(json_path);
  std::FILE* const progress = file.progress();
  std::fprintf(progress, "speed of the exported text, of that of the kernel in memory; ~: not the "
                         "same bits\n");
  nlohmann::ordered_json report = report_head(probe_host(), {});
  report["cases"] = nlohmann::ordered_json::array();
  bool all_right = true;
  std::map<std::string, std::vector<double>> speeds;
  for (const std::string& name : targets) {
    const Target target = name == "host" ? host_target() : named_target(name);
    for (const std::string& text : texts) {
      nlohmann::ordered_json entry = run_case(text, target, machine_flag_of(name), options);
      if (is_interrupted()) {
        report["interrupted"] = true;
        file.write(report, true);
        return exit_interrupted;
      }
      entry["target"] = name;
      print_entry(entry, progress);
      std::fflush(progress);
      all_right = all_right && entry["verified"].get<bool>();
      if (entry.contains("compilers")) {
        for (const auto& [compiler, peer] : entry["compilers"].items()) {
          if (peer.contains("speed")) {
            speeds[name + ", " + compiler].push_back(peer["speed"].get<double>());
          }
        }
      }
      report["cases"].push_back(std::move(entry));
      file.write(report, false);
    }
  }
  report["summary"] = nlohmann::ordered_json::object();
  for (const auto& [name, values] : speeds) {
    const double geomean = geometric_mean(values);
    const double least = *std::min_element(values.begin(), values.end());
    report["summary"][name] = {{"geomean", geomean}, {"min", least}, {"cases", values.size()}};
    std::fprintf(progress, "%s: geomean %.3f, least %.2f of %zu programs\n", name.c_str(), geomean,
                 least, values.size());
  }
  file.write(report, true);
  return all_right ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"Exported C++ beside the kernels in memory that it was written from"};
  std::vector<std::string> texts = tensorsmith::bench::default_workloads;
  std::vector<std::string> targets{"host", "x86-64-v3"};
  std::string json_path;
  tensorsmith::bench::Options options;
  app.add_option("--workload", texts, "a named workload or index notation; may be repeated");
  app.add_option("--targets", targets, "host, or a level or CPU name whose code this machine runs")
      ->delimiter(',');
  app.add_option("--tune-seconds", options.tune_seconds, "tuning budget per program")
      ->check(CLI::PositiveNumber);
  app.add_option("--pairs", options.pairs, "interleaved rounds per program")
      ->check(CLI::Range(5, 10000));
  app.add_option("--seed", options.seed, "seed of the search");
  app.add_option("--compilers", options.compilers, "commands that compile the exported text")
      ->delimiter(',');
  app.add_flag("--portable", options.is_portable, "race the loops, not the machine code");
  app.add_option("--json", json_path, "report file, - for standard output");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_exports")) {
    return *code;
  }
  tensorsmith::bench::watch_interrupts();
  try {
    return tensorsmith::bench::run(texts, targets, options, json_path);
  } catch (const tensorsmith::Error& error) {
    std::fprintf(stderr, "bench_exports: %s\n", error.what());
    return 2;
  }
}
