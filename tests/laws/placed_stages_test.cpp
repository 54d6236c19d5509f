// SPDX-License-Identifier: Apache-2.0
// Stages computed inside of tiles that go on behind the ends of their axes, several levels deep:
// eval(dag) == eval(lower(state)), nothing is read or written out of bounds or before it has a
// value.
#include "support/catch.hpp"
#include "support/full_count.hpp"
#include "support/gpu_programs.hpp"
#include "support/padded_chains.hpp"
#include "support/random_places.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"

using namespace tensorsmith;

namespace {

/// How many of `count` random chains at random places have a program; all of these are right.
std::uint32_t check_places(const Target& target, std::uint32_t count) {
  std::uint32_t num_checked = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    CounterRng rng(test::seed(), 5, number);
    const Shared<const ComputeDag> dag = test::PaddedChain(rng).make();
    const bool is_gpu = target.kind == TargetKind::cuda;
    const State state = test::RandomPlaces(rng, dag, is_gpu).make();
    INFO("seed " << test::seed() << ", number " << number << "\n" << state_text(state));
    const auto program = lower(state, target);
    if (!program) {
      const LowerErrorCode code = program.error().code;
      REQUIRE((code == LowerErrorCode::consumer_outside_attach_point ||
               (is_gpu && code == LowerErrorCode::illegal_binding)));
      continue;
    }
    INFO(to_text(*program));
    REQUIRE(test::KnownResults(*dag).wrong_with(*program) == "");
    ++num_checked;
  }
  return num_checked;
}

}  // namespace

TEST_CASE("stages at every place of padded chains, in tiles that do not divide: exact") {
  const std::uint32_t count = 16 + test::full_count(test::scaled(800), 2400);
  CHECK(check_places(*Target::from_name("znver4"), count) > count / 2);
}

TEST_CASE("the same in blocks and threads of a GPU: exact in every order, or refused", "[blocks]") {
  const std::uint32_t count = 16 + test::full_count(test::scaled(500), 1600);
  CHECK(check_places(test::gpu_target(), count) > count / 4);
}
