// LoopValues: which values loops and sums of them take, guards included.
//
// Floor 5. For IndexAtoms, which asks for the values of loops. A guard is known as the reference's
// simplifier writes it (guard_form.hpp) and bounds that sum and no other: what is equal to it
// only in value, or a multiple of it, is not recognised (docs/decisions/0004).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// What a guard says: form <= max. The form has no constant.
struct GuardBound {
  IndexForm form;
  std::int64_t max = 0;
};

class LoopValues {
 public:
  explicit LoopValues(const std::vector<FeatureLoop>& loops) : loops_(&loops) {}
  /// Inside of guards.
  LoopValues(const std::vector<FeatureLoop>& loops, const std::vector<GuardBound>& bounds)
      : loops_(&loops), bounds_(&bounds) {}
  /// Nothing is known of the ends of some loops.
  LoopValues(const std::vector<FeatureLoop>& loops, const std::vector<bool>& has_open_end)
      : loops_(&loops), has_open_end_(&has_open_end) {}

  IndexRange operator()(std::int32_t loop) const {
    const auto at = static_cast<std::size_t>(loop);
    const bool is_open = has_open_end_ != nullptr && (*has_open_end_)[at];
    return {0, is_open ? std::int64_t{1} << 31 : (*loops_)[at].extent - 1};
  }
  /// `values`, those of an atom, within the bounds.
  IndexRange bounded(std::int32_t atom, IndexRange values) const {
    if (bounds_ != nullptr) {
      for (const GuardBound& bound : *bounds_) {
        if (bound.form.terms.size() == 1 && bound.form.terms[0] == IndexTerm{1, atom}) {
          values.max = smaller_of(values.max, bound.max);
        }
      }
    }
    return values;
  }
  /// `values`, those of a sum, within the bounds.
  IndexRange bounded(const IndexForm& sum, IndexRange values) const {
    if (bounds_ != nullptr) {
      for (const GuardBound& bound : *bounds_) {
        if (bound.form.terms == sum.terms) {
          values.max = smaller_of(values.max, bound.max + sum.constant);
        }
      }
    }
    return values;
  }

 private:
  const std::vector<FeatureLoop>* loops_;
  const std::vector<GuardBound>* bounds_ = nullptr;
  const std::vector<bool>* has_open_end_ = nullptr;
};

}  // namespace tensorsmith::detail
