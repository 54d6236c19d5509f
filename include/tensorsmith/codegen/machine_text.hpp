// SPDX-License-Identifier: Apache-2.0
// MachineText: the machine code of a kernel as an assembler's text, for exported C++ to carry.
//
// Floor 5. Own design. A C++ compiler makes other code of a text than the search measured; the
// assembler does not. Not here: making the text (LlvmCompiler::machine_text), printing it
// (cpp_source.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct MachineText {
  Architecture architecture = Architecture::x86_64;
  std::string text;   ///< ELF, position independent; of x86 AT&T syntax
  std::string entry;  ///< a hidden symbol, of type KernelEntry
  std::int64_t shared_bytes = 0;
  std::int64_t per_thread_bytes = 0;
  std::int32_t num_threads = 1;
  /// What g++ and clang define if the processor that they compile for has all that the code needs.
  std::vector<std::string> feature_macros;

  std::int64_t workspace_bytes() const { return shared_bytes + num_threads * per_thread_bytes; }
};

namespace detail {

inline bool is_symbol_character(char c) {
  return c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

}  // namespace detail

/// What LLVM wrote, such that it can stand inside of another file: without comments and the
/// directives that speak of the whole file, in sections of its own, with local labels that no other
/// part of the file has. Linear in the size of the text.
inline std::string embeddable_assembly(std::string_view text, const std::string& entry,
                                       Architecture architecture = Architecture::x86_64) {
  const std::string_view comment = architecture == Architecture::aarch64 ? "//" : "#";
  std::string result = "\t.pushsection .text\n\t.hidden " + entry + "\n";
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
      continue;
    }
    const std::string_view word = line.substr(first, line.find_first_of(" \t", first) - first);
    if (word == ".file" || word == ".ident" || word == ".addrsig" || word == ".addrsig_sym") {
      continue;
    }
    bool is_quoted = false;
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      is_quoted = line[i] == '"' ? !is_quoted : is_quoted;
      if (!is_quoted && line.substr(i, comment.size()) == comment) {
        break;
      }
      out += line[i];
      const bool begins_label = !is_quoted && line[i] == '.' && i + 1 < line.size() &&
                                line[i + 1] == 'L' &&
                                (i == 0 || !detail::is_symbol_character(line[i - 1]));
      if (begins_label) {
        out += "L" + entry + "_";
        ++i;
      }
    }
    out.erase(out.find_last_not_of(" \t") + 1);
    if (!out.empty()) {
      result += out + "\n";
    }
  }
  return result + "\t.popsection\n";
}

}  // namespace tensorsmith
