// SPDX-License-Identifier: Apache-2.0
// SeedMaker: programs of given lengths, completed by the rules and rated by the draft.
//
// Floor 7. Own design. Deterministic: random streams are named by the attempt, so that the number
// of threads changes nothing. Not here: which lengths are tried (analytic_seeds.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// A complete program with its estimate.
struct Seed {
  Candidate candidate;
  std::string text;
  double draft = 0;
  std::size_t attempt = 0;                        ///< of the random stream that the rules drew from
  std::optional<bool> is_regular = std::nullopt;  ///< if SearchCallbacks::is_regular was asked
};

/// How many seeds there are to be, and how much is tried for them.
struct SeedEffort {
  std::size_t count = 32;
  std::size_t num_checked = 32;   ///< the first ones, by lowering them
  std::size_t num_drawn = 96;     ///< at random, from the whole space
  std::size_t num_parts = 4;      ///< a quarter of the blocks ranks sketches
  std::size_t num_tried = 4;      ///< of these parts, for the better half of the sketches
  std::size_t few = 4;            ///< so many sketches are never too many
  std::size_t many = 48;          ///< more sketches than these are ranked first
  std::size_t num_blocks = 8;     ///< that the other tiles are tried in
  std::size_t num_improved = 4;   ///< starts of the descent
  std::size_t num_hinted = 8;     ///< programs tried with other hints to memory
  std::size_t num_of_stage = 64;  ///< choices of one of several stages, tried beside the others'
  std::size_t num_untiled = 32;   ///< draws of each sketch that leaves no tile open

  /// For the best one only: half as many programs are tried, whose best draft is 0.1 % worse on the
  /// mean of 23 workloads, 1.2 % at worst.
  static SeedEffort single() { return {32, 1, 8, 8, 8, 3, 8, 4, 2, 3, 32, 16}; }
  /// For an estimate of what the best one takes.
  static SeedEffort rough() { return {4, 1, 0, 16, 4, 2, 8, 1, 1, 0, 8, 8}; }
};

namespace detail {

inline void add_all(std::vector<Seed>& seeds, std::vector<Seed> more) {
  for (Seed& seed : more) {
    seeds.push_back(std::move(seed));
  }
}

inline void keep_best(std::vector<Seed>& seeds, std::size_t count) {
  sort_items(seeds, [](const Seed& a, const Seed& b) {
    return a.draft != b.draft ? a.draft < b.draft : a.text < b.text;
  });
  HashSet<std::string> known;
  std::vector<Seed> best;
  for (Seed& seed : seeds) {
    if (best.size() < count && known.insert(seed.text)) {
      best.push_back(std::move(seed));
    }
  }
  seeds = std::move(best);
}

template <class Population>
class SeedMaker {
 public:
  SeedMaker(const SearchSpace& space, const Population& population,
            const SearchCallbacks& callbacks, const RoundKey& key)
      : space_(space), population_(population), callbacks_(callbacks), key_(key) {}

  /// Nothing if there is no candidate or it may not be measured.
  std::optional<Seed> rate(std::optional<Candidate> candidate, std::size_t attempt) const {
    if (!candidate || has_nested_parallel(candidate->state) ||
        (callbacks_.is_valid && !callbacks_.is_valid(candidate->state))) {
      return std::nullopt;
    }
    Seed seed{std::move(*candidate), {}, 0, attempt};
    seed.text = state_text(seed.candidate.state);
    seed.draft = callbacks_.draft(seed.candidate.state);
    return seed;
  }

  /// The sketch with these lengths (one list per split, by step), completed by the rules.
  std::optional<Seed> complete(std::uint32_t sketch, const std::vector<Step>& steps,
                               std::size_t attempt) const {
    CounterRng rng = key_.rng(generation, attempt);
    std::optional<Candidate> candidate = space_.build(steps, sketch);
    if (!candidate) {
      return std::nullopt;
    }
    const bool is_legal = std::apply(
        [&](const auto& first, const auto&... rule) {
          (void)first;  // fills lengths, which are known
          return (rule.apply(space_, *candidate, rng) && ...);
        },
        population_.rules);
    if (!is_legal || !space_.refresh(*candidate)) {
      return std::nullopt;
    }
    return rate(std::move(candidate), attempt);
  }

  /// The sketch, with everything that it leaves open at random.
  std::optional<Seed> draw_of(std::uint32_t sketch, std::size_t attempt) const {
    CounterRng rng = key_.rng(generation + 2, attempt);
    return rate(complete_sketch(space_, population_, sketch, rng), attempt);
  }

  /// One at random, from the whole space.
  std::optional<Seed> draw(std::size_t attempt) const {
    CounterRng rng = key_.rng(generation + 1, attempt);
    return rate(draw_candidate(space_, population_, rng), attempt);
  }

  /// make(i) of all i < count on all threads; then take(i, seed) of those there are, in order.
  template <class Make, class Take>
  void make_each(std::size_t count, const Make& make, const Take& take) const {
    std::vector<std::optional<Seed>> made(count);
    run_draws(callbacks_, count, [&](std::size_t i) { made[i] = make(i); });
    for (std::size_t i = 0; i < count; ++i) {
      if (made[i]) {
        take(i, std::move(*made[i]));
      }
    }
  }

  template <class Make>
  std::vector<Seed> make_all(std::size_t count, const Make& make) const {
    std::vector<Seed> seeds;
    make_each(count, make, [&](std::size_t, Seed seed) { seeds.push_back(std::move(seed)); });
    return seeds;
  }

 private:
  static constexpr std::uint32_t generation = 0xF00;  ///< of the random streams

  const SearchSpace& space_;
  const Population& population_;
  const SearchCallbacks& callbacks_;
  RoundKey key_;
};

}  // namespace detail
}  // namespace tensorsmith
