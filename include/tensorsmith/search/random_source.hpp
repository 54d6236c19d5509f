// SPDX-License-Identifier: Apache-2.0
// RandomSource: where the random numbers of the initial population come from.
//
// Floor 7. Own design; the reference's generators: Ansor reference, ch. 5.2.
#pragma once

#include <array>
#include <cstdint>

#include "tensorsmith/support/value_names.hpp"

namespace tensorsmith {

enum class RandomSource : std::uint8_t {
  counter,           ///< one stream per program, a pure function of its number
  mersenne_twister,  ///< the reference's generators: a seed samples the reference's programs
};

inline constexpr std::array<ValueName<RandomSource>, 2> random_source_names = {
    {{RandomSource::counter, "counter"}, {RandomSource::mersenne_twister, "reference"}}};

}  // namespace tensorsmith
