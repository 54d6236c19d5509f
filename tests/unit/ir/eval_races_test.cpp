// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/eval_races.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::detail;

namespace {

struct Sample {
  EvalThreads threads;
  EvalTrace trace;

  Sample() {
    threads.begin_kernel();
    threads.begin_block();
  }
  void barrier(Scope scope = Scope::shared) { threads.pass_barrier(scope); }
  void next_block() { threads.begin_block(); }
  void next_kernel() {
    threads.begin_kernel();
    next_block();
  }
  bool read(std::int64_t thread, Scope scope = Scope::global) {
    return access(thread, false, scope);
  }
  bool write(std::int64_t thread, Scope scope = Scope::global) {
    return access(thread, true, scope);
  }
  bool access(std::int64_t thread, bool is_write, Scope scope) {
    threads.current = thread;
    return threads.note(trace, is_write, scope);
  }
};

}  // namespace

TEST_CASE_METHOD(Sample, "one thread may do what it likes, readers do not meet") {
  CHECK(write(1));
  CHECK(read(1));
  CHECK(write(1));
  barrier();
  CHECK(read(1));
  CHECK(read(2));
  CHECK(read(3));
}

TEST_CASE_METHOD(Sample, "within an interval, a write meets reads and writes of other threads") {
  CHECK(write(1));
  CHECK_FALSE(read(2));
  barrier();
  CHECK(read(1));
  CHECK(read(2));
  CHECK_FALSE(write(2));
  barrier();
  CHECK(write(2));
  CHECK_FALSE(write(3));
}

TEST_CASE_METHOD(Sample, "blocks meet in global memory, kernels do not, shared memory is new") {
  CHECK(read(1));
  next_block();
  CHECK(read(1));
  CHECK_FALSE(write(1));
  next_kernel();
  CHECK(write(2));
  next_block();
  CHECK(write(3, Scope::shared));
  CHECK_FALSE(read(2, Scope::shared));
  next_block();
  CHECK_FALSE(read(3));
}

TEST_CASE_METHOD(Sample, "barriers of a warp order its own buffers only, and only within a warp") {
  CHECK(write(1, Scope::warp));
  CHECK_FALSE(read(2, Scope::warp));
  barrier(Scope::warp);
  CHECK(read(2, Scope::warp));
  CHECK_FALSE(write(1, Scope::warp));
  barrier(Scope::warp);
  CHECK(write(1, Scope::warp));
  barrier();
  CHECK(read(31, Scope::warp));
  CHECK_FALSE(read(32, Scope::warp));
  next_block();
  CHECK(write(1, Scope::shared));
  barrier(Scope::warp);
  CHECK_FALSE(read(2, Scope::shared));
  barrier();
  CHECK(read(2, Scope::shared));
}
