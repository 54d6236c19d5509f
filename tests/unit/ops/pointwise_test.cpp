#include "tensorsmith/ops/pointwise.hpp"

#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("a chain of all pointwise operations equals naive loops", "[ops]") {
  using Op = ops::PointwiseOp;
  ops::PointwiseParams p;
  p.shape = {3, 5, 2};
  p.chain = {Op::add, Op::relu, Op::mul, Op::gelu, Op::tanh, Op::add, Op::sigmoid, Op::exp};
  const ops::Workload workload = ops::pointwise(p);
  CHECK(workload.name == "pointwise:3x5x2:add+relu+mul+gelu+tanh+add+sigmoid+exp");
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

TEST_CASE("a chain refuses what it cannot be", "[ops]") {
  ops::PointwiseParams p;
  p.shape = {3};
  CHECK_THROWS_WITH(ops::pointwise(p), "ops::pointwise: expected at least one operation, got none");
  p.chain = {ops::PointwiseOp::relu};
  p.dtype = DType::i32;
  CHECK_THROWS_AS(ops::pointwise(p), Error);
}
