// From log lines to journal records and back.
#include "tensorsmith/record/convert.hpp"

#include <algorithm>

namespace tensorsmith {
namespace {

MeasureStatus status_of_error(std::int64_t error) {
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    if (ansor_error_no(static_cast<MeasureStatus>(i)) == error) {
      return static_cast<MeasureStatus>(i);
    }
  }
  return MeasureStatus::unknown_error;
}

}  // namespace

Record record_from_ansor(const AnsorRecord& from) {
  Record record;
  record.workload = record.workload_key = from.workload_key;
  record.target = from.target;
  record.space = record.policy = "ansor";
  if (from.hardware && (*from.hardware)[0] > 0 && (*from.hardware)[0] <= 1024) {
    record.num_threads = static_cast<std::int32_t>((*from.hardware)[0]);
  }
  record.steps = from.steps;
  record.status = status_of_error(from.error);
  if (record.is_ok()) {
    std::vector<double> costs = from.costs;
    std::sort(costs.begin(), costs.end());
    if (costs.empty() || !(costs[0] > 0)) {
      record.status = MeasureStatus::unknown_error;
    } else {
      record.min_ns = costs[0] * 1e9;
      record.median_ns = costs[costs.size() / 2] * 1e9;
    }
  }
  if (!record.is_ok()) {
    record.message = "error " + std::to_string(from.error) + " in the log";
  }
  return record;
}

AnsorRecord record_to_ansor(const Record& from) {
  AnsorRecord record;
  record.workload_key = from.workload_key;
  const bool has_kind = from.target.find(" -") != std::string::npos || from.target == "llvm";
  record.target = has_kind ? from.target : "llvm -keys=cpu -mcpu=" + from.target;
  record.hardware = AnsorHardware{from.num_threads, 64, 64, 0, 0, 0, 0, 0};
  record.steps = from.steps;
  record.error = ansor_error_no(from.status);
  record.costs = {from.is_ok() ? from.min_ns * 1e-9 : 1e10};
  record.all_cost = from.seconds;
  return record;
}

}  // namespace tensorsmith
