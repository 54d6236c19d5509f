// SPDX-License-Identifier: Apache-2.0
// Files that commands write into a folder.
#pragma once

#include <string>
#include <vector>

namespace tensorsmith::cli {

struct ExportedFile {
  std::string name;  ///< within the folder
  std::string bytes;
};

struct FilesWritten {
  std::vector<std::string> folders;  ///< that were made, from the outside in
  std::vector<std::string> files;

  /// A line for each.
  void print() const;
};

/// Makes what is missing of the folder's path. Throws Error, with nothing written, for a file that
/// is one of `inputs`, and for one that exists unless `overwrites`.
FilesWritten write_files(const std::string& folder, const std::vector<ExportedFile>& files,
                         bool overwrites, const std::vector<std::string>& inputs);

}  // namespace tensorsmith::cli
