// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/prepack.hpp"

#include "tensorsmith/sched/prepared.hpp"
#include "unit/lower/lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

using Names = std::vector<std::string>;

/// C = A * B in i32; the inputs in `constants` do not change.
DagPtr product_dag(const Names& constants) {
  te::Program p;
  auto a = p.placeholder("A", {6, 4}, DType::i32), b = p.placeholder("B", {4, 16}, DType::i32);
  auto k = p.reduce_axis("k", 4);
  te::ComputeOptions options;
  options.attrs.layout_free_placeholders = constants;
  auto c = p.compute(
      "C", {6, 16}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); }, options);
  return p.dag({a, b, c});
}

/// With B copied into panels of 8 columns at root: stages 0 A, 1 B, 2 B.packed, 3 C.
State packed_product(const Names& constants) {
  State state = State::initial(product_dag(constants));
  REQUIRE(!try_apply(state, CacheReadStep{1, "packed", {2}}));
  REQUIRE(!try_apply(state, StorageLayoutStep{2, {0, 8}, {2, 0, 3}, 0}));
  return state;
}

Names names(const LoopProgram& program) {
  Names found;
  for (BufferId id : program.arguments) {
    found.push_back(program[id].name);
  }
  return found;
}

KernelPrograms split(const State& state) {
  auto programs = lower_kernel(state, small_target());
  REQUIRE(programs);
  CHECK(is_valid(verify(programs->main)));
  if (programs->prepack) {
    CHECK(is_valid(verify(*programs->prepack)));
  }
  return std::move(programs).value();
}

}  // namespace

TEST_CASE("what depends on constants alone becomes a function of its own") {
  const State state = packed_product({"B"});
  CHECK(prepared_stages(state) == std::vector<bool>{false, true, true, false});
  const KernelPrograms programs = split(state);
  REQUIRE(programs.prepack);
  CHECK(names(*programs.prepack) == Names{"B", "B.packed"});
  CHECK(names(programs.main) == Names{"A", "B.packed", "C"});

  const std::vector<HostArray> inputs = whole_number_inputs(*state.initial_dag());
  std::vector<HostArray> packing = {inputs[1], HostArray(DType::i32, {2, 4, 8})};
  EvalOptions second;
  second.is_output = {false, true};
  REQUIRE(eval(*programs.prepack, packing, second));
  for (std::int64_t panel = 0; panel < 2; ++panel) {
    for (std::int64_t k = 0; k < 4; ++k) {
      for (std::int64_t j = 0; j < 8; ++j) {
        CHECK(packing[1].get_int((panel * 4 + k) * 8 + j) ==
              inputs[1].get_int(k * 16 + panel * 8 + j));
      }
    }
  }
  std::vector<HostArray> running = {inputs[0], packing[1], HostArray(DType::i32, {6, 16})};
  EvalOptions third;
  third.is_output = {false, false, true};
  REQUIRE(eval(programs.main, running, third));
  const auto expected = eval_dag(*state.initial_dag(), inputs);
  REQUIRE(expected);
  const bool is_right = running[2] == (*expected)[0];
  CHECK(is_right);
}

TEST_CASE("without constants, or if another input is one, the program stays whole") {
  for (const Names& constants : {Names{}, Names{"A"}}) {
    const State state = packed_product(constants);
    CHECK_FALSE(prepared_stages(state)[2]);
    const KernelPrograms programs = split(state);
    CHECK_FALSE(programs.prepack);
    CHECK(names(programs.main) == Names{"A", "B", "C"});
    CHECK(wrong_with(programs.main, *state.initial_dag()) == "");
  }
}

TEST_CASE("a copy inside of the loops of its reader is made in every call") {
  State state = packed_product({"B"});
  REQUIRE(!try_apply(state, ComputeAtStep{2, 3, 0}));
  CHECK_FALSE(prepared_stages(state)[2]);
  CHECK_FALSE(split(state).prepack);
}

TEST_CASE("an output is computed in every call, even from constants") {
  te::Program p;
  auto w = p.placeholder("W", {8}, DType::i32);
  te::ComputeOptions options;
  options.attrs.layout_free_placeholders = {"W"};
  auto y = p.compute(
      "Y", {8}, [&](auto i) { return w(i) * 2; }, options);
  const State state = State::initial(p.dag({w, y}));
  CHECK(prepared_stages(state) == std::vector<bool>{true, false});
  CHECK_FALSE(split(state).prepack);
}

TEST_CASE("stages that follow from constants move together; a constant may stay an argument too") {
  te::Program p;  // Y = (W + 1) * 2 + X + W
  auto x = p.placeholder("X", {8}, DType::i32), w = p.placeholder("W", {8}, DType::i32);
  auto one = p.compute("one", {8}, [&](auto i) { return w(i) + 1; });
  auto two = p.compute("two", {8}, [&](auto i) { return one(i) * 2; });
  te::ComputeOptions options;
  options.attrs.layout_free_placeholders = {"W"};
  auto y = p.compute(
      "Y", {8}, [&](auto i) { return two(i) + x(i) + w(i); }, options);
  const State state = State::initial(p.dag({x, w, y}));
  const KernelPrograms programs = split(state);
  REQUIRE(programs.prepack);
  CHECK(names(*programs.prepack) == Names{"W", "two"});  // `one` is nobody else's business
  CHECK(names(programs.main) == Names{"X", "W", "two", "Y"});
}
