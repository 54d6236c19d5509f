// SPDX-License-Identifier: Apache-2.0
// Index maps: how the reads of a stage move through memory as its axes move, quotients and
// remainders included.
//
// Floor 5. Own design. Producers that are, or are going to be, inlined are looked through. An axis
// whose quotients and remainders by some number are used runs as several loops (digits) without
// either:
//     O[i] = A[i % 64, i / 64], i = 64 * i.0 + i.1  -->  O[...] = A[i.1, i.0]
// Not here: the rule that makes loops of it (rules/tile_maps.hpp); simplification of what is left
// (ir/affine.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/index_at.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

namespace detail {

constexpr std::int64_t most_period = std::int64_t{1} << 31;

inline std::int64_t period_or_none(std::int64_t period) {
  return period > 0 && period <= most_period ? period : 0;
}

/// The constant divisor of a quotient or remainder; 0: it is neither.
inline std::int64_t divisor_of(const ExprPool& pool, const Binary& node) {
  const bool divides = node.op == BinaryOp::floordiv || node.op == BinaryOp::floormod ||
                       node.op == BinaryOp::div || node.op == BinaryOp::truncmod;
  const IntImm* divisor = divides ? pool.as<IntImm>(node.b) : nullptr;
  return divisor != nullptr && divisor->value > 0 && divisor->value <= most_period ? divisor->value
                                                                                   : 0;
}

}  // namespace detail

/// A step of `var` by which an integer expression changes by a multiple of `modulus`, wherever it
/// begins (and nothing is negative); 0: none is seen. Linear in the number of paths.
inline std::int64_t period_of(const ExprPool& pool, ExprId id, VarId var, std::int64_t modulus) {
  if (!uses_var(pool, id, var)) {
    return 1;
  }
  if (pool.as<VarRef>(id) != nullptr) {
    return detail::period_or_none(modulus);
  }
  if (const Cast* cast = pool.as<Cast>(id)) {
    return period_of(pool, cast->a, var, modulus);
  }
  const Binary* node = pool.as<Binary>(id);
  if (node == nullptr) {
    return 0;
  }
  if (node->op == BinaryOp::add || node->op == BinaryOp::sub) {
    const std::int64_t a = period_of(pool, node->a, var, modulus);
    const std::int64_t b = a == 0 ? 0 : period_of(pool, node->b, var, modulus);
    return b == 0 ? 0 : detail::period_or_none(a / gcd(a, b) * b);
  }
  if (node->op == BinaryOp::mul) {
    const IntImm* left = pool.as<IntImm>(node->a);
    const IntImm* factor = left != nullptr ? left : pool.as<IntImm>(node->b);
    if (factor == nullptr || factor->value <= 0) {
      return 0;
    }
    return period_of(pool, left != nullptr ? node->b : node->a, var,
                     modulus / gcd(modulus, factor->value));
  }
  const std::int64_t divisor = detail::divisor_of(pool, *node);
  if (divisor == 0) {
    return 0;
  }
  const bool is_quotient = node->op == BinaryOp::floordiv || node->op == BinaryOp::div;
  const std::int64_t wanted = is_quotient ? detail::period_or_none(modulus * divisor) : divisor;
  return wanted == 0 ? 0 : period_of(pool, node->a, var, wanted);
}

/// The reads of a stage of memory, in terms of its own axes.
class IndexMaps {
 public:
  struct Read {
    TensorId tensor;
    ExprList indices;
    bool operator==(const Read&) const = default;
  };

  /// `is_inlined(stage)`: whether a producer is looked through.
  template <class IsInlined>
  IndexMaps(const State& state, std::size_t stage, const IsInlined& is_inlined)
      : pool_(&state.dag().pool()), op_(state.operation(stage)) {
    std::vector<Read> open;
    for (ExprId body : op_.bodies) {
      visit(body, open);
    }
    for (std::size_t next = 0; next < open.size() && open.size() <= most_reads; ++next) {
      const Read read = open[next];
      const std::size_t producer = state.dag().tensor(read.tensor).operation;
      if (!is_inlined(producer)) {
        reads_.push_back(read);
        continue;
      }
      const Operation& inlined = state.operation(producer);
      Substitution at;
      for (std::size_t a = 0; a < inlined.axes.size(); ++a) {
        at.set(inlined.axes[a].var, read.indices[a]);
      }
      for (ExprId body : inlined.bodies) {
        visit(at(pool_, body), open);
      }
    }
    is_complete_ = open.size() <= most_reads;
  }

  /// Whether there are few enough of them to have been looked at.
  bool is_complete() const { return is_complete_; }
  const std::vector<Read>& reads() const { return reads_; }

  /// The lengths of the inner digits of an axis, outermost first; empty: it is one loop.
  std::vector<std::int64_t> digits(std::size_t axis) const {
    const VarId var = op_.axes[axis].var;
    std::vector<std::int64_t> periods;
    for (const auto& [id, divisor] : divided_) {
      const Binary* node = pool_.as<Binary>(id);
      const std::int64_t period = period_of(pool_, node->a, var, divisor);
      if (period > 1 && period < op_.axes[axis].extent && !has_item(periods, period)) {
        periods.push_back(period);
      }
    }
    std::vector<std::int64_t> lengths;
    for (std::int64_t inner = 1; lengths.size() < most_digits;) {
      std::int64_t next = 0;  // the least of those left that is a multiple
      for (std::int64_t period : periods) {
        const bool fits = period > inner && period % inner == 0;
        next = fits && (next == 0 || period < next) ? period : next;
      }
      if (next == 0) {
        break;
      }
      lengths.insert(lengths.begin(), next / inner);
      inner = next;
    }
    return lengths;
  }

  /// By how many elements a read moves if its axis moves by `step`, as it does at the origin;
  /// nothing if that depends on data.
  std::optional<std::int64_t> stride(const State& state, const Read& read, std::size_t axis,
                                     std::int64_t step) const {
    const auto begin = address(state, read, VarId{}, 0);
    const auto end = address(state, read, op_.axes[axis].var, step);
    return begin && end ? std::optional(*end - *begin) : std::nullopt;
  }

  /// Whether two reads of one tensor move along the same axes in each of its dimensions.
  bool are_shifted(const Read& a, const Read& b) const {
    bool holds = a.tensor == b.tensor;
    for (std::size_t d = 0; holds && d < a.indices.size(); ++d) {
      for (const Axis& axis : op_.axes) {
        holds = holds &&
                uses_var(pool_, a.indices[d], axis.var) == uses_var(pool_, b.indices[d], axis.var);
      }
    }
    return holds;
  }

 private:
  static constexpr std::size_t most_reads = 256, most_digits = 3;

  void visit(ExprId id, std::vector<Read>& found) {
    if (id.value >= seen_.size()) {
      seen_.resize(id.value + 1, false);
    }
    if (seen_[id.value]) {
      return;
    }
    seen_[id.value] = true;
    for_each_child(ExprNode(pool_[id]), [&](ExprId child) { visit(child, found); });
    if (const TensorRead* read = pool_.as<TensorRead>(id)) {
      found.push_back({read->tensor, read->indices});
    }
    if (const Binary* node = pool_.as<Binary>(id); node != nullptr && is_integer(pool_.dtype(id))) {
      if (const std::int64_t divisor = detail::divisor_of(pool_, *node); divisor > 1) {
        divided_.emplace_back(id, divisor);
      }
    }
  }

  std::optional<std::int64_t> address(const State& state, const Read& read, VarId var,
                                      std::int64_t of_var) const {
    const TensorInfo& tensor = state.dag().tensor(read.tensor);
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
      const auto index = index_at(pool_, read.indices[d], var, of_var, OtherVars::zero);
      if (!index) {
        return std::nullopt;
      }
      flat = flat * tensor.shape[d] + *index;
    }
    return flat;
  }

  ExprPool pool_;
  const Operation& op_;
  std::vector<bool> seen_;                                ///< by expression
  std::vector<std::pair<ExprId, std::int64_t>> divided_;  ///< quotients and remainders
  std::vector<Read> reads_;
  bool is_complete_ = true;
};

}  // namespace tensorsmith
