// SPDX-License-Identifier: Apache-2.0
// Variable: one decision of a search, with a name, a role and a domain; Assignment: a value for
// every variable.
//
// Floor 6. Own design. Values are 32-bit integers: a length, an entry of a list, a place. What a
// value means is said by whoever made the variable (space/template.hpp). Not here: relations
// between variables (constraint.hpp), how values are chosen (sample.hpp, moves.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/id.hpp"
#include "tensorsmith/support/small_vector.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// A variable of a VariableSpace; the variable of the same number in the space's ExprPool stands
/// for it in expressions.
using VariableId = Id<struct VariableTag>;

/// What a variable is about: mutations are drawn by role.
enum class VariableRole : std::uint8_t {
  tile_length,  ///< a part of a split
  place,        ///< where a stage is computed
  annotation,   ///< how many loops are fused and run in parallel, as vectors, as threads
  layout,       ///< how values lie in memory
  hint,         ///< a remark for lowering
  structure,    ///< which steps there are
};
inline constexpr std::size_t num_variable_roles = 6;

constexpr std::string_view name_of(VariableRole role) {
  constexpr std::string_view names[num_variable_roles] = {"tile_length", "place", "annotation",
                                                          "layout",      "hint",  "structure"};
  return names[static_cast<std::size_t>(role)];
}

/// The value of a variable that nobody asks for: in the state at hand there is nothing to decide.
inline constexpr std::int32_t not_asked = INT32_MIN;

/// The values that a variable may have, ascending; or none, if only a state can tell.
class Domain {
 public:
  static Domain list(std::vector<std::int32_t> values) {
    sort_items(values);
    Domain domain;
    for (std::int32_t value : values) {
      if (domain.values_.empty() || domain.values_.back() != value) {
        domain.values_.push_back(value);
      }
    }
    TENSORSMITH_ASSERT(!domain.values_.empty(), "a domain without values");
    return domain;
  }
  static Domain interval(std::int32_t low, std::int32_t high) {
    Domain domain;
    for (std::int64_t value = low; value <= high; ++value) {
      domain.values_.push_back(static_cast<std::int32_t>(value));
    }
    TENSORSMITH_ASSERT(!domain.values_.empty(), "a domain without values");
    return domain;
  }
  static Domain flag() { return list({0, 1}); }
  /// Those of any of the extents, up to `most`.
  static Domain divisors_of(const std::vector<std::int64_t>& extents,
                            std::int64_t most = INT32_MAX) {
    std::vector<std::int32_t> values;
    for (std::int64_t extent : extents) {
      for (std::int64_t divisor : divisors(extent)) {
        if (divisor <= most) {
          values.push_back(static_cast<std::int32_t>(divisor));
        }
      }
    }
    return list(std::move(values));
  }
  static Domain divisors_of(std::int64_t extent, std::int64_t most = INT32_MAX) {
    return divisors_of(std::vector<std::int64_t>{extent}, most);
  }
  /// Known only where the decision is taken (space/decision.hpp).
  static Domain of_state() { return Domain{}; }

  bool is_open() const { return values_.empty(); }
  const std::vector<std::int32_t>& values() const { return values_; }
  bool contains(std::int32_t value) const { return has_item(values_, value); }

 private:
  std::vector<std::int32_t> values_;
};

struct Variable {
  std::string name;  ///< as people read it: "C.i.1", "B.place"
  VariableRole role = VariableRole::tile_length;
  Domain domain;
};

/// The parts of one split: the product of these lengths divides one of the numbers. The outermost
/// part is the rest, and no variable.
struct LengthChain {
  std::vector<VariableId> lengths;  ///< outermost first
  std::vector<std::int64_t> roots;  ///< the extent first, then rounder numbers above it

  /// Whether lengths with this product can be.
  bool allows(std::int64_t product) const {
    return any_item(roots, [&](std::int64_t root) { return product > 0 && root % product == 0; });
  }
};

/// A value for every variable of a space, by number. Cheap to copy, to compare and to look up.
class Assignment {
 public:
  Assignment() = default;
  explicit Assignment(std::size_t count) : values_(count, not_asked) {}

  std::size_t size() const { return values_.size(); }
  std::int32_t operator[](VariableId id) const { return values_[id.value]; }
  std::int32_t& operator[](VariableId id) { return values_[id.value]; }
  const std::int32_t* data() const { return values_.data(); }

  std::uint64_t hash() const {
    std::uint64_t hash = values_.size();
    for (std::int32_t value : values_) {
      hash = hash_combine(hash, static_cast<std::uint32_t>(value));
    }
    return hash;
  }
  friend bool operator==(const Assignment& a, const Assignment& b) {
    return a.values_ == b.values_;
  }
  friend bool operator<(const Assignment& a, const Assignment& b) {
    return (a.values_ <=> b.values_) < 0;
  }

 private:
  SmallVector<std::int32_t, 24> values_;
};

}  // namespace tensorsmith
