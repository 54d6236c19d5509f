// SPDX-License-Identifier: Apache-2.0
#include "bench/support/reference.hpp"

#include <cmath>

#include "bench/support/aligned_buffer.hpp"
#include "support/catch.hpp"

using namespace tensorsmith::bench;
using tensorsmith::test::Approx;

TEST_CASE("matrix products by hand", "[reference]") {
  const float a[] = {1, 2, 3, 4, 5, 6};
  const float b[] = {1, -1, 2, 0, 0, 3};
  const float bias[] = {10, -20};
  GemmShape shape;
  shape.m = 2;
  shape.n = 2;
  shape.k = 3;
  const Buffers buffers{a, b, bias, nullptr};
  {
    const Reference r(shape, buffers);  // [[1 2 3][4 5 6]] * [[1 -1][2 0][0 3]]
    CHECK(r.size() == 4);
    CHECK(r.at(0) == 5);
    CHECK(r.at(1) == 8);
    CHECK(r.at(2) == 14);
    CHECK(r.at(3) == 14);
  }
  shape.bias = true;
  shape.activation = Activation::relu;
  CHECK(Reference(shape, buffers).at(0) == 15);
  CHECK(Reference(shape, buffers).at(1) == 0);
  shape.bias = false;
  shape.activation = Activation::none;
  shape.transpose_a = true;  // [[1 3 5][2 4 6]]
  CHECK(Reference(shape, buffers).at(0) == 1 + 6);
  shape.transpose_b = true;  // [[1 0][-1 0][2 3]]
  CHECK(Reference(shape, buffers).at(0) == 1 - 3 + 10);
  CHECK(sizes_of(shape).flop == 24);
}

TEST_CASE("convolutions by hand", "[reference]") {
  const float x[] = {1, 2, 3, 4, 5};
  const float w[] = {1, 10, 100};
  ConvShape shape;
  shape.rank = 1;
  shape.spatial = {5, 1, 1};
  shape.kernel = {3, 1, 1};
  shape.pad = {1, 0, 0};
  const Buffers buffers{x, w, nullptr, nullptr};
  CHECK(Reference(shape, buffers).at(0) == 10 + 200);
  CHECK(Reference(shape, buffers).at(4) == 4 + 50);
  shape.stride = {2, 1, 1};
  CHECK(shape.out_spatial(0) == 3);
  CHECK(Reference(shape, buffers).at(1) == 2 + 30 + 400);
  shape.dilation = {2, 1, 1};
  shape.stride = {1, 1, 1};
  CHECK(shape.out_spatial(0) == 3);
  CHECK(Reference(shape, buffers).at(1) == 1 + 30 + 500);
  // Transposed, stride 2: out[o] = sum over i * 2 - 1 + t == o of x[i] w[t].
  shape.transposed = true;
  shape.dilation = {1, 1, 1};
  shape.stride = {2, 1, 1};
  CHECK(shape.out_spatial(0) == 9);
  CHECK(Reference(shape, buffers).at(0) == 10 * 1);
  CHECK(Reference(shape, buffers).at(1) == 100 * 1 + 1 * 2);
}

TEST_CASE("a transposed convolution is the adjoint of the convolution", "[reference]") {
  ConvShape forward;
  forward.ci = 3;
  forward.co = 2;
  forward.spatial = {7, 5, 1};
  forward.kernel = {3, 2, 1};
  forward.stride = {2, 1, 1};
  forward.pad = {1, 0, 0};
  ConvShape back = forward;
  back.transposed = true;
  back.ci = 2;
  back.co = 3;
  back.spatial = {forward.out_spatial(0), forward.out_spatial(1), 1};
  back.weights = WeightLayout::io_spatial;
  const ProblemSizes f = sizes_of(forward);
  REQUIRE(back.out_spatial(0) == 7);
  REQUIRE(back.out_spatial(1) == 5);
  REQUIRE(f.flop == sizes_of(back).flop);
  AlignedBuffer x(f.input), y(f.output), w(f.weights);
  x.fill_random(1);
  y.fill_random(2);
  w.fill_random(3);
  const Reference conv(forward, {x.data(), w.data(), nullptr, nullptr});
  const Reference adjoint(back, {y.data(), w.data(), nullptr, nullptr});
  double left = 0;
  double right = 0;
  for (std::int64_t i = 0; i < f.output; ++i)
    left += conv.at(i) * y[i];
  for (std::int64_t i = 0; i < f.input; ++i)
    right += adjoint.at(i) * x[i];
  CHECK(left == Approx(right));
}

TEST_CASE("row operators by hand", "[reference]") {
  const float x[] = {0, std::log(3.0F), 5, 5};
  const Buffers buffers{x, nullptr, nullptr, nullptr};
  CHECK(Reference(SoftmaxShape{2, 2}, buffers).at(1) == Approx(0.75));
  CHECK(Reference(SoftmaxShape{2, 2}, buffers).at(2) == Approx(0.5));
  CHECK(Reference(SoftmaxShape{2, 2, true}, buffers).at(1) == Approx(std::log(0.75)));
  const float y[] = {1, 2, 6};
  const float gamma[] = {2, 2, 2};
  const float beta[] = {0, 1, 0};
  const Buffers rows{y, gamma, beta, nullptr};
  CHECK(Reference(LayernormShape{1, 3, 0.0F}, rows).at(1) == Approx(1 - 2 / std::sqrt(14.0 / 3)));
  CHECK(Reference(ReduceShape{ReduceKind::sum, 1, 3}, rows).at(0) == 9);
  CHECK(Reference(ReduceShape{ReduceKind::max, 1, 3}, rows).at(0) == 6);
  CHECK(Reference(ReduceShape{ReduceKind::mean, 1, 3}, rows).at(0) == 3);
}

TEST_CASE("chains by hand", "[reference]") {
  const float x[] = {1, -2, 3, 4, -5, 6}, columns[] = {1, 10, 100}, rows[] = {2, -1};
  PointwiseShape shape;
  shape.rows = 2;
  shape.columns = 3;
  shape.chain = {{PointwiseOp::mul, Broadcast::per_column},
                 {PointwiseOp::add, Broadcast::per_row},
                 {PointwiseOp::relu},
                 {PointwiseOp::sub}};
  Buffers buffers{x};
  buffers.operands = {columns, rows, x};
  CHECK(Reference(shape, buffers).at(0) == 1 + 2 - 1);
  CHECK(Reference(shape, buffers).at(1) == 2);
  CHECK(Reference(shape, buffers).at(5) == 600 - 1 - 6);
  CHECK(sizes_of(shape).flop == 4 * 6);
  shape.chain = {{PointwiseOp::div}, {PointwiseOp::max, Broadcast::per_row}, {PointwiseOp::tanh}};
  buffers.operands = {x, rows};
  CHECK(Reference(shape, buffers).at(2) == Approx(std::tanh(2.0)));
  CHECK(Reference(shape, buffers).at(3) == Approx(std::tanh(1.0)));
  shape.chain = {{PointwiseOp::min, Broadcast::per_row}, {PointwiseOp::sigmoid}};
  buffers.operands = {rows};
  CHECK(Reference(shape, buffers).at(1) == Approx(1 / (1 + std::exp(2.0))));
}

TEST_CASE("comparison accepts rounding and nothing else", "[reference]") {
  const std::vector<double> want{1, -2, 3};
  const std::vector<std::int64_t> at{0, 5, 9};
  CHECK(compare({1, -2, 3}, want, at, 10, 1).ok);
  CHECK(compare({1.000001F, -2, 3}, want, at, 10, 100).ok);
  const VerifyResult wrong = compare({1, -2.001F, 3}, want, at, 10, 100);
  CHECK_FALSE(wrong.ok);
  CHECK(wrong.worst_index == 5);
  CHECK(wrong.checked == 3);
  CHECK(wrong.total == 10);
  CHECK(wrong.max_error == Approx(0.001).epsilon(0.01));
  CHECK_FALSE(wrong.message.empty());
  CHECK(compare({1, -2.001F, 3}, want, at, 10, 100, 100).ok);
  CHECK_FALSE(compare({1, NAN, 3}, want, at, 10, 100).ok);
  CHECK_FALSE(compare({1, -2, INFINITY}, want, at, 10, 100).ok);
  CHECK_FALSE(compare({}, {}, {}, 0, 1).ok);
  CHECK_FALSE(compare({1, -2}, want, at, 10, 1).ok);
  CHECK(compare({0, 0}, {0, 0}, {0, 1}, 2, 1).ok);
}

TEST_CASE("whole numbers are equal, few rounded ones may be neighbours", "[reference]") {
  std::vector<double> want(128, 7);
  std::vector<std::int64_t> at(128);
  std::vector<float> got(128, 7);
  CHECK(compare_integers(got, want, at, 128, false).ok);
  got[3] = got[90] = got[91] = 8;  // 1 + 128 / 64 may
  CHECK(compare_integers(got, want, at, 128, true).ok);
  CHECK_FALSE(compare_integers(got, want, at, 128, false).ok);
  got[5] = 6;
  CHECK_FALSE(compare_integers(got, want, at, 128, true).ok);
  got = std::vector<float>(128, 7);
  got[5] = 5;
  CHECK_FALSE(compare_integers(got, want, at, 128, true).ok);
  got[5] = NAN;
  CHECK_FALSE(compare_integers(got, want, at, 128, true).ok);
  CHECK_FALSE(compare_integers({}, {}, {}, 0, true).ok);
}

TEST_CASE("a sampled check sees the last element", "[reference]") {
  GemmShape shape;
  shape.m = 50;
  shape.n = 50;
  shape.k = 3;
  AlignedBuffer a(150), b(150), c(2500);
  a.fill_random(1);
  b.fill_random(2);
  const Buffers buffers{a.data(), b.data(), nullptr, c.data()};
  const Reference reference(shape, buffers);
  for (std::int64_t i = 0; i < 2500; ++i)
    c[i] = static_cast<float>(reference.at(i));
  const VerifyResult full = verify(shape, buffers, c.data());
  CHECK(full.ok);
  CHECK(full.checked == 2500);
  c[2499] += 0.5F;
  const VerifyResult sampled = verify(shape, buffers, c.data(), 300);
  CHECK_FALSE(sampled.ok);
  CHECK(sampled.checked == 100);
  CHECK(sampled.worst_index == 2499);
}
