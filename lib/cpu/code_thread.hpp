// SPDX-License-Identifier: Apache-2.0
// CodeThread: a thread for everything that LLVM does, so that its fatal errors end a job and not
// the process.
//
// Private to lib/cpu and tests. Own design (docs/decisions/0016-fatal-errors-of-llvm.md). LLVM ends
// the process after a fatal error unless the handler does not return, and neither an exception nor
// a jump may cross its frames. So the handler reports the reason to whoever waits for the job and
// never returns: the thread sleeps until the process ends, with what it had open. Not here: what is
// compiled.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace tensorsmith::llvm_codegen {

class CodeThread {
 public:
  /// Deep expressions are followed by recursion, here and in LLVM. Of a stack only what is used is
  /// taken, but all of it counts for limits of the address space.
  static constexpr std::size_t deep = std::size_t{64} << 20, shallow = std::size_t{4} << 20;

  explicit CodeThread(std::size_t stack_bytes = deep);
  ~CodeThread();
  CodeThread(const CodeThread&) = delete;
  CodeThread& operator=(const CodeThread&) = delete;

  /// Runs `job` on the thread and waits for it; exceptions come through. Empty, or why it did not
  /// come to its end: then nothing that the job may still hold may be touched or freed any more,
  /// `job` itself included, which is why it is taken by value. The next job gets a new thread.
  std::string run(std::function<void()> job);

 private:
  struct State;
  std::size_t stack_bytes_;
  std::shared_ptr<State> state_;  // null: no thread yet
};

}  // namespace tensorsmith::llvm_codegen
