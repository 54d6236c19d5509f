// requires: llvm json
#include "case.hpp"

#include <utility>

#include "bench/support/interrupt.hpp"
#include "bench/support/loop_timer.hpp"
#include "bench/support/packed_kernel.hpp"
#include "bench/support/problem.hpp"
#include "bench/support/race.hpp"
#include "lib/cpu/host.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune_tasks.hpp"
#include "tune/compile.hpp"
#include "tune/replay_steps.hpp"

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
  const Record& record = best->record;
  Result<BuiltCandidate, MeasureFault> built =
      make_candidate_builder(task.target, options.threads)->build(best->state);
  if (!built) {
    result.summary.message = "the recorded schedule cannot be compiled: " + built.error().message;
    return result;
  }
  result.summary.is_verified = record.is_verified;
  result.steps = record.steps;
  result.signature = signature_of(*built, *task.dag);
  result.object = std::move(built->object);
  return result;
}

/// Of the tasks, which are ways to compute the same.
TuneResult best_of(const std::vector<TuneTask>& tasks, const CaseOptions& options) {
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

/// Best so far by seconds, and when it came within 5 % of what the trials ended with.
void add_curve(const TuneSummary& summary, nlohmann::ordered_json& entry) {
  entry["curve"] = nlohmann::ordered_json::array();
  entry["seconds_to_95"] = nullptr;
  // The last point is the median of the final ranking; the others are the fastest runs of trials.
  const std::size_t num_trials = summary.curve.empty() ? 0 : summary.curve.size() - 1;
  const double final_ns = num_trials > 0 ? summary.curve[num_trials - 1].best_ns : 0;
  for (std::size_t i = 0; i < num_trials; ++i) {
    const CurvePoint& point = summary.curve[i];
    entry["curve"].push_back({point.seconds, point.trial, point.best_ns});
    if (entry["seconds_to_95"].is_null() && 0.95 * point.best_ns <= final_ns) {
      entry["seconds_to_95"] = point.seconds;
    }
  }
}

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
  const TuneResult result = best_of(tasks, options);
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
  const PackedKernel ours(result.kernel(), parameters, operands);
  contest.flop = contest.problem ? sizes.flop : workload->nominal_flop;
  contest.ours = [&] { ours(); };
  std::optional<PackedKernel> instant;
  double instant_ms = 0, instant_compiled_ms = 0;
  if (options.with_instant) {
    const TuneResult first = instant_of(task, options, instant_ms);
    instant_compiled_ms = 1e3 * (first.summary.propose_seconds + first.summary.build_seconds);
    if (first.has_best()) {
      instant.emplace(first.kernel(), parameters, operands);
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
  if (options.with_instant) {
    entry["instant_ms"] = instant_ms;
    entry["instant_compiled_ms"] = instant_compiled_ms;
  }
  return entry;
}

}  // namespace tensorsmith::bench
