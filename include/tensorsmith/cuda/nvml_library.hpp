// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's management library says of a GPU's clocks, where there is one.
//
// Floor 7; compiled in lib/cuda. Own design. The declarations repeat the documented interface of
// NVML; its header is not needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tensorsmith::cuda {

/// A GPU at one moment; 0: not known.
struct ClockState {
  std::int32_t sm_mhz = 0, memory_mhz = 0;
  std::int32_t temperature_c = 0;
  std::uint64_t reasons = 0;  ///< why the clock is below its maximum, as NVML numbers them

  /// Heat or the power supply hold the clock down. A power limit alone is the board's normal state
  /// under load.
  bool is_throttled() const { return (reasons & 0xE8) != 0; }
};

/// "clock 1980 MHz, 61 C".
std::string to_text(const ClockState& state);

class ClockMonitor {
 public:
  /// Of the GPU with that UUID ("GPU-..."). $TENSORSMITH_LIBNVML, else libnvidia-ml.so.1; without
  /// one every state is unknown.
  explicit ClockMonitor(const std::string& uuid);
  bool is_present() const { return device_ != nullptr; }
  ClockState read() const;

 private:
  int (*clock_)(void*, int, unsigned*) = nullptr;
  int (*temperature_)(void*, int, unsigned*) = nullptr;
  int (*reasons_)(void*, unsigned long long*) = nullptr;
  void* device_ = nullptr;
};

}  // namespace tensorsmith::cuda
