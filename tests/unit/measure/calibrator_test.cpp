// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/calibrator.hpp"

#include <algorithm>

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("the calibrator gives a rate and the width of its vectors") {
  const Calibration calibration = calibrate_peak(1);
  CHECK(calibration.peak_gflops_f32 > 0.01);
  CHECK((calibration.vector_bits == 128 || calibration.vector_bits == 256 ||
         calibration.vector_bits == 512));
}

TEST_CASE("the peak of narrower vectors is asked for by their width") {
  const std::int32_t widest = calibrate_peak(1).vector_bits;
  for (const std::int32_t bits : {64, 128, 256, 512, 1024}) {
    INFO(bits);
    const Calibration calibration = calibrate_peak(1, bits);
    CHECK(calibration.vector_bits <= std::max(bits, 128));
    CHECK(calibration.vector_bits <= widest);
    CHECK(calibration.peak_gflops_f32 > 0.01);
  }
  CHECK(calibrate_peak(1, widest).vector_bits == widest);
}
