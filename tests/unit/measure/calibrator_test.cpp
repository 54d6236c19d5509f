#include "tensorsmith/measure/calibrator.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("the calibrator gives a rate and the width of its vectors") {
  const Calibration calibration = calibrate_peak(1);
  CHECK(calibration.peak_gflops_f32 > 0.01);
  CHECK((calibration.vector_bits == 128 || calibration.vector_bits == 256 ||
         calibration.vector_bits == 512));
}
