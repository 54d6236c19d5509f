// SPDX-License-Identifier: Apache-2.0
// KernelSource: a kernel as text, with what a caller must know to use it.
//
// Floor 5. Own design. Plain data, shared by the printers of C++ and of GPU languages.
// Not here: printing (cpp_source.hpp), the binary interface (kernel_abi.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith {

struct SourceArgument {
  std::string name;  ///< as in the program, not necessarily an identifier
  DType dtype = DType::f32;
  std::int64_t num_elements = 0;  ///< including padding
  bool is_written = false;
};

struct KernelSource {
  std::string function_name;  ///< typed function: one pointer per argument
  std::string entry_name;     ///< function with the interface of kernel_abi.hpp; empty = none
  std::string source;         ///< a whole translation unit
  std::string header;         ///< declares function_name (and entry_name)
  std::vector<SourceArgument> arguments;
};

/// Which buffers a program stores to, by buffer id.
inline std::vector<bool> written_buffers(const LoopProgram& program) {
  std::vector<bool> written(program.buffers.size(), false);
  for (const Stmt& stmt : program.stmts) {
    if (const Store* store = std::get_if<Store>(&stmt)) {
      written[store->buffer.value] = true;
    }
  }
  return written;
}

inline std::vector<SourceArgument> kernel_arguments(const LoopProgram& program) {
  const std::vector<bool> written = written_buffers(program);
  std::vector<SourceArgument> arguments;
  for (BufferId id : program.arguments) {
    const Buffer& buffer = program[id];
    arguments.push_back(
        {buffer.name, buffer.dtype, buffer.num_elements(), bool(written[id.value])});
  }
  return arguments;
}

}  // namespace tensorsmith
