// SPDX-License-Identifier: Apache-2.0
// Comparisons: what ranges and conditions say about how two expressions compare.
//
// Floor 1. Own design; the precision is that of the reference in its default setting: a known
// comparison decides another one of the same two sides that differs by a constant, and no chains.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"

namespace tensorsmith::algebra {

/// A set of equal (1), less (2) and greater (4).
enum class Order : std::uint8_t {
  none = 0,
  equal = 1,
  less = 2,
  less_equal = 3,
  greater = 4,
  greater_equal = 5,
  unequal = 6,
  unknown = 7
};
constexpr Order both(Order a, Order b) {
  return static_cast<Order>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr bool is_final(Order order) {
  return order == Order::equal || order == Order::less || order == Order::greater;
}

class Comparisons {
 public:
  explicit Comparisons(Pool& pool) : pool_(pool) {}

  /// A comparison that holds, or several joined by and; others say nothing.
  void add(Ref condition) {
    const Node node = pool_[condition];
    if (node.op == Op::and_) {
      add(node.a);
      add(node.b);
      return;
    }
    if (is_comparison(node.op)) {
      add(node.op, node.a, node.b);
    }
  }
  void add(Op comparison, Ref a, Ref b) {
    if (!is_index(pool_.dtype(a)) || (pool_.is_integer(a) && pool_.is_integer(b))) {
      return;
    }
    Known known = sides(a, b);
    switch (comparison) {
    case Op::lt:
      known.offset -= 1;
      [[fallthrough]];
    case Op::le:
      known.order = Order::less_equal;
      break;
    case Op::gt:
      known.offset += 1;
      [[fallthrough]];
    case Op::ge:
      known.order = Order::greater_equal;
      break;
    default:
      known.order = comparison == Op::eq ? Order::equal : Order::unequal;
    }
    known_.push_back(known);
  }
  std::size_t size() const { return known_.size(); }
  /// Back to the first `count`.
  void drop(std::size_t count) { known_.resize(count); }

  Order compare(Ref a, Ref b) {
    const Known asked = sides(a, b);
    Order result = Order::unknown;
    for (const Known& known : known_) {
      if (known.left == asked.left && known.right == asked.right) {
        result = both(result, decided(known.order, known.offset, asked.offset));
      } else if (known.left == asked.right && known.right == asked.left) {
        result = both(result, decided(reversed(known.order), -known.offset, asked.offset));
      }
    }
    return result;
  }

 private:
  /// left (order) right + offset
  struct Known {
    Ref left = no_ref, right = no_ref;
    std::int64_t offset = 0;
    Order order = Order::unknown;
  };
  Known sides(Ref a, Ref b) {
    const auto [left, x] = without_offset(a);
    const auto [right, y] = without_offset(b);
    return {left, right, y - x, Order::unknown};
  }
  std::pair<Ref, std::int64_t> without_offset(Ref ref) {
    const Node node = pool_[ref];
    if ((node.op == Op::add || node.op == Op::sub) && pool_.is_integer(node.b)) {
      return {node.a, node.op == Op::add ? pool_.value(node.b) : -pool_.value(node.b)};
    }
    if (node.op == Op::integer) {
      return {pool_.like(ref, 0), node.value};
    }
    return {ref, 0};
  }
  static Order reversed(Order order) {
    return order == Order::less_equal      ? Order::greater_equal
           : order == Order::greater_equal ? Order::less_equal
                                           : order;
  }
  /// How the left side compares with right + asked.
  static Order decided(Order order, std::int64_t offset, std::int64_t asked) {
    switch (order) {
    case Order::equal:
      return offset == asked ? Order::equal : Order::unequal;
    case Order::less_equal:
      return offset < asked ? Order::less : offset == asked ? Order::less_equal : Order::unknown;
    case Order::greater_equal:
      return offset > asked    ? Order::greater
             : offset == asked ? Order::greater_equal
                               : Order::unknown;
    default:
      return order == Order::unequal && offset == asked ? Order::unequal : Order::unknown;
    }
  }

  Pool& pool_;
  std::vector<Known> known_;
};

}  // namespace tensorsmith::algebra
