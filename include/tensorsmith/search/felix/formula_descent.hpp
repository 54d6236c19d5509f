// SPDX-License-Identifier: Apache-2.0
// Descent of a batch of points of one form on a model of the features, by the formulas of these.
//
// Floor 7. Felix, ch. 6.4 and 6.5. A slope is that of the model by the features times that of the
// features by the coordinates. Formulas are smooth at first and near to exact at the end. What was
// passed is rounded and ranked by the exact formulas; so are the neighbours of the best of it, for
// the nearest lengths are not always the best ones.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/search/felix/descent.hpp"
#include "tensorsmith/search/felix/tile_formulas.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {

struct FormulaOptions {
  std::uint32_t num_seeds = 32;       ///< points per sketch
  std::uint32_t num_exact = 128;      ///< programs per round that are looked at themselves
  std::uint32_t round_every = 8;      ///< steps
  std::uint32_t num_neighboured = 4;  ///< of a batch: rounded points of which neighbours are tried
  double first_temperature = 0.5, last_temperature = 0.05;
  DescentOptions descent{200, 0.3, 0.06, 0.5, 5, 4};

  double temperature_at(std::uint32_t step, std::uint32_t steps) const {
    const double part = steps < 2 ? 1 : static_cast<double>(step) / (steps - 1);
    return first_temperature * math::pow(last_temperature / first_temperature, part);
  }
};

/// Of the model's score by the coordinates of points, both [.., batch].
class FormulaSlopes {
 public:
  FormulaSlopes(const TileFormulas& formulas, const CostModel& model)
      : formulas_(formulas), model_(model) {}

  /// False: the model has no gradient.
  bool find(std::span<const double> points, double temperature, std::size_t batch,
            std::vector<double>& slopes) {
    formulas_.features(points, temperature, batch, space_, values_);
    write_features(values_, batch);
    results_.resize(batch);
    if (!model_.gradients(programs_, results_)) {
      return false;
    }
    for (std::size_t p = 0; p < batch; ++p) {
      const std::vector<float>& of_program = results_[p].blocks().front().values;
      for (std::size_t i = 0; i < of_program.size(); ++i) {
        values_[i * batch + p] = double{of_program[i]};
      }
    }
    formulas_.slopes(values_, space_, slopes);
    return true;
  }

  /// Scores by the exact formulas; invalid_score of what exceeds a limit.
  std::vector<float> exact_scores(std::span<const double> points, std::size_t batch) {
    const std::vector<bool> is_kept = formulas_.exact(points, batch, space_, values_);
    write_features(values_, batch);
    std::vector<float> scores(batch, invalid_score);
    model_.predict(programs_, scores);
    for (std::size_t p = 0; p < batch; ++p) {
      scores[p] = is_kept[p] ? scores[p] : invalid_score;
    }
    return scores;
  }

 private:
  void write_features(const std::vector<double>& values, std::size_t batch) {
    const std::size_t count = formulas_.num_rows() * felix_length;
    programs_.resize(batch);
    for (std::size_t p = 0; p < batch; ++p) {
      if (programs_[p].empty()) {
        programs_[p] = Features(std::vector<FeatureBlock>{
            {felix_schema(), static_cast<std::uint32_t>(formulas_.num_rows()),
             std::vector<float>(count)}});
      }
      std::vector<float>& row = programs_[p].blocks().front().values;
      for (std::size_t i = 0; i < count; ++i) {
        row[i] = static_cast<float>(values[i * batch + p]);
      }
    }
  }

  const TileFormulas& formulas_;
  const CostModel& model_;
  TileFormulas::Workspace space_;
  std::vector<double> values_;
  std::vector<Features> programs_, results_;
};

/// A rounded point, by coordinate, and its score by the exact formulas.
struct RoundedValues {
  std::vector<std::int64_t> values;
  float score = invalid_score;
};

/// Rounded points of one form, each once, with their scores.
class PassedPoints {
 public:
  PassedPoints(const TilePoint& tiles, FormulaSlopes& slopes) : tiles_(tiles), slopes_(slopes) {}

  void add(std::span<const double> point) { add_values(tiles_.rounded_values(point)); }
  /// Scores what is new; then the neighbours of the `count` best.
  void score_with_neighbours(std::size_t count) {
    score();
    std::vector<std::size_t> order(scored_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    sort_items(order,
               [&](std::size_t a, std::size_t b) { return scored_[a].score > scored_[b].score; });
    for (std::size_t i = 0; i < order.size() && i < count; ++i) {
      const std::vector<Step> steps = tiles_.with_values(scored_[order[i]].values);
      for (std::size_t c = 0; c < tiles_.size(); ++c) {
        for (const bool up : {false, true}) {
          if (auto beside = tiles_.neighbour(steps, c, up)) {
            add_values(tiles_.values_of(std::move(beside->first)));
          }
        }
      }
    }
    score();
  }
  /// Those that keep the limits.
  std::vector<RoundedValues> take() {
    std::vector<RoundedValues> kept;
    for (RoundedValues& one : scored_) {
      if (one.score > invalid_score) {
        kept.push_back(std::move(one));
      }
    }
    return kept;
  }

 private:
  void add_values(std::vector<std::int64_t> values) {
    std::string key;
    for (const std::int64_t value : values) {
      key += std::to_string(value) + ' ';
    }
    if (seen_.insert(key)) {
      fresh_.push_back(std::move(values));
    }
  }
  void score() {
    constexpr std::size_t at_once = 32;
    const std::size_t size = tiles_.size();
    for (std::size_t first = 0; first < fresh_.size(); first += at_once) {
      const std::size_t count = smaller_of(at_once, fresh_.size() - first);
      std::vector<double> points(size * count);
      for (std::size_t p = 0; p < count; ++p) {
        for (std::size_t c = 0; c < size; ++c) {
          points[c * count + p] = math::log2(static_cast<double>(fresh_[first + p][c]));
        }
      }
      const std::vector<float> scores = slopes_.exact_scores(points, count);
      for (std::size_t p = 0; p < count; ++p) {
        scored_.push_back({std::move(fresh_[first + p]), scores[p]});
      }
    }
    fresh_.clear();
  }

  const TilePoint& tiles_;
  FormulaSlopes& slopes_;
  HashSet<std::string> seen_;
  std::vector<std::vector<std::int64_t>> fresh_;
  std::vector<RoundedValues> scored_;
};

/// All that `points` ([coordinates, batch]) pass on their way, each once; none if the model has no
/// gradient. `tiles`: any of the form. `is_late`: ends it early.
template <class IsLate>
std::vector<RoundedValues> descend_by_formulas(const TileFormulas& formulas, const CostModel& model,
                                               const TilePoint& tiles,
                                               const FormulaOptions& options, std::uint32_t steps,
                                               std::vector<double> points, const IsLate& is_late) {
  const std::size_t size = formulas.size(), batch = points.size() / size;
  FormulaSlopes slopes(formulas, model);
  PassedPoints passed(tiles, slopes);
  DescentAdam adam(points.size());
  TileFormulas::Workspace limits;
  std::vector<double> cost, penalty, of_cost(size), of_penalty(size), point(size);
  const auto round = [&] {
    for (std::size_t p = 0; p < batch; ++p) {
      for (std::size_t c = 0; c < size; ++c) {
        point[c] = points[c * batch + p];
      }
      passed.add(point);
    }
  };
  round();
  for (std::uint32_t step = 0; step < steps && !is_late(); ++step) {
    const double temperature = options.temperature_at(step, steps);
    if (!slopes.find(points, temperature, batch, cost)) {
      return {};
    }
    const std::vector<bool> is_outside =
        formulas.penalty(points, temperature, batch, limits, penalty);
    for (std::size_t p = 0; p < batch; ++p) {
      for (std::size_t c = 0; c < size; ++c) {
        of_cost[c] = -cost[c * batch + p];
        of_penalty[c] = penalty[c * batch + p];
      }
      if (is_outside[p]) {
        mix_penalty(of_cost, of_penalty, options.descent.penalty_ratio);
      }
      for (std::size_t c = 0; c < size; ++c) {
        cost[c * batch + p] = of_cost[c];
      }
    }
    adam.step(points, cost, options.descent.rate_at(step, steps));
    if ((step + 1) % options.round_every == 0 || step + 1 == steps) {
      round();
    }
  }
  passed.score_with_neighbours(options.num_neighboured);
  return passed.take();
}

}  // namespace tensorsmith
