// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/space/nearest.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "unit/space/space_fixtures.hpp"

namespace tensorsmith::test {

TEST_CASE("the nearest legal assignment is the nearest of all") {
  std::size_t num_found = 0, num_far = 0;
  for (std::uint32_t i = 0; i < 120; ++i) {
    CounterRng rng(seed(), 61, i);
    const VariableSpace space = random_space(rng);
    const SpaceSampler sampler(space);
    const std::vector<Assignment> all = all_legal(space);
    Assignment wanted(space.size());
    for (std::uint32_t v = 0; v < space.size(); ++v) {
      const bool is_asked = rng.next_below(8) != 0;
      wanted[VariableId{v}] =
          is_asked ? static_cast<std::int32_t>(1 + rng.next_below(40)) : not_asked;
    }
    const auto apart = [&](const Assignment& values) {
      double sum = 0;
      for (std::uint32_t v = 0; v < space.size(); ++v) {
        const VariableId id{v};
        sum += wanted[id] == not_asked ? 0 : distance_of(space[id], wanted[id], values[id]);
      }
      return sum;
    };
    const auto found = nearest_legal(sampler, wanted, 10'000'000);
    REQUIRE(found.has_value() == !all.empty());
    if (!found) {
      continue;
    }
    CHECK(sampler.is_legal(*found));
    double least = apart(all.front());
    for (const Assignment& values : all) {
      least = std::min(least, apart(values));
    }
    CHECK(apart(*found) == Approx(least).margin(1e-9));
    ++num_found;
    num_far += least > 0 ? 1 : 0;
    CHECK(nearest_legal(sampler, all.front()) == all.front());  // legal ones stay
  }
  CHECK(num_found > 30);
  CHECK(num_far > 30);
}

TEST_CASE("few tries find a legal one or none") {
  VariableSpace space;
  const auto lengths = space.add_chain("i", {96}, 2, 96);
  space.require(space.at_most(space.product({space.expr(lengths[0]), space.expr(lengths[1])}), 16),
                ConstraintKind::capacity, "a tile has at most 16 elements");
  const SpaceSampler sampler(space);
  Assignment wanted(space.size());
  wanted[lengths[0]] = wanted[lengths[1]] = 32;
  for (std::size_t limit : {0U, 1U, 2U, 5U, 20U, 1000U}) {
    const auto found = nearest_legal(sampler, wanted, limit);
    CHECK((!found || sampler.is_legal(*found)));
    CHECK((limit < 1000 || found.has_value()));
  }
}

}  // namespace tensorsmith::test
