// SPDX-License-Identifier: Apache-2.0
// Files as a whole: what every reader of a journal, log, model or list shares.
//
// Floor 0; compiled in lib/compiled (POSIX, zlib if it is there). Own design. Only regular files
// are read, for a pipe may never end and a device never does, and of them only as much as a stated
// limit. What is written is complete or not there: a file of its own takes the old one's place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// One sentence that names the file.
struct FileError {
  std::string message;
};

struct FileLimits {
  std::int64_t most_bytes = std::int64_t{4} << 30;  ///< unpacked
  /// Of text: gzip is unpacked, and the mark that some editors put before UTF-8 is left out.
  bool is_text = true;
};

/// Hands the file's bytes to `take`, block by block, in order. Error: no regular file, cannot be
/// read, larger than the limit, damaged gzip, or UTF-16. Blocks may have been taken by then.
Result<Done, FileError> read_file_blocks(const std::string& path, const FileLimits& limits,
                                         const Callback<void(std::string_view)>& take);
Result<std::string, FileError> read_file(const std::string& path, const FileLimits& limits = {});

/// Writes a file beside `path` and renames it, so that a reader sees the old or the new text, and a
/// full disk costs nothing that was there. A link stays one; what is no regular file (/dev/stdout)
/// is written to as it is.
Result<Done, FileError> write_file(const std::string& path, std::string_view bytes);
/// Why `path` could not be written; empty if it can. Leaves nothing behind.
std::string write_problem(const std::string& path);

/// Whether both names lead to one file, through links of any kind; files that do not exist yet are
/// compared by where they would be.
bool is_same_file(const std::string& a, const std::string& b);

}  // namespace tensorsmith
