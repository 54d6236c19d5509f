// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/schedule_packs.hpp"

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

/// C[i, j] = sum over k of A[k, i] * B[j, k]: both gathered or strided.
Shared<const ComputeDag> transposed_dag(std::int64_t m, std::int64_t n, std::int64_t k_extent) {
  te::Program p;
  auto a = p.placeholder("A", {k_extent, m}, DType::i32);
  auto b = p.placeholder("B", {n, k_extent}, DType::i32);
  auto k = p.reduce_axis("k", k_extent);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(k, i) * b(j, k), {k}); });
  return p.dag({a, b, c});
}

SearchSpace packing_space(const Shared<const ComputeDag>& dag) {
  SketchOptions options;
  options.hardware.num_cores = 2;
  options.core_cache_bytes = 0;
  SpaceOptions space = native_space_options();
  space.hardware = options.hardware;
  space.lay_out_results = true;
  return SearchSpace(generate_sketches(dag, native_cpu_rules(), options), space);
}

/// The first sketch (plain tiling) with both operands packed and these innermost lengths.
Candidate tiled(const SearchSpace& space, std::int64_t rows, std::int64_t columns) {
  std::uint32_t sketch = 0;
  while (PackedCopies(space.sketches()[sketch].steps()).stages().size() != 2 ||
         !std::holds_alternative<SplitStep>(space.sketches()[sketch].steps()[0])) {
    ++sketch;
  }
  std::vector<Step> steps = space.sketches()[sketch].steps();
  std::get<SplitStep>(steps[0]).lengths = {1, 2, rows};
  std::get<SplitStep>(steps[1]).lengths = {1, 1, columns};
  std::get<SplitStep>(steps[2]).lengths = {8};
  const auto built = space.build(steps, sketch);
  REQUIRE(built);
  return *built;
}

/// The loops, after checking that they are valid and compute the product.
std::string checked_text(const State& state) {
  const auto program = lower(state, Target::x86_64_v4());
  REQUIRE(program);
  CHECK(is_valid(verify(*program)));
  std::vector<HostArray> arguments = test::whole_number_inputs(*state.initial_dag());
  const auto expected = eval_dag(*state.initial_dag(), arguments);
  REQUIRE(expected);
  arguments.push_back(HostArray((*expected)[0].dtype, (*expected)[0].shape));
  EvalOptions options;
  options.is_output = {false, false, true};
  const std::string text = to_text(*program);
  INFO(text);
  REQUIRE(eval(*program, arguments, options));
  const bool is_right = arguments[2] == (*expected)[0];
  CHECK(is_right);
  return text;
}

const StorageLayoutStep& layout_of(const Candidate& candidate, const std::string& name) {
  const auto layouts = storage_layouts(candidate.state);
  for (std::size_t id = 0; id < layouts.size(); ++id) {
    if (candidate.state.operation(id).name == name) {
      REQUIRE(layouts[id] != nullptr);
      return *layouts[id];
    }
  }
  FAIL("no stage " << name);
  return *layouts[0];
}

}  // namespace

TEST_CASE("blocks of a packed copy are the lengths of the register tile") {
  const SearchSpace space = packing_space(transposed_dag(24, 70, 40));
  const Candidate candidate = tiled(space, 6, 32);
  CHECK(layout_of(candidate, "A.packed").blocks == LengthList{0, 6});
  CHECK(layout_of(candidate, "A.packed").order == IdList{2, 0, 3});
  CHECK(layout_of(candidate, "B.packed").blocks == LengthList{32, 0});
  CHECK(layout_of(candidate, "B.packed").order == IdList{0, 2, 1});
  CHECK(state_text(candidate.state) == R"(Placeholder: A, B
parallel ax1.0 (0,4)
  for ax0 (0,40)
    vectorize ax1.1 (0,6)
      A.packed = ...
parallel ax0.0 (0,3)
  for ax1.0 (0,3)
    for ax0.1 (0,2)
      unroll ax1.1 (0,16)
        vectorize ax0.2 (0,16)
          B.packed = ...
for i.0 (0,2)
  for j.0 (0,3)
    for k.0 (0,5)
      for i.2 (0,2)
        for k.1 (0,8)
          for i.3 (0,6)
            for j.3 (0,32)
              C = ...
)");
  // The first block of k, for the steady part and for the tail of j; nothing inside of them.
  const std::string text = checked_text(candidate.state);
  std::size_t conditions = 0;
  for (std::size_t at = text.find("if "); at != std::string::npos; at = text.find("if ", at + 1)) {
    conditions += text.compare(at, 12, "if k.0 == 0:") == 0 ? 1 : 100;
  }
  CHECK(conditions == 2);
}

TEST_CASE("rows of the source are its last dimension that is longer than one") {
  te::Program p;  // Y[c, i] = sum over k of W[c, k, 0] * X[k, i], vectors along c
  auto w = p.placeholder("W", {32, 48, 1}, DType::i32);
  auto x = p.placeholder("X", {48, 14}, DType::i32);
  auto k = p.reduce_axis("k", 48), tap = p.reduce_axis("tap", 1);
  auto y = p.compute("Y", {32, 14}, [&](auto c, auto i) {
    return te::sum(w(c, k, tap) * x(k, i), {k, tap});
  });
  const SearchSpace space = packing_space(p.dag({x, w, y}));
  bool is_found = false;
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    std::vector<Step> steps = space.sketches()[sketch].steps();
    if (!std::holds_alternative<ReorderStep>(steps[0])) {
      continue;
    }
    for (Step& step : steps) {
      if (SplitStep* split = std::get_if<SplitStep>(&step)) {
        const std::int64_t tile = split->extent == 32 ? 16 : 1;
        split->lengths = split->lengths.size() == 3 ? LengthList{1, 1, tile} : LengthList{1};
      }
    }
    const auto built = space.build(steps, sketch);
    REQUIRE(built);
    const State& state = built->state;
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      if (state.operation(id).name == "W.packed") {
        const auto& iterators = state.stage(id).iterators;
        CHECK(iterators[iterators.size() - 2].name == "ax1.1");
        CHECK(iterators[iterators.size() - 2].extent == 16);
        CHECK(iterators.back().annotation == Annotation::vectorize);
        is_found = true;
      }
    }
    checked_text(state);
  }
  CHECK(is_found);
}

TEST_CASE("dimensions that follow each other in the source and in the copy run as one") {
  te::Program p;  // Y[c, i] = sum over k, t of W[c, k, t] * X[k, i + t], vectors along c
  auto w = p.placeholder("W", {32, 10, 3}, DType::i32);
  auto x = p.placeholder("X", {10, 16}, DType::i32);
  auto k = p.reduce_axis("k", 10), tap = p.reduce_axis("tap", 3);
  auto y = p.compute("Y", {32, 14}, [&](auto c, auto i) {
    return te::sum(w(c, k, tap) * x(k, i + tap), {k, tap});
  });
  const SearchSpace space = packing_space(p.dag({x, w, y}));
  // Where the copy stands in the loops of Y, and whether it has the taps whole there.
  struct Place {
    std::int32_t iterator;
    LengthList k_lengths, tap_lengths;
    bool runs_as_one;
  };
  const Place places[] = {{-1, {10}, {3}, true},   // at root
                          {1, {10}, {3}, true},    // at c.0
                          {4, {5}, {3}, true},     // at k.0
                          {5, {10}, {1}, false}};  // at tap.0
  for (const Place& place : places) {
    bool is_found = false;
    for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
      std::vector<Step> steps = space.sketches()[sketch].steps();
      const std::vector<std::int32_t> copies = PackedCopies(steps).stages();
      if (!std::holds_alternative<ReorderStep>(steps[0]) || copies.size() != 1) {
        continue;
      }
      for (Step& step : steps) {
        if (SplitStep* split = std::get_if<SplitStep>(&step)) {
          const bool is_spatial = split->lengths.size() == 3;
          split->lengths = is_spatial           ? LengthList{1, 1, split->extent == 32 ? 16 : 7}
                           : split->extent == 3 ? place.tap_lengths
                                                : place.k_lengths;
        }
      }
      if (place.iterator >= 0) {
        const auto reader = static_cast<std::int32_t>(space.sketches()[sketch].num_stages()) - 1;
        steps.push_back(ComputeAtStep{copies[0], reader, place.iterator});
      }
      const auto built = space.build(steps, sketch);
      REQUIRE(built);
      const State& state = built->state;
      INFO(state_text(state));
      for (std::size_t id = 0; id < state.num_stages(); ++id) {
        if (state.operation(id).name == "W.packed") {
          const auto& iterators = state.stage(id).iterators;
          const std::string& rows = iterators[iterators.size() - 2].name;
          CHECK((rows == "ax1@ax2@.1") == place.runs_as_one);
          CHECK(iterators.back().annotation == Annotation::vectorize);
          is_found = true;
        }
      }
      checked_text(state);
    }
    CHECK(is_found);
  }
}

TEST_CASE("another tile gives other blocks: a history is not followed where the tile decides") {
  const SearchSpace space = packing_space(transposed_dag(24, 70, 40));
  const Candidate candidate = tiled(space, 6, 32);
  std::vector<Step> steps = candidate.state.steps();
  std::get<SplitStep>(steps[1]).lengths = {1, 1, 14};
  const auto changed = space.build(steps, candidate.sketch);
  REQUIRE(changed);
  CHECK(layout_of(*changed, "B.packed").blocks == LengthList{14, 0});
  CHECK(layout_of(*changed, "A.packed").blocks == LengthList{0, 6});
  CHECK(changed->state.steps() == tiled(space, 6, 14).state.steps());
  CHECK(space.build(changed->state.steps(), changed->sketch)->state.steps() ==
        changed->state.steps());
}

TEST_CASE("a copy inside the reader has a block of its own and no parallel loop") {
  const SearchSpace space = packing_space(transposed_dag(24, 70, 40));
  const Candidate root = tiled(space, 6, 32);
  std::vector<Step> steps = root.state.steps();
  steps.resize(num_steps_before_packs(steps));
  steps.push_back(ComputeAtStep{3, 4, 4});  // B.packed at k.0 of C
  const auto inside = space.build(steps, root.sketch);
  REQUIRE(inside);
  const std::string text = state_text(inside->state);
  CHECK(text.find("parallel ax0.0") == std::string::npos);
  CHECK(text.find("parallel ax1.0") != std::string::npos);  // A is still packed first
  CHECK(checked_text(inside->state) != "");
}

TEST_CASE("drawn programs with packs: what the search makes of them is what a replay makes") {
  const SearchSpace space = packing_space(transposed_dag(23, 70, 41));
  std::size_t packed = 0, mutated = 0;
  for (std::uint32_t number = 0; number < 100; ++number) {
    CounterRng rng(3, 1, number);
    const auto drawn = draw_candidate(space, NativeCpuPopulation{}, rng);
    if (!drawn || PackedCopies(drawn->state.steps()).empty()) {
      continue;
    }
    ++packed;
    CHECK(space.sketch_of(drawn->state.steps()) == drawn->sketch);
    const auto again = space.build(drawn->state.steps(), drawn->sketch);
    REQUIRE(again);
    CHECK(again->state.steps() == drawn->state.steps());
    const auto child = MutateTileSize{}.mutate(space, *drawn, rng);
    if (child) {
      ++mutated;
      CHECK_FALSE(child->state.steps() == drawn->state.steps());
    }
  }
  CHECK(packed > 30);
  CHECK(mutated > 15);
}

TEST_CASE("a cache of a result that is revisited lies in memory tile by tile") {
  const SearchSpace space = packing_space(transposed_dag(16, 96, 40));
  std::uint32_t sketch = 0;
  const auto has_cache = [&] {
    for (const Step& step : space.sketches()[sketch].steps()) {
      if (std::holds_alternative<CacheWriteStep>(step)) {
        return PackedCopies(space.sketches()[sketch].steps()).stages().size() == 2;
      }
    }
    return false;
  };
  while (!has_cache()) {
    ++sketch;
    REQUIRE(sketch < space.sketches().size());
  }
  const auto with_lengths = [&](std::int64_t run) {
    std::vector<Step> steps = space.sketches()[sketch].steps();
    std::size_t next = 0;
    const LengthList lengths[] = {{1, 2, 8}, {1, 3, 32}, {run}};
    for (Step& step : steps) {
      SplitStep* split = std::get_if<SplitStep>(&step);
      if (split != nullptr && has_item(split->lengths, unknown_length)) {
        split->lengths = lengths[next++];
      }
    }
    const auto built = space.build(steps, sketch);
    REQUIRE(built);
    return *built;
  };
  const Candidate revisited = with_lengths(8);
  CHECK(layout_of(revisited, "C.local").blocks == LengthList{0, 32});
  CHECK(layout_of(revisited, "C.local").order == IdList{2, 0, 3});
  CHECK(checked_text(revisited.state).find("C.local: i32[3, 16, 32]") != std::string::npos);
  // Built again from its own history it is the same, and has one layout.
  const auto again = space.build(revisited.state.steps(), sketch);
  REQUIRE(again);
  CHECK(again->state.steps().size() == revisited.state.steps().size());
  // In one run every tile is stored where it belongs: no cache is left that could be laid out.
  CHECK(checked_text(with_lengths(40).state).find("C.local: i32") == std::string::npos);
}

TEST_CASE("hints to memory are drawn for large operands and results, in spaces that have them") {
  const auto drawn = [](const SearchSpace& space) {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < 40; ++i) {
      CounterRng rng(5, 0, 0, i);
      const auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
      if (!candidate) {
        continue;
      }
      for (const Step& step : candidate->state.steps()) {
        count += detail::is_memory_hint(step) ? 1 : 0;
      }
      const auto none = detail::with_memory_hint(space, *candidate, std::nullopt);
      REQUIRE(none);
      CHECK(std::none_of(none->state.steps().begin(), none->state.steps().end(),
                         [](const Step& step) { return detail::is_memory_hint(step); }));
    }
    return count;
  };
  SpaceOptions options = native_space_options();
  CHECK(drawn(test::space_of(test::matmul_dag(16, 64, 64), 1, options)) == 0);  // small
  options.min_prefetch_bytes = 0;
  const std::size_t some = drawn(test::space_of(test::matmul_dag(16, 64, 64), 1, options));
  CHECK(some > 5);
  CHECK(some < 40);
  options.prefetch_lines.clear();
  CHECK(drawn(test::space_of(test::matmul_dag(16, 64, 64), 1, options)) == 0);
  options.min_streamed_bytes = 16 * 64 * 4;
  CHECK(drawn(test::space_of(test::matmul_dag(16, 64, 64), 1, options)) > 5);
  CHECK(drawn(test::space_of(test::matmul_dag(15, 64, 64), 1, options)) == 0);
}

TEST_CASE("an operand of many uses is asked for by blocks only") {
  using Counts = std::pair<std::size_t, std::size_t>;
  const auto hints_of = [](std::int64_t rows, const IdList& order) {
    SpaceOptions options = native_space_options();
    options.min_prefetch_bytes = 64 * 64 * 4;
    const SearchSpace space = test::space_of(test::matmul_dag(rows, 64, 64), 1, options);
    const auto program = space.build({SplitStep{2, 2, 64, {8}, true}, ReorderStep{2, order}}, 0);
    REQUIRE(program);
    std::size_t lines = 0, blocks = 0;
    for (const PragmaStep& hint : detail::possible_memory_hints(space, *program)) {
      lines += hint.hint.is<hints::Prefetch>() && hint.hint.number(0) == 1 ? 1 : 0;
      blocks += hint.hint.is<hints::PrefetchBlock>() && hint.hint.number(0) == 1 ? 1 : 0;
    }
    return Counts(lines, blocks);
  };
  CHECK(hints_of(32, {2, 0, 1, 3}) == Counts(3, 1));
  CHECK(hints_of(128, {2, 0, 1, 3}) == Counts(0, 1));
  CHECK(hints_of(128, {0, 1, 2, 3}) == Counts(0, 0));  // no blocks
}

TEST_CASE("patches are copied by squares where nothing is chosen on the way") {
  const auto squares_of = [](const char* text) {
    const SearchSpace space = packing_space(ops::parse_workload(text)->dag);
    std::size_t num_copies = 0, num_squares = 0;
    for (std::uint32_t i = 0; i < 300; ++i) {
      CounterRng rng(5, 0, 0, i);
      const auto drawn = draw_candidate(space, NativeCpuPopulation{}, rng);
      for (std::size_t s = 0; drawn && s < drawn->state.num_stages(); ++s) {
        if (drawn->state.operation(s).name.ends_with(".patches")) {
          ++num_copies;
          num_squares += any_item(drawn->state.stage(s).iterators, [](const auto& it) {
            return it.annotation == Annotation::unroll;
          });
        }
      }
    }
    CHECK(num_copies > 10);
    return num_squares;
  };
  CHECK(squares_of("conv2d:n=1,h=8,w=8,ci=16,co=32,k=3,p=0,layout=nhwc") > 0);
  CHECK(squares_of("conv2d:n=1,h=8,w=8,ci=16,co=32,k=3,p=1,layout=nhwc") == 0);
}

}  // namespace tensorsmith
