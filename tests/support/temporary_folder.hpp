// SPDX-License-Identifier: Apache-2.0
// TemporaryFolder: a folder that goes away with the object.
//
// Test support.
#pragma once

#include <filesystem>
#include <string>

#include <stdlib.h>

#include "support/catch.hpp"

namespace tensorsmith::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensorsmith-XXXXXX").string();
    const char* made = ::mkdtemp(pattern.data());
    REQUIRE(made != nullptr);
    path_ = made;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tensorsmith::test
