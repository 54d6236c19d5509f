// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/record/record.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("a fresh record is no success") {
  const Record record;
  CHECK_FALSE(record.is_ok());
  CHECK(record == Record{});
  Record other = record;
  other.steps.push_back(ComputeInlineStep{3});
  CHECK_FALSE(record == other);
}
