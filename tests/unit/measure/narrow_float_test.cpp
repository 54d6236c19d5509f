// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/narrow_float.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <limits>

using namespace tensorsmith;

TEST_CASE("every f16 and bf16 value survives the way through float") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_f16(half);
    const float brain = float_from_bf16(half);
    const bool half_agrees = std::isnan(value) ? std::isnan(float_from_f16(f16_from_float(value)))
                                               : f16_from_float(value) == half;
    const bool brain_agrees = std::isnan(brain)
                                  ? std::isnan(float_from_bf16(bf16_from_float(brain)))
                                  : bf16_from_float(brain) == half;
    if (!half_agrees || !brain_agrees) {
      CAPTURE(bits);
      CHECK(half_agrees);
      CHECK(brain_agrees);
    }
  }
  CHECK(float_from_f16(0x3C00) == 1.0F);
  CHECK(float_from_f16(0x0001) == 0x1.0p-24F);
  CHECK(float_from_f16(0x7BFF) == 65504.0F);
  CHECK(float_from_bf16(0x3F80) == 1.0F);
}

TEST_CASE("values between two neighbours go to the nearest, halfway to the even one") {
  CHECK(f16_from_float(1.0F + 0x1.0p-11F) == 0x3C00);      // halfway, even below
  CHECK(f16_from_float(1.0F + 3 * 0x1.0p-11F) == 0x3C02);  // halfway, even above
  CHECK(f16_from_float(1.0F + 0x1.0p-11F + 0x1.0p-20F) == 0x3C01);
  CHECK(f16_from_float(65519.0F) == 0x7BFF);
  CHECK(f16_from_float(65520.0F) == 0x7C00);
  CHECK(f16_from_float(0x1.0p-25F) == 0);
  CHECK(f16_from_float(-0x1.8p-25F) == 0x8001);
  CHECK(f16_from_float(std::numeric_limits<float>::infinity()) == 0x7C00);
  CHECK(bf16_from_float(1.0F + 0x1.0p-8F) == 0x3F80);
  CHECK(bf16_from_float(1.0F + 3 * 0x1.0p-8F) == 0x3F82);
  CHECK(bf16_from_float(std::numeric_limits<float>::max()) == 0x7F80);
}
