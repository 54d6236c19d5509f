// PR: a remark for lowering (docs/steps/PR.md).
//
// Floor 3. Ansor reference, ch. 2.3. "auto_unroll_max_step$N": small loops below may be unrolled up
// to N statements; without meaning on CPUs. "debug_skip_region": the stage leaves the attach map.
// Own: "prefetch$OPERAND$LINES$LEVEL", the register tile asks for the lines of an operand ahead,
// "prefetch_block$OPERAND$LEVEL", for those that the next block of the reduction reads;
// "unroll_reduction$N", N steps of the innermost reduction loop are written out; "row_block$ROWS",
// a reduction whose own loops come last computes so many rows at a time; "vectorize_sum", vectors
// run along the reduction, whose partial results are folded;
// "stream_result", an output of the program is written past the caches; "fetch_ahead$STAGES",
// shared copies of a GPU's block have so many buffers; "load_ahead$SETS", what a thread's tile
// reads of them has so many sets of registers; "stream_k$BLOCKS", so many blocks share all sums of
// a kernel out; "tensorize$NAME", a tensor intrinsic of the target computes the innermost tile.
//   for i (0,16)  -->  C auto_unroll: 64
//                      for i (0,16)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {
namespace detail {

/// "$4$12" as {4, 12}: whether `text` is `count` numbers up to 2^31-1, each behind a dollar sign;
/// room for them at `numbers`.
inline bool read_numbers(std::string_view text, std::size_t count, std::int32_t* numbers) {
  std::size_t at = 0;
  for (std::size_t n = 0; n < count; ++n) {
    if (at >= text.size() || text[at] != '$') {
      return false;
    }
    std::int64_t value = 0;
    const std::size_t first = ++at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value <= INT32_MAX; ++at) {
      value = value * 10 + (text[at] - '0');
    }
    if (at == first || value > INT32_MAX) {
      return false;
    }
    numbers[n] = static_cast<std::int32_t>(value);
  }
  return at == text.size();
}

}  // namespace detail

/// A distance beyond it is none that a core could wait for.
inline constexpr std::int32_t max_prefetch_lines = 1024;
/// More steps than a loop's own instructions could matter in.
inline constexpr std::int32_t max_reduction_unroll = 16;
/// More rows than the registers have accumulators for.
inline constexpr std::int32_t max_row_block = 16;
/// More buffers than any shared memory has room for.
inline constexpr std::int32_t max_fetch_stages = 8;
/// More sets than any thread has registers for.
inline constexpr std::int32_t max_load_sets = 4;
/// More blocks than any device holds at a time.
inline constexpr std::int32_t max_stream_blocks = 65536;

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const PragmaStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  constexpr std::string_view unroll = "auto_unroll_max_step";
  const std::string_view text = step.pragma;
  const auto stage = static_cast<std::size_t>(step.stage);
  if (text == "debug_skip_region") {
    state.mutable_attach_map().erase(step.stage);
    return {};
  }
  std::int32_t numbers[3] = {};
  if (text.substr(0, prefetch_block_pragma.size()) == prefetch_block_pragma) {
    const std::int32_t &operand = numbers[0], &level = numbers[1];
    if (!detail::read_numbers(text.substr(prefetch_block_pragma.size()), 2, numbers) || level < 1 ||
        level > 3) {
      return ScheduleError{ScheduleErrorCode::pragma_prefetch, step.stage, step.iterator};
    }
    state.mutable_stage_in_bounds(stage).prefetch = {operand, 1, level, true};
    return {};
  }
  if (text.substr(0, prefetch_pragma.size()) == prefetch_pragma) {
    const auto& [operand, lines, level] = numbers;
    if (!detail::read_numbers(text.substr(prefetch_pragma.size()), 3, numbers) ||
        lines > max_prefetch_lines || level < 1 || level > 3) {
      return ScheduleError{ScheduleErrorCode::pragma_prefetch, step.stage, step.iterator};
    }
    state.mutable_stage_in_bounds(stage).prefetch = {operand, lines, level, false};
    return {};
  }
  if (text == stream_pragma) {
    state.mutable_stage_in_bounds(stage).streams_result = true;
    return {};
  }
  if (text == vectorize_sum_pragma) {
    state.mutable_stage_in_bounds(stage).vectorizes_sum = true;
    return {};
  }
  struct Count {
    std::string_view pragma;
    std::int32_t most;
    std::int32_t BasicStage<Extent>::*field;
  };
  for (const Count& count :
       {Count{unroll_reduction_pragma, max_reduction_unroll, &BasicStage<Extent>::reduction_unroll},
        Count{row_block_pragma, max_row_block, &BasicStage<Extent>::row_block},
        Count{fetch_ahead_pragma, max_fetch_stages, &BasicStage<Extent>::fetch_stages},
        Count{load_ahead_pragma, max_load_sets, &BasicStage<Extent>::load_sets},
        Count{stream_k_pragma, max_stream_blocks, &BasicStage<Extent>::stream_blocks}}) {
    if (text.substr(0, count.pragma.size()) == count.pragma) {
      if (!detail::read_numbers(text.substr(count.pragma.size()), 1, numbers) || numbers[0] < 1 ||
          numbers[0] > count.most) {
        return ScheduleError{ScheduleErrorCode::pragma_value, step.stage, step.iterator};
      }
      state.mutable_stage_in_bounds(stage).*count.field = numbers[0];
      return {};
    }
  }
  if (text.substr(0, tensorize_pragma.size()) == tensorize_pragma) {
    const std::string_view name = text.substr(tensorize_pragma.size());
    if (name.size() < 2 || name[0] != '$') {
      return ScheduleError{ScheduleErrorCode::pragma_tensorize, step.stage, step.iterator};
    }
    state.mutable_stage_in_bounds(stage).intrinsic = std::string(name.substr(1));
    return {};
  }
  if (text.substr(0, unroll.size()) != unroll) {
    return ScheduleError{ScheduleErrorCode::pragma_unknown, step.stage, step.iterator};
  }
  if (!detail::read_numbers(text.substr(unroll.size()), 1, numbers)) {
    return ScheduleError{ScheduleErrorCode::pragma_value, step.stage, step.iterator};
  }
  state.mutable_stage_in_bounds(stage).auto_unroll_max_step = numbers[0];
  return {};
}

}  // namespace tensorsmith
