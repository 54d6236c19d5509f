// SPDX-License-Identifier: Apache-2.0
// StepCalls: steps as calls, for everything that is built step by step.
//
// Floor 3. Own design. A base of builders (schedule.hpp, space/template_builder.hpp). `Builder` has
//   state()              the program so far
//   add_step(Step)       appends one, or throws
//   subject              how its sentences for people begin
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {

template <class Builder>
class StepCalls {
 public:
  /// The stage of the operation with this name.
  std::int32_t stage(const std::string& name) const {
    for (std::size_t i = 0; i < state().num_stages(); ++i) {
      if (state().operation(i).name == name) {
        return static_cast<std::int32_t>(i);
      }
    }
    throw Error(std::string(Builder::subject) + ": no stage named \"" + name + "\"");
  }
  std::size_t num_iterators(std::int32_t stage) const {
    return state().stage(static_cast<std::size_t>(stage)).iterators.size();
  }
  /// What a split step records: the extent now, 0 if it is not known.
  std::int64_t extent_of(std::int32_t stage, std::int32_t iterator) const {
    if (stage < 0 || static_cast<std::size_t>(stage) >= state().num_stages()) {
      return 0;
    }
    const auto& iterators = state().stage(static_cast<std::size_t>(stage)).iterators;
    return iterator < 0 || static_cast<std::size_t>(iterator) >= iterators.size()
               ? 0
               : iterators[static_cast<std::size_t>(iterator)].extent.value_or(0);
  }

  std::vector<std::int32_t> follow_split(std::int32_t stage, std::int32_t iterator,
                                         std::int32_t source_step, std::int32_t num_split) {
    add(FollowSplitStep{stage, iterator, source_step, num_split});
    return consecutive(iterator, static_cast<std::size_t>(num_split) + 1);
  }
  std::vector<std::int32_t> follow_fused_split(std::int32_t stage, std::int32_t iterator,
                                               const IdList& source_steps, std::int32_t level,
                                               bool factor_or_nparts) {
    add(FollowFusedSplitStep{stage, iterator, source_steps, level, factor_or_nparts});
    return consecutive(iterator, 2);
  }
  /// The loop that they become.
  std::int32_t fuse(std::int32_t stage, const IdList& iterators) {
    add(FuseStep{stage, iterators});
    return iterators.empty() ? 0 : iterators[0];
  }
  void reorder(std::int32_t stage, const IdList& after) { add(ReorderStep{stage, after}); }
  void annotate(std::int32_t stage, std::int32_t iterator, Annotation annotation) {
    add(AnnotationStep{stage, iterator, annotation});
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
    add(PragmaStep{stage, iterator, hints::AutoUnroll{max_step}});
  }
  /// A remark about the stage as a whole: hint(C, hints::RowBlock{4}).
  void hint(std::int32_t stage, Hint hint) { add(PragmaStep{stage, 0, std::move(hint)}); }
  void compute_at(std::int32_t stage, std::int32_t target, std::int32_t iterator) {
    add(ComputeAtStep{stage, target, iterator});
  }
  void compute_inline(std::int32_t stage) { add(ComputeInlineStep{stage}); }
  void compute_root(std::int32_t stage) { add(ComputeRootStep{stage}); }
  /// The new stage; stages with greater ids have moved up by one.
  std::int32_t cache_read(std::int32_t stage, const std::string& scope, const IdList& readers) {
    add(CacheReadStep{stage, scope, readers});
    return stage + 1;
  }
  /// The new stage, which has the id of the old one; the copy out of it is the next stage.
  std::int32_t cache_write(std::int32_t stage, const std::string& scope) {
    add(CacheWriteStep{stage, scope});
    return stage;
  }
  /// The .rf stage, which has the id of the old one; the .repl stage is the next.
  std::int32_t rfactor(std::int32_t stage, std::int32_t iterator, std::int32_t factor_iterator) {
    add(RfactorStep{stage, iterator, factor_iterator});
    return stage;
  }
  void storage_align(std::int32_t stage, std::int32_t iterator, std::int32_t factor,
                     std::int32_t offset) {
    add(StorageAlignStep{stage, iterator, factor, offset});
  }
  void storage_layout(std::int32_t stage, const LengthList& blocks, const IdList& order,
                      std::int64_t pad_elements = 0) {
    add(StorageLayoutStep{stage, blocks, order, pad_elements});
  }
  /// The new stage, which has the id of the old one; what is left of that is the next stage.
  std::int32_t factor_sum(std::int32_t stage, const IdList& kept, const IdList& summed) {
    add(FactorSumStep{stage, kept, summed});
    return stage;
  }
  void expand_reduction(std::int32_t stage) { add(ExpandReductionStep{stage}); }

 protected:
  StepCalls() = default;

  static std::vector<std::int32_t> consecutive(std::int32_t first, std::size_t count) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < count; ++i) {
      ids.push_back(first + static_cast<std::int32_t>(i));
    }
    return ids;
  }

 private:
  const State& state() const { return static_cast<const Builder&>(*this).state(); }
  void add(Step step) { static_cast<Builder&>(*this).add_step(std::move(step)); }
};

}  // namespace tensorsmith
