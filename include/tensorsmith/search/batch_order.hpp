// SPDX-License-Identifier: Apache-2.0
// What comes first in a batch beside the ranking: programs that hold what a look at them promises,
// and programs that differ.
//
// Floor 7. Own design. Both keep the order of the ranking among those that they put in front, and
// among the others.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// The first `wanted` items for which holds(item) come first, if there are as many; asked about no
/// more of them than it takes.
template <class Item, class Holds>
void put_first(std::vector<Item>& list, std::size_t wanted, const Holds& holds) {
  std::vector<Item> others;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (kept < wanted && !holds(list[i])) {
      others.push_back(std::move(list[i]));
    } else if (kept++ != i) {
      list[kept - 1] = std::move(list[i]);
    }
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    list[kept + i] = std::move(others[i]);
  }
}

/// Puts `wanted` items in front, if there are as many, that are at least `least` apart from each
/// other by distance(a, b): greedily, the best one first. A model that likes one program likes its
/// variations, and a batch of those teaches little. At most wanted * list.size() distances are
/// asked for.
template <class Item, class Distance>
void spread_out(std::vector<Item>& list, std::size_t wanted, double least,
                const Distance& distance) {
  std::vector<Item> apart, close;
  for (Item& item : list) {
    const bool is_apart = apart.size() < wanted && all_items(apart, [&](const Item& other) {
                            return distance(other, item) >= least;
                          });
    (is_apart ? apart : close).push_back(std::move(item));
  }
  for (Item& item : close) {
    apart.push_back(std::move(item));
  }
  list = std::move(apart);
}

}  // namespace tensorsmith
