// SPDX-License-Identifier: Apache-2.0
// Intermediate results in the place of the result that they turn into.
//
// Floor 4. Part of emit.hpp. Own design. Y is computed inside of Z, which reads Y only where it is
// itself written:
//     for i { Y[j] = exp(X[i, j]); S = sum Y; Z[i, j] = Y[j] * S }
//       -->  for i { Z[i, j] = exp(X[i, j]); S = sum Z[i, :]; Z[i, j] = Z[i, j] * S }
// The lines of Z are fetched while Y is computed, and there is no third row to keep near. Legal
// where the loops that Z still has cover exactly the box that Y computes, and all other readers of
// Y run before them, at the same place.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// Whether `stage`, which is computed at `leaf` of the nest `e`, may keep its box in e's result.
inline bool Emitter::may_share_home(const Emission& e, std::size_t leaf, std::int32_t stage,
                                    const std::vector<SymbolicInterval>& box) {
  const Operation& op = state_.operation(static_cast<std::size_t>(stage));
  if (is_gpu_ || e.mode != BodyMode::compute || !e.op->reduce_axes.empty() ||
      op.outputs.size() != 1 || e.op->outputs.size() != 1 ||
      layouts_[static_cast<std::size_t>(stage)] != nullptr) {
    return false;
  }
  const TensorHome& home = homes_[e.op->outputs[0].value];
  const TensorInfo& own = state_.dag().tensor(op.outputs[0]);
  const TensorInfo& result = state_.dag().tensor(e.op->outputs[0]);
  if (home.layout != nullptr || own.dtype != result.dtype || own.shape != result.shape) {
    return false;
  }
  if (program_[home.buffer].is_streamed) {  // every pass would fetch it from memory
    return false;
  }
  for (std::size_t t = 0; t < homes_.size(); ++t) {  // one at a time
    if (t != e.op->outputs[0].value && homes_[t].buffer == home.buffer) {
      return false;
    }
  }
  const std::int32_t iterator = e.nest.derivation.leaves[leaf].iterator;
  const auto& operations = state_.dag().operations();
  for (std::size_t r = 0; r < operations.size(); ++r) {
    const auto reader = static_cast<std::int32_t>(r);
    const auto place = state_.attach_map().stage_to_iterator.find(reader);
    const bool is_before = place != state_.attach_map().stage_to_iterator.end() &&
                           place->second == IteratorKey{e.nest.stage, iterator};
    bool fits = true;
    for (ExprId body : operations[r].bodies) {
      visit_nodes(program_.pool, body, [&](ExprId id) {
        const TensorRead* read = program_.pool.as<TensorRead>(id);
        if (read == nullptr || read->tensor != op.outputs[0] || (is_before && reader != stage)) {
          return;
        }
        fits = fits && reader == e.nest.stage;
        for (std::size_t d = 0; fits && d < read->indices.size(); ++d) {
          const VarRef* index = program_.pool.as<VarRef>(read->indices[d]);
          fits = index != nullptr && index->var == e.op->axes[d].var;
        }
      });
    }
    if (!fits) {
      return false;
    }
  }
  return covers_exactly(e, leaf, box);
}

}  // namespace tensorsmith::detail
