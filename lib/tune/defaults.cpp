// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "tensorsmith/tune/defaults.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tensorsmith/host.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/tune/calibration.hpp"

namespace tensorsmith {
namespace {

/// Without the back end no name is that of a GPU of this machine.
bool names_device(const std::string& name) {
#if defined(TENSORSMITH_HAS_CUDA)
  return is_cuda_device_name(name);
#else
  (void)name;
  return false;
#endif
}

}  // namespace

std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/tensorsmith";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/tensorsmith" : "";
}

std::string default_journal(const std::string& workload) {
  const std::string folder = cache_folder();
  std::string name = workload;
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '=' || c == ',';
    c = is_plain ? c : '_';
  }
  constexpr std::size_t longest_name = 200;
  if (name.size() > longest_name) {  // computations in index notation may begin alike
    name = name.substr(0, longest_name - 20) + "-" + std::to_string(hash_text(workload));
  }
  return folder.empty() ? folder : folder + "/" + name + ".jsonl";
}

Result<Target, std::string> named_target(const std::string& name) {
  if (name == "host") {
    return named_runnable_target(name);
  }
  Result<Target, UnknownTarget> target = Target::from_name(name);
  if (target) {
    return std::move(target).value();
  }
  if (names_device(name)) {
    return named_runnable_target(name);
  }
  return fail(explain(target.error()) + ", host, cuda");
}

Result<Target, std::string> named_runnable_target(const std::string& name) {
#if defined(TENSORSMITH_HAS_CUDA)
  if (is_cuda_device_name(name)) {
    return cuda_device_target(name);
  }
#endif
  Result<Target, std::string> target = runnable_target(name);
  if (target && name == "host") {
    return with_kept_rates(*std::move(target));
  }
  return target;
}

TuneTask named_task(const std::string& workload, const Target& target) {
  Result<ops::Workload, std::string> parsed = ops::parse_workload(workload);
  if (!parsed) {
    throw Error(parsed.error());
  }
  TuneTask task;
  task.flop =
      parsed->nominal_flop > 0 ? parsed->nominal_flop : std::max(0.0, te::count_flop(*parsed->dag));
  task.dag = std::move(parsed->dag);
  task.target = target;
  task.workload = ops::is_expression(workload) ? parsed->name : workload;
  return task;
}

}  // namespace tensorsmith
