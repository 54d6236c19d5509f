// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The oracle chain: eval(dag) == eval(lower(state)) == compiled code, on random legal schedules and
// wherever the operands lie.
#include "tensorsmith/lower/prepack.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn_states.hpp"
#include "support/exact_inputs.hpp"
#include "support/full_count.hpp"
#include "support/placed_kernel.hpp"
#include "support/random_steps.hpp"
#include "support/random_tiles.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using test::run_kernel;

namespace {

/// Of a long series: a quarter of it in a usual run, a sixteenth without optimisation.
std::uint32_t part_of(std::uint32_t all) {
  return test::full_count(std::min(test::scaled(all), all / 4), all);
}

struct Outcome {
  std::uint32_t checked = 0, refused = 0, split = 0, with_intrinsic = 0;
};

/// Shares of what a series draws.
struct Least {
  double packed = 0.1, rows = 0, intrinsics = 0;
};

/// The arrays of a program's arguments: the workload's, or buffers of the program's own.
/// `is_memory`: these with the padding between their rows.
std::vector<HostArray> arrays_for(const LoopProgram& program,
                                  const std::vector<std::pair<BufferId, HostArray>>& known,
                                  bool is_memory) {
  std::vector<HostArray> arrays;
  for (BufferId id : program.arguments) {
    const Buffer& buffer = program[id];
    HostArray array(buffer.dtype, {buffer.shape.begin(), buffer.shape.end()});
    if (is_memory) {
      array = HostArray(buffer.dtype, {buffer.num_elements()});
    }
    for (const auto& [other, value] : known) {
      array = other == id ? value : array;
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

/// Any of the inputs constant: prepack, then the rest, is the whole program. Whether it was two.
bool check_split(const LoopProgram& program, const std::vector<HostArray>& arguments,
                 const HostArray& expected, LlvmCompiler* compiler, CounterRng& rng) {
  std::vector<bool> is_constant(arguments.size(), false);
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    is_constant[i] = rng.next_below(2) == 0;
  }
  const KernelPrograms programs = split_prepack(program, is_constant);
  if (!programs.prepack) {
    return false;
  }
  const auto run = [&](const LoopProgram& part, std::vector<HostArray> arrays) {
    REQUIRE(is_valid(verify(part)));
    if (compiler == nullptr) {
      REQUIRE(eval(part, arrays));
      return arrays;
    }
    const auto object = compiler->compile(part);
    REQUIRE(object);
    const auto kernel = JitKernel::load(*object);
    REQUIRE(kernel);
    return run_kernel(*kernel, object->workspace_bytes(1), std::move(arrays));
  };
  std::vector<std::pair<BufferId, HostArray>> known;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    known.emplace_back(programs.arguments[i], arguments[i]);
  }
  const std::vector<HostArray> packed =
      run(*programs.prepack, arrays_for(*programs.prepack, known, compiler != nullptr));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    known.emplace_back(programs.prepack->arguments[i], packed[i]);
  }
  const std::vector<HostArray> ran =
      run(programs.main, arrays_for(programs.main, known, compiler != nullptr));
  const bool is_split_right = ran.back().data == expected.data;
  REQUIRE(is_split_right);
  return true;
}

/// `make_state(rng, dag)` -> State, or nothing to skip the number. With machine code: `target` is
/// this machine.
template <class MakeState>
Outcome check_schedules(const std::vector<test::SmallWorkload>& workloads, const Target& target,
                        std::uint32_t stream, std::uint32_t count, bool with_machine_code,
                        const MakeState& make_state, Outcome outcome = {}) {
  const Target& host = target;
  LlvmCompiler compiler(host);
  for (std::uint32_t number = 0; number < count; ++number) {
    const auto& workload = workloads[number % workloads.size()];
    CounterRng rng(test::seed(), stream, number);
    const std::optional<State> made = make_state(rng, workload.dag);
    if (!made) {
      continue;
    }
    const State& state = *made;
    INFO(workload.name << ", seed " << test::seed() << ", number " << number << "\n"
                       << state_text(state));
    const auto program = lower(state, host);
    if (!program) {
      REQUIRE(program.error().code == LowerErrorCode::consumer_outside_attach_point);
      ++outcome.refused;
      continue;
    }
    const test::ExactInputs inputs = test::exact_inputs(*workload.dag, rng);
    const auto expected = eval_dag(*workload.dag, inputs.inputs);
    REQUIRE(expected);
    EvalOptions options;
    options.is_output.assign(inputs.all.size(), false);
    options.is_output.back() = true;
    auto interpreted = inputs.all;
    INFO(to_text(*program));
    const auto evaluated = eval(*program, interpreted, options);
    REQUIRE(evaluated);
    const bool is_interpreted_right = interpreted.back().data == expected->back().data;
    REQUIRE(is_interpreted_right);
    ++outcome.checked;
    for (const Stmt& stmt : program->stmts) {
      const For* loop = std::get_if<For>(&stmt);
      if (loop != nullptr && loop->intrinsic != nullptr) {
        ++outcome.with_intrinsic;
        break;
      }
    }
    outcome.split += check_split(*program, inputs.all, expected->back(),
                                 with_machine_code ? &compiler : nullptr, rng)
                         ? 1
                         : 0;
    if (!with_machine_code) {
      continue;
    }
    const auto object = compiler.compile(*program);
    REQUIRE(object);
    const auto kernel = JitKernel::load(*object);
    REQUIRE(kernel);
    const auto ran = run_kernel(*kernel, object->workspace_bytes(1), inputs.all);
    for (std::size_t i = 0; i < ran.size(); ++i) {
      const bool is_compiled_right = ran[i].data == interpreted[i].data;
      REQUIRE(is_compiled_right);
    }
  }
  return outcome;
}

template <class MakeState>
Outcome check_schedules(DType type, std::uint32_t count, bool with_machine_code,
                        const MakeState& make_state) {
  return check_schedules(test::small_workloads(type), host_target(), type == DType::i32 ? 1 : 2,
                         count, with_machine_code, make_state);
}

Outcome check_random_schedules(DType type, std::uint32_t count, bool with_machine_code) {
  return check_schedules(type, count, with_machine_code,
                         [](CounterRng& rng, const Shared<const ComputeDag>& dag) {
                           return std::optional<State>(test::random_state(rng, dag, 16));
                         });
}

/// Tiles of convolutions whose padding is inlined, and those that keep a condition in the tile.
struct PaddedTiles {
  std::uint32_t all = 0, guarded = 0;
};

Outcome check_padded_tiles(DType type, std::uint32_t count, bool with_machine_code,
                           PaddedTiles& tiles) {
  return check_schedules(
      type, count, with_machine_code,
      [&](CounterRng& rng, const Shared<const ComputeDag>& dag) -> std::optional<State> {
        State state = State::initial(dag);
        const bool is_padded = state.num_stages() == 4 && state.operation(1).name == "P";
        if (!is_padded || !test::tile_at_random(rng, state, "P")) {
          return std::nullopt;
        }
        const auto program = lower(state, host_target());
        REQUIRE(program);
        ++tiles.all;
        tiles.guarded += to_text(*program).find("if_then_else") != std::string::npos ? 1 : 0;
        return state;
      });
}

bool has_packs(const State& state) { return !PackedCopies(state.steps()).empty(); }

bool has_padded_rows(const State& state) {
  return any_item(storage_layouts(state), [](const StorageLayoutStep* layout) {
    return layout != nullptr && layout->pad_elements > 0;
  });
}

/// Programs as the search draws them, a few mutations on; every operand may be packed.
void check_drawn_programs(const std::vector<test::SmallWorkload>& workloads, const Target& target,
                          std::uint32_t count, bool with_machine_code, const Least& least = {}) {
  std::map<const ComputeDag*, SearchSpace> spaces;
  std::uint32_t num_drawn = 0, num_packed = 0, num_rows = 0;
  Outcome outcome;
  const auto draw = [&](CounterRng& rng,
                        const Shared<const ComputeDag>& dag) -> std::optional<State> {
    auto found = spaces.find(dag.get());
    if (found == spaces.end()) {
      found = spaces.emplace(dag.get(), test::small_native_space(dag, target)).first;
    }
    std::optional<State> state = test::draw_native_state(found->second, rng);
    if (!state) {
      return std::nullopt;
    }
    num_packed += has_packs(*state) ? 1 : 0;
    num_rows += has_padded_rows(*state) ? 1 : 0;
    return state;
  };
  const auto lacks = [&] {
    return num_packed < num_drawn * least.packed || num_rows < num_drawn * least.rows ||
           (least.intrinsics > 0 && outcome.with_intrinsic <= num_drawn * least.intrinsics) ||
           outcome.split <= num_drawn * 0.02 || outcome.checked <= num_drawn * 0.6;
  };
  for (std::uint32_t round = 0; test::goes_on(round, 1, lacks()); ++round) {
    outcome = check_schedules(workloads, target, 1 + 100 * round, count, with_machine_code, draw,
                              outcome);
    num_drawn += count;
  }
  CAPTURE(num_drawn, num_packed, num_rows, outcome.with_intrinsic, outcome.split, outcome.checked);
  CHECK_FALSE(lacks());
}

}  // namespace

// Attach points that do not cover a reader are refused: few.
TEST_CASE("oracle chain on integers: dag, loop program and machine code agree exactly") {
  const std::uint32_t count = part_of(1400);
  CHECK(check_random_schedules(DType::i32, count, true).checked > count * 0.85);
}

TEST_CASE("oracle chain on floats that are whole numbers: exact as well") {
  const std::uint32_t count = part_of(1400);
  CHECK(check_random_schedules(DType::f32, count, true).checked > count * 0.85);
}

TEST_CASE("oracle chain without machine code, many more schedules") {
  const std::uint32_t count = part_of(8000);
  CHECK(check_random_schedules(DType::i32, count, false).checked > count * 0.85);
}

TEST_CASE("oracle chain on programs that the search draws: all of them are exact") {
  const std::uint32_t many = part_of(4000), few = part_of(600);
  const auto workloads = test::with_pooled_convolutions(test::small_workloads(DType::i32));
  check_drawn_programs(workloads, host_target(), many, false);
  check_drawn_programs(workloads, host_target(), few, true);
}

// Whole numbers: bf16 holds them, and their sums are exact in f32 in any order.
TEST_CASE("oracle chain on tensor intrinsics: exact for integers and whole numbers") {
  const std::uint32_t many = part_of(1500), few = part_of(600);
  const auto workloads = test::small_tensor_workloads();
  const Target target = *Target::from_name("znver4");  // has all of them
  check_drawn_programs(workloads, target, many, false, {.intrinsics = 0.4});
  check_drawn_programs(workloads, host_target(), few, true);
  check_drawn_programs(test::narrow_products(workloads), *runnable_target("x86-64-v3"), few, true);
}

TEST_CASE("oracle chain on packed copies that keep rows: exact") {
  te::Program p;
  auto a = p.placeholder("A", {13, 39}, DType::i32), b = p.placeholder("B", {39, 21}, DType::i32);
  auto k = p.reduce_axis("k", 39);
  auto c =
      p.compute("C", {13, 21}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  const std::vector<test::SmallWorkload> workloads = {{"matmul 13x21x39", p.dag({a, b, c})}};
  check_drawn_programs(workloads, host_target(), part_of(600), false, {.rows = 0.02});
  check_drawn_programs(workloads, host_target(), part_of(300), true);
}

TEST_CASE("oracle chain on Winograd's tiles, quarters included, and on patches: exact") {
  std::vector<test::SmallWorkload> workloads;
  for (const char* text : {"conv2d:n=1,h=6,w=5,ci=5,co=20,k=3,p=1,winograd=2,layout=free",
                           "conv2d:n=2,h=5,w=7,ci=18,co=3,k=3,winograd=2,bias,relu",
                           "conv2d:n=1,h=5,w=7,ci=6,co=20,k=3,s=2,p=1,layout=nchw",
                           "conv2d:n=1,h=7,w=6,ci=18,co=16,k=2x3,p=1,d=2,bias,relu"}) {
    workloads.push_back({text, ops::parse_workload(text)->dag});
  }
  check_drawn_programs(workloads, host_target(), part_of(320), false, {.packed = 0});
  check_drawn_programs(workloads, host_target(), part_of(128), true, {.packed = 0});
}

TEST_CASE("oracle chain on convolutions that leave padding out: all of them are exact") {
  const std::uint32_t many = part_of(6000), few = part_of(1200);
  PaddedTiles tiles;
  CHECK(check_padded_tiles(DType::i32, many, false, tiles).checked > many * 0.2);
  CHECK(check_padded_tiles(DType::f32, few, true, tiles).checked > few * 0.2);
  INFO(tiles.guarded << " of " << tiles.all);
  CHECK(tiles.guarded < tiles.all * 0.4);
}
