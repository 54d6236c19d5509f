// SPDX-License-Identifier: Apache-2.0
// Packed copies whose last extents are 1.
#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/search/schedule_packs.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

void check_program(const State& state) {
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
}

}  // namespace

TEST_CASE("packed filters of one column are written along their rows", "[search]") {
  // Nothing is cut, so the copy and its source are one run of memory; the last extent is 1.
  te::Program p;
  auto x = p.placeholder("X", {4, 12, 1}, DType::i32);
  auto w = p.placeholder("W", {8, 4, 5, 1}, DType::i32);
  auto c = p.reduce_axis("c", 4);
  auto h = p.reduce_axis("h", 5);
  auto v = p.reduce_axis("v", 1);
  auto y = p.compute("Y", {8, 8, 1}, [&](auto o, auto i, auto j) {
    return te::sum(x(c, i + h, j + v) * w(o, c, h, v), {c, h, v});
  });
  SketchOptions options;
  options.hardware.num_cores = 2;
  options.core_cache_bytes = 0;
  SpaceOptions of_space = native_space_options();
  of_space.hardware = options.hardware;
  of_space.lay_out_results = true;
  const SearchSpace space(generate_sketches(p.dag({x, w, y}), native_cpu_rules(), options),
                          of_space);
  std::size_t built = 0;
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    std::vector<Step> steps = space.sketches()[sketch].steps();
    for (Step& step : steps) {
      if (auto* split = std::get_if<SplitStep>(&step)) {
        for (auto& length : split->lengths) {
          length = 1;
        }
      }
    }
    if (const auto candidate = space.build(steps, sketch)) {
      ++built;
      check_program(candidate->state);
    }
  }
  CHECK(built > 0);
}

}  // namespace tensorsmith
