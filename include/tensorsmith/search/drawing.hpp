// SPDX-License-Identifier: Apache-2.0
// NativeDrawing, ReferenceDrawing: how programs are drawn and mutated where the two differ.
//
// Floor 7. Ansor reference, ch. 5.1 and 5.3; the other: own design. Rules and mutations that know
// a difference have one of these as a parameter; none asks the space whose it is. Not here: whose
// random numbers are drawn (search/reference_sampler.hpp), which rules and mutations there are
// (search/population/sample.hpp, search/evolution/weighted_mutators.hpp).
#pragma once

#include <cstdint>

namespace tensorsmith {

/// As this project does it.
struct NativeDrawing {
  /// The extents of chosen lengths are known when places of stages are listed. Else loops of one
  /// iteration are listed too.
  static constexpr bool infers_bounds_before_places = true;
  /// Loops that a parallel one is fused of leave the innermost loop of a stage to vectors.
  static constexpr bool leaves_innermost_to_vectors = true;
  /// Lengths that a rule has set stay as they are.
  static constexpr bool keeps_fixed_lengths = true;
  /// A mutation draws no value that is there already.
  static constexpr bool draws_other_values = true;
  /// The outermost part of a split that does not divide its extent covers the rest.
  static constexpr bool rounds_quotients_up = true;
};

/// As the reference does it, so that equal random numbers draw equal programs.
struct ReferenceDrawing {
  static constexpr bool infers_bounds_before_places = false;
  static constexpr bool leaves_innermost_to_vectors = false;
  static constexpr bool keeps_fixed_lengths = false;
  static constexpr bool draws_other_values = false;
  static constexpr bool rounds_quotients_up = false;
};

/// Which of them a space that is chosen at run time is for.
enum class DrawingKind : std::uint8_t { native, reference };

}  // namespace tensorsmith
