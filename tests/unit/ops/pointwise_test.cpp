// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/pointwise.hpp"

#include <algorithm>

#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("a chain of all pointwise operations equals naive loops", "[ops]") {
  using Op = ops::PointwiseOp;
  ops::PointwiseParams p;
  p.shape = {3, 5, 2};
  p.chain = {Op::add, Op::relu, Op::mul, Op::gelu, Op::tanh, Op::add, Op::sigmoid, Op::exp};
  const ops::Workload workload = ops::pointwise(p);
  CHECK(workload.name == "pointwise:3x5x2:f32,add,relu,mul,gelu,tanh,add,sigmoid,exp");
  const Run result = run(workload);
  REQUIRE(result.inputs.size() == 4);
  Values expected;
  for (std::size_t i = 0; i < result.output.size(); ++i) {
    double x = result.inputs[0][i] + result.inputs[1][i];
    x = activate(x, ops::Activation::relu) * result.inputs[2][i];
    x = std::tanh(activate(x, ops::Activation::gelu)) + result.inputs[3][i];
    expected.push_back(std::exp(1 / (1 + std::exp(-x))));
  }
  check_equal(result.output, expected, 1e-5);
  CHECK(workload.nominal_flop == 8.0 * 30);
}

namespace {

/// Divisions by 0 agree in what they are.
void check_finite_equal(const Values& got, const Values& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool is_equal = std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i];
    INFO("element " << i << ": " << got[i] << ", expected " << expected[i]);
    CHECK(is_equal);
  }
}

/// A chain of this one step behind A, on the interpreter, against loops.
void check_step(ops::PointwiseOp op, ops::Broadcast broadcast, double (*value)(double, double)) {
  const std::size_t planes = 3, rows = 5, columns = 2;
  ops::PointwiseParams p;
  p.shape = {planes, rows, columns};
  p.chain = {{op, broadcast}};
  p.dtype = DType::f64;
  const ops::Workload workload = ops::pointwise(p);
  INFO(workload.name);
  const Run result = run(workload);
  REQUIRE(result.inputs.size() == 2);
  const Values &a = result.inputs[0], &y = result.inputs[1];
  Values expected;
  for (std::size_t i = 0; i < planes; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t k = 0; k < columns; ++k) {
        const std::size_t row = i * rows + j, at = row * columns + k;
        const std::size_t of_operand = broadcast == ops::Broadcast::none         ? at
                                       : broadcast == ops::Broadcast::per_column ? k
                                                                                 : row;
        REQUIRE(of_operand < y.size());
        expected.push_back(value(a[at], y[of_operand]));
      }
    }
  }
  CHECK(y.size() == (broadcast == ops::Broadcast::none         ? planes * rows * columns
                     : broadcast == ops::Broadcast::per_column ? columns
                                                               : planes * rows));
  check_finite_equal(result.output, expected);
}

}  // namespace

TEST_CASE("every operation of two operands, with every broadcast, equals naive loops", "[ops]") {
  using Op = ops::PointwiseOp;
  const std::pair<Op, double (*)(double, double)> all[] = {
      {Op::add, [](double x, double y) { return x + y; }},
      {Op::sub, [](double x, double y) { return x - y; }},
      {Op::mul, [](double x, double y) { return x * y; }},
      {Op::div, [](double x, double y) { return x / y; }},
      {Op::max, [](double x, double y) { return x > y ? x : y; }},
      {Op::min, [](double x, double y) { return x < y ? x : y; }}};
  for (const auto& [op, value] : all) {
    CHECK(ops::is_binary(op));
    for (const ops::Broadcast broadcast :
         {ops::Broadcast::none, ops::Broadcast::per_column, ops::Broadcast::per_row}) {
      check_step(op, broadcast, value);
    }
  }
  CHECK_FALSE(ops::is_binary(Op::relu));
}

TEST_CASE("a scale and a shift per column, a residual and a factor per row equal naive loops",
          "[ops]") {
  using Op = ops::PointwiseOp;
  const std::size_t rows = 7, columns = 5;
  ops::PointwiseParams p;
  p.shape = {7, 5};
  p.chain = {{Op::mul, ops::Broadcast::per_column},
             {Op::add, ops::Broadcast::per_column},
             Op::add,
             Op::relu,
             {Op::mul, ops::Broadcast::per_row}};
  const ops::Workload workload = ops::pointwise(p);
  CHECK(workload.name == "pointwise:7x5:f32,mul_per_column,add_per_column,add,relu,mul_per_row");
  const Run result = run(workload);
  REQUIRE(result.inputs.size() == 5);
  const std::vector<Values>& in = result.inputs;
  Values expected;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t at = i * columns + j;
      const double x = in[0][at] * in[1][j] + in[2][j] + in[3][at];
      expected.push_back((x > 0 ? x : 0) * in[4][i]);
    }
  }
  check_equal(result.output, expected);
  const ComputeDag& dag = *workload.dag;
  std::vector<std::string> names;
  for (const TensorId id : dag.arguments()) {
    names.push_back(dag.tensor(id).name);
  }
  CHECK(names == std::vector<std::string>{"A", "B", "X2", "X3", "X4", "T4"});
}

TEST_CASE("chains of integers wrap around, step by step", "[ops]") {
  using Op = ops::PointwiseOp;
  ops::PointwiseParams p;
  p.shape = {4};
  p.dtype = DType::i8;
  p.chain = {Op::mul, Op::sub, Op::max, Op::relu};
  const ops::Workload workload = ops::pointwise(p);
  const std::int64_t in[4][4] = {
      {127, -128, 100, -7}, {127, -1, 3, 5}, {1, 1, 1, -1}, {-9, 5, -128, 3}};
  std::vector<HostArray> inputs;
  for (const auto& values : in) {
    inputs.emplace_back(DType::i8, std::vector<std::int64_t>{4});
    for (std::int64_t i = 0; i < 4; ++i) {
      inputs.back().set_int(i, values[i]);
    }
  }
  const auto output = eval_dag(*workload.dag, inputs);
  REQUIRE(output.has_value());
  for (std::int64_t i = 0; i < 4; ++i) {
    int x = static_cast<std::int8_t>(in[0][i] * in[1][i]);
    x = static_cast<std::int8_t>(x - in[2][i]);
    x = std::max(x, static_cast<int>(in[3][i]));
    CHECK(output->front().get_int(i) == std::max(x, 0));
  }
  p.chain = {Op::div};
  CHECK_THROWS_WITH(ops::pointwise(p), "ops::pointwise: expected a float type, got i8");
}

TEST_CASE("a chain refuses what it cannot be", "[ops]") {
  ops::PointwiseParams p;
  p.shape = {3};
  CHECK_THROWS_WITH(ops::pointwise(p), "ops::pointwise: expected at least one operation, got none");
  p.chain = {ops::PointwiseOp::exp};
  p.dtype = DType::i32;
  CHECK_THROWS_AS(ops::pointwise(p), Error);
  p.chain = {ops::PointwiseOp::relu};
  p.dtype = DType::boolean;
  CHECK_THROWS_WITH(ops::pointwise(p), "ops::pointwise: expected a number type, got bool");
  p.dtype = DType::f32;
  p.chain = {{ops::PointwiseOp::relu, ops::Broadcast::per_column}};  // of no operand
  CHECK(ops::pointwise(p).name == "pointwise:3:f32,relu");
  p.chain = {{ops::PointwiseOp::add, ops::Broadcast::per_row}};  // one number
  const ops::Workload one = ops::pointwise(p);
  CHECK(one.dag->tensor(one.dag->arguments()[1]).shape.empty());
  const Run result = run(one);
  const double y = result.inputs[1][0];
  check_equal(result.output,
              {result.inputs[0][0] + y, result.inputs[0][1] + y, result.inputs[0][2] + y});
}
