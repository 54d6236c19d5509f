// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "support/golden_data.hpp"

#include "support/catch.hpp"

#include <cstdio>

namespace tensorsmith::test {

ComparedRows::~ComparedRows() {
  std::printf("golden: %s: %zu %s compared\n", file_.c_str(), count_, what_.c_str());
  INFO(file_ << ": " << what_);
  CHECK(count_ > 0);
}

}  // namespace tensorsmith::test
