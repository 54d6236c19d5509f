// SPDX-License-Identifier: Apache-2.0
// StepItem: a step of a template whose numbers may be expressions over variables.
//
// Floor 6. Own design. Filled in with the values of an assignment, and read back: numbers that are
// a variable give its value, other expressions are solved for their one unknown variable by trying
// its domain.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/space/decision.hpp"
#include "tensorsmith/space/step_fields.hpp"
#include "tensorsmith/space/tape.hpp"

namespace tensorsmith {

/// A number of a step that is an expression over the variables.
struct Hole {
  StepField field;
  ExprId value;
};

struct StepItem {
  Step step;  ///< sources of follow splits are items of the template
  std::vector<Hole> holes;
  ExprId condition;  ///< whether the step is there; not valid: always
};

namespace detail {

/// Sources of follow splits, which are items of a template, as steps of a history.
inline void place_sources(Step& step, const std::vector<std::int32_t>& positions) {
  const auto move = [&](std::int32_t& source) {
    if (source >= 0 && static_cast<std::size_t>(source) < positions.size()) {
      source = positions[static_cast<std::size_t>(source)];
    }
  };
  if (FollowSplitStep* follow = std::get_if<FollowSplitStep>(&step)) {
    move(follow->source_step);
  } else if (FollowFusedSplitStep* fused = std::get_if<FollowFusedSplitStep>(&step)) {
    for (std::int32_t& source : fused->source_steps) {
      move(source);
    }
  }
}

/// An expression that is ready to be evaluated and solved.
class Formula {
 public:
  Formula() = default;
  Formula(const ExprPool& pool, ExprId value)
      : tape_(pool, {value}), used_(variables_of(pool, value)) {
    const VarRef* ref = pool.as<VarRef>(value);
    variable_ = ref != nullptr ? VariableId{ref->var.value} : VariableId{};
  }

  /// Nothing if a variable has no value.
  std::optional<std::int64_t> value(const Assignment& values) const {
    if (variable_.valid()) {
      return values[variable_] == not_asked ? std::nullopt
                                            : std::optional<std::int64_t>(values[variable_]);
    }
    return num_unknown(values) > 0 ? std::nullopt : std::optional(tape_.evaluate(0, values.data()));
  }
  std::size_t num_unknown(const Assignment& values) const {
    return count_items(used_, [&](VariableId id) { return values[id] == not_asked; });
  }

  /// Gives the one unknown variable the value that makes the formula `wanted`; false if there is
  /// none, or if all are known and it is another.
  bool solve(const VariableSpace& space, std::int64_t wanted, Assignment& values) const {
    if (variable_.valid() && values[variable_] == not_asked) {
      values[variable_] = static_cast<std::int32_t>(wanted);
      return wanted >= INT32_MIN && wanted <= INT32_MAX;
    }
    if (num_unknown(values) == 0) {
      return value(values) == wanted;
    }
    if (num_unknown(values) > 1) {
      return false;
    }
    const VariableId unknown =
        *find_item(used_, [&](VariableId id) { return values[id] == not_asked; });
    for (std::int32_t tried : space[unknown].domain.values()) {
      values[unknown] = tried;
      if (tape_.evaluate(0, values.data()) == wanted) {
        return true;
      }
    }
    values[unknown] = not_asked;
    return false;
  }

 private:
  Tape tape_;
  std::vector<VariableId> used_;
  VariableId variable_;  ///< of a formula that is one
};

/// A number that a history says of a formula.
struct Equation {
  const Formula* formula;
  std::int64_t value;
};

class CompiledStep {
 public:
  CompiledStep(const ExprPool& pool, const StepItem& item) : step_(item.step) {
    for (const Hole& hole : item.holes) {
      holes_.push_back({hole.field, Formula(pool, hole.value)});
    }
    if (item.condition.valid()) {
      condition_ = Formula(pool, item.condition);
    }
  }

  const std::optional<Formula>& condition() const { return condition_; }

  /// The step, `positions` saying where in the history the items stand; nothing if a number is
  /// missing or does not fit.
  std::optional<Step> fill(const Assignment& values,
                           const std::vector<std::int32_t>& positions) const {
    Step step = placed(positions);
    for (const auto& [field, formula] : holes_) {
      const std::optional<std::int64_t> value = formula.value(values);
      if (!value || !set_field(step, field, *value)) {
        return std::nullopt;
      }
    }
    return step;
  }

  /// Whether `step` is this one but for the holes; their numbers become equations.
  bool match(const Step& step, const std::vector<std::int32_t>& positions,
             std::vector<Equation>& equations) const {
    Step pattern = placed(positions);
    std::vector<Equation> found;
    for (const auto& [field, formula] : holes_) {
      const std::optional<std::int64_t> value = get_field(step, field);
      if (step.index() != pattern.index() || !value || !set_field(pattern, field, *value)) {
        return false;
      }
      found.push_back({&formula, *value});
    }
    if (!is_same_step(pattern, step)) {
      return false;
    }
    equations.insert(equations.end(), found.begin(), found.end());
    return true;
  }

 private:
  Step placed(const std::vector<std::int32_t>& positions) const {
    Step step = step_;
    place_sources(step, positions);
    return step;
  }

  Step step_;
  std::vector<std::pair<StepField, Formula>> holes_;
  std::optional<Formula> condition_;
};

}  // namespace detail
}  // namespace tensorsmith
