// SPDX-License-Identifier: Apache-2.0
#include "bench/support/shapes.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace tensorsmith::bench;

TEST_CASE("the least work of a convolution leaves out what sees padding only", "[shapes]") {
  ConvShape s;
  s.ci = 2;
  s.co = 3;
  s.spatial = {4, 4, 1};
  s.kernel = {3, 3, 1};
  CHECK(sizes_of(s).least_flop == sizes_of(s).flop);
  s.pad = {1, 1, 0};
  // Along an axis of 4 the outer outputs see 2 taps of 3, the inner ones all: 10 of 12.
  CHECK(sizes_of(s).least_flop == Approx(sizes_of(s).flop * 100 / 144));
  s.transposed = true;  // the same pairs, seen from the other side
  CHECK(sizes_of(s).least_flop == Approx(sizes_of(s).flop * 100 / 144));
}

TEST_CASE("inputs come in the order of the sizes that a problem has", "[shapes]") {
  float a = 0, b = 0, c = 0, r = 0, out = 0;
  GemmShape s;
  s.add = true;
  Buffers buffers = buffers_of(sizes_of(s), {&a, &b, &r}, &out);
  CHECK(buffers.input == &a);
  CHECK(buffers.weights == &b);
  CHECK(buffers.bias == nullptr);
  CHECK(buffers.residual == &r);
  CHECK(buffers.output == &out);
  s.bias = true;
  buffers = buffers_of(sizes_of(s), {&a, &b, &c, &r}, &out);
  CHECK(buffers.bias == &c);
  CHECK(buffers.residual == &r);
  CHECK(buffers_of(sizes_of(s), {&a}, &out).weights == nullptr);
  PointwiseShape chain;
  chain.rows = 3;
  chain.columns = 5;
  chain.chain = {{PointwiseOp::mul, Broadcast::per_column},
                 {PointwiseOp::relu},
                 {PointwiseOp::add},
                 {PointwiseOp::sub, Broadcast::per_row}};
  const ProblemSizes sizes = sizes_of(chain);
  CHECK(sizes.operands == std::vector<std::int64_t>{5, 15, 3});
  CHECK(sizes.bytes() == 4 * (15 + 15 + 5 + 15 + 3));
  buffers = buffers_of(sizes, {&a, &b, &c, &r}, &out);
  CHECK(buffers.input == &a);
  CHECK(buffers.operands == std::vector<const float*>{&b, &c, &r});
}
