// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/driver.hpp"

#include <algorithm>
#include <utility>

#include "tune/build_thread.hpp"
#include "tune/finalists.hpp"

namespace tensorsmith {
namespace {

/// Candidates of one call of the measurer.
constexpr std::size_t measure_chunk = 8;
/// So many trials in a row without a worker: it will not come back.
constexpr std::int64_t most_lost_in_a_row = 16;
/// So many failures: there is no first good candidate.
constexpr std::int64_t most_first_trials = 8;
/// After the budget: how long others are tried until the first good one, a measurement may go on,
/// and this share of the budget more for either.
constexpr double most_first_seconds = 0.5;
constexpr double most_measuring_seconds = 1;
constexpr double overrun_share = 0.05;
constexpr const char* no_program =
    "the search proposed no program: none that it made is legal and fits the target";

}  // namespace

class Driver::Impl {
 public:
  Impl(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer, Journal* journal,
       const DriverOptions& options)
      : source_(source), builder_(builder), measurer_(measurer), journal_(journal),
        options_(options) {}

  void begin() { report(); }

  bool run_round() {
    if (is_over() || summary_.is_exhausted) {
      return false;
    }
    std::vector<State> states;
    source_.spend(budget_use());
    spend_own(summary_.propose_seconds, [&] { states = source_.propose(next_round_size()); });
    if (states.empty()) {
      summary_.is_exhausted = true;
      return false;
    }
    measure_round(states);
    ++summary_.rounds;
    return true;
  }

  DriverResult finish() {
    summary_.is_cancelled = is_cancelled();
    DriverResult result;
    take_best(result);
    // A run that had nothing left to measure has a share of the peak too.
    if (result.best && !is_measurer_ready_ && !options_.is_instant && !summary_.is_cancelled) {
      calibrate();
    }
    summary_.seconds = now();
    const RankReport rank = source_.model_rank();
    summary_.rank_correlation = rank.correlation();
    summary_.num_ranked_pairs = static_cast<std::int64_t>(rank.num_pairs);
    finish_summary(result);
    source_.describe(summary_);
    const bool is_nothing = summary_.is_exhausted && summary_.trials == 0;
    tell_first(is_nothing ? no_program : measurer_.note());
    result.summary = std::move(summary_);
    return result;
  }

  const TuneSummary& summary() const { return summary_; }
  double best_min_ns() const { return best_min_ns_; }
  double last_trial_seconds() const { return last_trial_seconds_; }
  const std::vector<Finalist>& fastest() const { return kept_; }

 private:
  using Outcomes =
      std::vector<std::pair<std::size_t, TrialOutcome>>;  // with the place in the round

  void wait_for_measurer() {
    if (is_measurer_ready_) {
      return;
    }
    is_measurer_ready_ = true;
    if (options_.before_measuring) {
      options_.before_measuring();
    }
    if (!options_.is_instant && !is_cancelled()) {
      calibrate();
    }
  }
  void calibrate() {
    if (const Result<Calibration, MeasureFault> peak = measurer_.calibrate()) {
      peak_gflops_ = options_.is_f32 ? peak->peak_gflops_f32 * options_.num_threads : 0;
    } else {
      summary_.message = peak.error().message;
    }
  }
  /// Of the search itself; virtual seconds are those of a machine that has nothing else to do.
  void spend_own(double& phase, const Callback<void()>& work) {
    const CoreShare cores;
    const double begin = now();
    work();
    phase += now() - begin;
    summary_.virtual_time += VirtualSeconds(options_.virtual_cost ? cores.of(now() - begin) : 0);
  }
  double now() const { return options_.clock ? options_.clock() : steady_seconds(); }
  bool is_cancelled() const { return options_.is_cancelled && options_.is_cancelled(); }
  double seconds_left() const { return options_.search_seconds() - now(); }
  BudgetUse budget_use() const {
    return options_.budget_use ? options_.budget_use()
                               : use_of(summary_.trials, options_.budget.trials,
                                        last_trial_seconds_ / options_.search_seconds());
  }
  /// Nobody gets nothing: at the end of the budget one trial more is waited for, and others as long
  /// as they are quick, until the first good candidate.
  bool needs_first() const {
    if (best_min_ns_ > 0 || summary_.trials >= most_first_trials) {
      return false;
    }
    if (seconds_left() > 0) {
      return true;
    }
    const double moment = now();
    if (overrun_from_ < 0) {
      overrun_from_ = moment;
    }
    return summary_.trials == 0 ||
           moment - overrun_from_ < most_first_seconds + overrun_share * options_.budget.seconds;
  }
  bool is_known(const State& state) const { return known_trial(state) != nullptr; }
  bool is_over() const {
    return is_cancelled() || (seconds_left() <= 0 && !needs_first()) ||
           summary_.is_journal_broken || num_lost_in_a_row_ >= most_lost_in_a_row ||
           (options_.is_instant && !needs_first()) ||
           (options_.budget.trials > 0 && summary_.trials >= options_.budget.trials) ||
           (options_.early_stopping > 0 && best_min_ns_ > 0 &&
            summary_.trials - trials_of_best_ > options_.early_stopping);
  }
  std::size_t next_round_size() const {
    std::size_t size = options_.is_instant ? 1 : options_.round_size;
    if (options_.first_round_size > 0) {
      const auto eighth = static_cast<std::size_t>(summary_.trials) / 8;
      size = std::min(size, std::max(options_.first_round_size, eighth));
    }
    if (options_.budget.trials > 0) {
      size = std::min(size, static_cast<std::size_t>(options_.budget.trials - summary_.trials));
    }
    return size;
  }

  void measure_round(std::vector<State>& states) {
    Outcomes outcomes;
    {
      BuildThread building(builder_, states, options_.build_limit_seconds,
                           [&](std::size_t place) { return !is_known(states[place]); });
      std::size_t next = 0;
      while (next < states.size() && !is_over()) {
        bool is_late = false;
        // Short waits keep an eye on cancellation and the clock.
        const std::size_t chunk = seconds_left() > 0 ? measure_chunk : 1;
        std::vector<BuildOutcome> built = building.take(chunk, 0.05, is_late);
        if (!built.empty()) {
          measure(states, next, built, outcomes);
          next += built.size();
        }
      }
      summary_.build_seconds += building.build_seconds();
      summary_.num_compiled += building.num_builds();
    }
    std::stable_sort(outcomes.begin(), outcomes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<TrialOutcome> observed;
    for (auto& outcome : outcomes) {
      observed.push_back(std::move(outcome.second));
    }
    spend_own(summary_.train_seconds, [&] { source_.observe(observed); });
  }

  void measure(const std::vector<State>& states, std::size_t first,
               std::vector<BuildOutcome>& built, Outcomes& outcomes) {
    std::vector<CompiledCandidate> candidates;
    std::vector<std::size_t> places;  // of the candidates, in `built`
    bool are_known = true;
    for (std::size_t i = 0; i < built.size(); ++i) {
      const bool is_known = known_trial(states[first + i]) != nullptr;
      are_known = are_known && is_known;
      if (built[i] && !is_known) {
        places.push_back(i);
        candidates.push_back(candidate_of(*built[i], hash_steps(states[first + i].steps())));
      }
    }
    // Recorded as each result arrives; what needs no measurement and comes before it in the order
    // first: failed builds and what an earlier run has measured.
    std::size_t next_settled = 0;
    const auto record_settled = [&](std::size_t end) {
      for (; next_settled < end; ++next_settled) {
        const BuildOutcome& candidate = built[next_settled];
        if (const KnownTrial* known = known_trial(states[first + next_settled])) {
          if (options_.on_known) {
            options_.on_known(*known);
          }
          add_trial(first + next_settled, states, known->result, candidate ? &*candidate : nullptr,
                    outcomes);
        } else if (!candidate) {
          MeasureResult failed;
          failed.status = candidate.error().status;
          failed.message = candidate.error().message;
          add_trial(first + next_settled, states, std::move(failed), nullptr, outcomes);
        }
      }
    };
    if (!candidates.empty()) {
      wait_for_measurer();
      if (is_cancelled()) {
        return;  // it may not be ready
      }
    }
    if (!are_known && options_.before_unknown) {
      options_.before_unknown();
    }
    // What comes before the first measurement is settled by then: it is raced against the best.
    record_settled(places.empty() ? built.size() : places.front());
    const double begin = now();
    MeasureContext context;
    context.best_ns = best_min_ns_;
    context.racing = options_.racing;
    if (options_.budget.seconds > 0 && seconds_left() > 0) {
      context.max_wall_ns = static_cast<std::int64_t>(std::max(1e-3, seconds_left()) * 1e9);
      context.max_overrun_ns = static_cast<std::int64_t>(
          (most_measuring_seconds + overrun_share * options_.budget.seconds) * 1e9);
    }
    context.is_stopped = options_.is_cancelled;
    context.on_result = [&](std::size_t i, const MeasureResult& result) {
      const std::size_t at = places[i];
      record_settled(at);
      add_trial(first + at, states, result, &*built[at], outcomes);
    };
    if (!candidates.empty()) {
      (void)measurer_.measure(candidates, context);
    }
    record_settled(built.size());
    summary_.measure_seconds += now() - begin;
  }

  /// What an earlier run has measured of that candidate, null: nothing.
  const KnownTrial* known_trial(const State& state) const {
    if (options_.known.empty()) {
      return nullptr;
    }
    const auto found = options_.known.find(hash_steps(state.steps()));
    return found == options_.known.end() ? nullptr : &found->second;
  }

  void add_trial(std::size_t place, const std::vector<State>& states, MeasureResult result,
                 const BuiltCandidate* code, Outcomes& outcomes) {
    const State& state = states[place];
    // A terminal sends Ctrl-C to the workers too.
    const bool is_interrupted = result.status == MeasureStatus::worker_lost && is_cancelled();
    if (result.status == MeasureStatus::cancelled || is_interrupted) {
      return;  // never measured: not a trial
    }
    const Record record = trial_record(options_.record_template, summary_, state, result, now());
    last_trial_seconds_ = record.seconds;
    summary_.virtual_time +=
        options_.virtual_cost ? options_.virtual_cost->of(result) : VirtualSeconds(0);
    const bool is_known = known_trial(state) != nullptr;
    num_measured_ += is_known ? 0 : 1;
    if (journal_ != nullptr && !is_known) {
      write(record);
    }
    // Those of an earlier run say nothing about the workers of this one.
    const bool is_lost = result.status == MeasureStatus::worker_lost && !is_known;
    num_lost_in_a_row_ = is_lost ? num_lost_in_a_row_ + 1 : 0;
    if (num_lost_in_a_row_ == most_lost_in_a_row) {
      tell_first("stopped, no worker survives: " + result.message);
    }
    ++summary_.statuses[static_cast<std::size_t>(result.status)];
    summary_.num_repeated += result.is_ok() && !result.message.empty() ? 1 : 0;
    ++summary_.trials;
    if (!result.is_ok() && summary_.first_failure.empty()) {
      summary_.first_failure = std::string(name_of(result.status)) + ": " + result.message;
    }
    if (result.is_ok() && (best_min_ns_ <= 0 || result.min_ns < best_min_ns_)) {
      best_min_ns_ = result.min_ns;
      trials_of_best_ = summary_.trials;
      summary_.curve.push_back({record.seconds, record.trial, best_min_ns_, summary_.virtual_time});
    }
    if (result.is_ok() && code != nullptr) {
      // A copy: the measurer may still hold a span of the object.
      keep_fastest(kept_, Finalist{state, *code, result, record},
                   std::max<std::size_t>(1, options_.num_ranked));
    }
    outcomes.push_back({place, TrialOutcome{state, std::move(result)}});
    report();
  }

  /// Seconds for the final ranking; somebody who interrupts the run waits for a short one.
  double seconds_for_ranking() const {
    const double all = options_.budget.seconds;
    return summary_.is_cancelled ? options_.ranking_seconds
           : all <= 0            ? 1e9
                      : std::max(options_.ranking_seconds, (1 + overrun_share) * all - now());
  }
  /// Leaves finalists among which there is a choice, before them what is taken without one.
  void choose_finalists() {
    if (options_.known_winner && num_measured_ == 0) {  // chosen by the run that was gone on with
      if (const auto known = take_winner(kept_, *options_.known_winner)) {
        summary_.best_low_ns = options_.known_winner->low_ns;
        summary_.best_high_ns = options_.known_winner->high_ns;
        summary_.num_ties = options_.known_winner->num_ties;
        std::swap(kept_[0], kept_[*known]);
        kept_.erase(kept_.begin() + 1, kept_.end());
        return;
      }
    }
    const std::size_t fit = options_.is_instant ? 0 : num_rankable(kept_, seconds_for_ranking());
    is_ranked_ = fit > 0;
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(fit, 1)),
                kept_.end());
  }
  /// Of a trial of an earlier run there is none yet. False: it cannot be built any more.
  bool has_code(Finalist& kept) {
    if (!kept.code.object.empty()) {
      return true;
    }
    const double begin = now();
    BuildThread building(builder_, std::span(&kept.state, 1), options_.build_limit_seconds);
    bool is_late = true;
    std::vector<BuildOutcome> built;
    while (built.empty()) {
      built = building.take(1, 1, is_late);
    }
    summary_.build_seconds += now() - begin;
    ++summary_.num_compiled;
    if (!built[0]) {
      return false;
    }
    kept.code = std::move(*built[0]);
    return true;
  }

  /// The winner of the final ranking, where it takes place; else the fastest trial.
  void take_best(DriverResult& result) {
    if (kept_.empty()) {
      return;
    }
    choose_finalists();
    std::erase_if(kept_, [&](Finalist& kept) { return !has_code(kept); });
    if (kept_.empty()) {
      return;
    }
    std::size_t winner = 0;
    if (is_ranked_) {
      wait_for_measurer();
      std::vector<CompiledCandidate> candidates;
      for (const Finalist& kept : kept_) {
        candidates.push_back(candidate_of(kept.code, hash_steps(kept.state.steps())));
        candidates.back().complexity = complexity_of(kept.state);
        candidates.back().is_hard_verified = kept.result.is_hard_verified;
      }
      RankingPolicy policy;
      policy.budget_ns = static_cast<std::int64_t>(options_.ranking_seconds * 0.7e9);
      if (options_.budget.seconds > 0 || summary_.is_cancelled) {
        policy.max_wall_ns =
            static_cast<std::int64_t>((seconds_for_ranking() + most_measuring_seconds) * 1e9);
      }
      const RankingResult ranking = measurer_.final_ranking(candidates, policy);
      if (ranking.winner < kept_.size()) {
        winner = ranking.winner;
        const bool was_verified = kept_[winner].result.is_verified;
        kept_[winner].result = ranking.results[winner];
        kept_[winner].result.is_verified = was_verified || kept_[winner].result.is_verified;
        if (options_.is_f32 && ranking.max_peak_gflops > 0) {
          peak_gflops_ = ranking.max_peak_gflops * options_.num_threads;
        }
        summary_.best_low_ns = ranking.interval.low_ns;
        summary_.best_high_ns = ranking.interval.high_ns;
        summary_.num_ties = ranking.num_ties;
        record_winner(kept_[winner]);
      } else {
        if (std::string reason = drop_wrong(kept_, ranking.results); !reason.empty()) {
          summary_.message = "the final ranking found a candidate wrong: " + std::move(reason);
        }
        if (kept_.empty()) {
          return;
        }
        tell_first(failure_of(ranking.results));
      }
    }
    Finalist& best = kept_[winner];
    result.best = DriverBest{std::move(best.state), std::move(best.code), std::move(best.result)};
  }

  /// The message of a run is what went wrong first.
  void tell_first(std::string message) {
    if (summary_.message.empty()) {
      summary_.message = std::move(message);
    }
  }

  /// A journal that cannot be written ends the run; what is measured by then counts, and the
  /// message says how many trials no later run will know.
  void write(const Record& record) {
    if (!summary_.is_journal_broken) {
      const auto appended = journal_->append(record);
      if (appended) {
        return;
      }
      summary_.is_journal_broken = true;
      journal_error_ = appended.error().message;
    }
    ++num_unwritten_;
    summary_.message = journal_error_ + "; " + std::to_string(num_unwritten_) +
                       (num_unwritten_ == 1 ? " trial is" : " trials are") + " not in it";
  }

  /// A later reader of the journal would take the trial with the luckiest time for the best.
  void record_winner(const Finalist& winner) {
    const bool is_timed = winner.result.min_ns > 0 && winner.result.median_ns > 0;
    if (journal_ == nullptr || summary_.is_journal_broken || !is_timed) {
      return;
    }
    Record record = winner.record;
    record.is_verified = winner.result.is_verified;
    record.min_ns = winner.result.min_ns;
    record.median_ns = winner.result.median_ns;
    record.low_ns = summary_.best_low_ns;
    record.high_ns = summary_.best_high_ns;
    record.num_ties = summary_.num_ties;
    record.seconds = now();
    if (const auto appended = journal_->append(record, RecordKind::winner); !appended) {
      tell_first(appended.error().message);
    }
  }

  void finish_summary(const DriverResult& result) {
    if (!result.best) {
      return;
    }
    const MeasureResult& best = result.best->result;
    summary_.best_ns = best.median_ns > 0 ? best.median_ns : best.min_ns;
    summary_.is_verified = best.is_verified;
    summary_.gflops = options_.flop / summary_.best_ns;
    summary_.peak_fraction = peak_gflops_ > 0 ? summary_.gflops / peak_gflops_ : 0;
    summary_.curve.push_back(
        {summary_.seconds, summary_.trials, summary_.best_ns, summary_.virtual_time});
  }

  void report() const {
    if (!options_.on_progress) {
      return;
    }
    TuneProgress progress = progress_of(summary_, now(), options_.budget.seconds);
    progress.best_ns = best_min_ns_;
    progress.gflops = best_min_ns_ > 0 ? options_.flop / best_min_ns_ : 0;
    progress.peak_fraction = peak_gflops_ > 0 ? progress.gflops / peak_gflops_ : 0;
    options_.on_progress(progress);
  }

  CandidateSource& source_;
  BuilderPlace builder_;
  Measurer& measurer_;
  Journal* journal_;
  std::string journal_error_;
  const DriverOptions& options_;
  double peak_gflops_ = 0, best_min_ns_ = 0, last_trial_seconds_ = 0;
  std::int64_t trials_of_best_ = 0, num_lost_in_a_row_ = 0, num_unwritten_ = 0;
  bool is_measurer_ready_ = false, is_ranked_ = false;
  std::int64_t num_measured_ = 0;     // by this run
  mutable double overrun_from_ = -1;  // when the budget was found to be spent; -1: not yet
  std::vector<Finalist> kept_;
  TuneSummary summary_;
};

Driver::Driver(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer,
               Journal* journal, const DriverOptions& options)
    : impl_(make_owned<Impl>(source, builder, measurer, journal, options)) {}
Driver::~Driver() = default;
void Driver::begin() { impl_->begin(); }
bool Driver::run_round() { return impl_->run_round(); }
DriverResult Driver::finish() { return impl_->finish(); }
const TuneSummary& Driver::summary() const { return impl_->summary(); }
double Driver::best_ns() const { return impl_->best_min_ns(); }
double Driver::last_trial_seconds() const { return impl_->last_trial_seconds(); }
std::vector<Record> Driver::fastest() const { return records_of(impl_->fastest()); }

DriverResult run_driver(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer,
                        Journal* journal, const DriverOptions& options) {
  Driver driver(source, builder, measurer, journal, options);
  driver.begin();
  while (driver.run_round()) {
  }
  return driver.finish();
}

}  // namespace tensorsmith
