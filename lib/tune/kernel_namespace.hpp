// SPDX-License-Identifier: Apache-2.0
// Texts of several kernels in one file.
//
// Private to lib/. Own design.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "tensorsmith/codegen/kernel_source.hpp"

namespace tensorsmith {

/// A kernel in a namespace of its own, its function outside as well; without its includes, which
/// stand in front of all.
inline std::string in_namespace(const KernelSource& kernel, const std::string& name) {
  std::string result = "namespace " + name + " {\n\n";
  const std::string& text = kernel.source;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    if (!line.starts_with("#include <")) {
      result += std::string(line) + "\n";
    }
    at = end + 1;
  }
  return result + "\n}  // namespace\nusing " + name + "::" + kernel.function_name + ";\n\n";
}

}  // namespace tensorsmith
