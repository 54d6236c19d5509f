// SPDX-License-Identifier: Apache-2.0
// CompileCache: compiled code in a folder, one file an entry, shared by processes.
//
// Own design. A file holds its length and a checksum, is written beside its place and then renamed,
// so a reader sees all of it or a file that it can tell is damaged. Not here: what is compiled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensorsmith/support/result.hpp"

namespace tensorsmith::cuda {

/// What an entry keeps.
struct CachedCubin {
  std::string code, log;
};

class CompileCache {
 public:
  /// Makes the folder; above `max_bytes` the entries not used for longest are deleted, down to
  /// three quarters. Error: one sentence.
  static Result<CompileCache, std::string> open(const std::string& folder, std::int64_t max_bytes);

  /// Nothing if there is no entry, or only a damaged one. What was found counts as used now.
  std::optional<CachedCubin> find(const std::string& key) const;
  /// A file that cannot be written is no error: the next one compiles again.
  void add(const std::string& key, const CachedCubin& entry) const;

  /// The key of a text, from everything that decides what becomes of it.
  static std::string key(std::string_view text, std::string_view options, std::string_view version);

 private:
  std::string folder_;
};

}  // namespace tensorsmith::cuda
