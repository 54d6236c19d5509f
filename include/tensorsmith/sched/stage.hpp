// SPDX-License-Identifier: Apache-2.0
// Iterators and stages of a loop state.
//
// Floor 3. Ansor reference, ch. 2.1. `Extent` is the type of a loop's length: std::int64_t, the
// only one that is instantiated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

/// Codes of the reference (ch. 2.1).
enum class IteratorKind : std::uint8_t { spatial = 0, reduction = 1, mixed = 2, special = 3 };
enum class ComputeAt : std::uint8_t { root = 0, inlined = 1, iterator = 2 };

template <class Extent>
struct BasicIterator {
  std::string name;
  /// Number of iterations; nothing while undefined (after compute_at, with an unknown split).
  std::optional<Extent> extent;
  IteratorKind kind = IteratorKind::spatial;
  Annotation annotation = Annotation::none;
  /// Names of the iterators it was fused from; empty otherwise.
  std::vector<std::string> original;
};

template <class Extent>
struct BasicStage {
  // Its operation is the one of the state's current dag with the same id.
  bool is_placeholder = false;
  ComputeAt compute_at = ComputeAt::root;
  std::vector<BasicIterator<Extent>> iterators;
  std::int32_t auto_unroll_max_step = 0;
  std::int32_t storage_offset = 0;
  /// Of a cache: its memory, as the step that made it says; empty: it is no cache.
  std::string scope;
  /// It computes the parts of a sum that another stage adds up (rfactor).
  bool is_partial_sum = false;
  /// Remarks for lowering beside the reference's.
  HintList hints;

  bool is_shared_copy() const { return scope == "shared"; }
};

}  // namespace tensorsmith
