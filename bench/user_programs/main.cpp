// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_user_programs: programs written in te beside plain loop nests of them and library calls.
//
//   bench_user_programs --suite user_programs --tune-seconds 10 --json programs.json
//   bench_user_programs --program mlp:33x96x160x48,@attention.ts
//
// Every program is tuned, then takes turns with what g++ and clang++ make of its plain nests
// (plain_nest.hpp), and with the same nests where matrix products are calls of OpenBLAS or BLIS.
// The fastest nests and the fastest calls race. Exit code 0: all results agree; 1: not; 2: wrong
// arguments; 130: interrupted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>
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
#include "plain_nest.hpp"
#include "programs.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith::bench {
namespace {

struct Options {
  double tune_seconds = 10;
  int pairs = 30;
  std::uint64_t seed = 1;
  std::vector<std::string> compilers{"g++", "clang++"};
  bool explains = false;
};

/// Somebody to race with: plain nests, perhaps with library calls.
struct Rival {
  std::string kind, what;
  std::unique_ptr<PlainKernel> kernel;
  Sgemm sgemm = nullptr;
  double ns = 0;
};

std::vector<Rival> make_rivals(const UserProgram& program, const Options& options,
                               const std::map<std::string, Sgemm>& libraries) {
  std::vector<Rival> rivals;
  std::vector<Shared<const ComputeDag>> dags{program.dag};
  dags.insert(dags.end(), program.alternatives.begin(), program.alternatives.end());
  for (std::size_t d = 0; d < dags.size(); ++d) {
    for (const PlainSums sums : {PlainSums::scalar, PlainSums::rows}) {
      for (const std::string& compiler : options.compilers) {
        const std::string text = compiler + (sums == PlainSums::rows ? ", sums by rows" : "") +
                                 (d > 0 ? ", other formula" : "");
        rivals.push_back(
            {"plain", text,
             std::make_unique<PlainKernel>(plain_source(*dags[d], {sums, false}), compiler)});
        for (const auto& [name, sgemm] : libraries) {
          if (num_library_calls(*dags[d]) > 0) {
            rivals.push_back(
                {"library", name + ", rest by " + text,
                 std::make_unique<PlainKernel>(plain_source(*dags[d], {sums, true}), compiler),
                 sgemm});
          }
        }
      }
    }
  }
  return rivals;
}

/// Outputs of the arguments, as numbers.
struct Outputs {
  std::vector<std::vector<double>> values;

  Outputs(const std::vector<KernelParameter>& parameters, const std::vector<void*>& pointers) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].is_output) {
        continue;
      }
      const DType type = parameters[i].dtype;
      const auto* from = static_cast<const std::byte*>(pointers[i]);
      auto& numbers = values.emplace_back();
      for (std::int64_t e = 0; e < parameters[i].num_elements; ++e, from += bytes_of(type)) {
        numbers.push_back(cast_scalar(load_scalar(from, type), type, DType::f64).real);
      }
    }
  }
  /// The greatest difference, of the greatest value of each output.
  double difference(const Outputs& other) const {
    double worst = 0;
    for (std::size_t o = 0; o < values.size(); ++o) {
      double most = 1e-30, apart = 0;
      for (std::size_t i = 0; i < values[o].size(); ++i) {
        const double gap = std::abs(values[o][i] - other.values[o][i]);
        most = std::max(most, std::abs(values[o][i]));
        apart = std::isnan(gap) ? HUGE_VAL : std::max(apart, gap);
      }
      worst = std::max(worst, apart / most);
    }
    return worst;
  }
};

void poison(const std::vector<KernelParameter>& parameters, const std::vector<void*>& pointers) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_output) {
      std::memset(pointers[i], 0xFF,
                  static_cast<std::size_t>(parameters[i].num_elements) *
                      static_cast<std::size_t>(bytes_of(parameters[i].dtype)));
    }
  }
}

/// Sums of floats in another order differ by less, relative to the greatest result.
constexpr double most_difference = 2e-4;

nlohmann::ordered_json run_program(const NamedProgram& named, const Options& options,
                                   const std::map<std::string, Sgemm>& libraries) {
  nlohmann::ordered_json entry;
  entry["suite"] = named.suite;
  entry["workload"] = named.name;
  entry["verified"] = false;
  const ComputeDag& dag = *named.program.dag;
  TuneTask task;
  task.dag = named.program.dag;
  task.target = host_target();
  TuneOptions tuning;
  tuning.budget.seconds = options.tune_seconds;
  tuning.seed = options.seed;
  tuning.is_cancelled = is_interrupted;
  const TuneResult result = tune(task, tuning);
  entry["trials"] = result.summary.trials;
  entry["tune_seconds"] = result.summary.seconds;
  if (!result.has_best()) {
    entry["problem"] =
        result.summary.message.empty() ? result.summary.first_failure : result.summary.message;
    return entry;
  }
  if (options.explains) {
    std::fprintf(stderr, "%s\n", result.explain().c_str());
  }
  const std::vector<KernelParameter> parameters = kernel_parameters(dag);
  Operands operands(parameters);
  const MeasureTask inputs = make_measure_task(dag, 1, options.seed);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_output) {
      fill_input(
          inputs, i,
          {static_cast<std::byte*>(operands.pointers[i]),
           static_cast<std::size_t>(parameters[i].num_elements * bytes_of(parameters[i].dtype))});
    }
  }
  const PackedKernel ours(result.kernel(), parameters, operands);
  const auto outputs = [&](const auto& run) {
    poison(parameters, operands.pointers);
    run();
    return Outputs(parameters, operands.pointers);
  };
  const Outputs own = outputs([&] { ours(); });

  std::vector<Rival> rivals = make_rivals(named.program, options, libraries);
  bool is_right = result.summary.is_verified;
  for (Rival& rival : rivals) {
    const auto call = [&] { (*rival.kernel)(operands.pointers.data(), rival.sgemm); };
    const double difference = outputs(call).difference(own);
    if (difference > most_difference) {
      entry["problem"] = "our result differs from that of " + rival.what + " by " +
                         std::to_string(difference) + " of the greatest";
      is_right = false;
    }
    PairOptions few;
    few.pairs = 3;
    rival.ns = measure_interleaved({call}, few)[0].min_ns;
  }
  entry["verified"] = is_right;
  std::vector<Rival*> racing;
  for (const char* kind : {"plain", "library"}) {
    std::vector<Rival*> of_kind;
    for (Rival& rival : rivals) {
      if (rival.kind == kind) {
        of_kind.push_back(&rival);
      }
    }
    std::sort(of_kind.begin(), of_kind.end(),
              [](const Rival* a, const Rival* b) { return a->ns < b->ns; });
    of_kind.resize(std::min<std::size_t>(of_kind.size(), 2));
    racing.insert(racing.end(), of_kind.begin(), of_kind.end());
  }
  std::vector<std::function<void()>> contestants{[&] { ours(); }};
  for (Rival* rival : racing) {
    contestants.emplace_back(
        [rival, &operands] { (*rival->kernel)(operands.pointers.data(), rival->sgemm); });
  }
  PairOptions pairs;
  pairs.pairs = options.pairs;
  pairs.warm_calls = 1;
  pairs.is_stopped = is_interrupted;
  const double before = measure_peak_gflops();
  const std::vector<ContestantTimes> times = measure_interleaved(contestants, pairs);
  const double peak = std::max(before, measure_peak_gflops());
  const double flop = te::count_flop(dag);
  entry["ours_ns"] = times[0].median_ns;
  entry["peak_fraction"] = flop / times[0].median_ns / peak;
  entry["peers"] = nlohmann::ordered_json::object();
  double least = 0, least_times = 0;
  for (std::size_t i = 0; i < racing.size(); ++i) {
    const ContestantTimes& t = times[i + 1];
    auto& peer = entry["peers"][racing[i]->kind];
    if (peer.is_null() || t.ratio < peer["ratio"].get<double>()) {
      peer = {{"ratio", t.ratio},
              {"ratio_p10", t.ratio_p10},
              {"ratio_p90", t.ratio_p90},
              {"ns", t.median_ns},
              {"of_least", t.min_ns / times[0].min_ns},
              {"impl", racing[i]->what}};
    }
    least = least == 0 || t.ratio < least ? t.ratio : least;
    const double of_least = t.min_ns / times[0].min_ns;
    least_times = least_times == 0 || of_least < least_times ? of_least : least_times;
  }
  entry["ratio_of_least"] = least_times;  // the shortest samples: what noise cannot lengthen
  entry["ratio"] = least;
  return entry;
}

void print_entry(const nlohmann::ordered_json& entry, std::FILE* out) {
  std::fprintf(out, "%-34s ", entry["workload"].get<std::string>().c_str());
  if (!entry.contains("ours_ns")) {
    std::fprintf(out, "no race: %s\n", entry["problem"].get<std::string>().c_str());
    return;
  }
  std::fprintf(out, "%9.1f us  %3.0f %% of peak  ratio %5.2f (least times %.2f)  %s, %d trials\n",
               entry["ours_ns"].get<double>() * 1e-3, 100 * entry["peak_fraction"].get<double>(),
               entry["ratio"].get<double>(), entry["ratio_of_least"].get<double>(),
               entry["verified"].get<bool>() ? "verified" : "WRONG", entry["trials"].get<int>());
  for (const auto& [name, peer] : entry["peers"].items()) {
    std::fprintf(out, "    %-8s %9.1f us  ratio %5.2f (%.2f .. %.2f)  %s\n", name.c_str(),
                 peer["ns"].get<double>() * 1e-3, peer["ratio"].get<double>(),
                 peer["ratio_p10"].get<double>(), peer["ratio_p90"].get<double>(),
                 peer["impl"].get<std::string>().c_str());
  }
  if (entry.contains("problem")) {
    std::fprintf(out, "    %s\n", entry["problem"].get<std::string>().c_str());
  }
}

int run(const std::vector<std::string>& texts, const Options& options,
        const std::string& json_path) {
  const ReportFile file(json_path);
  std::FILE* const progress = file.progress();
  std::vector<NamedProgram> programs;
  for (const std::string& text : texts) {
    programs.push_back(make_program(text));
  }
  std::map<std::string, Sgemm> libraries;
  for (const char* name : {"openblas", "blis"}) {
    if (const Sgemm sgemm = find_sgemm(name)) {
      libraries[name] = sgemm;
    }
  }
  nlohmann::ordered_json report = report_head(probe_host(), {});
  report["cases"] = nlohmann::ordered_json::array();
  bool all_verified = true;
  std::map<std::string, std::vector<double>> ratios;
  for (const NamedProgram& program : programs) {
    nlohmann::ordered_json entry;
    try {
      entry = run_program(program, options, libraries);
    } catch (const std::exception& error) {  // nobody to race with
      entry["suite"] = program.suite;
      entry["workload"] = program.name;
      entry["verified"] = false;
      entry["problem"] = error.what();
    }
    if (is_interrupted()) {
      report["interrupted"] = true;
      break;
    }
    print_entry(entry, progress);
    std::fflush(progress);
    all_verified = all_verified && entry["verified"].get<bool>();
    if (entry.contains("ratio")) {
      ratios[program.suite].push_back(entry["ratio"].get<double>());
    }
    report["cases"].push_back(std::move(entry));
    file.write(report, false);
  }
  report["summary"] = nlohmann::ordered_json::object();
  for (const auto& [suite, values] : ratios) {
    double logs = 0;
    for (const double value : values) {
      logs += std::log(value);
    }
    const double geomean = std::exp(logs / static_cast<double>(values.size()));
    const double least = *std::min_element(values.begin(), values.end());
    report["summary"][suite] = {{"geomean", geomean}, {"min", least}, {"cases", values.size()}};
    std::fprintf(progress, "%s: geomean %.2f, least %.2f of %zu programs\n", suite.c_str(), geomean,
                 least, values.size());
  }
  file.write(report, true);
  return is_interrupted() ? exit_interrupted : all_verified ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"Programs written in te beside plain loop nests and library calls, interleaved"};
  std::vector<std::string> suites, texts;
  std::string json_path;
  tensorsmith::bench::Options options;
  app.add_option("--suite", suites, "user_programs or user_held_out")->delimiter(',');
  app.add_option("--program", texts,
                 "a program with its sizes, as mlp:64x128x256x64, or @FILE in index notation")
      ->delimiter(',');
  app.add_option("--tune-seconds", options.tune_seconds, "tuning budget per program")
      ->check(CLI::PositiveNumber);
  app.add_option("--pairs", options.pairs, "interleaved rounds per program")
      ->check(CLI::Range(5, 10000));
  app.add_option("--seed", options.seed, "seed of the search");
  app.add_option("--compilers", options.compilers, "commands that compile plain nests")
      ->delimiter(',');
  app.add_flag("--explain", options.explains, "schedule and loops of our kernels, on stderr");
  app.add_option("--json", json_path, "report file, - for standard output");
  if (const auto code =
          tensorsmith::bench::parse_arguments(app, argc, argv, "bench_user_programs")) {
    return *code;
  }
  if (suites.empty() && texts.empty()) {
    suites = {"user_programs"};
  }
  tensorsmith::bench::watch_interrupts();
  try {
    for (const std::string& suite : suites) {
      const auto more = tensorsmith::bench::programs_of_suite(suite);
      texts.insert(texts.end(), more.begin(), more.end());
    }
    return tensorsmith::bench::run(texts, options, json_path);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_user_programs: %s\n", error.what());
    return 2;
  }
}
