// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/population/draw_stream_k.hpp"

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/lower/lower.hpp"

namespace tensorsmith {
namespace {

std::size_t num_stream_k(const State& state) {
  return steps_where<PragmaStep>(
             state.steps(),
             [](std::size_t, const PragmaStep& step) { return step.hint.is<hints::StreamK>(); })
      .size();
}

}  // namespace

TEST_CASE("how many of the slots of a board tiles fill") {
  CHECK(detail::wave_fill(108, 108) == 1);
  CHECK(detail::wave_fill(109, 108) == 109.0 / 216);
  CHECK(detail::wave_fill(54, 108) == 0.5);
}

TEST_CASE("sums are shared out only on a board, where tiles leave it a bad last wave") {
  const auto dag = ops::parse_workload("gemm:1408x1408x1024:f32")->dag;
  const Target a100 = Target::from_name("sim:a100").value();
  const SearchSpace of_board = test::native_gpu_space(dag, a100);
  const SearchSpace of_class = test::native_gpu_space(dag, Target::cuda(80).value());
  CHECK_FALSE(of_class.options().gpu.has_value());
  int num_shared = 0, num_plain = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    CounterRng rng(1, 0, 0, i), same(1, 0, 0, i);
    if (const auto drawn = draw_candidate(of_class, NativeGpuPopulation{}, same)) {
      CHECK(num_stream_k(drawn->state) == 0);
    }
    const auto drawn = draw_candidate(of_board, NativeGpuPopulation{}, rng);
    const std::size_t count = drawn ? num_stream_k(drawn->state) : 0;
    (count > 0 ? num_shared : num_plain) += drawn ? 1 : 0;
    CHECK(count <= 1);
    if (count == 0) {
      continue;
    }
    const auto choices = detail::stream_k_choices(drawn->state, of_board.options());
    REQUIRE(!choices.empty());
    const PragmaStep* step = std::get_if<PragmaStep>(&drawn->state.steps().back());
    REQUIRE(step != nullptr);
    CHECK(has_item(choices, *step));
    // There and back by mutations.
    const auto plain = MutateStreamK{}.mutate(of_board, *drawn, rng);
    REQUIRE(plain.has_value());
    CHECK(num_stream_k(plain->state) == 0);
    const auto again = MutateStreamK{}.mutate(of_board, *plain, rng);
    REQUIRE(again.has_value());
    CHECK(num_stream_k(again->state) == 1);
  }
  CHECK(num_shared > 5);
  CHECK(num_plain > 5);
}

TEST_CASE("on a simulated board shared sums help half of the programs with a bad last wave") {
  const auto dag = ops::parse_workload("gemm:1408x1408x4096:f32")->dag;
  const Target a100 = Target::from_name("sim:a100").value();
  const SearchSpace space = test::native_gpu_space(dag, a100);
  int pairs = 0, faster = 0;
  double best = 0, best_plain = 0;
  for (std::uint32_t i = 0; i < 400 && pairs < 20; ++i) {
    CounterRng rng(2, 0, 0, i);
    const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
    const auto plain = drawn && num_stream_k(drawn->state) > 0
                           ? MutateStreamK{}.mutate(space, *drawn, rng)
                           : std::nullopt;
    if (!plain) {
      continue;
    }
    const auto shared = lower(drawn->state, a100), alone = lower(plain->state, a100);
    REQUIRE(shared.has_value());
    REQUIRE(alone.has_value());
    const auto time = gpu_latency(*shared, a100), time_alone = gpu_latency(*alone, a100);
    if (!time || !time_alone || time->kernels.size() != 2) {
      continue;
    }
    ++pairs;
    faster += time->ns < time_alone->ns ? 1 : 0;
    best = pairs == 1 ? time->ns : smaller_of(best, time->ns);
    best_plain = pairs == 1 ? time_alone->ns : smaller_of(best_plain, time_alone->ns);
  }
  CHECK(pairs == 20);
  CHECK(2 * faster >= pairs);
  CHECK(best < best_plain);
}

}  // namespace tensorsmith
