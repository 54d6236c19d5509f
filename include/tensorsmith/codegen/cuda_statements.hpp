// SPDX-License-Identifier: Apache-2.0
// CudaStatementPrinter: what one thread of a kernel does.
//
// Floor 5. Own design. Loops, branches, private arrays, barriers; stores of vectorized loops are
// those of cuda_vector.hpp. Not here: blocks, threads, shared memory (cuda_emitter.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tensorsmith/codegen/cuda_tensor.hpp"
#include "tensorsmith/codegen/serial_unrolling.hpp"
#include "tensorsmith/codegen/widest_element.hpp"

namespace tensorsmith::detail {

class CudaStatementPrinter : protected CudaTensorPrinter {
 protected:
  explicit CudaStatementPrinter(const LoopProgram& program) : CudaTensorPrinter(program) {}

  void refuse(std::string why) {
    if (problem_.empty()) {
      problem_ = std::move(why);
    }
  }
  /// The whole of a scope: its first allocations need no braces.
  void emit_scope(StmtId id) {
    const std::int64_t outside = private_bytes_;
    while (const Alloc* alloc = program_.as<Alloc>(id)) {
      declare(alloc->buffer);
      id = alloc->body;
    }
    emit(id);
    private_bytes_ = outside;
  }
  void declare(BufferId id);
  void emit(StmtId id);
  std::optional<std::string> narrow_or_zero(const Store& store) const;
  bool accesses_lanes(const Store& store) const {
    return program_[store.buffer].scope == Scope::warp ||
           lane_load(program_, store.value) != nullptr;
  }
  void emit_lane_access(const Store& store);
  void emit_loop(const For& loop);
  void emit_vectorized(const For& loop, std::int64_t extent);
  void vector_chunk(StmtId id, VarId var, const LinearText& base, std::int32_t lanes);
  bool is_vector_body(StmtId id) const;

  /// Some kernel of the program has stores that are marked as copies in the background: a barrier
  /// of any of them then waits for copies, which costs nothing where there are none.
  bool has_async_ = false;
  bool has_warpgroups_ = false;  ///< some loop is an instruction of several warps
  std::string problem_;          ///< why there is no text
  std::int64_t private_bytes_ = 0, most_private_bytes_ = 0;
  double copies_ = 1.0;      ///< of what is emitted now, by the unrolled loops around it
  double num_stores_ = 0.0;  ///< emitted so far, copies counted
};

inline void CudaStatementPrinter::declare(BufferId id) {
  const Buffer& buffer = program_[id];
  if (is_private(id)) {
    const std::int64_t elements = num_private_elements(id);
    private_bytes_ += elements * bytes_of(buffer.dtype);
    most_private_bytes_ = larger_of(most_private_bytes_, private_bytes_);
    line(std::string(c_storage_type(buffer.dtype, CDialect::cuda)) + " " + name(id) +
         (elements == 1 ? "" : "[" + std::to_string(elements) + "]") + ";");
  }
}

/// An element of a narrow type, or zero where a condition fails, as the bits that it is.
inline std::optional<std::string> CudaStatementPrinter::narrow_or_zero(const Store& store) const {
  const DType type = program_[store.buffer].dtype;
  Store copy = store;
  copy.is_async = true;
  const std::optional<BackgroundCopy> found = background_copy(program_, copy);
  if (!found || !found->condition.valid() || (type != DType::f16 && type != DType::bf16)) {
    return std::nullopt;
  }
  return value(found->condition).within(CText::or_) + " ? " +
         element(found->load->buffer, found->load->indices) + " : 0";
}

/// A thread's own element of a warp's buffer is a variable, that of another lane a shuffle.
inline void CudaStatementPrinter::emit_lane_access(const Store& store) {
  const Load* load = lane_load(program_, store.value);
  const auto distance = load == nullptr
                            ? lane_distance(program_, store.buffer, store.indices, threads_)
                            : lane_distance(program_, load->buffer, load->indices, threads_);
  if (!distance || (load == nullptr && *distance != 0) ||
      (load != nullptr && program_[store.buffer].scope == Scope::warp)) {
    return refuse("buffer " + program_[load == nullptr ? store.buffer : load->buffer].name +
                  " of a warp is not accessed lane by lane");
  }
  const std::string target = element(store.buffer, store.indices);
  if (load == nullptr) {
    return line(target + assignment(store));
  }
  const std::string own = element(load->buffer, load->indices);
  if (*distance == 0) {
    return line(target + " = " + own + ";");
  }
  const std::string mask =
      threads_.num_threads() % lanes_of_warp == 0 ? "0xffffffffu" : "present_lanes()";
  const std::string value =
      "__shfl_xor_sync(" + mask + ", " + own + ", " + std::to_string(*distance) + ")";
  const DType type = program_[store.buffer].dtype;
  line(target + " = " +
       (bytes_of(type) < 4 ? "static_cast<" + std::string(c_storage_type(type, CDialect::cuda)) +
                                 ">(" + value + ")"
                           : value) +
       ";");
}

inline void CudaStatementPrinter::emit(StmtId id) {
  std::visit(Overloaded{[&](const Seq& seq) {
                          for (StmtId item : seq.items) {
                            emit(item);
                          }
                        },
                        [&](const For& loop) { emit_loop(loop); },
                        [&](const Store& store) {
                          num_stores_ += copies_;
                          if (accesses_lanes(store)) {
                            return emit_lane_access(store);
                          }
                          if (const auto copy = copies_async(store, 1)) {
                            return line(
                                async_text(*copy, "&" + element(store.buffer, store.indices),
                                           "&" + element(copy->load->buffer, copy->load->indices)));
                          }
                          const auto narrow = narrow_or_zero(store);
                          line(element(store.buffer, store.indices) +
                               (narrow ? " = " + *narrow + ";" : assignment(store)));
                        },
                        [&](const If& branch) {
                          write_branch(
                              branch, [&](StmtId body) { emit(body); },
                              [&](StmtId body) { emit_scope(body); });
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
                            if (has_async_) {
                              line("finish_copies<" + std::to_string(barrier.pending) + ">();");
                            }
                            if (has_warpgroups_) {
                              line("publish_copies();");
                            }
                            line("__syncthreads();");
                          } else if (barrier.scope != Scope::warp) {  // a shuffle waits by itself
                            refuse("a barrier of another scope than shared memory or a warp");
                          }
                        },
                        [](const Prefetch&) {}},
             program_[id]);
}

inline void CudaStatementPrinter::emit_loop(const For& loop) {
  const std::string& wanted = program_.pool.var_name(loop.var);
  if (loop.kind >= ForKind::vthread) {
    return refuse("loop " + wanted + " is " +
                  (loop.kind == ForKind::vthread ? "a virtual thread that lowering has left"
                                                 : "bound to the GPU inside a thread's work"));
  }
  if (warpgroup_products(loop)) {
    return;
  }
  if (loop.intrinsic != nullptr && !loop.intrinsic->ptx.empty() && warp_product(loop)) {
    return;
  }
  if (loop.load_sets > 1 && warp_products_ahead(loop)) {
    return;
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
  const double outside = copies_;
  if (loop.kind == ForKind::unrolled) {
    line("#pragma unroll");
    copies_ *= static_cast<double>(extent.constant);
  } else if (extent.is_constant()) {
    const std::int64_t factor =
        serial_unroll_factor(extent.constant, copies_ * num_unrolled_stores(program_, loop.body));
    if (factor < extent.constant) {
      line("#pragma unroll " + std::to_string(factor));
    }
    copies_ *= static_cast<double>(factor);
  }
  const std::string var = names_.unique(wanted);
  non_negative_.insert(var);
  bind(loop.var, LinearText::of(var));
  open("for (" + std::string(index_type_) + " " + var + " = 0; " + var + " < " +
       extent.print().text + "; ++" + var + ")");
  emit_scope(loop.body);
  close();
  copies_ = outside;
  names_.release(var);
}

/// Stores, and branches that all lanes take alike.
inline bool CudaStatementPrinter::is_vector_body(StmtId id) const {
  if (const Seq* seq = program_.as<Seq>(id)) {
    return all_items(seq->items, [&](StmtId item) { return is_vector_body(item); });
  }
  const If* branch = program_.as<If>(id);
  const Store* store = program_.as<Store>(id);
  return branch != nullptr ? !branch->else_body.valid() && is_uniform(branch->condition) &&
                                 is_vector_body(branch->then_body)
                           : store != nullptr && !accesses_lanes(*store);
}

inline void CudaStatementPrinter::vector_chunk(StmtId id, VarId var, const LinearText& base,
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
    num_stores_ += copies_ * lanes;
    vector_store(*program_.as<Store>(id), var, base, lanes);
  }
}

inline void CudaStatementPrinter::emit_vectorized(const For& loop, std::int64_t extent) {
  std::int32_t lanes = vector_bytes / widest_element_bytes(program_, loop.body);
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
  const double outside = copies_;
  copies_ *= static_cast<double>(is_vector ? extent / lanes : extent);
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
  copies_ = outside;
  names_.release(var);
}

}  // namespace tensorsmith::detail
