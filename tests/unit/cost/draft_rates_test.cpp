// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/draft_rates.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("a step of products takes longer where its accumulators leave little to spare") {
  Target target;
  target.fma_latency = 4;
  CoreRates rates;
  rates.pipe_conflict = 0.3;
  const auto step = [&](double busy, double exposed = 1) {
    return detail::step_of_products(busy, target, rates, exposed);
  };
  CHECK(step(3) == Approx(4.3));  // six accumulators of two pipes wait for the latency
  CHECK(step(4) == Approx(4.3));
  CHECK(step(5) == Approx(5.3));
  CHECK(step(5.5) == Approx(5.65));
  CHECK(step(6) == 6);
  CHECK(step(12) == 12);
  CHECK(step(3, 0.5) == Approx(3.15));  // other runs fill half of the wait
  rates.pipe_conflict = 0;
  CHECK(step(4) == 4);
}
