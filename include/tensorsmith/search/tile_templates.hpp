// SPDX-License-Identifier: Apache-2.0
// population_of: the population of a space, with templates for those sketches of a GPU space
// whose tiles they keep in the limits of a block: of tiles that are drawn by themselves one in 25
// fits, of a product, and one in 25 to the power of their number, of several.
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

/// The lengths of a legal assignment, which keeps the limits of all stages at once.
inline Shared<const TilesTogether> tiles_by_templates(const SearchSpace& space) {
  TilesTogether together;
  std::vector<std::optional<Template>> templates(space.sketches().size());
  for (std::uint32_t i = 0; i < templates.size(); ++i) {
    templates[i] = gpu_template_of(space, i);
    together.is_of.push_back(templates[i] && !templates[i]->sampler().is_empty() ? 1 : 0);
  }
  together.draw = [templates = std::move(templates)](
                      std::uint32_t sketch,
                      std::uint32_t seed) -> std::optional<std::vector<LengthList>> {
    CounterRng rng(seed, 0);
    const Template& of = *templates[sketch];
    const std::optional<Assignment> values = of.sampler().draw(rng);
    const auto steps = values ? of.own_steps(*values) : std::nullopt;
    if (!steps) {
      return std::nullopt;
    }
    std::vector<LengthList> lengths;  // of the sketch: decisions make the others
    for (const Step& step : *steps) {
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
    std::get<FitBlock>(population.rules).together = tiles_by_templates(space);
  }
  return population;
}

}  // namespace tensorsmith
