// SPDX-License-Identifier: Apache-2.0
// Random programs as strangers write them: rows looked up by numbers that are data, integers of all
// widths mixed, placeholders that nothing needs, reductions in which no term takes part, sums that
// use their operands again, several results at once.
//
// Test support. Every index is inside of its tensor whatever the data are, and every value is a
// whole number that all types involved hold, so results are equal bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

class RandomDag {
 public:
  explicit RandomDag(CounterRng& rng) : rng_(rng) {}

  Shared<const ComputeDag> make() {
    const std::size_t rank = 1 + below(2);
    for (std::size_t d = 0; d < rank; ++d) {
      shape_.push_back(1 + static_cast<std::int64_t>(below(d + 1 == rank ? 37 : 6)));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const DType type = pick<DType>(
          {DType::f32, DType::f32, DType::f64, DType::i32, DType::i64, DType::i8, DType::u8});
      tables_.push_back(p_.placeholder(
          "T" + std::to_string(i),
          {1 + static_cast<std::int64_t>(below(9)), 1 + static_cast<std::int64_t>(below(5))},
          type));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const DType type =
          pick<DType>({DType::i64, DType::i64, DType::i32, DType::i32, DType::i8, DType::u8});
      numbers_.push_back(p_.placeholder("N" + std::to_string(i), shape_, type));
    }
    std::vector<te::Tensor> arguments = tables_;
    arguments.insert(arguments.end(), numbers_.begin(), numbers_.end());
    for (std::size_t i = below(3); i-- > 0;) {  // nothing reads them
      const std::string name = "U" + std::to_string(i);
      const te::Tensor unused = p_.placeholder(name, {1 + static_cast<std::int64_t>(below(3))});
      if (below(2) == 0) {
        arguments.insert(arguments.begin() + below(3), unused);
      }
    }
    std::vector<te::Tensor> last;
    for (std::size_t s = 1 + below(3); s-- > 0;) {
      last = add_stage("S" + std::to_string(s));
      stages_.insert(stages_.end(), last.begin(), last.end());
    }
    arguments.insert(arguments.end(), operands_.begin(), operands_.end());
    arguments.push_back(last.back());
    if (stages_.size() > 1 && below(last.size() > 1 ? 2 : 4) == 0) {  // one that others may read
      arguments.push_back(stages_.front());
    }
    return p_.dag(arguments);
  }

 private:
  std::uint32_t below(std::size_t n) { return rng_.next_below(static_cast<std::uint32_t>(n)); }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }

  /// All results of an operation.
  std::vector<te::Tensor> add_stage(const std::string& name) {
    const std::uint32_t kind = below(7);
    if (kind > 4) {
      return add_reuse(name, kind == 5);
    }
    const auto in_axes = [&](const std::vector<te::Expr>& at) {
      axes_ = at;
      return value(2);
    };
    if (kind == 4) {
      return p_.compute_all(name, shape_, [&](const std::vector<te::Expr>& at) {
        const te::Expr first = in_axes(at);
        return std::vector<te::Expr>{first, in_axes(at)};
      });
    }
    if (kind > 1) {
      return {p_.compute(name, shape_, in_axes)};
    }
    const te::ReduceAxis k = p_.reduce_axis("k" + name, 1 + static_cast<std::int64_t>(below(7)));
    return {p_.compute(name, shape_, [&](const std::vector<te::Expr>& at) {
      axes_ = at;
      axes_.push_back(k);
      const te::Expr inner = value(1);
      axes_.pop_back();
      if (kind == 0) {  // of no, some or all terms
        const te::Expr term = te::if_then_else(k < static_cast<int>(below(3)), inner,
                                               te::cast(inner.dtype(), zero()));
        return te::sum(term, {k});
      }
      return below(2) == 0 ? te::max(inner, {k}) : te::min(inner, {k});
    })};
  }
  /// Over operands that some of the axes use again: a sum, or the least term and its number.
  std::vector<te::Tensor> add_reuse(const std::string& name, bool is_sum) {
    const std::int64_t extent = 1 + static_cast<std::int64_t>(below(40));
    const te::ReduceAxis k = p_.reduce_axis("k" + name, extent);
    const DType type = pick<DType>({DType::f32, DType::i32, DType::i64, DType::f64});
    const te::Tensor left = p_.placeholder("L" + name, {shape_[0], extent}, type);
    const te::Tensor right = p_.placeholder("R" + name, {extent, shape_.back()}, type);
    operands_.insert(operands_.end(), {left, right});
    const bool is_product = below(2) == 0, has_terms = below(2) == 0, has_columns = below(2) == 0;
    const auto term = [&](const std::vector<te::Expr>& at) {
      axes_ = at;
      const te::Expr a = left(at[0], has_terms ? te::Expr(k) : zero());
      const te::Expr b = right(k, has_columns ? at.back() : zero());
      return is_product ? a * b : a - b;
    };
    if (is_sum) {
      return {p_.compute(name, shape_,
                         [&](const std::vector<te::Expr>& at) { return te::sum(term(at), {k}); })};
    }
    const CombinerId least =
        p_.combiner({DType::i32, type}, {1000, 1000}, [](const auto& x, const auto& y) {
          const te::Expr keep = x[1] < y[1] || (x[1] == y[1] && x[0] < y[0]);
          return std::vector<te::Expr>{te::select(keep, x[0], y[0]), te::select(keep, x[1], y[1])};
        });
    return p_.compute_all(name, shape_, [&](const std::vector<te::Expr>& at) {
      return te::reduce(least, {te::Expr(k), term(at)}, {k});
    });
  }

  te::Expr zero() { return axes_[0] - axes_[0]; }

  /// An integer expression of i32 or i64.
  te::Expr whole(int depth) {
    const DType type = below(2) == 0 ? DType::i64 : DType::i32;
    if (depth == 0 || below(4) == 0) {
      switch (below(3)) {
      case 0:
        return te::cast(type, axes_[below(axes_.size())]);
      default:
        return te::cast(
            type, numbers_[below(2)].at(
                      {axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(shape_.size())}));
      }
    }
    const te::Expr a = whole(depth - 1);
    const te::Expr b = te::cast(a.dtype(), whole(depth - 1));
    const std::int64_t c = 1 + below(7);
    switch (below(9)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * c + b;
    case 3:
      return te::floordiv(a, c);
    case 4:
      return te::floormod(a, c);
    case 5:
      return te::min(a, b);
    case 6:
      return te::max(a, c);
    case 7:
      return te::select(a < b, a, b + c);
    default:
      return te::if_then_else(condition(a, b), a, b);
    }
  }
  te::Expr condition(const te::Expr& a, const te::Expr& b) {
    switch (below(4)) {
    case 0:
      return a < b;
    case 1:
      return a >= 0;
    case 2:
      return a == b || b > 3;
    default:
      return a != 2 && a <= b;
    }
  }

  /// A number that is an index of `extent` whatever the data are.
  te::Expr index(std::int64_t extent) {
    const te::Expr any = whole(2);
    switch (below(3)) {
    case 0:
      return te::floormod(any, extent);
    case 1:
      return te::max(te::min(any, extent - 1), 0);
    default:
      return te::select(any >= 0 && any < extent, any, te::cast(any.dtype(), zero()));
    }
  }
  /// Some element of a table; behind a condition the index may be anything inside of it.
  te::Expr looked_up() {
    const te::Tensor& table = tables_[below(2)];
    if (below(3) > 0) {
      return table(index(table.extent(0)), index(table.extent(1)));
    }
    const te::Expr row = whole(1), column = index(table.extent(1));
    return te::if_then_else(row >= 0 && row < table.extent(0), table(row, column),
                            te::cast(table.dtype(), zero()));
  }
  /// Of an element of a stage along a dimension: mostly the same one.
  te::Expr place(std::size_t dimension) {
    const te::Expr& axis = axes_[dimension];
    switch (below(12)) {
    case 0:
      return shape_[dimension] - 1 - axis;
    case 1:
      return te::floordiv(axis, 2);
    case 2:
      return axis - te::floordiv(axis, 3) * 3;
    case 3:
      return te::max(axis - 1, 0);
    default:
      return axis;
    }
  }
  te::Expr value(int depth) {
    if (depth == 0 || below(4) == 0) {
      const std::uint32_t kind = below(stages_.empty() ? 3 : 4);
      if (kind == 3) {
        std::vector<te::Expr> at;
        for (std::size_t d = 0; d < shape_.size(); ++d) {
          at.push_back(place(d));
        }
        return stages_[below(stages_.size())].at(at);
      }
      return kind == 2 ? whole(1) : looked_up();
    }
    te::Expr a = value(depth - 1);
    // i8 and u8 wrap and reals do not: only what fits is mixed.
    te::Expr b = value(depth - 1);
    const DType type = pick<DType>({DType::f64, DType::i64, DType::i32, DType::f64});
    a = te::cast(type, a);
    b = te::cast(type, b);
    switch (below(6)) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return te::min(a, b);
    case 3:
      return te::max(a, b);
    case 4:
      return te::select(condition(te::cast(DType::i64, a), te::cast(DType::i64, b)), a, b);
    default:
      return te::if_then_else(condition(te::cast(DType::i64, a), te::cast(DType::i64, b)), a, b);
    }
  }

  CounterRng& rng_;
  te::Program p_;
  te::Shape shape_;
  std::vector<te::Tensor> tables_, numbers_, stages_;
  std::vector<te::Tensor> operands_;  ///< of single stages
  std::vector<te::Expr> axes_;
};

/// Whole numbers from -8 to 12 for everything that is given (0 to 12 where the type has no sign).
inline std::vector<HostArray> random_inputs(const ComputeDag& dag, CounterRng& rng) {
  std::vector<HostArray> arrays;
  for (TensorId id : dag.arguments()) {
    const TensorInfo& tensor = dag.tensor(id);
    HostArray array(tensor.dtype, {tensor.shape.begin(), tensor.shape.end()});
    if (dag.operation(tensor.operation).is_placeholder()) {
      for (std::int64_t i = 0; i < array.num_elements(); ++i) {
        const auto drawn = static_cast<std::int64_t>(rng.next_below(21));
        array.set_int(i, tensor.dtype == DType::u8 ? drawn % 13 : drawn - 8);
      }
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace tensorsmith::test
