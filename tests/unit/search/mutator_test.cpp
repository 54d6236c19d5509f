// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/evolution/weighted_mutators.hpp"

#include <set>

#include "support/catch.hpp"
#include "tensorsmith/search/evolution/crossover.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

/// Applies `mutator` to many programs; returns how many children there were. Each child is a legal,
/// complete program whose history rebuilds it.
template <class M>
int count_children(const SearchSpace& space, const M& mutator) {
  int children = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const Candidate parent = test::sample_of(space, i);
    CounterRng rng(9, 0, 0, i);
    const std::optional<Candidate> child = mutator.mutate(space, parent, rng);
    if (!child) {
      continue;
    }
    ++children;
    CHECK(child->state.is_concrete());
    CHECK(child->sketch == parent.sketch);
    CHECK(child->state.steps().size() == parent.state.steps().size());
    CHECK_FALSE(child->state.steps() == parent.state.steps());
    const auto again = space.build(child->state.steps(), child->sketch);
    REQUIRE(again);
    CHECK(state_text(again->state) == state_text(child->state));
  }
  return children;
}

}  // namespace

TEST_CASE("tile size: the product of all levels stays, one factor moves") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 48, 32));
  CHECK(count_children(space, MutateTileSize{}) > 50);
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Candidate parent = test::sample_of(space, i);
    CounterRng rng(11, 0, 0, i);
    const auto child = MutateTileSize{}.mutate(space, parent, rng);
    if (!child) {
      continue;
    }
    int changed = 0;
    for (std::size_t s = 0; s < parent.state.steps().size(); ++s) {
      changed += parent.state.steps()[s] == child->state.steps()[s] ? 0 : 1;
      if (const SplitStep* split = std::get_if<SplitStep>(&child->state.steps()[s])) {
        std::int64_t product = 1;
        for (std::int64_t length : split->lengths) {
          product *= length;
        }
        CHECK(split->extent % product == 0);
        CHECK(split->lengths.back() <= 64);
      }
    }
    CHECK(changed == 1);
  }
}

TEST_CASE("auto unroll draws another limit") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64));
  CHECK(count_children(space, MutateAutoUnroll{}) == 60);
}

TEST_CASE(
    "auto unroll draws the steps of a reduction where the space has them, and takes them back") {
  SpaceOptions options;
  options.reduction_unrolls = {2, 4};
  const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64), 4, options);
  CounterRng rng(3);
  int written_out = 0, taken_back = 0;
  std::optional<Candidate> program = draw_candidate(space, NativeCpuPopulation{}, rng);
  REQUIRE(program);
  for (int i = 0; i < 60; ++i) {
    const std::optional<Candidate> child = MutateAutoUnroll{}.mutate(space, *program, rng);
    REQUIRE(child);
    const auto count_of = [](const Candidate& one) {
      std::int32_t most = 0;
      for (std::size_t s = 0; s < one.state.num_stages(); ++s) {
        most = std::max(most, one.state.stage(s).hints.get<hints::UnrollReduction>().steps);
      }
      return most;
    };
    written_out += count_of(*child) > 0 ? 1 : 0;
    taken_back += count_of(*child) == 0 && count_of(*program) > 0 ? 1 : 0;
    program = child;
  }
  CHECK(written_out > 10);
  CHECK(taken_back > 0);
}

TEST_CASE("auto unroll draws the rows of reductions along rows where the space has them") {
  SpaceOptions options;
  options.row_blocks = {2, 4};
  const SearchSpace space = test::space_of(test::row_sum_dag(64, 48), 4, options);
  CounterRng rng(3);
  std::optional<Candidate> program = draw_candidate(space, NativeCpuPopulation{}, rng);
  REQUIRE(program);
  std::set<std::int32_t> drawn;
  int taken_back = 0;
  for (int i = 0; i < 60; ++i) {
    std::optional<Candidate> child = MutateAutoUnroll{}.mutate(space, *program, rng);
    if (!child) {
      continue;
    }
    std::int32_t before = 0, after = 0;
    std::set<std::int32_t> stages;
    for (std::size_t s = 0; s < child->state.num_stages(); ++s) {
      before = std::max(before, program->state.stage(s).hints.get<hints::RowBlock>().rows);
      after = std::max(after, child->state.stage(s).hints.get<hints::RowBlock>().rows);
    }
    for (const Step& step : child->state.steps()) {
      if (has_hint<hints::RowBlock>(step)) {
        CHECK(stages.insert(stage_of(step)).second);
      }
    }
    drawn.insert(after);
    taken_back += after == 0 && before > 0 ? 1 : 0;
    program = std::move(child);
  }
  CHECK(drawn == std::set<std::int32_t>{0, 2, 4});
  CHECK(taken_back > 0);
}

TEST_CASE("compute location moves an attached stage") {
  const SearchSpace space = test::space_of(test::row_sum_dag(64, 48));
  CHECK(count_children(space, MutateComputeLocation{}) >= 0);
  int moved = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Candidate parent = test::sample_of(space, i);
    CounterRng rng(13, 0, 0, i);
    moved += MutateComputeLocation{}.mutate(space, parent, rng) ? 1 : 0;
  }
  CHECK(moved > 0);
}

TEST_CASE("parallel fuses another number of loops") {
  const SearchSpace space = test::space_of(test::matmul_dag(256, 256, 64));
  CHECK(count_children(space, MutateParallel{}) > 5);
}

TEST_CASE("mutations that find nothing to change say so") {
  const SearchSpace space = test::space_of(test::matmul_dag(8, 8, 8));
  Candidate bare{space.initial(), Candidate::no_sketch, nullptr};
  REQUIRE(space.refresh(bare));
  CounterRng rng(1);
  CHECK_FALSE(MutateTileSize{}.mutate(space, bare, rng));
  CHECK_FALSE(MutateAutoUnroll{}.mutate(space, bare, rng));
  CHECK_FALSE(MutateComputeLocation{}.mutate(space, bare, rng));
  CHECK_FALSE(MutateParallel{}.mutate(space, bare, rng));
}

TEST_CASE("crossover takes whole splits from parents of one sketch") {
  const SearchSpace space = test::space_of(test::matmul_dag(128, 128, 128));
  int children = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    const Candidate a = test::sample_of(space, i), b = test::sample_of(space, i + 1000);
    CounterRng rng(17, 0, 0, i);
    const auto child = Crossover{}.cross(space, a, b, rng);
    if (a.sketch != b.sketch) {
      CHECK_FALSE(child);
      continue;
    }
    if (!child) {
      continue;
    }
    ++children;
    bool took_from_b = false;
    for (std::size_t s = 0; s < a.state.steps().size(); ++s) {
      const SplitStep* mine = std::get_if<SplitStep>(&child->state.steps()[s]);
      if (mine != nullptr && !(child->state.steps()[s] == a.state.steps()[s])) {
        CHECK(child->state.steps()[s] == b.state.steps()[s]);
        took_from_b = true;
      }
    }
    CHECK(took_from_b);
  }
  CHECK(children > 10);
}

TEST_CASE("crossover of a program with itself gives nothing") {
  const SearchSpace space = test::space_of(test::matmul_dag(128, 128, 128));
  const Candidate a = test::sample_of(space, 1);
  CounterRng rng(1);
  CHECK_FALSE(Crossover{}.cross(space, a, a, rng));
}

}  // namespace tensorsmith
