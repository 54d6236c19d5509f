// SPDX-License-Identifier: Apache-2.0
// Descent of a batch of points of one form on a model of the features, by the formulas of these.
//
// Floor 7. Felix, ch. 6.4 and 6.5. A slope is that of the model by the features times that of the
// features by the coordinates. Formulas are smooth at first and near to exact at the end. What was
// passed is rounded and ranked by the exact formulas; so are the neighbours of a point's best, for
// the nearest lengths are not always the best ones. Every point gives a few programs: the best of
// all would be one place, and a model that has seen little is wrong in places.
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
  std::uint32_t num_seeds = 32;     ///< points per sketch
  std::uint32_t round_every = 8;    ///< steps
  std::uint32_t kept_per_seed = 2;  ///< programs per round that are looked at themselves
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

/// A rounded point, by coordinate, its score by the exact formulas, and who passed it first.
struct RoundedValues {
  std::vector<std::int64_t> values;
  std::size_t seed = 0;
  float score = invalid_score;
};

/// Rounded points of one form, each once, with their scores.
class PassedPoints {
 public:
  PassedPoints(const TilePoint& tiles, FormulaSlopes& slopes) : tiles_(tiles), slopes_(slopes) {}

  void add(std::span<const double> point, std::size_t seed) {
    add_values(tiles_.rounded_values(point), seed);
  }
  /// The `count` best of every one of `num_seeds` that keep the limits, best first. The neighbours
  /// of the best count as the seed's.
  std::vector<RoundedValues> best(std::size_t num_seeds, std::size_t count) {
    score();
    std::vector<std::size_t> first(num_seeds, scored_.size());
    for (std::size_t i = 0; i < scored_.size(); ++i) {
      std::size_t& known = first[scored_[i].seed];
      known = known == scored_.size() || scored_[i].score > scored_[known].score ? i : known;
    }
    for (const std::size_t at : first) {
      if (at < scored_.size()) {
        add_neighbours(at);
      }
    }
    score();
    sort_items(scored_,
               [](const RoundedValues& a, const RoundedValues& b) { return a.score > b.score; });
    std::vector<std::size_t> given(num_seeds, 0);
    std::vector<RoundedValues> kept;
    for (RoundedValues& one : scored_) {
      if (one.score > invalid_score && given[one.seed]++ < count) {
        kept.push_back(std::move(one));
      }
    }
    return kept;
  }

 private:
  void add_neighbours(std::size_t at) {
    const std::vector<Step> steps = tiles_.with_values(scored_[at].values);
    for (std::size_t c = 0; c < tiles_.size(); ++c) {
      for (const bool up : {false, true}) {
        if (auto beside = tiles_.neighbour(steps, c, up)) {
          add_values(tiles_.values_of(std::move(beside->first)), scored_[at].seed);
        }
      }
    }
  }
  void add_values(std::vector<std::int64_t> values, std::size_t seed) {
    std::string key;
    for (const std::int64_t value : values) {
      key += std::to_string(value) + ' ';
    }
    if (seen_.insert(key)) {
      fresh_.push_back({std::move(values), seed});
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
          points[c * count + p] = math::log2(static_cast<double>(fresh_[first + p].values[c]));
        }
      }
      const std::vector<float> scores = slopes_.exact_scores(points, count);
      for (std::size_t p = 0; p < count; ++p) {
        fresh_[first + p].score = scores[p];
        scored_.push_back(std::move(fresh_[first + p]));
      }
    }
    fresh_.clear();
  }

  const TilePoint& tiles_;
  FormulaSlopes& slopes_;
  HashSet<std::string> seen_;
  std::vector<RoundedValues> fresh_, scored_;
};

/// The best of what each of `points` ([coordinates, batch]) passes on its way; none if the model
/// has no gradient. `tiles`: any of the form. `is_late`: ends it early.
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
      passed.add(point, p);
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
  return passed.best(batch, options.kept_per_seed);
}

}  // namespace tensorsmith
