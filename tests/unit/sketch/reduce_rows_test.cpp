// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/reduce_rows.hpp"

#include "support/catch.hpp"
#include "support/row_workloads.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"

namespace tensorsmith {
namespace {

/// The sketches that compute rows in one kernel, as text.
std::vector<std::string> sketch_texts_of_rows(const Shared<const ComputeDag>& dag) {
  const Target target = Target::cuda(80).value();
  std::vector<std::string> found;
  for (const State& sketch :
       generate_sketches(dag, native_gpu_rules(), gpu_sketch_options(hardware_params(target)))) {
    std::string text = state_text(sketch);
    if (text.find("threadIdx.y") != std::string::npos) {
      found.push_back(std::move(text));
    }
  }
  return found;
}

std::vector<std::string> sketch_texts_of_rows(const char* workload) {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed.has_value());
  return sketch_texts_of_rows(parsed->dag);
}

}  // namespace

TEST_CASE("everything that is done to a row is one kernel, its reductions at the row") {
  const std::vector<std::string> softmax = sketch_texts_of_rows("softmax:512x1000");
  REQUIRE(softmax.size() == 1);
  CHECK(softmax[0] == R"(Placeholder: A
blockIdx.x i.0 (None)
  threadIdx.y i.1 (None)
    for i (None)
      for k2.0 (None)
        threadIdx.x k2.1 (None)
          unroll k2.2 (None)
            T_sum = ...
    for i (None)
      for k1.0 (None)
        threadIdx.x k1.1 (None)
          unroll k1.2 (None)
            T_max = ...
    for j.0 (None)
      threadIdx.x j.1 (None)
        vectorize j.2 (None)
          T_norm = ...
)");
}

TEST_CASE("a row is reduced by its threads, also where nothing else is done with it") {
  const std::vector<std::string> sum = sketch_texts_of_rows("reduce_sum:1024x4096");
  REQUIRE(sum.size() == 1);
  CHECK(sum[0] == R"(Placeholder: A
blockIdx.x i.0 (None)
  threadIdx.y i.1 (None)
    for k.0 (None)
      threadIdx.x k.1 (None)
        unroll k.2 (None)
          B = ...
)");
  const std::vector<std::string> argmax = sketch_texts_of_rows("argmax:512x1000");
  REQUIRE(argmax.size() == 1);
  CHECK(argmax[0].find("    for k1.0 (None)\n") != std::string::npos);
}

TEST_CASE("values of a row in between are no kernels of their own") {
  for (const char* workload :
       {"layernorm:512x1024", "rmsnorm:512x1024:f16", "log_softmax:512x1000"}) {
    INFO(workload);
    const std::vector<std::string> found = sketch_texts_of_rows(workload);
    REQUIRE(found.size() == 1);
    CHECK(found[0].find("\nblockIdx.x i.0") == found[0].rfind("\nblockIdx.x"));
  }
}

TEST_CASE("rows of several axes and of several dimensions are fused") {
  te::Program p;
  auto a = p.placeholder("A", {2, 3, 8, 16});
  auto k = p.reduce_axis("k", 8), l = p.reduce_axis("l", 16);
  auto sum = p.compute("S", {2, 3}, [&](auto b, auto i) { return te::sum(a(b, i, k, l), {k, l}); });
  auto out = p.compute("N", {2, 3, 8, 16},
                       [&](auto b, auto i, auto j, auto m) { return a(b, i, j, m) / sum(b, i); });
  const std::vector<std::string> found = sketch_texts_of_rows(p.dag({a, out}));
  REQUIRE(found.size() == 1);
  for (const char* loop : {"threadIdx.y i@j@.1", "threadIdx.x k@l@.1", "threadIdx.x m@n@.1"}) {
    INFO(loop << "\n" << found[0]);
    CHECK(found[0].find(loop) != std::string::npos);
  }
}

TEST_CASE("not for short rows, data reuse, columns, or CPUs") {
  for (const char* workload : {"softmax:512x32", "gemm:64x64x64", "max_pool:n=1,c=8,h=8,w=8,k=3"}) {
    INFO(workload);
    CHECK(sketch_texts_of_rows(workload).empty());
  }
  te::Program p;  // sums of columns, and what is left of the columns
  auto a = p.placeholder("A", {64, 48});
  auto k = p.reduce_axis("k", 64);
  auto sum = p.compute("S", {48}, [&](auto j) { return te::sum(a(k, j), {k}); });
  auto out = p.compute("N", {64, 48}, [&](auto i, auto j) { return a(i, j) - sum(j); });
  CHECK(sketch_texts_of_rows(p.dag({a, out})).empty());
  const auto dag = ops::parse_workload("softmax:512x1000")->dag;
  SketchOptions options;
  options.hardware.num_cores = 4;
  const AccessAnalysis analysis(*dag);
  const State state = State::initial(dag);
  const RuleInput input{state, analysis, static_cast<std::int32_t>(state.num_stages()) - 1,
                        options};
  CHECK(ReduceRows{}.applicability(input) == Applicability::skip);
}

}  // namespace tensorsmith
