// SPDX-License-Identifier: Apache-2.0
// CpuLease: keeps this process on one core that no other worker of this user has taken.
//
// Worker only. A taken core is a bound abstract socket name: no file, and gone with its holder
// however that ends. If every core is taken, the process stays free to move.
#pragma once

#include <sched.h>

#include "measure/shared_memory.hpp"

namespace tensorsmith {

/// What a worker without a core of its own says to the tuner.
inline constexpr const char* no_core_note =
    "every core is held by another worker: this one is not kept on a core of its own, and times "
    "vary";

class CpuLease {
 public:
  CpuLease();
  /// Takes a core and moves there; does nothing if it has one. False if none is free.
  bool take();
  void release();

 private:
  cpu_set_t allowed_ = {};
  FileDescriptor holder_;
};

}  // namespace tensorsmith
