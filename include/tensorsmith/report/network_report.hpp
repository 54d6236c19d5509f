// SPDX-License-Identifier: Apache-2.0
// A network as one HTML page: its kernels with their shares of the time, its tasks, and how its
// time fell while it was tuned.
//
// Floor 7; compiled in lib/report. Own design. As report/report.hpp: one file, nothing outside of
// it, text in and text out. Not here: graphs, journals, running anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/record/record.hpp"
#include "tensorsmith/report/machine.hpp"

namespace tensorsmith {

/// A kernel of the network, in the order of the calls.
struct NetworkReportKernel {
  std::string operators;  ///< "Conv+Relu"
  std::string node;       ///< in which it ends
  std::string shape;      ///< of its result
  std::size_t task = 0;
  double median_ns = 0, p10_ns = 0, p90_ns = 0;
  std::vector<std::size_t> reads;  ///< kernels before it whose results it reads
};

struct NetworkReportTask {
  std::string operators;
  std::string text;  ///< its name in records
  double weight = 1;
  double flop = 0;  ///< of one call; 0: not countable
  bool is_recorded = false;
  double best_ns = 0;  ///< of the journal; 0: it has none
  std::int64_t trials = 0, failed = 0;
};

/// Seconds of tuning, and the sum of the best times of all tasks.
using NetworkCurve = std::vector<std::pair<double, double>>;

struct NetworkReport {
  std::string network, journal, target, cpu;
  std::int32_t num_threads = 1;
  std::vector<std::string> inputs, outputs;      ///< "image: f32 [1, 3, 224, 224]"
  double median_ns = 0, p10_ns = 0, p90_ns = 0;  ///< of a call
  std::int64_t arena_bytes = 0, constant_bytes = 0, packed_bytes = 0;
  std::vector<NetworkReportKernel> kernels;
  std::vector<NetworkReportTask> tasks;
  NetworkCurve curve;
  std::vector<ReportMachine> machines;
};

std::string html_report(const NetworkReport& report);

struct WeightedName {
  std::string name;  ///< of a workload in records
  double weight = 1;
};
/// How the sum of the best times fell, over all runs of the journal one after the other; a task
/// counts with its first time until it has one. Of records of that target and number of threads;
/// tasks without a time do not count. Empty: none has one.
NetworkCurve network_curve(std::span<const Record> records, std::span<const WeightedName> tasks,
                           const std::string& target, std::int32_t num_threads);

}  // namespace tensorsmith
