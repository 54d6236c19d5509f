#include "tensorsmith/tune.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "cpu/host.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tune/compile.hpp"
#include "tune/driver.hpp"
#include "tune/measure_task.hpp"
#include "tune/search.hpp"

namespace tensorsmith {
namespace {

constexpr std::uint64_t input_seed = 1;

/// A SearchPolicy in the driver's terms: throughput instead of times, 0 for a candidate's failure.
class PolicySource final : public CandidateSource {
 public:
  PolicySource(SearchPolicy& policy, double flop) : policy_(policy), flop_(flop) {}

  std::vector<State> propose(std::size_t n) override {
    std::vector<State> states;
    for (Proposal& proposal : policy_.propose(n)) {
      states.push_back(std::move(proposal.state));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome> outcomes) override {
    std::vector<Observation> observations;
    for (const TrialOutcome& outcome : outcomes) {
      const MeasureResult& result = outcome.result;
      // What the machine did wrong says nothing about the candidate.
      if (result.is_ok() || is_candidate_fault(result.status)) {
        const double work = flop_ > 0 ? flop_ : 1;
        observations.push_back({outcome.state, result.is_ok() ? work / result.min_ns * 1e9 : 0});
      }
    }
    policy_.observe(observations);
  }

 private:
  SearchPolicy& policy_;
  double flop_;
};

/// Nothing may be searched by measuring: the best analytic candidate is taken.
bool is_instant(const TuneOptions& options) {
  return options.budget.seconds == 0 && options.budget.trials == 0;
}

void check_arguments(const TuneTask& task, const TuneOptions& options) {
  if (task.dag == nullptr) {
    throw Error("tune: the task has no dag");
  }
  if (task.target.kind != TargetKind::cpu) {
    throw Error("tune: target " + task.target.name + " is no CPU; only CPUs can be tuned");
  }
  if (!(options.budget.seconds >= 0) || std::isinf(options.budget.seconds) ||
      options.budget.trials < 0) {
    throw Error("tune: the budget must not be negative");
  }
  if (is_instant(options) && options.space == "ansor") {
    throw Error("tune: instant mode (no seconds, no trials) needs the native space; the space "
                "ansor has no analytic model");
  }
  if (options.num_threads < 1 || options.num_threads > 1024) {
    throw Error("tune: the number of threads must be in 1..1024, is " +
                std::to_string(options.num_threads));
  }
}

/// Some rounds must fit into the budget, or the model never learns anything.
std::size_t round_size_for(const TuneOptions& options) {
  if (options.round_size > 0) {
    return static_cast<std::size_t>(options.round_size);
  }
  double size = 64;  // Ansor reference, ch. 5.1
  if (options.budget.seconds > 0) {
    size = std::min(size, std::max(8.0, options.budget.seconds * 1.2));
  }
  if (options.budget.trials > 0) {
    size = std::min(size, std::max(8.0, static_cast<double>(options.budget.trials) / 4));
  }
  return static_cast<std::size_t>(size);
}

Record record_template(const TuneTask& task, const TuneOptions& options) {
  Record record;
  record.workload_key = te::workload_key(*task.dag);
  record.workload = task.workload.empty() ? record.workload_key : task.workload;
  record.target = task.target.name;
  record.cpu = probe_host().model_name;
  record.space = options.space;
  record.policy = options.policy;
  record.num_threads = options.num_threads;
  record.seed = options.seed;
  return record;
}

}  // namespace

TuneResult tune(const TuneTask& task, const TuneOptions& options) {
  const double start = steady_seconds();
  check_arguments(task, options);
  // Named first, so that a misspelt option costs no time.
  Search search = make_search(task, options);
  if (const std::string problem = memory_problem(*task.dag); !problem.empty()) {
    throw Error("tune: " + problem);
  }
  std::optional<WorkerMeasurer> workers;
  if (options.measurer == nullptr) {
    WorkerOptions worker_options;
    worker_options.worker_path = options.worker_path;
    if (find_worker_program(worker_options).empty()) {
      throw Error("tune: the program tensorsmith-worker was found neither next to this one nor on "
                  "PATH");
    }
    workers.emplace(worker_options);
  }
  std::optional<Journal> journal;
  if (!options.database.empty()) {
    Result<Journal, RecordError> opened = Journal::open(options.database);
    if (!opened) {
      throw Error(opened.error().message);
    }
    journal.emplace(std::move(opened).value());
  }
  Measurer& measurer = options.measurer != nullptr ? *options.measurer : *workers;
  MeasureTask measure_task = make_measure_task(*task.dag, options.num_threads, input_seed);
  if (options.verifies) {
    const Result<Done, MeasureFault> referenced =
        add_reference(measure_task, task.dag, make_plain_runner(task.target));
    if (!referenced) {
      throw Error("tune: no reference result: " + referenced.error().message);
    }
  }
  const Result<Done, MeasureFault> prepared = measurer.prepare(measure_task);
  if (!prepared) {
    throw Error("tune: nothing can be measured: " + prepared.error().message);
  }

  const double prepare_seconds = steady_seconds() - start;

  DriverOptions driver;
  driver.budget = options.budget;
  driver.is_instant = is_instant(options);
  driver.round_size = round_size_for(options);
  driver.flop = task.flop > 0 ? task.flop : std::max(0.0, te::count_flop(*task.dag));
  driver.num_threads = options.num_threads;
  driver.racing.verify = options.verifies;
  driver.record_template = record_template(task, options);
  driver.is_cancelled = options.is_cancelled;
  driver.on_progress = options.on_progress;
  PolicySource source(*search.policy, driver.flop);
  const std::unique_ptr<CandidateBuilder> builder = make_candidate_builder(task.target);
  DriverResult driven =
      run_driver(source, *builder, measurer, journal ? &*journal : nullptr, driver, start);
  TuneResult result;
  result.summary = std::move(driven.summary);
  result.summary.prepare_seconds = prepare_seconds;
  if (journal && !journal->skipped().empty() && result.summary.message.empty()) {
    result.summary.message = std::to_string(journal->skipped().size()) + " line(s) of \"" +
                             journal->path() + "\" are no records; the first is line " +
                             std::to_string(journal->skipped().front().number);
  }
  result.task = task;
  result.num_threads = options.num_threads;
  if (driven.best) {
    result.steps = driven.best->state.steps();
    result.signature = signature_of(driven.best->code, *task.dag);
    result.object = std::move(driven.best->code.object);
  }
  return result;
}

}  // namespace tensorsmith
