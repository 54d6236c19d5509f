// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/batch_norm.hpp"

#include "tensorsmith/ops/conv.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Of a value of this channel; `in` holds gamma, beta, mean and var from `first` on. Variances are
/// made of whole numbers, so some are negative: their channels are not numbers, here and there.
double normalized(double x, std::size_t channel, const std::vector<Values>& in, std::size_t first) {
  return (x - in[first + 2][channel]) / std::sqrt(in[first + 3][channel] + 1e-5) *
             in[first][channel] +
         in[first + 1][channel];
}

void check_equal_or_nan(const Values& got, const Values& expected) {
  REQUIRE(got.size() == expected.size());
  std::size_t num_finite = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    if (std::isnan(expected[i])) {
      CHECK(std::isnan(got[i]));
    } else {
      ++num_finite;
      CHECK(got[i] == Approx(expected[i]).margin(1e-4));
    }
  }
  CHECK(num_finite > got.size() / 3);
}

}  // namespace

TEST_CASE("batch norm equals naive loops", "[ops]") {
  for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
    ops::BatchNormParams p;
    p.n = 2;
    p.c = 5;
    p.spatial = {3, 7};
    p.layout = layout;
    const ops::Workload workload = ops::batch_norm(p);
    INFO(workload.name);
    const Run result = run(workload);
    REQUIRE(result.inputs.size() == 5);
    Values expected;
    for (std::size_t i = 0; i < result.inputs[0].size(); ++i) {
      const std::size_t channel = layout == ops::Layout::nhwc ? i % 5 : i / 21 % 5;
      expected.push_back(normalized(result.inputs[0][i], channel, result.inputs, 1));
    }
    check_equal_or_nan(result.output, expected);
  }
}

TEST_CASE("batch norm loses nothing far from zero", "[ops]") {
  ops::BatchNormParams p;
  p.c = 2;
  p.relu = true;
  const ops::Workload workload = ops::batch_norm(p);
  const double in[5][2] = {{40001, 39998}, {2, 2}, {1, 1}, {40000, 40000}, {4, 4}};
  std::vector<HostArray> inputs;
  for (int a = 0; a < 5; ++a) {
    inputs.emplace_back(DType::f32, a == 0 ? std::vector<std::int64_t>{1, 1, 1, 2}
                                           : std::vector<std::int64_t>{2});
    inputs.back().set_real(0, in[a][0]);
    inputs.back().set_real(1, in[a][1]);
  }
  const auto output = eval_dag(*workload.dag, inputs);
  REQUIRE(output.has_value());
  CHECK(output->front().get_real(0) == Approx(2).epsilon(1e-5));
  CHECK(output->front().get_real(1) == 0);  // -1 without relu
}

TEST_CASE("a batch norm behind a convolution equals naive loops", "[ops]") {
  for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
    ops::ConvParams p;
    p.ci = 3;
    p.co = 4;
    p.spatial = {5, 6, 1};
    p.kernel = {3, 3, 1};
    p.pad = {1, 1, 0};
    p.layout = layout;
    const Run plain = run(ops::conv(p));
    p.batch_norm = true;
    const ops::Workload workload = ops::conv(p);
    INFO(workload.name);
    const Run result = run(workload);
    REQUIRE(result.inputs.size() == 6);
    Values expected;
    for (std::size_t i = 0; i < plain.output.size(); ++i) {
      const std::size_t channel = layout == ops::Layout::nhwc ? i % 4 : i / 30;
      expected.push_back(normalized(plain.output[i], channel, result.inputs, 2));
    }
    check_equal_or_nan(result.output, expected);
  }
}

TEST_CASE("batch norm refuses what it cannot be", "[ops]") {
  ops::BatchNormParams p;
  p.dtype = DType::i32;
  CHECK_THROWS_WITH(ops::batch_norm(p), "ops::batchnorm: expected a float type, got i32");
  p.dtype = DType::f32;
  p.c = 0;
  CHECK_THROWS_WITH(ops::batch_norm(p), "ops::batchnorm: expected a positive c, got 0");
}
