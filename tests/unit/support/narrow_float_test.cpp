// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/narrow_float.hpp"

#include "support/catch.hpp"

#include <cmath>

#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

TEST_CASE("the nearest narrow float is found, ties to even") {
  // Against the definition: no neighbour is nearer.
  CounterRng rng(test::seed(), 3);
  for (int n = 0; n < 20000; ++n) {
    const float value = static_cast<float>(
        std::ldexp(rng.next_double() * 2 - 1, static_cast<int>(rng.next_below(42)) - 27));
    for (const bool is_half : {true, false}) {
      const std::uint16_t bits = is_half ? f16_from_float(value) : bf16_from_float(value);
      const auto real = [&](std::uint16_t b) {
        return static_cast<double>(is_half ? float_from_f16(b) : float_from_bf16(b));
      };
      const double error = std::fabs(real(bits) - value);
      if (std::isinf(real(bits)) || (bits & 0x7FFF) == 0) {
        continue;
      }
      for (int step : {-1, 1}) {
        const double other = std::fabs(real(static_cast<std::uint16_t>(bits + step)) - value);
        const bool is_best = error < other || (error == other && (bits & 1) == 0);
        if (!is_best) {
          CAPTURE(test::seed(), value, bits, is_half);
          CHECK(is_best);
        }
      }
    }
  }
  CHECK(f16_from_float(1.0F) == 0x3C00);
  CHECK(bf16_from_float(1.0F) == 0x3F80);
}
