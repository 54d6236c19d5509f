// ScheduleBuilder: steps as calls, for people and tests.
//
// Floor 3. Own design. Every call applies one step and returns the ids of the iterators or stages
// it made; an illegal call throws tensorsmith::Error with the sentence of explain(). Searches use
// apply_step.
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
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(Shared<const ComputeDag> dag) : state_(State::initial(std::move(dag))) {}
  explicit ScheduleBuilder(State state) : state_(std::move(state)) {}

  const State& state() const { return state_; }
  /// The stage of the operation with this name.
  std::int32_t stage(const std::string& name) const {
    for (std::size_t i = 0; i < state_.num_stages(); ++i) {
      if (state_.operation(i).name == name) {
        return static_cast<std::int32_t>(i);
      }
    }
    throw Error("schedule: no stage named \"" + name + "\"");
  }
  std::size_t num_iterators(std::int32_t stage) const {
    return state_.stage(static_cast<std::size_t>(stage)).iterators.size();
  }

  /// Outermost part first; lengths.size() + 1 of them.
  std::vector<std::int32_t> split(std::int32_t stage, std::int32_t iterator,
                                  const LengthList& lengths, bool inner_to_outer = true) {
    SplitStep step{stage, iterator, extent_of(stage, iterator), lengths, inner_to_outer};
    apply(std::move(step));
    return consecutive(iterator, lengths.size() + 1);
  }
  std::vector<std::int32_t> follow_split(std::int32_t stage, std::int32_t iterator,
                                         std::int32_t source_step, std::int32_t num_split) {
    apply(FollowSplitStep{stage, iterator, source_step, num_split});
    return consecutive(iterator, static_cast<std::size_t>(num_split) + 1);
  }
  std::vector<std::int32_t> follow_fused_split(std::int32_t stage, std::int32_t iterator,
                                               const IdList& source_steps, std::int32_t level,
                                               bool factor_or_nparts) {
    apply(FollowFusedSplitStep{stage, iterator, source_steps, level, factor_or_nparts});
    return consecutive(iterator, 2);
  }
  std::int32_t fuse(std::int32_t stage, const IdList& iterators) {
    apply(FuseStep{stage, iterators});
    return iterators.empty() ? 0 : iterators[0];
  }
  void reorder(std::int32_t stage, const IdList& after) { apply(ReorderStep{stage, after}); }
  void annotate(std::int32_t stage, std::int32_t iterator, Annotation annotation) {
    apply(AnnotationStep{stage, iterator, annotation});
  }
  void parallel(std::int32_t stage, std::int32_t iterator) {
    annotate(stage, iterator, Annotation::parallel);
  }
  void vectorize(std::int32_t stage, std::int32_t iterator) {
    annotate(stage, iterator, Annotation::vectorize);
  }
  void unroll(std::int32_t stage, std::int32_t iterator) {
    annotate(stage, iterator, Annotation::unroll);
  }
  void auto_unroll(std::int32_t stage, std::int32_t iterator, std::int32_t max_step) {
    apply(PragmaStep{stage, iterator, "auto_unroll_max_step$" + std::to_string(max_step)});
  }
  void compute_at(std::int32_t stage, std::int32_t target, std::int32_t iterator) {
    apply(ComputeAtStep{stage, target, iterator});
  }
  void compute_inline(std::int32_t stage) { apply(ComputeInlineStep{stage}); }
  void compute_root(std::int32_t stage) { apply(ComputeRootStep{stage}); }
  /// The new stage; stages with greater ids have moved up by one.
  std::int32_t cache_read(std::int32_t stage, const std::string& scope, const IdList& readers) {
    apply(CacheReadStep{stage, scope, readers});
    return stage + 1;
  }
  /// The new stage, which has the id of the old one; the copy out of it is the next stage.
  std::int32_t cache_write(std::int32_t stage, const std::string& scope) {
    apply(CacheWriteStep{stage, scope});
    return stage;
  }
  /// The .rf stage, which has the id of the old one; the .repl stage is the next.
  std::int32_t rfactor(std::int32_t stage, std::int32_t iterator, std::int32_t factor_iterator) {
    apply(RfactorStep{stage, iterator, factor_iterator});
    return stage;
  }
  void storage_align(std::int32_t stage, std::int32_t iterator, std::int32_t factor,
                     std::int32_t offset) {
    apply(StorageAlignStep{stage, iterator, factor, offset});
  }
  void storage_layout(std::int32_t stage, const LengthList& blocks, const IdList& order,
                      std::int64_t pad_elements = 0) {
    apply(StorageLayoutStep{stage, blocks, order, pad_elements});
  }
  void apply(Step step) {
    const std::string tag(tag_of(step));
    if (const StepCheck error = try_apply(state_, std::move(step))) {
      throw Error("schedule: " + tag + " is not legal: " + explain(*error, state_));
    }
  }
  /// What a split step records: the extent now, 0 if it is not known.
  std::int64_t extent_of(std::int32_t stage, std::int32_t iterator) const {
    if (stage < 0 || static_cast<std::size_t>(stage) >= state_.num_stages()) {
      return 0;
    }
    const auto& iterators = state_.stage(static_cast<std::size_t>(stage)).iterators;
    return iterator < 0 || static_cast<std::size_t>(iterator) >= iterators.size()
               ? 0
               : iterators[static_cast<std::size_t>(iterator)].extent.value_or(0);
  }
  std::string text() const { return state_text(state_); }

 private:
  static std::vector<std::int32_t> consecutive(std::int32_t first, std::size_t count) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(first + static_cast<std::int32_t>(i));
    }
    return ids;
  }
  State state_;
};

}  // namespace tensorsmith
