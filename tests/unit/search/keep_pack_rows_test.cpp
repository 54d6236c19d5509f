// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/population/keep_pack_rows.hpp"

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/search/evolution/mutate_auto_unroll.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

/// C[i, j] = sum over k of A[i, k] * B[k, j]. `is_constant`: A is packed once.
Shared<const ComputeDag> product_dag(std::int64_t m, std::int64_t n, std::int64_t length,
                                     bool is_constant = false) {
  te::Program p;
  auto a = p.placeholder("A", {m, length}, DType::i32);
  auto b = p.placeholder("B", {length, n}, DType::i32);
  auto k = p.reduce_axis("k", length);
  te::ComputeOptions options;
  if (is_constant) {
    options.attrs.layout_free_placeholders = {"A"};
  }
  auto c = p.compute(
      "C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); }, options);
  return p.dag({a, b, c});
}

SearchSpace space_of_copies(const Shared<const ComputeDag>& dag, bool keeps_rows = true) {
  SketchOptions options;
  options.hardware.num_cores = 2;
  options.core_cache_bytes = 0;
  SpaceOptions space = native_space_options();
  space.hardware = options.hardware;
  space.lay_out_results = true;
  space.keeps_pack_rows = keeps_rows;
  return SearchSpace(generate_sketches(dag, native_cpu_rules(), options), space);
}

/// Both operands packed, tiles of rows x columns, the copy of A computed at `place` (-1: root).
Candidate with_copies(const SearchSpace& space, std::int64_t rows, std::int64_t columns,
                      std::int32_t place = -1) {
  std::uint32_t sketch = 0;
  while (PackedCopies(space.sketches()[sketch].steps()).stages().size() != 2 ||
         !std::holds_alternative<SplitStep>(space.sketches()[sketch].steps()[0])) {
    ++sketch;
    REQUIRE(sketch < space.sketches().size());
  }
  std::vector<Step> steps = space.sketches()[sketch].steps();
  std::get<SplitStep>(steps[0]).lengths = {1, 2, rows};
  std::get<SplitStep>(steps[1]).lengths = {1, 1, columns};
  std::get<SplitStep>(steps[2]).lengths = {33};
  if (place >= 0) {
    steps.push_back(ComputeAtStep{1, 4, place});
  }
  const auto built = space.build(steps, sketch);
  REQUIRE(built);
  return *built;
}

const StorageLayoutStep* layout_of_a(const State& state) {
  const auto layouts = storage_layouts(state);
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    if (state.operation(id).name == "A.packed") {
      return layouts[id];
    }
  }
  return nullptr;
}

/// Rows in the copy of A, or panels again.
Candidate changed(const SearchSpace& space, const Candidate& program) {
  const std::vector<std::size_t> layouts = detail::layouts_of_rows(space, program);
  REQUIRE(layouts.size() == 1);
  CounterRng rng(1, 2, 3);
  const auto other = detail::with_other_rows(space, program, layouts, rng);
  REQUIRE(other);
  return *other;
}

/// Elements between two rows of A.packed, after checking that the loops compute the product.
std::int64_t row_stride_of_checked(const State& state) {
  const auto program = lower(state, Target::x86_64_v4());
  REQUIRE(program);
  CHECK(is_valid(verify(*program)));
  std::vector<HostArray> arguments = test::whole_number_inputs(*state.initial_dag());
  const auto expected = eval_dag(*state.initial_dag(), arguments);
  REQUIRE(expected);
  arguments.push_back(HostArray((*expected)[0].dtype, (*expected)[0].shape));
  EvalOptions options;
  options.is_output = {false, false, true};
  REQUIRE(eval(*program, arguments, options));
  const bool is_right = arguments[2] == (*expected)[0];
  CHECK(is_right);
  for (const Buffer& buffer : program->buffers) {
    if (buffer.name == "A.packed") {
      REQUIRE(buffer.shape.size() == 2);
      CHECK(buffer.strides[1] == 1);
      return buffer.strides[0];
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("a packed copy keeps the rows of its source, a cache line behind each") {
  const SearchSpace space = space_of_copies(product_dag(23, 70, 71));
  const Candidate panels = with_copies(space, 6, 32);
  CHECK(layout_of_a(panels.state)->pad_elements == 0);
  const Candidate rows = changed(space, panels);
  const StorageLayoutStep* layout = layout_of_a(rows.state);
  REQUIRE(layout != nullptr);
  CHECK(layout->blocks == LengthList{0, 0});
  CHECK(layout->order == IdList{0, 2});
  CHECK(layout->pad_elements == 16);
  CHECK(state_text(rows.state).find(R"(parallel ax0 (0,23)
  for ax1.0 (0,5)
    vectorize ax1.1 (0,16)
      A.packed = ...
)") != std::string::npos);
  CHECK(row_stride_of_checked(rows.state) == 71 + 16);

  // A history says it all: to the space, and to whoever replays it step by step.
  const auto again = space.build(rows.state.steps(), rows.sketch);
  REQUIRE(again);
  CHECK(again->state.steps() == rows.state.steps());
  State replayed = space.initial();
  for (const Step& step : rows.state.steps()) {
    REQUIRE(try_step(replayed, step));
  }
  REQUIRE(layout_of_a(replayed) != nullptr);
  CHECK(layout_of_a(replayed)->pad_elements == 16);
  CHECK(changed(space, rows).state.steps() == panels.state.steps());
}

TEST_CASE("rows of a copy inside of the reader are as long as a block of the reduction") {
  const SearchSpace space = space_of_copies(product_dag(23, 70, 71));
  for (const std::int32_t place : {0, 2, 4}) {  // loops of i, i and k
    const Candidate rows = changed(space, with_copies(space, 7, 48, place));
    INFO(state_text(rows.state));
    const std::int64_t length = place == 4 ? 33 : 71;
    CHECK(row_stride_of_checked(rows.state) == length + 16);
  }
}

TEST_CASE("filters of 1 x 1 keep rows of channels") {
  te::Program p;  // Y[c, i] = sum over k of W[c, k, 0] * X[k, i]
  auto w = p.placeholder("W", {24, 41, 1}, DType::i32);
  auto x = p.placeholder("X", {41, 30}, DType::i32);
  auto k = p.reduce_axis("k", 41), tap = p.reduce_axis("tap", 1);
  auto y = p.compute("Y", {24, 30}, [&](auto c, auto i) {
    return te::sum(w(c, k, tap) * x(k, i), {k, tap});
  });
  const SearchSpace space = space_of_copies(p.dag({w, x, y}));
  std::size_t num_rows = 0;
  for (std::uint32_t number = 0; number < 200 && num_rows < 3; ++number) {
    CounterRng rng(5, 1, number);
    const auto drawn = draw_candidate(space, NativeCpuPopulation{}, rng);
    const auto layouts =
        drawn ? detail::layouts_of_rows(space, *drawn) : std::vector<std::size_t>{};
    for (const std::size_t at : layouts) {
      const auto other = detail::with_other_rows(space, *drawn, {at}, rng);
      REQUIRE(other);
      for (const StorageLayoutStep* layout : storage_layouts(other->state)) {
        if (layout != nullptr && layout->pad_elements > 0) {
          ++num_rows;
          CHECK(layout->order == IdList{0, 4, 2});
        }
      }
      const auto program = lower(other->state, Target::x86_64_v4());
      REQUIRE(program);
      CHECK(is_valid(verify(*program)));
      std::vector<HostArray> arguments = test::whole_number_inputs(*other->state.initial_dag());
      const auto expected = eval_dag(*other->state.initial_dag(), arguments);
      REQUIRE(expected);
      arguments.push_back(HostArray((*expected)[0].dtype, (*expected)[0].shape));
      REQUIRE(eval(*program, arguments, EvalOptions{}));
      const bool is_right = arguments[2] == (*expected)[0];
      CHECK(is_right);
    }
  }
  CHECK(num_rows >= 3);
}

TEST_CASE("another tile keeps rows, and one that has vectors along them takes panels again") {
  const SearchSpace space = space_of_copies(product_dag(23, 70, 71));
  const Candidate rows = changed(space, with_copies(space, 6, 32));
  std::vector<Step> steps = rows.state.steps();
  std::get<SplitStep>(steps[0]).lengths = {1, 1, 8};
  const auto larger = space.build(steps, rows.sketch);
  REQUIRE(larger);
  CHECK(layout_of_a(larger->state)->pad_elements == 16);
  std::get<SplitStep>(steps[0]).lengths = {1, 1, 1};  // nothing is read with a stride
  const auto single = space.build(steps, rows.sketch);
  REQUIRE(single);
  CHECK(layout_of_a(single->state)->pad_elements == 0);
  std::size_t kept = 0, mutated = 0;
  for (std::uint32_t number = 0; number < 60; ++number) {
    CounterRng rng(7, 1, number);
    if (const auto child = MutateTileSize{}.mutate(space, rows, rng)) {
      ++mutated;
      kept += layout_of_a(child->state)->pad_elements > 0 ? 1 : 0;
    }
  }
  CHECK(mutated > 20);
  CHECK(kept > mutated / 2);
}

TEST_CASE(
    "rows are for copies that are made in the kernel, of long rows, where the space says so") {
  const auto num_choices = [](const SearchSpace& space, const Candidate& program) {
    return detail::layouts_of_rows(space, program).size();
  };
  const SearchSpace without = space_of_copies(product_dag(23, 70, 71), false);
  CHECK(num_choices(without, with_copies(without, 6, 32)) == 0);
  const SearchSpace constant = space_of_copies(product_dag(23, 70, 71, true));
  CHECK(num_choices(constant, with_copies(constant, 6, 32)) == 0);
  const SearchSpace shorter = space_of_copies(product_dag(23, 70, 31));
  CHECK(num_choices(shorter, with_copies(shorter, 6, 32)) == 0);
}

TEST_CASE("mutations take rows now and then") {
  const SearchSpace space = space_of_copies(product_dag(23, 70, 71));
  const Candidate panels = with_copies(space, 6, 32);
  std::size_t with_rows = 0;
  constexpr std::uint32_t num_draws = 200;
  for (std::uint32_t number = 0; number < num_draws; ++number) {
    CounterRng rng(9, 1, number);
    const auto child = MutateAutoUnroll{}.mutate(space, panels, rng);
    with_rows += child && layout_of_a(child->state)->pad_elements > 0 ? 1 : 0;
  }
  CHECK(with_rows > num_draws / 8);
  CHECK(with_rows < num_draws / 2);
}

}  // namespace tensorsmith
