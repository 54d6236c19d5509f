// SPDX-License-Identifier: Apache-2.0
// Comparison with a reference of hard inputs: every element has a bound of its own.
#include <cmath>
#include <cstdio>
#include <vector>

#include "support/real_at.hpp"
#include "tensorsmith/measure/verify.hpp"

namespace tensorsmith {
namespace {

/// Whatever is written as a boolean counts, not only whether it is zero.
DType stored_type(DType dtype) { return dtype == DType::boolean ? DType::u8 : dtype; }

bool is_within(double got, double wanted, double bound) {
  if (!(bound < unknown_bound)) {
    return true;
  }
  return std::isfinite(wanted) ? std::fabs(got - wanted) <= bound
                               : got == wanted || (std::isnan(got) && std::isnan(wanted));
}

}  // namespace

Verdict verify_hard_output(const KernelArgument& argument, const RowSample& rows,
                           std::span<const std::byte> values, std::span<const std::byte> bounds,
                           std::span<const std::byte> output) {
  Verdict verdict;
  if (bounds.empty()) {
    KernelArgument sampled;
    sampled.name = argument.name;
    sampled.dtype = argument.dtype;
    sampled.num_elements = rows.elements_of(argument.num_elements);
    sampled.tolerance = argument.tolerance;
    const auto width = static_cast<std::size_t>(bytes_of(argument.dtype));
    return verify_output(sampled, values, 0,
                         gather_rows(rows, argument.num_elements, width, output));
  }
  std::int64_t num_bad = 0, num_compared = 0;
  std::string first;
  each_sampled_run(
      rows, argument.num_elements, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
        num_compared += count;
        for (std::int64_t i = 0; i < count; ++i) {
          const double got = real_at(stored_type(argument.dtype), output, from + i);
          const double wanted = real_at(stored_type(argument.reference_dtype), values, to + i);
          const double bound = real_at(DType::f64, bounds, to + i);
          if (!is_within(got, wanted, bound) && num_bad++ == 0) {
            char text[160];
            std::snprintf(text, sizeof(text), "%lld: got %.9g, expected %.9g within %.3g",
                          static_cast<long long>(from + i), got, wanted, bound);
            first = text;
          }
        }
      });
  if (num_bad > 0) {
    verdict.status = MeasureStatus::wrong_result;
    verdict.message = "output '" + argument.name + "': " + std::to_string(num_bad) + " of " +
                      std::to_string(num_compared) + " compared elements are wrong; first at " +
                      first;
  }
  return verdict;
}

JudgedShare judged_share(const HardReference& hard) {
  JudgedShare share;
  share.all = static_cast<std::int64_t>(hard.bounds.size() / sizeof(double));
  for (std::int64_t i = 0; i < share.all; ++i) {
    share.judged += real_at(DType::f64, hard.bounds, i) < unknown_bound ? 1 : 0;
  }
  return share;
}

}  // namespace tensorsmith
