// SPDX-License-Identifier: Apache-2.0
// FelixPolicy: a search by slopes. Points in the space of tile lengths descend on the score of the
// cost model; what they pass on their way is rounded, ranked by its exact score and measured.
//
// Floor 7. Felix, ch. 6. Slopes are those of the model by the features times those of the features'
// formulas by the lengths (formula_search.hpp). Own design: where there are no formulas or the
// model has no gradient, a slope is the secant between the two neighbouring lengths that are legal,
// of the exact score, so that any sketch of any space and any model will do; points begin at the
// best of many random programs and at the best measured ones; sketches share a batch by what they
// promise. Where the model has learned nothing yet, the draft scores.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/search/epsilon_greedy.hpp"
#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/felix/choose_points.hpp"
#include "tensorsmith/search/felix/formula_search.hpp"
#include "tensorsmith/search/felix/sketch_batch.hpp"
#include "tensorsmith/search/measured_programs.hpp"
#include "tensorsmith/search/taken_programs.hpp"

namespace tensorsmith {

struct FelixOptions {
  std::uint64_t seed = 1;
  std::uint32_t task = 0;
  double epsilon = 0.1;            ///< of a batch, drawn at random
  std::uint32_t num_drawn = 256;   ///< random programs of a round
  std::uint32_t num_seeds = 6;     ///< points per sketch
  std::uint32_t num_measured = 4;  ///< points that begin at measured programs
  std::uint32_t sketch_quota = 1;  ///< programs of a batch that every sketch has
  double temperature = 0.5;        ///< of the choice among sketches, in units of the spread
  bool is_trained = false;         ///< the model is worth asking before any observation
  DescentOptions descent{12, 0.8, 0.25, 0.5, 5, 2};
  bool uses_formulas = true;  ///< where there are some; else secants lead
  FormulaOptions formulas;
};

template <class Population>
class FelixPolicy final : public SearchPolicy {
 public:
  /// `model` is updated by observe and must outlive the policy.
  FelixPolicy(SearchSpace space, CostModel& model, SearchCallbacks callbacks, FelixOptions options,
              Population population = {})
      : space_(std::move(space)), model_(model), callbacks_(std::move(callbacks)),
        options_(options), population_(std::move(population)), exploration_(options.epsilon) {}

  std::string_view name() const override { return "felix"; }

  std::vector<Proposal> propose(std::size_t n) override {
    if (n == 0) {
      return {};
    }
    const RoundKey key{options_.seed, options_.task, round_};
    Evaluator evaluator(callbacks_, uses_model() ? &model_ : nullptr, options_.seed, round_);
    Visited visited;
    const std::vector<Individual> drawn = draw(key, evaluator);
    join(visited, drawn);
    FormulaSearch search(model_, callbacks_, options_.formulas);
    std::vector<Point> points;
    const bool has_gradient = can_use_formulas(drawn);
    for (Candidate& candidate : measured_.best(options_.num_measured, space_, population_)) {
      begin_at(candidate, has_gradient, search, points);
    }
    begin(drawn, has_gradient, search, points);
    if (!search.is_empty()) {
      search.draw(key.rng(1, 0));
      (void)score(search.run(round_), evaluator, visited);
    }
    descend(points, evaluator, visited);
    ++round_;
    return pick(n, key, drawn, visited);
  }

  void observe(std::span<const Observation> results) override {
    std::vector<TrainingSample> samples(results.size()), timed;
    std::vector<std::string> texts(results.size());
    run_for(callbacks_.parallel_for, results.size(), [&](std::size_t i) {
      texts[i] = state_text(results[i].state);
      samples[i] = TrainingSample{callbacks_.extract(results[i].state), options_.task,
                                  results[i].throughput};
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
      (void)taken_.claim(texts[i], results[i].state, callbacks_.identity);
      if (results[i].throughput > 0) {
        measured_.add(results[i].throughput, results[i].state.steps());
        timed.push_back(samples[i]);
      }
    }
    if (uses_model()) {
      model_rank_.add(rank_report(model_, timed));
    }
    measured_.sort();
    if (!samples.empty()) {
      model_.update(samples);
    }
  }

  RankReport model_rank() const override { return model_rank_; }
  bool uses_model() const { return options_.is_trained || !measured_.empty(); }

 private:
  /// Programs of a round, each once, in the order in which they were met.
  class Visited {
   public:
    void add(const Individual& individual) {
      if (!place_.contains(individual.text)) {
        place_.set(individual.text, static_cast<std::uint32_t>(all_.size()));
        all_.push_back(individual);
      }
    }
    float score_of(const std::string& text) const {
      const std::uint32_t* place = place_.find(text);
      return place == nullptr ? invalid_score : all_[*place].score;
    }
    std::vector<Individual> take() { return std::move(all_); }

   private:
    HashMap<std::string, std::uint32_t> place_;
    std::vector<Individual> all_;
  };

  struct Point {
    TilePoint tiles;
    std::vector<double> at;      ///< where it is
    std::vector<double> inside;  ///< where it last was a program
    std::vector<Step> steps;     ///< rounded
  };

  static void join(Visited& visited, const std::vector<Individual>& more) {
    for (const Individual& individual : more) {
      visited.add(individual);
    }
  }

  std::vector<Individual> draw(const RoundKey& key, Evaluator& evaluator) const {
    return evaluator.evaluate(make_candidates(callbacks_, options_.num_drawn,
                                              std::size_t{2} * options_.num_drawn,
                                              [&](std::size_t attempt) {
                                                CounterRng rng = key.rng(0, attempt);
                                                return draw_candidate(space_, population_, rng);
                                              }));
  }

  Point point_of(const Candidate& candidate) const {
    TilePoint tiles(space_, candidate);
    std::vector<double> at = tiles.start();
    return Point{std::move(tiles), at, at, candidate.state.steps()};
  }

  /// Whether the model says how its score changes with the features that formulas give.
  bool can_use_formulas(const std::vector<Individual>& drawn) const {
    Features slopes;
    return options_.uses_formulas && uses_model() &&
           all_items(model_.wanted_blocks(),
                     [](std::string_view name) { return name == felix_block_name; }) &&
           !drawn.empty() && drawn.front().features &&
           drawn.front().features->find(felix_block_name) != nullptr &&
           model_.gradient(*drawn.front().features, slopes);
  }
  /// True: formulas lead from there on.
  bool begin_at(const Candidate& candidate, bool has_gradient, FormulaSearch& search,
                std::vector<Point>& points) {
    Point point = point_of(candidate);
    if (has_gradient) {
      const TileFormulas* formulas = formulas_.find(
          space_, point.tiles,
          [&](const std::vector<Step>& steps) { return candidate_of(space_, population_, steps); },
          callbacks_.extract);
      if (formulas != nullptr) {
        search.add(std::move(point.tiles), formulas);
        return true;
      }
    }
    if (point.tiles.size() > 0) {
      points.push_back(std::move(point));
    }
    return false;
  }
  /// The best of each sketch.
  void begin(std::vector<Individual> drawn, bool has_gradient, FormulaSearch& search,
             std::vector<Point>& points) {
    sort_items(drawn, is_better);
    const std::uint32_t most_led = (options_.formulas.num_seeds + 1) / 2;
    std::vector<std::size_t> taken(space_.sketches().size(), 0), led(taken);
    for (const Individual& individual : drawn) {
      const std::uint32_t sketch = individual.candidate.sketch;
      if (sketch < taken.size() && taken[sketch] < options_.num_seeds && led[sketch] < most_led) {
        const std::size_t before = points.size();
        led[sketch] += begin_at(individual.candidate, has_gradient, search, points) ? 1 : 0;
        taken[sketch] += points.size() - before;
      }
    }
  }

  void descend(std::vector<Point>& points, Evaluator& evaluator, Visited& visited) const {
    std::size_t size = 0;
    for (const Point& point : points) {
      size += point.tiles.size();
    }
    DescentAdam adam(size);
    const std::uint32_t steps = options_.descent.steps_of_round(round_);
    for (std::uint32_t step = 0; step < steps && size > 0 && !callbacks_.late(); ++step) {
      std::vector<double> slopes = slopes_of(points, size, evaluator, visited);
      std::vector<double> all;
      for (const Point& point : points) {
        all.insert(all.end(), point.at.begin(), point.at.end());
      }
      adam.step(all, slopes, options_.descent.rate_at(step, steps));
      std::size_t first = 0;
      for (Point& point : points) {
        for (double& coordinate : point.at) {
          coordinate = all[first++];
        }
        point.steps = point.tiles.rounded(point.at);
      }
    }
    (void)slopes_of(points, size, evaluator, visited);  // where they ended, and what is beside it
  }

  struct Neighbour {
    std::size_t point, coordinate;
    bool is_up;
    double octaves;
  };

  /// Of the cost of all points, one after the other; the way out is punished.
  std::vector<double> slopes_of(std::vector<Point>& points, std::size_t size, Evaluator& evaluator,
                                Visited& visited) const {
    std::vector<std::vector<Step>> histories;
    std::vector<Neighbour> neighbours;
    for (const Point& point : points) {
      histories.push_back(point.steps);
    }
    for (std::size_t p = 0; p < points.size(); ++p) {
      for (std::size_t c = 0; c < points[p].tiles.size(); ++c) {
        for (const bool up : {false, true}) {
          if (auto moved = points[p].tiles.neighbour(points[p].steps, c, up)) {
            histories.push_back(std::move(moved->first));
            neighbours.push_back({p, c, up, moved->second});
          }
        }
      }
    }
    const std::vector<float> scores = score(histories, evaluator, visited);
    std::vector<double> slopes;
    slopes.reserve(size);
    std::size_t next = 0;
    for (std::size_t p = 0; p < points.size(); ++p) {
      Point& point = points[p];
      std::vector<double> cost(point.at.size(), 0), penalty(point.at.size(), 0);
      const bool is_program = scores[p] > invalid_score;
      for (; next < neighbours.size() && neighbours[next].point == p; ++next) {
        const Neighbour& beside = neighbours[next];
        const float other = scores[points.size() + next];
        if (is_program && other > invalid_score) {
          // Two secants make the slope; one alone is half of it, as the other side is a wall.
          const double rise = double{other} - double{scores[p]};
          cost[beside.coordinate] -= (beside.is_up ? rise : -rise) / beside.octaves / 2;
        }
      }
      (void)point.tiles.violation(point.at, penalty);
      if (is_program) {
        point.inside = point.at;
      } else {
        for (std::size_t c = 0; c < penalty.size(); ++c) {
          penalty[c] += point.at[c] - point.inside[c];
        }
      }
      mix_penalty(cost, penalty, options_.descent.penalty_ratio);
      slopes.insert(slopes.end(), cost.begin(), cost.end());
    }
    return slopes;
  }

  /// invalid_score where the history makes no program that may be measured.
  std::vector<float> score(const std::vector<std::vector<Step>>& histories, Evaluator& evaluator,
                           Visited& visited) const {
    std::vector<std::optional<Candidate>> built(histories.size());
    run_draws(callbacks_, histories.size(),
              [&](std::size_t i) { built[i] = candidate_of(space_, population_, histories[i]); });
    std::vector<Candidate> candidates;
    std::vector<std::string> texts(histories.size());
    for (std::size_t i = 0; i < built.size(); ++i) {
      if (built[i]) {
        texts[i] = state_text(built[i]->state);
        candidates.push_back(std::move(*built[i]));
      }
    }
    join(visited, evaluator.evaluate(std::move(candidates)));
    std::vector<float> scores(histories.size(), invalid_score);
    for (std::size_t i = 0; i < histories.size(); ++i) {
      scores[i] = visited.score_of(texts[i]);
    }
    return scores;
  }

  std::vector<Proposal> pick(std::size_t n, const RoundKey& key,
                             const std::vector<Individual>& drawn, Visited& visited) {
    const RoundSizes sizes(n, exploration_.next(n));
    CounterRng rng = key.rng((1U << 12) - 1, 0);
    std::vector<Individual> random;
    for (std::size_t i = 0; i < sizes.num_random_drawn && !drawn.empty(); ++i) {
      random.push_back(drawn[rng.next_below(static_cast<std::uint32_t>(drawn.size()))]);
    }
    std::vector<Individual> fresh;
    for (Individual& individual : visited.take()) {
      if (!taken_.contains(individual.text)) {
        fresh.push_back(std::move(individual));
      }
    }
    const std::vector<Individual> best =
        best_by_sketch(std::move(fresh), sizes.num_good, space_.sketches().size(),
                       options_.sketch_quota, options_.temperature);
    std::vector<Proposal> proposals;
    for (Picked& picked :
         pick_epsilon_greedy(best, random, n, sizes.num_random, [&](const Individual& one) {
           return taken_.claim(one.text, one.candidate.state, callbacks_.identity);
         })) {
      proposals.push_back(Proposal{std::move(picked.individual.candidate.state),
                                   std::move(picked.individual.text), picked.individual.score,
                                   picked.is_random});
    }
    return proposals;
  }

  SearchSpace space_;
  CostModel& model_;
  SearchCallbacks callbacks_;
  FelixOptions options_;
  Population population_;
  ExplorationShare exploration_;
  RankReport model_rank_;
  std::uint32_t round_ = 0;
  FormulaCache formulas_;
  TakenPrograms taken_;
  MeasuredPrograms measured_;
};

}  // namespace tensorsmith
