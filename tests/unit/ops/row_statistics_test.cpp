// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/row_statistics.hpp"

#include "tensorsmith/ops/row.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

double mean_of(const Values& x, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t c = 0; c < count; ++c) {
    sum += x[first + c];
  }
  return sum / static_cast<double>(count);
}
double variance_of(const Values& x, std::size_t first, std::size_t count, double divisor) {
  const double mean = mean_of(x, first, count);
  double sum = 0;
  for (std::size_t c = 0; c < count; ++c) {
    sum += (x[first + c] - mean) * (x[first + c] - mean);
  }
  return sum / divisor;
}

}  // namespace

TEST_CASE("mean and variance of rows equal naive loops", "[ops]") {
  for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (ops::RowKind kind : {ops::RowKind::mean, ops::RowKind::variance}) {
      for (bool is_unbiased : {false, true}) {
        if (is_unbiased && kind == ops::RowKind::mean) {
          continue;
        }
        ops::RowParams p;
        p.kind = kind;
        p.rows = 5;
        p.columns = 11;
        p.dtype = type;
        p.is_unbiased = is_unbiased;
        const ops::Workload workload = ops::row_op(p);
        INFO(workload.name);
        const Run result = run(workload);
        Values expected;
        for (std::size_t r = 0; r < 5; ++r) {
          expected.push_back(kind == ops::RowKind::mean ? mean_of(result.inputs[0], r * 11, 11)
                                                        : variance_of(result.inputs[0], r * 11, 11,
                                                                      is_unbiased ? 10 : 11));
        }
        check_equal(result.output, expected, 1e-5);
      }
    }
  }
}

TEST_CASE("the variance of rows far from zero", "[ops]") {
  ops::RowParams p;
  p.kind = ops::RowKind::variance;
  p.rows = 2;
  p.columns = 4;
  HostArray input(DType::f32, {2, 4});
  for (std::int64_t i = 0; i < 8; ++i) {
    input.set_real(i, i < 4 ? 40000 + static_cast<double>(i) : 7);
  }
  const auto output = eval_dag(*ops::row_op(p).dag, {input});
  REQUIRE(output.has_value());
  CHECK(output->front().get_real(0) == Approx(1.25).epsilon(1e-4));
  CHECK(output->front().get_real(1) == 0);
}

TEST_CASE("mean and variance refuse what they cannot be", "[ops]") {
  ops::RowParams p;
  p.kind = ops::RowKind::mean;
  p.dtype = DType::i32;
  CHECK_THROWS_WITH(ops::row_op(p), "ops::row_op: expected a float type, got i32");
  p.dtype = DType::f32;
  p.is_unbiased = true;
  CHECK_THROWS_AS(ops::row_op(p), Error);
  p.kind = ops::RowKind::variance;
  CHECK_THROWS_WITH(ops::row_op(p), "ops::row_op: expected reduce_var of 2 and more columns to be "
                                    "unbiased, got 1 column");
}
