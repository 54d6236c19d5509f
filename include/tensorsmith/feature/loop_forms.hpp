// SPDX-License-Identifier: Apache-2.0
// LoopForm: the value of a loop, an axis or an index, by the loops that really run.
//
// Floor 5. Own design. What an index depends on can be told without its expression, as long as it
// is made of splits, fuses, sums, and quotients and rests by numbers: a split loop is a sum of its
// parts, a part of a fused one a quotient and a rest of it. Where it is not plain whether a
// quotient still depends on a loop, the form says so.
#pragma once

#include <array>
#include <cstdint>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith::detail {

/// Numbers of loops, below `most`.
class LoopSet {
 public:
  static constexpr std::uint32_t most = 128;

  void add(std::uint32_t loop) { words_[loop / 64] |= std::uint64_t{1} << loop % 64; }
  bool has(std::uint32_t loop) const { return (words_[loop / 64] >> loop % 64 & 1) != 0; }
  bool is_empty() const { return (words_[0] | words_[1]) == 0; }
  bool is_within(const LoopSet& other) const { return (*this - other).is_empty(); }
  bool is_single() const {
    const std::uint64_t a = words_[0], b = words_[1];
    return (a == 0) != (b == 0) && (a & (a - 1)) == 0 && (b & (b - 1)) == 0;
  }
  LoopSet& operator|=(const LoopSet& other) {
    words_[0] |= other.words_[0];
    words_[1] |= other.words_[1];
    return *this;
  }
  friend LoopSet operator&(LoopSet a, const LoopSet& b) {
    a.words_[0] &= b.words_[0];
    a.words_[1] &= b.words_[1];
    return a;
  }
  friend LoopSet operator-(LoopSet a, const LoopSet& b) {
    a.words_[0] &= ~b.words_[0];
    a.words_[1] &= ~b.words_[1];
    return a;
  }
  bool operator==(const LoopSet&) const = default;

 private:
  std::array<std::uint64_t, most / 64> words_{};
};

/// A summand: `scale` times a number below `count`, which depends on `sure` and perhaps on `maybe`,
/// and is made of no other loops than `loops`.
struct LoopPart {
  LoopSet loops, sure, maybe;
  std::int64_t scale = 1, count = 1;

  bool operator==(const LoopPart&) const = default;
};

/// A sum of parts and a number, or a quotient and a rest of such a sum.
class LoopForm {
 public:
  LoopForm() = default;
  explicit LoopForm(std::int64_t number) : added_(number) {}
  /// `extent`: above 1.
  LoopForm(std::uint32_t loop, std::int64_t extent) {
    LoopPart part;
    part.loops.add(loop);
    part.sure = part.loops;
    part.count = extent;
    parts_.push_back(part);
  }

  /// Of a sum.
  const SmallVector<LoopPart, 4>& parts() const { return parts_; }
  std::int64_t added() const { return added_; }
  bool is_number() const { return parts_.empty(); }

  void add(const LoopPart& part) { parts_.push_back(part); }
  void add(const LoopForm& other, std::int64_t times) {
    if (!other.is_sum()) {
      LoopPart part = other.as_part();
      part.scale = times;
      parts_.push_back(part);
      return;
    }
    for (LoopPart part : other.parts_) {
      part.scale *= times;
      parts_.push_back(part);
    }
    added_ += times * other.added_;
  }
  /// The least and the greatest value.
  std::int64_t first() const { return is_sum() ? end(-1) : 0; }
  std::int64_t last() const { return is_sum() ? end(1) : count_ - 1; }
  /// As a sum.
  LoopForm sum() const {
    LoopForm made;
    made.add(*this, 1);
    return made;
  }

  /// Whether it has this value in some iterations, and surely not in all.
  bool takes(std::int64_t value) const {
    const LoopForm whole = sum();
    return value >= whole.first() && value <= whole.last() &&
           any_item(whole.parts_, [](const LoopPart& part) { return !part.sure.is_empty(); });
  }

  /// The parts of a fused loop that run `outer` and `inner` times.
  void unfuse(std::int64_t outer, std::int64_t inner, LoopForm& quotient,
              LoopForm& remainder) const {
    if (outer == 1 || inner == 1) {
      (inner == 1 ? quotient : remainder) = *this;
      return;
    }
    // Threads may be more than there are elements: a condition keeps the value below the extent.
    const std::int64_t end = is_sum() && last() >= outer * inner ? outer * inner : end_;
    quotient = divided(inner);
    remainder = rest(inner);
    quotient.count_ = outer;
    quotient.end_ = remainder.end_ = end;
  }
  /// Of a sum: what the divisor divides stays apart.
  LoopForm quotient(std::int64_t divisor) const {
    LoopForm made(floor_div(added_, divisor)), left(floor_mod(added_, divisor));
    for (LoopPart part : parts_) {
      const bool divides = part.scale % divisor == 0;
      part.scale /= divides ? divisor : 1;
      (divides ? made : left).parts_.push_back(part);
    }
    made.add(left.divided(divisor), 1);
    return made;
  }
  LoopForm divided(std::int64_t divisor) const {
    if (divisor == 1) {
      return *this;
    }
    if (!can_divide(divisor)) {
      return unclear(floor_div(first(), divisor), floor_div(last(), divisor));
    }
    LoopForm made = *this;
    made.count_ = last() / divisor + 1;
    made.divisor_ *= divisor;
    made.modulus_ /= divisor;
    return made.count_ == 1 ? LoopForm() : made;
  }
  LoopForm rest(std::int64_t divisor) const {
    if (first() >= 0 && last() < divisor) {
      return *this;
    }
    if (!can_divide(divisor)) {
      return unclear(0, divisor - 1);
    }
    LoopForm made = *this;
    made.count_ = made.modulus_ = divisor;
    return divisor == 1 ? LoopForm() : made;
  }

 private:
  bool is_sum() const { return divisor_ == 1 && modulus_ == 0; }
  std::int64_t end(int sign) const {
    std::int64_t value = added_;
    for (const LoopPart& part : parts_) {
      value += (part.scale < 0) == (sign < 0) ? part.scale * (part.count - 1) : 0;
    }
    return value;
  }
  /// A sum of multiples, or a rest by a multiple of the divisor.
  bool can_divide(std::int64_t divisor) const {
    return added_ == 0 && modulus_ % divisor == 0 &&
           all_items(parts_, [](const LoopPart& part) { return part.scale > 0; });
  }
  /// A number of this range that depends on any of the loops.
  LoopForm unclear(std::int64_t least, std::int64_t most) const {
    LoopForm made(least);
    LoopPart part;
    for (const LoopPart& one : parts_) {
      part.loops |= one.loops;
    }
    part.maybe = part.loops;
    part.count = most - least + 1;
    if (part.count > 1) {
      made.parts_.push_back(part);
    }
    return made;
  }

  /// Of a quotient and rest.
  LoopPart as_part() const {
    LoopPart part;
    part.count = count_;
    std::int64_t below = 0;  // the largest sum of what the divisor does not divide
    for (const LoopPart& one : parts_) {
      part.loops |= one.loops;
      below += one.scale % divisor_ == 0 ? 0 : one.scale * (one.count - 1);
    }
    for (const LoopPart& one : parts_) {
      const bool divides = one.scale % divisor_ == 0;
      if ((modulus_ != 0 && one.scale % (divisor_ * modulus_) == 0) ||
          (!divides && below < divisor_)) {
        continue;
      }
      // Its first value that changes the quotient, and by how much.
      const std::int64_t first = divides ? 1 : (divisor_ + one.scale - 1) / one.scale;
      const std::int64_t step = first * one.scale / divisor_;
      const bool is_sure = (one.loops.is_single() || (divides && modulus_ == 0)) &&
                           first < one.count && (end_ == 0 || first * one.scale < end_) &&
                           (modulus_ == 0 || step % modulus_ != 0);
      (is_sure ? part.sure : part.maybe) |= one.sure;
      part.maybe |= one.maybe;
    }
    return part;
  }

  SmallVector<LoopPart, 4> parts_;
  std::int64_t added_ = 0;
  std::int64_t divisor_ = 1, modulus_ = 0;  ///< 0: none
  std::int64_t count_ = 1;                  ///< of a quotient and rest: values, from 0 on
  std::int64_t end_ = 0;                    ///< a condition keeps the sum below; 0: none
};

}  // namespace tensorsmith::detail
