// SPDX-License-Identifier: Apache-2.0
// Moves of templates: sampling, neighbours, mutation and crossover, decisions included.
//
// Floor 6. Own design. Variables with domains are moved as in moves.hpp; then the template is
// walked, and every decision that the move has touched gets a value again: what it had if that is
// legal, else the nearest choice. So all that these give is complete: it has a state, and reads
// back as itself.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/moves.hpp"
#include "tensorsmith/space/template.hpp"

namespace tensorsmith {

/// A complete assignment and what it stands for.
struct Instance {
  Assignment values;
  State state;
};

namespace detail {

/// Keeps a value that can be, asked for or not; else the nearest choice.
inline std::int32_t repaired(const DecisionItem& item, const BuildState& at, std::int32_t value) {
  const std::vector<std::int32_t> choices = item.decision->choices(at);
  if (choices.empty() || has_item(choices, value)) {
    return choices.empty() ? not_asked : value;
  }
  if (value == not_asked) {
    return choices.front();
  }
  BuildState copy = at;
  if (item.decision->apply(copy, value)) {  // another value may say the same now
    const std::vector<Step> made(copy.state.steps().begin() +
                                     static_cast<std::ptrdiff_t>(at.state.steps().size()),
                                 copy.state.steps().end());
    return item.decision->read(at, StepCursor(made));
  }
  std::int32_t nearest = choices.front();
  for (std::int32_t choice : choices) {
    const std::int64_t best = std::int64_t{nearest} - value, now = std::int64_t{choice} - value;
    nearest = (now < 0 ? -now : now) < (best < 0 ? -best : best) ? choice : nearest;
  }
  return nearest;
}

inline std::optional<Instance> instance_of(Result<State, TemplateError> state, Assignment values) {
  return state ? std::optional(Instance{std::move(values), std::move(*state)}) : std::nullopt;
}

}  // namespace detail

/// The complete assignment that is nearest: values nobody asks for go, missing ones come. Nothing
/// if there is no state.
inline std::optional<Instance> complete(const Template& of, Assignment values) {
  auto state = of.walk(values, detail::repaired);
  return detail::instance_of(std::move(state), std::move(values));
}

/// Variables with domains as the sampler draws them, decisions in their turn.
template <class Rng>
std::optional<Instance> draw_instance(const Template& of, Rng& rng) {
  std::optional<Assignment> values = of.sampler().draw(rng);
  if (!values) {
    return std::nullopt;
  }
  auto state =
      of.walk(*values, [&](const DecisionItem& item, const BuildState& at, std::int32_t value) {
        const std::vector<std::int32_t> draws = item.decision->draws(at);
        if (has_item(draws, value)) {
          return value;  // a variable with a domain
        }
        return draws.empty() ? not_asked
                             : draws[rng.next_below(static_cast<std::uint32_t>(draws.size()))];
      });
  return detail::instance_of(std::move(state), std::move(*values));
}

/// What else every decision could be in the state of a complete assignment, by variable.
inline std::vector<std::vector<std::int32_t>> other_choices(const Template& of,
                                                            const Assignment& values) {
  std::vector<std::vector<std::int32_t>> others(of.space().size());
  Assignment same = values;
  static_cast<void>(
      of.walk(same, [&](const DecisionItem& item, const BuildState& at, std::int32_t value) {
        for (std::int32_t choice : item.decision->choices(at)) {
          if (choice != value) {
            others[item.variable.value].push_back(choice);
          }
        }
        return value;
      }));
  return others;
}

/// All instances one step away whose variables keep their constraints, each once, by variable.
inline std::vector<Instance> neighbours(const Template& of, const Assignment& values) {
  std::vector<Instance> found;
  std::vector<Assignment> known = {values};
  const auto add = [&](const Assignment& moved) {
    std::optional<Instance> other = complete(of, moved);
    if (other && !has_item(known, other->values) && of.sampler().is_legal(other->values)) {
      known.push_back(other->values);
      found.push_back(std::move(*other));
    }
  };
  const auto others = other_choices(of, values);
  for (std::uint32_t i = 0; i < of.space().size(); ++i) {
    for (const Assignment& moved : neighbours_by(of.sampler(), values, VariableId{i})) {
      add(moved);
    }
    for (std::int32_t choice : others[i]) {
      Assignment moved = values;
      moved[VariableId{i}] = choice;
      add(moved);
    }
  }
  return found;
}

/// An instance one step away, by a variable drawn by role; nothing if that one has none.
template <class Rng>
std::optional<Instance> mutate(const Template& of, const Assignment& values,
                               const RoleWeights& weights, Rng& rng) {
  const auto variable = draw_variable(of.space(), values, weights, rng);
  if (!variable) {
    return std::nullopt;
  }
  const auto pick = [&](const auto& items) -> const auto& {
    return items[rng.next_below(static_cast<std::uint32_t>(items.size()))];
  };
  Assignment moved = values;
  if (of.space()[*variable].domain.is_open()) {
    const std::vector<std::int32_t> others = other_choices(of, values)[variable->value];
    if (others.empty()) {
      return std::nullopt;
    }
    moved[*variable] = pick(others);
  } else {
    const std::vector<Assignment> all = neighbours_by(of.sampler(), values, *variable);
    if (all.empty()) {
      return std::nullopt;
    }
    moved = pick(all);
  }
  std::optional<Instance> child = complete(of, std::move(moved));
  return child && !(child->values == values) && of.sampler().is_legal(child->values)
             ? std::move(child)
             : std::nullopt;
}

template <class Rng>
std::optional<Instance> crossover(const Template& of, const Assignment& first,
                                  const Assignment& second, Rng& rng) {
  const std::optional<Assignment> child = crossover(of.sampler(), first, second, rng);
  return child ? complete(of, *child) : std::nullopt;
}

}  // namespace tensorsmith
