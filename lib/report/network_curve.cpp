// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>

#include "tensorsmith/report/network_report.hpp"

namespace tensorsmith {

NetworkCurve network_curve(std::span<const Record> records, std::span<const WeightedName> tasks,
                           const std::string& target, std::int32_t num_threads) {
  struct Point {
    double seconds = 0;
    std::size_t task = 0;
    double ns = 0;
  };
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    places.emplace(tasks[i].name, i);
  }
  std::vector<Point> points;
  std::vector<double> best(tasks.size(), 0);
  double before = 0, last = 0;  // seconds of earlier runs, and of this one
  for (const Record& record : records) {
    const auto place = places.find(record.workload);
    if (record.seconds < last) {  // a new run
      before += last;
    }
    last = record.seconds;
    if (place != places.end() && record.target == target && record.num_threads == num_threads &&
        record.is_ok() && record.min_ns > 0) {
      const std::size_t task = place->second;
      points.push_back({before + record.seconds, task, record.min_ns});
      best[task] = best[task] > 0 ? best[task] : record.min_ns;
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    sum += tasks[i].weight * best[i];
  }
  NetworkCurve curve;
  for (const Point& point : points) {
    const bool is_better = point.ns < best[point.task];
    if (is_better) {
      sum -= tasks[point.task].weight * (best[point.task] - point.ns);
      best[point.task] = point.ns;
    }
    if (is_better || curve.empty()) {
      curve.emplace_back(point.seconds, sum);
    }
  }
  if (!points.empty()) {
    curve.emplace_back(points.back().seconds, sum);
  }
  return curve;
}

}  // namespace tensorsmith
