// SPDX-License-Identifier: Apache-2.0
// Pool: where the expressions of one program live; equal expressions are one node.
//
// Floor 1. Own design: open addressing, append only. raw() makes a node as it is named; binary()
// and its named forms fold constants first, as the constructors of the reference do. Not here:
// anything that needs the ranges of variables (analyzer.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/node.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith::algebra {

class Pool {
 public:
  /// Never given twice: whatever is remembered of the expressions of a pool has one of these.
  std::uint32_t new_version() const { return ++last_version_; }
  const Node& operator[](Ref ref) const { return nodes_[static_cast<std::size_t>(ref)]; }
  std::size_t size() const { return nodes_.size(); }
  DType dtype(Ref ref) const { return (*this)[ref].dtype; }
  Ref operand(const Node& node, std::size_t i) const {
    if (has_list(node.op)) {
      return lists_[static_cast<std::size_t>(node.a) + i];
    }
    return i == 0 ? node.a : i == 1 ? node.b : node.c;
  }

  std::int32_t new_var(DType dtype = DType::i32) {
    var_dtypes_.push_back(dtype);
    return static_cast<std::int32_t>(var_dtypes_.size()) - 1;
  }
  std::size_t num_vars() const { return var_dtypes_.size(); }
  Ref var(std::int32_t number) {
    return intern({Op::var, var_dtypes_[static_cast<std::size_t>(number)], 0, no_ref, no_ref,
                   no_ref, number});
  }
  Ref integer(std::int64_t value, DType dtype = DType::i32) {
    const auto made = [&] {
      return intern({Op::integer, dtype, 0, no_ref, no_ref, no_ref, value});
    };
    if (dtype != DType::i32 || value < 0 || value >= num_small) {
      return made();
    }
    if (small_.empty()) {
      small_.assign(num_small, no_ref);
    }
    Ref& known = small_[static_cast<std::size_t>(value)];
    return known != no_ref ? known : known = made();
  }
  Ref boolean(bool value) { return integer(value ? 1 : 0, DType::boolean); }
  Ref real(double value, DType dtype) {
    return intern(
        {Op::real, dtype, 0, no_ref, no_ref, no_ref, math::bit_cast<std::int64_t>(value)});
  }
  Ref raw(Op op, Ref a, Ref b) {
    const bool is_truth = is_comparison(op) || op == Op::and_ || op == Op::or_;
    return intern({op, is_truth ? DType::boolean : dtype(a), 2, a, b, no_ref, 0});
  }
  Ref raw_not(Ref a) { return intern({Op::not_, DType::boolean, 1, a, no_ref, no_ref, 0}); }
  Ref raw_cast(DType to, Ref a) { return intern({Op::cast, to, 1, a, no_ref, no_ref, 0}); }
  /// select or if_then_else.
  Ref choice(Op op, Ref condition, Ref yes, Ref no) {
    return intern({op, dtype(yes), 3, condition, yes, no, 0});
  }
  /// `name`: what is called, or which tensor is read.
  template <class Refs>
  Ref with_list(Op op, DType dtype, std::int64_t name, const Refs& operands) {
    const auto first = static_cast<Ref>(lists_.size());
    lists_.insert(lists_.end(), operands.begin(), operands.end());
    const std::size_t before = nodes_.size();
    const Ref ref = intern(
        {op, dtype, static_cast<std::uint16_t>(operands.size()), first, no_ref, no_ref, name});
    if (nodes_.size() == before) {
      lists_.resize(static_cast<std::size_t>(first));
    }
    return ref;
  }

  bool is_integer(Ref ref) const { return (*this)[ref].op == Op::integer; }
  bool is_integer(Ref ref, std::int64_t value) const {
    return is_integer(ref) && (*this)[ref].value == value;
  }
  std::int64_t value(Ref ref) const { return (*this)[ref].value; }
  bool is_real(Ref ref) const { return (*this)[ref].op == Op::real; }
  double real_value(Ref ref) const { return math::bit_cast<double>((*this)[ref].value); }

  /// Constants folded.
  Ref binary(Op op, Ref a, Ref b) {
    const Ref folded = fold(op, a, b);
    return folded != no_ref ? folded : raw(op, a, b);
  }
  Ref add(Ref a, Ref b) { return binary(Op::add, a, b); }
  Ref sub(Ref a, Ref b) { return binary(Op::sub, a, b); }
  Ref mul(Ref a, Ref b) { return binary(Op::mul, a, b); }
  Ref floordiv(Ref a, Ref b) { return binary(Op::floordiv, a, b); }
  Ref floormod(Ref a, Ref b) { return binary(Op::floormod, a, b); }
  Ref negation(Ref a) {
    return is_integer(a) ? integer(value(a) == 0 ? 1 : 0, DType::boolean) : raw_not(a);
  }
  Ref cast(DType to, Ref a) {
    if (dtype(a) == to) {
      return a;
    }
    if (is_integer(a)) {
      return is_float(to) ? real(static_cast<double>(value(a)), to) : integer(value(a), to);
    }
    if (is_real(a)) {
      return is_float(to) ? real(real_value(a), to)
                          : integer(static_cast<std::int64_t>(real_value(a)), to);
    }
    return raw_cast(to, a);
  }
  /// An integer of the type of `like`.
  Ref like(Ref like, std::int64_t value) { return integer(value, dtype(like)); }

  /// What `op` of these operands is without a node of its own; no_ref: nothing known.
  Ref fold(Op op, Ref a, Ref b) {
    if ((*this)[a].op > Op::real && (*this)[b].op > Op::real) {  // neither is a constant
      return a == b && (op == Op::min || op == Op::max) ? a : no_ref;
    }
    const bool ca = is_integer(a), cb = is_integer(b);
    if (op == Op::and_ || op == Op::or_) {
      const bool stops = op == Op::or_;
      if (ca) {
        return (value(a) != 0) == stops ? a : b;
      }
      return cb ? ((value(b) != 0) == stops ? b : a) : no_ref;
    }
    if (ca && cb) {
      return fold_integers(op, a, b);
    }
    if (is_real(a) && is_real(b)) {
      return fold_reals(op, a, b);
    }
    const auto is = [&](Ref x, int number) {
      return is_integer(x, number) || (is_real(x) && real_value(x) == number);
    };
    switch (op) {
    case Op::add:
      return is(a, 0) ? b : is(b, 0) ? a : no_ref;
    case Op::sub:
      return is(b, 0) ? a : no_ref;
    case Op::mul:
      return is(a, 1) ? b : is(a, 0) ? a : is(b, 1) ? a : is(b, 0) ? b : no_ref;
    case Op::div:
    case Op::floordiv:
      return is(a, 0) ? a : is(b, 1) ? a : no_ref;
    case Op::truncmod:
    case Op::floormod:
      return is_integer(a, 0) ? a : is_integer(b, 1) ? like(a, 0) : no_ref;
    case Op::min:
    case Op::max:
      return a == b ? a : no_ref;
    default:
      return no_ref;
    }
  }

 private:
  template <class T>
  static bool holds(Op op, T x, T y) {
    switch (op) {
    case Op::eq:
      return x == y;
    case Op::ne:
      return x != y;
    case Op::lt:
      return x < y;
    case Op::le:
      return x <= y;
    case Op::gt:
      return x > y;
    default:
      return x >= y;
    }
  }
  /// In the width of the type.
  Ref wrapped(std::uint64_t value, DType type) {
    if (type == DType::i32) {
      return integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(value)), type);
    }
    if (type == DType::i16) {
      return integer(static_cast<std::int16_t>(static_cast<std::uint16_t>(value)), type);
    }
    if (type == DType::i8) {
      return integer(static_cast<std::int8_t>(static_cast<std::uint8_t>(value)), type);
    }
    if (type == DType::u8) {
      return integer(static_cast<std::uint8_t>(value), type);
    }
    return integer(static_cast<std::int64_t>(value), type);
  }
  Ref fold_integers(Op op, Ref a, Ref b) {
    const std::int64_t x = value(a), y = value(b);
    const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
    const DType type = dtype(a);
    switch (op) {
    case Op::add:
      return wrapped(ux + uy, type);
    case Op::sub:
      return wrapped(ux - uy, type);
    case Op::mul:
      return wrapped(ux * uy, type);
    case Op::div:
      return y == 0 ? no_ref : y == -1 ? wrapped(0 - ux, type) : integer(x / y, type);
    case Op::truncmod:
      return y == 0 ? no_ref : y == -1 ? integer(0, type) : integer(x % y, type);
    case Op::floordiv:
      return y == 0 ? no_ref : integer(floor_div(x, y), type);
    case Op::floormod:
      return y == 0 ? no_ref : integer(floor_mod(x, y), type);
    case Op::min:
      return integer(smaller_of(x, y), type);
    case Op::max:
      return integer(larger_of(x, y), type);
    default:
      return boolean(holds(op, x, y));
    }
  }
  Ref fold_reals(Op op, Ref a, Ref b) {
    const DType type = dtype(a);
    const double x = real_value(a), y = real_value(b);
    if (is_comparison(op)) {
      return boolean(holds(op, x, y));
    }
    if (op == Op::min || op == Op::max) {
      return real(op == Op::min ? smaller_of(x, y) : larger_of(x, y), type);
    }
    if (type != DType::f32 && type != DType::f64) {
      return no_ref;
    }
    const auto round = [&](double wide, float narrow) {
      return real(type == DType::f32 ? static_cast<double>(narrow) : wide, type);
    };
    const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
    switch (op) {
    case Op::add:
      return round(x + y, fx + fy);
    case Op::sub:
      return round(x - y, fx - fy);
    case Op::mul:
      return round(x * y, fx * fy);
    case Op::div:
      return y == 0 ? no_ref : round(x / y, fx / fy);
    default:
      return no_ref;
    }
  }

  std::uint64_t hash_of(const Node& node) const {
    // One round of mixing: it is most of the time of making a node.
    const auto wide = [](Ref ref) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(ref));
    };
    std::uint64_t h =
        static_cast<std::uint64_t>(node.value) * 0x9e3779b97f4a7c15ULL +
        (static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.dtype));
    if (has_list(node.op)) {
      for (std::size_t i = 0; i < node.num_operands; ++i) {
        h = hash_combine(h, wide(operand(node, i)));
      }
      return h;
    }
    h ^= (wide(node.a) | wide(node.b) << 32) * 0xbf58476d1ce4e5b9ULL;
    return hash_mix(h + wide(node.c) * 0x94d049bb133111ebULL);
  }
  bool same(const Node& x, const Node& y) const {
    if (x.op != y.op || x.dtype != y.dtype || x.num_operands != y.num_operands ||
        x.value != y.value) {
      return false;
    }
    if (!has_list(x.op)) {
      return x.a == y.a && x.b == y.b && x.c == y.c;
    }
    for (std::size_t i = 0; i < x.num_operands; ++i) {
      if (operand(x, i) != operand(y, i)) {
        return false;
      }
    }
    return true;
  }
  Ref intern(const Node& node) {
    const auto hash = static_cast<std::uint32_t>(hash_of(node));
    if (!table_.empty()) {
      const std::size_t mask = table_.size() - 1;
      for (std::size_t slot = hash & mask; table_[slot] != 0; slot = (slot + 1) & mask) {
        const auto index = static_cast<std::size_t>(table_[slot] - 1);
        if (hashes_[index] == hash && same(nodes_[index], node)) {
          return static_cast<Ref>(index);
        }
      }
    }
    nodes_.push_back(node);
    hashes_.push_back(hash);
    if (nodes_.size() * 2 > table_.size()) {
      table_.assign(table_.empty() ? 2048 : table_.size() * 2, 0);
      nodes_.reserve(table_.size() / 2 + 1);
      hashes_.reserve(table_.size() / 2 + 1);
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        place(i);
      }
    } else {
      place(nodes_.size() - 1);
    }
    return static_cast<Ref>(nodes_.size()) - 1;
  }
  void place(std::size_t index) {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hashes_[index] & mask;
    while (table_[slot] != 0) {
      slot = (slot + 1) & mask;
    }
    table_[slot] = static_cast<std::uint32_t>(index) + 1;
  }

  /// Small numbers are looked for as often as all other nodes.
  static constexpr std::int64_t num_small = 65;

  mutable std::uint32_t last_version_ = 0;
  std::vector<Ref> small_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> hashes_;
  std::vector<std::uint32_t> table_;  // index + 1, 0: free
  std::vector<Ref> lists_;
  std::vector<DType> var_dtypes_;
};

}  // namespace tensorsmith::algebra
