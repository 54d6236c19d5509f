// SPDX-License-Identifier: Apache-2.0
// Templates by hand: expressions in steps, steps that may be missing, what is read back, and a
// policy that searches them.
#include "tensorsmith/space/template_builder.hpp"

#include <set>
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/template_population.hpp"
#include "tensorsmith/space/assignment_text.hpp"
#include "tensorsmith/space/enumerate.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith::test {
namespace {

/// C = A * B: rows in steps of 2 x, which an optional step in front moves in the history; a second
/// split may follow the first; the last loop may be a vector.
Template product_by_hand() {
  TemplateBuilder t(matmul_dag(48, 32, 64));
  const std::int32_t c = t.stage("C");
  VariableSpace& space = t.space();
  t.maybe("unrolled", PragmaStep{c, 0, "auto_unroll_max_step$64"});
  const VariableId x = space.add("x", VariableRole::tile_length, Domain::list({1, 2, 3, 4}));
  const ExprId doubled = space.pool().mul(space.expr(x), space.number(2));
  const auto first =
      static_cast<std::int32_t>(t.step(SplitStep{c, 0, 48, {2}, true}, {Hole{{3, 0}, doubled}}));
  t.step(FollowSplitStep{c, 2, first, 1});
  const auto k = t.split(c, 4, "k", 2, 16);
  t.reorder(c, {0, 2, 4, 5, 6, 1, 3});
  t.maybe("vector", AnnotationStep{c, 6, Annotation::vectorize});
  space.require(space.at_most(space.product({doubled, space.expr(k[1])}), 48),
                ConstraintKind::capacity, "a tile has at most 48 elements");
  space.require(space.implies(space.pool().eq(space.expr(space.find("vector")), space.number(1)),
                              space.at_least(space.expr(x), 2)),
                ConstraintKind::legality, "vectors have four elements");
  return t.finish();
}

}  // namespace

TEST_CASE("every assignment of a template by hand has a state and reads back") {
  const Template of = product_by_hand();
  const Enumeration all(of.sampler());
  REQUIRE(all.count().has_value());
  REQUIRE(*all.count() > 200);
  std::set<std::string> programs;
  for (std::uint64_t i = 0; i < *all.count(); ++i) {
    const Assignment values = all.at(i);
    INFO(to_text(of.space(), values));
    const auto state = of.apply(values);
    REQUIRE(state.has_value());
    REQUIRE(state->has_bounds());
    REQUIRE(of.read(*state) == values);
    programs.insert(state_text(*state));
  }
  CHECK(programs.size() == *all.count());
}

TEST_CASE("numbers of steps are what expressions say") {
  const Template of = product_by_hand();
  const auto values = assignment_from_text(of.space(), "unrolled=1 x=3 k.1=2 k.2=8 vector=1");
  REQUIRE(values.has_value());
  CHECK(of.sampler().is_legal(*values));
  const auto state = of.apply(*values);
  REQUIRE(state.has_value());
  CHECK(steps_json(state->steps()) ==
        "[[\"PR\", 2, 0, \"auto_unroll_max_step$64\"], [\"SP\", 2, 0, 48, [6], 1], [\"FSP\", 2, 2, "
        "1, 1], [\"SP\", 2, 4, 64, [2, 8], 1], [\"RE\", 2, [0, 2, 4, 5, 6, 1, 3]], [\"AN\", 2, 6, "
        "2]]");
  const auto without = assignment_from_text(of.space(), "unrolled=0 x=3 k.1=2 k.2=8 vector=0");
  CHECK(steps_json(of.apply(*without)->steps()) ==
        "[[\"SP\", 2, 0, 48, [6], 1], [\"FSP\", 2, 2, 0, 1], [\"SP\", 2, 4, 64, [2, 8], 1], "
        "[\"RE\", 2, [0, 2, 4, 5, 6, 1, 3]]]");
}

TEST_CASE("histories of other programs are not read") {
  const Template of = product_by_hand();
  const auto values = assignment_from_text(of.space(), "unrolled=1 x=3 k.1=2 k.2=8 vector=1");
  const State state = *of.apply(*values);
  for (std::size_t missing = 1; missing < state.steps().size(); ++missing) {
    std::vector<Step> steps = state.steps();
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(missing));
    CHECK((missing + 1 == state.steps().size()) == of.read(steps).has_value());
  }
  std::vector<Step> odd = state.steps();
  std::get<SplitStep>(odd[1]).lengths[0] = 5;  // no x gives it
  CHECK(!of.read(odd).has_value());
  std::vector<Step> longer = state.steps();
  longer.push_back(AnnotationStep{2, 0, Annotation::parallel});
  CHECK(!of.read(longer).has_value());
}

TEST_CASE("assignments that lack a value have no state") {
  const Template of = product_by_hand();
  const auto values = assignment_from_text(of.space(), "unrolled=0 x=3 k.1=2 vector=0");
  const auto state = of.apply(*values);
  REQUIRE(!state.has_value());
  CHECK(state.error().item == 3);
}

TEST_CASE("illegal steps of a template by hand are named") {
  TemplateBuilder t(matmul_dag(48, 32, 64));
  CHECK_THROWS_AS(t.stage("D"), Error);
  CHECK_THROWS_AS(t.reorder(t.stage("C"), {0, 0, 1}), Error);
  CHECK_THROWS_AS(t.split(t.stage("C"), 7, "i", 1), Error);
}

TEST_CASE("neighbours of a template are one step away and have states") {
  const Template of = product_by_hand();
  CounterRng rng(seed(), 5);
  const auto instance = draw_instance(of, rng);
  REQUIRE(instance.has_value());
  const std::vector<Instance> near = neighbours(of, instance->values);
  REQUIRE(!near.empty());
  for (const Instance& other : near) {
    CHECK(of.read(other.state) == other.values);
    CHECK(of.sampler().is_legal(other.values));
    std::size_t changed = 0;
    for (std::uint32_t i = 0; i < of.space().size(); ++i) {
      changed += other.values[VariableId{i}] != instance->values[VariableId{i}] ? 1 : 0;
    }
    CHECK((changed == 1 || changed == 2));  // two lengths of a chain
  }
}

TEST_CASE("a policy searches templates by hand", "[threads]") {
  const auto list =
      make_shared_of<const std::vector<Template>>(std::vector<Template>{product_by_hand()});
  const auto run = [&](const ParallelFor& parallel_for) {
    ExtentModel model;
    SearchCallbacks callbacks;
    callbacks.extract = extents_of;
    callbacks.parallel_for = parallel_for;
    PolicyOptions options;
    options.seed = 3;
    options.evolution.population = 64;
    options.near_share = 0.25;
    BasicEvolutionaryPolicy<TemplatePopulation, TemplateMutators> policy(
        space_of_templates(*list), model, callbacks, options, TemplatePopulation{list},
        TemplateMutators(list));
    std::vector<std::string> proposals;
    for (int round = 0; round < 3; ++round) {
      std::vector<Observation> results;
      for (const Proposal& proposal : policy.propose(12)) {
        CHECK(list->front().read(proposal.state).has_value());
        proposals.push_back(proposal.text);
        results.push_back({proposal.state, 1.0 + static_cast<double>(proposals.size() % 7)});
      }
      policy.observe(results);
    }
    return proposals;
  };
  const std::vector<std::string> proposals = run({});
  CHECK(proposals.size() == 36);
  CHECK(std::set<std::string>(proposals.begin(), proposals.end()).size() == proposals.size());
  CHECK(run(threads(2)) == proposals);
}

}  // namespace tensorsmith::test
