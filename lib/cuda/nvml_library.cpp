// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cuda/nvml_library.hpp"

#include <cstdlib>

#include "tensorsmith/cuda/shared_library.hpp"

namespace tensorsmith::cuda {

std::string to_text(const ClockState& state) {
  return "clock " + std::to_string(state.sm_mhz) + " MHz, " + std::to_string(state.temperature_c) +
         " C";
}

ClockMonitor::ClockMonitor(const std::string& uuid) {
  const char* const named = std::getenv("TENSORSMITH_LIBNVML");
  std::string problem;
  void* const handle =
      open_library(named != nullptr && *named != 0 ? named : "libnvidia-ml.so.1", problem);
  int (*init)() = nullptr;
  int (*by_uuid)(const char*, void**) = nullptr;
  const bool is_usable =
      handle != nullptr && find_function(handle, "nvmlInit_v2", init) &&
      find_function(handle, "nvmlDeviceGetHandleByUUID", by_uuid) &&
      find_function(handle, "nvmlDeviceGetClockInfo", clock_) &&
      find_function(handle, "nvmlDeviceGetTemperature", temperature_) &&
      find_function(handle, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
  if (!is_usable || init() != 0 || by_uuid(uuid.c_str(), &device_) != 0) {
    device_ = nullptr;
  }
}

ClockState ClockMonitor::read() const {
  ClockState state;
  if (device_ == nullptr) {
    return state;
  }
  constexpr int sm = 1, memory = 2, core_sensor = 0;
  unsigned value = 0;
  if (clock_(device_, sm, &value) == 0) {
    state.sm_mhz = static_cast<std::int32_t>(value);
  }
  if (clock_(device_, memory, &value) == 0) {
    state.memory_mhz = static_cast<std::int32_t>(value);
  }
  if (temperature_(device_, core_sensor, &value) == 0) {
    state.temperature_c = static_cast<std::int32_t>(value);
  }
  unsigned long long reasons = 0;
  if (reasons_(device_, &reasons) == 0) {
    state.reasons = reasons;
  }
  return state;
}

}  // namespace tensorsmith::cuda
