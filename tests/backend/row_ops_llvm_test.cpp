// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Operations on rows as the search draws them: dag, loop program and machine code agree.
#include "codegen_fixture.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Of all sketches, or of those in which as many products are computed inside of another stage.
SearchSpace row_space(const Shared<const ComputeDag>& dag, std::size_t num_inside = 0) {
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = hardware_params(host_target());
  options.hardware.num_cores = 2;
  SpaceOptions native = native_space_options();
  native.hardware = options.hardware;
  native.min_prefetch_bytes = 0;
  std::vector<State> sketches = generate_sketches(dag, native_cpu_rules(), options);
  const AccessAnalysis analysis(*dag);
  std::erase_if(sketches, [&](const State& sketch) {
    const bool is_same = sketch.dag_ptr() == dag;  // no copies of operands, no sums in parts
    std::size_t inside = 0;
    for (std::size_t s = 0; is_same && s < sketch.num_stages(); ++s) {
      inside += sketch.stage(s).compute_at == ComputeAt::iterator &&
                        needs_tiling(analysis, static_cast<std::int32_t>(s))
                    ? 1
                    : 0;
    }
    return inside < num_inside;
  });
  REQUIRE_FALSE(sketches.empty());
  return SearchSpace(std::move(sketches), native);
}

/// "" if the result of the dag's interpreter is that of `arrays`, else what differs.
std::string wrong_result(const ComputeDag& dag, const std::vector<HostArray>& arrays) {
  const auto want = eval_dag(dag, {arrays.begin(), arrays.end() - 1});
  REQUIRE(want.has_value());
  const HostArray& got = arrays.back();
  for (std::int64_t n = 0; n < got.num_elements(); ++n) {
    if (!is_close(got.get_real(n), want->front().get_real(n), got.dtype)) {
      return "element " + std::to_string(n) + " is " + std::to_string(got.get_real(n)) + ", not " +
             std::to_string(want->front().get_real(n));
    }
  }
  return "";
}

/// Programs of this space against the interpreters.
void check_drawn_rows(const char* text, const SearchSpace& space, const ComputeDag& dag,
                      std::uint32_t count) {
  std::uint32_t num_checked = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    CounterRng rng(seed(), 21, number);
    const auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
    if (!candidate) {
      continue;
    }
    const auto program = lower(candidate->state, host_target());
    if (!program) {
      continue;
    }
    INFO(text << ", seed " << seed() << ", number " << number);
    std::vector<HostArray> arrays = make_arrays(*program, rng);
    CHECK(difference(*program, arrays, host_target(), 2) == "");
    REQUIRE(eval(*program, arrays));
    CHECK(wrong_result(dag, arrays) == "");
    ++num_checked;
  }
  CHECK(num_checked > count / 2);
}

}  // namespace

TEST_CASE("row operations as they are drawn: dag, loop program and machine code agree") {
  const std::uint32_t count = scaled(12);
  for (const char* text :
       {"softmax:5x33", "log_softmax:7x33", "log_softmax:3x150", "softmax:5x150,online=64",
        "log_softmax:3x128,online=32", "layernorm:5x37", "rmsnorm:7x33", "rmsnorm:3x151:f64",
        "reduce_sum:13x49", "reduce_max:11x131", "argmax:7x33", "argmax:5x150", "argmax:6x70:i8",
        "argmax:1x19", "global_avg_pool:n=2,c=9,h=7,w=7",
        "global_avg_pool:n=2,c=9,h=7,w=7,layout=nchw", "attention:2x9x13x6",
        "gemm:9x20x7:f32,bias,add,layernorm"}) {
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    check_drawn_rows(text, row_space(workload->dag), *workload->dag, count);
  }
}

TEST_CASE("chains in blocks of rows as they are drawn: dag, loop program and machine code agree") {
  const std::uint32_t count = scaled(24);
  for (const auto& [text, num_products] :
       std::vector<std::pair<const char*, std::size_t>>{{"attention:2x13x11x6", 2},
                                                        {"attention:3x16x32x16", 2},
                                                        {"attention:1x24x16x32:f64", 2},
                                                        {"gemm:13x20x7:f32,bias,add,layernorm", 1},
                                                        {"gemm:24x48x16:f32,bias,layernorm", 1},
                                                        {"bmm:2x12x32x8:f32,layernorm", 1}}) {
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    check_drawn_rows(text, row_space(workload->dag, num_products), *workload->dag, count);
  }
}
