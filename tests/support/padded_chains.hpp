// SPDX-License-Identifier: Apache-2.0
// Random chains of stages that read windows of each other: padding, convolutions with strides,
// dilations and zeros in between, pools, shifted and folded readers, two readers of one stage.
//
// Test support. Values stay whole and small, so that results are equal bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

class PaddedChain {
 public:
  explicit PaddedChain(CounterRng& rng)
      : rng_(rng), type_(rng.next_below(2) == 0 ? DType::i32 : DType::f32) {}

  Shared<const ComputeDag> make() {
    const std::int64_t rows = between(2, 9), columns = between(2, 9), channels = between(1, 4);
    te::Tensor x = input({rows, columns, channels});
    const std::int64_t count = between(1, 3);
    for (std::int64_t s = 0; s < count; ++s) {
      const te::Tensor before = x;
      x = windowed(x);
      if (one_of(2)) {
        x = elementwise(x);
      }
      if (one_of(4)) {
        x = read_twice(x);
      }
      if (one_of(4) && before.shape() == x.shape()) {  // around the window
        x = p_.compute(name("R"), x.shape(), [&](auto i, auto j, auto c) {
          return te::max(x(i, j, c), before(i, j, c));
        });
      }
    }
    x = one_of(4) ? folded(x) : x;
    inputs_.push_back(x);
    return p_.dag(inputs_);
  }

 private:
  std::int64_t between(std::uint32_t low, std::uint32_t high) {
    return low + rng_.next_below(high - low + 1);
  }
  bool one_of(std::uint32_t n) { return rng_.next_below(n) == 0; }
  std::string name(const char* what) { return what + std::to_string(number_++); }
  te::Tensor input(const te::Shape& shape) {
    inputs_.push_back(p_.placeholder(name("A"), shape, type_));
    return inputs_.back();
  }
  te::Expr small(const te::Expr& value) { return te::max(te::min(value, 7), -7); }

  struct Window {
    std::int64_t taps = 1, stride = 1, dilation = 1, before = 0, after = 0, zeros = 1;
    std::int64_t padded(std::int64_t extent) const {
      return (extent - 1) * zeros + 1 + before + after;
    }
    std::int64_t results(std::int64_t extent) const {
      return (padded(extent) - dilation * (taps - 1) - 1) / stride + 1;
    }
  };
  Window window(std::int64_t extent, bool may_have_zeros) {
    Window w;
    w.taps = between(1, 3);
    w.stride = one_of(2) ? 1 : between(2, 3);
    w.dilation = one_of(4) ? 2 : 1;
    w.zeros = may_have_zeros && one_of(4) ? 2 : 1;
    w.before = between(0, 2);
    w.after = between(0, 2);
    while (w.padded(extent) < w.dilation * (w.taps - 1) + 1) {
      ++w.after;
    }
    return w;
  }

  te::Tensor windowed(const te::Tensor& x) {
    const std::uint32_t kind = rng_.next_below(4);
    const bool may_have_zeros = kind < 2;
    const Window r = window(x.extent(0), may_have_zeros), s = window(x.extent(1), may_have_zeros);
    const std::int64_t channels = x.extent(2);
    const te::Shape plane = {r.padded(x.extent(0)), s.padded(x.extent(1)), channels};
    te::Tensor padded = x;
    if (plane != x.shape() || one_of(3)) {
      padded = p_.compute(name("Pad"), plane, [&](auto i, auto j, auto c) {
        const te::Expr y = i - r.before, z = j - s.before;
        te::Expr is_inside = y >= 0 && y < (x.extent(0) - 1) * r.zeros + 1 && z >= 0 &&
                             z < (x.extent(1) - 1) * s.zeros + 1;
        if (r.zeros * s.zeros > 1) {
          is_inside = is_inside && te::floormod(y, r.zeros) == 0 && te::floormod(z, s.zeros) == 0;
        }
        return te::if_then_else(is_inside, x(te::floordiv(y, r.zeros), te::floordiv(z, s.zeros), c),
                                0);
      });
    }
    const te::ReduceAxis rh = p_.reduce_axis(name("r"), r.taps);
    const te::ReduceAxis rw = p_.reduce_axis(name("s"), s.taps);
    const auto tap = [&](const te::Expr& i, const te::Expr& j, const te::Expr& c) {
      return padded(i * r.stride + rh * r.dilation, j * s.stride + rw * s.dilation, c);
    };
    const te::Shape results = {r.results(x.extent(0)), s.results(x.extent(1)),
                               kind == 0 ? between(1, 5) : channels};
    if (kind == 0) {
      const te::Tensor w = input({r.taps, s.taps, channels, results[2]});
      const te::ReduceAxis k = p_.reduce_axis(name("k"), channels);
      return p_.compute(name("Conv"), results, [&](auto i, auto j, auto c) {
        return te::sum(tap(i, j, k) * w(rh, rw, k, c), {rh, rw, k});
      });
    }
    if (kind == 1) {
      const te::Tensor w = input({r.taps, s.taps, channels});
      return p_.compute(name("Deep"), results, [&](auto i, auto j, auto c) {
        return te::sum(tap(i, j, c) * w(rh, rw, c), {rh, rw});
      });
    }
    return p_.compute(name("Pool"), results, [&](auto i, auto j, auto c) {
      return kind == 2 ? te::max(tap(i, j, c), {rh, rw}) : te::sum(tap(i, j, c), {rh, rw});
    });
  }

  te::Tensor elementwise(const te::Tensor& x) {
    const te::Tensor b = input({x.extent(2)});
    return p_.compute(name("E"), x.shape(),
                      [&](auto i, auto j, auto c) { return small(x(i, j, c) - b(c)); });
  }

  /// Rows that lie apart, or a stage beside another.
  te::Tensor read_twice(const te::Tensor& x) {
    const std::int64_t rows = (x.extent(0) + 1) / 2;
    if (one_of(2)) {
      return p_.compute(name("T"), {rows, x.extent(1), x.extent(2)}, [&](auto i, auto j, auto c) {
        return x(i, j, c) - x(i + (x.extent(0) - rows), x.extent(1) - 1 - j, c);
      });
    }
    const te::Tensor y = p_.compute(name("Y"), x.shape(),
                                    [&](auto i, auto j, auto c) { return te::abs(x(i, j, c)); });
    return p_.compute(name("Z"), {rows, x.extent(1), x.extent(2)},
                      [&](auto i, auto j, auto c) { return small(y(i * 2, j, c) + x(i, j, c)); });
  }

  te::Tensor folded(const te::Tensor& x) {
    const std::int64_t columns = x.extent(1) * x.extent(2);
    return p_.compute(name("F"), {x.extent(0), columns}, [&](auto i, auto j) {
      return x(i, te::floordiv(j, x.extent(2)), te::floormod(j, x.extent(2))) + 1;
    });
  }

  CounterRng& rng_;
  const DType type_;
  te::Program p_;
  std::vector<te::Tensor> inputs_;
  int number_ = 0;
};

}  // namespace tensorsmith::test
