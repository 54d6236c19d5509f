// SPDX-License-Identifier: Apache-2.0
// The definition of cuda_source.
//
// Floor 5. Included by codegen/cuda_source.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/cuda_emitter.hpp"
#include "tensorsmith/codegen/cuda_launch.hpp"
#include "tensorsmith/codegen/cuda_prelude.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/text_writer.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

namespace detail {

/// The kernels of a program, in order, and the buffers allocated around them.
struct CudaKernelList {
  std::vector<StmtId> kernels;
  std::vector<BufferId> workspace;
};
inline void split_kernels(const LoopProgram& program, StmtId id, CudaKernelList& list) {
  const Alloc* alloc = program.as<Alloc>(id);
  if (alloc != nullptr && program[alloc->buffer].scope == Scope::global) {
    list.workspace.push_back(alloc->buffer);
    return split_kernels(program, alloc->body, list);
  }
  if (const Seq* seq = program.as<Seq>(id)) {
    for (StmtId item : seq->items) {
      split_kernels(program, item, list);
    }
    return;
  }
  list.kernels.push_back(id);
}

inline void add_buffer(const LoopProgram& program, BufferId id, CudaSource& source,
                       std::vector<std::int32_t>& number_of) {
  constexpr std::int64_t alignment = 256;  // what the driver's own allocations have
  const Buffer& buffer = program[id];
  CudaBuffer added{buffer.name, buffer.dtype, buffer.num_bytes(), buffer.argument, 0, false};
  if (buffer.argument < 0) {
    added.workspace_offset = source.workspace_bytes;
    source.workspace_bytes += (added.num_bytes + alignment - 1) / alignment * alignment;
  }
  number_of[id.value] = static_cast<std::int32_t>(source.buffers.size());
  source.buffers.push_back(std::move(added));
}

}  // namespace detail

TENSORSMITH_INLINE Result<CudaSource, std::string>
cuda_source(const LoopProgram& program, const Target& target, const CudaSourceOptions& options) {
  if (!target.gpu) {
    return fail("target " + target.name + " is no CUDA device");
  }
  detail::CudaKernelList list;
  detail::split_kernels(program, program.body, list);
  CudaSource source;
  std::vector<std::int32_t> number_of(program.buffers.size(), -1);
  for (BufferId id : program.arguments) {
    detail::add_buffer(program, id, source, number_of);
  }
  for (BufferId id : list.workspace) {
    detail::add_buffer(program, id, source, number_of);
  }
  detail::CudaEmitter emitter(program);
  std::string kernels;
  for (std::size_t k = 0; k < list.kernels.size(); ++k) {
    const std::string suffix = list.kernels.size() == 1 ? "" : "_" + std::to_string(k);
    auto kernel = emitter.kernel(list.kernels[k], emitter.unique_name(options.name + suffix));
    if (!emitter.problem().empty()) {
      return fail("no CUDA text: " + emitter.problem());
    }
    for (const auto& [id, is_written] : kernel.operands) {
      const std::int32_t number = number_of[id.value];
      if (number < 0) {
        return fail("no CUDA text: buffer " + program[id].name + " is used but allocated nowhere");
      }
      kernel.launch.buffers.push_back(number);
      CudaBuffer& buffer = source.buffers[static_cast<std::size_t>(number)];
      buffer.is_written = buffer.is_written || is_written;
    }
    kernels += (k == 0 ? "" : "\n") + kernel.text;
    source.launches.push_back(std::move(kernel.launch));
  }
  source.text = options.comment.empty() ? "" : "// " + options.comment + "\n";
  for (const CudaBuffer& buffer : source.buffers) {
    const auto at = static_cast<std::size_t>(&buffer - source.buffers.data());
    const BufferId id = at < program.arguments.size()
                            ? program.arguments[at]
                            : list.workspace[at - program.arguments.size()];
    source.text += "//   " + emitter.identifier(id) + ": " + std::string(name_of(buffer.dtype)) +
                   " " + bracketed(program[id].shape, [](auto n) { return std::to_string(n); }) +
                   (buffer.argument < 0 ? ", workspace"
                    : buffer.is_written ? ", written"
                                        : "") +
                   "\n";
  }
  for (const CudaLaunch& launch : source.launches) {
    const auto text = [](std::int64_t n) { return std::to_string(n); };
    source.text += "// " + launch.kernel + "<<<" + bracketed(launch.grid, text) + ", " +
                   bracketed(launch.block, text) + ", " + text(launch.dynamic_shared_bytes) +
                   ">>>\n";
  }
  source.text += "\n" + emitter.type_declarations() +
                 cuda_helpers_for(kernels, target.gpu->compute_capability) +
                 emitter.instruction_helpers() + kernels;
  return source;
}

}  // namespace tensorsmith
