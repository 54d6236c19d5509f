// SPDX-License-Identifier: Apache-2.0
// The kinds of hints of the library: one struct each, whose name and fields are its text.
//
// Floor 3. AutoUnroll and SkipRegion: Ansor reference, ch. 2.3; the others are our own and stand in
// no v0.6 record. What each of them does: docs/steps/PR.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensorsmith/sched/hint.hpp"

namespace tensorsmith::hints {

/// Small loops below may be unrolled up to so many statements; without meaning on CPUs.
struct AutoUnroll {
  static constexpr std::string_view name = "auto_unroll_max_step";
  static constexpr StepTraits traits = reference_hint;
  std::int32_t limit = 0;
  static constexpr auto fields() { return field_list(&AutoUnroll::limit); }
  bool is_legal() const { return limit >= 0; }
};

/// The stage leaves the attach map.
struct SkipRegion {
  static constexpr std::string_view name = "debug_skip_region";
  static constexpr StepTraits traits = reference_hint;
  static constexpr auto fields() { return field_list(); }
  bool is_legal() const { return true; }
};

/// Every shared copy of a GPU's block in the stage has so many buffers, and is fetched ahead.
struct FetchAhead {
  static constexpr std::string_view name = "fetch_ahead";
  static constexpr StepTraits traits = own_hint;
  std::int32_t stages = 0;  ///< 0 or 1: none ahead
  static constexpr auto fields() { return field_list(&FetchAhead::stages); }
  /// More buffers than any shared memory has room for.
  static constexpr std::int32_t most = 8;
  bool is_legal() const { return stages >= 1 && stages <= most; }
};

/// Steps of the innermost reduction loop are written out one after the other.
struct UnrollReduction {
  static constexpr std::string_view name = "unroll_reduction";
  static constexpr StepTraits traits = own_hint;
  std::int32_t steps = 0;  ///< 0 or 1: one
  static constexpr auto fields() { return field_list(&UnrollReduction::steps); }
  /// More steps than a loop's own instructions could matter in.
  static constexpr std::int32_t most = 16;
  bool is_legal() const { return steps >= 1 && steps <= most; }
};

/// A reduction whose own loops come last computes so many rows at a time.
struct RowBlock {
  static constexpr std::string_view name = "row_block";
  static constexpr StepTraits traits = own_hint;
  std::int32_t rows = 0;  ///< 0 or 1: one
  static constexpr auto fields() { return field_list(&RowBlock::rows); }
  /// More rows than the registers have accumulators for.
  static constexpr std::int32_t most = 16;
  bool is_legal() const { return rows >= 1 && rows <= most; }
};

/// What a thread's tile reads of shared copies has so many sets of registers, loaded ahead.
struct LoadAhead {
  static constexpr std::string_view name = "load_ahead";
  static constexpr StepTraits traits = own_hint;
  std::int32_t sets = 0;  ///< 0 or 1: none ahead
  static constexpr auto fields() { return field_list(&LoadAhead::sets); }
  /// More sets than any thread has registers for.
  static constexpr std::int32_t most = 4;
  bool is_legal() const { return sets >= 1 && sets <= most; }
};

/// So many blocks share all steps of the sums of a kernel out.
struct StreamK {
  static constexpr std::string_view name = "stream_k";
  static constexpr StepTraits traits = own_hint;
  std::int32_t blocks = 0;  ///< 0 or 1: a block per tile
  static constexpr auto fields() { return field_list(&StreamK::blocks); }
  /// More blocks than any device holds at a time.
  static constexpr std::int32_t most = 65536;
  bool is_legal() const { return blocks >= 1 && blocks <= most; }
};

/// The register tile asks for the lines of an operand ahead of their use.
struct Prefetch {
  static constexpr std::string_view name = "prefetch", slot = "prefetch";
  static constexpr StepTraits traits = own_hint;
  static constexpr ScheduleErrorCode error = ScheduleErrorCode::pragma_prefetch;
  std::int32_t operand = 0;  ///< of the reads in the body, in order
  std::int32_t lines = 0;    ///< how far ahead, in cache lines along the operand's last dimension
  std::int32_t level = 1;    ///< into L1, L2 or L3
  static constexpr auto fields() {
    return field_list(&Prefetch::operand, &Prefetch::lines, &Prefetch::level);
  }
  /// A distance beyond it is none that a core could wait for.
  static constexpr std::int32_t most_lines = 1024;
  bool is_legal() const { return lines <= most_lines && level >= 1 && level <= 3; }
  bool is_set() const { return lines > 0; }
  std::string state_text() const {
    return "prefetch: operand " + std::to_string(operand) + ", " + std::to_string(lines) +
           " lines, into L" + std::to_string(level);
  }
};

/// The same for what the next block of the reduction reads.
struct PrefetchBlock {
  static constexpr std::string_view name = "prefetch_block", slot = Prefetch::slot;
  static constexpr StepTraits traits = own_hint;
  static constexpr ScheduleErrorCode error = ScheduleErrorCode::pragma_prefetch;
  std::int32_t operand = 0, level = 1;
  static constexpr auto fields() {
    return field_list(&PrefetchBlock::operand, &PrefetchBlock::level);
  }
  bool is_legal() const { return level >= 1 && level <= 3; }
  std::string state_text() const {
    return "prefetch: operand " + std::to_string(operand) + ", the next block, into L" +
           std::to_string(level);
  }
};

/// An output of the program is written past the caches where vectors of it lie aligned.
struct StreamResult {
  static constexpr std::string_view name = "stream_result";
  static constexpr StepTraits traits = own_hint;
  static constexpr auto fields() { return field_list(); }
  bool is_legal() const { return true; }
  std::string state_text() const { return "streams its result"; }
};

/// Vectors run along the reduction, whatever loops stand behind it.
struct VectorizeSum {
  static constexpr std::string_view name = "vectorize_sum";
  static constexpr StepTraits traits = own_hint;
  static constexpr auto fields() { return field_list(); }
  bool is_legal() const { return true; }
  std::string state_text() const { return "vectorizes its sum"; }
};

/// A tensor intrinsic of the target computes the innermost tile.
struct Tensorize {
  static constexpr std::string_view name = "tensorize";
  static constexpr StepTraits traits = own_hint;
  static constexpr ScheduleErrorCode error = ScheduleErrorCode::pragma_tensorize;
  std::string intrinsic;  ///< its name; empty: none
  static constexpr auto fields() { return field_list(&Tensorize::intrinsic); }
  bool is_legal() const { return !intrinsic.empty(); }
  std::string state_text() const { return "intrinsic: " + intrinsic; }
};

}  // namespace tensorsmith::hints
