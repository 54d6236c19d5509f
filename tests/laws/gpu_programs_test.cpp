// SPDX-License-Identifier: Apache-2.0
// GPU programs: what the search draws and what is bound at random computes what the workload says,
// in every order of threads and without races; no barrier can be left out.
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/full_count.hpp"
#include "support/gpu_programs.hpp"
#include "support/native_gpu_space.hpp"
#include "support/random_steps.hpp"
#include "support/row_workloads.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"

using namespace tensorsmith;

namespace {

struct Checked {
  std::uint32_t programs = 0, refused = 0, with_barriers = 0, with_vectors = 0;
  std::uint32_t barriers = 0, found = 0, with_ahead = 0;
};

bool has_vector(const LoopProgram& program) {
  for (const Stmt& stmt : program.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && loop->kind == ForKind::vectorized) {
      return true;
    }
  }
  return false;
}

bool fetches_ahead(const LoopProgram& program) {
  return any_item(program.stmts, [](const Stmt& stmt) {
    const Store* store = std::get_if<Store>(&stmt);
    return store != nullptr && store->is_async;
  });
}

/// Takes the barriers out, one at a time: the interpreter must say so.
void take_barriers_out(LoopProgram program, const test::KnownResults& known, Checked& checked) {
  std::vector<StmtId> barriers;
  test::find_barriers(program, program.body, barriers);
  checked.with_barriers += barriers.empty() ? 0 : 1;
  for (StmtId id : barriers) {
    const Stmt barrier = std::exchange(program.stmts[id.value], Stmt(Seq{}));
    const std::string wrong = known.wrong_with(program, LoopOrder::forward);
    ++checked.barriers;
    checked.found += wrong.empty() ? 0 : 1;
    program.stmts[id.value] = barrier;
  }
}

void check(const State& state, const test::KnownResults& known, bool takes_barriers_out,
           Checked& checked) {
  INFO(state_text(state));
  const auto program = lower(state, test::gpu_target());
  if (!program) {
    const LowerErrorCode code = program.error().code;
    INFO(explain(program.error()));
    REQUIRE((code == LowerErrorCode::illegal_binding ||
             code == LowerErrorCode::consumer_outside_attach_point));
    ++checked.refused;
    return;
  }
  INFO(to_text(*program));
  REQUIRE(known.wrong_with(*program) == "");
  ++checked.programs;
  checked.with_vectors += has_vector(*program) ? 1 : 0;
  checked.with_ahead += fetches_ahead(*program) ? 1 : 0;
  if (takes_barriers_out) {
    take_barriers_out(*program, known, checked);
  }
}

Checked check_drawn(DType type, std::uint32_t per_workload, bool takes_barriers_out,
                    std::uint32_t round = 0) {
  Checked checked;
  for (const test::SmallWorkload& workload : test::small_workloads(type)) {
    INFO(workload.name);
    const SearchSpace space = test::small_gpu_space(workload.dag);
    const test::KnownResults known(*workload.dag);
    CounterRng rng(test::seed(), round);
    std::uint32_t drawn = 0;
    for (std::uint32_t i = 0; i < 60 * per_workload && drawn < per_workload; ++i) {
      if (const auto state = test::draw_gpu_state(space, rng)) {
        ++drawn;
        check(*state, known, takes_barriers_out, checked);
      }
    }
    CHECK(drawn > 0);
  }
  CHECK(checked.refused == 0);
  return checked;
}

/// Programs of the native space: buffers ahead, padded and exchanged rows, parts of sums.
void check_native(const Shared<const ComputeDag>& dag, const SearchSpace& space,
                  std::uint32_t count, bool takes_barriers_out, Checked& checked) {
  const test::KnownResults known(*dag);
  CounterRng rng(test::seed());
  std::uint32_t drawn = 0;
  for (std::uint32_t i = 0; i < 60 * count && drawn < count; ++i) {
    std::optional<Candidate> candidate = draw_candidate(space, NativeGpuPopulation{}, rng);
    for (std::uint32_t n = rng.next_below(4); candidate && n > 0; --n) {
      if (auto mutant = NativeGpuMutators{}.mutate(space, *candidate, rng)) {
        candidate = std::move(mutant);
      }
    }
    if (candidate) {
      ++drawn;
      check(candidate->state, known, takes_barriers_out, checked);
    }
  }
  CHECK(drawn > 0);
}

}  // namespace

TEST_CASE("programs that the GPU search draws: right in every order of threads, no races",
          "[blocks]") {
  std::uint32_t with_vectors = 0;
  for (std::uint32_t round = 0; test::goes_on(round, 1, with_vectors == 0); ++round) {
    with_vectors += check_drawn(DType::i32, test::scaled(40), false, round).with_vectors;
  }
  CHECK(with_vectors > 0);
  check_drawn(DType::f32, test::scaled(10), false);
}

TEST_CASE("programs of the native GPU space: right, no races, and no barrier too many",
          "[blocks]") {
  Checked checked;
  for (const test::SmallWorkload& workload : test::small_workloads(DType::i32)) {
    INFO(workload.name);
    check_native(workload.dag, test::native_gpu_space(workload.dag, test::gpu_target(), 64, 4),
                 test::scaled(8), true, checked);
  }
  for (const auto& [name, dag] : test::tensor_core_workloads()) {
    INFO(name);
    check_native(dag, test::native_gpu_space(dag, test::gpu_target(), 256), 1, false, checked);
  }
  auto odd = test::odd_tensor_core_workloads();
  odd.resize(test::scaled(static_cast<std::uint32_t>(odd.size())));
  for (const auto& [name, dag] : odd) {
    INFO(name);
    check_native(dag, test::native_gpu_space(dag, test::gpu_target(), 256), test::scaled(2), false,
                 checked);
  }
  for (const char* workload : test::long_sums) {
    INFO(workload);
    const auto dag = ops::parse_workload(workload)->dag;
    check_native(dag, test::native_gpu_space(dag, test::gpu_target(), 64, 4), test::scaled(6), true,
                 checked);
  }
  CHECK(checked.refused == 0);
  CHECK(checked.with_ahead > 0);
  CHECK(checked.found == checked.barriers);
}

TEST_CASE("rows of a block, threads of a row, vectors of a thread: right, no races", "[blocks]") {
  Checked checked;
  for (const auto& [name, dag] : test::row_workloads()) {
    INFO(name);
    check_native(dag, test::native_gpu_space(dag, test::gpu_target(), 64, 4), test::scaled(24),
                 true, checked);
  }
  CHECK(checked.refused == 0);
  CHECK(checked.with_vectors > 0);
  CHECK(checked.found == checked.barriers);
}

TEST_CASE("every barrier of a drawn program is missed when it is taken out", "[blocks]") {
  const Checked checked = check_drawn(DType::i32, test::scaled(12), true);
  CHECK(checked.with_barriers > checked.programs / 3);
  CHECK(checked.found == checked.barriers);
}

TEST_CASE("random schedules with random bindings: right in every order of threads, or refused",
          "[blocks]") {
  const std::vector<test::SmallWorkload> workloads = test::small_workloads(DType::i32);
  std::vector<test::KnownResults> known;
  for (const test::SmallWorkload& workload : workloads) {
    known.emplace_back(*workload.dag);
  }
  CounterRng rng(test::seed());
  Checked checked;
  const std::uint32_t count = test::full_count(test::scaled(750), 1500);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t w = rng.next_below(static_cast<std::uint32_t>(workloads.size()));
    INFO(workloads[w].name << ", seed " << test::seed() << ", number " << i);
    State state = test::random_state(rng, workloads[w].dag, 12);
    test::bind_at_random(rng, state);
    check(state, known[w], false, checked);
  }
  CHECK(checked.programs > count / 2);
}
