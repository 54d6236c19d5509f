// SPDX-License-Identifier: Apache-2.0
// Threads of rows: which open splits of a sketch are bound to threads, and what their lengths may
// be.
//
// Floor 7. Own design (sketch/rules/reduce_rows.hpp, population/thread_bind.hpp). Threads come in
// powers of two, whatever the extent: a length that does not divide it leaves some idle at the end
// of a row, and sums are added up by halves.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// The open splits whose second part the next step binds to threads, as steps.
inline std::vector<std::size_t> splits_of_rows(const State& sketch) {
  std::vector<std::size_t> found;
  const std::vector<Step>& steps = sketch.steps();
  for (std::size_t at = 0; at + 1 < steps.size(); ++at) {
    const SplitStep* split = std::get_if<SplitStep>(&steps[at]);
    const AnnotationStep* next = std::get_if<AnnotationStep>(&steps[at + 1]);
    if (split != nullptr && next != nullptr && has_item(split->lengths, unknown_length) &&
        next->stage == split->stage && next->iterator == split->iterator + 1 &&
        is_thread_annotation(next->annotation)) {
      found.push_back(at);
    }
  }
  return found;
}

/// Elements of the narrowest argument that 16 bytes hold, 8 at most: the longest vector that some
/// access can have.
inline std::int64_t most_lanes(const ComputeDag& dag) {
  constexpr std::int64_t vector_bytes = 16, most = 8;
  std::int64_t lanes = 1;
  for (TensorId tensor : dag.arguments()) {
    lanes = larger_of(lanes, vector_bytes / bytes_of(dag.tensor(tensor).dtype));
  }
  return smaller_of(lanes, most);
}

/// How many elements a thread takes at once: half of the time as many as may be and divide the
/// extent, else any fewer.
template <class Rng>
std::int64_t draw_vector_width(std::int64_t extent, std::int64_t most, Rng& rng) {
  std::int64_t widest = 1;
  std::uint32_t fewer = 0;
  while (2 * widest <= most && extent % (2 * widest) == 0) {
    widest *= 2;
    ++fewer;
  }
  return fewer == 0 || rng.next_below(2) == 0 ? widest : std::int64_t{1} << rng.next_below(fewer);
}

/// Powers of two from `least` to `most`, but not twice as many as there is work for.
inline std::vector<std::int64_t> thread_counts(std::int64_t work, std::int64_t least,
                                               std::int64_t most) {
  std::vector<std::int64_t> choices;
  for (std::int64_t threads = 1; threads <= most; threads *= 2) {
    const bool is_all = threads >= work;
    if (threads >= least || is_all) {
      choices.push_back(threads);
    }
    if (is_all) {
      break;
    }
  }
  if (choices.empty()) {
    choices.push_back(most);
  }
  return choices;
}

/// One of those.
template <class Rng>
std::int64_t draw_threads(std::int64_t work, std::int64_t least, std::int64_t most, Rng& rng) {
  const std::vector<std::int64_t> choices = thread_counts(work, least, most);
  return choices[rng.next_below(static_cast<std::uint32_t>(choices.size()))];
}

/// Lengths of such a split: {rows of a block}, or {threads, elements that a thread takes at once}.
template <class Rng>
LengthList draw_row_lengths(const SplitStep& split, const HardwareParams& hardware,
                            std::int64_t widest, Rng& rng) {
  if (split.lengths.size() == 1) {
    const std::int64_t most = hardware.max_threads_per_block / hardware.warp_size;
    return {draw_threads(split.extent, 1, most, rng)};
  }
  const std::int64_t lanes = draw_vector_width(split.extent, widest, rng);
  const std::int64_t threads = draw_threads((split.extent + lanes - 1) / lanes, hardware.warp_size,
                                            hardware.max_threads_per_block, rng);
  return {threads, lanes};
}

}  // namespace tensorsmith
