// SPDX-License-Identifier: Apache-2.0
// What one task of a run consists of: its search, builder, driver and measuring task. One run has
// one session, or one per task of a common budget.
//
// Private to lib/. Own design.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "tune/earlier_run.hpp"
#include "tune/prior.hpp"
#include "tune/search.hpp"

namespace tensorsmith {

/// What sessions share: where candidates run and where results are written.
class RunResources {
 public:
  /// `start`: steady_seconds() when the run began. Throws Error if there is no worker program or
  /// the journal cannot be opened.
  RunResources(const TuneOptions& options, const Target& target, double start);

  Measurer& measurer() { return *measurer_; }
  Journal* journal() { return journal_ ? &*journal_ : nullptr; }
  /// Of all tasks.
  RunClock& clock() { return clock_; }
  /// The run that this one goes on with; without any trials unless the options ask for one.
  EarlierRun& earlier() { return earlier_; }
  /// What the journal says of other tasks than those of these runs.
  std::vector<SolvedProgram> solved(std::span<const Record> runs) const {
    return solved_before(all_records_, runs);
  }
  /// What is wrong with the journal, in one line: lines that are no records and, unless the run was
  /// cancelled, trials to go on with that were not proposed again. Empty: nothing.
  std::string journal_problem(bool is_cancelled) const;

 private:
  Owned<Measurer> own_;
  std::optional<Journal> journal_;
  std::vector<SkippedLine> skipped_;
  std::vector<Record> all_records_;  ///< that the journal held, if somebody looks for a prior
  EarlierRun earlier_;
  RunClock clock_;
  Measurer* measurer_ = nullptr;
};

class TuneSession {
 public:
  /// Throws Error for unknown names, sketches that do not fit and too little memory. `shared_model`
  /// may be null; `index` tells tasks of one model apart.
  TuneSession(const TuneTask& task, const TuneOptions& options, CostModel* shared_model = nullptr,
              std::uint32_t index = 0);
  TuneSession(const TuneSession&) = delete;
  TuneSession& operator=(const TuneSession&) = delete;
  ~TuneSession();

  /// Computes the reference result. Throws Error if there is none. `share`: of the budget, which
  /// others have a part in.
  void add_reference_result(double share = 1);
  /// The measurer measures this task from now on. Throws Error if it cannot.
  void prepare(Measurer& measurer) const;
  /// Both; in instant mode in less time.
  void prepare_with_reference(Measurer& measurer);
  /// To be called once, before rounds are run. `solved`: programs of other tasks, asked once if it
  /// is there; empty: those of the journal are taken.
  Driver& start(RunResources& resources, Callback<std::vector<SolvedProgram>()> solved = {});

  Driver& driver() { return *driver_; }
  /// Limits that may move between rounds.
  DriverOptions& limits() { return driver_options_; }
  double flop() const { return driver_options_.flop; }
  /// What all its records have in common.
  const Record& run() const { return driver_options_.record_template; }
  const TuneTask& task() const { return task_; }
  /// Ends the driver's run.
  TuneResult finish();

 private:
  struct References;

  TuneTask task_;
  Shared<const ComputeDag> definition_;  ///< what the references are computed from
  TuneOptions options_;
  Owned<Backend> backend_;
  Search search_;
  SearchFacts facts_;
  MeasureTask measure_task_;
  double verified_share_ = 1;
  std::string not_judged_;  ///< why there are no hard references
  DriverOptions driver_options_;
  std::unique_ptr<CandidateSource> source_;
  Owned<CandidateBuilder> builder_;
  std::unique_ptr<Driver> driver_;
};

/// What records and artifacts call the task: a computation without a name is its own text, so that
/// whoever reads them has it; if that is too long for every line, the key.
std::string name_of(const TuneTask& task);
/// The options' own, else that of the target.
Owned<Backend> backend_for(const TuneOptions& options, const Target& target);
/// Of the backend, for what the options say.
Owned<Measurer> measurer_for(const TuneOptions& options, const Target& target);
/// Nothing may be searched by measuring: the best analytic candidate is taken.
bool is_instant(const TuneOptions& options);
/// Throws Error for a task or options that cannot be run, whatever the names in them.
void check_arguments(const TuneTask& task, const TuneOptions& options);
/// Some rounds must fit into the budget, or the model never learns anything. `grows`: it is the
/// most that rounds grow to, which need not fit.
std::size_t round_size_for(const TuneOptions& options, bool grows);

}  // namespace tensorsmith
