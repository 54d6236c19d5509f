// FusedParts: what a fused loop is taken apart into.
//
// Floor 5. Two loops at a time, as the reference fuses: the innermost part is the remainder. What
// is left stays one index and a divisor until the index itself can be divided. Every index on the
// way that can pass its end gets a guard. Not here: the loops (stage_nests.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/guard_form.hpp"
#include "tensorsmith/feature/loop_extents.hpp"
#include "tensorsmith/feature/loop_values.hpp"

namespace tensorsmith::detail {

class FusedParts {
 public:
  /// By node of the stage: the extents, and those that vary. `bounds` receives what guards say.
  FusedParts(IndexAtoms& atoms, const std::vector<FeatureLoop>& loops,
             const std::vector<std::int64_t>& extent, const VaryingExtents& exact,
             std::vector<GuardBound>& bounds)
      : FusedParts(atoms, loops, LoopValues(loops, bounds), extent, exact, &bounds) {}
  /// As bound inference sees them: there are no guards, and nothing is known of some loops' ends.
  FusedParts(IndexAtoms& atoms, const std::vector<FeatureLoop>& loops,
             const std::vector<std::int64_t>& extent, const VaryingExtents& exact,
             const std::vector<bool>& has_open_end)
      : FusedParts(atoms, loops, LoopValues(loops, has_open_end), extent, exact, nullptr) {}

  /// Fills in the values of the parts.
  void take_apart(const IteratorRelation& r, std::vector<IndexForm>& value) {
    IndexForm index = value[at(r.parent)];
    std::int64_t below = 1;
    bool may_pass_end = false;  // the index may pass the end of its part, and no guard says no
    add_guard(r, r.parts.size(), index);
    for (std::size_t p = r.parts.size(); p-- > 0;) {
      IndexForm& part = value[at(r.parts[p])];
      const std::int64_t e = extent_[at(r.parts[p])];
      if (p > 0 && (exact_.varies(r.parts[p]) || (may_pass_end && e > 1))) {
        IndexForm rest = below == 1 ? std::move(index) : divide(index, below);
        below = 1;
        index = take_part(exact_.of_node[at(r.parts[p])], rest, part);
        may_pass_end = !exact_.is_guarded;
        add_guard(r, p, index);
        continue;
      }
      if (p == 0) {
        part = divide(index, below);
        break;
      }
      if (e <= 1) {
        continue;
      }
      part = bounds_ != nullptr ? atoms_.part(index, below, e, values_)
                                : divide(divide(index, below * e, false), below);
      below *= e;
      if (below == e) {
        IndexForm quotient = divide(index, e);
        if (!atoms_.is_quotient(quotient, index)) {
          index = std::move(quotient);
          below = 1;
          add_guard(r, p, index);
        }
      }
    }
  }

 private:
  FusedParts(IndexAtoms& atoms, const std::vector<FeatureLoop>& loops, const LoopValues& values,
             const std::vector<std::int64_t>& extent, const VaryingExtents& exact,
             std::vector<GuardBound>* bounds)
      : atoms_(atoms), loops_(loops), values_(values), extent_(extent), exact_(exact),
        bounds_(bounds) {}

  static std::size_t at(std::int32_t node) { return static_cast<std::size_t>(node); }

  IndexForm divide(const IndexForm& form, std::int64_t by, bool is_div = true) {
    return atoms_.divide(form, by, is_div, values_);
  }
  /// index < the product of the first `num_parts` parts.
  void add_guard(const IteratorRelation& r, std::size_t num_parts, const IndexForm& index) {
    if (bounds_ == nullptr) {
      return;
    }
    IndexForm end;
    end.constant = 1;
    for (std::size_t p = 0; p < num_parts; ++p) {
      IndexForm part;
      part.constant = extent_[at(r.parts[p])];
      end = atoms_.product(end, exact_.varies(r.parts[p]) ? exact_.of_node[at(r.parts[p])] : part);
    }
    const LoopValues all(loops_);
    if (end.is_constant() ? atoms_.range(index, all).max >= end.constant : exact_.is_guarded) {
      bounds_->push_back(guard_form(atoms_, index, end, all));
    }
  }
  /// The remainder by an extent goes to `part`, the quotient comes back.
  IndexForm take_part(const IndexForm& extent, const IndexForm& index, IndexForm& part) {
    const LoopValues all(loops_);
    if (atoms_.range(index, all).max < atoms_.range(extent, all).min) {
      part = index;
      return {};
    }
    if (extent.is_constant()) {
      part = atoms_.divide(index, extent.constant, false, all);
      return atoms_.divide(index, extent.constant, true, all);
    }
    part = atoms_.other(AtomKind::mod_by, index, extent);
    return atoms_.other(AtomKind::div_by, index, extent);
  }

  IndexAtoms& atoms_;
  const std::vector<FeatureLoop>& loops_;
  LoopValues values_;
  const std::vector<std::int64_t>& extent_;
  const VaryingExtents& exact_;
  std::vector<GuardBound>* bounds_;  ///< null: no guards
};

}  // namespace tensorsmith::detail
