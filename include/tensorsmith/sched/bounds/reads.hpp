// SPDX-License-Identifier: Apache-2.0
// What every stage that is not inlined reads, with inlined stages looked through.
//
// Floor 3. Ansor reference, ch. 2.5. The index forms are over the reader's own axes.
#pragma once

#include <vector>

#include "tensorsmith/sched/bounds/intervals.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::bounds {

struct Read {
  std::uint32_t reader = 0, source = 0;  ///< stages
  std::vector<Affine> indices;           ///< one per dimension of the source
};

/// Appends the reads of `reader`, whose axes must be in `context.extents()`.
class ReadCollector {
 public:
  ReadCollector(const State& state, IntervalContext& context, std::vector<Read>& reads)
      : state_(state), context_(context), reads_(reads) {}

  void collect(std::uint32_t reader) {
    reader_ = reader;
    for (ExprId body : state_.operation(reader).bodies) {
      walk(body, nullptr);
    }
  }

 private:
  /// `values`: the inlined stage's axes in terms of the reader's axes.
  void walk(ExprId id, const Substitution* values) {
    const ExprNode node = context_.pool()[id];
    if (const auto* read = std::get_if<TensorRead>(&node.op)) {
      ExprList indices = read->indices;
      if (values != nullptr) {
        for (ExprId& index : indices) {
          index = (*values)(context_.pool(), index);
        }
      }
      const std::uint32_t source = state_.dag().tensor(read->tensor).operation;
      if (state_.stage(source).compute_at == ComputeAt::inlined) {
        look_through(source, indices);
      } else if (!state_.stage(source).is_placeholder) {
        Read found;
        found.reader = reader_;
        found.source = source;
        for (ExprId index : indices) {
          found.indices.push_back(to_affine(context_.pool(), context_.extents(), index));
        }
        reads_.push_back(std::move(found));
      }
    }
    for_each_child(node, [&](ExprId child) { walk(child, values); });
  }
  void look_through(std::uint32_t stage, const ExprList& indices) {
    const Operation& op = state_.operation(stage);
    if (op.attrs.const_matrix) {
      return;  // a matrix of constants takes part in nothing
    }
    Substitution axes;
    for (std::size_t d = 0; d < op.axes.size(); ++d) {
      axes.set(op.axes[d].var, indices[d]);
    }
    walk(op.bodies[0], &axes);
  }

  const State& state_;
  IntervalContext& context_;
  std::vector<Read>& reads_;
  std::uint32_t reader_ = 0;
};

}  // namespace tensorsmith::bounds
