// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/policy.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("the deadline of a call follows the best, between its floor and its ceiling") {
  RacingPolicy policy;
  CHECK(call_timeout_ns(policy, 0) == policy.first_timeout_ns);
  CHECK(after_timeouts(policy, 0).first_timeout_ns == policy.first_timeout_ns);
  CHECK(after_timeouts(policy, 1).first_timeout_ns == 2 * policy.first_timeout_ns);
  CHECK(after_timeouts(policy, 90).first_timeout_ns == after_timeouts(policy, 4).first_timeout_ns);
  CHECK(call_timeout_ns(policy, 1000) == policy.timeout_floor_ns);
  CHECK(call_timeout_ns(policy, 1e7) == 40'000'000);
  CHECK(call_timeout_ns(policy, 1e300) == 3'600'000'000'000);
  policy.timeout_factor = 3;
  policy.timeout_floor_ns = 5;
  CHECK(call_timeout_ns(policy, 2) == 6);
  CHECK(call_timeout_ns(policy, 1) == 5);
}
