// SPDX-License-Identifier: Apache-2.0
// range_texts: the ranges of all iterators as the reference prints them, expressions included.
//
// Floor 5. Ansor reference, ch. 2.5 and 2.6. A stage that is computed inside of another begins
// where its readers do: at an expression of the loops around, `for h (i_outer * 4,6)`. The search
// has no use for these texts, infer_bounds() gives the extents as numbers. Loops have the names of
// the reference's schedules: `x_outer`, `x_inner`, `x_y_fused`, `blockIdx_x`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/text.hpp"
#include "tensorsmith/sched/bounds/range_inference.hpp"
#include "tensorsmith/sched/print_state.hpp"

namespace tensorsmith {
namespace detail {

class RangeTexts : private RangeInference {
 public:
  explicit RangeTexts(const State& state) : RangeInference(state) {}

  std::optional<StateRanges> run() {
    if (!infer_ranges()) {
      return std::nullopt;
    }
    name_of_var_.resize(pool_.num_vars());
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      if (ranges_[s].is_computed) {
        name_loops(s);
      }
    }
    StateRanges texts(state_.num_stages());
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      const std::vector<LeafIterator>& leaves = derivations_[s].leaves;
      for (std::size_t i = 0; ranges_[s].is_computed && i < leaves.size(); ++i) {
        if (leaves[i].iterator >= 0) {
          const NodeRange& range = ranges_[s].range[at(printed_node(s, i))];
          texts[s].push_back({text(range.min), text(range.extent)});
        }
      }
    }
    return texts;
  }

 private:
  /// An axis begins where its region does; of one that was split or fused, the parts begin at 0.
  std::int32_t printed_node(std::size_t s, std::size_t leaf) const {
    const std::int32_t node = node_of({s, leaf});
    for (const PairRelation& r : ranges_[s].relations.relations) {
      if (r.kind == RelationKind::shift && r.inner == node) {
        return r.whole;
      }
    }
    return node;
  }
  std::string text(algebra::Ref ref) const {
    return algebra::expression_text(
        pool_, ref, [&](std::int32_t var) { return name_of_var_[static_cast<std::size_t>(var)]; });
  }

  void name_loops(std::size_t s) {
    const Operation& op = dag_.operation(s);
    const StageDerivation& d = derivations_[s];
    std::vector<std::string> name(at(d.num_nodes));
    for (std::size_t a = 0; a < at(d.num_axes); ++a) {
      const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
      name[a] = dag_.pool().var_name(axis.var);
    }
    for (const IteratorRelation& r : d.relations) {
      if (!r.is_split) {
        std::string& fused = name[at(r.parent)];
        for (std::size_t i = 0; i < r.parts.size(); ++i) {
          fused += (i == 0 ? "" : "_") + name[at(r.parts[i])] + (i == 0 ? "" : "_fused");
        }
        continue;
      }
      // One length after the other, from the end where the lengths begin to count.
      std::string rest = name[at(r.parent)];
      const std::size_t n = r.lengths.size();
      for (std::size_t i = 0; i < n; ++i) {
        name[at(r.parts[r.inner_to_outer ? n - i : i])] =
            rest + (r.inner_to_outer ? "_inner" : "_outer");
        rest += r.inner_to_outer ? "_outer" : "_inner";
      }
      name[at(r.parts[r.inner_to_outer ? 0 : n])] = std::move(rest);
    }
    for (std::size_t i = 0; i < d.leaves.size(); ++i) {
      const LeafKey key{s, i};
      std::string& own = name_of_var_[at(var_of(key))];
      const bool is_bound = is_thread(key) && annotation_of(key) != Annotation::vthread;
      own = is_bound ? std::string(name_of(annotation_of(key))) : name[at(d.leaves[i].node)];
      for (char& c : own) {
        c = c == '.' ? '_' : c;
      }
    }
  }

  std::vector<std::string> name_of_var_;
};

}  // namespace detail

/// Per stage and iterator; empty for inlined stages and inputs. Nothing if the state is not
/// concrete or cannot be built (an attached stage that is read from outside).
inline std::optional<StateRanges> range_texts(const State& state) {
  return detail::RangeTexts(state).run();
}

/// state_text() with these ranges: the reference's own text of a state with bounds.
inline std::optional<std::string> reference_state_text(const State& state) {
  const auto ranges = range_texts(state);
  if (!ranges) {
    return std::nullopt;
  }
  return state_text(state, {.ranges = &*ranges});
}

}  // namespace tensorsmith
