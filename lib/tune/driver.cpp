#include "tune/driver.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace tensorsmith {
namespace {

/// How many built candidates may wait: enough to hide uneven build times, few enough to stay small.
constexpr std::size_t most_waiting = 16;
/// Candidates of one call of the measurer.
constexpr std::size_t measure_chunk = 8;
/// So many trials in a row without a worker: it will not come back.
constexpr std::int64_t most_lost_in_a_row = 16;
/// So many failures in instant mode: there is no first good candidate.
constexpr std::int64_t most_instant_trials = 8;

using Built = Result<BuiltCandidate, MeasureFault>;

/// Builds the states of one round on its own thread, in order.
class BuildThread {
 public:
  BuildThread(CandidateBuilder& builder, std::span<const State> states, double limit_seconds)
      : builder_(builder), states_(states), limit_seconds_(limit_seconds),
        thread_([this] { work(); }) {}
  ~BuildThread() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  BuildThread(const BuildThread&) = delete;
  BuildThread& operator=(const BuildThread&) = delete;

  /// The next built ones: at least one and at most `most`; none at the end of the round, or when
  /// `seconds` passed without any (then `is_late`).
  std::vector<Built> take(std::size_t most, double seconds, bool& is_late) {
    std::unique_lock lock(mutex_);
    const auto is_ready = [&] { return !waiting_.empty() || num_taken_ == states_.size(); };
    is_late = !changed_.wait_for(lock, std::chrono::duration<double>(seconds), is_ready);
    std::vector<Built> taken;
    while (!waiting_.empty() && taken.size() < most) {
      taken.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
      ++num_taken_;
    }
    lock.unlock();
    changed_.notify_all();
    return taken;
  }
  double build_seconds() {
    const std::lock_guard lock(mutex_);
    return build_seconds_;
  }

 private:
  void work() {
    for (const State& state : states_) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return is_stopping_ || waiting_.size() < most_waiting; });
        if (is_stopping_) {
          return;
        }
      }
      const double begin = steady_seconds();
      Built built = builder_.build(state);
      const double seconds = steady_seconds() - begin;
      if (built && seconds > limit_seconds_) {
        built = fail(MeasureFault{MeasureStatus::build_timeout,
                                  "building took " + std::to_string(seconds) + " s"});
      }
      {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(built));
        build_seconds_ += seconds;
      }
      changed_.notify_all();
    }
  }

  CandidateBuilder& builder_;
  std::span<const State> states_;
  double limit_seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Built> waiting_;
  std::size_t num_taken_ = 0;
  bool is_stopping_ = false;
  double build_seconds_ = 0;
  std::thread thread_;
};

class Driver {
 public:
  Driver(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer, Journal* journal,
         const DriverOptions& options, double start)
      : source_(source), builder_(builder), measurer_(measurer), journal_(journal),
        options_(options), start_(start) {}

  DriverResult run() {
    if (!options_.is_instant) {
      calibrate();
    }
    report();
    while (!is_over()) {
      const double begin = now();
      std::vector<State> states = source_.propose(next_round_size());
      summary_.propose_seconds += now() - begin;
      if (states.empty()) {
        summary_.is_exhausted = true;
        break;
      }
      run_round(states);
      ++summary_.rounds;
    }
    summary_.is_cancelled = is_cancelled();
    DriverResult result;
    take_best(result);
    summary_.seconds = now();
    finish_summary(result);
    result.summary = std::move(summary_);
    return result;
  }

 private:
  using Outcomes =
      std::vector<std::pair<std::size_t, TrialOutcome>>;  // with the place in the round
  struct Kept {
    State state;
    BuiltCandidate code;
    MeasureResult result;
    Record record;
  };

  void calibrate() {
    if (const Result<Calibration, MeasureFault> peak = measurer_.calibrate()) {
      peak_gflops_ = peak->peak_gflops_f32 * options_.num_threads;
    } else {
      summary_.message = peak.error().message;
    }
  }
  double now() const { return (options_.clock ? options_.clock() : steady_seconds()) - start_; }
  bool is_cancelled() const { return options_.is_cancelled && options_.is_cancelled(); }
  double search_seconds() const {
    const double all = options_.budget.seconds;
    return all <= 0 ? 1e18 : std::max(all * 0.5, all - options_.ranking_seconds);
  }
  double seconds_left() const { return search_seconds() - now(); }
  bool is_over() const {
    return is_cancelled() || seconds_left() <= 0 || summary_.is_journal_broken ||
           num_lost_in_a_row_ >= most_lost_in_a_row ||
           (options_.is_instant && (best_min_ns_ > 0 || summary_.trials >= most_instant_trials)) ||
           (options_.budget.trials > 0 && summary_.trials >= options_.budget.trials);
  }
  std::size_t next_round_size() const {
    std::size_t size = options_.is_instant ? 1 : options_.round_size;
    if (options_.budget.trials > 0) {
      size = std::min(size, static_cast<std::size_t>(options_.budget.trials - summary_.trials));
    }
    return size;
  }

  void run_round(std::vector<State>& states) {
    Outcomes outcomes;
    {
      BuildThread building(builder_, states, options_.build_limit_seconds);
      std::size_t next = 0;
      while (next < states.size() && !is_over()) {
        bool is_late = false;
        // Short waits keep an eye on cancellation and the clock.
        std::vector<Built> built = building.take(measure_chunk, 0.05, is_late);
        if (!built.empty()) {
          measure(states, next, built, outcomes);
          next += built.size();
        }
      }
      summary_.build_seconds += building.build_seconds();
    }
    std::stable_sort(outcomes.begin(), outcomes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<TrialOutcome> observed;
    for (auto& outcome : outcomes) {
      observed.push_back(std::move(outcome.second));
    }
    const double begin = now();
    source_.observe(observed);
    summary_.train_seconds += now() - begin;
  }

  void measure(const std::vector<State>& states, std::size_t first, std::vector<Built>& built,
               Outcomes& outcomes) {
    std::vector<CompiledCandidate> candidates;
    std::vector<std::size_t> places;  // of the candidates, in `built`
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (built[i]) {
        places.push_back(i);
        candidates.push_back(candidate_of(*built[i], hash_steps(states[first + i].steps())));
      }
    }
    // Recorded as each result arrives; build failures that come before it in the order first.
    std::size_t next_failed = 0;
    const auto record_failed_builds = [&](std::size_t end) {
      for (; next_failed < end; ++next_failed) {
        if (!built[next_failed]) {
          MeasureResult failed;
          failed.status = built[next_failed].error().status;
          failed.message = built[next_failed].error().message;
          add_trial(first + next_failed, states, std::move(failed), nullptr, outcomes);
        }
      }
    };
    const double begin = now();
    MeasureContext context;
    context.best_ns = best_min_ns_;
    context.racing = options_.racing;
    if (options_.budget.seconds > 0) {
      context.max_wall_ns = static_cast<std::int64_t>(std::max(1e-3, seconds_left()) * 1e9);
    }
    context.is_stopped = options_.is_cancelled;
    context.on_result = [&](std::size_t i, const MeasureResult& result) {
      const std::size_t at = places[i];
      record_failed_builds(at);
      add_trial(first + at, states, result, &*built[at], outcomes);
    };
    if (!candidates.empty()) {
      (void)measurer_.measure(candidates, context);
    }
    record_failed_builds(built.size());
    summary_.measure_seconds += now() - begin;
  }

  void add_trial(std::size_t place, const std::vector<State>& states, MeasureResult result,
                 const BuiltCandidate* code, Outcomes& outcomes) {
    const State& state = states[place];
    // A terminal sends Ctrl-C to the workers too.
    const bool is_interrupted = result.status == MeasureStatus::worker_lost && is_cancelled();
    if (result.status == MeasureStatus::cancelled || is_interrupted) {
      return;  // never measured: not a trial
    }
    Record record = options_.record_template;
    record.round = summary_.rounds;
    record.trial = summary_.trials;
    record.steps = state.steps();
    record.status = result.status;
    record.is_verified = result.is_verified;
    record.min_ns = result.is_ok() ? result.min_ns : 0;
    record.median_ns = result.is_ok() ? result.median_ns : 0;
    record.message = result.message;
    record.seconds = now();
    if (journal_ != nullptr) {
      const Result<Done, RecordError> appended = journal_->append(record);
      if (!appended && !summary_.is_journal_broken) {
        summary_.is_journal_broken = true;  // what is measured from here on would be lost
        summary_.message = appended.error().message;
      }
    }
    num_lost_in_a_row_ = result.status == MeasureStatus::worker_lost ? num_lost_in_a_row_ + 1 : 0;
    if (num_lost_in_a_row_ == most_lost_in_a_row && summary_.message.empty()) {
      summary_.message = "stopped, no worker survives: " + result.message;
    }
    ++summary_.statuses[static_cast<std::size_t>(result.status)];
    ++summary_.trials;
    if (!result.is_ok() && summary_.first_failure.empty()) {
      summary_.first_failure = std::string(name_of(result.status)) + ": " + result.message;
    }
    if (result.is_ok() && (best_min_ns_ <= 0 || result.min_ns < best_min_ns_)) {
      best_min_ns_ = result.min_ns;
      summary_.curve.push_back({record.seconds, record.trial, best_min_ns_});
    }
    if (result.is_ok() && code != nullptr) {
      keep(state, result, *code, record);
    }
    outcomes.push_back({place, TrialOutcome{state, std::move(result)}});
    report();
  }

  /// The fastest few with their code, for the final ranking; sorted, the earlier of equals first.
  void keep(const State& state, const MeasureResult& result, const BuiltCandidate& code,
            const Record& record) {
    const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& other) {
      return result.min_ns < other.result.min_ns;
    });
    const std::size_t capacity = std::max<std::size_t>(1, options_.num_ranked);
    if (at == kept_.end() && kept_.size() >= capacity) {
      return;
    }
    // A copy: the measurer may still hold a span of the object.
    kept_.insert(at, Kept{state, code, result, record});
    if (kept_.size() > capacity) {
      kept_.pop_back();
    }
  }

  /// The winner of the final ranking, where it takes place; else the fastest trial.
  void take_best(DriverResult& result) {
    if (kept_.empty()) {
      return;
    }
    std::size_t winner = 0;
    if (!summary_.is_cancelled && !options_.is_instant) {
      std::vector<CompiledCandidate> candidates;
      for (const Kept& kept : kept_) {
        candidates.push_back(candidate_of(kept.code, hash_steps(kept.state.steps())));
      }
      RankingPolicy policy;
      policy.budget_ns = static_cast<std::int64_t>(options_.ranking_seconds * 0.7e9);
      const RankingResult ranking = measurer_.final_ranking(candidates, policy);
      if (ranking.winner < kept_.size()) {
        winner = ranking.winner;
        const bool was_verified = kept_[winner].result.is_verified;
        kept_[winner].result = ranking.results[winner];
        kept_[winner].result.is_verified = was_verified || kept_[winner].result.is_verified;
        if (ranking.max_peak_gflops > 0) {
          peak_gflops_ = ranking.max_peak_gflops * options_.num_threads;
        }
        record_winner(kept_[winner]);
      } else if (summary_.message.empty()) {
        summary_.message = "the final ranking failed; the fastest trial is taken as the best";
      }
    }
    Kept& best = kept_[winner];
    result.best = DriverBest{std::move(best.state), std::move(best.code), std::move(best.result)};
  }

  /// A later reader of the journal would take the trial with the luckiest time for the best.
  void record_winner(const Kept& winner) {
    const bool is_timed = winner.result.min_ns > 0 && winner.result.median_ns > 0;
    if (journal_ == nullptr || summary_.is_journal_broken || !is_timed) {
      return;
    }
    Record record = winner.record;
    record.is_verified = winner.result.is_verified;
    record.min_ns = winner.result.min_ns;
    record.median_ns = winner.result.median_ns;
    record.seconds = now();
    const Result<Done, RecordError> appended = journal_->append(record, RecordKind::winner);
    if (!appended && summary_.message.empty()) {
      summary_.message = appended.error().message;
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
    summary_.curve.push_back({summary_.seconds, summary_.trials, summary_.best_ns});
  }

  void report() const {
    if (!options_.on_progress) {
      return;
    }
    TuneProgress progress;
    progress.seconds = now();
    progress.seconds_left =
        options_.budget.seconds > 0 ? std::max(0.0, options_.budget.seconds - progress.seconds) : 0;
    progress.trials = summary_.trials;
    progress.round = summary_.rounds;
    progress.best_ns = best_min_ns_;
    progress.gflops = best_min_ns_ > 0 ? options_.flop / best_min_ns_ : 0;
    progress.peak_fraction = peak_gflops_ > 0 ? progress.gflops / peak_gflops_ : 0;
    progress.statuses = summary_.statuses;
    options_.on_progress(progress);
  }

  CandidateSource& source_;
  CandidateBuilder& builder_;
  Measurer& measurer_;
  Journal* journal_;
  const DriverOptions& options_;
  double start_;
  double peak_gflops_ = 0;
  double best_min_ns_ = 0;
  std::int64_t num_lost_in_a_row_ = 0;
  std::vector<Kept> kept_;
  TuneSummary summary_;
};

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

DriverResult run_driver(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer,
                        Journal* journal, const DriverOptions& options, double start) {
  return Driver(source, builder, measurer, journal, options, start).run();
}

}  // namespace tensorsmith
