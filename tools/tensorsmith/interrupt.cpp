// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <csignal>
#include <initializer_list>

#include <unistd.h>

namespace tensorsmith::cli {
namespace {

volatile std::sig_atomic_t last_signal = 0;
volatile std::sig_atomic_t has_begun = 0;

/// Stop and keep the best. Preparing a large workload takes a while, and there is nothing to keep
/// yet.
void interrupt(int signal) {
  if (has_begun == 0) {
    constexpr char sentence[] = "tensorsmith: interrupted before the first trial\n";
    (void)!::write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
    ::_exit(128 + signal);
  }
  if (last_signal != 0 && signal == SIGXCPU) {
    return;  // comes each second from the soft limit of processor time on
  }
  if (last_signal != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  last_signal = signal;
}

}  // namespace

void watch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU}) {
    struct sigaction action = {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      continue;  // nohup, or started in the background by a shell without job control
    }
    action = {};
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(signal, &action, nullptr);
  }
}
void work_has_begun() { has_begun = 1; }
bool is_interrupted() { return last_signal != 0; }
std::string stopped_early(std::int64_t trials) {
  return "stopped early, after " + std::to_string(trials) + (trials == 1 ? " trial" : " trials") +
         "; the same command with --resume goes on with this run";
}
int exit_of_interrupt() { return 128 + (last_signal != 0 ? last_signal : SIGINT); }

}  // namespace tensorsmith::cli
