// SPDX-License-Identifier: Apache-2.0
// extract_features of a kernel that is lowered already: the same rows, read from its loops.
//
// Floor 5. Ansor reference, ch. 6, as extract.hpp. Loops, stores and buffers are taken as they
// stand; buffers may be flat. Loops of extent 1 do not count, conditions of statements and copies
// ahead (Prefetch) neither. An argument that is stored counts as allocated around everything, like
// the result of a state. Every loop over threads is itself (ThreadLoops::apart); a kernel has no
// unrolling pragma.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/feature/feature_rows.hpp"
#include "tensorsmith/feature/store_value.hpp"
#include "tensorsmith/ir/algebra/analyzer.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/te/expression_reader.hpp"

namespace tensorsmith {
namespace detail {

constexpr Annotation annotation_of(ForKind kind) {
  switch (kind) {
  case ForKind::serial:
    return Annotation::none;
  case ForKind::parallel:
    return Annotation::parallel;
  case ForKind::unrolled:
    return Annotation::unroll;
  case ForKind::vectorized:
    return Annotation::vectorize;
  case ForKind::vthread:
    return Annotation::vthread;
  case ForKind::block_x:
    return Annotation::block_x;
  case ForKind::block_y:
    return Annotation::block_y;
  case ForKind::block_z:
    return Annotation::block_z;
  case ForKind::thread_x:
    return Annotation::thread_x;
  case ForKind::thread_y:
    return Annotation::thread_y;
  case ForKind::thread_z:
    return Annotation::thread_z;
  }
  return Annotation::none;
}

/// The stores of a lowered kernel; the id of a buffer is that of a tensor.
class KernelStores {
 public:
  explicit KernelStores(const LoopProgram& kernel) : kernel_(kernel), analyzer_(pool_, workspace_) {
    for (const Buffer& buffer : kernel.buffers) {
      program_.buffers.push_back({buffer.dtype, buffer.shape});
    }
    is_allocated_.resize(kernel.buffers.size(), false);
  }

  StoreProgram run() {
    visit(kernel_.body);
    program_.num_tables = static_cast<std::int32_t>(program_.loops.size());
    program_.pool = std::move(pool_);
    return std::move(program_);
  }

 private:
  algebra::Ref read(ExprId id) {
    return analyzer_.simplify(ExpressionReader(kernel_.pool, pool_, no_operations_, meanings_)(id));
  }

  void visit(StmtId id) {
    if (const For* loop = kernel_.as<For>(id)) {
      return visit_loop(*loop);
    }
    if (const Alloc* alloc = kernel_.as<Alloc>(id)) {
      allocate(alloc->buffer, open_);
    } else if (const Store* store = kernel_.as<Store>(id)) {
      visit_store(*store);
    }
    for_each_child(kernel_[id], [&](StmtId child) { visit(child); });
  }

  void visit_loop(const For& loop) {
    const algebra::Ref extent = read(loop.extent);
    if (pool_.is_integer(extent, 1)) {
      meanings_.emplace_back(loop.var, pool_.like(extent, 0));
      visit(loop.body);
      meanings_.pop_back();
      return;
    }
    const auto number = static_cast<std::int32_t>(program_.loops.size());
    const std::int32_t var = pool_.new_var(kernel_.pool.var_dtype(loop.var));
    FeatureLoop made;
    made.annotation = annotation_of(loop.kind);
    made.extent = analyzer_.bound(extent).max;
    made.varying = pool_.is_integer(extent) ? algebra::no_ref : extent;
    made.vars.push_back(var);
    program_.loops.push_back(std::move(made));
    analyzer_.bind(var, pool_.like(extent, 0), extent);
    meanings_.emplace_back(loop.var, pool_.var(var));
    open_.push_back({number, number});
    visit(loop.body);
    open_.pop_back();
    meanings_.pop_back();
  }

  void visit_store(const Store& statement) {
    if (kernel_[statement.buffer].argument >= 0) {
      allocate(statement.buffer, {});
    }
    FeatureStore store;
    store.tensor = TensorId{statement.buffer.value};
    store.loops = open_;
    FeatureAccess access;
    access.tensor = store.tensor;
    access.kind = AccessKind::write;
    access.rank = statement.indices.size();
    for (ExprId index : statement.indices) {
      access.indices.push_back(read(index));
    }
    store.accesses.push_back(std::move(access));
    add_value(pool_, read(statement.value), store);
    program_.stores.push_back(std::move(store));
  }

  void allocate(BufferId buffer, const std::vector<OpenFeatureLoop>& around) {
    if (is_allocated_[buffer.value]) {
      return;
    }
    is_allocated_[buffer.value] = true;
    FeatureAllocation made = allocation_inside(program_, around);
    made.tensor = TensorId{buffer.value};
    for (std::int64_t extent : kernel_[buffer].shape) {
      made.elements *= static_cast<double>(extent);
    }
    const Scope scope = kernel_[buffer].scope;
    made.scope = scope == Scope::shared  ? FeatureScope::shared
                 : scope == Scope::local ? FeatureScope::local
                                         : FeatureScope::global;
    program_.allocations.push_back(made);
  }
  const LoopProgram& kernel_;
  const InlinedOperations no_operations_;
  algebra::Pool pool_;
  algebra::Workspace workspace_;
  algebra::Analyzer analyzer_;
  StoreProgram program_;
  Meanings meanings_;
  std::vector<OpenFeatureLoop> open_;
  std::vector<bool> is_allocated_;
};

}  // namespace detail

/// Rows in the order of the first store to each buffer.
inline FeatureMatrix extract_features(const LoopProgram& kernel,
                                      const FeatureOptions& options = {}) {
  return detail::feature_rows(detail::KernelStores(kernel).run(), options,
                              [](TensorId) { return false; });
}

}  // namespace tensorsmith
