// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/derived_dags.hpp"

#include <thread>

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/sched/replay.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("equal stage-adding steps share one derived dag") {
  const State start = State::initial(matmul_dag(8, 8, 64));
  const auto once = apply_step(start, CacheWriteStep{2, "local"});
  const auto again = apply_step(start.restart(), CacheWriteStep{2, "local"});
  REQUIRE(once);
  REQUIRE(again);
  CHECK(once->dag_ptr() == again->dag_ptr());
  CHECK(start.dag_node()->num_children() == 1);
  const auto other = apply_step(start, CacheWriteStep{2, "shared"});
  REQUIRE(other);
  CHECK(other->dag_ptr() != once->dag_ptr());
  CHECK(start.dag_node()->num_children() == 2);
}

TEST_CASE("rfactor dags are told apart by their split") {
  const State start = State::initial(matmul_dag(8, 8, 64));
  const auto with_factor = [&](std::int64_t factor, std::int64_t extent) {
    return *replay(start, {SplitStep{2, 2, extent, {factor}, true}, RfactorStep{2, 2, 2}});
  };
  CHECK(with_factor(4, 64).dag_ptr() == with_factor(4, 64).dag_ptr());
  CHECK(with_factor(4, 64).dag_ptr() != with_factor(8, 64).dag_ptr());
  CHECK(with_factor(8, 64).operation(2).axes[2].extent == 8);
}

TEST_CASE("steps that add no stage keep the dag") {
  const State start = State::initial(chain_dag());
  const auto after = replay(start, {SplitStep{2, 0, 16, {4}, true}, ComputeInlineStep{1}});
  REQUIRE(after);
  CHECK(after->dag_ptr() == start.dag_ptr());
  CHECK(start.dag_node()->num_children() == 0);
}

TEST_CASE("threads that derive the same dags at once agree", "[threads]") {
  const State start = State::initial(matmul_dag(8, 8, 64));
  constexpr std::size_t num_threads = 4, num_scopes = 8;
  std::vector<std::vector<const ComputeDag*>> dags(num_threads);
  std::vector<std::vector<State>> kept(num_threads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < num_threads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 50; ++round) {
        for (std::size_t s = 0; s < num_scopes; ++s) {
          State state = start;
          const bool failed =
              try_apply(state, CacheWriteStep{2, "scope" + std::to_string(s)}).has_value() ||
              try_apply(state, SplitStep{3, 0, 8, {2}, true}).has_value();
          if (!failed && round == 49) {
            dags[t].push_back(state.dag_ptr().get());
            kept[t].push_back(std::move(state));
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const auto& list : dags) {
    CHECK(list.size() == num_scopes);
    CHECK(list == dags[0]);
  }
  CHECK(start.dag_node()->num_children() == num_scopes);
}

TEST_CASE("threads that change copies of one state do not see each other", "[threads]") {
  const State start = State::initial(chain_dag());
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    threads.emplace_back([&, t, copy = start]() mutable {
      for (std::int64_t length = 1; length <= 200; ++length) {
        State mine = copy;
        if (!try_apply(mine, SplitStep{2, 0, 16, {length}, true})) {
          texts[t] += state_text(mine);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(!texts[0].empty());
  for (const std::string& text : texts) {
    CHECK(text == texts[0]);
  }
}
