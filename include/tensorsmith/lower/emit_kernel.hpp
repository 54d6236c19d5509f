// SPDX-License-Identifier: Apache-2.0
// One GPU kernel: scopes of the stages in it, its blocks and threads (docs/decisions/0007).
//
// Floor 4. Part of emit.hpp. Every root stage is a kernel of its own:
//     block loops { alloc shared { thread loops { what one thread does } } }
// A loop bound to an axis has the axis' variable as its value; the axis is as long as the longest
// of them, and threads behind the end of a shorter one store nothing.
#pragma once

#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/fetch_ahead.hpp"
#include "tensorsmith/lower/hoist_guards.hpp"
#include "tensorsmith/lower/inject_vthreads.hpp"
#include "tensorsmith/lower/load_ahead.hpp"
#include "tensorsmith/lower/place_barriers.hpp"
#include "tensorsmith/lower/stream_k.hpp"
#include "tensorsmith/lower/swizzle_shared.hpp"

namespace tensorsmith::detail {

/// A cache lives where its step says; else inside of a thread's loops in that thread, outside of
/// them in the block.
inline Scope ThreadDecisions::scope_of_attached(std::int32_t stage) const {
  const std::string& scope = derivations_[static_cast<std::size_t>(stage)].scope;
  if (scope == "local" || scope == "shared") {
    return scope == "local" ? Scope::local : Scope::shared;
  }
  for (const Emission* e : active_) {
    for (std::size_t i = 0; i < e->nest.num_leaves(); ++i) {
      const Annotation annotation = e->nest.derivation.leaves[i].annotation;
      if (e->nest.leaf_value[i].valid() &&
          (annotation == Annotation::vthread || is_thread_loop(bound_kind(annotation)))) {
        return Scope::local;
      }
    }
  }
  return Scope::shared;
}

inline bool ThreadDecisions::is_thread_var(VarId var) const {
  return has_item(kernel_.thread_vars, var);
}

/// The interval for all threads of a block together.
inline void ThreadDecisions::relax(SymbolicInterval& interval) const {
  Affine low;
  low.constant = interval.low.constant;
  for (const AffineTerm& term : interval.low.terms) {
    bool is_of_threads = false;
    visit_nodes(program_.pool, term.atom, [&](ExprId id) {
      const VarRef* ref = program_.pool.as<VarRef>(id);
      is_of_threads = is_of_threads || (ref != nullptr && is_thread_var(ref->var));
    });
    if (!is_of_threads) {
      low.add(term.atom, term.coefficient);
      continue;
    }
    const auto range = range_of(program_.pool, extents_, term.atom);
    if (!range) {
      interval.is_known = false;
      return;
    }
    const std::int64_t c = term.coefficient;
    low.constant += c * (c > 0 ? range->min : range->max);
    interval.width += (c > 0 ? c : -c) * (range->max - range->min);
  }
  interval.low = std::move(low);
}

inline StmtId Emitter::emit_kernel(std::int32_t stage, std::vector<std::int64_t> extent) {
  kernel_ = {};
  const char* names[] = {"tx", "ty", "tz"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    kernel_.any_thread[axis] = program_.pool.new_var(names[axis]);
  }
  const std::size_t rank = extent.size();
  const StmtId body = emit_stage(stage, std::vector<Affine>(rank), std::move(extent), {});
  return error_ ? body : wrap_kernel(body);
}

/// Conditions on threads that all threads of the kernel fulfil go; variables of an axis become one.
inline void Emitter::drop_guards(StmtId id, const Substitution& axes) {
  if (!id.valid()) {
    return;
  }
  ExprPool& pool = program_.pool;
  Stmt stmt = program_[id];
  std::visit(Overloaded{[&](Seq& s) {
                          for (StmtId item : s.items) {
                            drop_guards(item, axes);
                          }
                        },
                        [&](For& s) {
                          s.extent = axes(pool, s.extent);
                          drop_guards(s.body, axes);
                        },
                        [&](If& s) {
                          s.condition = fold(axes(pool, s.condition));
                          drop_guards(s.then_body, axes);
                          drop_guards(s.else_body, axes);
                        },
                        [&](Alloc& s) { drop_guards(s.body, axes); },
                        [&](Store& s) {
                          s.value = axes(pool, s.value);
                          for (ExprId& index : s.indices) {
                            index = axes(pool, index);
                          }
                        },
                        [](Barrier&) {}, [](Prefetch&) {}},
             stmt);
  if (const If* branch = std::get_if<If>(&stmt)) {
    const IntImm* known = pool.as<IntImm>(branch->condition);
    if (known != nullptr && known->value != 0) {
      stmt = Stmt(program_[branch->then_body]);
    }
  }
  program_.stmts[id.value] = std::move(stmt);
}

/// Takes the allocations of buffers in which threads meet out of what a thread does.
inline void Emitter::take_shared(StmtId id, std::vector<BufferId>& shared) {
  const Stmt stmt = program_[id];  // a copy: the statement may be replaced
  for_each_child(stmt, [&](StmtId child) { take_shared(child, shared); });
  const Alloc* alloc = std::get_if<Alloc>(&stmt);
  if (alloc != nullptr && is_of_block(program_[alloc->buffer].scope)) {
    shared.push_back(alloc->buffer);
    program_.stmts[id.value] = Stmt(program_[alloc->body]);
  }
}

inline StmtId Emitter::wrap_kernel(StmtId body) {
  ExprPool& pool = program_.pool;
  // Innermost first.
  constexpr ForKind order[] = {ForKind::thread_x, ForKind::thread_y, ForKind::thread_z,
                               ForKind::block_x,  ForKind::block_y,  ForKind::block_z};
  KernelAxis axes[6];
  Substitution to_axis;
  for (std::size_t a = 0; a < 6; ++a) {
    for (const AxisBinding& binding : kernel_.bindings) {
      if (binding.axis == order[a] && binding.extent > axes[a].extent) {
        axes[a] = {binding.var, binding.extent};
      }
    }
    if (a == 0 && axes[a].extent == 0) {  // every kernel has threads
      axes[a] = {pool.new_var("tx"), 1};
      extents_.set(axes[a].var, 1);
    }
    for (const AxisBinding& binding : kernel_.bindings) {
      if (binding.axis == order[a] && binding.var != axes[a].var) {
        to_axis.set(binding.var, pool.var(axes[a].var));
      }
    }
    if (a < 3) {
      to_axis.set(kernel_.any_thread[a],
                  axes[a].extent > 1 ? pool.var(axes[a].var) : pool.int_imm(0));
    }
  }
  has_torn_groups_ = has_torn_groups_ || axes[0].extent % kernel_.lanes != 0;
  for (const ThreadRows& row : kernel_.rows) {
    Buffer& buffer = program_[row.buffer];
    for (std::size_t a = 0; a < 3; ++a) {
      if (row.placeholder == pool.var(kernel_.any_thread[a]) && axes[a].extent > 1) {
        buffer.shape[row.dimension] = axes[a].extent;
      }
    }
    std::int64_t stride = 1;
    for (std::size_t d = buffer.shape.size(); d-- > 0; stride *= buffer.shape[d]) {
      buffer.strides[d] = stride;
    }
  }
  drop_guards(body, to_axis);
  inject_vthreads(program_, body);
  std::vector<BufferId> shared;
  take_shared(body, shared);
  VarId thread;
  std::int32_t num_axes = 0;
  for (std::size_t a = 0; a < 3; ++a) {
    num_axes += axes[a].extent > 1 ? 1 : 0;
    thread = axes[a].extent > 1 ? axes[a].var : thread;
  }
  if (num_axes > 0) {
    place_barriers(program_, body, num_axes == 1 ? thread : VarId{});
  }
  hoist_guards(program_, body);
  check_vectors(body);
  StmtId fix_up;
  if (kernel_.stream_blocks > 1) {
    if (auto streamed = stream_k(program_, body, axes, kernel_.stream_blocks)) {
      body = streamed->body;
      fix_up = streamed->fix_up;
      axes[3] = streamed->block;
      axes[4] = axes[5] = {};
      kernel_.parts = std::move(streamed->parts);
    }
  }
  swizzle_shared(program_, body);
  constexpr std::int32_t first_with_async_copies = 80;
  if (kernel_.fetch_stages > 1 && num_axes > 0 &&
      target_.gpu->compute_capability >= first_with_async_copies) {
    fetch_ahead(program_, body, shared, kernel_.fetch_stages,
                target_.gpu->max_shared_memory_optin_bytes);
  }
  if (kernel_.load_sets > 1) {
    load_ahead(program_, body, kernel_.load_sets);
  }
  for (std::size_t a = 0; a < 6; ++a) {
    if (a == 3) {
      for (std::size_t i = shared.size(); i-- > 0;) {
        body = program_.add(Alloc{shared[i], body});
      }
    }
    if (axes[a].extent > 0) {
      body = program_.add(For{axes[a].var, pool.int_imm(axes[a].extent), order[a], body});
    }
  }
  return fix_up.valid() ? program_.add(Seq{{body, fix_up}}) : body;
}

}  // namespace tensorsmith::detail
