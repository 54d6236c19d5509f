// SPDX-License-Identifier: Apache-2.0
// Laws of schedules, on random steps: replay, derived dags, split and fuse, bounds, and that
// nothing a random step says can break a state.
#include "tensorsmith/sched/bounds.hpp"

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "support/random_steps.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/sched/bounds/loops.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/sched/step_json.hpp"

namespace tensorsmith::test {
namespace {

constexpr std::uint32_t num_states = 60;  // per workload

template <class F>
void for_random_states(F&& check, std::uint32_t count = num_states) {
  const auto workloads = small_workloads(DType::i32);
  for (std::uint32_t w = 0; w < workloads.size(); ++w) {
    for (std::uint32_t candidate = 0; candidate < count; ++candidate) {
      CounterRng rng(seed(), w, 0, candidate);
      const State state = random_state(rng, workloads[w].dag, 24);
      INFO(workloads[w].name << ", seed " << seed() << ", candidate " << candidate << "\n"
                             << steps_json(state.steps()));
      check(state, rng);
    }
  }
}

std::int64_t iterations(const State& state, std::size_t stage) {
  std::int64_t product = 1;
  for (const auto& it : state.stage(stage).iterators) {
    product *= it.extent.value_or(1);
  }
  return product;
}

TEST_CASE("law: replaying the steps of a state gives the state") {
  for_random_states([](const State& state, CounterRng&) {
    const auto fresh = replay(state.initial_dag(), state.steps());
    const auto shared = replay(state.restart(), state.steps());
    REQUIRE(fresh);
    REQUIRE(shared);
    CHECK(state_text(*fresh) == state_text(state));
    CHECK(state_text(*shared) == state_text(state));
    CHECK(shared->dag_ptr() == state.dag_ptr());
  });
}

TEST_CASE("law: the dags of cache and rfactor steps compute the same") {
  for_random_states([](const State& state, CounterRng&) { CHECK(computes_the_same(state)); },
                    scaled(num_states));
}

TEST_CASE("law: a split and the fuse of its parts keep the iterations, rounded up") {
  for_random_states([](const State& state, CounterRng& rng) {
    const auto id =
        static_cast<std::size_t>(rng.next_below(static_cast<std::uint32_t>(state.num_stages())));
    const auto& iterators = state.stage(id).iterators;
    if (iterators.empty()) {
      return;
    }
    const auto at = rng.next_below(static_cast<std::uint32_t>(iterators.size()));
    const auto extent = iterators[at].extent;
    const std::int64_t length = 1 + rng.next_below(9);
    const auto stage = static_cast<std::int32_t>(id), iterator = static_cast<std::int32_t>(at);
    State after = state;
    REQUIRE(!try_apply(after, SplitStep{stage, iterator, extent.value_or(0), {length}, true}));
    REQUIRE(after.stage(id).iterators.size() == iterators.size() + 1);
    if (try_apply(after, FuseStep{stage, {iterator, iterator + 1}})) {
      FAIL("the parts of a split do not fuse");
    }
    const auto& fused = after.stage(id).iterators[at];
    CHECK(fused.extent.has_value() == extent.has_value());
    if (extent) {
      CHECK(*fused.extent >= *extent);
      CHECK(*fused.extent < *extent + length);
      CHECK((*extent % length != 0 || *fused.extent == *extent));
    }
    CHECK(after.attach_map().stage_to_iterator == state.attach_map().stage_to_iterator);
  });
}

TEST_CASE("law: bounds are complete, stable, and cover every output") {
  std::size_t bounded_states = 0;
  for_random_states([&](const State& state, CounterRng&) {
    const auto bounded = infer_bounds(state);
    if (!bounded) {
      CHECK(bounded.error().code == ScheduleErrorCode::bounds_consumer_outside);
      return;
    }
    ++bounded_states;
    const std::string text = state_text(*bounded);
    CHECK(text.find("(None)") == std::string::npos);
    const auto again = infer_bounds(*bounded);
    REQUIRE(again);
    CHECK(state_text(*again) == text);
    for (TensorId id : state.dag().arguments()) {
      const std::size_t stage = state.dag().tensor(id).operation;
      if (state.stage(stage).is_placeholder) {
        continue;
      }
      std::int64_t points = 1;
      for (const auto* axes : {&state.operation(stage).axes, &state.operation(stage).reduce_axes}) {
        for (const Axis& axis : *axes) {
          points *= axis.extent;
        }
      }
      CHECK(iterations(*bounded, stage) >= points);
    }
  });
  CHECK(bounded_states > 100);
}

TEST_CASE("law: bounds know every stage by the memory that the state has for it") {
  for_random_states([](const State& state, CounterRng&) {
    const std::vector<bounds::StageLoops> loops = bounds::stage_loops(state);
    REQUIRE(loops.size() == state.num_stages());
    for (std::size_t s = 0; s < loops.size(); ++s) {
      const std::string& scope = state.stage(s).scope;
      CHECK(loops[s].scope ==
            (scope.empty() ? bounds::ScopeRank::by_threads : bounds::scope_rank(scope)));
    }
  });
}

TEST_CASE("law: a random step is applied or refused, and refused without a trace") {
  const auto workloads = small_workloads(DType::f32);
  std::size_t applied = 0, refused = 0;
  for (std::uint32_t w = 0; w < workloads.size(); ++w) {
    CounterRng rng(seed(), w, 1, 0);
    const State start = State::initial(workloads[w].dag);
    State state = start;
    const auto number = [&] { return static_cast<std::int32_t>(rng.next_below(8)) - 1; };
    const auto ids = [&] {
      IdList list;
      for (std::uint32_t n = rng.next_below(4); n > 0; --n) {
        list.push_back(number());
      }
      return list;
    };
    const auto lengths = [&] {
      LengthList list;
      for (std::uint32_t n = rng.next_below(4); n > 0; --n) {
        list.push_back(number());
      }
      return list;
    };
    for (int i = 0; i < 400; ++i) {
      if (i % 40 == 0) {
        state = start;
      }
      const Step choices[] = {
          AnnotationStep{number(), number(), static_cast<Annotation>(rng.next_below(13))},
          FuseStep{number(), ids()},
          PragmaStep{number(), number(), "auto_unroll_max_step$16"},
          PragmaStep{number(), number(), "prefetch$1$8$1"},
          ReorderStep{number(), ids()},
          SplitStep{number(), number(), 0, lengths(), rng.next_below(2) == 0},
          FollowSplitStep{number(), number(), number(), number()},
          FollowFusedSplitStep{number(), number(), ids(), number(), rng.next_below(2) == 0},
          StorageAlignStep{number(), number(), number(), number()},
          ComputeAtStep{number(), number(), number()},
          ComputeInlineStep{number()},
          ComputeRootStep{number()},
          CacheReadStep{number(), "local", ids()},
          CacheWriteStep{number(), "local"},
          RfactorStep{number(), number(), number()},
          StorageLayoutStep{number(), lengths(), ids(), number()}};
      const Step step = choices[rng.next_below(16)];
      const std::string before = state_text(state);
      if (const StepCheck error = try_apply(state, step)) {
        ++refused;
        CHECK(state_text(state) == before);
        CHECK(!explain(*error, state).empty());
      } else {
        ++applied;
        CHECK(state.steps().back() == step);
      }
      if (state.is_concrete() && i % 10 == 0) {
        const auto bounded = infer_bounds(state);
        CHECK((bounded || !explain(bounded.error(), state).empty()));
      }
    }
    CHECK(state_text(*replay(start, state.steps())) == state_text(state));
  }
  CHECK(applied > 200);
  CHECK(refused > 200);
}

}  // namespace
}  // namespace tensorsmith::test
