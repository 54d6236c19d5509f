// SPDX-License-Identifier: Apache-2.0
// Datasets: measured programs of many tasks, to train cost models on and to judge them by.
//
// Floor 10; compiled in lib/tune. After TenSet (NeurIPS 2021 datasets) and Pruner, ch. 6: one file
// of records per task, whose programs are replayed when they are read. The files are ordinary
// journals, or logs of the Ansor reference; an index beside them says which task each is of. Not
// here: networks as graphs (graph/), metrics (cost/model_metrics.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_metrics.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

/// A file of records, or a part of it.
struct DatasetFile {
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  std::string workload;              ///< workload string (ops/workload.hpp) or index notation
  std::string path;                  ///< in the folder of the index
  std::size_t first = 0, end = all;  ///< records of it, in the order of the file
  bool operator==(const DatasetFile&) const = default;

  /// Records of it, if the file holds `in_file`.
  std::size_t num_records(std::size_t in_file) const {
    return smaller_of(end, in_file) - smaller_of(first, in_file);
  }
};

struct DatasetNetwork {
  std::string name;
  std::vector<std::pair<std::size_t, double>> tasks;  ///< file, how often it is called
  bool operator==(const DatasetNetwork&) const = default;
};

struct DatasetIndex {
  std::string target;  ///< as named_target() takes it
  std::int32_t num_threads = 1;
  std::vector<DatasetFile> files;
  std::vector<DatasetNetwork> networks;
  bool operator==(const DatasetIndex&) const = default;
};

/// JSON, and back; an error is one sentence.
std::string dataset_index_text(const DatasetIndex& index);
Result<DatasetIndex, std::string> dataset_index_from_text(std::string_view text);
/// Of a file, or of index.json in a folder. Throws Error that names the file.
DatasetIndex read_dataset_index(const std::string& path);
/// The folder that the paths of an index are in.
std::string dataset_folder(const std::string& path);

/// Adds the tasks of a network; those that are there already are shared.
void add_network(DatasetIndex& index, const std::string& name,
                 const std::vector<std::pair<std::string, double>>& workloads_and_weights);

struct CollectOptions {
  std::int64_t trials = 1000;  ///< of all files together
  double seconds = 0;          ///< of all files together; 0: no limit
  /// Space, policy, cost model, seed, simulated device. The budget is not read.
  TuneOptions tune = tenset_like();
  Callback<void(std::size_t file, std::int64_t trials)> on_file;  ///< before each

  /// Programs as TenSet draws them: the reference's space, evolution under random scores.
  static TuneOptions tenset_like();
};
struct CollectResult {
  std::int64_t trials = 0;  ///< in the files, earlier ones included
  double seconds = 0;
  std::size_t num_short = 0;  ///< files with fewer than their share
  bool is_cancelled = false;
  std::string message;  ///< one sentence if something went wrong along the way
};
/// Measures until every file has its share of the trials. Goes on where an earlier call was ended,
/// however that was. Throws Error.
CollectResult collect_dataset(const DatasetIndex& index, const std::string& folder,
                              const CollectOptions& options);

/// Programs of one file, features as a model wants them.
struct MeasuredTask {
  std::string workload;
  std::vector<TrainingSample> samples;  ///< programs that failed have throughput 0
  double best_ns = 0;                   ///< 0: none ran
  std::size_t num_failed = 0;
  std::size_t num_left_out = 0;  ///< steps that do not apply, programs without features
};

struct Dataset {
  std::vector<MeasuredTask> tasks;  ///< as the files of the index
  std::vector<DatasetNetwork> networks;

  std::size_t num_samples() const;
  std::vector<TrainingSample> samples() const;  ///< of all tasks
};
/// Throws Error that names the file for one that is damaged, or in which a time is not a positive
/// number. A file that is not there yet has no programs.
Dataset read_dataset(const DatasetIndex& index, const std::string& folder, const CostModel& model);

/// Two indices over the same files.
struct DatasetSplit {
  DatasetIndex train, test;
};
/// TenSet's split within tasks: the earliest of each file, 1 - share of its records, are the test.
/// `counts`: records of each file.
DatasetSplit split_within_tasks(const DatasetIndex& index, const std::vector<std::size_t>& counts,
                                double train_share);
/// Whole tasks, shuffled, train until they hold that share of the records; at least one task is
/// tested.
DatasetSplit split_by_task(const DatasetIndex& index, const std::vector<std::size_t>& counts,
                           double train_share, std::uint64_t seed);
/// Records of each file. Throws Error for a file that is damaged.
std::vector<std::size_t> count_records(const DatasetIndex& index, const std::string& folder);

struct NetworkQuality {
  std::string name;
  std::size_t num_tasks = 0;
  double top_1 = 0, top_5 = 0;  ///< network_top_score
};
struct DatasetQuality {
  MetricsReport metrics;  ///< over the programs that ran
  std::vector<NetworkQuality> networks;
};
DatasetQuality dataset_quality(const CostModel& model, const Dataset& dataset);

}  // namespace tensorsmith
