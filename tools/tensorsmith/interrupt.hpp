// Ctrl-C and termination requests while something is tuned.
#pragma once

namespace tensorsmith::cli {

/// From now on the first Ctrl-C or termination request makes is_interrupted() true and the next one
/// ends the program; before work_has_begun() the first one does.
void watch_interrupts();
void work_has_begun();
bool is_interrupted();

}  // namespace tensorsmith::cli
