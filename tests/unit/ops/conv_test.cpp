// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/conv.hpp"

#include "tensorsmith/ops/pool.hpp"
#include "tensorsmith/ops/winograd.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

void check(const ops::ConvParams& p, double tolerance = 0) {
  const ops::Workload workload = ops::conv(p);
  INFO(workload.name << (p.layout == ops::Layout::nchw ? " nchw" : " nhwc"));
  const Run result = run(workload);
  check_equal(result.output, naive_conv(p, result.inputs), tolerance);
}
void check_layouts(ops::ConvParams p) {
  for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
    p.layout = layout;
    check(p);
  }
}
ops::ConvParams plane(std::int64_t ci, std::int64_t co, std::int64_t h, std::int64_t w,
                      std::int64_t k) {
  ops::ConvParams p;
  p.n = 2;
  p.ci = ci;
  p.co = co;
  p.spatial = {h, w, 1};
  p.kernel = {k, k, 1};
  return p;
}

}  // namespace

TEST_CASE("conv2d: stride, padding and dilation", "[ops]") {
  for (std::int64_t stride : {1, 2, 3}) {
    for (std::int64_t pad : {0, 1, 2}) {
      for (std::int64_t dilation : {1, 2}) {
        ops::ConvParams p = plane(3, 2, 7, 6, 3);
        p.stride = {stride, stride, 1};
        p.pad = {pad, pad, 0};
        p.dilation = {dilation, dilation, 1};
        check_layouts(p);
      }
    }
  }
}

TEST_CASE("conv2d: different numbers per axis", "[ops]") {
  ops::ConvParams p = plane(2, 3, 9, 5, 3);
  p.kernel = {1, 4, 1};
  p.stride = {3, 1, 1};
  p.pad = {0, 2, 0};
  check_layouts(p);
}

TEST_CASE("conv2d: groups and depthwise", "[ops]") {
  ops::ConvParams p = plane(6, 4, 5, 5, 3);
  p.groups = 2;
  p.pad = {1, 1, 0};
  check_layouts(p);
  ops::ConvParams d = plane(5, 5, 6, 7, 3);
  d.groups = 5;
  d.pad = {1, 1, 0};
  check_layouts(d);  // as grouped convolution
  d.depthwise = true;
  check_layouts(d);
  d.stride = {2, 2, 1};
  check_layouts(d);
}

TEST_CASE("conv2d: epilogues", "[ops]") {
  ops::ConvParams p = plane(3, 4, 5, 4, 3);
  p.bias = true;
  check_layouts(p);
  p.activation = ops::Activation::relu;
  check_layouts(p);
  p.add = true;
  check_layouts(p);
  p.bias = false;
  check_layouts(p);
  p.activation = ops::Activation::gelu;
  check(p, 1e-5);
}

TEST_CASE("conv2d: Winograd's tiles, whole and cut off", "[ops]") {
  for (int outputs : {2, 4}) {
    for (std::int64_t pad : {0, 1, 2}) {
      for (std::int64_t rows : {3, 6, 9}) {
        ops::ConvParams p = plane(3, 2, rows, 8, 3);
        p.pad = {pad, pad, 0};
        p.winograd = outputs;
        p.dtype = DType::f64;
        for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
          p.layout = layout;
          check(p, outputs == 2 ? 0 : 1e-12);
        }
      }
    }
  }
  ops::ConvParams p = plane(5, 4, 7, 6, 3);
  p.winograd = 2;  // quarters of whole numbers: exact in f32
  p.bias = p.add = true;
  p.activation = ops::Activation::relu;
  check_layouts(p);
}

TEST_CASE("conv2d: Winograd's rounding, from the squares of its matrices", "[ops]") {
  CHECK(ops::detail::winograd_rounding(2) == Approx(5.0 / 3));
  CHECK(ops::detail::winograd_rounding(4) == Approx(31.2).epsilon(0.01));
  ops::ConvParams p = plane(3, 2, 6, 8, 3);
  p.winograd = 4;
  CHECK(ops::conv(p).dag->operations().back().attrs.rounding == ops::detail::winograd_rounding(4));
}

TEST_CASE("conv1d and conv3d", "[ops]") {
  ops::ConvParams one;
  one.rank = 1;
  one.n = 2;
  one.ci = 3;
  one.co = 2;
  one.spatial = {11, 1, 1};
  one.kernel = {4, 1, 1};
  one.stride = {2, 1, 1};
  one.pad = {1, 0, 0};
  check_layouts(one);
  ops::ConvParams three;
  three.rank = 3;
  three.ci = 2;
  three.co = 3;
  three.spatial = {4, 5, 3};
  three.kernel = {3, 2, 3};
  three.stride = {1, 2, 1};
  three.pad = {1, 0, 1};
  check_layouts(three);
}

TEST_CASE("transposed convolution gathers what the naive loops scatter", "[ops]") {
  for (std::int64_t stride : {1, 2, 3}) {
    for (std::int64_t pad : {0, 1, 2}) {
      for (std::int64_t kernel : {1, 2, 3, 4}) {
        for (std::int64_t dilation : {1, 2}) {
          ops::ConvParams p = plane(2, 3, 3, 4, kernel);
          p.transposed = true;
          p.stride = {stride, stride, 1};
          p.pad = {pad, pad, 0};
          p.dilation = {dilation, dilation, 1};
          if (p.out_spatial(0) <= 0 || p.out_spatial(1) <= 0) {
            CHECK_THROWS_AS(ops::conv(p), Error);
            continue;
          }
          check_layouts(p);
        }
      }
    }
  }
}

TEST_CASE("transposed convolution: groups, ranks 1 and 3, epilogue", "[ops]") {
  ops::ConvParams p = plane(4, 6, 3, 3, 3);
  p.transposed = true;
  p.groups = 2;
  p.stride = {2, 2, 1};
  p.pad = {1, 1, 0};
  p.bias = true;
  check_layouts(p);
  p.rank = 1;
  p.spatial = {5, 1, 1};
  p.kernel = {4, 1, 1};
  p.stride = {2, 1, 1};
  p.pad = {1, 0, 0};
  check_layouts(p);
  p.rank = 3;
  p.spatial = {2, 3, 2};
  p.kernel = {2, 3, 2};
  p.stride = {2, 1, 2};
  p.pad = {0, 1, 0};
  check_layouts(p);
}

TEST_CASE("convolution of bytes is summed up in i32", "[ops]") {
  ops::ConvParams p = plane(3, 2, 4, 4, 3);
  p.dtype = DType::i8;
  p.pad = {1, 1, 0};
  check_layouts(p);
}

TEST_CASE("conv2d: windows over the result are those of the pooling alone", "[ops]") {
  for (ops::PoolKind kind : {ops::PoolKind::max, ops::PoolKind::average}) {
    for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
      ops::ConvParams p = plane(3, 4, 7, 6, 3);
      p.layout = layout;
      p.bias = true;
      p.activation = ops::Activation::relu;
      const Run before = run(ops::conv(p));
      p.has_pool = true;
      p.pool = ops::PoolWindow{kind, {3, 2}, {2, 1}, {1, 0}};
      const ops::Workload workload = ops::conv(p);
      INFO(workload.name);
      const Run result = run(workload);
      // The same numbers again, through a program of the windows only.
      const ops::Workload alone = ops::pool(ops::detail::pooling_of(p));
      HostArray between(p.dtype, before.shape);
      for (std::int64_t i = 0; i < between.num_elements(); ++i) {
        between.set_real(i, before.output[static_cast<std::size_t>(i)]);
      }
      const auto expected = eval_dag(*alone.dag, {between});
      REQUIRE(expected.has_value());
      REQUIRE(result.shape == expected->front().shape);
      Values values;
      for (std::int64_t i = 0; i < expected->front().num_elements(); ++i) {
        values.push_back(expected->front().get_real(i));
      }
      check_equal(result.output, values);
    }
  }
}

TEST_CASE("conv2d: a depthwise convolution behind it is that of the result", "[ops]") {
  for (const std::int64_t stride : {1, 2}) {
    for (const bool has_epilogue : {false, true}) {
      for (const ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
        ops::ConvParams p = plane(3, 5, 7, 6, 1);
        p.layout = layout;
        p.bias = has_epilogue;
        p.activation = has_epilogue ? ops::Activation::relu : ops::Activation::none;
        p.has_depthwise = true;
        p.behind = ops::DepthwiseTaps{{3, 2}, {stride, 1}, {1, 0}};
        const ops::Workload workload = ops::conv(p);
        INFO(workload.name);
        const Run result = run(workload);
        const std::size_t num_first = has_epilogue ? 3 : 2;
        REQUIRE(result.inputs.size() == (has_epilogue ? 5 : 3));
        const std::vector<Values> first(
            result.inputs.begin(), result.inputs.begin() + static_cast<std::ptrdiff_t>(num_first));
        std::vector<Values> next(result.inputs.begin() + static_cast<std::ptrdiff_t>(num_first),
                                 result.inputs.end());
        next.insert(next.begin(), naive_conv(p, first));
        check_equal(result.output, naive_conv(ops::detail::depthwise_of(p), next));
        CHECK(workload.reduction_length == 3 + 6);
        CHECK(workload.nominal_flop == 2.0 * 2 * 5 * (7 * 6 * 3 + (stride == 1 ? 7 : 4) * 5 * 6));
      }
    }
  }
}

TEST_CASE("padding that differs at the two ends", "[ops]") {
  ops::ConvParams p = plane(3, 2, 7, 6, 3);
  for (const auto& [begin, end] : {std::pair{0, 2}, std::pair{2, 0}, std::pair{1, 3}}) {
    p.pad = {begin, 1, 0};
    p.pad_end = {end, begin, 0};
    p.stride = {2, 1, 1};
    check_layouts(p);
    p.stride = {1, 1, 1};
    p.winograd = 2;
    check(p, 1e-5);
    p.winograd = 0;
  }
  p.pad_end = {-2, 0, 0};
  CHECK_THROWS_WITH(ops::conv(p), "ops::conv: expected padding of at least 0, got -2");
}

TEST_CASE("transposed convolutions with padding that differs and more output", "[ops]") {
  for (std::int64_t stride : {1, 2, 3}) {
    for (std::int64_t more = 0; more < stride; ++more) {
      ops::ConvParams p = plane(2, 3, 3, 4, 3);
      p.transposed = true;
      p.stride = {stride, stride, 1};
      p.pad = {1, 0, 0};
      p.pad_end = {0, 1, 0};
      p.output_padding = {more, stride - 1 - more, 0};
      CHECK(p.out_spatial(0) == 2 * stride + 3 - 1 + more);
      check_layouts(p);
    }
  }
  ops::ConvParams p = plane(2, 3, 3, 4, 3);
  p.output_padding = {1, 0, 0};
  CHECK_THROWS_WITH(ops::conv(p), "ops::conv: expected no output padding unless transposed, got 1");
  p.transposed = true;
  CHECK_THROWS_AS(ops::conv(p), Error);
}

TEST_CASE("convolution refuses what it cannot be", "[ops]") {
  ops::ConvParams p = plane(3, 2, 4, 4, 5);
  CHECK_THROWS_WITH(ops::conv(p), "ops::conv: expected an output that is not empty, got a kernel "
                                  "larger than the padded input");
  p = plane(3, 2, 4, 4, 3);
  p.groups = 2;
  CHECK_THROWS_AS(ops::conv(p), Error);
  p.groups = 1;
  p.stride[0] = 0;
  CHECK_THROWS_AS(ops::conv(p), Error);
  p.stride[0] = 1;
  p.pad[0] = -1;
  CHECK_THROWS_AS(ops::conv(p), Error);
  p.pad[0] = 0;
  p.depthwise = true;
  CHECK_THROWS_AS(ops::conv(p), Error);
  p = plane(3, 2, 4, 4, 3);
  p.has_pool = true;
  p.pool = ops::PoolWindow{ops::PoolKind::max, {3, 3}, {1, 1}, {0, 0}};
  CHECK_THROWS_WITH(ops::conv(p), "ops::pool: expected an output that is not empty, got a kernel "
                                  "larger than the padded input");
  p.rank = 1;
  CHECK_THROWS_WITH(ops::conv(p), "ops::conv: expected rank 2 with a pooling behind it, got 1");
  p = plane(3, 2, 4, 4, 3);
  p.has_depthwise = true;
  p.behind.kernel = {3, 3};
  CHECK_THROWS_WITH(ops::conv(p), "ops::conv: expected an output that is not empty, got a kernel "
                                  "larger than the padded input");
  p.behind.pad = {1, 1};
  p.add = true;
  CHECK_THROWS_WITH(ops::conv(p), "ops::conv: expected rank 2, no pooling, batch norm, residual or "
                                  "requantization with a depthwise one behind it, got others");
}
