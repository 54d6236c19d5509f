// SPDX-License-Identifier: Apache-2.0
// tune: from a computation to a verified kernel, within a budget. The facade.
//
// Floor 8; compiled in lib/tune. Own design; the shape of a run (propose, measure, observe, repeat)
// is the Ansor reference's, ch. 5. Candidates are measured in worker processes, compared with the
// reference result and journaled one by one; this process never runs a candidate that has not been
// verified. Not here: how states are found (search/), the methods that there are and what they are
// given (tune/methods.hpp), what a workload string means (ops/workload.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/fwd.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/measure/simulated_device.hpp"
#include "tensorsmith/measure/worker_measurer.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/search/guard_report.hpp"
#include "tensorsmith/search/random_source.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/support/value_names.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/task_input.hpp"

namespace tensorsmith {

struct ModelContext;

struct TuneTask {
  Shared<const ComputeDag> dag;
  Target target;
  std::string workload;  ///< name in records; empty: the dag's workload key
  double flop = 0;       ///< of one call, for GFLOP/s; 0: counted in the dag
  /// Values of inputs, where those that are drawn otherwise (task_input.hpp) are not like yours.
  std::vector<TaskInput> inputs;
};

/// Whatever is reached first ends the run; 0: no limit. Compilation counts. Both 0: instant mode,
/// the program that the analytic model puts first is compiled, and run to be verified and timed;
/// another one only if it fails. Of a large result some rows are verified.
struct TuneBudget {
  double seconds = 20;
  std::int64_t trials = 0;
};

struct TuneProgress {
  double seconds = 0;
  double seconds_left = 0;  ///< 0 without a limit
  std::int64_t trials = 0;
  std::int64_t round = 0;
  double best_ns = 0;  ///< 0: none yet
  double gflops = 0;
  double peak_fraction = 0;  ///< 0: unknown
  std::array<std::int64_t, num_measure_statuses> statuses{};
  VirtualSeconds virtual_time;  ///< see TuneSummary::virtual_time
};

struct CurvePoint {
  double seconds = 0;
  std::int64_t trial = 0;
  double best_ns = 0;
  VirtualSeconds virtual_time = {};
};

/// What measuring the neighbours of the best program gained (TuneOptions::polish).
struct PolishSummary {
  std::int64_t trials = 0;
  double before_ns = 0, after_ns = 0;  ///< the best trial before it, and with it; 0: it never began
};

/// What decisions of similar tasks were worth (TuneOptions::prior).
struct PriorSummary {
  std::int64_t trials = 0;
  double best_ns = 0;    ///< the best of those trials; 0: none
  double others_ns = 0;  ///< the best of the search's own when the last of them had been measured
  bool is_dropped = false;  ///< they were behind, so no more were tried
};

struct TuneSummary {
  double best_ns = 0;  ///< median of the final ranking, or of the trial if there is none; 0: none
  double best_low_ns = 0, best_high_ns = 0;  ///< 95 % interval of that median; 0: not known
  std::int32_t num_ties = 0;  ///< finalists as fast as the best within it, no simpler than it
  double gflops = 0;
  double peak_fraction = 0;  ///< of the calibrated peak of the cores used; 0: unknown (instant)
  std::int64_t trials = 0;
  std::int64_t rounds = 0;
  std::array<std::int64_t, num_measure_statuses> statuses{};  ///< trials by outcome
  double seconds = 0;
  std::int64_t num_compiled = 0;  ///< candidates whose code was made; known trials need none
  std::int64_t num_repeated = 0;  ///< trials measured again: the clock went down, and the like
  /// Proposals that lower to a program proposed before: they were no trials.
  std::int64_t num_equal_programs = 0;
  PolishSummary polish;
  PriorSummary prior;
  std::vector<GuardReport> guards;  ///< of the search, whose names outlive it
  bool is_verified = false;
  double verified_share = 1;  ///< of the elements of the result; in instant mode often some rows
  /// Why the best was not judged with hard inputs (docs/numerics.md) beside the friendly ones, in
  /// one sentence; empty: it was, or nothing was to be verified.
  std::string not_judged;
  bool is_cancelled = false;
  bool is_exhausted = false;       ///< the search ran out of candidates
  bool is_journal_broken = false;  ///< it could not be written, which ended the run
  std::string message;             ///< one sentence if something went wrong along the way
  std::string first_failure;       ///< message of the first failed trial
  std::vector<CurvePoint> curve;
  /// Until candidates could be measured: reference result, worker, inputs. Proposing and building
  /// overlap with it.
  double prepare_seconds = 0;
  double propose_seconds = 0, build_seconds = 0, measure_seconds = 0;  ///< building overlaps
  double train_seconds = 0;  ///< the search learns from the results of a round
  /// Simulated targets: what the search would have taken on the board, its own proposing and
  /// learning and the stated cost of every trial (measure/virtual_clock.hpp). 0 on real ones.
  VirtualSeconds virtual_time;
  /// Of the cost model's scores with the measured speeds (Somers' D), over pairs of programs of one
  /// round with different speeds that the model had not learned from: 1 if always the faster one
  /// had the higher score.
  double rank_correlation = 0;
  std::int64_t num_ranked_pairs = 0;  ///< 0: there were none
};

/// How a trial is timed.
enum class TrialTiming : std::uint8_t {
  racing,     ///< as many calls as it takes to see that it loses
  reference,  ///< as the Ansor reference does it, 100 ms for every program
};
inline constexpr std::array<ValueName<TrialTiming>, 2> trial_timing_names = {
    {{TrialTiming::racing, "racing"}, {TrialTiming::reference, "reference"}}};

struct TuneOptions {
  TuneBudget budget;
  std::uint64_t seed = 1;
  std::int32_t num_threads = 1;
  /// A name of tune/methods.hpp, "evolution" or "ansor" (the reference's search, parameters and
  /// all); or any other name, which records carry, of what `make_policy` makes.
  std::string policy = "evolution";
  /// Name and value of search parameters, by the reference's names (search/policy_params.hpp);
  /// those that are not named have the policy's own values. What `make_policy` makes may have
  /// others.
  std::vector<std::pair<std::string, std::string>> policy_params;
  RandomSource random_numbers = RandomSource::counter;  ///< of the initial population
  /// A name of tune/methods.hpp, "native" or "ansor" (the reference's, whose tile sizes divide the
  /// extents); or any other name, which records carry, of what `make_space` makes.
  std::string space = "native";
  /// A name of known_models() (cost/model_factory.hpp): "draft" (CPUs, native space: the analytic
  /// estimate, corrected by what was measured), "mlp" (needs the library built with Eigen), "xgb"
  /// (with libxgboost: the reference's trees) or "random"; empty: the first of draft, mlp and
  /// random that there is.
  std::string cost_model;
  /// A name of draft_models() (cost/model_factory.hpp), the analytic model that chooses programs
  /// before the cost model ranks them: "psa-fixed", "psa" (Pruner's, as released) or "estimate"
  /// (the latency model of boards, the draft of CPUs); empty: the policy's own, which is
  /// "estimate", and "psa-fixed" where the policies pruner search for a simulated board. Never with
  /// the policy "ansor", and in its space with policies that draft by themselves only.
  std::string draft;
  std::string database;  ///< journal file; empty: none is written
  /// Goes on with the run of the same options whose trials are in `database`: they are not measured
  /// again, and they and their seconds are spent. The trials after them, and with several tasks
  /// whose turn it is, are as if nobody had ended it.
  bool resumes = false;
  std::int32_t round_size = 0;  ///< trials between two model updates; 0: by the budget
  /// The last part of the budget, as a share of it, measures all programs one decision away from
  /// the best; 0: none does. Nothing said: a tenth, 0 where space or policy are the reference's or
  /// the policy is the caller's.
  std::optional<double> polish;
  /// The most that decisions of similar tasks may take of an early batch, as a share of it; 0: none
  /// are looked for. Similar tasks are those of `database` before this run, and the other tasks of
  /// tune_tasks(), whose programs this task's space has with other lengths. They are given up as
  /// soon as they are behind what the search finds without them. Never with the reference's space
  /// or policy, or a policy of the caller's.
  double prior = 0.5;
  /// Programs of one batch are at least so far apart, in octaves of tile lengths and other
  /// decisions, as long as there are as many; 0: they may be alike. Not with the reference's space
  /// or policy.
  double diversity = 0;
  std::int64_t early_stopping = 0;  ///< trials without a better one that end the run; 0: no limit
  bool verifies = true;
  TrialTiming timing = TrialTiming::racing;
  /// Noise and faults of a simulated target (Target::is_simulated).
  SimulatedDevice simulated;
  std::string worker_path;  ///< see WorkerOptions
  /// Asked often, from several threads. True ends the run with the best so far.
  Callback<bool()> is_cancelled;
  Callback<void(const TuneProgress&)> on_progress;
  /// A policy of the caller's, one per task; gets what tune/methods.hpp says and must not return
  /// none. Called before anything is measured.
  Callback<Owned<SearchPolicy>(SearchContext&)> make_policy;
  /// A space of the caller's, one per task.
  Callback<Owned<SpaceParts>(const SpaceContext&)> make_space;
  /// A cost model of the caller's, one for all tasks of that target; or one of known_models() with
  /// options of the caller's (cost/model_factory.hpp).
  Callback<Shared<CostModel>(const ModelContext&)> make_model;
  /// Instead of the sketches of the space: all that are to be searched, each of the dag given (see
  /// sketch/generate.hpp). `space` may then have any name; records carry it, and "ansor" still
  /// means tile sizes that divide. States without anything open are measured as they are, before
  /// others are drawn (in instant mode if there are no others).
  Callback<std::vector<State>(const Shared<const ComputeDag>&, const SketchOptions&)> sketches;
  /// Instead of the space: templates of the dag given, by hand or of sketches (see
  /// space/template_builder.hpp). Those of GPUs bind loops to blocks and threads themselves.
  /// Records carry the name in `space`.
  Callback<std::vector<Template>(const Shared<const ComputeDag>&, const SketchOptions&)> templates;
  /// Instead of the cost model of that name: is asked by several threads at once, learns after
  /// every round, must outlive the run. See cost/cost_model.hpp.
  CostModel* model = nullptr;
  /// A backend of the caller's (tune/backend.hpp) in place of the target's own: who builds, who
  /// measures, who computes the reference.
  Callback<Owned<Backend>(const Target&)> make_backend;
  /// Blocks of features beside those of the library, for models that name them
  /// (CostModel::wanted_blocks). A name that the library has is refused.
  std::vector<FeatureExtractor> features;
  /// Instead of worker processes; must outlive the run.
  Measurer* measurer = nullptr;
};

struct KernelArtifact;

class TuneResult {
 public:
  TuneSummary summary;
  TuneTask task;
  std::int32_t num_threads = 1;
  std::vector<Step> steps;        ///< of the best state
  std::vector<std::byte> object;  ///< its code ...
  KernelSignature signature;      ///< ... and how to call it

  bool has_best() const { return !object.empty(); }
  /// Throws Error if nothing succeeded, or only on a simulated device.
  Kernel kernel() const;
  /// What can be saved and called in another process (kernel_artifact.hpp). Throws as kernel().
  KernelArtifact artifact() const;
  State state() const;
  /// Self-contained C++ of a function of that name; CUDA C++ for a GPU.
  std::string source(const std::string& name = "kernel") const;
  /// The same of the function NAME_prepack that packs constant inputs once; empty: there is none.
  std::string prepack_source(const std::string& name = "kernel") const;
  /// Schedule, loops and numbers, for people.
  std::string explain() const;
};

/// This machine as a target, probed once per process.
const Target& host_target();

/// Work that nobody can interrupt is left behind at the end of a budget
/// (docs/decisions/0023-nothing-is-waited-for-beyond-the-budget.md). If some still runs, this ends
/// the process with that code, its output written and without destructors that would take away what
/// the work uses; else it does nothing. For the end of main().
void end_if_work_is_left(int exit_code);

/// Throws Error on wrong arguments and on a file or worker that cannot be used.
TuneResult tune(const TuneTask& task, const TuneOptions& options = {});

}  // namespace tensorsmith
