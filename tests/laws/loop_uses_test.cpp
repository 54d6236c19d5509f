// SPDX-License-Identifier: Apache-2.0
// What is counted by numbers alone is what the simplified expressions of the stores say.
#include "tensorsmith/feature/loop_uses.hpp"

#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn_states.hpp"
#include "support/gpu_programs.hpp"
#include "support/native_gpu_space.hpp"
#include "support/random_steps.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/psa_rows.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/print_state.hpp"

using namespace tensorsmith;

namespace {

struct Compared {
  std::uint32_t programs = 0, counted = 0;
};

std::vector<float> numbers_of(const std::vector<PsaRow>& rows) {
  std::vector<float> numbers(rows.size() * psa_tags.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    write_psa_row(std::span(numbers).subspan(r * psa_tags.size(), psa_tags.size()), rows[r]);
  }
  return numbers;
}

void compare(State state, Compared& compared) {
  if (try_infer_bounds(state)) {
    return;
  }
  const std::optional<StoreProgram> stores = build_store_program(state);
  if (!stores) {
    return;
  }
  ++compared.programs;
  if (const auto counted = counted_psa_rows(state)) {
    ++compared.counted;
    INFO(state_text(state));
    REQUIRE(numbers_of(*counted) == numbers_of(psa_rows(*stores)));
  }
}

}  // namespace

TEST_CASE("PSA counts of drawn GPU programs need no expressions", "[space]") {
  Compared compared;
  for (const DType type : {DType::f32, DType::f16, DType::i32}) {
    for (const test::SmallWorkload& workload : test::small_workloads(type)) {
      INFO(workload.name);
      const SearchSpace space = test::small_gpu_space(workload.dag);
      CounterRng rng(test::seed());
      for (std::uint32_t i = 0; i < test::scaled(150); ++i) {
        if (std::optional<State> state = test::draw_gpu_state(space, rng)) {
          compare(std::move(*state), compared);
        }
      }
    }
  }
  CHECK(compared.counted * 2 > compared.programs);
}

TEST_CASE("PSA counts of native programs, where there are some without expressions", "[space]") {
  Compared boards, processors;
  for (const test::SmallWorkload& workload : test::small_workloads(DType::f32)) {
    INFO(workload.name);
    const SearchSpace board = test::native_gpu_space(workload.dag, test::gpu_target(), 64, 4);
    const SearchSpace processor =
        test::small_native_space(workload.dag, Target::from_name("x86-64-v4").value());
    CounterRng rng(test::seed());
    for (std::uint32_t i = 0; i < test::scaled(60); ++i) {
      if (std::optional<Candidate> drawn = draw_candidate(board, NativeGpuPopulation{}, rng)) {
        compare(std::move(drawn->state), boards);
      }
      if (std::optional<State> drawn = test::draw_native_state(processor, rng)) {
        compare(std::move(*drawn), processors);
      }
    }
  }
  CHECK(boards.counted > 0);
  CHECK(processors.counted > 0);
}

TEST_CASE("PSA counts of random schedules with random bindings", "[space]") {
  const std::vector<test::SmallWorkload> workloads = test::small_workloads(DType::f32);
  CounterRng rng(test::seed());
  Compared serial, bound;
  for (std::uint32_t i = 0; i < test::scaled(6000); ++i) {
    const std::size_t w = rng.next_below(static_cast<std::uint32_t>(workloads.size()));
    INFO(workloads[w].name << ", seed " << test::seed() << ", number " << i);
    State state = test::random_state(rng, workloads[w].dag, 24);
    compare(state, serial);
    test::bind_at_random(rng, state);
    compare(std::move(state), bound);
  }
  CHECK(serial.counted * 2 > serial.programs);
  CHECK(bound.counted > 0);
}
