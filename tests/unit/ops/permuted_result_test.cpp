// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/permuted_result.hpp"

#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/ops/pointwise.hpp"
#include "tensorsmith/ops/row.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Of [batch, rows, columns]: [batch, columns, rows].
Values transposed(const Values& x, std::size_t batch, std::size_t rows, std::size_t columns) {
  Values out;
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t i = 0; i < rows; ++i) {
        out.push_back(x[(b * rows + i) * columns + j]);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("row operations with a transposed result", "[ops]") {
  for (ops::RowKind kind : {ops::RowKind::softmax, ops::RowKind::log_softmax,
                            ops::RowKind::layernorm, ops::RowKind::rmsnorm}) {
    for (std::int64_t online : {0, 4}) {
      ops::RowParams p;
      p.kind = kind;
      p.rows = 3;
      p.columns = 7;
      p.online = kind <= ops::RowKind::log_softmax ? online : 0;
      const Run plain = run(ops::row_op(p));
      p.is_transposed = true;
      const ops::Workload workload = ops::row_op(p);
      INFO(workload.name);
      const Run result = run(workload);
      CHECK(result.shape == std::vector<std::int64_t>{7, 3});
      check_equal(result.output, transposed(plain.output, 1, 3, 7));
    }
  }
  ops::RowParams sum;
  sum.kind = ops::RowKind::sum;
  sum.is_transposed = true;
  CHECK_THROWS_WITH(ops::row_op(sum), "ops::row_op: expected a matrix as result to transpose, got "
                                      "reduce_sum");
}

TEST_CASE("products with a transposed result", "[ops]") {
  for (bool is_batched : {false, true}) {
    for (int operands = 0; operands < 4; ++operands) {
      ops::GemmParams p;
      p.is_batched = is_batched;
      p.batch = is_batched ? 2 : 1;
      p.m = 3;
      p.n = 5;
      p.k = 4;
      p.transpose_a = (operands & 1) != 0;
      p.transpose_b = (operands & 2) != 0;
      p.bias = true;
      p.activation = ops::Activation::relu;
      const Run plain = run(ops::gemm(p));
      p.transpose_c = true;
      const ops::Workload workload = ops::gemm(p);
      INFO(workload.name);
      const Run result = run(workload);
      check_equal(result.output, transposed(plain.output, static_cast<std::size_t>(p.batch), 3, 5));
    }
  }
}

TEST_CASE("the residual of a transposed product is transposed, requantization goes by columns",
          "[ops]") {
  ops::GemmParams p;
  p.m = 3;
  p.n = 2;
  p.k = 4;
  p.add = true;
  p.transpose_c = true;
  const Run result = run(ops::gemm(p));
  p.add = false;
  Values expected = run(ops::gemm(p)).output;
  REQUIRE(result.inputs.size() == 3);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += result.inputs[2][i];
  }
  check_equal(result.output, expected);
  p.dtype = DType::i8;
  p.requant = ops::ByteType::i8;
  const Run bytes = run(ops::gemm(p));
  p.transpose_c = false;
  check_equal(bytes.output, transposed(run(ops::gemm(p)).output, 1, 3, 2));
  p.requant = ops::ByteType::none;
  p.dtype = DType::f32;
  p.layernorm = p.transpose_c = true;
  CHECK_THROWS_AS(ops::gemm(p), Error);
}

TEST_CASE("chains with a permuted result", "[ops]") {
  ops::PointwiseParams p;
  p.shape = {2, 3, 4};
  for (const bool has_steps : {true, false}) {
    p.permutation = {};
    p.chain = {{ops::PointwiseOp::mul, ops::Broadcast::per_column}, ops::PointwiseOp::relu};
    const Run plain = run(ops::pointwise(p));
    if (!has_steps) {
      p.chain.clear();
    }
    p.permutation = {2, 0, 1};
    const ops::Workload workload = ops::pointwise(p);
    INFO(workload.name);
    const Run result = run(workload);
    CHECK(result.shape == std::vector<std::int64_t>{4, 2, 3});
    Values expected;
    const Values& source = has_steps ? plain.output : result.inputs[0];
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
          expected.push_back(source[(i * 3 + j) * 4 + k]);
        }
      }
    }
    check_equal(result.output, expected);
  }
  for (const std::vector<std::int64_t>& wrong :
       {std::vector<std::int64_t>{0, 1}, std::vector<std::int64_t>{0, 1, 1},
        std::vector<std::int64_t>{0, 1, 3}}) {
    p.permutation = wrong;
    CHECK_THROWS_AS(ops::pointwise(p), Error);
  }
}
