// SPDX-License-Identifier: Apache-2.0
// Spaces as formulas: values are those of the space's own tape, and what is legal is inside of the
// half-spaces and breaks no penalty, whatever primes an extent has.
#include "tensorsmith/felix/space_formulas.hpp"

#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/space/tape.hpp"
#include "unit/space/space_fixtures.hpp"

namespace tensorsmith::felix::test {
namespace {

using tensorsmith::test::random_space;

std::vector<double> logs_of(const SpaceFormulas& formulas, const Assignment& values) {
  std::vector<double> logs;
  for (const VariableId id : formulas.lengths()) {
    logs.push_back(math::log2(values[id]));
  }
  return logs;
}
std::vector<double> symbols_of(const FormulaPool& pool, const SpaceFormulas& formulas,
                               const Assignment& values) {
  std::vector<double> at(pool.num_symbols(), 0);
  for (const VariableId id : formulas.lengths()) {
    at[pool[formulas.symbol(id)].args[0]] = values[id];
  }
  return at;
}

}  // namespace

TEST_CASE("legal assignments are inside of a space's limits", "[felix]") {
  CounterRng rng(94);
  std::size_t legal = 0, evaluated = 0, half_spaces = 0, penalties = 0;
  // Few spaces have a sum that is compared, so it goes on until some did.
  for (int i = 0; i < 150 || (penalties < 10 && i < 20'000); ++i) {
    const VariableSpace space = random_space(rng);
    const SpaceSampler sampler(space);
    for (int k = 0; k < 4; ++k) {
      const std::optional<Assignment> drawn = sampler.draw(rng);
      if (!drawn) {
        break;
      }
      const Assignment& values = *drawn;
      FormulaPool pool;
      const SpaceFormulas formulas(pool, space, values);
      const SpaceFormulas::Limits limits = formulas.limits();
      CHECK(limits.is_possible);
      CHECK(limits.polytope.contains(logs_of(formulas, values)));
      const std::vector<double> at = symbols_of(pool, formulas, values);
      for (const FormulaId penalty : limits.penalties) {
        CHECK(evaluate(pool, penalty, at) <= 1e-9);
      }
      for (const SpaceConstraint& constraint : space.constraints()) {
        if (const auto formula = formulas.formula_of(constraint.condition)) {
          const double value = evaluate(pool, *formula, at);
          CHECK((value == 1 || constraint.kind == ConstraintKind::preference || value != value));
          ++evaluated;
        }
      }
      ++legal;
      half_spaces += limits.polytope.half_spaces().size();
      penalties += limits.penalties.size();
    }
  }
  CHECK(legal > 100);
  CHECK(evaluated > 100);
  CHECK(half_spaces > legal);
  CHECK(penalties >= 10);
}

// C10, in logarithms to base 2 of whole lengths instead of an exponent by prime. The released code
// ends on extents such as 22 (D14).
TEST_CASE("lengths of one extent have a product of at most the extent", "[felix]") {
  for (const double extent : {64.0, 48.0, 22.0, 197.0, 1021.0}) {
    INFO(extent);
    VariableSpace space;
    const auto whole_extent = static_cast<std::int64_t>(extent);
    (void)space.add_chain("E", {whole_extent}, 4, whole_extent);
    FormulaPool pool;
    SpaceFormulas formulas(pool, space, Assignment(space.size()));
    const SpaceFormulas::Limits limits = formulas.limits();
    CHECK(limits.penalties.empty());
    CHECK(limits.left_out.empty());
    const double whole = math::log2(extent);
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<double> point(4, 0);
      point[i] = whole;
      CHECK(limits.polytope.contains(point));
      point[i] = whole + 1e-3;
      CHECK_FALSE(limits.polytope.contains(point));
      point[i] = -1e-3;
      CHECK_FALSE(limits.polytope.contains(point));
    }
    CHECK(limits.polytope.contains(std::vector<double>(4, whole / 4)));
    CHECK_FALSE(limits.polytope.contains(std::vector<double>(4, whole / 4 + 1e-3)));
  }
}

TEST_CASE("an extent of large primes has half-spaces like any other", "[felix]") {
  VariableSpace space;
  const auto lengths = space.add_chain("K", {11008}, 3, 64);  // 2^8 * 43
  space.require(space.at_most(space.product(lengths), 1024), ConstraintKind::capacity, "few");
  space.require(space.at_most(space.sum({space.expr(lengths[0]), space.expr(lengths[1])}), 100),
                ConstraintKind::capacity, "a sum");
  space.require(space.divides(space.expr(lengths[2]), space.number(128)), ConstraintKind::legality,
                "divides");
  FormulaPool pool;
  SpaceFormulas formulas(pool, space, Assignment(space.size()));
  const SpaceFormulas::Limits limits = formulas.limits();
  CHECK(limits.penalties.size() == 1);
  CHECK(limits.left_out == std::vector<std::string>{"divides"});
  CHECK(limits.polytope.contains({math::log2(43), 4, 0}));
  CHECK_FALSE(limits.polytope.contains({math::log2(43), 5, 0}));
  CHECK_FALSE(limits.polytope.contains({0, 0, 6.1}));
  CounterRng rng(95);
  Tape tape(pool, limits.penalties, formulas.inputs(false));
  Tape::Workspace work;
  const auto points = limits.polytope.draw(8, rng, [&](const std::vector<double>& point) {
    std::vector<double> found(1);
    tape.forward(point, 1, work, found);
    return found[0] <= 0;
  });
  REQUIRE(points.size() == 8);
  for (const auto& point : points) {
    CHECK(math::exp2(point[0]) + math::exp2(point[1]) <= 100.0001);
  }
}

TEST_CASE("a constraint that holds nowhere is known", "[felix]") {
  VariableSpace space;
  const VariableId flag = space.add("f", VariableRole::hint, Domain::flag());
  space.add_chain("i", {12}, 2, 12);
  space.require(space.at_least(space.expr(flag), 1), ConstraintKind::legality, "on");
  FormulaPool pool;
  Assignment values(space.size());
  values[flag] = 0;
  CHECK_FALSE(SpaceFormulas(pool, space, values).limits().is_possible);
  values[flag] = 1;
  CHECK(SpaceFormulas(pool, space, values).limits().is_possible);
}

}  // namespace tensorsmith::felix::test
