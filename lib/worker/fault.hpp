// SPDX-License-Identifier: Apache-2.0
// Signal handlers of the worker: note what happened and where in the control page, then die of it.
//
// Worker only. The parent reads the note after the death.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "measure/control_page.hpp"

namespace tensorsmith {

/// Call once, on the thread that runs kernels (it gets a stack of its own for the handler).
void install_fault_handlers(ControlPage& page);

/// Addresses that faults are explained with. `argument` < 0: the workspace; behind the last one:
/// packed operands.
struct FaultRegion {
  std::span<const std::byte> mapping;
  std::span<const std::byte> data;
  std::int32_t argument = -1;
};
void clear_fault_regions();
void add_fault_region(const FaultRegion& region);

}  // namespace tensorsmith
