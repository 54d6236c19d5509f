// SPDX-License-Identifier: Apache-2.0
// AddCacheRead: threads of a block share a copy of an input of a tiled stage.
//
// Floor 5. Ansor reference, ch. 4.3; for GPUs. Legal for a stage whose first consumer has
// multi-level tiling, reads it directly and shares no reduction between threads. One copy per
// consumer, computed in the last loop of its outermost reduction tile:
//     C: ... k.0 { k.1 i.3 j.3 k.2 i.4 j.4: C += A * B }
//         -->  C: ... k.0 { A.shared = A; k.1 i.3 j.3 k.2 i.4 j.4: C += A.shared * B }
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct AddCacheRead {
  static constexpr std::string_view name() { return "add_cache_read"; }

  Applicability applicability(const RuleInput& input) const {
    const std::vector<std::int32_t> readers = consumers(input.state, input.analysis, input.stage);
    const bool applies =
        !readers.empty() && needs_tiling(input.analysis, readers.front()) &&
        is_tiled(input.state, readers.front()) &&
        !has_cross_thread_reduction(input.state, readers.front()) &&
        all_items(readers, [&](std::int32_t reader) {
          // The reference looks at the first one only, and fails if another reads it indirectly.
          return reads_directly(input, reader) && last_of_outer_reduction(input.state, reader);
        });
    return applies ? Applicability::apply_and_skip_rest : Applicability::skip;
  }

  /// The stage is looked at again: what reads it now are its copies.
  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    std::int32_t num_copies = 0;
    for (std::int32_t reader : consumers(input.state, input.analysis, input.stage)) {
      grow(state, CacheReadStep{input.stage, "shared", {reader + num_copies++}});
      const std::int32_t target = reader + num_copies;
      const auto place = last_of_outer_reduction(state, target);
      grow(state, ComputeAtStep{input.stage + 1, target, place.value_or(0)});
    }
    return {Derivation{std::move(state), input.stage}};
  }

 private:
  static bool reads_directly(const RuleInput& input, std::int32_t reader) {
    return any_item(
        input.analysis.producers(static_cast<std::uint32_t>(reader)),
        [&](std::uint32_t id) { return id == static_cast<std::uint32_t>(input.stage); });
  }

  /// The first reduction iterator at which every reduction axis that is split has been met.
  static std::optional<std::int32_t> last_of_outer_reduction(const State& state,
                                                             std::int32_t stage) {
    const ExprPool& pool = state.dag().pool();
    std::size_t num_split = 0;
    for (const Axis& axis : state.operation(static_cast<std::size_t>(stage)).reduce_axes) {
      num_split += is_not_split(state, stage, pool.var_name(axis.var)) ? 0 : 1;
    }
    std::vector<std::string> met;
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (iterators[i].kind != IteratorKind::reduction) {
        continue;
      }
      for (std::string& name : original_names(iterators[i].name)) {
        if (!has_item(met, name)) {
          met.push_back(std::move(name));
        }
      }
      if (num_split == 0 || met.size() == num_split) {
        return static_cast<std::int32_t>(i);
      }
    }
    return std::nullopt;
  }
};

}  // namespace tensorsmith
