// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/layout_transform.hpp"

#include "support/catch.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {
namespace {

/// C = A * B with B free; the extents of i, j and k.
Shared<const ComputeDag> free_matmul(std::int64_t i, std::int64_t j, std::int64_t k) {
  te::Program p;
  const auto A = p.placeholder("A", {i, k}), B = p.placeholder("B", {k, j});
  const auto r = p.reduce_axis("k", k);
  const auto C =
      p.compute("C", {i, j}, [&](auto x, auto y) { return te::sum(A(x, r) * B(r, y), {r}); });
  const Shared<const ComputeDag> dag = p.dag({A, B, C});
  std::vector<Operation> operations = dag->operations();
  operations.back().attrs.layout_free_placeholders = {"B"};
  return make_shared_of<const ComputeDag>(dag->pool_ptr(), dag->tensors(), std::move(operations),
                                          dag->arguments());
}
LayoutRewrite rewritten(const Shared<const ComputeDag>& dag, const std::vector<Step>& steps) {
  const auto state = replay(dag, steps);
  REQUIRE(state.has_value());
  const auto bounded = infer_bounds(*state);
  REQUIRE(bounded.has_value());
  return rewrite_layouts(*bounded);
}

}  // namespace

TEST_CASE("conformance 11.6: layout of a tiled matmul") {
  const auto dag = free_matmul(512, 512, 512);
  const LayoutRewrite rewrite =
      rewritten(dag, {SplitStep{2, 0, 512, {4, 8, 8}, true}, SplitStep{2, 4, 512, {8, 4, 4}, true},
                      ReorderStep{2, {0, 4, 1, 5, 2, 6, 3, 7, 8}}});
  REQUIRE(rewrite.inputs.size() == 1);
  CHECK(rewrite.inputs[0].before == "512k512j");
  CHECK(rewrite.inputs[0].after == "4j8j4j4j512k");
  using Shape = SmallVector<std::int64_t, 6>;
  const TensorId b = rewrite.inputs[0].tensor;
  CHECK(rewrite.dag->tensor(b).name == "B");
  CHECK(rewrite.dag->tensor(b).shape == Shape{4, 8, 4, 4, 512});
  CHECK(dag->tensor(b).shape == Shape{512, 512});  // without a rewrite
  CHECK(te::dag_text(*rewrite.dag) ==
        "A = PLACEHOLDER [512, 512]\n"
        "B = PLACEHOLDER [4, 8, 4, 4, 512]\n"
        "C(i, j) += (A[i, k]*B[floormod(floordiv(j, 128), 4), floormod(floordiv(j, 16), 8), "
        "floormod(floordiv(j, 4), 4), floormod(j, 4), floormod(k, 512)])\n");
}

TEST_CASE("the rewritten program computes the same from transformed inputs") {
  const auto dag = free_matmul(8, 12, 6);
  const LayoutRewrite rewrite =
      rewritten(dag, {SplitStep{2, 1, 12, {3, 2}, true}, SplitStep{2, 4, 6, {3}, true},
                      ReorderStep{2, {1, 0, 4, 2, 5, 3}}});
  REQUIRE(rewrite.inputs.size() == 1);
  CHECK(rewrite.inputs[0].after == "2j2k3j3k2j");
  HostArray a(DType::f32, {8, 6}), b(DType::f32, {6, 12});
  for (HostArray* array : {&a, &b}) {
    for (std::int64_t i = 0; i < array->num_elements(); ++i) {
      store_scalar(array->data.data() + 4 * i, DType::f32,
                   scalar_of_real(static_cast<double>(i % 7) - 3));
    }
  }
  const auto expected = eval_dag(*dag, {a, b});
  const auto found = eval_dag(*rewrite.dag, {a, transform_input(b, rewrite.inputs[0])});
  REQUIRE(expected);
  REQUIRE(found);
  CHECK(expected->back().data == found->back().data);
}

TEST_CASE("conformance 11.6: a layout transform inside") {
  const auto state =
      replay(free_matmul(512, 512, 512),
             {SplitStep{2, 0, 512, {4, 8, 8}, true}, SplitStep{2, 4, 512, {8, 4, 4}, true},
              ReorderStep{2, {0, 4, 1, 5, 2, 6, 3, 7, 8}}});
  REQUIRE(state.has_value());
  const LayoutTransform transform = insert_layout_transforms(*infer_bounds(*state));
  REQUIRE(transform.steps.size() == 5);
  for (std::size_t s = 0; s < 3; ++s) {
    CHECK(stage_of(transform.steps[s]) == 3);
  }
  CHECK(std::get<FuseStep>(transform.steps[3]) == FuseStep{2, {0, 1, 2}});
  CHECK(std::get<AnnotationStep>(transform.steps[4]) == AnnotationStep{2, 0, Annotation::parallel});
  const TensorId stored = transform.dag->operation(2).outputs[0];
  using Shape = SmallVector<std::int64_t, 6>;
  CHECK(transform.dag->tensor(stored).shape == Shape{4, 8, 4, 4, 512});
  REQUIRE(transform.inputs.size() == 1);
  const TensorInfo& b = transform.dag->tensor(transform.inputs[0].tensor);
  CHECK(b.name == "B");
  CHECK(b.shape == Shape{512, 512});
  CHECK(transform.dag->arguments()[1] == transform.inputs[0].tensor);
}

TEST_CASE("a transform inside: the program computes the same from the same inputs") {
  const auto dag = free_matmul(8, 12, 6);
  const std::vector<std::vector<Step>> schedules = {
      {SplitStep{2, 1, 12, {3, 2}, true}, SplitStep{2, 4, 6, {3}, true},
       ReorderStep{2, {1, 0, 4, 2, 5, 3}}},
      {CacheWriteStep{2, "local"}, SplitStep{3, 0, 8, {4}, true}, SplitStep{3, 2, 12, {6}, true},
       ReorderStep{3, {0, 2, 1, 3}}, ComputeAtStep{2, 3, 1}}};
  for (const std::vector<Step>& steps : schedules) {
    const auto state = replay(dag, steps);
    REQUIRE(state.has_value());
    const LayoutTransform transform = insert_layout_transforms(*infer_bounds(*state));
    REQUIRE(transform.inputs.size() == 1);
    HostArray a(DType::f32, {8, 6}), b(DType::f32, {6, 12});
    for (HostArray* array : {&a, &b}) {
      for (std::int64_t i = 0; i < array->num_elements(); ++i) {
        store_scalar(array->data.data() + 4 * i, DType::f32,
                     scalar_of_real(static_cast<double>(i % 7) - 3));
      }
    }
    const auto expected = eval_dag(*dag, {a, b});
    REQUIRE(expected);
    const auto after = replay(transform.dag, transform.steps);
    REQUIRE(after.has_value());
    const auto inferred = infer_bounds(*after);
    REQUIRE(inferred.has_value());
    const auto found = eval_dag(inferred->dag(), {a, b});
    REQUIRE(found);
    CHECK(expected->back().data == found->back().data);
  }
}

TEST_CASE("nothing is rewritten without a free input, or where splits do not divide") {
  const auto dag = free_matmul(8, 12, 6);
  CHECK(rewritten(dag, {SplitStep{2, 1, 12, {5}, true}}).inputs.empty());
  std::vector<Operation> operations = dag->operations();
  operations.back().attrs.layout_free_placeholders.clear();
  const auto bound = make_shared_of<const ComputeDag>(dag->pool_ptr(), dag->tensors(),
                                                      std::move(operations), dag->arguments());
  const LayoutRewrite rewrite = rewritten(bound, {SplitStep{2, 1, 12, {3}, true}});
  CHECK(rewrite.inputs.empty());
  CHECK(rewrite.dag.get() == bound.get());
}

}  // namespace tensorsmith::test
