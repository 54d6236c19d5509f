// SPDX-License-Identifier: Apache-2.0
// write_out_sums: reductions of a few terms in tiles narrower than a vector become formulas,
// without accumulators.
//
// Floor 4. Own design. What such loops compute is an elementwise pass, and gets what those have:
// vectors along several loops, interleaved stores, rows in front of outer loops.
//     acc = 0; for k in 3: for tile: acc[t] = acc[t] + A[t, k] * B[k]; for tile: C[t] = g(acc[t])
//       -->  for tile: C[t] = g(((0 + A[t, 0] * B[0]) + A[t, 1] * B[1]) + A[t, 2] * B[2])
// Terms are added in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/lower/shape_nest.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {
namespace detail {

class SumWriter {
 public:
  SumWriter(LoopProgram& program, const Target& target) : p_(program), target_(target) {}

  void run(StmtId id) {
    if (const Alloc* alloc = p_.as<Alloc>(id)) {
      if (const std::optional<StmtId> formula = formula_of(*alloc)) {
        const Stmt stmt = p_[*formula];
        p_.stmts[id.value] = stmt;
      }
    }
    const Stmt stmt = p_[id];  // a copy: the program grows
    for_each_child(stmt, [&](StmtId child) { run(child); });
  }

 private:
  /// Loops of constant extents around one store.
  struct Pass {
    std::vector<const For*> loops;
    const Store* store = nullptr;
  };
  std::optional<Pass> pass_of(StmtId id) const {
    Pass pass;
    while (const For* loop = p_.as<For>(id)) {
      const IntImm* extent = p_.pool.as<IntImm>(loop->extent);
      if (extent == nullptr || extent->value < 1 || loop->intrinsic != nullptr) {
        return std::nullopt;
      }
      pass.loops.push_back(loop);
      id = loop->body;
    }
    pass.store = p_.as<Store>(id);
    return pass.store != nullptr ? std::optional(std::move(pass)) : std::nullopt;
  }
  std::int64_t extent_of(const For& loop) const { return p_.pool.as<IntImm>(loop.extent)->value; }

  /// The loop whose variable an index is, nullptr if it is 0; nothing if it is something else.
  std::optional<const For*> loop_of(const Pass& pass, ExprId index) const {
    const IntImm* imm = p_.pool.as<IntImm>(index);
    if (imm != nullptr && imm->value == 0) {
      return nullptr;
    }
    const VarRef* ref = p_.pool.as<VarRef>(index);
    for (const For* loop : pass.loops) {
      if (ref != nullptr && loop->var == ref->var) {
        return loop;
      }
    }
    return std::nullopt;
  }
  /// Makes the element that a pass accumulates the one of the last pass. False: its loops do not
  /// visit the whole tile element by element.
  bool map_tile(const Pass& pass, const ExprList& indices, const Pass& last, const ExprList& wanted,
                Substitution& map) const {
    const Buffer& tile = p_[acc_];
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const auto own = loop_of(pass, indices[d]), its = loop_of(last, wanted[d]);
      if (!own || !its || (*own == nullptr) != (*its == nullptr)) {
        return false;
      }
      if (*own != nullptr) {
        if (extent_of(**own) != tile.shape[d] || extent_of(**its) != tile.shape[d]) {
          return false;
        }
        map.set((*own)->var, wanted[d]);
      } else if (tile.shape[d] != 1) {
        return false;
      }
    }
    return true;
  }

  bool reads(ExprId id, BufferId buffer) const {
    return any_node(p_.pool, id, [&](ExprId node) {
      const Load* load = p_.pool.as<Load>(node);
      return load != nullptr && load->buffer == buffer;
    });
  }
  /// With `value` instead of every element of the accumulator; nothing: it reads one elsewhere.
  std::optional<ExprId> with(ExprId id, const ExprList& indices, ExprId value) {
    bool fits = true;
    const auto replace = [&](auto&& self, ExprId node) -> ExprId {
      const Load* load = p_.pool.as<Load>(node);
      if (load != nullptr && load->buffer == acc_) {
        fits = fits && load->indices == indices;
        return value;
      }
      return map_children(p_.pool, node, [&](ExprId child) { return self(self, child); });
    };
    const ExprId result = replace(replace, id);
    return fits ? std::optional(result) : std::nullopt;
  }

  /// The last pass with the sum written out.
  std::optional<StmtId> formula_of(const Alloc& alloc) {
    acc_ = alloc.buffer;
    const Seq* parts = p_.as<Seq>(alloc.body);
    if (p_[acc_].scope != Scope::register_ || parts == nullptr || parts->items.size() != 3) {
      return std::nullopt;
    }
    const std::vector<StmtId> items = parts->items;
    const auto first = pass_of(items[0]), sum = pass_of(items[1]), last = pass_of(items[2]);
    if (!first || !sum || !last || first->store->buffer != acc_ || sum->store->buffer != acc_ ||
        last->store->buffer == acc_ || p_[last->store->buffer].scope == Scope::register_ ||
        reads(first->store->value, acc_)) {
      return std::nullopt;
    }
    const Store stored = *last->store;
    const std::int64_t bits = 8 * std::int64_t{bytes_of(p_[stored.buffer].dtype)};
    if (last->loops.empty() || last->loops.back()->kind != ForKind::vectorized ||
        extent_of(*last->loops.back()) * bits >= target_.vector_bits) {
      return std::nullopt;
    }
    if (reads(sum->store->value, stored.buffer) || reads(first->store->value, stored.buffer)) {
      return std::nullopt;
    }
    ExprList wanted;
    visit_nodes(p_.pool, stored.value, [&](ExprId node) {
      const Load* load = p_.pool.as<Load>(node);
      if (load != nullptr && load->buffer == acc_) {
        wanted = load->indices;
      }
    });
    Substitution begin, step;
    if (wanted.size() != p_[acc_].shape.size() ||
        !map_tile(*first, first->store->indices, *last, wanted, begin) ||
        !map_tile(*sum, sum->store->indices, *last, wanted, step)) {
      return std::nullopt;
    }
    std::vector<std::pair<VarId, std::int64_t>> reduced;
    std::int64_t terms = 1;
    for (const For* loop : sum->loops) {
      const bool is_tile = any_item(
          sum->store->indices, [&](ExprId index) { return uses_var(p_.pool, index, loop->var); });
      if (!is_tile) {
        reduced.emplace_back(loop->var, extent_of(*loop));
        terms *= extent_of(*loop);
      }
    }
    if (terms > most_written_terms || num_tile_loops(*first) != first->loops.size()) {
      return std::nullopt;
    }
    const ExprId added = sum->store->value;
    ExprId value = begin(p_.pool, first->store->value);
    for (std::int64_t term = 0; term < terms; ++term) {
      std::int64_t rest = term;
      for (std::size_t i = reduced.size(); i-- > 0;) {
        step.set(reduced[i].first, p_.pool.int_imm(rest % reduced[i].second));
        rest /= reduced[i].second;
      }
      const auto next = with(step(p_.pool, added), wanted, value);
      if (!next) {
        return std::nullopt;
      }
      value = *next;
    }
    const auto result = with(stored.value, wanted, value);
    if (!result) {
      return std::nullopt;
    }
    return replaced(items[2], *result);
  }
  std::size_t num_tile_loops(const Pass& pass) const {
    return count_items(pass.loops, [&](const For* loop) {
      return any_item(pass.store->indices,
                      [&](ExprId index) { return uses_var(p_.pool, index, loop->var); });
    });
  }
  /// The pass with another value; changes it in place.
  StmtId replaced(StmtId pass, ExprId value) {
    StmtId id = pass;
    while (const For* loop = p_.as<For>(id)) {
      id = loop->body;
    }
    Store store = *p_.as<Store>(id);
    store.value = value;
    p_.stmts[id.value] = std::move(store);
    return pass;
  }

  LoopProgram& p_;
  const Target& target_;
  BufferId acc_;
};

}  // namespace detail

/// For programs of CPUs.
inline void write_out_sums(LoopProgram& program, const Target& target) {
  detail::SumWriter(program, target).run(program.body);
}

}  // namespace tensorsmith
