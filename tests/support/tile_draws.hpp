// SPDX-License-Identifier: Apache-2.0
// Programs whose tiles suit tile registers, which hardly any drawn at random has.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/search/seed_model.hpp"

namespace tensorsmith::test {

/// Tiles of 16 or 32 rows and 1, 2 or 4 vectors, sums in runs of a few groups, blocks of any size;
/// the rest as the rules draw it.
template <class Rng>
std::optional<Candidate> draw_with_tiles(const SearchSpace& space, const Target& target, Rng& rng) {
  const auto sketch = rng.next_below(static_cast<std::uint32_t>(space.sketches().size()));
  const auto any_of = [&](std::initializer_list<std::int64_t> values) {
    return values.begin()[rng.next_below(static_cast<std::uint32_t>(values.size()))];
  };
  const detail::SeedModel model(target, space.options().max_innermost_split_factor);
  std::vector<Step> steps = space.sketches()[sketch].steps();
  for (const detail::OpenStage& stage :
       detail::open_stages(space.initial(), space.sketches()[sketch], space.options().intrinsics)) {
    detail::TileChoice choice;
    choice.rows = any_of({16, 32});
    choice.vectors = any_of({1, 2, 4});
    choice.run = any_of({32, 64, 96, 128});
    choice.inner_rows = any_of({1, 2});
    choice.inner_columns = any_of({1, 2});
    choice.outer_rows = any_of({1, 2});
    choice.outer_columns = any_of({1, 2});
    detail::set_lengths(steps, stage, model.lengths(stage, choice));
  }
  std::optional<Candidate> candidate = space.build(steps, sketch);
  const bool is_legal = candidate && std::apply(
                                         [&](const auto& first, const auto&... rule) {
                                           (void)first;  // fills lengths, which are known
                                           return (rule.apply(space, *candidate, rng) && ...);
                                         },
                                         NativeCpuPopulation{}.rules);
  return is_legal && space.refresh(*candidate) ? std::move(candidate) : std::nullopt;
}

}  // namespace tensorsmith::test
