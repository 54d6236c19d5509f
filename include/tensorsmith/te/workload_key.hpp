// Workload keys: the name under which records of a workload are found again.
//
// Floor 2. Ansor reference, ch. 1.4. Not here: reading keys (record/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

}  // namespace tensorsmith::te
