// SPDX-License-Identifier: Apache-2.0
// ExprPool: where expressions, variables and combiners live. Interned and append-only.
//
// Floor 1. Own design. Equal value = equal id, so == on ids is structural equality. A pool may
// stand on a const base pool: ids of the base stay valid, new ids continue after them. The base
// must outlive the pool and must not grow any more. Not thread-safe for writing; any number of
// threads may read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/expr.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith {

class ExprPool {
 public:
  explicit ExprPool(const ExprPool* base = nullptr) : base_(base) {
    if (base_ != nullptr) {
      first_expr_ = base_->num_exprs();
      first_var_ = base_->num_vars();
      first_combiner_ = base_->num_combiners();
    }
  }

  VarId new_var(std::string name, DType dtype = DType::i32) {
    vars_.push_back({std::move(name), dtype});
    return VarId{num_vars() - 1};
  }
  CombinerId add_combiner(Combiner combiner) {
    combiners_.push_back(std::move(combiner));
    return CombinerId{num_combiners() - 1};
  }

  ExprId int_imm(std::int64_t value, DType dtype = DType::i32) {
    return intern({IntImm{value}, dtype});
  }
  ExprId float_imm(double value, DType dtype = DType::f32) {
    return intern({FloatImm{value}, dtype});
  }
  ExprId var(VarId id) { return intern({VarRef{id}, var_dtype(id)}); }
  ExprId unary(UnaryOp op, ExprId a) { return intern({Unary{op, a}, dtype(a)}); }
  /// i32 beside i64, which index arithmetic may bring together, is computed in i64.
  ExprId binary(BinaryOp op, ExprId a, ExprId b) {
    widen_to_same(a, b);
    const bool is_bool = is_comparison(op) || op == BinaryOp::and_ || op == BinaryOp::or_;
    return intern({Binary{op, a, b}, is_bool ? DType::boolean : dtype(a)});
  }
  ExprId select(ExprId condition, ExprId if_true, ExprId if_false) {
    widen_to_same(if_true, if_false);
    return intern({Select{condition, if_true, if_false}, dtype(if_true)});
  }
  ExprId cast(DType to, ExprId a) { return intern({Cast{a}, to}); }
  /// The integer `a` as a value of `to`: a constant, itself, or a cast.
  ExprId as_type(DType to, ExprId a) {
    const IntImm* imm = as<IntImm>(a);
    return dtype(a) == to                        ? a
           : imm != nullptr && is_index_type(to) ? int_imm(imm->value, to)
                                                 : cast(to, a);
  }
  ExprId call(CallOp op, ExprList args) {
    TENSORSMITH_ASSERT(args.size() == static_cast<std::size_t>(arity_of(op)), "call arity");
    const DType type = dtype(op == CallOp::if_then_else ? args[1] : args[0]);
    return intern({Call{op, std::move(args)}, type});
  }
  ExprId if_then_else(ExprId condition, ExprId if_true, ExprId if_false) {
    return call(CallOp::if_then_else, {condition, if_true, if_false});
  }
  ExprId read(TensorId tensor, DType dtype, ExprList indices) {
    return intern({TensorRead{tensor, std::move(indices)}, dtype});
  }
  ExprId load(BufferId buffer, DType dtype, ExprList indices) {
    return intern({Load{buffer, std::move(indices)}, dtype});
  }
  ExprId reduce(Reduce node) {
    const DType type = dtype(node.sources[node.value_index]);
    return intern({std::move(node), type});
  }

  ExprId add(ExprId a, ExprId b) { return binary(BinaryOp::add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return binary(BinaryOp::sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return binary(BinaryOp::mul, a, b); }
  ExprId floordiv(ExprId a, ExprId b) { return binary(BinaryOp::floordiv, a, b); }
  ExprId floormod(ExprId a, ExprId b) { return binary(BinaryOp::floormod, a, b); }
  ExprId min(ExprId a, ExprId b) { return binary(BinaryOp::min, a, b); }
  ExprId max(ExprId a, ExprId b) { return binary(BinaryOp::max, a, b); }
  ExprId lt(ExprId a, ExprId b) { return binary(BinaryOp::lt, a, b); }
  ExprId ge(ExprId a, ExprId b) { return binary(BinaryOp::ge, a, b); }
  ExprId eq(ExprId a, ExprId b) { return binary(BinaryOp::eq, a, b); }
  ExprId and_(ExprId a, ExprId b) { return binary(BinaryOp::and_, a, b); }

  /// The node; the reference is valid until the pool grows (ids are valid for ever).
  const ExprNode& operator[](ExprId id) const {
    if (id.value < first_expr_) {
      return (*base_)[id];
    }
    TENSORSMITH_ASSERT(id.value - first_expr_ < nodes_.size(), "foreign ExprId");
    return nodes_[id.value - first_expr_];
  }
  template <class Node>
  const Node* as(ExprId id) const {
    return std::get_if<Node>(&(*this)[id].op);
  }
  DType dtype(ExprId id) const { return (*this)[id].dtype; }
  const std::string& var_name(VarId id) const {
    return id.value < first_var_ ? base_->var_name(id) : var_entry(id).name;
  }
  DType var_dtype(VarId id) const {
    return id.value < first_var_ ? base_->var_dtype(id) : var_entry(id).dtype;
  }
  const Combiner& combiner(CombinerId id) const {
    if (id.value < first_combiner_) {
      return base_->combiner(id);
    }
    TENSORSMITH_ASSERT(id.value - first_combiner_ < combiners_.size(), "foreign CombinerId");
    return combiners_[id.value - first_combiner_];
  }
  std::uint32_t num_exprs() const {
    return first_expr_ + static_cast<std::uint32_t>(nodes_.size());
  }
  std::uint32_t num_vars() const { return first_var_ + static_cast<std::uint32_t>(vars_.size()); }
  std::uint32_t num_combiners() const {
    return first_combiner_ + static_cast<std::uint32_t>(combiners_.size());
  }
  const ExprPool* base() const { return base_; }

  ExprId intern(ExprNode node) {
    const std::uint64_t hash = hash_of(node);
    if (const ExprId found = find(node, hash); found.valid()) {
      return found;
    }
    if ((nodes_.size() + 1) * 2 > table_.size()) {
      grow();
    }
    nodes_.push_back(std::move(node));
    hashes_.push_back(hash);
    place(static_cast<std::uint32_t>(nodes_.size()) - 1);
    return ExprId{num_exprs() - 1};
  }

 private:
  void widen_to_same(ExprId& a, ExprId& b) {
    if (dtype(a) == DType::i32 && dtype(b) == DType::i64) {
      a = as_type(DType::i64, a);
    } else if (dtype(a) == DType::i64 && dtype(b) == DType::i32) {
      b = as_type(DType::i64, b);
    }
  }
  struct VarEntry {
    std::string name;
    DType dtype;
  };
  const VarEntry& var_entry(VarId id) const {
    TENSORSMITH_ASSERT(id.value - first_var_ < vars_.size(), "foreign VarId");
    return vars_[id.value - first_var_];
  }
  ExprId find(const ExprNode& node, std::uint64_t hash) const {
    if (base_ != nullptr) {
      if (const ExprId found = base_->find(node, hash); found.valid()) {
        return found;
      }
    }
    if (table_.empty()) {
      return {};
    }
    const std::size_t mask = table_.size() - 1;
    for (std::size_t slot = hash & mask; table_[slot] != 0; slot = (slot + 1) & mask) {
      const std::uint32_t index = table_[slot] - 1;
      if (hashes_[index] == hash && nodes_[index] == node) {
        return ExprId{first_expr_ + index};
      }
    }
    return {};
  }
  void place(std::uint32_t index) {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hashes_[index] & mask;
    while (table_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    table_[slot] = index + 1;
  }
  void grow() {
    table_.assign(table_.empty() ? 64 : table_.size() * 2, 0);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      place(i);
    }
  }
  static std::uint64_t hash_list(std::uint64_t h, const ExprList& list) {
    for (ExprId id : list) {
      h = hash_combine(h, id.value);
    }
    return h;
  }
  static std::uint64_t hash_of(const ExprNode& node) {
    const std::uint64_t h = hash_combine(node.op.index(), static_cast<std::uint64_t>(node.dtype));
    return std::visit(
        Overloaded{
            [&](const IntImm& n) { return hash_combine(h, static_cast<std::uint64_t>(n.value)); },
            [&](const FloatImm& n) {
              return hash_combine(h, math::bit_cast<std::uint64_t>(n.value));
            },
            [&](const VarRef& n) { return hash_combine(h, n.var.value); },
            [&](const Unary& n) {
              return hash_combine(hash_combine(h, n.a.value), static_cast<std::uint64_t>(n.op));
            },
            [&](const Binary& n) {
              return hash_combine(hash_combine(hash_combine(h, n.a.value), n.b.value),
                                  static_cast<std::uint64_t>(n.op));
            },
            [&](const Select& n) {
              return hash_list(h, {n.condition, n.if_true, n.if_false});
            },
            [&](const Cast& n) { return hash_combine(h, n.a.value); },
            [&](const Call& n) {
              return hash_list(hash_combine(h, static_cast<std::uint64_t>(n.op)), n.args);
            },
            [&](const TensorRead& n) {
              return hash_list(hash_combine(h, n.tensor.value), n.indices);
            },
            [&](const Load& n) { return hash_list(hash_combine(h, n.buffer.value), n.indices); },
            [&](const Reduce& n) {
              std::uint64_t r = hash_list(hash_combine(h, n.combiner.value), n.sources);
              for (VarId axis : n.axes) {
                r = hash_combine(r, axis.value);
              }
              return hash_combine(r, n.value_index);
            }},
        node.op);
  }

  const ExprPool* base_;
  std::uint32_t first_expr_ = 0, first_var_ = 0, first_combiner_ = 0;
  std::vector<ExprNode> nodes_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> table_;  // open addressing, index + 1, 0 = free
  std::vector<VarEntry> vars_;
  std::vector<Combiner> combiners_;
};

}  // namespace tensorsmith
