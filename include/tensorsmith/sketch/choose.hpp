// SPDX-License-Identifier: Apache-2.0
// choose_sketches: of workloads with very many sketches, those that an estimate finds good.
//
// Floor 5. Own design. Sketches are a product over stages: four ways of each of ten stages are a
// million. But what is best for one stage depends little on the others, so the ways are improved
// one stage after the other: around the best sketch so far, every other way of every stage is
// rated, and the better ones of all stages are taken together. Few hundred sketches are looked at
// where there are millions. Not here: the estimate (search/analytic_seeds.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// What the best program of each sketch takes, in any unit; infinity if none is known.
using SketchRating = Callback<std::vector<double>(const std::vector<State>& sketches)>;

namespace detail {

class SketchChooser {
 public:
  /// The ways on from an open node, named by rule and number.
  using Ways = std::vector<std::pair<std::string, SketchNode>>;

  SketchChooser(SketchNode first, Callback<Ways(const SketchNode&)> ways_on,
                const SketchRating& rate)
      : first_(std::move(first)), ways_on_(std::move(ways_on)), rate_(rate) {}

  /// What was looked at, best first.
  std::vector<State> run(std::size_t most) {
    add({});
    rate_new();
    std::size_t best = 0, num_vain = 0;
    while (paths_.size() < most && (num_vain < patience || paths_.size() < most / 2)) {
      const std::size_t next = best_path(false);
      if (next == npos) {
        break;
      }
      paths_[next].is_known_around = true;
      add_other_ways(next);
      rate_new();
      add(better_ways(next));
      rate_new();
      num_vain = best_path(true) == best ? num_vain + 1 : 0;
      best = best_path(true);
    }
    sort_items(paths_, [](const Path& a, const Path& b) { return a.cost < b.cost; });
    std::vector<State> sketches;
    for (std::size_t i = 0; i < smaller_of(most, paths_.size()); ++i) {
      sketches.push_back(std::move(paths_[i].sketch));
    }
    return sketches;
  }

 private:
  static constexpr std::size_t npos = SIZE_MAX;
  static constexpr std::size_t patience = 4;  ///< with sketches around which nothing is better

  /// A stage that can go on in several ways, and the one it went.
  struct Turn {
    std::string stage;
    std::vector<std::string> ways;
    std::size_t taken;
  };
  /// Ways by stage; of a stage that is not named, the first one.
  using Wanted = std::vector<std::pair<std::string, std::string>>;
  struct Path {
    std::vector<Turn> turns;
    State sketch;
    double cost = math::infinity;
    bool is_known_around = false;
  };

  std::optional<Path> follow(const Wanted& wanted) const {
    std::vector<Turn> turns;
    SketchNode node = first_;
    while (node.at.next_stage >= 0) {
      Ways ways = ways_on_(node);
      if (ways.empty()) {
        return std::nullopt;
      }
      std::size_t taken = 0;
      if (ways.size() > 1) {
        Turn turn{
            node.at.state.operation(static_cast<std::size_t>(node.at.next_stage)).name, {}, 0};
        for (const auto& [stage, way] : wanted) {
          for (std::size_t i = 0; stage == turn.stage && i < ways.size(); ++i) {
            taken = ways[i].first == way ? i : taken;
          }
        }
        for (const auto& way : ways) {
          turn.ways.push_back(way.first);
        }
        turn.taken = taken;
        turns.push_back(std::move(turn));
      }
      node = std::move(ways[taken].second);
    }
    open_rfactor_splits(node.at.state);
    return Path{.turns = std::move(turns), .sketch = std::move(node.at.state)};
  }

  static Wanted wanted_of(const Path& path) {
    Wanted wanted;
    for (const Turn& turn : path.turns) {
      wanted.emplace_back(turn.stage, turn.ways[turn.taken]);
    }
    return wanted;
  }

  /// The index of the path; npos if there is none.
  std::size_t add(const Wanted& wanted) {
    std::optional<Path> path = follow(wanted);
    if (!path) {
      return npos;
    }
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if (paths_[i].sketch.steps() == path->sketch.steps()) {
        return i;
      }
    }
    paths_.push_back(std::move(*path));
    return paths_.size() - 1;
  }

  void rate_new() {
    std::vector<State> sketches;
    for (std::size_t i = num_rated_; i < paths_.size(); ++i) {
      sketches.push_back(paths_[i].sketch);
    }
    const std::vector<double> costs = rate_(sketches);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      paths_[num_rated_ + i].cost = costs[i];
    }
    num_rated_ = paths_.size();
  }

  /// Of all, or of those around which nothing was looked at.
  std::size_t best_path(bool of_all) const {
    std::size_t best = npos;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      if ((of_all || !paths_[i].is_known_around) &&
          (best == npos || paths_[i].cost < paths_[best].cost)) {
        best = i;
      }
    }
    return best;
  }

  void add_other_ways(std::size_t path) {
    const std::vector<Turn> turns = paths_[path].turns;
    const Wanted wanted = wanted_of(paths_[path]);
    around_.clear();
    for (std::size_t t = 0; t < turns.size(); ++t) {
      for (std::size_t way = 0; way < turns[t].ways.size(); ++way) {
        if (way != turns[t].taken) {
          Wanted other = wanted;
          other[t].second = turns[t].ways[way];
          around_.push_back({t, way, add(other)});
        }
      }
    }
  }

  /// Of every stage the way that was best by itself.
  Wanted better_ways(std::size_t path) const {
    Wanted wanted = wanted_of(paths_[path]);
    std::vector<double> costs(wanted.size(), paths_[path].cost);
    for (const OtherWay& other : around_) {
      if (other.path != npos && paths_[other.path].cost < costs[other.turn]) {
        costs[other.turn] = paths_[other.path].cost;
        wanted[other.turn].second = paths_[path].turns[other.turn].ways[other.way];
      }
    }
    return wanted;
  }

  struct OtherWay {
    std::size_t turn, way, path;
  };

  SketchNode first_;
  Callback<Ways(const SketchNode&)> ways_on_;
  const SketchRating& rate_;
  std::vector<Path> paths_;
  std::size_t num_rated_ = 0;
  std::vector<OtherWay> around_;  ///< the best path
};

}  // namespace detail

/// All sketches if there are at most `most`, in the order of generate_sketches; else so many that
/// `rate` finds best among those that lead there, best first. Deterministic if `rate` is.
template <SketchRule... Rules>
std::vector<State> choose_sketches(Shared<const ComputeDag> dag, const RuleSet<Rules...>& rules,
                                   const SketchOptions& options, std::size_t most,
                                   const SketchRating& rate) {
  if (auto all = generate_sketches_up_to(dag, rules, options, most)) {
    return std::move(*all);
  }
  const auto ways_on = [&](const SketchNode& node) {
    detail::SketchChooser::Ways ways;
    for_each_way_on(
        node, rules, options, [&](std::string_view rule, std::size_t number, SketchNode next) {
          ways.emplace_back(std::string(rule) + "#" + std::to_string(number), std::move(next));
        });
    return ways;
  };
  return detail::SketchChooser(first_node(std::move(dag), options.reuse), ways_on, rate).run(most);
}

}  // namespace tensorsmith
