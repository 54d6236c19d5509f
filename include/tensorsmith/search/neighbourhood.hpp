// SPDX-License-Identifier: Apache-2.0
// Neighbourhood: the programs that are one decision away from a program, and how far two are apart.
//
// Floor 7. Own design. Stands on templates: those given, else those of the sketches of a space,
// each made when a program of it is asked about first. Which program comes first says nothing about
// which is better. Not here: moves (space/template_moves.hpp), whether a program may be measured.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/template_of.hpp"
#include "tensorsmith/search/template_population.hpp"
#include "tensorsmith/space/nearest.hpp"
#include "tensorsmith/space/template_moves.hpp"

namespace tensorsmith {

/// A program as decisions.
struct PlacedProgram {
  std::uint32_t sketch = 0;
  Assignment values;
};

class Neighbourhood {
 public:
  /// `templates` may be none.
  Neighbourhood(SearchSpace space, TemplateList templates, TargetKind kind)
      : space_(std::move(space)), kind_(kind), made_(space_.sketches().size()) {
    for (std::uint32_t i = 0; templates && i < templates->size(); ++i) {
      made_[i] = Made{(*templates)[i]};
    }
    is_given_ = bool(templates);
  }

  const SearchSpace& space() const { return space_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(made_.size()); }

  /// Null: lengths of that sketch cannot be chosen.
  const Template* of_sketch(std::uint32_t sketch) {
    Made& made = made_[sketch];
    if (!made.is_tried) {
      made = Made{kind_ == TargetKind::cuda ? gpu_template_of(space_, sketch)
                                            : cpu_template_of(space_, sketch)};
    }
    return made.value ? &*made.value : nullptr;
  }

  /// Nothing if no template has that history.
  std::optional<PlacedProgram> place(const std::vector<Step>& steps) {
    const std::uint32_t of_steps = is_given_ ? size() : space_.sketch_of(steps);
    const bool is_known = of_steps < size();
    for (std::uint32_t i = is_known ? of_steps : 0; i < (is_known ? of_steps + 1 : size()); ++i) {
      const Template* const of = of_sketch(i);
      if (std::optional<Assignment> values = of != nullptr ? of->read(steps) : std::nullopt) {
        return PlacedProgram{i, std::move(*values)};
      }
    }
    return std::nullopt;
  }

  /// All that are one step away, each once, by variable.
  std::vector<State> around(const PlacedProgram& program) {
    std::vector<State> found;
    for (Instance& instance : neighbours(*of_sketch(program.sketch), program.values)) {
      found.push_back(std::move(instance.state));
    }
    return found;
  }

  /// The programs of this space with the decisions of a history, which may be that of a task with
  /// other extents: the same choices, the lengths that are legal here and nearest. One at most per
  /// sketch that has such programs.
  std::vector<State> nearest_to(const std::vector<Step>& steps) {
    std::vector<State> found;
    for (std::uint32_t i = 0; i < size(); ++i) {
      const Template* const of = of_sketch(i);
      const auto wanted = of != nullptr ? of->read(steps) : std::nullopt;
      const auto legal = wanted ? nearest_legal(of->sampler(), *wanted) : std::nullopt;
      if (auto instance = legal ? complete(*of, *legal) : std::nullopt) {
        found.push_back(std::move(instance->state));
      }
    }
    return found;
  }

  /// Programs of different sketches are further apart than two that differ in a few decisions.
  double distance(const PlacedProgram& a, const PlacedProgram& b) {
    constexpr double of_sketches = 8;
    return a.sketch != b.sketch
               ? of_sketches
               : tensorsmith::distance(of_sketch(a.sketch)->space(), a.values, b.values);
  }

 private:
  struct Made {
    std::optional<Template> value = std::nullopt;
    bool is_tried = false;
    Made() = default;
    explicit Made(std::optional<Template> made) : value(std::move(made)), is_tried(true) {}
  };

  SearchSpace space_;
  TargetKind kind_;
  bool is_given_ = false;
  std::vector<Made> made_;  ///< by sketch
};

}  // namespace tensorsmith
