// SPDX-License-Identifier: Apache-2.0
// TileFormulas: features and limits of all programs of one form, as tapes over their TilePoints.
//
// Floor 7. Felix, ch. 2.4, 3.4 and 6.3. A form is what the steps say but for lengths and limits of
// unrolling. Smooth rows lead a descent; exact ones judge where it rounds to. What is linear in
// logarithms bounds a polytope, in which points are drawn; the rest are penalties. Made once per
// form, then const. Not here: the descent (formula_descent.hpp).
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/felix/log_polytope.hpp"
#include "tensorsmith/felix/monomial.hpp"
#include "tensorsmith/felix/smooth.hpp"
#include "tensorsmith/felix/symbolic_program.hpp"
#include "tensorsmith/felix/symbolic_rows.hpp"
#include "tensorsmith/felix/tape.hpp"
#include "tensorsmith/search/felix/tile_point.hpp"

namespace tensorsmith {

class TileFormulas {
 public:
  /// `typical`: a program of the form. It says how many operations its indices cost, and so it
  /// should depend on the form alone. Nothing where formulas cannot follow the steps.
  static std::optional<TileFormulas> of(const SearchSpace& space, const TilePoint& tiles,
                                        const State& typical) {
    const std::optional<StoreProgram> stores = build_store_program(typical);
    if (!stores || tiles.size() == 0) {
      return std::nullopt;
    }
    felix::FormulaPool pool;
    const std::vector<bool> open = tiles.open_steps();
    const std::optional<felix::SymbolicProgram> program =
        felix::symbolic_program(pool, typical, *stores, &open);
    if (!program) {
      return std::nullopt;
    }
    const felix::SymbolicRows rows = felix::symbolic_rows(pool, program->nest);
    TileFormulas made(tiles.size(), rows.rows.size());
    made.bound_lengths(tiles, *program);
    std::vector<felix::FormulaId> features, limits;
    for (const std::vector<felix::FormulaId>& row : rows.rows) {
      features.insert(features.end(), row.begin(), row.end());
    }
    if (program->nest.is_gpu) {
      const HardwareParams& hardware = space.options().hardware;
      made.bound(pool, rows.limits.threads, hardware.max_threads_per_block, limits);
      made.bound(pool, rows.limits.vthreads, hardware.max_vthread_extent, limits);
      made.bound(pool, rows.limits.shared_bytes, hardware.max_shared_memory_per_block, limits);
    }
    made.compile(pool, features, limits);
    return made;
  }

  std::size_t size() const { return symbols_.size(); }  ///< coordinates of a point
  std::size_t num_rows() const { return num_rows_; }
  const felix::LogPolytope& inside() const { return inside_; }

  /// Batches are [size(), points]; what they give is [num_rows() 154, points].
  using Workspace = felix::Tape::Workspace;
  void features(std::span<const double> points, double temperature, std::size_t batch,
                Workspace& space, std::vector<double>& values) const {
    std::vector<double> inputs(points.begin(), points.end());
    inputs.resize((size() + 1) * batch, temperature);
    values.resize(smooth_.num_roots() * batch);
    smooth_.forward(inputs, batch, space, values);
  }
  /// Of the features of the last batch.
  void slopes(std::span<const double> of_features, Workspace& space,
              std::vector<double>& result) const {
    result.resize((size() + 1) * space.batch);
    smooth_.backward(of_features, space, result);
    result.resize(size() * space.batch);
  }

  /// The slope of how far every point is outside, squared, and whether it is.
  std::vector<bool> penalty(std::span<const double> points, double temperature, std::size_t batch,
                            Workspace& space, std::vector<double>& result) const {
    std::vector<bool> is_outside(batch, false);
    std::vector<double> inputs(points.begin(), points.end());
    inputs.resize((size() + 1) * batch, temperature);
    std::vector<double> values(penalties_.num_roots() * batch);
    result.assign((size() + 1) * batch, 0);
    if (penalties_.num_roots() > 0) {
      penalties_.forward(inputs, batch, space, values);
      for (std::size_t i = 0; i < values.size(); ++i) {
        is_outside[i % batch] = is_outside[i % batch] || values[i] > 0;
        values[i] = values[i] > 0 ? 2 * values[i] : 0;
      }
      penalties_.backward(values, space, result);
    }
    result.resize(size() * batch);
    for (const felix::LogPolytope::HalfSpace& half : inside_.half_spaces()) {
      for (std::size_t p = 0; p < batch; ++p) {
        double over = -half.bound;
        for (std::size_t c = 0; c < size(); ++c) {
          over += half.slopes[c] * points[c * batch + p];
        }
        is_outside[p] = is_outside[p] || over > 1e-9;
        for (std::size_t c = 0; over > 0 && c < size(); ++c) {
          result[c * batch + p] += 2 * over * half.slopes[c];
        }
      }
    }
    return is_outside;
  }

  /// The rows of programs, by their formulas, and whether they keep the limits; points are rounded.
  std::vector<bool> exact(std::span<const double> points, std::size_t batch, Workspace& space,
                          std::vector<double>& values) const {
    std::vector<double> found(exact_.num_roots() * batch);
    exact_.forward(points, batch, space, found);
    const std::size_t num_features = num_rows_ * felix_length;
    std::vector<bool> is_kept(batch, true);
    for (std::size_t l = 0; l < most_.size(); ++l) {
      for (std::size_t p = 0; p < batch; ++p) {
        is_kept[p] = is_kept[p] && found[(num_features + l) * batch + p] <= most_[l] * (1 + 1e-9);
      }
    }
    found.resize(num_features * batch);
    values = std::move(found);
    return is_kept;
  }

 private:
  TileFormulas(std::size_t size, std::size_t num_rows)
      : symbols_(size), num_rows_(num_rows), inside_(size) {}

  void bound_lengths(const TilePoint& tiles, const felix::SymbolicProgram& program) {
    tiles.each_group(
        [&](std::size_t step, std::size_t first, std::size_t count, double highest, double last) {
          std::vector<double> all(size(), 0), innermost(size(), 0);
          for (std::size_t i = 0; i < count; ++i) {
            symbols_[first + i] = program.steps[step][i];
            all[first + i] = 1;
          }
          inside_.require(std::move(all), highest);
          if (last < highest) {
            innermost[first + count - 1] = 1;
            inside_.require(std::move(innermost), last);
          }
        });
  }
  /// `least` is at most `most`.
  void bound(felix::FormulaPool& pool, felix::FormulaId least, double most,
             std::vector<felix::FormulaId>& limits) {
    if (pool[least].op == felix::Op::number) {
      return;
    }
    limits.push_back(least);
    most_.push_back(most);
    if (const auto monomial = felix::log_monomial(pool, least, symbols_)) {
      inside_.require(monomial->exponents, math::log2(most) - monomial->log2_factor);
    } else {
      const felix::FormulaNumbers numbers(pool);
      penalty_formulas_.push_back(numbers.sub(numbers.log(least), numbers.number(math::log(most))));
    }
  }
  void compile(felix::FormulaPool& pool, std::vector<felix::FormulaId> features,
               const std::vector<felix::FormulaId>& limits) {
    felix::Smoother smoother(pool, felix::Smoothing::repaired);
    const std::vector<felix::FormulaId> smooth = smoother.smooth(features),
                                        penalties = smoother.smooth(penalty_formulas_);
    std::vector<felix::TapeInput> inputs;
    for (const felix::FormulaId symbol : symbols_) {
      inputs.push_back({symbol, true});
    }
    features.insert(features.end(), limits.begin(), limits.end());
    exact_ = felix::Tape(pool, features, inputs);
    inputs.push_back({felix::temperature(pool), false});
    smooth_ = felix::Tape(pool, smooth, inputs);
    penalties_ = felix::Tape(pool, penalties, inputs);
    penalty_formulas_.clear();
  }

  std::vector<felix::FormulaId> symbols_;  // by coordinate
  std::size_t num_rows_;
  felix::LogPolytope inside_;
  felix::Tape smooth_, penalties_, exact_;
  std::vector<felix::FormulaId> penalty_formulas_;
  std::vector<double> most_;  // of the limits, which stand behind the exact features
};

}  // namespace tensorsmith
