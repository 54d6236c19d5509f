#include "interrupt.hpp"

#include <csignal>

#include <unistd.h>

#include "command.hpp"

namespace tensorsmith::cli {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;
volatile std::sig_atomic_t has_begun = 0;

/// Stop and keep the best. Preparing a large workload takes a while, and there is nothing to keep
/// yet.
void interrupt(int signal) {
  if (has_begun == 0) {
    constexpr char sentence[] = "tensorsmith: interrupted before the first trial\n";
    (void)!::write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
    ::_exit(exit_interrupted);
  }
  if (was_interrupted != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  was_interrupted = 1;
}

}  // namespace

void watch_interrupts() {
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
}
void work_has_begun() { has_begun = 1; }
bool is_interrupted() { return was_interrupted != 0; }

}  // namespace tensorsmith::cli
