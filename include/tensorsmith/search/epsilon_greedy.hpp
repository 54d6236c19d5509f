// SPDX-License-Identifier: Apache-2.0
// pick_epsilon_greedy: a batch to measure, mostly the best, some at random.
//
// Floor 7. Ansor reference, ch. 5.5 (PickStatesWithEpsGreedy).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/search/evaluator.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// floor(eps * n) of n go to random programs. What the floor cuts off is carried over to later
/// batches, else small batches would never explore (own design; not where `carries` is false).
class ExplorationShare {
 public:
  explicit ExplorationShare(double epsilon, bool carries = true)
      : epsilon_(epsilon), carries_(carries) {}
  std::size_t next(std::size_t n) {
    owed_ += epsilon_ * static_cast<double>(n);
    const auto whole = static_cast<std::size_t>(owed_);
    owed_ -= carries_ ? static_cast<double>(whole) : owed_;
    return smaller_of(whole, n);
  }

 private:
  double epsilon_;
  bool carries_;
  double owed_ = 0.0;
};

/// What a round that measures n programs, num_random of them random ones, draws and keeps.
struct RoundSizes {
  std::size_t num_good, num_random;
  std::size_t num_random_drawn;  ///< with replacement, so that some are left when others are known
  std::size_t num_kept;          ///< the best of the evolution
  RoundSizes(std::size_t n, std::size_t wanted_random)
      : num_good(n - smaller_of(n, wanted_random)), num_random(n - num_good),
        num_random_drawn(3 * num_random), num_kept(2 * n) {}
};

struct Picked {
  Individual individual;
  bool is_random = false;
};

/// n programs: first n - num_random from `best`, then from `random`; each list stands in for the
/// other when that is exhausted. claim(individual) answers whether the program is new and marks it
/// as taken.
template <class Claim>
std::vector<Picked> pick_epsilon_greedy(const std::vector<Individual>& best,
                                        const std::vector<Individual>& random, std::size_t n,
                                        std::size_t num_random, const Claim& claim) {
  std::vector<Picked> picked;
  const std::size_t num_good = n - smaller_of(n, num_random);
  std::size_t next_best = 0, next_random = 0;
  while (picked.size() < n) {
    const bool has_best = next_best < best.size();
    const bool has_random = next_random < random.size();
    if (!has_best && !has_random) {
      break;
    }
    const bool prefers_best = picked.size() < num_good;
    const bool take_random = prefers_best ? !has_best : has_random;
    const Individual& next = take_random ? random[next_random++] : best[next_best++];
    if (claim(next)) {
      picked.push_back(Picked{next, take_random});
    }
  }
  return picked;
}

}  // namespace tensorsmith
