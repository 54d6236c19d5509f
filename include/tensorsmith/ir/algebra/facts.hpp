// SPDX-License-Identifier: Apache-2.0
// Facts: what is known of variables and conditions while an expression is simplified.
//
// Floor 1. Own design. The parts of the reference's analyser share one of these. Not here: the
// simplifiers (rewriter.hpp, canonical.hpp), how a caller uses all (analyzer.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/bounds.hpp"
#include "tensorsmith/ir/algebra/canonical_sum.hpp"
#include "tensorsmith/ir/algebra/comparisons.hpp"
#include "tensorsmith/ir/algebra/modular.hpp"
#include "tensorsmith/ir/algebra/settled.hpp"

namespace tensorsmith::algebra {

class Simplifier {
 public:
  virtual Ref simplified(Ref ref) = 0;

 protected:
  ~Simplifier() = default;
};

/// A simplified expression; `depth`: how often its rules had been applied again on the way to it.
struct Simplified {
  std::int32_t depth = 0;
  Ref ref = no_ref;
};
/// Memory that the analysers of one pool share.
struct Workspace {
  Remembered<Bound> bounds;
  Remembered<Simplified> rewritten;
  Remembered<Ref> canonical;
  Remembered<ModularSet> modular;
  /// Of expressions that came a second time without being written out: where in `forms`.
  Remembered<std::uint32_t> form_of;
  std::vector<Form> forms;
  Remembered<bool> has_come;
};

class Facts {
 public:
  Facts(Pool& pool_of_all, Workspace& space)
      : pool(pool_of_all), workspace(space), bounds(pool, space.bounds),
        modular(pool, space.modular), comparisons(pool), version(pool.new_version()) {}
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  bool is_at_least(Ref ref, std::int64_t least) {
    return pool.is_integer(ref) ? pool.value(ref) >= least
                                : bounds(rewriter->simplified(ref)).min >= least;
  }
  bool is_less(Ref ref, std::int64_t end) {
    return pool.is_integer(ref) ? pool.value(ref) < end
                                : bounds(rewriter->simplified(ref)).max < end;
  }
  /// What simplified_in_full() gives.
  Ref simplify(Ref ref) {
    if (pool.is_integer(ref)) {
      return ref;
    }
    const Ref result = canonical->simplified(ref);
    return is_settled(result) ? result : rewritten_and_canonical(result);
  }
  /// Canonical, rewritten, canonical: the default of the reference.
  Ref simplified_in_full(Ref ref) {
    return pool.is_integer(ref) ? ref : rewritten_and_canonical(canonical->simplified(ref));
  }
  bool is_settled(Ref ref) { return Settled(pool, bounds, modular, value_of_var)(ref); }
  bool holds(Ref condition) {
    const Ref result = simplify(condition);
    return pool.is_integer(result) && pool.value(result) != 0;
  }

  void bind_range(std::int32_t var, Ref min, Ref extent) {
    if (pool.is_integer(extent, 1)) {
      bind_value(var, min);
      return;
    }
    bounds.bind(var, min, extent);
    if (!pool.is_integer(min) || !pool.is_integer(extent)) {  // else the bounds say it all
      const Ref self = pool.var(var);
      comparisons.add(Op::ge, self, min);
      comparisons.add(Op::lt, self, pool.add(min, extent));
    }
    changed();
  }
  void bind_value(std::int32_t var, Ref value) {
    const Ref result =
        pool.is_integer(value) ? value : rewriter->simplified(canonical->simplified(value));
    bounds.bind(var, bounds(result));
    modular.bind(var, modular(result));
    if (static_cast<std::size_t>(var) >= value_of_var.size()) {
      value_of_var.resize(pool.num_vars(), no_ref);
    }
    value_of_var[static_cast<std::size_t>(var)] = result;
    comparisons.add(Op::eq, pool.var(var), value);
    changed();
  }
  Ref value_of(std::int32_t var) const {
    return static_cast<std::size_t>(var) < value_of_var.size()
               ? value_of_var[static_cast<std::size_t>(var)]
               : no_ref;
  }

  struct Mark {
    std::size_t bounds, modular, literals, comparisons;
    std::uint32_t version;
  };
  /// From now on `condition` holds.
  Mark enter(Ref condition) {
    const Mark mark{bounds.num_conditions(), modular.num_bound(), literals.size(),
                    comparisons.size(), version};
    for_each_part(condition, [&](Ref part) { narrow_bounds(part); });
    narrow_modular(condition);
    changed();
    const Ref rewritten = rewriter->simplified(condition);
    for_each_part(rewritten, [&](Ref part) {
      literals.push_back(part);
      literals.push_back(pool.negation(negated(pool.raw_not(part))));
    });
    comparisons.add(condition);
    changed();
    return mark;
  }
  void leave(const Mark& mark) {
    bounds.drop_conditions(mark.bounds);
    modular.drop(mark.modular);
    literals.resize(mark.literals);
    comparisons.drop(mark.comparisons);
    version = mark.version;
  }

  /// The opposite of a comparison as a comparison; not of and is or.
  Ref negated(Ref ref) {
    const Node node = pool[ref];
    if (node.op == Op::gt) {
      return pool.raw(Op::lt, node.b, node.a);
    }
    if (node.op == Op::ge) {
      return pool.raw(Op::le, node.b, node.a);
    }
    if (node.op != Op::not_) {
      return ref;
    }
    const Node inner = pool[node.a];
    switch (inner.op) {
    case Op::not_:
      return negated(inner.a);
    case Op::or_:
    case Op::and_: {
      const Ref a = negated(pool.negation(inner.a)), b = negated(pool.negation(inner.b));
      return pool.binary(inner.op == Op::or_ ? Op::and_ : Op::or_, a, b);
    }
    case Op::lt:
      return pool.raw(Op::le, inner.b, inner.a);
    case Op::le:
      return pool.raw(Op::lt, inner.b, inner.a);
    case Op::gt:
      return pool.raw(Op::le, inner.a, inner.b);
    case Op::ge:
      return pool.raw(Op::lt, inner.a, inner.b);
    case Op::eq:
      return pool.raw(Op::ne, inner.a, inner.b);
    case Op::ne:
      return pool.raw(Op::eq, inner.a, inner.b);
    default:
      return ref;
    }
  }

  Pool& pool;
  Workspace& workspace;
  Bounds bounds;
  ModularSets modular;
  Comparisons comparisons;
  std::vector<Ref> literals;      ///< conditions that hold, as they are written
  std::vector<Ref> value_of_var;  ///< by var, no_ref: only its range is known
  std::uint32_t version;          ///< equal: nothing has changed
  Simplifier* rewriter = nullptr;
  Simplifier* canonical = nullptr;

 private:
  void changed() { version = pool.new_version(); }
  Ref rewritten_and_canonical(Ref ref) {
    const Ref result = pool.is_integer(ref) ? ref : rewriter->simplified(ref);
    return pool.is_integer(result) ? result : canonical->simplified(result);
  }
  /// The conditions that `condition` joins by and.
  template <class Visit>
  void for_each_part(Ref condition, const Visit& visit) {
    const Node node = pool[condition];
    if (node.op == Op::and_) {
      for_each_part(node.a, visit);
      for_each_part(node.b, visit);
      return;
    }
    visit(condition);
  }
  void narrow_bounds(Ref condition) {
    const Node node = pool[condition];
    if (!is_comparison(node.op)) {
      return;
    }
    const bool left = pool.is_integer(node.a), right = pool.is_integer(node.b);
    if (left == right) {
      return;
    }
    const std::int64_t c = pool.value(left ? node.a : node.b);
    const Ref x = left ? node.b : node.a;
    Bound bound;
    // With the constant at the right: x >= c, x > c, x <= c, x < c, x == c.
    const Op op = !left               ? node.op
                  : node.op == Op::le ? Op::ge
                  : node.op == Op::lt ? Op::gt
                  : node.op == Op::ge ? Op::le
                  : node.op == Op::gt ? Op::lt
                                      : node.op;
    switch (op) {
    case Op::ge:
      bound.min = c;
      break;
    case Op::gt:
      bound.min = c + 1;
      break;
    case Op::le:
      bound.max = c;
      break;
    case Op::lt:
      bound.max = c - 1;
      break;
    case Op::eq:
      bound = {c, c};
      break;
    default:
      return;
    }
    bounds.add_condition(x, bound);
  }
  void narrow_modular(Ref condition) {
    const Node node = pool[condition];
    if (node.op != Op::eq) {
      return;
    }
    const bool left = pool.is_integer(node.a), right = pool.is_integer(node.b);
    const Node side = pool[left ? node.b : node.a];
    if (left == right) {
      return;
    }
    const std::int64_t base = pool.value(left ? node.a : node.b);
    if (side.op == Op::var) {
      modular.narrow(static_cast<std::int32_t>(side.value), ModularSet::of(1, base));
    } else if (right && side.op == Op::floormod && pool[side.a].op == Op::var &&
               pool.is_integer(side.b)) {
      modular.narrow(static_cast<std::int32_t>(pool.value(side.a)),
                     ModularSet::of(pool.value(side.b), base));
    }
  }
};

}  // namespace tensorsmith::algebra
