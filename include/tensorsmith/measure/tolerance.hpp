// SPDX-License-Identifier: Apache-2.0
// OutputTolerance: how far an output element may be from its reference, and where that comes from.
//
// Floor 6. Own design. Integers are exact, except where they were rounded from floats: there a
// value next to a half (or, cut off, next to a whole number) may become either neighbour. Floats
// get a bound from the type's precision and the length of the reduction: rounding errors of a sum
// of K terms grow like sqrt(K) (Higham, "Accuracy and Stability of Numerical Algorithms",
// sec. 4.5), so a fixed 1e-2 would hide real bugs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// `exact`: equal values. `bounded`: |got - reference| <= absolute + relative * |reference| +
/// of_rms * rms(reference), where rms is over the whole output; NaN and infinity must agree.
/// `rounded`: integers, |got - reference| <= 1, and equal but for one element or one in
/// `rounded_share`, so that another rounding than the workload's is an error.
struct OutputTolerance {
  enum class Kind : std::uint8_t { exact, bounded, rounded };
  static constexpr std::size_t rounded_share = 64;
  Kind kind = Kind::exact;
  double absolute = 0;
  double relative = 0;
  double of_rms = 0;
};

/// Distance from 1 to the next number; 0 for types that are not floats.
inline double epsilon_of(DType type) {
  switch (type) {
  case DType::f64:
    return 0x1.0p-52;
  case DType::f32:
    return 0x1.0p-23;
  case DType::f16:
    return 0x1.0p-10;
  case DType::bf16:
    return 0x1.0p-7;
  default:
    return 0;
  }
}

/// For integers that were converted from floats.
inline OutputTolerance tolerance_for_rounded() {
  OutputTolerance tolerance;
  tolerance.kind = OutputTolerance::Kind::rounded;
  tolerance.absolute = 1;
  return tolerance;
}

/// Bound for an output of type `output` that sums `reduction_length` terms in type `accumulator`
/// (1: no reduction), plus `extra_ulps` of the accumulator for function approximations on the way.
inline OutputTolerance tolerance_for(DType output, DType accumulator, std::int64_t reduction_length,
                                     double extra_ulps = 4) {
  if (!is_float(output)) {
    return OutputTolerance{};
  }
  const double safety = 4;
  const double terms = math::sqrt(static_cast<double>(reduction_length < 1 ? 1 : reduction_length));
  const double rounding =
      safety * epsilon_of(is_float(accumulator) ? accumulator : output) * (terms + extra_ulps);
  OutputTolerance tolerance;
  tolerance.kind = OutputTolerance::Kind::bounded;
  tolerance.relative = epsilon_of(output) + rounding;
  tolerance.of_rms = reduction_length > 1 ? rounding : 0;
  // Below the normal range the spacing is absolute.
  tolerance.absolute = output == DType::f16 ? 0x1.0p-23 : 1e-37;
  return tolerance;
}

}  // namespace tensorsmith
