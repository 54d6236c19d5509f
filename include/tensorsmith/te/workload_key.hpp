// SPDX-License-Identifier: Apache-2.0
// Workload keys: the name under which records of a workload are found again.
//
// Floor 2. Ansor reference, ch. 1.4. Not here: reading keys (record/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/md5.hpp"

namespace tensorsmith::te {

/// 32 hex digits over the simple text of the dag.
inline std::string dag_hash(const ComputeDag& dag) { return md5_hex(dag_text(dag, true)); }

/// `["<hash>", [shape of argument 0], [shape of argument 1], ...]`
inline std::string workload_key(const ComputeDag& dag) {
  std::string key = "[\"" + dag_hash(dag) + "\"";
  for (TensorId argument : dag.arguments()) {
    key += ", " + detail::shape_list(dag.tensor(argument).shape);
  }
  return key + "]";
}

/// The key of a registered workload function with integer arguments: `["matmul", 512, 512, 512]`.
inline std::string function_workload_key(std::string_view name,
                                         const std::vector<std::int64_t>& args) {
  std::string key = "[\"" + std::string(name) + "\"";
  for (std::int64_t arg : args) {
    key += ", " + std::to_string(arg);
  }
  return key + "]";
}

namespace detail {

/// In quotes, as JSON; bytes above 127 stay as they are.
inline std::string key_text(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (code < 0x20) {
      quoted += std::string("\\u00") + digits[code / 16] + digits[code % 16];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace detail

/// An argument of such a key as JSON: an integer, a flag, or text.
using KeyArgument = std::variant<std::int64_t, bool, std::string>;

/// The same with arguments of any kind: `["pool", "avg", 8, 8, true]`.
inline std::string call_workload_key(std::string_view name, const std::vector<KeyArgument>& args) {
  std::string key = "[" + detail::key_text(name);
  for (const KeyArgument& arg : args) {
    key += ", ";
    if (const auto* text = std::get_if<std::string>(&arg)) {
      key += detail::key_text(*text);
    } else if (const auto* flag = std::get_if<bool>(&arg)) {
      key += *flag ? "true" : "false";
    } else {
      key += std::to_string(std::get<std::int64_t>(arg));
    }
  }
  return key + "]";
}

}  // namespace tensorsmith::te
