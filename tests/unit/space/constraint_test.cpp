// SPDX-License-Identifier: Apache-2.0
// Spaces of variables: tapes, propagation, sampling, counting, moves and texts, against every
// assignment of random small spaces.
#include <map>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/space/assignment_text.hpp"
#include "tensorsmith/space/enumerate.hpp"
#include "tensorsmith/space/moves.hpp"
#include "unit/space/space_fixtures.hpp"

namespace tensorsmith::test {
namespace {

constexpr std::uint32_t num_spaces = 300;
constexpr std::size_t most_points = 60000;  ///< of a space that is enumerated

double num_points(const VariableSpace& space) {
  double points = 1;
  for (const Variable& variable : space.variables()) {
    points *= static_cast<double>(variable.domain.values().size());
  }
  return points;
}

/// Calls visit(space, legal, rng) for random spaces.
template <class Visit>
void for_each_space(std::uint32_t test, const Visit& visit) {
  std::uint32_t visited = 0;
  for (std::uint32_t i = 0; i < num_spaces; ++i) {
    CounterRng rng(seed(), test, i);
    const VariableSpace space = random_space(rng);
    if (num_points(space) <= static_cast<double>(most_points)) {
      INFO("space " << i);
      visit(space, all_legal(space), rng);
      ++visited;
    }
  }
  CHECK(visited > num_spaces / 2);
}

}  // namespace

TEST_CASE("tapes compute what expressions mean") {
  for_each_space(1, [](const VariableSpace& space, const auto&, CounterRng& rng) {
    Assignment values(space.size());
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::vector<Interval> ranges(space.size());
      for (std::uint32_t i = 0; i < space.size(); ++i) {
        const auto& domain = space[VariableId{i}].domain.values();
        values[VariableId{i}] = domain[rng.next_below(static_cast<std::uint32_t>(domain.size()))];
        ranges[i] = {domain.front(), domain.back()};
      }
      std::vector<ExprId> roots;
      for (const SpaceConstraint& constraint : space.constraints()) {
        roots.push_back(constraint.condition);
      }
      const Tape tape(space.pool(), roots);
      const std::vector<Interval> bounds = tape.bounds(ranges);
      for (std::size_t r = 0; r < roots.size(); ++r) {
        const std::int64_t value = tape.evaluate(r, values.data());
        REQUIRE(value == plain_value(space.pool(), roots[r], values));
        REQUIRE(bounds[r].contains(value));
      }
    }
  });
}

TEST_CASE("propagation keeps every legal assignment and cuts others off") {
  std::size_t before = 0, after = 0, possible = 0;
  for_each_space(2, [&](const VariableSpace& space, const auto& legal, CounterRng&) {
    const Propagator propagator(space);
    Domains domains = propagator.domains();
    const bool is_possible = propagator.propagate(domains);
    REQUIRE((is_possible || legal.empty()));
    for (const Assignment& values : legal) {
      for (std::uint32_t i = 0; i < space.size(); ++i) {
        REQUIRE(has_item(domains[i], values[VariableId{i}]));
      }
    }
    for (std::uint32_t i = 0; i < space.size(); ++i) {
      std::set<std::int32_t> seen;
      for (const Assignment& values : legal) {
        seen.insert(values[VariableId{i}]);
      }
      before += space[VariableId{i}].domain.values().size();
      after += is_possible ? domains[i].size() : 0;
      possible += seen.size();
    }
  });
  // Of what is in no legal assignment, most is seen to be so.
  CHECK(after - possible < (before - possible) / 2);
}

TEST_CASE("samples are legal, and all legal assignments come equally often") {
  std::size_t num_in_parts = 0;  // drawn from a diagram of the first groups alone
  for_each_space(3, [&](const VariableSpace& space, const auto& legal, CounterRng& rng) {
    const std::set<Assignment> all(legal.begin(), legal.end());
    for (const std::size_t max_edges :
         {LegalDiagram::usual_limit, std::size_t{40}, std::size_t{6}, std::size_t{0}}) {
      INFO(max_edges << " edges");
      const SpaceSampler sampler(space, max_edges);
      std::map<Assignment, int> seen;
      const int draws = legal.size() <= 40 ? 60 * static_cast<int>(legal.size()) : 50;
      for (int i = 0; i < draws || i < 3; ++i) {
        const std::optional<Assignment> values = sampler.draw(rng);
        REQUIRE(values.has_value() == !legal.empty());
        if (values) {
          REQUIRE(all.count(*values) == 1);
          REQUIRE(sampler.is_legal(*values));
          ++seen[*values];
        }
      }
      if (!legal.empty() && legal.size() <= 40) {
        REQUIRE(seen.size() == legal.size());
        for (const auto& [values, count] : seen) {
          REQUIRE((count > 15 && count < 130));  // of 60; far more than six standard deviations
        }
      }
      num_in_parts += !sampler.is_empty() && sampler.has_tables() &&
                              sampler.diagram().num_groups() < sampler.groups().size()
                          ? 1
                          : 0;
    }
  });
  CHECK(num_in_parts > 20);
}

TEST_CASE("counting and numbers of assignments are exact") {
  std::size_t num_known = 0, num_all = 0;
  for_each_space(4, [&](const VariableSpace& space, const auto& legal, CounterRng&) {
    const SpaceSampler sampler(space);
    const Enumeration enumeration(sampler);
    ++num_all;
    if (!enumeration.count()) {
      return;
    }
    ++num_known;
    REQUIRE(*enumeration.count() == legal.size());
    std::set<Assignment> seen;
    for (std::uint64_t i = 0; i < legal.size(); ++i) {
      const Assignment values = enumeration.at(i);
      REQUIRE(sampler.is_legal(values));
      REQUIRE(enumeration.index_of(values) == i);
      seen.insert(values);
    }
    REQUIRE(seen == std::set<Assignment>(legal.begin(), legal.end()));
  });
  CHECK(num_known == num_all);
}

TEST_CASE("neighbours are legal, near and mutual") {
  for_each_space(5, [](const VariableSpace& space, const auto& legal, CounterRng& rng) {
    const SpaceSampler sampler(space);
    const std::set<Assignment> all(legal.begin(), legal.end());
    for (int i = 0; i < 3 && !legal.empty(); ++i) {
      const Assignment from = legal[rng.next_below(static_cast<std::uint32_t>(legal.size()))];
      for (const Assignment& to : neighbours(sampler, from)) {
        REQUIRE(all.count(to) == 1);
        REQUIRE(!(to == from));
        REQUIRE(has_item(neighbours(sampler, to), from));
        REQUIRE(distance(space, from, to) > 0);
        REQUIRE(distance(space, from, to) == distance(space, to, from));
      }
      if (const auto mutant = mutate(sampler, from, RoleWeights{}, rng)) {
        REQUIRE(has_item(neighbours(sampler, from), *mutant));
      }
      const Assignment other = legal[rng.next_below(static_cast<std::uint32_t>(legal.size()))];
      if (const auto child = crossover(sampler, from, other, rng)) {
        REQUIRE(all.count(*child) == 1);
        REQUIRE(!(*child == from));
        for (std::uint32_t v = 0; v < space.size(); ++v) {
          const std::int32_t value = (*child)[VariableId{v}];
          REQUIRE((value == from[VariableId{v}] || value == other[VariableId{v}]));
        }
      }
    }
  });
}

TEST_CASE("texts read back") {
  for_each_space(6, [](const VariableSpace& space, const auto& legal, CounterRng& rng) {
    if (legal.empty()) {
      return;
    }
    Assignment values = legal[rng.next_below(static_cast<std::uint32_t>(legal.size()))];
    values[VariableId{0}] = rng.next_below(4) == 0 ? not_asked : values[VariableId{0}];
    const auto read = assignment_from_text(space, to_text(space, values));
    REQUIRE(read.has_value());
    REQUIRE(*read == values);
  });
  VariableSpace space;
  const VariableId unroll =
      space.add("C.auto_unroll", VariableRole::hint, Domain::list({0, 16, 64}));
  const auto good = assignment_from_text(space, "  C.auto_unroll=64");
  REQUIRE(good.has_value());
  CHECK((*good)[unroll] == 64);
  CHECK(assignment_from_text(space, "C.unroll=1").error() ==
        "expected the name of a variable and its value, got \"C.unroll=1\"");
  for (const char* wrong : {"C.auto_unroll", "C.auto_unroll=", "C.auto_unroll=x", "=3",
                            "C.auto_unroll=3000000000", "C.auto_unroll=1 C.auto_unroll=1"}) {
    INFO(wrong);
    CHECK(!assignment_from_text(space, wrong).has_value());
  }
}

TEST_CASE("constraints that no value keeps make a space empty") {
  VariableSpace space;
  const auto lengths = space.add_chain("C.i", {64}, 2, 64);
  space.require(space.at_least(space.product(lengths), 65), ConstraintKind::capacity, "too much");
  const SpaceSampler sampler(space);
  CHECK(sampler.is_empty());
  CounterRng rng(1);
  CHECK(!sampler.draw(rng).has_value());
  CHECK(Enumeration(sampler).count() == 0);
}

TEST_CASE("preferences may be broken, and are named") {
  VariableSpace space;
  const VariableId flag = space.add("flag", VariableRole::structure, Domain::flag());
  space.require(space.at_least(space.expr(flag), 1), ConstraintKind::preference, "the flag is set");
  const SpaceSampler sampler(space);
  CHECK(Enumeration(sampler).count() == 2);
  Assignment values(1);
  values[flag] = 0;
  REQUIRE(sampler.broken(values).size() == 1);
  CHECK(sampler.broken(values).front()->sentence == "the flag is set");
  CHECK(sampler.broken(values, true).empty());
}

TEST_CASE("chains with too many rows for a table are drawn length by length") {
  VariableSpace space;
  const auto lengths = space.add_chain("C.i", {735134400}, 4, 64);
  space.require(space.at_most(space.product(lengths), 4096), ConstraintKind::capacity,
                "a tile has at most 4096 elements");
  const SpaceSampler sampler(space);
  CHECK(!sampler.has_tables());
  CHECK(!Enumeration(sampler).count().has_value());
  std::set<Assignment> seen;
  for (std::uint32_t i = 0; i < 40; ++i) {
    CounterRng rng(1, i);
    const auto values = sampler.draw(rng);
    REQUIRE(values.has_value());
    CHECK(sampler.is_legal(*values));
    seen.insert(*values);
  }
  CHECK(seen.size() > 20);
}

}  // namespace tensorsmith::test
