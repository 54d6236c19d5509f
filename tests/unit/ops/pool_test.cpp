// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ops/pool.hpp"

#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

Values naive_pool(const ops::PoolParams& p, const Values& x, std::int64_t oh, std::int64_t ow) {
  Values out(static_cast<std::size_t>(p.n * p.c * oh * ow));
  const std::int64_t in_extent[3] = {1, p.spatial[0], p.spatial[1]};
  const std::int64_t out_extent[3] = {1, oh, ow};
  for (std::int64_t n = 0; n < p.n; ++n) {
    for (std::int64_t c = 0; c < p.c; ++c) {
      for (std::int64_t i = 0; i < oh; ++i) {
        for (std::int64_t j = 0; j < ow; ++j) {
          double largest = -1e30, sum = 0, count = 0;
          for (std::int64_t a = 0; a < p.kernel[0]; ++a) {
            for (std::int64_t b = 0; b < p.kernel[1]; ++b) {
              const std::int64_t at[3] = {0, i * p.stride[0] + a - p.pad[0],
                                          j * p.stride[1] + b - p.pad[1]};
              const auto is_padding = [&](int axis) {
                return at[axis] < 0 || at[axis] >= p.spatial[static_cast<std::size_t>(axis) - 1];
              };
              const auto is_beyond = [&](int axis) {
                const auto x = static_cast<std::size_t>(axis) - 1;
                const std::int64_t end = p.pad_end[x] < 0 ? p.pad[x] : p.pad_end[x];
                return at[axis] >= p.spatial[x] + end;
              };
              if (is_padding(1) || is_padding(2)) {
                count += p.counts_padding && !is_beyond(1) && !is_beyond(2) ? 1 : 0;
                continue;
              }
              count += 1;
              const double value = x[activation_at(p.layout, in_extent, p.c, n, c, at)];
              largest = value > largest ? value : largest;
              sum += value;
            }
          }
          const std::int64_t at[3] = {0, i, j};
          out[activation_at(p.layout, out_extent, p.c, n, c, at)] =
              p.kind == ops::PoolKind::max ? largest : sum / count;
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("max and average pooling equal naive loops", "[ops]") {
  for (ops::PoolKind kind : {ops::PoolKind::max, ops::PoolKind::average}) {
    for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
      for (std::int64_t pad : {0, 1}) {
        ops::PoolParams p;
        p.kind = kind;
        p.layout = layout;
        p.n = 2;
        p.c = 3;
        p.spatial = {7, 6};
        p.kernel = {3, 2};
        p.stride = {2, 1};
        p.pad = {pad, pad};
        const ops::Workload workload = ops::pool(p);
        INFO(workload.name);
        const Run result = run(workload);
        check_equal(result.output,
                    naive_pool(p, result.inputs[0], p.out_spatial(0), p.out_spatial(1)), 1e-6);
      }
    }
  }
}

TEST_CASE("output extents of pooling that rounds up, as PyTorch counts them", "[ops]") {
  ops::PoolParams p;
  p.kernel = {3, 2};
  p.stride = {2, 3};
  p.pad = {1, 0};
  p.spatial = {6, 7};
  CHECK(p.out_spatial(0) == 3);
  CHECK(p.out_spatial(1) == 2);
  p.ceil_mode = true;
  CHECK(p.out_spatial(0) == 4);  // the last window begins at 5, in the input
  CHECK(p.out_spatial(1) == 3);
  p.kernel = {1, 1};
  p.pad = {0, 0};
  p.stride = {3, 4};
  p.spatial = {5, 4};
  CHECK(p.out_spatial(0) == 2);  // a third window would begin at 6, behind the input
  CHECK(p.out_spatial(1) == 1);
}

TEST_CASE("pooling with every option equals naive loops", "[ops]") {
  for (int options = 0; options < 16; ++options) {
    ops::PoolParams p;
    p.kind = (options & 1) != 0 ? ops::PoolKind::average : ops::PoolKind::max;
    p.ceil_mode = (options & 2) != 0;
    p.counts_padding = (options & 4) == 0;
    p.layout = (options & 8) != 0 ? ops::Layout::nchw : ops::Layout::nhwc;
    p.n = 2;
    p.c = 3;
    p.kernel = {3, 2};
    p.stride = {2, 3};
    p.pad = {1, 0};
    for (std::int64_t size = 5; size < 9; ++size) {
      for (std::int64_t end : {-1, 0, 1}) {
        p.spatial = {size, size + 2};
        p.pad_end = {end, end < 0 ? ops::same_pad : 1 - end};
        const ops::Workload workload = ops::pool(p);
        INFO(workload.name << " pe " << end << " count " << p.counts_padding);
        const Run result = run(workload);
        check_equal(result.output,
                    naive_pool(p, result.inputs[0], p.out_spatial(0), p.out_spatial(1)), 1e-6);
      }
    }
  }
}

TEST_CASE("global pooling", "[ops]") {
  for (ops::PoolKind kind : {ops::PoolKind::max, ops::PoolKind::average}) {
    for (ops::Layout layout : {ops::Layout::nhwc, ops::Layout::nchw}) {
      ops::PoolParams p;
      p.kind = kind;
      p.layout = layout;
      p.is_global = true;
      p.n = 2;
      p.c = 5;
      p.spatial = {3, 7};
      const Run result = run(ops::pool(p));
      CHECK(result.shape == std::vector<std::int64_t>{2, 5});
      p.kernel = p.spatial;
      check_equal(result.output, naive_pool(p, result.inputs[0], 1, 1), 1e-6);
    }
  }
}

TEST_CASE("maximum of whole numbers", "[ops]") {
  ops::PoolParams p;
  p.dtype = DType::i8;
  p.spatial = {4, 4};
  p.kernel = {2, 2};
  p.pad = {1, 1};
  const Run result = run(ops::pool(p));
  check_equal(result.output, naive_pool(p, result.inputs[0], 5, 5));
}

TEST_CASE("pooling refuses what it cannot be", "[ops]") {
  ops::PoolParams p;
  p.spatial = {4, 4};
  p.kernel = {2, 2};
  p.pad = {2, 2};
  CHECK_THROWS_WITH(ops::pool(p),
                    "ops::pool: expected padding of at least 0 and less than the kernel, got 2");
  p.pad = {0, 0};
  p.kernel = {5, 5};
  CHECK_THROWS_AS(ops::pool(p), Error);
  p.kernel = {2, 2};
  p.kind = ops::PoolKind::average;
  p.dtype = DType::i32;
  CHECK_THROWS_AS(ops::pool(p), Error);
}
