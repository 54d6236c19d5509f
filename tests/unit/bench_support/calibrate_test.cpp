// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "bench/support/calibrate.hpp"

#include "support/catch.hpp"

using namespace tensorsmith::bench;
using tensorsmith::test::Approx;

namespace {

Roofline stated_machine() {
  Roofline r;
  r.peak_gflops = 100;
  r.l1_gbps = 500;
  r.l2_gbps = 200;
  r.l3_gbps = 100;
  r.dram_gbps = 40;
  r.l1_bytes = 32'000;
  r.l2_bytes = 1'000'000;
  r.l3_bytes = 10'000'000;
  r.source = "stated";
  return r;
}

}  // namespace

TEST_CASE("the roofline takes the slowest limit", "[calibrate]") {
  const Roofline r = stated_machine();
  CHECK(roofline_ns(1000, 100, r) == Approx(10));             // flop
  CHECK(roofline_ns(0, 20'000, r) == Approx(40));             // L1
  CHECK(roofline_ns(0, 132'000, r) == Approx(500));           // 100 kB from L2
  CHECK(roofline_ns(0, 3'000'000, r) == Approx(20'000));      // 2 MB from L3
  CHECK(roofline_ns(0, 50'000'000, r) == Approx(1'000'000));  // 40 MB from memory
  CHECK(roofline_ns(1e9, 50'000'000, r) == Approx(1e7));
}

TEST_CASE("more threads never raise the bound", "[calibrate]") {
  const Roofline r = stated_machine();
  for (const std::int64_t bytes : {1'000, 100'000, 5'000'000, 100'000'000}) {
    for (const double flop : {0.0, 1e6, 1e9}) {
      CHECK(roofline_ns(flop, bytes, r, 2) <= roofline_ns(flop, bytes, r, 1));
    }
  }
  CHECK_THROWS_AS(roofline_ns(1, 1, r, 0), tensorsmith::test::AssertionFailed);
  CHECK_THROWS_AS(roofline_ns(1, 1, Roofline{}), tensorsmith::test::AssertionFailed);
}

TEST_CASE("a calibration that moved is not stable", "[calibrate]") {
  CHECK(Calibration{270, 265}.is_stable());
  CHECK_FALSE(Calibration{270, 250}.is_stable());
  CHECK_FALSE(Calibration{250, 270}.is_stable());
  CHECK_FALSE(Calibration{0, 270}.is_stable());
  CHECK(Calibration{260, 280}.gflops() == Approx(270));
}

TEST_CASE("the calibrator runs on this host", "[calibrate]") {
  CHECK(measure_peak_gflops(VectorIsa::sse2, 1) > 0);
  CHECK(measure_peak_gflops(host_vector_isa(), 1) > 0);
  CHECK(measure_read_gbps(16'384, 0.1) > 0);
}
