// SPDX-License-Identifier: Apache-2.0
// TileSum: what one thread of a kernel does, taken apart around the sum of its tile.
//
// Floor 4. The form that tilings with shared copies have, barriers placed:
//     acc = 0; for k in K: { barrier; fetch; barrier; acc += .. }; C = acc
// Not here: what is done with it (stream_k.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// A loop, or a hardware axis of a kernel; extent 0: there is none.
struct KernelAxis {
  VarId var;
  std::int64_t extent = 0;
};

struct TileSum {
  std::vector<StmtId> before, step, after;  ///< `step`: of the innermost of `loops`
  std::vector<KernelAxis> loops;            ///< around a step, outermost first
  std::int64_t steps = 1;                   ///< iterations of them all
  std::vector<BufferId> buffers;            ///< of a thread, allocated around all of it
  /// Of them, the tiles that begin with 0, that every step adds to, and that are read behind it.
  std::vector<BufferId> sums;
};

/// Whether the store adds something to its element that does not read its buffer.
inline bool adds_to_itself(const ExprPool& pool, const Store& store) {
  const Binary* sum = pool.as<Binary>(store.value);
  if (sum == nullptr || sum->op != BinaryOp::add) {
    return false;
  }
  const auto is_old = [&](ExprId id) {
    const Load* load = pool.as<Load>(id);
    return load != nullptr && load->buffer == store.buffer && load->indices == store.indices;
  };
  const auto reads = [&](ExprId id) {
    return any_node(pool, id, [&](ExprId e) {
      const Load* load = pool.as<Load>(e);
      return load != nullptr && load->buffer == store.buffer;
    });
  };
  return (is_old(sum->a) && !reads(sum->b)) || (is_old(sum->b) && !reads(sum->a));
}

inline bool is_zero(const ExprPool& pool, ExprId id) {
  const IntImm* whole = pool.as<IntImm>(id);
  const FloatImm* real = pool.as<FloatImm>(id);
  return (whole != nullptr && whole->value == 0) || (real != nullptr && real->value == 0);
}

class TileSumFinder {
 public:
  explicit TileSumFinder(const LoopProgram& program) : p_(program) {}

  /// Nothing if the statement has another form.
  std::optional<TileSum> run(StmtId body) {
    return take_apart(body) && find_sums() ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  /// More elements of a thread's tile are none that it keeps in registers.
  static constexpr std::int64_t most_elements = 1024;

  static std::int64_t num_points(const Buffer& buffer) {
    std::int64_t points = 1;
    for (const std::int64_t extent : buffer.shape) {
      points *= extent;
    }
    return points;
  }
  bool has_barrier(StmtId id) const {
    return p_.as<Barrier>(id) != nullptr ||
           any_child(p_[id], [&](StmtId child) { return has_barrier(child); });
  }
  template <class F>
  void each_load(StmtId id, F&& f) const {
    for_each_expr(p_[id], [&](ExprId expr) {
      visit_expr(p_.pool, expr, [&](ExprId e) {
        if (const Load* load = p_.pool.as<Load>(e)) {
          f(*load);
        }
      });
    });
    for_each_child(p_[id], [&](StmtId child) { each_load(child, f); });
  }
  template <class F>
  void each_store(StmtId id, F&& f) const {
    if (const Store* store = p_.as<Store>(id)) {
      f(*store);
    }
    for_each_child(p_[id], [&](StmtId child) { each_store(child, f); });
  }

  void flatten(StmtId id, std::vector<StmtId>& items) {
    const Alloc* alloc = p_.as<Alloc>(id);
    if (const Seq* seq = p_.as<Seq>(id)) {
      for (const StmtId item : seq->items) {
        flatten(item, items);
      }
    } else if (alloc != nullptr && !is_of_block(p_[alloc->buffer].scope)) {
      found_.buffers.push_back(alloc->buffer);
      flatten(alloc->body, items);
    } else {
      items.push_back(id);
    }
  }

  /// In front of the sum, the loops of its steps, behind it.
  bool take_apart(StmtId body) {
    std::vector<StmtId> items;
    flatten(body, items);
    StmtId sum;
    for (const StmtId item : items) {
      if (has_barrier(item)) {
        if (sum.valid()) {
          return false;
        }
        sum = item;
      } else {
        (sum.valid() ? found_.after : found_.before).push_back(item);
      }
    }
    while (const For* loop = sum.valid() ? p_.as<For>(sum) : nullptr) {
      const IntImm* extent = p_.pool.as<IntImm>(loop->extent);
      if (loop->kind != ForKind::serial || extent == nullptr || extent->value < 1) {
        return false;
      }
      found_.loops.push_back({loop->var, extent->value});
      found_.steps *= extent->value;
      sum = loop->body;
    }
    const Seq* seq = sum.valid() ? p_.as<Seq>(sum) : nullptr;
    if (seq == nullptr || found_.loops.empty() || found_.after.empty()) {
      return false;
    }
    found_.step = seq->items;
    return all_items(found_.step, [&](StmtId item) {
      return p_.as<Barrier>(item) != nullptr || !has_barrier(item);
    });
  }

  /// The private tiles that every step adds to, and that are read behind the sum. False if anything
  /// else outlives a step.
  bool find_sums() {
    const std::size_t count = p_.buffers.size();
    std::vector<bool> begun(count, false), updated(count, false), read(count, false);
    std::vector<bool> is_sum(count, true);
    bool fits = true;
    const auto is_private = [&](BufferId id) {
      return p_[id].scope == Scope::local || p_[id].scope == Scope::register_;
    };
    for (const StmtId item : found_.before) {
      each_store(item, [&](const Store& store) {
        fits = fits && is_private(store.buffer);
        begun[store.buffer.value] = true;
        is_sum[store.buffer.value] = is_sum[store.buffer.value] && is_zero(p_.pool, store.value);
      });
      each_load(item,
                [&](const Load& load) { fits = fits && !is_of_block(p_[load.buffer].scope); });
    }
    for (const StmtId item : found_.step) {
      each_store(item, [&](const Store& store) {
        fits = fits && p_[store.buffer].scope != Scope::global;
        updated[store.buffer.value] = true;
        is_sum[store.buffer.value] = is_sum[store.buffer.value] && adds_to_itself(p_.pool, store);
      });
    }
    for (const StmtId item : found_.after) {
      each_store(item,
                 [&](const Store& store) { fits = fits && !is_of_block(p_[store.buffer].scope); });
      each_load(item, [&](const Load& load) {
        fits = fits && !is_of_block(p_[load.buffer].scope);
        read[load.buffer.value] = true;
      });
    }
    for (std::uint32_t b = 0; b < count; ++b) {
      if (updated[b] && is_private(BufferId{b}) && (begun[b] || read[b])) {
        fits = fits && begun[b] && read[b] && is_sum[b] &&
               num_points(p_.buffers[b]) <= most_elements && has_item(found_.buffers, BufferId{b});
        found_.sums.push_back(BufferId{b});
      }
    }
    return fits && !found_.sums.empty();
  }

  const LoopProgram& p_;
  TileSum found_;
};

}  // namespace tensorsmith::detail
