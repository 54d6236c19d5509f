// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
// bench_draft: how well the draft (cost/draft_model.hpp) ranks programs that were measured.
//
//   bench_draft --shape gemm:512x512x512:f32 --programs 200 --keep trials.jsonl
//   bench_draft --journal trials.jsonl          measures nothing: takes the times of a journal
//   bench_draft --journal trials.jsonl --probe --fit 8
// Programs are drawn at random from the native space, analytic seeds beside them. Per workload: the
// rank correlation (Spearman) of draft and time; the best time of all over the best time of the 1
// and the 10 with the best draft (1.0 = the draft finds it); microseconds per draft.
// Exit code 0; 1: nothing could be measured; 2: wrong arguments.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "bench/support/candidates.hpp"
#include "bench/support/loop_timer.hpp"
#include "bench/support/machine.hpp"
#include "bench/support/proposals.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/cost/fit_rates.hpp"
#include "tensorsmith/measure/core_probes.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/calibration.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tensorsmith/tune/replay.hpp"

namespace tensorsmith::bench {
namespace {

struct Arguments {
  std::vector<std::string> shapes, journals;
  std::size_t num_programs = 200, num_seeds = 32, num_passes = 3;
  std::uint64_t seed = 1;
  std::int32_t num_threads = 1;
  std::string keep;
  std::size_t num_fitted = 0;
  bool is_probed = false, is_json = false, is_listing = false;
};

struct Trial {
  State state;
  double ns = 0;
};

ops::Workload parse(const std::string& text) {
  Result<ops::Workload, std::string> workload = ops::parse_workload(text);
  if (!workload) {
    throw Error(workload.error());
  }
  return std::move(workload).value();
}

/// Draws, builds and measures; unverified, since only the times matter here.
std::vector<Trial> measure(const std::string& text, const Arguments& arguments,
                           std::optional<Journal>& journal) {
  const ops::Workload workload = parse(text);
  const Target target = host_target();
  std::vector<State> states = sample_states(text, target, arguments.num_programs, arguments.seed);
  // Half of the first batch are seeds; they come first.
  for (State& state :
       proposed_states(workload, target, arguments.num_seeds, 2 * arguments.num_seeds,
                       arguments.num_threads, arguments.seed)) {
    states.push_back(std::move(state));
  }
  const Owned<CandidateBuilder> builder = make_backend(target)->make_builder(arguments.num_threads);
  WorkerMeasurer measurer;
  if (const auto prepared =
          measurer.prepare(make_measure_task(*workload.dag, arguments.num_threads, 1));
      !prepared) {
    throw Error(prepared.error().message);
  }
  // Nothing is raced: what is stopped early has no time to rank by. Another load of the machine
  // slows a stretch of one pass, not the same programs of every one.
  MeasureContext context;
  context.racing.verify = false;
  context.racing.full_budget_ns = 4'000'000;
  context.racing.only_call_ns = 40'000'000;
  std::vector<std::pair<State, BuiltCandidate>> candidates;
  for (State& state : states) {
    if (Result<BuiltCandidate, MeasureFault> built = builder->build(state)) {
      candidates.emplace_back(std::move(state), std::move(*built));
    }
  }
  std::vector<MeasureResult> results(candidates.size());
  for (std::size_t pass = 0; pass < arguments.num_passes; ++pass) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& [state, built] = candidates[i];
      const std::vector<CompiledCandidate> one = {candidate_of(built, hash_steps(state.steps()))};
      MeasureResult result = measurer.measure(one, context).front();
      if (pass == 0 || (result.is_ok() && result.min_ns < results[i].min_ns)) {
        results[i] = std::move(result);
      }
    }
  }
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const MeasureResult& result = results[i];
    const State& state = candidates[i].first;
    if (!result.is_ok()) {
      continue;
    }
    trials.push_back({state, result.min_ns});
    if (journal) {
      Record record;
      record.workload = text;
      record.target = target.name;
      record.space = "native";
      record.policy = "random";
      record.num_threads = arguments.num_threads;
      record.seed = arguments.seed;
      record.trial = static_cast<std::int64_t>(trials.size());
      record.steps = state.steps();
      record.status = result.status;
      record.min_ns = result.min_ns;
      record.median_ns = result.median_ns;
      (void)journal->append(record);
    }
  }
  return trials;
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    ranks[order[i]] = static_cast<double>(i);
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

nlohmann::ordered_json report_of(const std::string& text, const std::vector<Trial>& trials,
                                 const Target& target, const Arguments& arguments) {
  std::vector<double> drafts, times;
  for (const Trial& trial : trials) {
    drafts.push_back(draft_cycles(trial.state, target, arguments.num_threads));
    times.push_back(trial.ns);
  }
  std::vector<std::size_t> order(trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return drafts[a] < drafts[b]; });
  const double best = *std::min_element(times.begin(), times.end());
  const auto found = [&](std::size_t count) {
    double least = times[order[0]];
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i) {
      least = std::min(least, times[order[i]]);
    }
    return best / least;
  };
  double sum = 0;
  const double ns = median_call_ns(
      [&] {
        for (const Trial& trial : trials) {
          sum += draft_cycles(trial.state, target, arguments.num_threads);
        }
      },
      5, 1e7);
  if (arguments.is_listing) {
    std::vector<std::size_t> by_time = order;
    std::sort(by_time.begin(), by_time.end(),
              [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
    for (const std::size_t i : by_time) {
      const DraftParts p = draft_parts(trials[i].state, target, arguments.num_threads);
      std::printf("%12.1f us  draft %12.1f us (at 4 GHz)  ratio %6.2f\n", times[i] / 1e3,
                  drafts[i] / 4e3, times[i] / (drafts[i] / 4));
      std::printf("core %.1f us, tiles %.1f, L1 %.1f, L2 %.1f, L3 %.1f, pages %.1f + %.1f\n%s\n",
                  p.core / 4e3, p.tiles / 4e3, p.levels[0] / 4e3, p.levels[1] / 4e3,
                  p.levels[2] / 4e3, p.levels[3] / 4e3, p.levels[4] / 4e3,
                  state_text(trials[i].state).c_str());
    }
  }
  return {{"workload", text},
          {"programs", trials.size()},
          {"spearman", correlation(ranks_of(drafts), ranks_of(times))},
          {"top1", found(1)},
          {"top10", found(10)},
          {"best_ns", best},
          {"us_per_draft", sum > 0 ? ns / 1e3 / static_cast<double>(trials.size()) : 0}};
}

using Cases = std::vector<std::pair<std::string, std::vector<Trial>>>;  ///< by workload

/// The host, with the rates that are kept for it, or measured now, and then fitted, as asked for.
Target with_wanted_rates(const Cases& cases, const Arguments& arguments) {
  Target target = with_kept_rates(host_target());
  if (arguments.is_probed) {
    target.rates = with_probes(detail::draft_rates(target), probe_core(target));
  }
  if (arguments.num_fitted > 0) {
    std::vector<TimedProgram> programs;
    for (std::size_t i = 0; i < std::min(arguments.num_fitted, cases.size()); ++i) {
      for (const Trial& trial : cases[i].second) {
        programs.push_back({trial.state, trial.ns, i});
      }
    }
    const RatesFit fit = fit_rates(programs, target, arguments.num_threads);
    std::fprintf(stderr, "fitted to %zu programs, %zu sets of rates: error %.4f -> %.4f\n",
                 programs.size(), fit.num_tried, fit.error_before, fit.error_after);
    target.rates = fit.rates;
  }
  if (target.rates) {
    for_each_change(known_rates_of(target.llvm_tune, target.vector_bits), *target.rates,
                    [](std::string_view name, double believed, double found) {
                      std::fprintf(stderr, "  %-20s %10.3f, believed %g\n",
                                   std::string(name).c_str(), found, believed);
                    });
  }
  return target;
}

void print_means(const nlohmann::ordered_json& cases) {
  double rank = 0, top1 = 0, top10 = 0;
  for (const auto& entry : cases) {
    rank += entry["spearman"].get<double>();
    top1 += std::log(entry["top1"].get<double>());
    top10 += std::log(entry["top10"].get<double>());
  }
  const auto count = static_cast<double>(cases.size());
  if (count > 0) {
    std::fprintf(stderr, "mean of %zu: spearman %.3f, top 1 %.3f, top 10 %.3f\n", cases.size(),
                 rank / count, std::exp(top1 / count), std::exp(top10 / count));
  }
}

int run(const Arguments& arguments) {
  Cases cases;
  for (const std::string& path : arguments.journals) {
    Result<JournalContents, RecordError> contents = read_journal(path);
    if (!contents) {
      throw Error(contents.error().message);
    }
    for (const Record& record : contents->records) {
      if (!record.is_ok()) {
        continue;
      }
      auto at = std::find_if(cases.begin(), cases.end(),
                             [&](const auto& entry) { return entry.first == record.workload; });
      if (at == cases.end()) {
        cases.push_back({record.workload, {}});
        at = cases.end() - 1;
      }
      at->second.push_back({replay_steps(parse(record.workload).dag, record.steps), record.min_ns});
    }
  }
  std::optional<Journal> journal;
  if (!arguments.keep.empty()) {
    Result<Journal, RecordError> opened = Journal::open(arguments.keep);
    if (!opened) {
      throw Error(opened.error().message);
    }
    journal.emplace(std::move(opened).value());
  }
  for (const std::string& shape : arguments.shapes) {
    cases.push_back({shape, measure(shape, arguments, journal)});
  }
  const Target target = with_wanted_rates(cases, arguments);
  nlohmann::ordered_json report;
  report["machine"] = machine_facts(probe_host(), {});
  report["cases"] = nlohmann::ordered_json::array();
  bool is_good = true;
  for (const auto& [name, trials] : cases) {
    if (trials.size() < 2) {
      std::fprintf(stderr, "bench_draft: no program of %s could be measured\n", name.c_str());
      is_good = false;
      continue;
    }
    report["cases"].push_back(report_of(name, trials, target, arguments));
    const auto& entry = report["cases"].back();
    std::fprintf(arguments.is_json ? stderr : stdout,
                 "%-52s %4zu programs  spearman %5.2f  top 1 %4.2f  top 10 %4.2f  best %9.1f us  "
                 "%5.2f us per draft\n",
                 name.c_str(), trials.size(), entry["spearman"].get<double>(),
                 entry["top1"].get<double>(), entry["top10"].get<double>(),
                 entry["best_ns"].get<double>() / 1e3, entry["us_per_draft"].get<double>());
  }
  print_means(report["cases"]);
  if (arguments.is_json) {
    std::printf("%s\n", report.dump(2).c_str());
  }
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"How well the draft ranks measured programs"};
  tensorsmith::bench::Arguments arguments;
  app.add_option("--shape", arguments.shapes, "workload strings to draw and measure")
      ->delimiter('\0');
  app.add_option("--journal", arguments.journals, "journals whose times are taken");
  app.add_option("--programs", arguments.num_programs, "programs per workload; default 200");
  app.add_option("--passes", arguments.num_passes, "measurements of every program; default 3")
      ->check(CLI::Range(1, 100));
  app.add_option("--seeds", arguments.num_seeds, "analytic seeds per workload; default 32");
  app.add_option("--threads", arguments.num_threads, "threads of the kernels")
      ->check(CLI::Range(1, 1024));
  app.add_option("--seed", arguments.seed, "of the drawing");
  app.add_option("--keep", arguments.keep, "journal to append the trials to");
  app.add_flag("--probe", arguments.is_probed, "measure what this core moves and waits for");
  app.add_option("--fit", arguments.num_fitted,
                 "fit its rates to the programs of so many first workloads");
  app.add_flag("--list", arguments.is_listing, "every program with its time and draft");
  app.add_flag("--json", arguments.is_json, "one JSON object on standard output");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_draft")) {
    return *code;
  }
  if (arguments.shapes.empty() && arguments.journals.empty()) {
    arguments.shapes = {"gemm:512x512x512:f32"};
  }
  try {
    return tensorsmith::bench::run(arguments);
  } catch (const tensorsmith::Error& error) {
    std::fprintf(stderr, "bench_draft: %s\n", error.what());
    return 2;
  }
}
