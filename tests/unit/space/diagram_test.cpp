// SPDX-License-Identifier: Apache-2.0
// Diagrams of what is legal, of spaces that nobody can list; of those that somebody can, see
// constraint_test.cpp.
#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/space/enumerate.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

TEST_CASE("spaces that nobody can list are counted") {
  VariableSpace space;
  std::vector<ExprId> wholes;
  std::vector<std::vector<VariableId>> chains;
  for (const char* name : {"C.i", "C.j", "C.k", "C.l"}) {
    chains.push_back(space.add_chain(name, {4096}, 4, 4096));
    wholes.push_back(space.product(chains.back()));
  }
  const double rows = 1820;  // ways to choose 4 exponents with a sum of 12 at most: 16 over 4
  CHECK(Enumeration(SpaceSampler(space)).count() ==
        static_cast<std::uint64_t>(rows * rows * rows * rows));
  space.require(space.at_most(space.product(wholes), 1 << 20), ConstraintKind::capacity,
                "all tiles together have at most 2^20 elements");
  // 16 exponents with a sum of at most 20, those of each chain at most 12.
  const auto over = [](double n, double k) {
    double ways = 1;
    for (double i = 1; i <= k; ++i) {
      ways = ways * (n - k + i) / i;
    }
    return std::round(ways);
  };
  std::vector<double> sums(21, 0), of_chain(13, 0);
  sums[0] = 1;
  for (int e = 0; e <= 12; ++e) {
    of_chain[static_cast<std::size_t>(e)] = over(e + 3, 3);
  }
  for (int chain = 0; chain < 4; ++chain) {
    std::vector<double> next(21, 0);
    for (std::size_t a = 0; a < sums.size(); ++a) {
      for (std::size_t b = 0; b < of_chain.size() && a + b < next.size(); ++b) {
        next[a + b] += sums[a] * of_chain[b];
      }
    }
    sums = next;
  }
  double expected = 0;
  for (double sum : sums) {
    expected += sum;
  }
  const SpaceSampler sampler(space);
  const Enumeration all(sampler);
  REQUIRE(all.count() == static_cast<std::uint64_t>(expected));
  CounterRng rng(seed(), 302);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t index = rng.next_u64() % *all.count();
    const Assignment values = all.at(index);
    REQUIRE(sampler.is_legal(values));
    REQUIRE(all.index_of(values) == index);
    const Assignment drawn = sampler.draw(rng).value();
    REQUIRE(sampler.is_legal(drawn));
    REQUIRE(all.at(all.index_of(drawn).value()) == drawn);
  }
  for (const std::uint64_t index : {std::uint64_t{0}, *all.count() - 1}) {
    CHECK(all.index_of(all.at(index)) == index);
  }
  Assignment too_large = all.at(0);
  for (const auto& chain : chains) {
    too_large[chain[0]] = 4096;
    too_large[chain[1]] = too_large[chain[2]] = too_large[chain[3]] = 1;
  }
  CHECK(!all.index_of(too_large).has_value());
}

}  // namespace tensorsmith::test
