// SPDX-License-Identifier: Apache-2.0
// Compares an output with its reference, and fills outputs with values that cannot be right.
//
// Floor 6; compiled in lib/measure. Own design. The worker checks next to the data, so outputs
// never travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tensorsmith/measure/status.hpp"
#include "tensorsmith/measure/task.hpp"

namespace tensorsmith {

struct Verdict {
  MeasureStatus status = MeasureStatus::ok;  ///< ok, wrong_result or nan_result
  std::string message;  ///< names the first bad element, and how many there are
};

/// A bound of an error that is not known is this or more.
inline constexpr double unknown_bound = 1e250;

/// The reference without its bounds; `reference` is that of the argument or empty.
std::span<const std::byte> values_of(const KernelArgument& argument,
                                     std::span<const std::byte> reference);

/// Root mean square of a float reference, NaN and infinity left out; 0 for integers.
double rms_of(std::span<const std::byte> reference, DType dtype);

/// Fills an output so that no element that stays unwritten can pass: a NaN of its own for floats,
/// the complement of the reference for integers (0xA5 without one).
void poison_output(const KernelArgument& argument, std::span<const std::byte> reference,
                   std::span<std::byte> output);

/// `rms` as from rms_of, of the reference's values. Linear; about a nanosecond per element or less.
Verdict verify_output(const KernelArgument& argument, std::span<const std::byte> reference,
                      double rms, std::span<const std::byte> output);

/// The same of hard inputs: the rows that `hard` has values of, each float within its own bound.
/// `values` and `bounds` are those of `hard`, wherever they lie.
Verdict verify_hard_output(const KernelArgument& argument, const RowSample& rows,
                           std::span<const std::byte> values, std::span<const std::byte> bounds,
                           std::span<const std::byte> output);

/// Float references with a bound that says something, and all of them.
struct JudgedShare {
  std::int64_t judged = 0, all = 0;
};
JudgedShare judged_share(const HardReference& hard);

}  // namespace tensorsmith
