// SPDX-License-Identifier: Apache-2.0
// NotationPadding: padded copies, for reads of index notation outside of an extent that it gives.
//
// Floor 2. Own design. The copy is as large as what is read and holds the neutral element of the
// reduction outside of its source. Reads with the same needs share one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/te/notation_ranges.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::te::detail {

class NotationPadding {
 public:
  explicit NotationPadding(Program& program) : program_(program) {}

  /// A new statement begins.
  void clear_reads() { reads_.clear(); }

  /// Node `id` reads `source` at indices within these ranges, as far as they are known. Returns the
  /// copy if it is a new one.
  std::optional<Tensor> pad(std::uint32_t id, const Tensor& source,
                            const std::vector<IndexRange>& at, double neutral,
                            const Callback<bool(const std::string&)>& is_taken) {
    std::vector<std::int64_t> before(at.size(), 0), shape = source.shape();
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (at[d].leaves(shape[d])) {
        before[d] = at[d].low < 0 ? -at[d].low : 0;
        shape[d] = (at[d].high > 0 ? at[d].high : 0) + 1 + before[d];
      }
    }
    for (std::size_t i = 0; i < copies_.size(); ++i) {
      if (copies_[i].source == source.name() && copies_[i].before == before &&
          copies_[i].tensor.shape() == shape && copies_[i].neutral == neutral) {
        reads_.push_back({id, i});
        return std::nullopt;
      }
    }
    std::string name = source.name() + "_pad";
    for (int i = 2; is_taken(name); ++i) {
      name = source.name() + "_pad" + std::to_string(i);
    }
    reads_.push_back({id, copies_.size()});
    copies_.push_back({source.name(), before, neutral, copy(name, source, before, shape, neutral)});
    return copies_.back().tensor;
  }

  bool is_padded(std::uint32_t id) const {
    for (const Read& read : reads_) {
      if (read.node == id) {
        return true;
      }
    }
    return false;
  }
  /// The element of the copy if node `id` reads one.
  std::optional<Expr> element(std::uint32_t id, std::vector<Expr> at) const {
    for (const Read& read : reads_) {
      if (read.node == id) {
        for (std::size_t d = 0; d < at.size(); ++d) {
          at[d] = shifted(at[d], copies_[read.copy].before[d]);
        }
        return copies_[read.copy].tensor.at(at);
      }
    }
    return std::nullopt;
  }

 private:
  struct Copy {
    std::string source;
    std::vector<std::int64_t> before;
    double neutral;
    Tensor tensor;
  };
  struct Read {
    std::uint32_t node;
    std::size_t copy;
  };

  Tensor copy(const std::string& name, const Tensor& source,
              const std::vector<std::int64_t>& before, const Shape& shape, double neutral) {
    const IntegerLimits range = limits_of(source.dtype());
    const Expr outside = is_float(source.dtype())     ? Expr(neutral)
                         : math::is_infinite(neutral) ? Expr(neutral < 0 ? range.low : range.high)
                                                      : Expr(static_cast<std::int64_t>(neutral));
    return program_.compute(name, shape, [&](const std::vector<Expr>& at) {
      std::vector<Expr> index = at, bounds;
      for (std::size_t d = 0; d < at.size(); ++d) {
        if (before[d] > 0) {
          bounds.push_back(at[d] >= before[d]);
          index[d] = at[d] - before[d];
        }
        if (shape[d] > before[d] + source.extent(d)) {
          bounds.push_back(at[d] < before[d] + source.extent(d));
        }
      }
      Expr inside = bounds[0];
      for (std::size_t i = 1; i < bounds.size(); ++i) {
        inside = inside && bounds[i];
      }
      return te::if_then_else(inside, source.at(index), outside);
    });
  }
  /// index + by, without what it adds or subtracts itself.
  static Expr shifted(const Expr& index, std::int64_t by) {
    if (by == 0) {
      return index;
    }
    const ExprPool& pool = index.program()->pool;
    const Binary* sum = pool.as<Binary>(index.id());
    const IntImm* constant = sum != nullptr ? pool.as<IntImm>(sum->b) : nullptr;
    std::int64_t together = 0;
    if (constant != nullptr && sum->op == BinaryOp::sub &&
        !__builtin_sub_overflow(by, constant->value, &together)) {
      return Expr(index.program(), sum->a) + together;
    }
    if (constant != nullptr && sum->op == BinaryOp::add &&
        !__builtin_add_overflow(by, constant->value, &together)) {
      return Expr(index.program(), sum->a) + together;
    }
    return index + by;
  }

  Program& program_;
  std::vector<Copy> copies_;
  std::vector<Read> reads_;  ///< of the statement that is read
};

}  // namespace tensorsmith::te::detail
