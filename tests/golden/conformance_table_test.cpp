// SPDX-License-Identifier: Apache-2.0
// docs/conformance.md names a test for every conformance item: the tests are there, and no test of
// such a name is missing from the table.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "support/catch.hpp"

namespace tensorsmith::test {
namespace {

const std::string item_prefix = "conformance 11.";

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What stands between `open` + item_prefix and the next `close`, with the prefix, each behind
/// `before`.
std::set<std::string> items_in(const std::string& text, const std::string& before, char close) {
  std::set<std::string> items;
  const std::string start = before + item_prefix;
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::size_t begin = at + before.size();
    items.insert(text.substr(begin, text.find(close, begin) - begin));
  }
  return items;
}

/// Of the test programs: "unit_te: conformance 11.1: ...".
std::set<std::string> items_of_tests() {
  const std::filesystem::path tests = std::filesystem::path(TENSORSMITH_SOURCE_DIR) / "tests";
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests)) {
    const std::filesystem::path folder = entry.path().parent_path();
    if (!entry.path().filename().string().ends_with("_test.cpp") ||
        entry.path().filename() == "conformance_table_test.cpp") {
      continue;
    }
    const bool is_unit = folder.parent_path().filename() == "unit";
    const std::string program = (is_unit ? "unit_" : "test_") + folder.filename().string();
    for (const std::string& item : items_in(text_of_file(entry.path()), "\"", '"')) {
      found.insert(program + ": " + item);
    }
  }
  return found;
}

}  // namespace

TEST_CASE("the table of conformance items names the tests that there are", "[golden]") {
  const std::string table =
      text_of_file(std::filesystem::path(TENSORSMITH_SOURCE_DIR) / "docs" / "conformance.md");
  const std::set<std::string> tests = items_of_tests();
  std::set<std::string> listed;
  for (std::size_t at = table.find("\n| 11."); at != std::string::npos;
       at = table.find("\n| 11.", at + 1)) {
    const std::string row = table.substr(at + 1, table.find('\n', at + 1) - at - 1);
    const std::set<std::string> items = items_in(row, "`", '`');
    INFO(row);
    REQUIRE(items.size() == 1);
    const std::size_t program = row.find('`') + 1;
    const std::string name =
        row.substr(program, row.find('`', program) - program) + ": " + *items.begin();
    CHECK(tests.count(name) == 1);
    listed.insert(name);
  }
  CHECK(listed.size() >= 50);
  for (const std::string& test : tests) {
    INFO("not in docs/conformance.md: " << test);
    CHECK(listed.count(test) == 1);
  }
}

}  // namespace tensorsmith::test
