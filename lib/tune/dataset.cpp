// SPDX-License-Identifier: Apache-2.0
// requires: json
// Collecting and reading measured programs, and how well a model orders them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "tensorsmith/record/ansor_log.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/tune/dataset.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "tune/search.hpp"

namespace tensorsmith {
namespace {

/// A record of either kind of file.
struct MeasuredRecord {
  std::vector<Step> steps;
  bool is_ok = false;
  double ns = 0;
};

std::string path_in(const std::string& folder, const DatasetFile& file) {
  return (std::filesystem::path(folder) / file.path).string();
}

/// Of a journal, else of a log of the reference. Throws Error.
std::vector<MeasuredRecord> records_of_file(const std::string& path) {
  std::vector<MeasuredRecord> all;
  if (!std::filesystem::exists(path)) {
    return all;
  }
  Result<JournalContents, RecordError> journal = read_journal(path);
  if (journal) {
    // The last line of a run that was killed may be torn; anything else is damage.
    const std::size_t num_torn = journal->has_torn_end ? 1 : 0;
    if (journal->skipped.size() > num_torn) {
      throw Error(in_quotes(path) + " is damaged: line " +
                  std::to_string(journal->skipped.front().number) + ": " +
                  journal->skipped.front().reason);
    }
    for (Record& record : journal->records) {
      const double ns = record.median_ns > 0 ? record.median_ns : record.min_ns;
      all.push_back({std::move(record.steps), record.is_ok(), ns});
    }
  } else {
    Result<AnsorLog, RecordError> log = read_ansor_log(path);
    if (!log) {
      throw Error(journal.error().message);
    }
    if (!log->skipped.empty()) {
      throw Error(in_quotes(path) + " is damaged: line " +
                  std::to_string(log->skipped.front().number) + ": " + log->skipped.front().reason);
    }
    for (AnsorRecord& record : log->records) {
      all.push_back({std::move(record.steps), record.is_measured(), 1e9 * record.mean_cost()});
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_ok && !(all[i].ns > 0 && std::isfinite(all[i].ns))) {
      throw Error(in_quotes(path) + ": the time of record " + std::to_string(i + 1) +
                  " is not a positive number");
    }
  }
  return all;
}

/// A run that was killed may have left a part of a line at the end, which would stay in the middle
/// of what is appended. Throws Error.
void cut_torn_end(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return;
  }
  const Result<std::string, FileError> text = read_file(path);
  const std::size_t whole = text ? text->rfind('\n') + 1 : 0;  // 0 without a line end
  if (text && whole < text->size()) {
    if (const auto written = write_file(path, std::string_view(*text).substr(0, whole)); !written) {
      throw Error(written.error().message);
    }
  }
}

Target target_of(const DatasetIndex& index) {
  Result<Target, std::string> target = named_target(index.target);
  if (!target) {
    throw Error(target.error());
  }
  return std::move(target).value();
}

MeasuredTask measured_task(const DatasetFile& file, std::uint32_t number, const std::string& path,
                           const Target& target, const FeaturePlan& plan) {
  MeasuredTask task;
  task.workload = file.workload;
  const std::vector<MeasuredRecord> records = records_of_file(path);
  const std::size_t end = std::min(file.end, records.size());
  if (file.first >= end) {
    return task;
  }
  const State initial = State::initial(named_task(file.workload, target).dag);
  for (std::size_t i = file.first; i < end; ++i) {
    Result<State, ScheduleError> state = replay(initial, records[i].steps);
    Features features = state ? plan.extract(*state) : Features();
    if (features.empty()) {
      ++task.num_left_out;
      continue;
    }
    const double ns = records[i].is_ok ? records[i].ns : 0;
    task.num_failed += records[i].is_ok ? 0 : 1;
    task.best_ns = ns > 0 && (task.best_ns <= 0 || ns < task.best_ns) ? ns : task.best_ns;
    task.samples.push_back({std::move(features), number, ns > 0 ? 1 / ns : 0});
  }
  return task;
}

}  // namespace

TuneOptions CollectOptions::tenset_like() {
  TuneOptions options;
  options.space = "ansor";
  options.policy = "ansor";
  options.cost_model = "random";
  options.policy_params = {{"evolutionary_search_population", "256"},
                           {"evolutionary_search_num_iters", "1"}};
  options.round_size = 128;
  return options;
}

CollectResult collect_dataset(const DatasetIndex& index, const std::string& folder,
                              const CollectOptions& options) {
  if (index.files.empty() || options.trials < 1) {
    throw Error("a dataset needs a task and a trial");
  }
  const Target target = target_of(index);
  const double begin = steady_seconds();
  CollectResult result;
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    const auto num_files = static_cast<std::int64_t>(index.files.size());
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t share =
        options.trials / num_files + (at < options.trials % num_files ? 1 : 0);
    const std::string path = path_in(folder, index.files[i]);
    cut_torn_end(path);
    const auto known = static_cast<std::int64_t>(records_of_file(path).size());
    if (options.on_file) {
      options.on_file(i, known);
    }
    const double left = options.seconds - (steady_seconds() - begin);
    result.is_cancelled =
        result.is_cancelled || (options.tune.is_cancelled && options.tune.is_cancelled());
    if (known >= share || result.is_cancelled || (options.seconds > 0 && left <= 0)) {
      result.trials += known;
      result.num_short += known < share ? 1 : 0;
      continue;
    }
    TuneOptions tuning = options.tune;
    tuning.database = path;
    tuning.resumes = true;
    tuning.num_threads = index.num_threads;
    tuning.polish = 0;
    tuning.prior = 0;
    tuning.budget.trials = share;
    // Files that come later must not starve.
    tuning.budget.seconds =
        options.seconds > 0 ? left / static_cast<double>(index.files.size() - i) : 0;
    const TuneResult tuned = tune(named_task(index.files[i].workload, target), tuning);
    result.trials += tuned.summary.trials;
    result.num_short += tuned.summary.trials < share ? 1 : 0;
    if (tuned.summary.is_journal_broken) {
      throw Error(tuned.summary.message);
    }
    if (result.message.empty() && tuned.summary.trials == 0) {
      result.message = index.files[i].workload + ": " + tuned.summary.message;
    }
  }
  result.is_cancelled =
      result.is_cancelled || (options.tune.is_cancelled && options.tune.is_cancelled());
  result.seconds = steady_seconds() - begin;
  return result;
}

std::size_t Dataset::num_samples() const {
  std::size_t sum = 0;
  for (const MeasuredTask& task : tasks) {
    sum += task.samples.size();
  }
  return sum;
}

std::vector<TrainingSample> Dataset::samples() const {
  std::vector<TrainingSample> all;
  all.reserve(num_samples());
  for (const MeasuredTask& task : tasks) {
    all.insert(all.end(), task.samples.begin(), task.samples.end());
  }
  return all;
}

Dataset read_dataset(const DatasetIndex& index, const std::string& folder, const CostModel& model) {
  const Target target = target_of(index);
  const bool is_gpu = target.kind == TargetKind::cuda;
  const FeaturePlan plan =
      make_feature_plan({}, model, {target, is_gpu ? 1 : index.num_threads, {}});
  Dataset dataset;
  dataset.networks = index.networks;
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    dataset.tasks.push_back(measured_task(index.files[i], static_cast<std::uint32_t>(i),
                                          path_in(folder, index.files[i]), target, plan));
  }
  return dataset;
}

std::vector<std::size_t> count_records(const DatasetIndex& index, const std::string& folder) {
  std::vector<std::size_t> counts;
  for (const DatasetFile& file : index.files) {
    counts.push_back(records_of_file(path_in(folder, file)).size());
  }
  return counts;
}

DatasetQuality dataset_quality(const CostModel& model, const Dataset& dataset) {
  std::vector<ScoredTask> scored;
  for (const MeasuredTask& task : dataset.tasks) {
    ScoredTask one{1, task.best_ns, {}, {}};
    std::vector<Features> programs;
    for (const TrainingSample& sample : task.samples) {
      if (sample.throughput > 0) {
        programs.push_back(sample.features);
        one.labels.push_back(normalized_throughput(sample.throughput, 1 / task.best_ns));
      }
    }
    one.scores.resize(programs.size());
    model.predict(programs, one.scores);
    scored.push_back(std::move(one));
  }
  DatasetQuality quality;
  quality.metrics = metrics_report(scored);
  for (const DatasetNetwork& network : dataset.networks) {
    std::vector<ScoredTask> tasks;
    for (const auto& [file, weight] : network.tasks) {
      if (!scored.at(file).labels.empty()) {
        tasks.push_back(scored[file]);
        tasks.back().weight = weight;
      }
    }
    if (!tasks.empty()) {
      quality.networks.push_back(
          {network.name, tasks.size(), network_top_score(tasks, 1), network_top_score(tasks, 5)});
    }
  }
  return quality;
}

}  // namespace tensorsmith
