// SPDX-License-Identifier: Apache-2.0
// Methods of search on the same tasks: what each finds for how many trials and seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tensorsmith/report/search_curve.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::bench {

struct Method {
  std::string name, policy, space, cost_model;
  std::string weights = {};  ///< file of a trained model, or an index of released weights
  std::string draft = {};    ///< empty: the policy's own

  friend bool operator==(const Method&, const Method&) = default;
};
/// Files of trained models: what moa adapts, what pruner-offline and tenset begin with.
struct TrainedFiles {
  std::string moa, pam, tenset;
};
/// ansor, pruner, moa, pruner-offline, tenset, native, random; without those whose file is not
/// there.
std::vector<Method> known_methods(const TrainedFiles& files);
/// NAME=POLICY/SPACE/MODEL or NAME=POLICY/SPACE/MODEL/FILE, where POLICY may be POLICY:DRAFT.
/// Throws Error.
Method method_of_text(const std::string& text);

struct MethodRun {
  std::size_t method = 0, task = 0;
  std::uint64_t seed = 0;
  std::vector<SpentPoint> by_trials, by_seconds;  ///< virtual seconds on a simulated board
  double best_ns = 0;                             ///< 0: nothing was found
  std::int64_t trials = 0;
  double seconds = 0;      ///< as by_seconds has them
  double own_seconds = 0;  ///< of the search's own work, as `seconds`
  std::vector<GuardReport> guards = {};
};
/// Throws Error.
MethodRun run_method(const Method& method, const TuneTask& task, std::uint64_t seed,
                     const TuneBudget& budget, std::int32_t num_threads, std::int32_t round_size);

/// A method beside the first one.
struct MethodSummary {
  /// Geometric mean of the best of all methods / its own best; 0: a run found nothing.
  double quality = 0;
  double quality_seconds = 0;  ///< the same after the time of the method that was done first
  double trials_per_second = 0;
  double own_share = 0;  ///< of the seconds
  /// To 90, 95 and 99 % of the best of all: runs that came there, and the geometric mean of the
  /// first method's seconds and trials by its own, over tasks and seeds where both did.
  struct Reached {
    std::size_t num_runs = 0, num_pairs = 0;
    double speedup_seconds = 1, speedup_trials = 1;
  };
  Reached reached[3];
  /// Of all tasks as a network, by seed: the first method's time at its end, and this one's when
  /// its network was as fast as that; infinity: it never was.
  std::vector<double> first_seconds, seconds_until_first;
  SignTest equal_trials, equal_seconds;  ///< against the first method
};
inline constexpr double reached_shares[3] = {0.90, 0.95, 0.99};

struct BenchTask {
  std::string workload;
  double weight = 1;  ///< calls of it in the network
};
std::vector<MethodSummary> summarize(const std::vector<Method>& methods,
                                     const std::vector<BenchTask>& tasks,
                                     const std::vector<MethodRun>& runs);

/// Runs in a file, one a line, so that a bench that was ended goes on.
class SavedRuns {
 public:
  /// `conditions`: what all runs of a bench have in common. An empty path: nothing is saved. Throws
  /// Error for a file that cannot be read.
  SavedRuns(std::string path, std::string conditions);
  std::optional<MethodRun> find(const Method& method, const BenchTask& task,
                                std::uint64_t seed) const;
  void add(const Method& method, const BenchTask& task, const MethodRun& run);

 private:
  std::string path_, conditions_;
  std::vector<nlohmann::ordered_json> lines_;
};
/// Curves and numbers of a run, without its method and task.
nlohmann::ordered_json run_json(const MethodRun& run);

nlohmann::ordered_json methods_json(const std::vector<Method>& methods,
                                    const std::vector<BenchTask>& tasks,
                                    const std::vector<MethodRun>& runs,
                                    const std::vector<MethodSummary>& summaries);
/// One page without anything outside of it.
std::string methods_page(const std::string& title, const std::vector<Method>& methods,
                         const std::vector<BenchTask>& tasks, const std::vector<MethodRun>& runs,
                         const std::vector<MethodSummary>& summaries);
/// The table of the page in Markdown.
std::string methods_table(const std::vector<Method>& methods,
                          const std::vector<MethodSummary>& summaries);

}  // namespace tensorsmith::bench
