// SPDX-License-Identifier: Apache-2.0
// population_of: the population of a space, with templates for those sketches of a GPU space
// whose tiles hardly ever fit where each is drawn by itself.
//
// Floor 7. Own design. See population/fit_block.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/template_of.hpp"
#include "tensorsmith/space/template_moves.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

namespace detail {

inline bool has_several_products(const SearchSpace& space, std::uint32_t sketch) {
  std::vector<std::int32_t> roots;
  return find_tiled_roots(space.sketches()[sketch], space.analysis(sketch), roots, false) &&
         any_item(roots, [&](std::int32_t root) { return root != roots[0]; });
}

}  // namespace detail

/// Of sketches with tiles in several stages at the root: the lengths of an instance of their
/// template, which keeps the limits of all of them.
inline Shared<const TilesTogether> tiles_of_several_products(const SearchSpace& space) {
  TilesTogether together;
  std::vector<std::optional<Template>> templates(space.sketches().size());
  for (std::uint32_t i = 0; i < templates.size(); ++i) {
    templates[i] =
        detail::has_several_products(space, i) ? gpu_template_of(space, i) : std::nullopt;
    together.is_of.push_back(templates[i] && !templates[i]->sampler().is_empty() ? 1 : 0);
  }
  together.draw = [templates = std::move(templates)](
                      std::uint32_t sketch,
                      std::uint32_t seed) -> std::optional<std::vector<LengthList>> {
    CounterRng rng(seed, 0);
    const std::optional<Instance> instance = draw_instance(*templates[sketch], rng);
    if (!instance) {
      return std::nullopt;
    }
    std::vector<LengthList> lengths;  // the splits of the sketch come first
    for (const Step& step : instance->state.steps()) {
      if (const SplitStep* const split = std::get_if<SplitStep>(&step)) {
        lengths.push_back(split->lengths);
      }
    }
    return lengths;
  };
  return make_shared_of<const TilesTogether>(std::move(together));
}

template <class Population>
Population population_of(const SearchSpace& space) {
  Population population;
  if constexpr (std::is_same_v<Population, NativeGpuPopulation>) {
    std::get<FitBlock>(population.rules).together = tiles_of_several_products(space);
  }
  return population;
}

}  // namespace tensorsmith
