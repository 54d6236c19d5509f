// SPDX-License-Identifier: Apache-2.0
// Packed copies of operands: which stages of a history they are.
//
// Floor 5. Own design. A packed copy is a cache read of scope `packed_scope`, of scope
// `lanes_scope`, for a part of the reads, of scope `widened_scope`, with elements as the reader
// computes, or of scope `patches_scope`, where the reader reads windows. A rule makes it
// (sketch/rules/pack_operand.hpp, sketch/rules/pack_patches.hpp); its loops and its layout follow
// from the register tile of its reader (search/schedule_packs.hpp), so no other step decides them,
// but for one thing: padding in its layout step says that it keeps the rows of its source.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "tensorsmith/sched/apply/lanes.hpp"
#include "tensorsmith/sched/apply/patches.hpp"
#include "tensorsmith/sched/apply/widened.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

inline constexpr std::string_view packed_scope = "packed";

/// The packed copies of a history that is replayed step by step.
class PackedCopies {
 public:
  PackedCopies() = default;
  explicit PackedCopies(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      follow(step);
    }
  }

  bool empty() const { return stages_.empty(); }
  /// Stage ids after the last step that was followed.
  const std::vector<std::int32_t>& stages() const { return stages_; }
  bool contains(std::int32_t stage) const { return has_item(stages_, stage); }

  /// Whether the layout that the history gives this copy has padding.
  bool keeps_rows(std::int32_t stage) const { return has_item(with_rows_, stage); }

  /// Whether the step says how a packed copy runs or lies in memory. Where it is computed is free.
  bool is_about_loops(const Step& step) const {
    const bool is_place = std::holds_alternative<ComputeAtStep>(step) ||
                          std::holds_alternative<ComputeRootStep>(step) ||
                          std::holds_alternative<ComputeInlineStep>(step);
    return !stages_.empty() && !is_place && !adds_stage(step) && contains(stage_of(step));
  }

  /// `step` is applied next.
  void follow(const Step& step) {
    for (auto* stages : {&stages_, &with_rows_}) {
      for (std::int32_t& stage : *stages) {
        stage = stage_after(step, stage);
      }
    }
    const CacheReadStep* read = std::get_if<CacheReadStep>(&step);
    if (read != nullptr && (read->scope == packed_scope || read->scope == lanes_scope ||
                            read->scope == widened_scope || read->scope == patches_scope)) {
      stages_.push_back(read->stage + 1);
    }
    const StorageLayoutStep* layout = std::get_if<StorageLayoutStep>(&step);
    if (layout != nullptr && contains(layout->stage)) {
      std::erase(with_rows_, layout->stage);
      if (layout->pad_elements > 0) {
        with_rows_.push_back(layout->stage);
      }
    }
  }

 private:
  std::vector<std::int32_t> stages_, with_rows_;
};

/// The caches of results that a history computes into first, followed like PackedCopies.
class ResultCaches {
 public:
  bool contains(std::int32_t stage) const { return has_item(stages_, stage); }
  const std::vector<std::int32_t>& stages() const { return stages_; }

  /// `step` is applied next.
  void follow(const Step& step) {
    for (std::int32_t& stage : stages_) {
      stage = stage_after(step, stage);
    }
    if (std::holds_alternative<CacheWriteStep>(step)) {
      stages_.push_back(stage_of(step));  // in front of the stage that is left to copy
    }
  }

 private:
  std::vector<std::int32_t> stages_;
};

/// How many steps come before the first that is about the loops of a packed copy.
inline std::size_t num_steps_before_packs(const std::vector<Step>& steps) {
  PackedCopies copies;
  std::size_t count = 0;
  while (count < steps.size() && !copies.is_about_loops(steps[count])) {
    copies.follow(steps[count++]);
  }
  return count;
}

}  // namespace tensorsmith
