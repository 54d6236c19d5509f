// SPDX-License-Identifier: Apache-2.0
// Lesson 22: a product for any number of rows: a family of kernels and a plan (docs/ranges.md).
// links: tune
// requires: llvm
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune/range.hpp"

namespace ts = tensorsmith;
namespace te = tensorsmith::te;

int main(int argc, char** argv) try {
  constexpr std::int64_t columns = 96, depth = 64, most = 40;
  ts::RangeOptions options;
  options.tune.budget.seconds = argc > 1 ? std::atof(argv[1]) : 5;

  const ts::RangeResult family = ts::tune_range(
      [](std::int64_t rows) {
        te::Program p;
        auto a = p.placeholder("A", {rows, depth}), b = p.placeholder("B", {depth, columns});
        auto k = p.reduce_axis("k", depth);
        auto c = p.compute("C", {rows, columns},
                           [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
        return ts::TuneTask{p.dag({a, b, c}), ts::host_target(), "", 0, {}};
      },
      1, most, options);
  const ts::RangeKernel product = family.kernel();
  std::printf("%zu kernels for 1 to %lld rows\n", family.members.size(),
              static_cast<long long>(most));

  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{17}, std::int64_t{29}, most}) {
    const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
    std::vector<float> a(size(rows * depth), 0.5F), b(size(depth * columns), 2.0F);
    std::vector<float> c(size(rows * columns));
    product(rows, a, b, c);  // checked: any number of rows from 1 to `most`
    for (const float value : c) {
      if (std::fabs(value - static_cast<float>(depth)) > 1e-3F) {
        std::fprintf(stderr, "failed: %lld rows\n", static_cast<long long>(rows));
        return 1;
      }
    }
    std::printf("%3lld rows: planned %.2f us\n", static_cast<long long>(rows),
                family.plan.ns[size(rows)] * 1e-3);
  }
  return 0;
} catch (const ts::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
