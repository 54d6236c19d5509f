// SPDX-License-Identifier: Apache-2.0
// TemplateBuilder: a template, step by step, for people and for sketches.
//
// Floor 6. Own design. Like ScheduleBuilder, with lengths that stay open: a split makes a variable
// for every length, and any number of any step may be an expression. Constraints go to space(). An
// illegal step throws tensorsmith::Error with the sentence of explain(). Most of the calls:
// sched/step_calls.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/sched/step_calls.hpp"
#include "tensorsmith/space/template.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {

class TemplateBuilder : public StepCalls<TemplateBuilder> {
 public:
  static constexpr const char* subject = "template";

  explicit TemplateBuilder(Shared<const ComputeDag> dag)
      : TemplateBuilder(State::initial(std::move(dag))) {}
  /// `initial` has no steps; templates that share it share derived dags.
  explicit TemplateBuilder(State initial) : initial_(initial), grown_(std::move(initial)) {}

  VariableSpace& space() { return space_; }
  /// The program so far, with open lengths.
  const State& state() const { return grown_; }

  /// A step; the number of its item.
  std::size_t step(Step step, std::vector<Hole> holes = {}, ExprId condition = {}) {
    Step open = step;
    positions_.resize(items_.size(), 0);
    positions_.push_back(static_cast<std::int32_t>(grown_.steps().size()));
    detail::place_sources(open, positions_);
    for (const Hole& hole : holes) {
      if (std::holds_alternative<SplitStep>(open) && hole.field.field == lengths_field) {
        set_field(open, hole.field, unknown_length);
      }
    }
    if (!condition.valid()) {
      grow(std::move(open));
    }
    items_.push_back(StepItem{std::move(step), std::move(holes), condition});
    return items_.size() - 1;
  }
  /// Cuts an iterator into count + 1 parts; the variables are the lengths but the outermost, the
  /// last at most `max_innermost`. Of which extents they may be divisors: `roots`, none: of the
  /// iterator's own.
  std::vector<VariableId> split(std::int32_t stage, std::int32_t iterator, const std::string& name,
                                std::size_t count, std::int64_t max_innermost = INT32_MAX,
                                std::vector<std::int64_t> roots = {}) {
    const std::int64_t extent = extent_of(stage, iterator);
    if (extent < 1) {
      throw Error("template: the extent of what \"" + name + "\" splits is not known");
    }
    if (roots.empty()) {
      roots.push_back(extent);
    }
    std::vector<VariableId> lengths =
        space_.add_chain(name, std::move(roots), count, max_innermost);
    SplitStep split{stage, iterator, extent, LengthList(count, 1), true};
    step(split, holes_of(lengths));
    return lengths;
  }
  using StepCalls::hint;
  /// A hint of one number, which is one of the values.
  template <HintType Kind>
  VariableId hint(std::int32_t stage, const std::string& name, std::vector<std::int32_t> values) {
    const Kind first{values.front()};
    const VariableId chosen = space_.add(name, VariableRole::hint, Domain::list(std::move(values)));
    step(PragmaStep{stage, 0, first}, {Hole{{2, 0}, space_.expr(chosen)}});
    return chosen;
  }
  /// A step that is there or not.
  VariableId maybe(const std::string& name, Step optional_step) {
    const VariableId chosen = space_.add(name, VariableRole::structure, Domain::flag());
    step(std::move(optional_step), {}, space_.pool().eq(space_.expr(chosen), space_.number(1)));
    return chosen;
  }
  VariableId decide(std::string name, VariableRole role, Shared<const Decision> decision,
                    Domain domain = Domain::of_state()) {
    const VariableId chosen = space_.add(std::move(name), role, std::move(domain));
    items_.push_back(DecisionItem{std::move(decision), chosen});
    return chosen;
  }
  /// The step added last becomes one value of a decision; the number of its item.
  std::int32_t replace_last(std::string name, VariableRole role, Shared<const Decision> decision) {
    items_.pop_back();
    decide(std::move(name), role, std::move(decision));
    return static_cast<std::int32_t>(items_.size()) - 1;
  }
  void derive(Shared<const DerivedSteps> steps) { items_.push_back(DerivedItem{std::move(steps)}); }
  void infer_bounds() { items_.push_back(BoundsItem{}); }

  /// Lengths of a split step.
  std::vector<Hole> holes_of(const std::vector<VariableId>& lengths) {
    std::vector<Hole> holes;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      holes.push_back({{lengths_field, i}, space_.expr(lengths[i])});
    }
    return holes;
  }

  /// `reuse`: as decisions are to see it (te/access_analysis.hpp).
  Template finish(DataReuse reuse = DataReuse::of_producers) {
    return Template(std::move(initial_), std::move(space_), std::move(items_), grown_.dag_ptr(),
                    reuse);
  }

 private:
  static constexpr std::size_t lengths_field = 3;  ///< of SplitStep::fields()

  friend StepCalls<TemplateBuilder>;
  void add_step(Step step) { this->step(std::move(step)); }

  void grow(Step step) {
    const std::string tag(tag_of(step));
    StepCheck error = try_apply(grown_, step);
    if (error && !grown_.is_concrete()) {  // a new stage may depend on lengths: 1 stands for them
      State closed = initial_;
      bool is_legal = true;
      for (Step other : grown_.steps()) {
        if (SplitStep* split = std::get_if<SplitStep>(&other)) {
          for (std::int64_t& length : split->lengths) {
            length = length == unknown_length ? 1 : length;
          }
        }
        is_legal = is_legal && try_step(closed, other);
      }
      if (is_legal && try_step(closed, step)) {
        grown_ = std::move(closed);
        return;
      }
    }
    if (error) {
      throw Error("template: " + tag + " is not legal: " + explain(*error, grown_));
    }
  }

  State initial_, grown_;
  VariableSpace space_;
  std::vector<TemplateItem> items_;
  std::vector<std::int32_t> positions_;  ///< by item: where its step stands in grown_
};

}  // namespace tensorsmith
