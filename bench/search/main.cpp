// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_search: how many candidates a second the tuner tries, where the time goes, and how fast the
// best one improves.
//
//   bench_search --shape gemm:512x512x512:f32 --seconds 20 --seed 1 --json search.json
//   bench_search --growth --seconds 5       # what a trial costs for sizes from 64 to 4096
//   bench_search --generate                   one round of 2048 x 5 programs, nothing is measured
//   bench_search --sampling a100              legal assignments a second of the space of a GPU
//   bench_search --quality sim:a100 --way polish=0.1 --way diversity=2   winners at equal trials
//
// Phases are the tuner's own clocks. propose, measure, train and other follow one another and add
// up to the run; build (lowering and compiling) runs beside measuring on its own thread, so its
// share says how busy that thread is. Exit code 0: every run has a verified best; 1: not; 2: wrong
// arguments; 130: interrupted.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "bench/support/interrupt.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/report_file.hpp"
#include "generation.hpp"
#include "quality.hpp"
#include "sampling.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::vector<std::string> shapes;
  double seconds = 0;
  std::int64_t trials = 0;
  std::string json_path;
  bool shows_growth = false;
  TuneOptions tune;
  bool is_generation = false;  ///< only the search, without building and measuring
  int population = 2048, generations = 4;
  std::string sampled_gpu;  ///< only draws assignments of its native space
  bool is_quality = false;  ///< only compares winners on a machine that is not there
  QualityOptions quality;
};

Json phases_json(const TuneSummary& summary) {
  const double other =
      summary.seconds - summary.propose_seconds - summary.measure_seconds - summary.train_seconds;
  Json phases;
  const auto add = [&](const char* name, double seconds) {
    const double trials = static_cast<double>(std::max<std::int64_t>(summary.trials, 1));
    phases[name] = {{"seconds", seconds},
                    {"share", summary.seconds > 0 ? seconds / summary.seconds : 0},
                    {"ms_per_trial", seconds * 1e3 / trials}};
  };
  add("propose", summary.propose_seconds);
  add("build", summary.build_seconds);
  add("measure", summary.measure_seconds);
  add("train", summary.train_seconds);
  add("other", std::max(0.0, other));
  return phases;
}

Json run_case(const std::string& workload, const Arguments& arguments) {
  const Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  TuneTask task;
  task.dag = parsed->dag;
  task.target = host_target();
  task.workload = parsed->name;
  task.flop = parsed->nominal_flop;
  const TuneResult result = tune(task, arguments.tune);
  const TuneSummary& summary = result.summary;
  Json entry;
  entry["workload"] = workload;
  entry["threads"] = arguments.tune.num_threads;
  entry["seed"] = arguments.tune.seed;
  entry["policy"] = arguments.tune.policy;
  entry["space"] = arguments.tune.space;
  entry["seconds"] = summary.seconds;
  entry["rounds"] = summary.rounds;
  entry["trials"] = summary.trials;
  entry["trials_per_second"] =
      summary.seconds > 0 ? static_cast<double>(summary.trials) / summary.seconds : 0;
  entry["failed"] = Json::object();
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    const auto status = static_cast<MeasureStatus>(i);
    if (status != MeasureStatus::ok && summary.statuses[i] > 0) {
      entry["failed"][std::string(name_of(status))] = summary.statuses[i];
    }
  }
  entry["phases"] = phases_json(summary);
  entry["best_ns"] = result.has_best() ? Json(summary.best_ns) : Json(nullptr);
  entry["gflops"] = result.has_best() ? Json(summary.gflops) : Json(nullptr);
  entry["peak_fraction"] = result.has_best() ? Json(summary.peak_fraction) : Json(nullptr);
  entry["verified"] = summary.is_verified;
  entry["exhausted"] = summary.is_exhausted;
  entry["curve"] = Json::array();
  for (const CurvePoint& point : summary.curve) {
    entry["curve"].push_back(Json::array({point.seconds, point.trial, point.best_ns}));
  }
  return entry;
}

void print_case(const Json& entry, std::FILE* out) {
  std::fprintf(out, "%s  seed %llu: %lld trials in %.1f s, %.1f per second, %lld rounds\n",
               entry["workload"].get<std::string>().c_str(),
               static_cast<unsigned long long>(entry["seed"].get<std::uint64_t>()),
               static_cast<long long>(entry["trials"].get<std::int64_t>()),
               entry["seconds"].get<double>(), entry["trials_per_second"].get<double>(),
               static_cast<long long>(entry["rounds"].get<std::int64_t>()));
  for (const auto& [name, phase] : entry["phases"].items()) {
    std::fprintf(out, "    %-8s %7.2f s  %3.0f %%  %7.2f ms per trial%s\n", name.c_str(),
                 phase["seconds"].get<double>(), 100 * phase["share"].get<double>(),
                 phase["ms_per_trial"].get<double>(),
                 name == "build" ? "  (beside measuring)" : "");
  }
  for (const auto& [reason, count] : entry["failed"].items()) {
    std::fprintf(out, "    failed: %s %lld\n", reason.c_str(),
                 static_cast<long long>(count.get<std::int64_t>()));
  }
  if (!entry["best_ns"].is_number()) {
    std::fprintf(out, "    no candidate succeeded\n");
    return;
  }
  for (const Json& point : entry["curve"]) {
    std::fprintf(out, "    %7.2f s, trial %5lld: %12.3f us\n", point[0].get<double>(),
                 static_cast<long long>(point[1].get<std::int64_t>()),
                 point[2].get<double>() / 1e3);
  }
  std::fprintf(out, "    best %.1f GFLOP/s, %.0f %% of peak, %s\n", entry["gflops"].get<double>(),
               100 * entry["peak_fraction"].get<double>(),
               entry["verified"].get<bool>() ? "verified" : "NOT VERIFIED");
}

/// One line a case: what a trial costs, by phase.
void print_growth(const Json& cases, std::FILE* out) {
  std::fprintf(out, "%-30s %9s", "ms per trial", "trials/s");
  for (const auto& [name, phase] : cases.front()["phases"].items()) {
    std::fprintf(out, " %9s", name.c_str());
  }
  std::fprintf(out, "  %s\n", "kernel, ms");
  for (const Json& entry : cases) {
    std::fprintf(out, "%-30s %9.1f", entry["workload"].get<std::string>().c_str(),
                 entry["trials_per_second"].get<double>());
    for (const auto& [name, phase] : entry["phases"].items()) {
      std::fprintf(out, " %9.2f", phase["ms_per_trial"].get<double>());
    }
    std::fprintf(out, "  %.3f\n",
                 entry["best_ns"].is_number() ? entry["best_ns"].get<double>() / 1e6 : 0.0);
  }
}

int run(const Arguments& arguments) {
  for (const std::string& shape : arguments.shapes) {
    if (const auto workload = ops::parse_workload(shape); !workload) {
      throw Error(workload.error());
    }
  }
  const ReportFile file(arguments.json_path);
  std::FILE* const out = file.progress();
  Json report;
  report["machine"] = machine_facts(probe_host(), {});
  if (arguments.is_quality) {
    report["quality"] = compare_searches(arguments.quality, out);
    file.write(report, true);
    return 0;
  }
  report["cases"] = Json::array();
  bool is_good = true;
  for (const std::string& shape : arguments.shapes) {
    if (!arguments.sampled_gpu.empty()) {
      report["cases"].push_back(time_sampling(shape, arguments.sampled_gpu));
      for (const Json& entry : report["cases"].back()["templates"]) {
        std::fprintf(out,
                     "%s  %d variables, %d constraints: %.0f assignments/s, %.0f programs/s, %.1f "
                     "%% of them fit a block, of %d lowering refuses %d\n",
                     shape.c_str(), entry["variables"].get<int>(), entry["constraints"].get<int>(),
                     entry["assignments_per_second"].get<double>(),
                     entry["programs_per_second"].get<double>(),
                     100 * entry["share_that_fits"].get<double>(), entry["lowered"].get<int>(),
                     entry["refused"].get<int>());
      }
      continue;
    }
    if (arguments.is_generation) {
      const Json entry =
          time_generation(shape, arguments.tune, arguments.population, arguments.generations);
      std::fprintf(out, "%s  %s in %s: %d x %d programs in %.3f s, %.1f us each\n", shape.c_str(),
                   arguments.tune.policy.c_str(), arguments.tune.space.c_str(),
                   arguments.population, arguments.generations + 1, entry["seconds"].get<double>(),
                   entry["us_per_state"].get<double>());
      report["cases"].push_back(entry);
      continue;
    }
    report["cases"].push_back(run_case(shape, arguments));
    is_good = is_good && report["cases"].back()["verified"].get<bool>();
    if (!arguments.shows_growth) {
      print_case(report["cases"].back(), out);
    }
    std::fflush(out);
    file.write(report, false);
    if (is_interrupted()) {
      report["interrupted"] = true;
      break;
    }
  }
  if (arguments.shows_growth) {
    print_growth(report["cases"], out);
  }
  file.write(report, true);
  return is_interrupted() ? exit_interrupted : is_good ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"Trials per second by phase, and the curve of the best so far"};
  tensorsmith::bench::Arguments arguments;
  app.add_option("--shape", arguments.shapes, "workload strings; may be repeated")->delimiter('\0');
  app.add_option("--seconds", arguments.seconds,
                 "wall-clock budget per workload; default 20 unless --trials is given")
      ->check(CLI::Range(0.01, 1e7));
  app.add_option("--trials", arguments.trials, "most candidates per workload")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  app.add_option("--threads", arguments.tune.num_threads, "threads of the kernel")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seed", arguments.tune.seed, "of every random choice");
  app.add_option("--policy", arguments.tune.policy, "search: evolution or ansor");
  app.add_flag("--generate", arguments.is_generation,
               "only one search round with a model, nothing is built or measured");
  app.add_option("--population", arguments.population, "programs per generation of --generate")
      ->check(CLI::Range(1, 1 << 17));
  app.add_option("--generations", arguments.generations, "of --generate, the first not counted")
      ->check(CLI::Range(0, 4000));
  app.add_option("--sampling", arguments.sampled_gpu,
                 "only draws assignments of the native space of this GPU");
  const CLI::Option* const quality = app.add_option(
      "--quality", arguments.quality.target,
      "only compares the winners of searches, on this target, whose estimate errs; nothing is run");
  app.add_option("--way", arguments.quality.ways,
                 "of --quality: polish=0.1, diversity=2, prior=0.5, several by commas; repeatable");
  app.add_option("--seeds", arguments.quality.seeds, "of --quality, per workload")
      ->check(CLI::Range(1, 1000));
  app.add_option("--error", arguments.quality.error, "of --quality: of the estimate, per decision")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--space", arguments.tune.space, "space of programs: native or ansor");
  app.add_option("--cost-model,--model", arguments.tune.cost_model,
                 "cost model: " + tensorsmith::model_names(tensorsmith::known_models()));
  app.add_flag("--growth", arguments.shows_growth,
               "a table of what a trial costs; without --shape for products from 64 to 4096");
  app.add_option("--json", arguments.json_path, "report file, - for standard output");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_search")) {
    return *code;
  }
  if (quality->count() > 0) {
    arguments.is_quality = true;
    arguments.quality.workloads = std::exchange(arguments.shapes, {});
    arguments.quality.trials = arguments.trials > 0 ? arguments.trials : 200;
    arguments.quality.population = std::min(arguments.population, 64);
    arguments.quality.tune = arguments.tune;
    arguments.quality.tune.is_cancelled = tensorsmith::bench::is_interrupted;
  }
  if (arguments.shapes.empty() && !arguments.is_quality) {
    arguments.shapes = {"gemm:512x512x512:f32"};
    if (arguments.shows_growth) {
      arguments.shapes.clear();
      for (int size = 64; size <= 4096; size *= 2) {
        const std::string n = std::to_string(size);
        arguments.shapes.push_back("gemm:" + n + "x" + n + "x" + n + ":f32");
      }
    }
  }
  arguments.tune.budget.trials = arguments.trials;
  arguments.tune.budget.seconds = arguments.seconds > 0  ? arguments.seconds
                                  : arguments.trials > 0 ? 0
                                                         : 20;
  arguments.tune.is_cancelled = tensorsmith::bench::is_interrupted;
  tensorsmith::bench::watch_interrupts();
  try {
    return tensorsmith::bench::run(arguments);
  } catch (const tensorsmith::Error& error) {
    std::fprintf(stderr, "bench_search: %s\n", error.what());
    return 2;
  }
}
