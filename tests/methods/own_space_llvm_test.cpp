// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// A space that the library does not know: a rule, the rules after it, how sketches are completed.
// Public headers only.
#include <algorithm>
#include <variant>

#include "methods/methods_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// One level of tiles on every axis.
///     for i, j, k  -->  for i.0, j.0, i.1, j.1, k
struct TileOnce {
  static constexpr const char* name() { return "tile_once"; }
  Applicability applicability(const RuleInput& input) const {
    return needs_tiling(input.analysis, input.stage) ? Applicability::apply_and_skip_rest
                                                     : Applicability::skip;
  }
  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    tile_stage(state, input.stage, "SSR");
    return {Derivation{std::move(state), input.stage - 1}};
  }
};
static_assert(SketchRule<TileOnce>);

Owned<SpaceParts> make_tiled_once(const SpaceContext& context) {
  Owned<SpaceParts> space = make_owned<SpaceParts>();
  const SketchOptions sketch_options = native_sketch_options(context);
  space->sketches = generate_sketches(context.task.dag, ansor_cpu_rules().preceded_by(TileOnce{}),
                                      sketch_options);
  space->options.hardware = sketch_options.hardware;
  space->options.max_vectorize_size = context.params.max_vectorize_size;
  return space;
}

TuneOptions tiled_once(Measurer& measurer, std::int64_t trials) {
  TuneOptions options = quick_options(measurer, trials);
  options.space = "tiled once";
  options.make_space = make_tiled_once;
  return options;
}

std::size_t num_parts(const std::vector<Step>& steps) {
  std::size_t most = 0;
  for (const Step& step : steps) {
    const SplitStep* split = std::get_if<SplitStep>(&step);
    most = std::max(most, split != nullptr ? split->lengths.size() + 1 : 0);
  }
  return most;
}

}  // namespace

TEST_CASE("a space of the caller's is all that is searched") {
  const MethodsJournal journal;
  SimulatedMeasurer measurer = clock_by_id();
  TuneOptions options = tiled_once(measurer, 12);
  options.database = journal.path;
  const TuneResult result = tune(product_task(), options);
  REQUIRE(result.has_best());
  CHECK(num_parts(result.steps) == 2);
  const auto contents = read_journal(journal.path);
  REQUIRE(contents.has_value());
  REQUIRE(contents->records.size() == 12);
  for (const Record& record : contents->records) {
    CHECK(record.space == "tiled once");
    CHECK(num_parts(record.steps) == 2);
  }
}

TEST_CASE("a space's own idea of what may be measured holds") {
  SimulatedMeasurer measurer = clock_by_id();
  TuneOptions options = tiled_once(measurer, 8);
  const auto is_short = [](const State& state) {
    return std::none_of(state.steps().begin(), state.steps().end(), [](const Step& step) {
      const AnnotationStep* annotation = std::get_if<AnnotationStep>(&step);
      return annotation != nullptr && annotation->annotation == Annotation::vectorize;
    });
  };
  options.make_space = [&](const SpaceContext& context) {
    Owned<SpaceParts> space = make_tiled_once(context);
    space->is_valid = is_short;
    return space;
  };
  const TuneResult result = tune(product_task(), options);
  REQUIRE(result.has_best());
  CHECK(is_short(result.state()));
  // One that allows nothing ends with a sentence, not with silence.
  options.make_space = [&](const SpaceContext& context) {
    Owned<SpaceParts> space = make_tiled_once(context);
    space->is_valid = [](const State&) { return false; };
    return space;
  };
  const TuneResult none = tune(product_task(), options);
  CHECK(none.summary.trials == 0);
  CHECK(none.summary.message.find("the search proposed no program") == 0);
}

TEST_CASE("what a factory of spaces must not do is said") {
  SimulatedMeasurer measurer = clock_by_id();
  TuneOptions options = tiled_once(measurer, 4);
  options.space = "native";
  CHECK(refusal_of(product_task(), options).find("TuneOptions::make_space: records carry") == 0);
  options = tiled_once(measurer, 4);
  options.make_space = [](const SpaceContext&) { return make_owned<SpaceParts>(); };
  CHECK(refusal_of(product_task(), options) == "the search space of this workload is empty");
  options.make_space = [](const SpaceContext&) { return Owned<SpaceParts>(); };
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions::make_space: expected a space, got none");
  options.make_space = [](const SpaceContext&) {
    Owned<SpaceParts> space = make_owned<SpaceParts>();
    space->sketches = {State::initial(product_task(8).dag)};
    return space;
  };
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions::make_space: expected sketches of the task's dag, got one of another");
  options.sketches = [](const Shared<const ComputeDag>& dag, const SketchOptions&) {
    return std::vector<State>{State::initial(dag)};
  };
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions: expected one of make_space, sketches and templates, got several");
}

TEST_CASE("complete states are measured as they are, with the first of the trials") {
  SimulatedMeasurer measurer = clock_by_id();
  const TuneTask task = product_task();
  const auto by_hand = [&](std::int64_t tile) {
    State state = State::initial(task.dag);
    for (const Step& step :
         std::vector<Step>{SplitStep{2, 1, 32, {tile}, true}, ReorderStep{2, {0, 1, 3, 2}},
                           AnnotationStep{2, 3, Annotation::vectorize},
                           AnnotationStep{2, 0, Annotation::parallel}}) {
      Result<State, ScheduleError> next = apply_step(state, step);
      REQUIRE(next.has_value());
      state = std::move(next).value();
    }
    return state;
  };
  std::vector<std::uint64_t> given;
  TuneOptions options = quick_options(measurer, 6);
  options.sketches = [&](const Shared<const ComputeDag>&, const SketchOptions&) {
    std::vector<State> states;
    for (const std::int64_t tile : {4, 8, 16}) {
      states.push_back(by_hand(tile));
      given.push_back(hash_steps(states.back().steps()));
    }
    return states;
  };
  const MethodsJournal journal;
  options.database = journal.path;
  const TuneResult result = tune(task, options);
  CHECK(result.has_best());
  CHECK(result.summary.trials >= 3);
  const auto contents = read_journal(journal.path);
  REQUIRE(contents.has_value());
  std::size_t num_given = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    num_given += hash_steps(contents->records.at(i).steps) == given[i] ? 1 : 0;
  }
  CHECK(num_given == 3);
  // Nothing else can be made of them, and instant mode takes one.
  options.database.clear();
  options.budget = {0, 0};
  options.cost_model.clear();
  const TuneResult instant = tune(task, options);
  REQUIRE(instant.has_best());
  CHECK(instant.summary.trials == 1);
}

TEST_CASE("every space of the table has programs and says what it is") {
  for (const SpaceMethod& method : space_methods()) {
    INFO(std::string(method.name));
    CHECK_FALSE(method.meaning.empty());
    SimulatedMeasurer measurer = clock_by_id();
    TuneOptions options = quick_options(measurer, 4);
    options.space = method.name;
    CHECK(tune(product_task(), options).has_best());
  }
}
