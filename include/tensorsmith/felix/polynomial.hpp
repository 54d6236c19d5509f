// SPDX-License-Identifier: Apache-2.0
// expanded(): formulas as sums of monomials, which makes equal extents equal formulas.
//
// Floor 6.5. Own design. What a tile covers is (a - 1) b + (b - 1) + 1; written out it is a b.
// Sums, differences, products and quotients by monomials are written out; anything else is a part
// like a symbol, of expanded operands. (x d + r) // d becomes x for r = 0, and x - 1 for r = -1, d
// >= 1.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/felix/substitute.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/flat_map.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::felix {

/// c p1^e1 p2^e2 ..., parts ascending, no power 0.
using PartPowers = FlatMap<std::uint32_t, std::int32_t>;

class Polynomial {
 public:
  struct Term {
    PartPowers powers;
    double factor;
  };

  static Polynomial number(double value) {
    Polynomial made;
    made.add({{}, value});
    return made;
  }
  static Polynomial part(FormulaId id) {
    Polynomial made;
    PartPowers powers;
    powers[id.value] = 1;
    made.add({powers, 1});
    return made;
  }

  const std::vector<Term>& terms() const { return terms_; }
  bool is_zero() const { return terms_.empty(); }
  std::optional<double> constant() const {
    return terms_.empty()                                   ? std::optional(0.0)
           : terms_.size() == 1 && terms_[0].powers.empty() ? std::optional(terms_[0].factor)
                                                            : std::nullopt;
  }
  void add(const Term& term) {
    Term* known = find_item(terms_, [&](const Term& other) { return other.powers == term.powers; });
    if (known == nullptr) {
      if (term.factor != 0) {
        terms_.push_back(term);
      }
      return;
    }
    known->factor += term.factor;
    if (known->factor == 0) {
      terms_.erase(terms_.begin() + (known - terms_.data()));
    }
  }
  void add(const Polynomial& other, double times) {
    for (const Term& term : other.terms_) {
      add({term.powers, term.factor * times});
    }
  }
  static Term product(const Term& a, const Term& b, std::int32_t power_of_b) {
    Term made = a;
    made.factor = power_of_b > 0 ? a.factor * b.factor : a.factor / b.factor;
    for (const auto& [part, power] : b.powers) {
      std::int32_t& sum = made.powers[part];
      sum += power_of_b * power;
      if (sum == 0) {
        made.powers.erase(part);
      }
    }
    return made;
  }
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b) {
    Polynomial made;
    for (const Term& x : a.terms_) {
      for (const Term& y : b.terms_) {
        made.add(product(x, y, 1));
      }
    }
    return made;
  }
  Polynomial divided_by(const Term& divisor) const {
    Polynomial made;
    for (const Term& term : terms_) {
      made.add(product(term, divisor, -1));
    }
    return made;
  }

 private:
  std::vector<Term> terms_;
};

class Expansion {
 public:
  explicit Expansion(FormulaPool& pool) : pool_(pool) {}

  FormulaId operator()(FormulaId id) { return formula(polynomial(id)); }

  Polynomial polynomial(FormulaId id) {
    const FormulaNode node = pool_[id];
    const FormulaId a{node.args[0]}, b{node.args[1]};
    switch (node.op) {
    case Op::number:
      return Polynomial::number(node.value);
    case Op::add:
    case Op::sub: {
      Polynomial sum = polynomial(a);
      sum.add(polynomial(b), node.op == Op::add ? 1 : -1);
      return sum;
    }
    case Op::mul:
      return polynomial(a) * polynomial(b);
    case Op::div: {
      const Polynomial divisor = polynomial(b);
      return divisor.terms().size() == 1 ? polynomial(a).divided_by(divisor.terms()[0])
                                         : other(node);
    }
    case Op::floordiv:
      return rounded_down(node);
    default:
      return arity_of(node.op) == 0 ? Polynomial::part(id) : other(node);
    }
  }

  /// a / b if that is a polynomial without quotients of parts, or with those that `a` has.
  std::optional<FormulaId> exact_quotient(FormulaId a, FormulaId b) {
    const Polynomial over = polynomial(a), under = polynomial(b);
    if (under.terms().size() != 1) {
      return std::nullopt;
    }
    for (const Polynomial::Term& term : over.terms()) {
      if (!divides(Polynomial::product(term, under.terms()[0], -1), term)) {
        return std::nullopt;
      }
    }
    return formula(over.divided_by(under.terms()[0]));
  }
  /// Sums in the order of parts, so that equal polynomials are one formula.
  FormulaId formula(Polynomial polynomial) {
    std::vector<Polynomial::Term> terms = polynomial.terms();
    sort_items(terms, [](const Polynomial::Term& x, const Polynomial::Term& y) {
      auto at = x.powers.begin();
      for (const auto& [part, power] : y.powers) {
        if (at == x.powers.end() || *at != std::pair(part, power)) {
          return at != x.powers.end() && *at < std::pair(part, power);
        }
        ++at;
      }
      return at != x.powers.end();
    });
    FormulaId sum = pool_.number(0);
    for (const Polynomial::Term& term : terms) {
      FormulaId over = pool_.number(1), under = pool_.number(1);
      for (const auto& [part, power] : term.powers) {
        for (std::int32_t i = power < 0 ? -power : power; i > 0; --i) {
          FormulaId& side = power < 0 ? under : over;
          side = fold(pool_, Op::mul, side, FormulaId{part});
        }
      }
      const double size = math::fabs(term.factor);
      over = fold(pool_, Op::mul, pool_.number(size), over);
      sum = term.factor < 0 ? fold(pool_, Op::sub, sum, fold(pool_, Op::div, over, under))
                            : fold(pool_, Op::add, sum, fold(pool_, Op::div, over, under));
    }
    return sum;
  }

 private:
  /// Whether `quotient` of `term` divides by nothing that `term` does not divide by already: a
  /// quotient that is there was made where lengths divide an extent.
  static bool divides(const Polynomial::Term& quotient, const Polynomial::Term& term) {
    return quotient.factor == math::floor(quotient.factor) &&
           all_items(quotient.powers, [&](const auto& part) {
             const auto known = term.powers.find(part.first);
             return part.second > 0 || (known != term.powers.end() && known->second <= part.second);
           });
  }
  Polynomial other(const FormulaNode& node) {
    FormulaId args[3];
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      args[i] = (*this)(FormulaId{node.args[i]});
    }
    const FormulaId made = fold(pool_, node.op, args[0], args[1], args[2]);
    return pool_[made].op == Op::number ? Polynomial::number(pool_[made].value)
                                        : Polynomial::part(made);
  }
  Polynomial rounded_down(const FormulaNode& node) {
    const Polynomial over = polynomial(FormulaId{node.args[0]}),
                     under = polynomial(FormulaId{node.args[1]});
    if (under.terms().size() != 1) {
      return other(node);
    }
    // What the divisor divides, and a rest of -1 or none.
    Polynomial whole, rest;
    for (const Polynomial::Term& term : over.terms()) {
      const Polynomial::Term quotient = Polynomial::product(term, under.terms()[0], -1);
      const bool is_exact = divides(quotient, term);
      (is_exact ? whole : rest).add(is_exact ? quotient : term);
    }
    const std::optional<double> left = rest.constant();
    if (left == 0.0) {
      return whole;
    }
    if (left == -1.0) {
      whole.add({{}, -1});
      return whole;
    }
    return other(node);
  }

  FormulaPool& pool_;
};

inline FormulaId expanded(FormulaPool& pool, FormulaId id) { return Expansion(pool)(id); }

}  // namespace tensorsmith::felix
