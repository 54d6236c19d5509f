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
#include "tensorsmith/codegen/cuda_vector.hpp"

namespace tensorsmith::detail {

class CudaEmitter : CudaVectorPrinter {
 public:
  explicit CudaEmitter(const LoopProgram& program) : CudaVectorPrinter(program) {
    if (fits_32_bits(program)) {
      index_type_ = c_type(DType::i32, CDialect::cuda);
    }
    for (const Buffer& buffer : program.buffers) {
      names_of_.push_back(names_.unique(buffer.name));
    }
    touched_.resize(program.buffers.size());
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
  std::string unique_name(const std::string& wanted) { return names_.unique(wanted); }

 private:
  static constexpr std::int64_t static_shared_limit = 48 * 1024;  // CUDA programming guide

  static bool is_block(ForKind kind) {
    return kind >= ForKind::block_x && kind <= ForKind::block_z;
  }
  static bool is_thread(ForKind kind) { return kind >= ForKind::thread_x; }
  void refuse(std::string why) {
    if (problem_.empty()) {
      problem_ = std::move(why);
    }
  }

  // --- the kernel's frame ----------------------------------------------------------------------
  StmtId bind_axes(StmtId id, CudaLaunch& launch);
  void bind_axis(const For& loop, std::int64_t extent, CudaLaunch& launch);
  /// Buffers that the statement touches, and shared allocations in it.
  void scan(StmtId id);
  void scan_loads(ExprId id) {
    visit_expr(program_.pool, id, [&](ExprId e) {
      if (const Load* node = program_.pool.as<Load>(e)) {
        touched_[node->buffer.value].is_read = true;
      }
    });
  }
  void declare_shared(CudaLaunch& launch);

  // --- statements ------------------------------------------------------------------------------
  /// The whole of a scope: its first allocations need no braces.
  void emit_scope(StmtId id) {
    while (const Alloc* alloc = program_.as<Alloc>(id)) {
      declare(alloc->buffer);
      id = alloc->body;
    }
    emit(id);
  }
  void declare(BufferId id);
  void emit(StmtId id);
  void emit_loop(const For& loop);
  void emit_vectorized(const For& loop, std::int64_t extent);
  void vector_chunk(StmtId id, VarId var, const LinearText& base, std::int32_t lanes);
  bool is_vector_body(StmtId id) const;
  std::int32_t widest(StmtId id) const;

  struct Touched {
    bool is_read = false, is_written = false;
  };
  std::vector<Touched> touched_;  // by buffer, in this kernel
  std::vector<BufferId> shared_;  // of this kernel
  std::string problem_;
};

inline void CudaEmitter::scan(StmtId id) {
  std::visit(Overloaded{[&](const Seq& seq) {
                          for (StmtId item : seq.items) {
                            scan(item);
                          }
                        },
                        [&](const For& loop) {
                          scan_loads(loop.extent);
                          scan(loop.body);
                        },
                        [&](const Store& store) {
                          touched_[store.buffer.value].is_written = true;
                          scan_loads(store.value);
                          for (ExprId index : store.indices) {
                            scan_loads(index);
                          }
                        },
                        [&](const If& branch) {
                          scan_loads(branch.condition);
                          scan(branch.then_body);
                          if (branch.else_body.valid()) {
                            scan(branch.else_body);
                          }
                        },
                        [&](const Alloc& alloc) {
                          const Buffer& buffer = program_[alloc.buffer];
                          if (buffer.scope == Scope::shared) {
                            shared_.push_back(alloc.buffer);
                          } else if (buffer.scope == Scope::global) {
                            refuse("global buffer " + buffer.name + " is allocated in a kernel");
                          }
                          scan(alloc.body);
                        },
                        [](const auto&) {}},
             program_[id]);
}

inline void CudaEmitter::bind_axis(const For& loop, std::int64_t extent, CudaLaunch& launch) {
  const auto axis =
      static_cast<std::size_t>(loop.kind) -
      static_cast<std::size_t>(is_block(loop.kind) ? ForKind::block_x : ForKind::thread_x);
  (is_block(loop.kind) ? launch.grid : launch.block)[axis] = extent;
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
    if (alloc != nullptr && program_[alloc->buffer].scope == Scope::shared) {
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
    offsets.push_back(total);
    total += (program_[id].num_bytes() + vector_bytes - 1) / vector_bytes * vector_bytes;
  }
  const bool is_static = total <= static_shared_limit;
  (is_static ? launch.static_shared_bytes : launch.dynamic_shared_bytes) = total;
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    const Buffer& buffer = program_[shared_[i]];
    const std::string type(c_storage_type(buffer.dtype, CDialect::cuda));
    line(is_static ? "__shared__ __align__(16) " + type + " " + name(shared_[i]) + "[" +
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
  declare_shared(result.launch);
  emit_scope(bind_axes(body, result.launch));
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

inline void CudaEmitter::declare(BufferId id) {
  const Buffer& buffer = program_[id];
  if (is_private(id)) {
    const std::string count = std::to_string(buffer.num_elements());
    line(std::string(c_storage_type(buffer.dtype, CDialect::cuda)) + " " + name(id) +
         (buffer.num_elements() == 1 ? "" : "[" + count + "]") + ";");
  }
}

inline void CudaEmitter::emit(StmtId id) {
  std::visit(Overloaded{[&](const Seq& seq) {
                          for (StmtId item : seq.items) {
                            emit(item);
                          }
                        },
                        [&](const For& loop) { emit_loop(loop); },
                        [&](const Store& store) {
                          line(element(store.buffer, store.indices) + assignment(store));
                        },
                        [&](const If& branch) {
                          if (const auto known = constant(branch.condition)) {
                            if (*known != 0 || branch.else_body.valid()) {
                              emit(*known != 0 ? branch.then_body : branch.else_body);
                            }
                            return;
                          }
                          open("if (" + value(branch.condition).text + ")");
                          emit_scope(branch.then_body);
                          if (branch.else_body.valid()) {
                            --indent_;
                            open("} else");
                            emit_scope(branch.else_body);
                          }
                          close();
                        },
                        [&](const Alloc& alloc) {
                          if (!is_private(alloc.buffer)) {
                            return emit(alloc.body);
                          }
                          line("{");
                          ++indent_;
                          emit_scope(id);
                          close();
                        },
                        [&](const Barrier& barrier) {
                          if (barrier.scope == Scope::shared) {
                            line("__syncthreads();");
                          } else {
                            refuse("a barrier of another scope than shared memory");
                          }
                        },
                        [](const Prefetch&) {}},
             program_[id]);
}

inline void CudaEmitter::emit_loop(const For& loop) {
  const std::string& wanted = program_.pool.var_name(loop.var);
  if (loop.kind >= ForKind::vthread) {
    return refuse("loop " + wanted + " is " +
                  (loop.kind == ForKind::vthread ? "a virtual thread that lowering has left"
                                                 : "bound to the GPU inside a thread's work"));
  }
  const LinearText extent = linear(loop.extent);
  if (extent.is_constant() && extent.constant <= 1) {
    bind(loop.var, LinearText::of(0));
    if (extent.constant == 1) {
      emit(loop.body);
    }
    return;
  }
  if (loop.kind == ForKind::vectorized && extent.is_constant()) {
    return emit_vectorized(loop, extent.constant);
  }
  if (loop.kind == ForKind::unrolled) {
    line("#pragma unroll");
  }
  const std::string var = names_.unique(wanted);
  non_negative_.insert(var);
  bind(loop.var, LinearText::of(var));
  open("for (" + std::string(index_type_) + " " + var + " = 0; " + var + " < " +
       extent.print().text + "; ++" + var + ")");
  emit_scope(loop.body);
  close();
  names_.release(var);
}

inline std::int32_t CudaEmitter::widest(StmtId id) const {
  std::int32_t bytes = 1;
  const auto see = [&](DType type) { bytes = larger_of(bytes, bytes_of(type)); };
  if (const Seq* seq = program_.as<Seq>(id)) {
    for (StmtId item : seq->items) {
      bytes = larger_of(bytes, widest(item));
    }
  } else if (const If* branch = program_.as<If>(id)) {
    bytes = widest(branch->then_body);
  } else if (const Store* store = program_.as<Store>(id)) {
    see(program_[store->buffer].dtype);
    visit_expr(program_.pool, store->value, [&](ExprId e) {
      if (program_.pool.as<Load>(e) != nullptr) {
        see(program_.pool.dtype(e));
      }
    });
  }
  return bytes;
}

/// Stores, and branches that all lanes take alike.
inline bool CudaEmitter::is_vector_body(StmtId id) const {
  if (const Seq* seq = program_.as<Seq>(id)) {
    return all_items(seq->items, [&](StmtId item) { return is_vector_body(item); });
  }
  const If* branch = program_.as<If>(id);
  return branch != nullptr ? !branch->else_body.valid() && is_uniform(branch->condition) &&
                                 is_vector_body(branch->then_body)
                           : program_.as<Store>(id) != nullptr;
}

inline void CudaEmitter::vector_chunk(StmtId id, VarId var, const LinearText& base,
                                      std::int32_t lanes) {
  if (const Seq* seq = program_.as<Seq>(id)) {
    for (StmtId item : seq->items) {
      vector_chunk(item, var, base, lanes);
    }
  } else if (const If* branch = program_.as<If>(id)) {
    open("if (" + value(branch->condition).text + ")");
    vector_chunk(branch->then_body, var, base, lanes);
    close();
  } else {
    vector_store(*program_.as<Store>(id), var, base, lanes);
  }
}

inline void CudaEmitter::emit_vectorized(const For& loop, std::int64_t extent) {
  std::int32_t lanes = vector_bytes / widest(loop.body);
  while (extent % lanes != 0) {
    lanes /= 2;
  }
  bind(loop.var, LinearText::of(lane_mark));
  const bool is_vector = lanes > 1 && is_vector_body(loop.body);
  const auto at = [&](LinearText base) {
    LinearText with_lane = base;
    with_lane.add_term(lane_mark, 1);
    bind(loop.var, with_lane);
    vector_chunk(loop.body, loop.var, base, lanes);
  };
  if (is_vector && extent <= 4 * lanes) {
    for (std::int64_t first = 0; first < extent; first += lanes) {
      at(LinearText::of(first));
    }
    return;
  }
  const std::string var = names_.unique(program_.pool.var_name(loop.var));
  non_negative_.insert(var);
  line("#pragma unroll");
  open("for (" + std::string(index_type_) + " " + var + " = 0; " + var + " < " +
       std::to_string(extent) + "; " +
       (is_vector ? var + " += " + std::to_string(lanes) : "++" + var) + ")");
  if (is_vector) {
    at(LinearText::of(var));
  } else {
    bind(loop.var, LinearText::of(var));
    emit_scope(loop.body);
  }
  close();
  names_.release(var);
}

}  // namespace tensorsmith::detail
