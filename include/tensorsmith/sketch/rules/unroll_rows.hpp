// SPDX-License-Identifier: Apache-2.0
// UnrollRows: loops over the rows of a constant matrix are unrolled around the innermost one.
//
// Floor 5. Own design; the native form of simplify_const_tensor.hpp for stages that reduce nothing
// and have their rows written out (ops/winograd.hpp). Legal for a stage whose operation names such
// loops in `simplify_const_tensor_indices`. The others are split once, the last one stays
// innermost, where it becomes a vector. A stage of this kind that only another one reads is
// computed in it.
//     e f p ci, names e f  -->  p.0 ci.0 p.1 unroll(e) unroll(f) ci.1
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct UnrollRows {
  static constexpr std::string_view name() { return "unroll_rows"; }

  Applicability applicability(const RuleInput& input) const {
    return has_rows(input.state, input.stage) ? Applicability::apply_and_skip_rest
                                              : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const auto reader = single_consumer(state, input.analysis, input.stage);
    const bool is_inside =
        reader && has_rows(state, *reader) &&
        !input.analysis.is_output(static_cast<std::uint32_t>(input.stage)) &&
        state.stage(static_cast<std::size_t>(*reader)).compute_at == ComputeAt::root;
    const auto before = state.stage(static_cast<std::size_t>(input.stage)).iterators;
    std::vector<std::int32_t> outer, inner, unrolled;
    std::int32_t position = 0;
    for (const auto& it : before) {
      if (is_row(state, input.stage, it.name)) {
        grow(state, AnnotationStep{input.stage, position, Annotation::unroll});
        unrolled.push_back(position++);
        continue;
      }
      if (!is_inside) {
        grow(state, split_of(state, input.stage, position, LengthList(1, unknown_length)));
        outer.push_back(position++);
      }
      inner.push_back(position++);
    }
    if (!inner.empty()) {
      unrolled.push_back(inner.back());
      inner.pop_back();
    }
    order_loops(state, input.stage, outer, inner, unrolled);
    if (is_inside) {
      grow(state, ComputeAtStep{input.stage, *reader, last_in_front_of_rows(state, *reader)});
    }
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  static bool is_row(const State& state, std::int32_t stage, std::string_view name) {
    return has_item(
        state.operation(static_cast<std::size_t>(stage)).attrs.simplify_const_tensor_indices, name);
  }
  /// Has rows, reduces nothing, and has an axis beside them.
  static bool has_rows(const State& state, std::int32_t stage) {
    const Operation& op = state.operation(static_cast<std::size_t>(stage));
    return !op.attrs.simplify_const_tensor_indices.empty() && op.reduce_axes.empty() &&
           op.axes.size() > op.attrs.simplify_const_tensor_indices.size();
  }
  static std::int32_t last_in_front_of_rows(const State& state, std::int32_t stage) {
    const auto& iterators = state.stage(static_cast<std::size_t>(stage)).iterators;
    std::int32_t last = 0;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (iterators[i].annotation == Annotation::unroll) {
        break;
      }
      last = static_cast<std::int32_t>(i);
    }
    return last;
  }
};

}  // namespace tensorsmith
