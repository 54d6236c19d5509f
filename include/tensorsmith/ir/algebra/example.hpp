// SPDX-License-Identifier: Apache-2.0
// Example: one point of the ranges of variables, which refutes what is not true of all of them.
//
// Floor 1. Own design. Where the simplifier is asked whether a condition always holds, and the
// answer is nearly always no, a few additions at one point say so.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/algebra/largest.hpp"

namespace tensorsmith::algebra {

class Example {
 public:
  explicit Example(const Pool& pool) : pool_(pool), version_(pool.new_version()) {}

  /// `var` has the last value of [min, min + extent), if these have values.
  void bind(std::int32_t var, Ref min, Ref extent) {
    const auto first = (*this)(min), count = (*this)(extent);
    const auto at = static_cast<std::size_t>(var);
    if (at >= of_var_.size()) {
      of_var_.resize(pool_.num_vars());
    }
    const auto end =
        first && count && *count > 0 ? value_of(Op::add, *first, *count) : std::nullopt;
    of_var_[at] = end ? std::optional(*end - 1) : std::nullopt;
    version_ = pool_.new_version();
  }

  /// Nothing where a variable has no value, or for what is no arithmetic of integers.
  std::optional<std::int64_t> operator()(Ref ref) {
    const Node& node = pool_[ref];
    if (node.op == Op::integer) {
      return node.value;
    }
    if (node.op == Op::var) {
      const auto at = static_cast<std::size_t>(node.value);
      return at < of_var_.size() ? of_var_[at] : std::nullopt;
    }
    if (const auto* known = known_.find(ref, version_)) {
      return *known;
    }
    const auto value = is_binary(node.op) ? of_operation(node) : std::nullopt;
    known_.set(ref, version_, value);
    return value;
  }

 private:
  std::optional<std::int64_t> of_operation(const Node& node) {
    const auto a = (*this)(node.a);
    const auto b = a ? (*this)(node.b) : std::nullopt;
    return b ? value_of(node.op, *a, *b) : std::nullopt;
  }

  const Pool& pool_;
  std::uint32_t version_;
  std::vector<std::optional<std::int64_t>> of_var_;
  Remembered<std::optional<std::int64_t>> known_;
};

}  // namespace tensorsmith::algebra
