// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering for 3 x 3 convolutions: F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3).
//
// Floor 3. Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015); the matrices
// are those of the points 0, 1, -1 (2, -2) and infinity. A tile of m x m outputs takes
// (m + 2)^2 products instead of 9 m^2: 16 for 36, 36 for 144. Each transform is two stages, one per
// axis, whose rows are written out; the axis of the rows is named in simplify_const_tensor_indices,
// so that schedules unroll it and each copy has one row.
//     Xt = B' x B per tile;  Wt = G w G';  Yt[e, f] = Xt[e, f] * Wt[e, f] over channels;  Y = A' Yt
//     A
// Intermediate sums are larger than the result, which costs digits (winograd_rounding). Not here:
// padding, epilogues (ops/conv.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/program.hpp"

namespace tensorsmith::ops::detail {

/// Rows of B' (of an input's m + 2 elements), G (of a kernel's 3), A' (of the m + 2 products).
struct WinogradMatrices {
  using Matrix = std::vector<std::vector<double>>;
  Matrix input, kernel, output;
};
inline WinogradMatrices winograd_matrices(std::int64_t outputs) {
  if (outputs == 2) {
    return {{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
            {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
            {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  }
  TENSORSMITH_ASSERT(outputs == 4, "Winograd's tile is of 2 or 4 outputs");
  return {{{4, 0, -5, 0, 1, 0},
           {0, -4, -4, 1, 1, 0},
           {0, 4, -4, -1, 1, 0},
           {0, -2, -1, 2, 1, 0},
           {0, 2, -1, -2, 1, 0},
           {0, 4, 0, -5, 0, 1}},
          {{1.0 / 4, 0, 0},
           {-1.0 / 6, -1.0 / 6, -1.0 / 6},
           {-1.0 / 6, 1.0 / 6, -1.0 / 6},
           {1.0 / 24, 1.0 / 12, 1.0 / 6},
           {1.0 / 24, -1.0 / 12, 1.0 / 6},
           {0, 0, 1}},
          {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
}

/// How many times the rounding of the direct sum a result has at worst, for operands of random
/// signs: over both axes, the largest sum of squares along the three matrices for that of 3 taps.
inline double winograd_rounding(std::int64_t outputs) {
  const WinogradMatrices matrices = winograd_matrices(outputs);
  const auto squares = [](const std::vector<double>& factors) {
    double sum = 0;
    for (double factor : factors) {
      sum += factor * factor;
    }
    return sum;
  };
  double worst = 1;
  for (const std::vector<double>& row : matrices.output) {
    double sum = 0;
    for (std::size_t e = 0; e < row.size(); ++e) {
      sum += row[e] * row[e] * squares(matrices.input[e]) * squares(matrices.kernel[e]);
    }
    worst = sum / 3 > worst ? sum / 3 : worst;
  }
  return worst;
}

/// The product of a 3 x 3 convolution of stride 1, without its padding and epilogue.
class WinogradStages {
 public:
  using Indices = std::vector<te::Expr>;

  /// `outputs`: 2 or 4 per tile and axis; `tiles`: of an image, down and across.
  WinogradStages(te::Program& program, std::int64_t outputs, std::int64_t n, std::int64_t rows,
                 std::int64_t columns)
      : program_(program), matrices_(winograd_matrices(outputs)), outputs_(outputs),
        inputs_(outputs + 2), n_(n), rows_(rows), columns_(columns) {}

  /// `read(kh, kw, ci, co)` is an element of the weights; -> [e, f, ci, co].
  template <class Read>
  te::Tensor weights(std::int64_t ci, std::int64_t co, const std::string& free_layout,
                     const Read& read) {
    te::ComputeOptions options = options_for({"e", "kw", "ci", "co"}, {"e", "kw"});
    if (!free_layout.empty()) {
      options.attrs.layout_free_placeholders = {free_layout};
    }
    const te::Tensor half = program_.compute(
        "Wt0", {inputs_, 3, ci, co},
        [&](const Indices& at) {
          return row(matrices_.kernel, at[0],
                     [&](std::int64_t k) { return read(te::Expr(k), at[1], at[2], at[3]); });
        },
        std::move(options));
    return program_.compute(
        "Wt", {inputs_, inputs_, ci, co},
        [&](const Indices& at) {
          return row(matrices_.kernel, at[1],
                     [&](std::int64_t k) { return half(at[0], k, at[2], at[3]); });
        },
        options_for({"e", "f", "ci", "co"}, {"e", "f"}));
  }

  /// `read(n, h, w, ci)` is an element of the padded input; -> [e, f, p, ci], p: all tiles.
  template <class Read>
  te::Tensor input(std::int64_t ci, const Read& read) {
    const te::Tensor half = program_.compute(
        "Xt0", {inputs_, inputs_, n_ * rows_ * columns_, ci},
        [&](const Indices& at) {
          const te::Expr image = te::floordiv(at[2], rows_ * columns_);
          const te::Expr down = te::floormod(te::floordiv(at[2], columns_), rows_) * outputs_;
          const te::Expr across = te::floormod(at[2], columns_) * outputs_ + at[1];
          return row(matrices_.input, at[0],
                     [&](std::int64_t i) { return read(image, down + i, across, at[3]); });
        },
        options_for({"e", "j", "p", "ci"}, {"e", "j"}));
    return program_.compute(
        "Xt", {inputs_, inputs_, n_ * rows_ * columns_, ci},
        [&](const Indices& at) {
          return row(matrices_.input, at[1],
                     [&](std::int64_t j) { return half(at[0], j, at[2], at[3]); });
        },
        options_for({"e", "f", "p", "ci"}, {"e", "f"}));
  }

  /// Over channels, per element of a tile; -> [e, f, p, co].
  te::Tensor product(const te::Tensor& x, const te::Tensor& w) {
    const te::ReduceAxis rc = program_.reduce_axis("rc", x.extent(3));
    return program_.compute("Yt", {inputs_, inputs_, x.extent(2), w.extent(3)},
                            [&](const Indices& at) {
                              return te::sum(
                                  x(at[0], at[1], at[2], rc) * w(at[0], at[1], rc, at[3]), {rc});
                            },
                            {{"e", "f", "p", "co"}, {}, {}});
  }

  /// -> [i, j, p, co]: the outputs of every tile.
  te::Tensor output(const te::Tensor& y) {
    const te::Tensor half = program_.compute(
        "Yt0", {outputs_, inputs_, y.extent(2), y.extent(3)},
        [&](const Indices& at) {
          return row(matrices_.output, at[0],
                     [&](std::int64_t e) { return y(e, at[1], at[2], at[3]); });
        },
        options_for({"i", "f", "p", "co"}, {"i", "f"}));
    return program_.compute(
        "Yt1", {outputs_, outputs_, y.extent(2), y.extent(3)},
        [&](const Indices& at) {
          return row(matrices_.output, at[1],
                     [&](std::int64_t f) { return half(at[0], f, at[2], at[3]); });
        },
        options_for({"i", "j", "p", "co"}, {"i", "j"}));
  }

 private:
  static te::ComputeOptions options_for(std::vector<std::string> axes,
                                        std::vector<std::string> unrolled) {
    te::ComputeOptions options;
    options.axes = std::move(axes);
    options.attrs.simplify_const_tensor_indices = std::move(unrolled);
    return options;
  }
  static te::Expr times(double factor, const te::Expr& value) {
    return factor == 1 ? value : value * factor;
  }
  /// The terms that are not 0, positive ones first.
  template <class Element>
  static te::Expr dot(const std::vector<double>& factors, const Element& element) {
    std::vector<te::Expr> sum;  // none or one
    for (const bool is_negative : {false, true}) {
      for (std::size_t c = 0; c < factors.size(); ++c) {
        if (factors[c] == 0 || (factors[c] < 0) != is_negative) {
          continue;
        }
        const te::Expr value = element(static_cast<std::int64_t>(c));
        if (sum.empty()) {
          sum.push_back(times(factors[c], value));
        } else {
          sum[0] =
              is_negative ? sum[0] - times(-factors[c], value) : sum[0] + times(factors[c], value);
        }
      }
    }
    return sum.at(0);
  }
  /// Row `which` of `matrix` times the elements.
  template <class Element>
  static te::Expr row(const WinogradMatrices::Matrix& matrix, const te::Expr& which,
                      const Element& element) {
    te::Expr chosen = dot(matrix.back(), element);
    for (std::size_t r = matrix.size() - 1; r-- > 0;) {
      chosen =
          te::if_then_else(which == static_cast<std::int64_t>(r), dot(matrix[r], element), chosen);
    }
    return chosen;
  }

  te::Program& program_;
  WinogradMatrices matrices_;
  std::int64_t outputs_, inputs_, n_, rows_, columns_;
};

}  // namespace tensorsmith::ops::detail
