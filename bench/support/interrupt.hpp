// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and termination requests as a flag: the first asks to stop, the next one ends the program.
//
// Own design. Not here: what is kept when a benchmark stops early.
#pragma once

#include <csignal>

namespace tensorsmith::bench {

constexpr int exit_interrupted = 130;

inline volatile std::sig_atomic_t interrupt_flag = 0;
inline bool is_interrupted() { return interrupt_flag != 0; }

inline void watch_interrupts() {
  const auto handler = [](int signal) {
    if (interrupt_flag != 0) {
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    }
    interrupt_flag = 1;
  };
  std::signal(SIGINT, handler);
  std::signal(SIGTERM, handler);
}

}  // namespace tensorsmith::bench
