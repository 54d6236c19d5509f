// SPDX-License-Identifier: Apache-2.0
// The arguments of a group's kernel: which values they are, and constants as it wants them.
//
// Private to lib/graph. Own design. Not here: where values lie.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/kernel.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::graph {

/// By the name that the group's program has for them.
inline std::map<std::string, ValueId> values_by_name(const Group& group) {
  const ComputeDag& dag = *group.program.dag;
  std::vector<ValueId> values = group.program.inputs;
  values.insert(values.end(), group.program.outputs.begin(), group.program.outputs.end());
  std::map<std::string, ValueId> by_name;
  for (std::size_t i = 0; i < values.size(); ++i) {
    by_name.emplace(dag.tensor(dag.arguments()[i]).name, values[i]);
  }
  return by_name;
}

inline KernelOperand operand_of(DType dtype, std::int64_t num_elements, void* data,
                                bool is_constant) {
  KernelOperand operand;
  operand.data = data;
  operand.num_elements = num_elements;
  operand.element_bytes = bytes_of(dtype);
  operand.dtype = dtype;
  operand.is_constant = is_constant;
  return operand;
}

using PackedConstants = std::vector<std::pair<std::string, AlignedBuffer<std::byte>>>;

/// What the kernel's second function makes of constants, by parameter; none if it has none.
/// `data_of(value)`: the constant's bytes, aligned to its elements, null if it is none. Throws
/// Error that begins with `who`.
template <class DataOf>
PackedConstants packed_constants(const std::string& who, const Kernel& kernel,
                                 const std::map<std::string, ValueId>& by_name,
                                 const DataOf& data_of) {
  PackedConstants packed;
  const KernelSignature& signature = kernel.signature();
  if (signature.prepack_entry.empty()) {
    return packed;
  }
  std::vector<KernelOperand> constants;
  std::vector<std::string> names;
  for (const KernelParameter& parameter : signature.prepack_parameters) {
    if (parameter.is_output) {
      names.push_back(parameter.name);
      continue;
    }
    const auto value = by_name.find(parameter.name);
    void* const data = value == by_name.end() ? nullptr : data_of(value->second);
    if (data == nullptr) {
      throw Error(who + ": a kernel packs " + in_quotes(parameter.name) + ", which is no constant");
    }
    constants.push_back(operand_of(parameter.dtype, parameter.num_elements, data, true));
  }
  std::vector<AlignedBuffer<std::byte>> buffers = kernel.pack(constants);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    packed.emplace_back(names[i], std::move(buffers[i]));
  }
  return packed;
}

}  // namespace tensorsmith::graph
