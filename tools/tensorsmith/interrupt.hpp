// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, termination requests and the end of the terminal while something is tuned.
#pragma once

#include <cstdint>
#include <string>

namespace tensorsmith::cli {

/// From now on the first SIGINT, SIGTERM or SIGHUP makes is_interrupted() true and the next one
/// ends the program; before work_has_begun() the first one does. Those that were ignored stay
/// ignored.
void watch_interrupts();
void work_has_begun();
bool is_interrupted();
/// Exit code of a run that was interrupted without a result: 128 and the number of the signal.
int exit_of_interrupt();
/// That the run was ended before its budget, and how to go on with it.
std::string stopped_early(std::int64_t trials);

}  // namespace tensorsmith::cli
