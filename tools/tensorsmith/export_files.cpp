// SPDX-License-Identifier: Apache-2.0
#include "export_files.hpp"

#include "command.hpp"

namespace tensorsmith::cli {

std::vector<std::string> make_folders(const std::filesystem::path& folder) {
  std::vector<std::string> missing;
  std::error_code problem;
  for (std::filesystem::path part = std::filesystem::absolute(folder).lexically_normal();
       !std::filesystem::exists(part, problem) && part.has_relative_path();
       part = part.parent_path()) {
    if (part.has_filename()) {  // not "out/"
      missing.insert(missing.begin(), part.string());
    }
  }
  for (const std::string& path : missing) {
    std::filesystem::create_directory(path, problem);
    if (problem) {
      throw Error("cannot make the folder " + in_quotes(path, 1000) + ": " + problem.message());
    }
  }
  return missing;
}

}  // namespace tensorsmith::cli
