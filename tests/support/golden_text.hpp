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
#include <string_view>

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

/// text/<file of the test>/<name of the case>.txt, or <name>.<part>.txt: letters and digits of the
/// name, "_" for each run of others.
inline std::string golden_path_of(std::string_view file, std::string_view test,
                                  std::string_view part) {
  const std::string_view tests = "/tests/";
  const std::size_t begin = file.rfind(tests);
  file.remove_prefix(begin == std::string_view::npos ? 0 : begin + tests.size());
  std::string path = "text/" + std::string(file.substr(0, file.rfind('.'))) + "/";
  for (char c : test) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_kept || path.back() != '_') {
      path += is_kept ? c : '_';
    }
  }
  return path + (part.empty() ? "" : "." + std::string(part)) + ".txt";
}

/// Whether a text is that of the running test case; `part` tells several of one case apart. `file`
/// is that of the caller.
inline bool is_golden(const std::string& text, std::string_view part = "",
                      const char* file = __builtin_FILE()) {
  return same_as_golden(golden_path_of(file, Catch::getResultCapture().getCurrentTestName(), part),
                        text);
}

}  // namespace tensorsmith::test
