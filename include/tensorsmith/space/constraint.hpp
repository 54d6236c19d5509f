// SPDX-License-Identifier: Apache-2.0
// VariableSpace: variables, the chains and constraints that tie them, and named expressions over
// them.
//
// Floor 6. Own design. Expressions are of the ordinary pool; variable number n of the space is
// variable number n of its pool. One expression serves all who ask: exact evaluation and
// propagation (tape.hpp), counting (enumerate.hpp), and the sentence that people read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/space/variable.hpp"

namespace tensorsmith {

enum class ConstraintKind : std::uint8_t {
  legality,    ///< a step or lowering would refuse the program
  capacity,    ///< the device would
  preference,  ///< such programs are seldom good; a search may break it
};

struct SpaceConstraint {
  ExprId condition;  ///< boolean
  ConstraintKind kind = ConstraintKind::legality;
  std::string sentence;  ///< what holds: "a block has at most 1024 threads"
};

/// A number that follows from the variables.
struct NamedExpr {
  std::string name;
  ExprId value;
};

class VariableSpace {
 public:
  VariableId add(std::string name, VariableRole role, Domain domain) {
    const VarId var = pool_.new_var(name);
    variables_.push_back({std::move(name), role, std::move(domain)});
    TENSORSMITH_ASSERT(var.value + 1 == variables_.size(), "foreign variables in the pool");
    return VariableId{var.value};
  }
  /// Lengths of one split of `roots`.front(), outermost first; the last one is at most
  /// `max_innermost`. Their names are `name`.1, .2 ...
  std::vector<VariableId> add_chain(const std::string& name, std::vector<std::int64_t> roots,
                                    std::size_t count, std::int64_t max_innermost) {
    LengthChain chain;
    for (std::size_t i = 0; i < count; ++i) {
      chain.lengths.push_back(
          add(name + "." + std::to_string(i + 1), VariableRole::tile_length,
              Domain::divisors_of(roots, i + 1 == count ? max_innermost : INT32_MAX)));
    }
    chain.roots = std::move(roots);
    chains_.push_back(chain);
    return chain.lengths;
  }
  void require(ExprId condition, ConstraintKind kind, std::string sentence) {
    constraints_.push_back({condition, kind, std::move(sentence)});
  }
  void define(std::string name, ExprId value) { derived_.push_back({std::move(name), value}); }

  ExprPool& pool() { return pool_; }
  const ExprPool& pool() const { return pool_; }
  ExprId expr(VariableId id) { return pool_.var(VarId{id.value}); }
  ExprId number(std::int64_t value) { return pool_.int_imm(value); }
  ExprId product(const std::vector<VariableId>& ids) {
    ExprId all = number(1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      all = i == 0 ? expr(ids[i]) : pool_.mul(all, expr(ids[i]));
    }
    return all;
  }
  ExprId product(const std::vector<ExprId>& factors) {
    ExprId all = factors.empty() ? number(1) : factors.front();
    for (std::size_t i = 1; i < factors.size(); ++i) {
      all = pool_.mul(all, factors[i]);
    }
    return all;
  }
  ExprId sum(const std::vector<ExprId>& terms) {
    ExprId all = terms.empty() ? number(0) : terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) {
      all = pool_.add(all, terms[i]);
    }
    return all;
  }
  ExprId at_most(ExprId a, std::int64_t most) {
    return pool_.binary(BinaryOp::le, a, number(most));
  }
  ExprId at_least(ExprId a, std::int64_t least) { return pool_.ge(a, number(least)); }
  ExprId divides(ExprId a, ExprId b) { return pool_.eq(pool_.floormod(b, a), number(0)); }
  ExprId is_in(ExprId a, const std::vector<std::int64_t>& values) {
    ExprId any;
    for (std::int64_t value : values) {
      const ExprId one = pool_.eq(a, number(value));
      any = any.valid() ? pool_.binary(BinaryOp::or_, any, one) : one;
    }
    return any.valid() ? any : pool_.int_imm(0, DType::boolean);
  }
  ExprId implies(ExprId a, ExprId b) {
    return pool_.binary(BinaryOp::or_, pool_.unary(UnaryOp::not_, a), b);
  }

  std::size_t size() const { return variables_.size(); }
  const Variable& operator[](VariableId id) const { return variables_[id.value]; }
  const std::vector<Variable>& variables() const { return variables_; }
  const std::vector<LengthChain>& chains() const { return chains_; }
  const std::vector<SpaceConstraint>& constraints() const { return constraints_; }
  const std::vector<NamedExpr>& derived() const { return derived_; }
  /// The variable of this name; not valid if there is none.
  VariableId find(std::string_view name) const {
    for (std::uint32_t i = 0; i < variables_.size(); ++i) {
      if (variables_[i].name == name) {
        return VariableId{i};
      }
    }
    return {};
  }
  /// The chain that a variable is a length of; null: none.
  const LengthChain* chain_of(VariableId id) const {
    return find_item(chains_,
                     [&](const LengthChain& chain) { return has_item(chain.lengths, id); });
  }

 private:
  ExprPool pool_;
  std::vector<Variable> variables_;
  std::vector<LengthChain> chains_;
  std::vector<SpaceConstraint> constraints_;
  std::vector<NamedExpr> derived_;
};

/// The variables of an expression, ascending.
inline std::vector<VariableId> variables_of(const ExprPool& pool, ExprId expr) {
  std::vector<VariableId> found;
  visit_nodes(pool, expr, [&](ExprId id) {
    const VarRef* ref = pool.as<VarRef>(id);
    if (ref != nullptr && !has_item(found, VariableId{ref->var.value})) {
      found.push_back(VariableId{ref->var.value});
    }
  });
  sort_items(found);
  return found;
}

}  // namespace tensorsmith
