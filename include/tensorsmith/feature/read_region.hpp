// SPDX-License-Identifier: Apache-2.0
// ReadRegion: which indices of one dimension are read while some loops stand still.
//
// Floor 5. Own design, of the rules of range_inference.hpp those that numbers can follow: loops
// that stand say where the region begins, the others how long it is.
#pragma once

#include <cstdint>
#include <utility>

#include "tensorsmith/feature/loop_forms.hpp"

namespace tensorsmith::detail {

class ReadRegion {
 public:
  /// Widens it by what an index reads of a dimension of that extent. `around`: the loops around
  /// whoever computes the region. False where its length may vary.
  bool add(const LoopForm& index, std::int64_t extent, const LoopSet& stands,
           const LoopSet& around) {
    LoopForm base;
    std::int64_t first = index.added(), last = first;
    for (const LoopPart& part : index.parts()) {
      if (part.loops.is_within(stands)) {
        if (!part.loops.is_within(around)) {
          return false;  // a thread that the reader runs in, and who computes it does not
        }
        base.add(part);
      } else if ((part.loops & stands).is_empty()) {
        const std::int64_t width = part.scale * (part.count - 1);
        (width < 0 ? first : last) += width;
      } else {
        return false;
      }
    }
    if (base.is_number() && first <= 0 && last >= extent - 1) {  // all of the tensor
      first = 0;
      last = extent - 1;
    }
    const bool is_first = !is_read_;
    first_ = is_first ? first : smaller_of(first_, first);
    last_ = is_first ? last : larger_of(last_, last);
    base_ = is_first ? std::move(base) : base_;
    is_read_ = true;
    return is_first || equal_items(base_.parts(), base.parts());
  }

  bool is_read() const { return is_read_; }
  std::int64_t extent() const { return last_ - first_ + 1; }
  /// By the loops that stand.
  LoopForm begin() const {
    LoopForm begin(first_);
    begin.add(base_, 1);
    return begin;
  }

 private:
  bool is_read_ = false;
  LoopForm base_;
  std::int64_t first_ = 0, last_ = 0;
};

}  // namespace tensorsmith::detail
