// SPDX-License-Identifier: Apache-2.0
#include "support/golden_text.hpp"

using namespace tensorsmith::test;

TEST_CASE("the path of a golden text follows from the test", "[helpers]") {
  const char* file = "/home/tests/project/tests/unit/lower/emit_loops_test.cpp";
  const std::string folder = "text/unit/lower/emit_loops_test/";
  CHECK(golden_path_of(file, "a tail, and: 2 parts", "") == folder + "a_tail_and_2_parts.txt");
  CHECK(golden_path_of(file, "a tail", "before") == folder + "a_tail.before.txt");
}

TEST_CASE("a golden text that is missing fails, and so does one that differs", "[helpers]") {
  if (std::getenv("TENSORSMITH_UPDATE_GOLDEN") != nullptr) {
    SUCCEED("files are written, not compared");
    return;
  }
  CHECK_FALSE(same_as_golden("text/no_such_file.txt", ""));
  CHECK_FALSE(is_golden("another text\n"));
  CHECK(is_golden("this text\n"));
}
