// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "case.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "bench/support/interrupt.hpp"
#include "bench/support/loop_timer.hpp"
#include "bench/support/packed_kernel.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/problem.hpp"
#include "bench/support/race.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "tensorsmith/tune/measure_once.hpp"
#include "tensorsmith/tune/replay.hpp"
#include "tensorsmith/tune_tasks.hpp"

namespace tensorsmith::bench {
namespace {

/// Whether the kernel takes the operands of the problem, in the problem's order.
bool fits(const ProblemSizes& sizes, const std::vector<KernelParameter>& parameters) {
  std::vector<std::int64_t> wanted;
  for (const std::int64_t size :
       {sizes.input, sizes.weights, sizes.bias, sizes.residual, sizes.gamma, sizes.beta,
        sizes.values, sizes.next_weights, sizes.next_bias, sizes.scales, sizes.zero_point}) {
    if (size > 0) {
      wanted.push_back(size);
    }
  }
  wanted.insert(wanted.end(), sizes.operands.begin(), sizes.operands.end());
  wanted.push_back(sizes.output);
  std::vector<std::int64_t> ours;
  for (const KernelParameter& parameter : parameters) {
    ours.push_back(parameter.num_elements);
  }
  return ours == wanted && parameters.back().is_output;
}

TuneResult best_of_records(const TuneTask& task, const CaseOptions& options) {
  const Result<JournalContents, RecordError> contents = read_journal(options.records);
  if (!contents) {
    throw Error(contents.error().message);
  }
  std::vector<std::string> skipped;
  const std::optional<ReplayedRecord> best = best_replayed(
      *contents, task.dag, te::workload_key(*task.dag), task.target.name, options.threads, skipped);
  TuneResult result;
  result.task = task;
  result.num_threads = options.threads;
  if (!best) {
    result.summary.message = "\"" + options.records + "\" holds no successful trial of it for " +
                             task.target.name + " on " + std::to_string(options.threads) +
                             " thread(s)" + (skipped.empty() ? "" : "; " + skipped.front());
    return result;
  }
  try {
    result = compile_once(task, best->state, options.threads);
    result.summary.is_verified = best->record.is_verified;
  } catch (const Error& error) {
    result.summary.message = error.what();
  }
  return result;
}

/// Of the tasks, which are ways to compute the same. `journal`: gets the trials of a single task.
TuneResult best_of(const std::vector<TuneTask>& tasks, const CaseOptions& options,
                   const std::string& journal) {
  if (!options.records.empty()) {
    if (tasks.size() > 1) {
      throw Error("--records: expected workloads without alternatives");
    }
    return best_of_records(tasks.front(), options);
  }
  TuneOptions tuning;
  tuning.budget.seconds = options.tune_seconds;
  tuning.seed = options.seed;
  tuning.num_threads = options.threads;
  tuning.space = options.space.empty() ? tuning.space : options.space;
  tuning.is_cancelled = is_interrupted;
  if (tasks.size() == 1) {
    tuning.database = journal;
    return tune(tasks.front(), tuning);
  }
  TasksOptions together;
  together.tune = tuning;
  together.schedule.strategy = TaskStrategy::fastest;
  std::vector<WeightedTask> weighted;
  for (const TuneTask& task : tasks) {
    weighted.push_back({task});
  }
  TasksResult tuned = tune_tasks(weighted, together);
  const TuneResult* fastest = tuned.fastest();
  return std::move(tuned.tasks[fastest == nullptr ? 0 : fastest - tuned.tasks.data()]);
}

/// What an empty budget gives, with the milliseconds that it took in all; none if it gave nothing.
TuneResult instant_of(const TuneTask& task, const CaseOptions& options, double& milliseconds) {
  TuneOptions tuning;
  tuning.budget = {};
  tuning.budget.seconds = 0;
  tuning.num_threads = options.threads;
  tuning.seed = options.seed;
  tuning.space = options.space.empty() ? tuning.space : options.space;
  const double begin = now_ns();
  TuneResult result = tune(task, tuning);
  milliseconds = (now_ns() - begin) * 1e-6;
  return result;
}

Target target_of(const std::string& name) {
  Result<Target, std::string> target = runnable_target(name);
  if (!target) {
    throw Error(target.error());
  }
  return std::move(target).value();
}

/// The trials that were the best so far. The last point of a curve is the final ranking's.
std::span<const CurvePoint> best_trials(const TuneSummary& summary) {
  return std::span(summary.curve).first(summary.curve.empty() ? 0 : summary.curve.size() - 1);
}

void add_curve(const TuneSummary& summary, nlohmann::ordered_json& entry) {
  entry["curve"] = nlohmann::ordered_json::array();
  for (const CurvePoint& point : best_trials(summary)) {
    entry["curve"].push_back({point.seconds, point.trial, point.best_ns});
  }
}

/// What the final ranking would have had to choose from after so many seconds.
struct Milestone {
  double seconds = 0;
  std::vector<std::size_t> finalists;  ///< places in the journal
};
std::vector<Milestone> milestones(const std::vector<Record>& records) {
  const std::size_t num_finalists = DriverOptions{}.num_ranked;
  std::vector<Milestone> chosen;
  for (const double seconds :
       {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0}) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].is_ok() && records[i].seconds <= seconds) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return records[a].min_ns < records[b].min_ns;
    });
    order.resize(std::min(order.size(), num_finalists));
    if (!order.empty() && (chosen.empty() || chosen.back().finalists != order)) {
      chosen.push_back({seconds, std::move(order)});
    }
  }
  return chosen;
}

/// For races that no library takes part in.
PairOptions among_our_own(double max_total_ns) {
  PairOptions pairs;
  pairs.pairs = 15;
  pairs.warm_calls = 1;
  pairs.max_total_ns = max_total_ns;
  pairs.is_stopped = is_interrupted;
  return pairs;
}

/// What tuning would have ended with when, as shares of the winner's speed, and when that was 95 %
/// of it: the fastest of the finalists of that time. Times of different seconds are not comparable,
/// so all of them are compiled again and take turns.
/// `in_place`: the residual that the winner leaves its result in; empty: none.
void add_raced_curve(const TuneResult& result, const std::string& journal, const PackedKernel& ours,
                     const std::vector<KernelParameter>& parameters, const Operands& operands,
                     const std::string& in_place, nlohmann::ordered_json& entry) {
  const Result<JournalContents, RecordError> contents = read_journal(journal);
  if (!contents) {
    throw Error(contents.error().message);
  }
  const TuneTask& task = result.task;
  const std::vector<Milestone> curve = milestones(contents->records);
  std::map<std::size_t, std::unique_ptr<PackedKernel>> kernels;  // by place in the journal
  for (const Milestone& milestone : curve) {
    for (const std::size_t finalist : milestone.finalists) {
      if (kernels.contains(finalist)) {
        continue;
      }
      try {
        const State state = replay_steps(task.dag, contents->records[finalist].steps);
        kernels[finalist] = std::make_unique<PackedKernel>(compile_once(task, state).kernel(),
                                                           parameters, operands);
        kernels[finalist]->read_in_place(in_place, operands.output);
      } catch (const Error&) {  // it cannot be built any more, and is left out
      }
    }
  }
  std::vector<std::function<void()>> contestants{[&] { ours(); }};
  std::map<std::size_t, std::size_t> turns;
  for (const auto& [finalist, kernel] : kernels) {
    turns[finalist] = contestants.size();
    contestants.emplace_back([&kernel = *kernel] { kernel(); });
  }
  const std::vector<ContestantTimes> times =
      measure_interleaved(contestants, among_our_own(10 * 1e9));
  entry["raced_curve"] = nlohmann::ordered_json::array();
  entry["seconds_to_95"] = nullptr;
  for (const Milestone& milestone : curve) {
    double share = 0;
    for (const std::size_t finalist : milestone.finalists) {
      if (const auto turn = turns.find(finalist); turn != turns.end()) {
        share = std::max(share, 1 / times[turn->second].ratio);
      }
    }
    entry["raced_curve"].push_back({milestone.seconds, share});
    if (entry["seconds_to_95"].is_null() && share >= 0.95) {
      entry["seconds_to_95"] = milestone.seconds;
    }
  }
}

/// Whether the kernel is faster with its result in the memory of the residual.
bool is_faster_in_place(const PackedKernel& apart, const PackedKernel& in_place) {
  return measure_interleaved({[&] { apart(); }, [&] { in_place(); }}, among_our_own(5 * 1e9))[1]
             .ratio < 1;
}

/// The name of a file in the folder for temporary ones; there is none before and after.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("bench_kernels-" + std::to_string(getpid()) + ".jsonl"))
                         .string();
  TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { remove(); }
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

std::vector<std::string> alternatives_of(const std::string& text) {
  const std::string separator = " or ";
  std::vector<std::string> alternatives;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string::npos; begin = end + separator.size()) {
    end = text.find(separator, begin);
    alternatives.push_back(text.substr(begin, end - begin));
  }
  return alternatives;
}

nlohmann::ordered_json run_case(const std::string& suite, const std::string& text,
                                const CaseOptions& options, const Roofline& roofline,
                                std::vector<FoundPeer>& peers) {
  std::vector<TuneTask> tasks;
  std::optional<ops::Workload> workload;  // the first
  const Target target = target_of(options.target);
  for (const std::string& alternative : alternatives_of(text)) {
    Result<ops::Workload, std::string> parsed = ops::parse_workload(alternative);
    if (!parsed) {
      throw Error(parsed.error());
    }
    tasks.push_back({parsed->dag, target, parsed->name, parsed->nominal_flop});
    if (!workload) {
      workload = std::move(*parsed);
    }
  }
  const TemporaryFile journal;
  const TuneResult result = best_of(tasks, options, journal.path);
  const TuneTask& task = result.task;

  nlohmann::ordered_json entry;
  entry["suite"] = suite;
  entry["workload"] = tasks.size() > 1 ? task.workload : text;
  entry["class"] = std::string(1, ops::letter_of(workload->packing));
  entry["threads"] = options.threads;
  entry["target"] = result.task.target.name;
  const auto add_source = [&] {
    entry["tune_seconds"] = result.summary.seconds;
    entry["trials"] = result.summary.trials;
    add_curve(result.summary, entry);
  };
  if (!result.has_best()) {
    entry["ours_gflops"] = nullptr;
    entry["peers"] = nlohmann::ordered_json::object();
    entry["peak_fraction"] = nullptr;
    entry["roofline_ns"] = nullptr;
    entry["verified"] = false;
    add_source();
    entry["problem"] =
        result.summary.message.empty() ? result.summary.first_failure : result.summary.message;
    return entry;
  }
  const std::vector<KernelParameter> parameters = kernel_parameters(*task.dag);
  Operands operands(parameters);
  Contest contest;
  contest.problem = problem_of(*workload);
  if (contest.problem && !fits(sizes_of(*contest.problem), parameters)) {
    throw Error("the kernel of " + text + " does not take the operands of its problem");
  }
  const ProblemSizes sizes = contest.problem ? sizes_of(*contest.problem) : ProblemSizes{};
  std::optional<NarrowOperands> narrow;
  if (sizes.is_low_precision()) {
    narrow.emplace(parameters, operands);
    contest.buffers = buffers_of(sizes, narrow->inputs, narrow->output);
    contest.write_output = [&] { narrow->write_output(); };
  } else {
    contest.buffers = buffers_of(sizes, operands.inputs, operands.output);
  }
  PackedKernel ours(result.kernel(), parameters, operands);
  contest.flop = contest.problem ? sizes.flop : workload->nominal_flop;
  contest.ours = [&] { ours(); };
  const std::optional<std::size_t> residual =
      contest.problem && !narrow ? residual_of(*contest.problem) : std::nullopt;
  std::string in_place;
  if (residual) {
    PackedKernel other(result.kernel(), parameters, operands);
    const std::string& name = parameters[*residual].name;
    if (other.read_in_place(name, operands.output) && is_faster_in_place(ours, other)) {
      in_place = name;
      ours.read_in_place(in_place, operands.output);
      contest.rewind = [&] {
        std::copy_n(operands.inputs[*residual], sizes.output, operands.output);
      };
    }
  }
  std::optional<PackedKernel> instant;
  double instant_ms = 0, instant_compiled_ms = 0;
  if (options.with_instant) {
    const TuneResult first = instant_of(task, options, instant_ms);
    instant_compiled_ms = 1e3 * (first.summary.propose_seconds + first.summary.build_seconds);
    if (first.has_best()) {
      instant.emplace(first.kernel(), parameters, operands);
      instant->read_in_place(in_place, operands.output);
      contest.instant = [&] { (*instant)(); };
    }
  }
  RaceOptions racing;
  racing.packing = static_cast<PackingClass>(static_cast<int>(workload->packing));
  racing.threads = options.threads;
  racing.isa = vector_isa_of(result.task.target);
  racing.pairs = options.pairs;
  racing.is_cold = options.is_cold;
  racing.is_stopped = is_interrupted;
  const nlohmann::ordered_json raced = race(contest, racing, roofline, peers);
  for (const auto& [key, value] : raced.items()) {
    entry[key] = value;
    if (key == "verified") {
      // Our own check, beside the one of every candidate during the search.
      const bool is_right = value.is_null() || value.get<bool>();
      entry[key] = is_right && result.summary.is_verified;
      add_source();
    }
  }
  if (options.records.empty() && tasks.size() == 1 && options.threads == 1) {
    add_raced_curve(result, journal.path, ours, parameters, operands, in_place, entry);
  }
  entry["in_place"] = !in_place.empty();
  if (options.with_instant) {
    entry["instant_ms"] = instant_ms;
    entry["instant_compiled_ms"] = instant_compiled_ms;
  }
  return entry;
}

}  // namespace tensorsmith::bench
