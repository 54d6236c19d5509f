// SPDX-License-Identifier: Apache-2.0
// fetch_ahead: copies into shared memory begin some iterations before they are used.
//
// Floor 4. Own design (software pipelining with several buffers, as in CUTLASS's multistage
// products). The iteration that fetches is `stages` - 1 ahead of the one that computes; every
// buffer that is fetched becomes `stages` of them:
//     for k in 16: barrier; S = A[k]; barrier; use S
//         -->  for t in 17: barrier; if (t < 16) S[t % 2] = A[t]; if (t >= 1) use S[(t + 1) % 2]
// One barrier keeps both apart: what is fetched now is used behind the next one, what is used now
// is overwritten behind the next one. The stores are marked, so that code generation may let the
// hardware copy in the background; the barrier then waits for all but the `stages` - 2 newest
// iterations. A loop of another form, or whose buffers have other uses, stays as it is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {
namespace detail {

class FetchPipeliner {
 public:
  FetchPipeliner(LoopProgram& program, std::int32_t stages, std::int64_t most_shared_bytes)
      : p_(program), stages_(stages), most_shared_bytes_(most_shared_bytes) {}

  void run(StmtId body, const std::vector<BufferId>& shared) {
    uses_.assign(p_.buffers.size(), {});
    for (BufferId buffer : shared) {
      shared_bytes_ += p_[buffer].scope == Scope::shared ? p_[buffer].num_bytes() : 0;
    }
    count_uses(body, uses_);
    walk(body);
  }

 private:
  struct Uses {
    std::int64_t loads = 0, stores = 0;
  };
  using AllUses = std::vector<Uses>;

  void count_uses(ExprId id, AllUses& uses) const {
    if (const Load* load = p_.pool.as<Load>(id)) {
      ++uses[load->buffer.value].loads;
    }
    for_each_child(p_.pool[id], [&](ExprId child) { count_uses(child, uses); });
  }
  void count_uses(StmtId id, AllUses& uses) const {
    if (const Store* store = p_.as<Store>(id)) {
      ++uses[store->buffer.value].stores;
    }
    for_each_expr(p_[id], [&](ExprId expr) { count_uses(expr, uses); });
    for_each_child(p_[id], [&](StmtId child) { count_uses(child, uses); });
  }

  void walk(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || loop->kind != ForKind::serial || !pipeline(id, *loop)) {
      for_each_child(stmt, [&](StmtId child) { walk(child); });
    }
  }

  bool has_barrier(StmtId id) const {
    return p_.as<Barrier>(id) != nullptr ||
           any_child(p_[id], [&](StmtId child) { return has_barrier(child); });
  }

  /// Barrier, what is fetched, barrier, what uses it.
  bool pipeline(StmtId id, const For& loop) {
    const Seq* body = p_.as<Seq>(loop.body);
    const IntImm* extent = p_.pool.as<IntImm>(loop.extent);
    if (body == nullptr || extent == nullptr || extent->value < stages_) {
      return false;
    }
    std::vector<StmtId> fetches, rest;
    std::int32_t num_barriers = 0;
    for (std::size_t i = 0; i < body->items.size(); ++i) {
      const StmtId item = body->items[i];
      const Barrier* barrier = p_.as<Barrier>(item);
      if (barrier != nullptr && barrier->scope == Scope::shared) {
        ++num_barriers;
      } else if (has_barrier(item) || num_barriers == 0 || num_barriers > 2) {
        return false;
      } else {
        (num_barriers == 1 ? fetches : rest).push_back(item);
      }
    }
    AllUses fetched(p_.buffers.size()), used(p_.buffers.size());
    for (StmtId item : fetches) {
      count_uses(item, fetched);
    }
    for (StmtId item : rest) {
      count_uses(item, used);
    }
    std::vector<BufferId> buffers;
    std::int64_t more_bytes = 0;
    for (std::uint32_t b = 0; b < p_.buffers.size(); ++b) {
      const bool is_global = p_.buffers[b].scope == Scope::global;
      if (fetched[b].loads > 0 && (!is_global || uses_[b].stores > 0)) {
        return false;
      }
      if (fetched[b].stores > 0) {
        if (p_.buffers[b].scope != Scope::shared || fetched[b].stores != uses_[b].stores ||
            used[b].loads != uses_[b].loads) {
          return false;
        }
        buffers.push_back(BufferId{b});
        more_bytes += (stages_ - 1) * (p_.buffers[b].num_bytes() + 15);
      }
    }
    if (buffers.empty() || rest.empty() || shared_bytes_ + more_bytes > most_shared_bytes_) {
      return false;
    }
    shared_bytes_ += more_bytes;
    make_pipeline(id, loop, extent->value, buffers, fetches, rest);
    return true;
  }

  void make_pipeline(StmtId id, const For& loop, std::int64_t extent,
                     const std::vector<BufferId>& buffers, const std::vector<StmtId>& fetches,
                     const std::vector<StmtId>& rest) {
    ExprPool& pool = p_.pool;
    for (BufferId b : buffers) {  // each begins at a multiple of 16 bytes
      Buffer& buffer = p_[b];
      const std::int64_t unit = larger_of<std::int64_t>(16 / bytes_of(buffer.dtype), 1);
      const std::int64_t stride = (buffer.num_elements() + unit - 1) / unit * unit;
      buffer.strides.insert(0, stride);
      buffer.shape.insert(0, stages_);
    }
    const VarId t = pool.new_var(pool.var_name(loop.var));
    const ExprId time = pool.var(t), stages = pool.int_imm(stages_);
    const ExprId ahead = pool.int_imm(stages_ - 1);
    map_ = {};
    map_.set(loop.var, time);
    renew(fetches, pool.floormod(time, stages), buffers, true);
    map_.set(loop.var, pool.sub(time, ahead));
    renew(rest, pool.floormod(pool.add(time, pool.int_imm(1)), stages), buffers, false);
    const StmtId barrier = p_.add(Barrier{Scope::shared, static_cast<std::int32_t>(stages_ - 2)});
    const StmtId fetch = p_.add(If{pool.lt(time, pool.int_imm(extent)), p_.add(Seq{fetches}), {}});
    const StmtId use = p_.add(If{pool.lt(pool.int_imm(stages_ - 2), time), p_.add(Seq{rest}), {}});
    p_.stmts[id.value] = For{t, pool.int_imm(extent + stages_ - 1), ForKind::serial,
                             p_.add(Seq{{barrier, fetch, use}})};
  }

  void renew(const std::vector<StmtId>& items, ExprId slot, const std::vector<BufferId>& buffers,
             bool is_fetch) {
    for (StmtId item : items) {
      renew(item, slot, buffers, is_fetch);
    }
  }
  void renew(StmtId id, ExprId slot, const std::vector<BufferId>& buffers, bool is_fetch) {
    if (!id.valid()) {
      return;
    }
    Stmt stmt = p_[id];
    std::visit(Overloaded{[&](Seq& s) { renew(s.items, slot, buffers, is_fetch); },
                          [&](For& s) {
                            s.extent = expr(s.extent, slot, buffers);
                            renew(s.body, slot, buffers, is_fetch);
                          },
                          [&](If& s) {
                            s.condition = expr(s.condition, slot, buffers);
                            renew(s.then_body, slot, buffers, is_fetch);
                            renew(s.else_body, slot, buffers, is_fetch);
                          },
                          [&](Alloc& s) { renew(s.body, slot, buffers, is_fetch); },
                          [&](Store& s) {
                            s.value = expr(s.value, slot, buffers);
                            s.indices = indices(s.buffer, s.indices, slot, buffers);
                            s.is_async = is_fetch;
                          },
                          [](Barrier&) {}, [](Prefetch&) {}},
               stmt);
    p_.stmts[id.value] = std::move(stmt);
  }
  ExprList indices(BufferId buffer, const ExprList& old, ExprId slot,
                   const std::vector<BufferId>& buffers) {
    ExprList list;
    if (has_item(buffers, buffer)) {
      list.push_back(slot);
    }
    for (ExprId index : old) {
      list.push_back(expr(index, slot, buffers));
    }
    return list;
  }
  ExprId expr(ExprId id, ExprId slot, const std::vector<BufferId>& buffers) {
    if (p_.pool.as<VarRef>(id) != nullptr) {
      return map_(p_.pool, id);
    }
    if (const Load* found = p_.pool.as<Load>(id)) {
      const Load load = *found;
      const DType type = p_.pool.dtype(id);
      return p_.pool.load(load.buffer, type, indices(load.buffer, load.indices, slot, buffers));
    }
    return map_children(p_.pool, id, [&](ExprId child) { return expr(child, slot, buffers); });
  }

  LoopProgram& p_;
  std::int64_t stages_, most_shared_bytes_, shared_bytes_ = 0;
  AllUses uses_;  ///< in the kernel
  Substitution map_;
};

}  // namespace detail

/// `body`: what one thread of a kernel does, barriers placed; `shared`: the kernel's buffers.
inline void fetch_ahead(LoopProgram& program, StmtId body, const std::vector<BufferId>& shared,
                        std::int32_t stages, std::int64_t most_shared_bytes) {
  detail::FetchPipeliner(program, stages, most_shared_bytes).run(body, shared);
}

}  // namespace tensorsmith
