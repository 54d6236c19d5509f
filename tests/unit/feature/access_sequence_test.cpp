// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/access_sequence.hpp"

#include <string>

#include "support/catch.hpp"

namespace tensorsmith {

TEST_CASE("the first flow of data through shared memory is found", "[feature]") {
  const auto match = [](const char* digits) {
    const std::size_t found = dataflow_match(digits);
    return found == std::string::npos ? -1 : static_cast<int>(found);
  };
  CHECK(match("2010111220") == 0);
  CHECK(match("0020101112") == 2);
  CHECK(match("20101011120") == -1);
  CHECK(match("2001011120") == -1);
  CHECK(match("220101112") == 1);
  CHECK(match("201011") == -1);
  CHECK(match("201020101112") == 4);
  CHECK(match("") == -1);
  CHECK(match("20101112020101112") == 0);
}

}  // namespace tensorsmith
