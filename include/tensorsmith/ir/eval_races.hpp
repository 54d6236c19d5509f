// SPDX-License-Identifier: Apache-2.0
// Races between the threads of a GPU kernel, as the interpreter finds them.
//
// Floor 1. Own design. Time is counted in intervals: a new one begins with every kernel, every
// block and every barrier. Two accesses to one element, one of them a write, are ordered if they
// are of the same thread and block, of the same block in different intervals, or of different
// kernels. Barriers of warps begin a new interval for buffers of warps alone, and nothing orders
// the accesses of two warps to an element of those.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith::detail {

/// The last accesses to an element. Interval 0: none yet.
struct EvalTrace {
  std::uint32_t written_at = 0, read_at = 0;
  std::uint32_t first_read_at = 0;  ///< in the kernel that read it last
  std::int32_t writer = 0, reader = 0;
};

struct EvalThreads {
  static constexpr std::int32_t several = -1;

  bool is_in_blocks = false, is_in_threads = false;
  std::uint32_t block = 0;              ///< the statement that the threads run
  std::int64_t current = 0, count = 0;  ///< threads of the block
  std::uint32_t now = 0, kernel_begin = 0, block_begin = 0;
  std::uint32_t interval_begin = 0;            ///< the last barrier of all threads
  std::vector<std::vector<EvalTrace>> traces;  ///< by buffer; empty until it is accessed
  std::vector<std::int64_t> order;

  void begin_kernel() {
    is_in_blocks = true;
    kernel_begin = ++now;
  }
  void begin_block() {
    block_begin = interval_begin = ++now;
    is_in_threads = true;
  }
  void pass_barrier(Scope scope) {
    ++now;
    interval_begin = scope == Scope::warp ? interval_begin : now;
  }

  /// Notes the access of the present thread; false if it meets one that is not ordered before it.
  /// `scope`: of the buffer.
  bool note(EvalTrace& trace, bool is_write, Scope scope) {
    constexpr std::int32_t warp_size = 32;
    const auto thread = static_cast<std::int32_t>(current);
    const std::uint32_t begin = is_of_block(scope) ? block_begin : kernel_begin;
    const std::uint32_t interval = scope == Scope::warp ? now : interval_begin;
    const auto is_unordered = [&](std::uint32_t at, std::int32_t other) {
      return at >= begin && (at < block_begin || (at >= interval && other != thread));
    };
    const bool is_of_other_warp = scope == Scope::warp && trace.written_at >= begin &&
                                  trace.writer / warp_size != thread / warp_size;
    const bool after_write =
        trace.written_at != 0 && (is_of_other_warp || is_unordered(trace.written_at, trace.writer));
    if (!is_write) {
      if (trace.first_read_at < begin) {
        trace.first_read_at = now;
      }
      trace.reader = trace.read_at >= interval && trace.reader != thread ? several : thread;
      trace.read_at = now;
      return !after_write;
    }
    const bool after_read =
        trace.read_at != 0 && (is_unordered(trace.read_at, trace.reader) ||
                               (trace.first_read_at >= begin && trace.first_read_at < block_begin));
    trace.written_at = now;
    trace.writer = thread;
    return !after_write && !after_read;
  }
};

}  // namespace tensorsmith::detail
