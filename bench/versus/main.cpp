// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_versus: the reference's search in the reference's space against ours in ours.
//
//   bench_versus --trials 200 --seed 1 --json bench/results/versus.json     all golden programs
//   bench_versus --log tests/data/golden/ansor/logs/matmul_512.json ...     with the time that a
//   log
//                                                of the reference took; .gz behind it is found
//   bench_versus --page docs/versus.md bench/results/versus.json     writes the table into the page
//   bench_versus --check --page PAGE RESULT.json   exit code 1 if the page would change
//
// Both searches have the same trials, seed and machine, one after the other; then their winners
// take turns, because times of different minutes are not comparable. "seconds to" is read from the
// curves of the fastest trial so far. Exit code 0: all runs have a verified best; 1: not; 2: wrong
// arguments; 130: interrupted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "bench/support/interrupt.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/packed_kernel.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/report_file.hpp"
#include "support/golden_tasks.hpp"
#include "table.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith::bench {
namespace {

/// Of the reference's logs: a program that is not among its tasks.
constexpr const char* logged_workload = "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1";

struct Arguments {
  std::vector<std::string> shapes, logs, results;
  std::int64_t trials = 200;
  std::uint64_t seed = 1;
  std::int32_t threads = 1;
  std::string reference_policy = "ansor", json_path, page;
  bool checks = false;
};

struct RecordedLog {
  std::string key;  ///< of the program
  double seconds = 0;
  std::size_t trials = 0;
  double best_ns = 0;
};

/// What a log says about the time its first `trials` records took.
RecordedLog read_log(const std::string& path, std::int64_t trials) {
  const AnsorLog log = ansor_log_from_text(test::read_text(path));
  if (log.records.empty()) {
    throw Error("\"" + path + "\" has no records");
  }
  const auto dag = common_workloads().find(log.records.front().workload_key);
  if (!dag) {
    throw Error("\"" + path + "\" is about a program that is not known here");
  }
  RecordedLog result;
  result.key = te::workload_key(*dag);
  result.trials = std::min(log.records.size(), static_cast<std::size_t>(trials));
  result.best_ns = 1e18;
  for (std::size_t i = 0; i < result.trials; ++i) {
    const AnsorRecord& record = log.records[i];
    if (record.is_measured()) {
      result.best_ns = std::min(result.best_ns, record.mean_cost() * 1e9);
    }
  }
  // Dates are whole seconds and stand for the end of a measurement.
  result.seconds = static_cast<double>(log.records[result.trials - 1].timestamp -
                                       log.records.front().timestamp) +
                   log.records.front().all_cost;
  return result;
}

struct Run {
  TuneResult result;
  /// Until a trial was as fast as `ns`; negative: never.
  double seconds_to(double ns) const {
    for (const CurvePoint& point : trial_curve()) {
      if (point.best_ns <= ns) {
        return point.seconds;
      }
    }
    return -1;
  }
  double fastest_trial() const {
    const auto curve = trial_curve();
    return curve.empty() ? 0 : curve.back().best_ns;
  }

 private:
  /// The last point of the curve is the final ranking's.
  std::span<const CurvePoint> trial_curve() const {
    const auto& curve = result.summary.curve;
    return std::span(curve).first(curve.empty() ? 0 : curve.size() - 1);
  }
};

Run search(const TuneTask& task, const Arguments& arguments, bool is_native) {
  TuneOptions options;
  options.budget.trials = arguments.trials;
  options.seed = arguments.seed;
  options.num_threads = arguments.threads;
  options.space = is_native ? "native" : "ansor";
  options.policy = is_native ? "evolution" : arguments.reference_policy;
  options.is_cancelled = is_interrupted;
  return {tune(task, options)};
}

Json describe(const Run& own, const Run& other) {
  const TuneSummary& summary = own.result.summary;
  Json json;
  json["trials"] = summary.trials;
  json["seconds"] = summary.seconds;
  json["trials_per_second"] =
      summary.seconds > 0 ? static_cast<double>(summary.trials) / summary.seconds : 0;
  json["best_ns"] = own.result.has_best() ? Json(summary.best_ns) : Json(nullptr);
  json["verified"] = summary.is_verified;
  const double seconds = other.result.has_best() ? own.seconds_to(other.fastest_trial()) : -1;
  json["seconds_to_the_others_best"] = seconds >= 0 ? Json(seconds) : Json(nullptr);
  return json;
}

/// The winners of both searches in turns, on the same operands: "ratio" is the median over rounds
/// of the reference's time / ours. Null unless both have one.
Json race_winners(const TuneResult& reference, const TuneResult& native) {
  if (!reference.has_best() || !native.has_best() || is_interrupted()) {
    return nullptr;
  }
  const std::vector<KernelParameter> parameters = kernel_parameters(*native.task.dag);
  const Operands operands(parameters);
  const PackedKernel ours(native.kernel(), parameters, operands);
  const PackedKernel theirs(reference.kernel(), parameters, operands);
  PairOptions options;
  options.warm_calls = 1;
  options.is_stopped = is_interrupted;
  const PairedResult raced = measure_pairs([&ours] { ours(); }, [&theirs] { theirs(); }, options);
  return {{"pairs", raced.pairs},
          {"native_ns", raced.ours.median_ns},
          {"ansor_ns", raced.peer.median_ns},
          {"ratio", raced.ratio},
          {"ratio_p10", raced.ratio_p10},
          {"ratio_p90", raced.ratio_p90}};
}

/// A workload string, or the name of a program in tests/data/golden.
TuneTask task_of(const std::string& shape) {
  TuneTask task;
  task.target = host_target();
  for (const test::GoldenTask& golden : test::golden_tasks()) {
    if (golden.id == shape) {
      task.dag = golden.dag;
      task.workload = golden.id;
      task.flop = golden.facts.at("flop_ct").get<double>();
      return task;
    }
  }
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(shape);
  if (!parsed) {
    throw Error(shape + ": " + parsed.error() + "; nor is it a program of tests/data/golden");
  }
  task.dag = parsed->dag;
  task.workload = parsed->name;
  task.flop = parsed->nominal_flop;
  return task;
}

Json run_case(const std::string& shape, const Arguments& arguments,
              const std::vector<RecordedLog>& logs) {
  const TuneTask task = task_of(shape);
  const Run reference = search(task, arguments, false);
  const Run native = search(task, arguments, true);
  Json entry;
  entry["workload"] = shape;
  entry["ansor"] = describe(reference, native);
  entry["native"] = describe(native, reference);
  entry["race"] = race_winners(reference.result, native.result);
  entry["speedup"] = entry["race"].is_null() ? Json() : entry["race"]["ratio"];
  for (const RecordedLog& log : logs) {
    if (log.key == te::workload_key(*task.dag)) {
      entry["recorded"] = {
          {"trials", log.trials}, {"seconds", log.seconds}, {"best_ns", log.best_ns}};
    }
  }
  return entry;
}

/// Geometric mean of the speed-ups that are there; 0: none is.
Json geomean(const Json& cases) {
  double sum = 0, count = 0;
  for (const Json& entry : cases) {
    if (entry["speedup"].is_number()) {
      sum += std::log(entry["speedup"].get<double>());
      count += 1;
    }
  }
  return count > 0 ? Json(std::exp(sum / count)) : Json(nullptr);
}

int measure(const Arguments& arguments) {
  std::vector<std::string> shapes = arguments.shapes;
  if (shapes.empty()) {
    for (const test::GoldenTask& golden : test::golden_tasks()) {
      shapes.push_back(golden.id);
    }
    shapes.emplace_back(logged_workload);
  }
  for (const std::string& shape : shapes) {
    (void)task_of(shape);  // nothing is run if one of them is wrong
  }
  std::vector<RecordedLog> logs;
  for (const std::string& path : arguments.logs) {
    logs.push_back(read_log(path, arguments.trials));
  }
  const ReportFile file(arguments.json_path);
  Json report;
  report["machine"] = machine_facts(probe_host(), {});
  report["trials"] = arguments.trials;
  report["seed"] = arguments.seed;
  report["threads"] = arguments.threads;
  report["policies"] = {{"ansor", arguments.reference_policy}, {"native", "evolution"}};
  report["cases"] = Json::array();
  bool is_good = true;
  for (const std::string& shape : shapes) {
    const Json entry = run_case(shape, arguments, logs);
    if (is_interrupted()) {
      report["interrupted"] = true;
      break;
    }
    std::fprintf(file.progress(), "%s", table_row(entry).c_str());
    std::fflush(file.progress());
    is_good = is_good && entry["ansor"]["verified"].get<bool>() &&
              entry["native"]["verified"].get<bool>();
    report["cases"].push_back(entry);
    file.write(report, false);
  }
  report["geomean_speedup"] = geomean(report["cases"]);
  file.write(report, true);
  return is_interrupted() ? exit_interrupted : is_good ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  using namespace tensorsmith;
  CLI::App app{"The reference's search and space against ours"};
  bench::Arguments arguments;
  app.add_option("--shape", arguments.shapes,
                 "workload strings or names of golden programs; without: all of the golden "
                 "data")
      ->delimiter('\0');
  app.add_option("--trials", arguments.trials, "of each search")->check(CLI::Range(1, 1 << 24));
  app.add_option("--seed", arguments.seed, "of every random choice");
  app.add_option("--threads", arguments.threads, "threads of the kernel")
      ->check(CLI::Range(1, 1024));
  app.add_option("--ansor-policy", arguments.reference_policy,
                 "search in the space ansor: ansor or evolution");
  app.add_option("--log", arguments.logs, "log of the reference, for the time it took");
  app.add_option("--json", arguments.json_path, "report file, - for standard output");
  app.add_option("--page", arguments.page, "page with the marks between which the table stands");
  app.add_flag("--check", arguments.checks, "with --page: only say whether it would change");
  app.add_option("results", arguments.results, "with --page: report files");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_versus")) {
    return *code;
  }
  bench::watch_interrupts();
  try {
    return arguments.page.empty()
               ? bench::measure(arguments)
               : bench::write_page(arguments.page, arguments.results, arguments.checks);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_versus: %s\n", error.what());
    return 2;
  }
}
