// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "tune/session.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/ops/definition.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/complete_first.hpp"
#include "tune/distinct_programs.hpp"
#include "tune/f64_twin.hpp"
#include "tune/left_behind.hpp"
#include "tune/polish.hpp"
#include "tune/serial_twins.hpp"
#include "tune/starved_time.hpp"
#include "tune/task_inputs.hpp"

namespace tensorsmith {
namespace {

constexpr std::uint64_t input_seed = 1;
/// Of the reference in instant mode: some 5 ms. Of a run with a budget so many more for each
/// second: a twentieth of it where a core computes 10 points in a nanosecond. Without a limit of
/// time as many as of a run of so many seconds.
constexpr double instant_points = 5e7, points_per_second = 5e8, unlimited_seconds = 60;
/// A worker that starts on a busy machine gets so long whatever the budget.
constexpr double least_start_seconds = 2;
/// The reference result and the inputs of the worker are waited for as long as the budget is and
/// this share of it, but no less than so many seconds, waiting for a core left out; and no longer
/// than the second number or the budget on the clock.
constexpr double late_share = 0.05, least_prepare_seconds = 1, most_starved_seconds = 5;
constexpr double least_drawing_seconds = 0.5;
/// Tasks of so many bytes are drawn by the worker while the reference is computed.
constexpr std::int64_t large_bytes = std::int64_t{256} << 20;
/// Of the search, until the first program is proposed.
constexpr double first_share = 0.5;
/// The results of hard inputs too may take no more than this share of the budget.
constexpr double hard_share = 0.5;
/// Of the results of hard inputs, which have a bound each: some ten times the work of a point.
constexpr double hard_points = 2e7, instant_hard_points = 2e6;
/// Of the budget, for the neighbours of the best.
constexpr double usual_polish = 0.1;
/// Programs of similar tasks; and the largest journal that is read for them, some half a second.
constexpr std::size_t most_carried = 8;
constexpr std::uintmax_t most_prior_bytes = 16 << 20;

/// What the task is to compute: the definition of the workload that it says it is, if its program
/// is that one's; else the program itself.
Shared<const ComputeDag> definition_of(const TuneTask& task) {
  if (const auto named = ops::parse_workload(task.workload);
      named && te::workload_key(*named->dag) == te::workload_key(*task.dag)) {
    return ops::definition_of(*named);
  }
  return task.dag;
}

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
        observations.push_back({outcome.state, result.is_ok() ? work / result.min_ns * 1e9 : 0,
                                make_shared_of<const MeasureResult>(result)});
      }
    }
    policy_.observe(observations);
  }
  RankReport model_rank() const override { return policy_.model_rank(); }
  void describe(TuneSummary& summary) const override { summary.guards = policy_.guards(); }

 private:
  SearchPolicy& policy_;
  double flop_;
};

Record record_template(const TuneTask& task, const TuneOptions& options,
                       const BackendFacts& facts) {
  Record record;
  record.workload_key = te::workload_key(*task.dag);
  record.workload = name_of(task);
  record.target = task.target.name;
  record.cpu = facts.device_name;
  record.machine = facts.machine;
  record.space = options.space;
  record.policy = options.policy;
  record.num_threads = options.num_threads;
  record.seed = options.seed;
  return record;
}

/// Whether the search is this project's own, which measures what others propose beside it.
bool is_own_search(const TuneOptions& options) {
  return named_policy(options) != nullptr && !follows_reference(options) && !is_instant(options);
}

bool looks_for_prior(const TuneOptions& options) {
  return options.prior > 0 && is_own_search(options);
}

/// The share of the budget for the neighbours of the best.
double polish_of(const TuneOptions& options) {
  return is_instant(options) ? 0
                             : options.polish.value_or(is_own_search(options) ? usual_polish : 0);
}

RacingPolicy racing_policy(const TuneOptions& options) {
  return options.timing == TrialTiming::reference ? RacingPolicy::reference()
         : is_instant(options)                    ? RacingPolicy::instant()
                                                  : RacingPolicy{};
}

}  // namespace

bool is_instant(const TuneOptions& options) {
  return options.budget.seconds == 0 && options.budget.trials == 0;
}

constexpr std::size_t least_round_size = 8;
std::size_t round_size_for(const TuneOptions& options, bool grows) {
  if (options.round_size > 0) {
    return static_cast<std::size_t>(options.round_size);
  }
  constexpr auto least = static_cast<double>(least_round_size);
  double size = 64;  // Ansor reference, ch. 5.1
  if (options.budget.seconds > 0 && !grows) {
    size = std::min(size, std::max(least, options.budget.seconds * 1.2));
  }
  if (options.budget.trials > 0) {
    size = std::min(size, std::max(least, static_cast<double>(options.budget.trials) / 4));
  }
  return static_cast<std::size_t>(size);
}

Owned<Backend> backend_for(const TuneOptions& options, const Target& target) {
  Owned<Backend> backend =
      options.make_backend ? options.make_backend(target) : make_backend(target);
  if (!backend) {
    throw Error("TuneOptions::make_backend: expected a backend, got none");
  }
  return backend;
}

Owned<Measurer> measurer_for(const TuneOptions& options, const Target& target) {
  MeasurerOptions measuring;
  measuring.worker_path = options.worker_path;
  measuring.simulated = options.simulated;
  if (options.budget.seconds > 0) {
    measuring.start_seconds = std::clamp(options.budget.seconds, least_start_seconds, 10.0);
  }
  return backend_for(options, target)->make_measurer(measuring);
}

namespace {

/// The only folder that is made unasked.
void make_cache_folder(const std::string& journal) {
  const std::filesystem::path cache = cache_folder();
  if (!cache.empty() && std::filesystem::path(journal).parent_path() == cache) {
    std::error_code problem, ignored;
    std::filesystem::create_directories(cache, problem);
    if (problem && !std::filesystem::is_directory(cache, ignored)) {
      throw Error("cannot make the folder \"" + cache.string() +
                  "\" for journals: " + problem.message());
    }
  }
}

}  // namespace

RunResources::RunResources(const TuneOptions& options, const Target& target, double start)
    : clock_(steady_seconds, start), measurer_(options.measurer) {
  if (measurer_ == nullptr) {
    own_ = measurer_for(options, target);
    measurer_ = own_.get();
  }
  if (!options.database.empty()) {
    make_cache_folder(options.database);
    Result<Journal, RecordError> opened = Journal::open(options.database);
    if (!opened) {
      throw Error(opened.error().message);
    }
    journal_.emplace(std::move(opened).value());
    skipped_ = journal_->skipped();
    std::error_code unknown;
    const bool is_short = std::filesystem::file_size(options.database, unknown) <= most_prior_bytes;
    if (options.resumes || (looks_for_prior(options) && is_short && !unknown)) {
      Result<JournalContents, RecordError> contents = read_journal(options.database);
      if (!contents) {
        throw Error(contents.error().message);
      }
      if (looks_for_prior(options) && is_short) {
        all_records_ = contents->records;
      }
      if (options.resumes) {
        std::vector<Record> winners;
        for (Winner& winner : contents->winners) {
          winners.push_back(std::move(winner.record));
        }
        earlier_ = EarlierRun(std::move(contents->records), std::move(winners));
        skipped_ = std::move(contents->skipped);
      }
    }
  } else if (options.resumes) {
    throw Error("tune: there is no run to go on with without a journal (database)");
  }
}

std::string RunResources::journal_problem(bool is_cancelled) const {
  if (!journal_) {
    return "";
  }
  std::string problem;
  if (!skipped_.empty()) {
    problem = std::to_string(skipped_.size()) + " line(s) of \"" + journal_->path() +
              "\" are no records; the first is line " + std::to_string(skipped_.front().number);
  }
  const std::string missed = is_cancelled ? "" : earlier_.problem(journal_->path());
  return problem + (problem.empty() || missed.empty() ? "" : "; ") + missed;
}

std::string name_of(const TuneTask& task) {
  constexpr std::size_t longest = 4096;
  if (!task.workload.empty()) {
    return task.workload;
  }
  Result<std::string, std::string> text = te::write_notation(*task.dag);
  return text && text->size() <= longest ? std::move(*text) : te::workload_key(*task.dag);
}

TuneSession::TuneSession(const TuneTask& task, const TuneOptions& options, CostModel* shared_model,
                         std::uint32_t index)
    : task_(task), options_(options), backend_(backend_for(options, task.target)) {
  const BackendFacts facts = backend_->facts();
  if (shared_model != nullptr) {
    options_.model = shared_model;
  }
  facts_.is_late = [this] {
    if (options_.is_cancelled && options_.is_cancelled()) {
      return true;
    }
    // What is proposed first has to be built and measured too.
    const bool is_first = driver_ != nullptr && driver_->summary().trials == 0;
    return driver_options_.clock && driver_options_.clock() > (is_first ? first_share : 1) *
                                                                  driver_options_.search_seconds();
  };
  search_ = make_search(task, options_, index, facts_);
  if (!facts.runs_code) {
    options_.verifies = false;  // nothing is computed
  } else if (const std::string problem = memory_problem(*task.dag); !problem.empty()) {
    throw Error("tune: " + problem);
  }
  definition_ = definition_of(task);
  measure_task_ = make_measure_task(*task.dag, options_.num_threads, input_seed, definition_.get());
  give_inputs(measure_task_, *task.dag, task.inputs);
  measure_task_.device = task.target.device.value_or(-1);
  measure_task_.vector_bits = task.target.vector_bits;
  driver_options_.budget = options_.budget;
  driver_options_.early_stopping = options_.early_stopping;
  driver_options_.is_instant = is_instant(options_);
  const bool grows = options.round_size == 0 && has_draft(options, task.target);
  driver_options_.first_round_size = grows ? facts.first_round_size : 0;
  driver_options_.round_size = round_size_for(options, grows);
  driver_options_.flop = task.flop > 0 ? task.flop : std::max(0.0, te::count_flop(*task.dag));
  driver_options_.is_f32 = std::all_of(
      task.dag->tensors().begin(), task.dag->tensors().end(), [&](const TensorInfo& tensor) {
        return !is_input(*task.dag, tensor) || tensor.dtype == DType::f32;
      });
  driver_options_.num_threads = facts.has_threads ? options_.num_threads : 1;
  driver_options_.build_limit_seconds = facts.build_limit_seconds;
  if (task.target.is_simulated) {
    driver_options_.virtual_cost = options_.simulated.cost;
  }
  driver_options_.racing = racing_policy(options_);
  driver_options_.racing.verify = options_.verifies;
  driver_options_.record_template = record_template(task, options_, facts);
  driver_options_.is_cancelled = options_.is_cancelled;
  driver_options_.on_progress = options_.on_progress;
  source_ = std::make_unique<PolicySource>(*search_.policy, driver_options_.flop);
  const PolicyMethod* const policy = named_policy(options_);
  if (driver_options_.num_threads > 1 && policy != nullptr && !policy->follows_reference) {
    Callback<double(const State&)> draft;
    if (task.target.kind == TargetKind::cpu && has_draft(options_, task.target)) {
      draft = [target = task.target, threads = options_.num_threads](const State& state) {
        return draft_cycles(state, target, threads);
      };
    }
    source_ = std::make_unique<SerialTwins>(std::move(source_), std::move(draft));
  }
  if (!search_.complete.empty()) {
    source_ = std::make_unique<CompleteFirst>(std::move(source_), std::move(search_.complete),
                                              is_instant(options_));
  }
  builder_ = backend_->make_builder(options_.num_threads);
}

TuneSession::~TuneSession() = default;

/// What the references are computed from, and they themselves: nothing else is used, so that it may
/// go on alone.
struct TuneSession::References {
  MeasureTask task;
  Shared<const ComputeDag> definition, program;
  PlainRunner run_plain;
  double points = 0, hard_points = 0;
  double share = 1;
  std::string problem, not_judged;

  void add() {
    const Result<double, MeasureFault> added = add_reference(task, definition, run_plain, points);
    problem = added ? "" : added.error().message;
    share = added ? *added : 0;
  }
  void add_hard() {
    not_judged = add_hard_references(task, definition, program, run_plain, hard_points);
  }
};

void TuneSession::add_reference_result(double share) {
  if (!options_.verifies) {
    return;
  }
  const double begin = steady_seconds(), budget = options_.budget.seconds;
  const double starved_before = starved_seconds();
  const auto is_cancelled = [&] { return options_.is_cancelled && options_.is_cancelled(); };
  // Of the work itself; on the clock it may take longer on a busy machine.
  const auto is_late = [&](double seconds) {
    const double passed = steady_seconds() - begin;
    return is_cancelled() || (budget > 0 && passed > seconds &&
                              (passed > std::max(budget, most_starved_seconds) ||
                               passed - (starved_seconds() - starved_before) > seconds));
  };
  const auto references = std::make_shared<References>();
  references->task = measure_task_;
  references->definition = definition_;
  references->program = task_.dag;
  references->run_plain = backend_->make_reference();
  references->points = is_instant(options_)
                           ? instant_points
                           : share * (budget > 0 ? budget : unlimited_seconds) * points_per_second;
  references->hard_points = is_instant(options_) ? instant_hard_points : hard_points;
  const double most = std::max((1 + late_share) * budget, least_prepare_seconds);
  if (!run_unless([references] { references->add(); }, [&] { return is_late(most); })) {
    if (is_cancelled()) {
      return;  // nothing is measured any more
    }
    char text[32];
    std::snprintf(text, sizeof(text), "%.3g", steady_seconds() - begin);
    throw Error("tune: no reference result after " + std::string(text) +
                " s, so nothing can be verified: this computation wants a larger budget");
  }
  if (!references->problem.empty()) {
    throw Error("tune: no reference result: " + references->problem);
  }
  verified_share_ = references->share;
  for (std::size_t i = 0; i < measure_task_.arguments.size(); ++i) {
    KernelArgument& from = references->task.arguments[i];
    auto reference = std::exchange(from.reference, {});  // it is not needed there any more
    measure_task_.arguments[i] = from;
    measure_task_.arguments[i].reference = std::move(reference);
  }
  if (!run_unless([references] { references->add_hard(); },
                  [&] { return is_late(hard_share * budget); })) {
    not_judged_ = "the results of hard inputs were not there in time";
    return;
  }
  not_judged_ = references->not_judged;
  for (std::size_t i = 0; i < measure_task_.arguments.size(); ++i) {
    measure_task_.arguments[i].hard = std::move(references->task.arguments[i].hard);
  }
}

void TuneSession::prepare_with_reference(Measurer& measurer) {
  const double budget = options_.budget.seconds;
  const double end = steady_seconds() + std::max((1 + late_share) * budget, least_start_seconds);
  const auto set_limit = [&] {
    const double left = std::max(end - steady_seconds(), least_drawing_seconds);
    measure_task_.max_prepare_ns = budget > 0 ? static_cast<std::int64_t>(left * 1e9) : 0;
  };
  set_limit();
  std::future<Result<Done, MeasureFault>> drawing;
  if (options_.verifies && (is_instant(options_) || measure_task_.num_bytes() >= large_bytes)) {
    // The worker draws the inputs while the reference is computed.
    drawing = std::async(std::launch::async,
                         [&measurer, task = measure_task_] { return measurer.prepare(task); });
  }
  add_reference_result();
  const Result<Done, MeasureFault> drawn = drawing.valid() ? drawing.get() : Done{};
  if (options_.is_cancelled && options_.is_cancelled()) {
    return;
  }
  if (!drawn && budget > 0 && steady_seconds() > end) {
    throw Error("tune: nothing can be measured: " + drawn.error().message);
  }
  set_limit();
  prepare(measurer);  // whatever else went wrong is said again
}

void TuneSession::prepare(Measurer& measurer) const {
  const Result<Done, MeasureFault> prepared = measurer.prepare(measure_task_);
  if (!prepared) {
    throw Error("tune: nothing can be measured: " + prepared.error().message);
  }
}

Driver& TuneSession::start(RunResources& resources, Callback<std::vector<SolvedProgram>()> solved) {
  if (facts_.identity) {  // else the search is the reference's, with its own rule
    const auto known = std::make_shared<KnownPrograms>(facts_.identity);
    if (looks_for_prior(options_)) {
      if (!solved) {
        solved = [&resources, run = run()] { return resources.solved(std::span(&run, 1)); };
      }
      source_ = std::make_unique<Prior>(
          std::move(source_),
          [solved, key = run().workload_key, carry = facts_.carry] {
            return carried_over(solved(), key, carry, most_carried);
          },
          options_.prior, known);
    }
    if (const double share = polish_of(options_); share > 0) {
      source_ = std::make_unique<Polish>(
          std::move(source_), PolishOptions{share, options_.seed, facts_.neighbours}, known);
    }
    source_ = std::make_unique<DistinctPrograms>(std::move(source_), known);
  }
  RunClock& clock = resources.clock();
  EarlierRun& earlier = resources.earlier();
  driver_options_.known = earlier.trials_like(driver_options_.record_template);
  if (!driver_options_.known.empty()) {
    driver_options_.known_winner = earlier.winner_like(driver_options_.record_template);
    clock.stand();
  }
  driver_options_.clock = [&clock] { return clock.now(); };
  driver_options_.on_known = [&clock, &earlier](const KnownTrial& trial) {
    clock.move_to(trial.seconds);
    earlier.take(trial);
  };
  driver_options_.before_unknown = [&clock] { clock.run(); };
  driver_ = std::make_unique<Driver>(*source_, *builder_, resources.measurer(), resources.journal(),
                                     driver_options_);
  driver_->begin();
  return *driver_;
}

TuneResult TuneSession::finish() {
  DriverResult driven = driver_->finish();
  TuneResult result;
  result.summary = std::move(driven.summary);
  result.summary.verified_share = result.summary.is_verified ? verified_share_ : 0;
  result.summary.not_judged = not_judged_;
  result.task = task_;
  result.num_threads = options_.num_threads;
  if (driven.best) {
    result.steps = driven.best->state.steps();
    result.signature = signature_of(driven.best->code, *task_.dag);
    result.object = std::move(driven.best->code.object);
  }
  return result;
}

}  // namespace tensorsmith
