// SPDX-License-Identifier: Apache-2.0
// CompiledLibrary: sources, compiled by a compiler of the caller's and loaded into this process.
//
// Own design. Not here: what the sources say.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tensorsmith::bench {

class CompiledLibrary {
 public:
  /// Runs `compiler flags files` for a shared library in a folder that is gone afterwards. `files`:
  /// names and texts; those that are compiled are named in `flags`. `what`: for the message. Throws
  /// Error with the compiler's messages.
  CompiledLibrary(const std::vector<std::pair<std::string, std::string>>& files,
                  const std::string& compiler, const std::string& flags, const std::string& what);
  ~CompiledLibrary();
  CompiledLibrary(const CompiledLibrary&) = delete;
  CompiledLibrary& operator=(const CompiledLibrary&) = delete;

  /// Throws Error if there is none of that name.
  void* symbol(const char* name) const;

 private:
  void* handle_ = nullptr;
};

}  // namespace tensorsmith::bench
