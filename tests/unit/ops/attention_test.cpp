// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/attention.hpp"

#include <algorithm>

#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

ops::AttentionParams attention_params(DType type) {
  ops::AttentionParams p;
  p.batch = 2;
  p.queries = 3;
  p.keys = 5;
  p.width = 4;
  p.dtype = type;
  return p;
}

Values naive_attention(const ops::AttentionParams& p, const std::vector<Values>& in) {
  const auto at = [&](const Values& of, std::int64_t row, std::int64_t d) {
    return of[static_cast<std::size_t>(row * p.width + d)];
  };
  Values out;
  for (std::int64_t row = 0; row < p.batch * p.queries; ++row) {
    const std::int64_t first = row / p.queries * p.keys;
    Values weights;
    double sum = 0;
    for (std::int64_t n = 0; n < p.keys; ++n) {
      double score = 0;
      for (std::int64_t d = 0; d < p.width; ++d) {
        score += at(in[0], row, d) * at(in[1], first + n, d);
      }
      weights.push_back(std::exp(score / std::sqrt(static_cast<double>(p.width))));
      sum += weights.back();
    }
    for (std::int64_t d = 0; d < p.width; ++d) {
      double value = 0;
      for (std::int64_t n = 0; n < p.keys; ++n) {
        value += weights[static_cast<std::size_t>(n)] / sum * at(in[2], first + n, d);
      }
      out.push_back(value);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("attention equals naive loops", "[ops]") {
  for (DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const ops::AttentionParams p = attention_params(type);
    const ops::Workload workload = ops::attention(p);
    INFO(workload.name);
    const Run result = run(workload);
    CHECK(result.shape == std::vector<std::int64_t>{2, 3, 4});
    CHECK(workload.dag->tensor(workload.dag->arguments().back()).dtype == type);
    const double tolerance = type == DType::bf16 ? 8e-3 : type == DType::f16 ? 1e-3 : 1e-5;
    check_equal(result.output, naive_attention(p, result.inputs), tolerance);
    CHECK(workload.nominal_flop == 2.0 * 2 * 3 * 5 * 4 * 2);
    CHECK(workload.reduction_length == 5);
  }
}

TEST_CASE("attention with large scores has no overflow", "[ops]") {
  const ops::AttentionParams p = attention_params(DType::f32);
  const ops::Workload workload = ops::attention(p);
  std::vector<HostArray> arrays;
  for (std::size_t a = 0; a < 3; ++a) {
    const TensorInfo& info = workload.dag->tensor(workload.dag->arguments()[a]);
    arrays.emplace_back(info.dtype,
                        std::vector<std::int64_t>{info.shape.begin(), info.shape.end()});
    for (std::int64_t i = 0; i < arrays.back().num_elements(); ++i) {
      arrays.back().set_real(i, a == 2 ? input_value(a, i) : 30 * input_value(a, i));
    }
  }
  const auto output = eval_dag(*workload.dag, arrays);
  REQUIRE(output.has_value());
  for (std::int64_t i = 0; i < output->front().num_elements(); ++i) {
    CHECK(std::abs(output->front().get_real(i)) <= 4.001);  // a mean of values
  }
}

TEST_CASE("attention refuses what it cannot be", "[ops]") {
  ops::AttentionParams p = attention_params(DType::f32);
  p.keys = 0;
  CHECK_THROWS_WITH(ops::attention(p), "ops::attention: expected a positive number of keys, got 0");
  CHECK_THROWS_WITH(ops::attention(attention_params(DType::i8)),
                    "ops::attention: expected a float type, got i8");
}
