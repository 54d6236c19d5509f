// SPDX-License-Identifier: Apache-2.0
// CudaEmitter: the kernels of a loop program, one function each.
//
// Floor 5. Own design. A kernel is what stands below the allocations of global buffers and their
// sequence: at most one loop per hardware axis, blocks outside of threads, shared buffers between.
// What has no such loop runs on one thread. Not here: the text around the kernels
// (cuda_source.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/cuda_index.hpp"
#include "tensorsmith/codegen/cuda_launch.hpp"
#include "tensorsmith/codegen/cuda_prelude.hpp"
#include "tensorsmith/codegen/cuda_statements.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith::detail {

class CudaEmitter : CudaStatementPrinter {
 public:
  explicit CudaEmitter(const LoopProgram& program) : CudaStatementPrinter(program) {
    if (fits_32_bits(program)) {
      index_type_ = c_type(DType::i32, CDialect::cuda);
    }
    names_.reserve(cuda_helpers);
    for (const Buffer& buffer : program.buffers) {
      names_of_.push_back(names_.unique(buffer.name));
    }
    touched_.resize(program.buffers.size());
    has_warpgroups_ = any_item(program.stmts, [](const Stmt& stmt) {
      const For* loop = std::get_if<For>(&stmt);
      return loop != nullptr && loop->intrinsic != nullptr && loop->intrinsic->warps > 1;
    });
    has_async_ = any_item(program.stmts, [](const Stmt& stmt) {
      const Store* store = std::get_if<Store>(&stmt);
      return store != nullptr && store->is_async;
    });
  }

  struct Kernel {
    std::string text;
    CudaLaunch launch;                                ///< without buffers
    std::vector<std::pair<BufferId, bool>> operands;  ///< global ones; whether they are written
  };
  /// `problem()` says why there is none.
  Kernel kernel(StmtId body, const std::string& kernel_name);
  const std::string& problem() const { return problem_; }
  /// Declarations of the vector types that CUDA does not have.
  std::string type_declarations() const;
  const std::string& identifier(BufferId id) const { return name(id); }
  using CudaTensorPrinter::instruction_helpers;
  std::string unique_name(const std::string& wanted) { return names_.unique(wanted); }

 private:
  static constexpr std::int64_t static_shared_limit = 48 * 1024;  // CUDA programming guide

  static bool is_block(ForKind kind) {
    return kind >= ForKind::block_x && kind <= ForKind::block_z;
  }
  static bool is_thread(ForKind kind) { return kind >= ForKind::thread_x; }
  // --- the kernel's frame ----------------------------------------------------------------------
  StmtId bind_axes(StmtId id, CudaLaunch& launch);
  void bind_axis(const For& loop, std::int64_t extent, CudaLaunch& launch);
  /// Buffers that the statement touches, and shared allocations in it.
  void scan(StmtId id);
  void scan_loads(ExprId id, bool is_whole_value) {
    visit_nodes(program_.pool, id, [&](ExprId e) {
      if (const Load* node = program_.pool.as<Load>(e)) {
        touched_[node->buffer.value].is_read = true;
        if (program_[node->buffer].scope == Scope::warp && !is_whole_value) {
          refuse("buffer " + program_[node->buffer].name + " of a warp is read in an expression");
        }
      }
    });
  }
  void declare_shared(CudaLaunch& launch);
  std::int64_t shared_alignment(BufferId id) const {
    return program_[id].is_swizzled ? program_[id].alignment : vector_bytes;
  }

  struct Touched {
    bool is_read = false, is_written = false;
  };
  std::vector<Touched> touched_;             // by buffer, in this kernel
  std::vector<BufferId> shared_, of_warps_;  // of this kernel
};

inline void CudaEmitter::scan(StmtId id) {
  if (const Store* store = program_.as<Store>(id)) {
    touched_[store->buffer.value].is_written = true;
  } else if (const Alloc* alloc = program_.as<Alloc>(id)) {
    const Buffer& buffer = program_[alloc->buffer];
    if (buffer.scope == Scope::shared) {
      shared_.push_back(alloc->buffer);
    } else if (buffer.scope == Scope::warp) {
      of_warps_.push_back(alloc->buffer);
    } else if (buffer.scope == Scope::global) {
      refuse("global buffer " + buffer.name + " is allocated in a kernel");
    }
  }
  const Store* store = program_.as<Store>(id);
  for_each_expr(program_[id], [&](ExprId expr) {
    scan_loads(expr, store != nullptr && expr == store->value && lane_load(program_, expr));
  });
  for_each_child(program_[id], [&](StmtId child) { scan(child); });
}

inline void CudaEmitter::bind_axis(const For& loop, std::int64_t extent, CudaLaunch& launch) {
  const auto axis =
      static_cast<std::size_t>(loop.kind) -
      static_cast<std::size_t>(is_block(loop.kind) ? ForKind::block_x : ForKind::thread_x);
  (is_block(loop.kind) ? launch.grid : launch.block)[axis] = extent;
  if (loop.kind == ForKind::thread_x) {
    lane_var_ = loop.var;
    lane_extent_ = extent;
  }
  if (is_thread(loop.kind)) {
    threads_.var[axis] = loop.var;
    threads_.extent[axis] = extent;
  }
  if (extent == 1) {
    return bind(loop.var, LinearText::of(0));
  }
  const std::string letter(1, "xyz"[axis]);
  const std::string variable = (is_block(loop.kind) ? "block_" : "thread_") + letter;
  line("const " + std::string(index_type_) + " " + variable + " = " +
       (is_block(loop.kind) ? "blockIdx." : "threadIdx.") + letter + ";  // " +
       c_identifier(program_.pool.var_name(loop.var)) + ", " + std::to_string(extent));
  non_negative_.insert(variable);
  bind(loop.var, LinearText::of(variable));
}

/// Binds the loops of blocks and threads; what is left is one thread's work.
inline StmtId CudaEmitter::bind_axes(StmtId id, CudaLaunch& launch) {
  std::vector<ForKind> seen;
  for (;;) {
    const Alloc* alloc = program_.as<Alloc>(id);
    if (alloc != nullptr && is_of_block(program_[alloc->buffer].scope)) {
      id = alloc->body;
      continue;
    }
    const For* loop = program_.as<For>(id);
    if (loop == nullptr || loop->kind < ForKind::block_x) {
      return id;
    }
    const std::string& var = program_.pool.var_name(loop->var);
    const LinearText extent = linear(loop->extent);
    if (!extent.is_constant() || extent.constant < 1) {
      refuse("loop " + var + " is bound to the GPU, but its extent is no positive constant");
      return id;
    }
    if (has_item(seen, loop->kind) ||
        (is_block(loop->kind) && any_item(seen, [](ForKind kind) { return is_thread(kind); }))) {
      refuse("loop " + var + " is bound to an axis that is taken, or to blocks inside threads");
      return id;
    }
    seen.push_back(loop->kind);
    bind_axis(*loop, extent.constant, launch);
    id = loop->body;
  }
}

inline void CudaEmitter::declare_shared(CudaLaunch& launch) {
  std::int64_t total = 0;
  std::vector<std::int64_t> offsets;
  for (BufferId id : shared_) {
    const std::int64_t alignment = shared_alignment(id);
    total = (total + alignment - 1) / alignment * alignment;
    offsets.push_back(total);
    total += (program_[id].num_bytes() + vector_bytes - 1) / vector_bytes * vector_bytes;
  }
  const bool is_static = total <= static_shared_limit;
  (is_static ? launch.static_shared_bytes : launch.dynamic_shared_bytes) = total;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    const Buffer& buffer = program_[shared_[i]];
    const std::string type(c_storage_type(buffer.dtype, CDialect::cuda));
    line(is_static ? "__shared__ __align__(" + std::to_string(shared_alignment(shared_[i])) + ") " +
                         type + " " + name(shared_[i]) + "[" +
                         std::to_string(buffer.num_elements()) + "];"
                   : type + "* const " + name(shared_[i]) + " = reinterpret_cast<" + type +
                         "*>(dynamic_shared() + " + std::to_string(offsets[i]) + ");");
  }
}

inline CudaEmitter::Kernel CudaEmitter::kernel(StmtId body, const std::string& kernel_name) {
  Kernel result;
  result.launch.kernel = kernel_name;
  touched_.assign(touched_.size(), Touched{});
  shared_.clear();
  of_warps_.clear();
  threads_ = {};
  scan(body);
  std::string parameters;
  for (std::uint32_t b = 0; b < touched_.size(); ++b) {
    const Buffer& buffer = program_.buffers[b];
    if (buffer.scope != Scope::global || !(touched_[b].is_read || touched_[b].is_written)) {
      continue;
    }
    result.operands.emplace_back(BufferId{b}, touched_[b].is_written);
    parameters += (parameters.empty() ? "" : ", ") +
                  std::string(touched_[b].is_written ? "" : "const ") +
                  std::string(c_storage_type(buffer.dtype, CDialect::cuda)) + "* __restrict__ " +
                  name(BufferId{b});
  }
  out_.clear();
  indent_ = 1;
  private_bytes_ = most_private_bytes_ = 0;
  num_stores_ = 0;
  lane_var_ = {};
  declare_shared(result.launch);
  const StmtId thread_body = bind_axes(body, result.launch);
  for (BufferId id : of_warps_) {
    declare(id);
  }
  emit_scope(thread_body);
  result.launch.private_bytes = most_private_bytes_;
  result.launch.num_stores = num_stores_;
  result.text = "extern \"C\" __global__ void __launch_bounds__(" +
                std::to_string(result.launch.num_threads()) + ")\n" + kernel_name + "(" +
                parameters + ") {\n" + out_ + "}\n";
  return result;
}

inline std::string CudaEmitter::type_declarations() const {
  std::string text;
  for (const auto& [id, form] : own_vectors_) {
    text += "struct __align__(" + std::to_string(bytes_of(form.first) * form.second) + ") " + id +
            " {\n  " + std::string(c_storage_type(form.first, CDialect::cuda)) + " lane[" +
            std::to_string(form.second) + "];\n};\n";
  }
  return text + (text.empty() ? "" : "\n");
}

}  // namespace tensorsmith::detail
