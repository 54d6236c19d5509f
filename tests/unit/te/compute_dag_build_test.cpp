// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/compute_dag_build.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/check_operation.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;

namespace {

std::vector<std::string> order_of(const ComputeDag& dag) {
  std::vector<std::string> names;
  for (const Operation& op : dag.operations()) {
    names.push_back(op.name);
  }
  return names;
}

}  // namespace

TEST_CASE("stages: post-order, inputs by first appearance, not by creation or argument", "[te]") {
  te::Program p;
  const auto z = p.placeholder("Z", {4}), y = p.placeholder("Y", {4}), x = p.placeholder("X", {4});
  const auto b = p.compute("B", {4}, [&](auto i) { return y(i) * 2; });
  const auto c = p.compute("C", {4}, [&](auto i) { return (x(i) + b(i)) * z(i) + x(i); });
  CHECK(order_of(*p.dag({z, y, x, c})) == std::vector<std::string>{"X", "Y", "B", "Z", "C"});
  CHECK(order_of(*p.dag({c, x, y, z})) == std::vector<std::string>{"X", "Y", "B", "Z", "C"});
}

TEST_CASE("reads inside an index come before the read", "[te]") {
  te::Program p;
  const auto table = p.placeholder("table", {9}), at = p.placeholder("at", {4}, DType::i32);
  const auto c = p.compute("C", {4}, [&](auto i) { return table(at(i)); });
  CHECK(order_of(*p.dag({table, at, c})) == std::vector<std::string>{"at", "table", "C"});
}

TEST_CASE("several outputs follow the analysis order", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4}), b = p.placeholder("B", {4});
  const auto c = p.compute("C", {4}, [&](auto i) { return a(i) + 1; });
  const auto d = p.compute("D", {4}, [&](auto i) { return b(i) + 1; });
  const auto first = p.dag({a, b, c, d}), second = p.dag({a, b, d, c});
  // priority = discovery index of a last-in-first-out walk: the last argument is found first, and
  // the highest priority goes first
  CHECK(order_of(*first) == std::vector<std::string>{"A", "C", "B", "D"});
  CHECK(order_of(*second) == std::vector<std::string>{"B", "D", "A", "C"});
  CHECK(order_of(*p.dag({b, a, c, d})) == std::vector<std::string>{"A", "C", "B", "D"});
}

TEST_CASE("what no argument needs is left out", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4}), unused = p.placeholder("unused", {4});
  const auto b = p.compute("B", {4}, [&](auto i) { return a(i) + 1; });
  p.compute("dead", {4}, [&](auto i) { return b(i) + unused(i); });
  const auto dag = p.dag({a, b});
  CHECK(order_of(*dag) == std::vector<std::string>{"A", "B"});
  CHECK(dag->tensor(unused.id()).operation == UINT32_MAX);
  // asked for, it is there, without readers
  CHECK(p.dag({a, b, unused})->operations().size() == 3);
}

TEST_CASE("conformance 11.4: iterators of one name and other broken operations are refused",
          "[te]") {
  ExprPool pool;
  std::vector<TensorInfo> tensors(2);
  tensors[0].name = "A";
  tensors[0].shape = {4};
  tensors[1].name = "B";
  tensors[1].shape = {4};
  const VarId i = pool.new_var("i"), j = pool.new_var("i");
  Operation op;
  op.name = "B";
  op.axes = {{i, 4}};
  op.outputs = {TensorId{1}};
  const auto check = [&] { te::check_operation(pool, tensors, op); };
  CHECK_THROWS_WITH(check(), "te: operation \"B\": expected one body per output, got 0 for 1");
  op.bodies = {pool.read(TensorId{0}, DType::f32, {pool.var(i)})};
  CHECK_NOTHROW(check());
  tensors[1].dtype = DType::f64;
  CHECK_THROWS_WITH(check(), "te: operation \"B\": expected a body of type f64, got f32");
  tensors[1].dtype = DType::f32;
  op.reduce_axes = {{j, 4}};
  CHECK_THROWS_WITH(check(), "te: operation \"B\": expected iterator names that are unique, got "
                             "\"i\" twice");
  op.reduce_axes.clear();
  op.axes[0].extent = 0;
  CHECK_THROWS_WITH(check(), "te: operation \"B\": expected a positive extent of iterator \"i\", "
                             "got 0");
  op.axes[0].extent = 4;
  op.bodies = {pool.read(TensorId{7}, DType::f32, {pool.var(i)})};
  CHECK_THROWS_WITH(check(), "te: operation \"B\": expected tensors of its own program, got a "
                             "foreign one");
}

TEST_CASE("operations that depend on themselves are refused", "[te]") {
  auto pool = make_shared_of<ExprPool>();
  std::vector<TensorInfo> tensors(1);
  tensors[0].name = "B";
  tensors[0].shape = {4};
  const VarId i = pool->new_var("i");
  Operation op;
  op.name = "B";
  op.axes = {{i, 4}};
  op.outputs = {TensorId{0}};
  op.bodies = {pool->read(TensorId{0}, DType::f32, {pool->var(i)})};
  CHECK_THROWS_WITH(te::build_compute_dag(pool, tensors, {op}, {TensorId{0}}),
                    "te: expected operations that do not depend on themselves, got a cycle");
  CHECK_THROWS_AS(te::build_compute_dag(pool, tensors, {op}, {TensorId{3}}), Error);
}

TEST_CASE("bodies of one operation share one reduction", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4});
  const auto k = p.reduce_axis("k", 4);
  CHECK_THROWS_WITH(
      p.compute_all("B", {},
                    [&] {
                      return std::vector<te::Expr>{te::sum(a(k), {k}), te::max(a(k), {k})};
                    }),
      "te: operation \"B\": expected bodies that share one reduction, got different "
      "ones");
}

TEST_CASE("formulas that nothing could walk are refused", "[te]") {
  const auto chain = [](int times, bool repeats) {
    te::Program p;
    const te::Tensor a = p.placeholder("A", {4});
    (void)p.compute("C", {4}, [&](const te::Expr& i) {
      te::Expr x = a(i);
      for (int n = 0; n < times; ++n) {
        x = repeats ? x * x + 1.0 : x + 1.0;
      }
      return x;
    });
  };
  CHECK_NOTHROW(chain(1000, false));
  CHECK_NOTHROW(chain(12, true));
  CHECK_THROWS_WITH(chain(5000, false), Catch::Matchers::Contains("inside of each other"));
  CHECK_THROWS_WITH(chain(200000, false), Catch::Matchers::Contains("a compute of their own"));
  CHECK_THROWS_WITH(chain(60, true), Catch::Matchers::Contains("used several times"));
}
