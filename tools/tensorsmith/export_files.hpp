// SPDX-License-Identifier: Apache-2.0
// Folders that commands write files into.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tensorsmith::cli {

/// Makes what is missing of the folder's path, and says what that was, from the outside in.
std::vector<std::string> make_folders(const std::filesystem::path& folder);

}  // namespace tensorsmith::cli
