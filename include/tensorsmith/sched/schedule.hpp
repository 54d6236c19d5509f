// SPDX-License-Identifier: Apache-2.0
// ScheduleBuilder: steps as calls, for people and tests.
//
// Floor 3. Own design. Every call applies one step and returns the ids of the iterators or stages
// it made; an illegal call throws tensorsmith::Error with the sentence of explain(). Searches use
// apply_step. Most of the calls: step_calls.hpp.
//   ScheduleBuilder s(dag);
//   const auto i = s.split(C, 0, {16});
//   s.parallel(C, i[0]);
//   run(s.state());
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/step_calls.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

class ScheduleBuilder : public StepCalls<ScheduleBuilder> {
 public:
  static constexpr const char* subject = "schedule";

  explicit ScheduleBuilder(Shared<const ComputeDag> dag) : state_(State::initial(std::move(dag))) {}
  explicit ScheduleBuilder(State state) : state_(std::move(state)) {}

  const State& state() const { return state_; }

  /// Outermost part first; lengths.size() + 1 of them.
  std::vector<std::int32_t> split(std::int32_t stage, std::int32_t iterator,
                                  const LengthList& lengths, bool inner_to_outer = true) {
    SplitStep step{stage, iterator, extent_of(stage, iterator), lengths, inner_to_outer};
    apply(std::move(step));
    return consecutive(iterator, lengths.size() + 1);
  }
  void apply(Step step) {
    const std::string tag(tag_of(step));
    if (const StepCheck error = try_apply(state_, std::move(step))) {
      throw Error("schedule: " + tag + " is not legal: " + explain(*error, state_));
    }
  }
  std::string text() const { return state_text(state_); }

 private:
  friend StepCalls<ScheduleBuilder>;
  void add_step(Step step) { apply(std::move(step)); }

  State state_;
};

}  // namespace tensorsmith
