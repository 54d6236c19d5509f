// SPDX-License-Identifier: Apache-2.0
// Template: a program with holes. Steps whose numbers are expressions over variables, decisions
// that depend on the state, and steps that follow from it.
//
// Floor 6. Own design. apply() is the way from decisions to a state, read() the way back:
//     read(apply(a)) == a,  apply(read(s)) == s
// the latter up to the order of hints, which do not depend on each other, and to extents that
// splits have written down. The first holds of assignments that are complete: a decision has a
// value where the state asks for one and nowhere else (space/template_moves.hpp makes them so). A
// template is a value: copies share what they are made of. Not here: templates by hand
// (template_builder.hpp), of sketches (search/template_of.hpp).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/space/decision.hpp"
#include "tensorsmith/space/sample.hpp"
#include "tensorsmith/space/step_item.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

struct DecisionItem {
  Shared<const Decision> decision;
  VariableId variable;
};
struct DerivedItem {
  Shared<const DerivedSteps> steps;
};
/// From here on the extents of attached stages are known.
struct BoundsItem {};

using TemplateItem = std::variant<StepItem, DecisionItem, DerivedItem, BoundsItem>;

/// Why an assignment has no state.
struct TemplateError {
  std::size_t item = 0;  ///< the item that is illegal; their number: the bounds of the whole
  std::optional<ScheduleError> reason = std::nullopt;  ///< of a step of the template, or of bounds
};

/// The same steps, hints that are not the reference's in any order.
inline bool is_same_history(const std::vector<Step>& a, const std::vector<Step>& b) {
  const auto split = [](const std::vector<Step>& steps, std::vector<std::string>& hints) {
    std::vector<const Step*> others;
    for (const Step& step : steps) {
      const PragmaStep* pragma = std::get_if<PragmaStep>(&step);
      if (pragma != nullptr && !traits_of(pragma->hint).is_of_the_reference) {
        hints.push_back(pragma->hint.text() + "@" + std::to_string(pragma->stage));
      } else {
        others.push_back(&step);
      }
    }
    sort_items(hints);
    return others;
  };
  std::vector<std::string> hints_of_a, hints_of_b;
  const std::vector<const Step*> of_a = split(a, hints_of_a), of_b = split(b, hints_of_b);
  bool is_same = of_a.size() == of_b.size() && hints_of_a == hints_of_b;
  for (std::size_t i = 0; is_same && i < of_a.size(); ++i) {
    is_same = is_same_step(*of_a[i], *of_b[i]);
  }
  return is_same;
}

class Template {
 public:
  /// `initial` has no steps; templates that share it share derived dags. `usual` is the dag that
  /// most assignments lead to.
  Template(State initial, VariableSpace space, std::vector<TemplateItem> items,
           Shared<const ComputeDag> usual, DataReuse reuse)
      : body_(make_shared_of<const Body>(std::move(initial), std::move(space), std::move(items),
                                         std::move(usual), reuse)) {}

  const VariableSpace& space() const { return body_->space; }
  const SpaceSampler& sampler() const { return body_->sampler; }
  const std::vector<TemplateItem>& items() const { return body_->items; }
  const State& initial() const { return body_->initial; }

  /// Bounds of the state are inferred.
  Result<State, TemplateError> apply(const Assignment& values) const {
    Assignment same = values;
    return walk(same,
                [](const DecisionItem&, const BuildState&, std::int32_t value) { return value; });
  }

  /// The assignment with that history, whatever else the state knows; nothing if the history is not
  /// of this template. Values need not be in their domains.
  std::optional<Assignment> read(const State& state) const { return read(state.steps()); }
  std::optional<Assignment> read(const std::vector<Step>& steps) const {
    Assignment values(space().size());
    std::vector<detail::Equation> equations;
    if (!read_items(steps, values, equations)) {
      return std::nullopt;
    }
    for (const detail::Equation& equation : equations) {
      if (!equation.formula->solve(space(), equation.value, values)) {
        return std::nullopt;
      }
    }
    const auto again = apply(values);
    return again && is_same_history(again->steps(), steps) ? std::optional(values) : std::nullopt;
  }

  /// The steps of its own, without those that decisions make between them; nothing if a number of
  /// theirs has no value. Sources of follow splits are positions among these steps.
  std::optional<std::vector<Step>> own_steps(const Assignment& values) const {
    std::vector<Step> filled;
    std::vector<std::int32_t> positions;
    for (const std::optional<detail::CompiledStep>& step : body_->steps) {
      positions.push_back(static_cast<std::int32_t>(filled.size()));
      if (!step) {
        continue;
      }
      if (step->condition() && step->condition()->value(values) == 0) {
        continue;
      }
      std::optional<Step> next = step->fill(values, positions);
      if (!next) {
        return std::nullopt;
      }
      filled.push_back(std::move(*next));
    }
    return filled;
  }

  /// Goes through the items. At every decision choose(item, build, value) gives the value to take,
  /// which becomes that of `values`.
  template <class Choose>
  Result<State, TemplateError> walk(Assignment& values, const Choose& choose) const {
    BuildState build(body_->initial, body_->dag, body_->analysis);
    std::vector<std::int32_t> positions;
    for (std::size_t at = 0; at < items().size(); ++at) {
      const TemplateItem& item = items()[at];
      positions.push_back(static_cast<std::int32_t>(build.state.steps().size()));
      if (const auto& step = body_->steps[at]) {
        if (step->condition() && step->condition()->value(values) == 0) {
          continue;
        }
        std::optional<Step> filled = step->fill(values, positions);
        if (!filled) {
          return fail(TemplateError{at});
        }
        if (const StepCheck error = try_apply(build.state, std::move(*filled))) {
          return fail(TemplateError{at, *error});
        }
      } else if (const DecisionItem* decision = std::get_if<DecisionItem>(&item)) {
        std::int32_t& value = values[decision->variable];
        value = choose(*decision, build, value);
        if (!decision->decision->apply(build, value)) {
          return fail(TemplateError{at});
        }
      } else if (!apply_rest(item, build)) {
        return fail(TemplateError{at});
      }
    }
    if (!build.state.has_bounds()) {
      if (const StepCheck error = try_infer_bounds(build.state)) {
        return fail(TemplateError{items().size(), *error});
      }
    }
    return std::move(build.state);
  }

 private:
  struct Body {
    Body(State initial_state, VariableSpace variables, std::vector<TemplateItem> all,
         Shared<const ComputeDag> usual, DataReuse reuse)
        : initial(std::move(initial_state)), space(std::move(variables)), items(std::move(all)),
          sampler(space), dag(std::move(usual)),
          analysis(make_shared_of<const AccessAnalysis>(*dag, reuse)) {
      for (const TemplateItem& item : items) {
        const StepItem* step = std::get_if<StepItem>(&item);
        steps.push_back(step != nullptr ? std::optional(detail::CompiledStep(space.pool(), *step))
                                        : std::nullopt);
      }
    }
    State initial;
    VariableSpace space;
    std::vector<TemplateItem> items;
    SpaceSampler sampler;
    Shared<const ComputeDag> dag;
    Shared<const AccessAnalysis> analysis;
    std::vector<std::optional<detail::CompiledStep>> steps;  ///< by item
  };

  static bool apply_rest(const TemplateItem& item, BuildState& build) {
    if (const DerivedItem* derived = std::get_if<DerivedItem>(&item)) {
      return derived->steps->apply(build);
    }
    return build.state.has_bounds() || !try_infer_bounds(build.state);
  }

  /// Finds the steps of every item; numbers of steps become values, or equations for later.
  bool read_items(const std::vector<Step>& steps, Assignment& values,
                  std::vector<detail::Equation>& equations) const {
    StepCursor cursor(steps);
    BuildState build(body_->initial, body_->dag, body_->analysis);
    std::vector<std::int32_t> positions;
    const auto next_equals = [&](std::size_t at) {
      const Step* next = cursor.peek();
      return next != nullptr && body_->steps[at]->match(*next, positions, equations);
    };
    for (std::size_t at = 0; at < items().size(); ++at) {
      positions.push_back(static_cast<std::int32_t>(build.state.steps().size()));
      if (const auto& step = body_->steps[at]) {
        const std::size_t before = equations.size();
        const auto known =
            step->condition() ? step->condition()->value(values) : std::optional<std::int64_t>(1);
        const bool is_there = known != 0 && next_equals(at);
        if (!is_there && known && *known != 0) {
          return false;
        }
        if (!known) {
          equations.push_back({&*step->condition(), is_there ? 1 : 0});
        }
        solve_now(equations, before, values);
        if (!is_there) {
          continue;
        }
        const Step next = *cursor.peek();
        if (!try_step(build.state, next) || !cursor.take(next)) {
          return false;
        }
      } else if (const DecisionItem* decision = std::get_if<DecisionItem>(&items()[at])) {
        const std::size_t before = build.state.steps().size();
        const std::int32_t value = decision->decision->read(build, cursor);
        values[decision->variable] = value;
        if (!decision->decision->apply(build, value)) {
          return false;
        }
        for (std::size_t i = before; i < build.state.steps().size(); ++i) {
          if (!cursor.take(build.state.steps()[i])) {
            return false;
          }
        }
      } else if (std::holds_alternative<BoundsItem>(items()[at]) &&
                 !apply_rest(items()[at], build)) {
        return false;
      }  // what is derived is compared at the end
    }
    return true;
  }

  /// Solves what can be; the rest waits for other equations.
  void solve_now(std::vector<detail::Equation>& equations, std::size_t first,
                 Assignment& values) const {
    for (std::size_t i = first; i < equations.size(); ++i) {
      if (equations[i].formula->num_unknown(values) == 1) {
        static_cast<void>(equations[i].formula->solve(space(), equations[i].value, values));
      }
    }
  }

  Shared<const Body> body_;
};

}  // namespace tensorsmith
