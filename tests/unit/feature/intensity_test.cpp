// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/intensity.hpp"

#include "support/catch.hpp"

using tensorsmith::intensity_curve;
using tensorsmith::test::Approx;

TEST_CASE("the intensity curve interpolates operations per byte", "[feature]") {
  // 2, 1 and 10 operations per byte after 10, 50 and 100 operations
  const auto curve = intensity_curve({10, 50, 100}, {5, 50, 10});
  CHECK(curve[0] == Approx(2.0));   // 10 operations
  CHECK(curve[1] == Approx(1.75));  // 20: a quarter of the way from 2 to 1
  CHECK(curve[4] == Approx(1.0));   // 50
  CHECK(curve[5] == Approx(2.8));   // 60: a fifth of the way from 1 to 10
  CHECK(curve[9] == Approx(10.0));
}

TEST_CASE("the logarithmic curve interpolates ratios of logarithms", "[feature]") {
  using tensorsmith::IntensityForm;
  // 4 of 8 bits after 2^4 operations, 8 of 8 bits after 2^8
  const auto curve = intensity_curve({16, 256}, {256, 256}, IntensityForm::logarithmic);
  CHECK(curve[0] == Approx(0.5));
  CHECK(curve[4] == Approx(0.5));  // 4 of 8
  CHECK(curve[6] == Approx(0.7));  // 5.6 of 8
  CHECK(curve[9] == Approx(1.0));
  CHECK(intensity_curve({2}, {1}, IntensityForm::logarithmic)[9] == Approx(1.0));
}

TEST_CASE("no loops, no operations: no intensity", "[feature]") {
  CHECK(intensity_curve({}, {})[0] == 0.0);
  CHECK(intensity_curve({0, 0}, {4, 8})[9] == 0.0);
}

TEST_CASE("the walk stays inside where a tenth of the operations is not exact", "[feature]") {
  // 16194097 * 10 / 10 rounds up in single precision; here the last point is the end.
  const auto curve = intensity_curve({127, 32385049}, {127, 32385049});
  CHECK(curve[9] == Approx(1.0));
  CHECK(intensity_curve({7}, {2})[0] == Approx(3.5));
  CHECK(intensity_curve({7}, {2})[9] == Approx(3.5));
}
