// SPDX-License-Identifier: Apache-2.0
// From log lines to journal records and back.
#include "tensorsmith/record/convert.hpp"

#include <algorithm>

#include "tensorsmith/record/ansor_history.hpp"
#include "tensorsmith/target.hpp"

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

/// As the value of a target's option, which ends at a space.
std::string option_value(const std::string& text) {
  std::string value;
  for (const char c : text) {
    const bool is_plain = c > ' ' && c < 0x7F && c != ',' && c != '"';
    if (is_plain || (!value.empty() && value.back() != '-')) {
      value += is_plain ? c : '-';
    }
  }
  return value.empty() ? "unknown" : value;
}

bool is_ansor_target(const std::string& target) {
  return target.find(" -") != std::string::npos || !parse_ansor_target(target).keys.empty();
}

/// What was measured on another kind of processor, or only estimated, never gets the same text.
std::string ansor_target_of(const Record& record) {
  if (is_ansor_target(record.target)) {
    return record.target;
  }
  if (record.target == "host") {
    return "llvm -keys=cpu -model=" + option_value(record.cpu.empty() ? "host" : record.cpu);
  }
  const Result<Target, UnknownTarget> target = Target::from_name(record.target);
  if (target && target->kind == TargetKind::cuda) {
    const GpuLimits& gpu = *target->gpu;
    const std::string kind = "sm_" + std::to_string(gpu.compute_capability);
    return "cuda -keys=cuda,gpu -arch=" + kind +
           " -max_num_threads=" + std::to_string(gpu.max_threads_per_block) +
           (record.target == kind ? std::string() : " -model=" + option_value(record.target)) +
           " -thread_warp_size=" + std::to_string(gpu.warp_size);
  }
  const char* const option = target ? " -mcpu=" : " -model=";
  return (record.target.starts_with("sim:") ? "cuda -keys=cuda,gpu" : "llvm -keys=cpu") +
         std::string(option) + option_value(record.target);
}

AnsorHardware hardware_of(const Record& record) {
  const Result<Target, UnknownTarget> target = Target::from_name(record.target);
  HardwareParams params;
  if (target && target->kind == TargetKind::cuda) {
    params = hardware_params(*target);
  } else {
    params.num_cores = record.num_threads;
  }
  AnsorHardware hardware{};
  const std::array<std::int32_t, 8> numbers = params.to_array();
  std::copy(numbers.begin(), numbers.end(), hardware.begin());
  return hardware;
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
  record.log =
      LogFields{from.hardware, from.target_host, from.layout_rewrite, from.input_names, from.costs,
                from.error,    from.all_cost,    from.timestamp,      from.other_fields};
  return record;
}

AnsorRecord record_to_ansor(const Record& from) {
  AnsorRecord record;
  record.workload_key = from.workload_key;
  record.steps = from.steps;
  if (from.log) {
    const LogFields& log = *from.log;
    record.target = from.target;
    record.hardware = log.hardware;
    record.target_host = log.target_host;
    record.layout_rewrite = log.layout_rewrite;
    record.input_names = log.input_names;
    record.costs = log.costs;
    record.error = log.error;
    record.all_cost = log.all_cost;
    record.timestamp = log.timestamp;
    record.other_fields = log.other_fields;
    return record;
  }
  record.target = ansor_target_of(from);
  record.hardware = hardware_of(from);
  record.error = ansor_error_no(from.status);
  record.costs = {from.is_ok() ? from.min_ns * 1e-9 : 1e10};
  record.all_cost = from.seconds;
  return record;
}

}  // namespace tensorsmith
