// SPDX-License-Identifier: Apache-2.0
// Texts that must stay as they are: tests/data/golden/<path>.
//
// Test support. A missing file fails the test. TENSORSMITH_UPDATE_GOLDEN=1 in the environment
// writes the files instead: look at the difference before you commit it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/catch.hpp"

namespace tensorsmith::test {

inline bool same_as_golden(const std::string& path, const std::string& text) {
  const std::filesystem::path file =
      std::filesystem::path(TENSORSMITH_TEST_DATA_DIR) / "golden" / path;
  if (std::getenv("TENSORSMITH_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  std::ifstream in(file, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  if (!in || golden != text) {
    UNSCOPED_INFO("differs from " << file.string() << " (or that is missing); the text is\n"
                                  << text);
    return false;
  }
  return true;
}

}  // namespace tensorsmith::test
