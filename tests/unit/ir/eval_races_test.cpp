#include "tensorsmith/ir/eval_races.hpp"

#include "support/catch.hpp"

using namespace tensorsmith::detail;

namespace {

struct Sample {
  EvalThreads threads;
  EvalTrace trace;

  Sample() {
    threads.begin_kernel();
    threads.block_begin = ++threads.now;
  }
  void barrier() { ++threads.now; }
  void next_block() { threads.block_begin = ++threads.now; }
  void next_kernel() {
    threads.begin_kernel();
    next_block();
  }
  bool read(std::int64_t thread, bool is_shared = false) {
    return access(thread, false, is_shared);
  }
  bool write(std::int64_t thread, bool is_shared = false) {
    return access(thread, true, is_shared);
  }
  bool access(std::int64_t thread, bool is_write, bool is_shared) {
    threads.current = thread;
    return threads.note(trace, is_write, is_shared);
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
  CHECK(write(3, true));
  CHECK_FALSE(read(2, true));
  next_block();
  CHECK_FALSE(read(3, false));
}
