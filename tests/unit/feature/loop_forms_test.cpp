// SPDX-License-Identifier: Apache-2.0
// Sums, quotients and rests of loops: what they depend on, beside all their values.
#include "tensorsmith/feature/loop_forms.hpp"

#include <array>
#include <cstdint>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;
using detail::LoopForm;
using detail::LoopPart;
using detail::LoopSet;

namespace {

/// A value at every point of three loops, outermost first, and what the form says of it.
struct Known {
  LoopForm form;
  std::vector<std::int64_t> values;
};

constexpr std::size_t num_loops = 3;
using Extents = std::array<std::int64_t, num_loops>;

std::size_t num_points(const Extents& extents) {
  return static_cast<std::size_t>(extents[0] * extents[1] * extents[2]);
}

Known loop(const Extents& extents, std::uint32_t number) {
  Known made;
  if (extents[number] != 1) {
    made.form = LoopForm(number, extents[number]);
  }
  std::int64_t inner = 1;
  for (std::size_t i = number + 1; i < num_loops; ++i) {
    inner *= extents[i];
  }
  for (std::size_t p = 0; p < num_points(extents); ++p) {
    made.values.push_back(static_cast<std::int64_t>(p) / inner % extents[number]);
  }
  return made;
}

/// Whether the values change with a loop while the others stand still.
bool depends(const Extents& extents, const std::vector<std::int64_t>& values,
             std::uint32_t number) {
  std::size_t inner = 1;
  for (std::size_t i = number + 1; i < num_loops; ++i) {
    inner *= static_cast<std::size_t>(extents[i]);
  }
  for (std::size_t p = 0; p < values.size(); ++p) {
    const std::size_t first = p - p / inner % static_cast<std::size_t>(extents[number]) * inner;
    if (values[p] != values[first]) {
      return true;
    }
  }
  return false;
}

void check(const Extents& extents, const Known& known, const LoopForm& sum) {
  LoopSet sure, maybe;
  std::int64_t first = sum.added(), last = sum.added();
  for (const LoopPart& part : sum.parts()) {
    sure |= part.sure;
    maybe |= part.maybe;
    const std::int64_t width = part.scale * (part.count - 1);
    (width < 0 ? first : last) += width;
  }
  for (std::uint32_t number = 0; number < num_loops; ++number) {
    const bool does = depends(extents, known.values, number);
    INFO("loop " << number << " of " << extents[0] << ", " << extents[1] << ", " << extents[2]);
    CHECK((!sure.has(number) || does));
    CHECK((!does || sure.has(number) || maybe.has(number)));
  }
  for (const std::int64_t value : known.values) {
    CHECK(value >= first);
    CHECK(value <= last);
  }
}

}  // namespace

TEST_CASE("forms of loops depend on the loops that they say", "[feature]") {
  CounterRng rng(test::seed());
  std::size_t sure_parts = 0;
  for (int round = 0; round < 4000; ++round) {
    Extents extents;
    for (std::int64_t& extent : extents) {
      extent = 1 + rng.next_below(6);
    }
    // A sum with the steps of a split, or with any.
    Known sum;
    sum.values.assign(num_points(extents), 0);
    const bool is_split = rng.next_below(2) == 0;
    std::int64_t step = 1;
    for (std::uint32_t number = num_loops; number-- > 0;) {
      const Known one = loop(extents, number);
      const std::int64_t times = is_split ? step : 1 + rng.next_below(9);
      sum.form.add(one.form, times);
      for (std::size_t p = 0; p < sum.values.size(); ++p) {
        sum.values[p] += times * one.values[p];
      }
      step *= extents[number];
    }
    check(extents, sum, sum.form.sum());
    const std::int64_t inner = 1 + rng.next_below(9), next = 1 + rng.next_below(5);
    Known quotient{sum.form.divided(inner), sum.values}, rest{sum.form.rest(inner), sum.values};
    Known apart{sum.form.quotient(inner), sum.values};
    for (std::size_t p = 0; p < sum.values.size(); ++p) {
      quotient.values[p] /= inner;
      apart.values[p] /= inner;
      rest.values[p] %= inner;
    }
    check(extents, quotient, quotient.form.sum());
    check(extents, apart, apart.form.sum());
    check(extents, rest, rest.form.sum());
    // A part of a part.
    Known outer{quotient.form.divided(next), quotient.values},
        middle{quotient.form.rest(next), quotient.values};
    for (std::size_t p = 0; p < sum.values.size(); ++p) {
      outer.values[p] /= next;
      middle.values[p] %= next;
    }
    check(extents, outer, outer.form.sum());
    check(extents, middle, middle.form.sum());
    const LoopForm parts = middle.form.sum();
    for (const LoopPart& part : parts.parts()) {
      sure_parts += part.sure.is_empty() ? 0 : 1;
    }
  }
  CHECK(sure_parts > 1000);
}

TEST_CASE("a form says what it cannot tell", "[feature]") {
  LoopForm sum;
  sum.add(LoopForm(0, 4), 6);
  sum.add(LoopForm(1, 6), 1);
  // (6 a + b) // 4: b alone passes 4.
  const LoopForm quotient = sum.divided(4).sum();
  REQUIRE(quotient.parts().size() == 1);
  CHECK(quotient.parts()[0].sure.has(0));
  CHECK(quotient.parts()[0].sure.has(1));
  // From a negative number on nothing is sure.
  LoopForm shifted(-1);
  shifted.add(LoopForm(0, 8), 1);
  const LoopForm half = shifted.divided(2).sum();
  CHECK(half.added() == -1);
  REQUIRE(half.parts().size() == 1);
  CHECK(half.parts()[0].sure.is_empty());
  CHECK(half.parts()[0].maybe.has(0));
}

TEST_CASE("loops of a fused loop", "[feature]") {
  LoopForm outer, inner;
  LoopForm(0, 12).unfuse(3, 4, outer, inner);
  const LoopForm a = outer.sum(), b = inner.sum();
  REQUIRE(a.parts().size() == 1);
  REQUIRE(b.parts().size() == 1);
  CHECK(a.parts()[0].count == 3);
  CHECK(b.parts()[0].count == 4);
  CHECK(a.parts()[0].sure.has(0));
  CHECK(b.parts()[0].sure.has(0));
  LoopForm none, all;
  LoopForm(0, 12).unfuse(1, 12, none, all);
  CHECK(none.is_number());
  CHECK(all.sum().parts()[0].count == 12);
}
