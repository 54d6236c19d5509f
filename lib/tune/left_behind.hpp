// SPDX-License-Identifier: Apache-2.0
// Work that nobody can interrupt, and what becomes of it when nobody waits for it any more.
//
// Private to lib/tune and tests. Own design
// (docs/decisions/0023-nothing-is-waited-for-beyond-the-budget.md). Threads at such work are left
// behind: they go on by themselves. The end of the process must not destroy what they use: if some
// are still running after a moment, it ends without the destructors that are left, with its output
// written and its exit code as it is.
#pragma once

#include <cstdint>
#include <functional>

namespace tensorsmith {

/// How many threads of this process are left behind and still at work.
class ThreadsLeftBehind {
 public:
  static ThreadsLeftBehind& instance();

  void add();
  void remove();
  std::int64_t count() const;
};

/// Stands in a run: what that leaves behind has made objects that the end of the process must not
/// take away.
class ExitGuard {
 public:
  ExitGuard() = default;
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;
  ~ExitGuard();
};

/// Runs `work` on a thread of its own and waits until it is done, or until `should_stop`, which is
/// asked every 10 ms, says so. True: it is done; its exceptions come through. False: it goes on
/// alone, so whatever it uses must be its own (captured by value, or shared).
bool run_unless(std::function<void()> work, const std::function<bool()>& should_stop);

}  // namespace tensorsmith
