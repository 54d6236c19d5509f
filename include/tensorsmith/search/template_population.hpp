// SPDX-License-Identifier: Apache-2.0
// Programs of templates for the evolutionary policy: drawing, mutating and crossing them knows
// nothing but variables.
//
// Floor 7. Own design. For templates of any origin: of sketches (template_of.hpp), or written by
// hand (space/template_builder.hpp).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/space/template_moves.hpp"

namespace tensorsmith {

using TemplateList = Shared<const std::vector<Template>>;

/// A space whose sketches are numbered as the templates, which must not be none.
inline SearchSpace space_of_templates(const std::vector<Template>& templates) {
  std::vector<State> initial;
  for (const Template& each : templates) {
    initial.push_back(each.initial());
  }
  return SearchSpace(std::move(initial), SpaceOptions{});
}

namespace detail {

inline std::optional<Candidate> candidate_of_instance(const SearchSpace& space,
                                                      std::optional<Instance> instance,
                                                      std::uint32_t which) {
  if (!instance) {
    return std::nullopt;
  }
  Candidate candidate{std::move(instance->state), which, nullptr, std::move(instance->values)};
  return space.refresh(candidate) ? std::optional(std::move(candidate)) : std::nullopt;
}

}  // namespace detail

struct TemplatePopulation {
  TemplateList templates;

  /// The candidate of the first template that reads the history; the history alone if none does.
  std::optional<Candidate> candidate_of(const SearchSpace& space,
                                        const std::vector<Step>& steps) const {
    for (std::uint32_t i = 0; i < templates->size(); ++i) {
      if (const std::optional<Assignment> values = (*templates)[i].read(steps)) {
        auto state = (*templates)[i].apply(*values);
        return detail::candidate_of_instance(space, Instance{*values, std::move(*state)}, i);
      }
    }
    return space.build(steps, Candidate::no_sketch);
  }
};

/// A template, and an instance of it.
template <class Rng>
std::optional<Candidate> draw_candidate(const SearchSpace& space,
                                        const TemplatePopulation& population, Rng& rng) {
  const auto which = rng.next_below(static_cast<std::uint32_t>(population.templates->size()));
  return detail::candidate_of_instance(space, draw_instance((*population.templates)[which], rng),
                                       which);
}

class TemplateMutators {
 public:
  explicit TemplateMutators(TemplateList templates, RoleWeights weights = {})
      : templates_(std::move(templates)), weights_(weights) {}

  template <class Rng>
  std::optional<Candidate> mutate(const SearchSpace& space, const Candidate& parent,
                                  Rng& rng) const {
    if (!parent.values) {
      return std::nullopt;
    }
    return detail::candidate_of_instance(
        space, tensorsmith::mutate((*templates_)[parent.sketch], *parent.values, weights_, rng),
        parent.sketch);
  }

  /// Of parents of one template.
  template <class Rng>
  std::optional<Candidate> cross(const SearchSpace& space, const Candidate& first,
                                 const Candidate& second, Rng& rng) const {
    if (!first.values || !second.values || first.sketch != second.sketch) {
      return std::nullopt;
    }
    return detail::candidate_of_instance(
        space, crossover((*templates_)[first.sketch], *first.values, *second.values, rng),
        first.sketch);
  }

 private:
  TemplateList templates_;
  RoleWeights weights_;
};

}  // namespace tensorsmith
