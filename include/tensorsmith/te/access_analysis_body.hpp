// SPDX-License-Identifier: Apache-2.0
// The definitions of access_analysis.hpp.
//
// Floor 2. Included by te/access_analysis.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/te/access_analysis.hpp"
#include "tensorsmith/te/access_pattern.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith {

namespace te::detail {

inline Access& access_of(std::vector<Access>& list, std::uint32_t stage) {
  std::size_t at = 0;
  while (at < list.size() && list[at].stage < stage) {
    ++at;
  }
  if (at == list.size() || list[at].stage != stage) {
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), Access{stage, {}});
  }
  return list[at];
}

/// More occurrences of one read tell nothing more.
constexpr double most_occurrences = 16;
/// Operands and operations of a formula that is still computed in place.
constexpr double longest_inlined = 2048;

/// Operands and operations of the stage's formula, that of what it may be computed from in place
/// included; where that becomes too long, its producers are marked.
inline double formula_length(const ComputeDag& dag, const Operation& op,
                             const std::vector<double>& lengths, std::vector<StageAccess>& stages) {
  const auto length = [&](bool counts_producers) {
    double sum = 0;
    for (ExprId body : op.bodies) {
      visit_paths(dag.pool(), body, [&](ExprId id, double paths) {
        const TensorRead* read = dag.pool().as<TensorRead>(id);
        const std::uint32_t producer =
            read != nullptr ? dag.tensor(read->tensor).operation : UINT32_MAX;
        const bool is_inlined =
            counts_producers && read != nullptr && !stages[producer].is_placeholder &&
            !stages[producer].is_too_long_to_inline && dag.operation(producer).reduce_axes.empty();
        sum += paths * (is_inlined ? lengths[producer] : 1);
      });
    }
    return sum;
  };
  const double whole = length(true);
  if (whole <= longest_inlined) {
    return whole;
  }
  for (ExprId body : op.bodies) {
    visit_nodes(dag.pool(), body, [&](ExprId id) {
      if (const TensorRead* read = dag.pool().as<TensorRead>(id)) {
        const std::uint32_t producer = dag.tensor(read->tensor).operation;
        stages[producer].is_too_long_to_inline = !stages[producer].is_placeholder;
      }
    });
  }
  return length(false);
}

/// Some spatial axis of extent > 1 occurs in no index of `reads`.
inline bool misses_an_axis(const ExprPool& pool, const Operation& op,
                           const std::vector<ExprList>& reads) {
  for (const Axis& axis : op.axes) {
    bool used = axis.extent <= 1;
    for (const ExprList& indices : reads) {
      for (ExprId index : indices) {
        used = used || uses_var(pool, index, axis.var);
      }
    }
    if (!used) {
      return true;
    }
  }
  return false;
}

/// How many of what is read misses an axis.
inline int count_missing(const ExprPool& pool, const Operation& op, const Access& access,
                         DataReuse reuse) {
  if (reuse == DataReuse::of_producers) {
    return misses_an_axis(pool, op, access.reads) ? 1 : 0;
  }
  int count = 0;
  for (std::size_t i = 0; i < access.reads.size(); ++i) {
    bool is_new = true;
    for (std::size_t before = 0; before < i; ++before) {
      is_new = is_new && !(access.reads[before] == access.reads[i]);
    }
    count += is_new && misses_an_axis(pool, op, {access.reads[i]}) ? 1 : 0;
  }
  return count;
}

inline void analyze_compute(const ComputeDag& dag, const Operation& op, DataReuse reuse,
                            StageAccess& facts) {
  const ExprPool& pool = dag.pool();
  bool has_exp = false;
  for (ExprId body : op.bodies) {
    visit_paths(pool, body, [&](ExprId id, double paths) {
      const Call* call = pool.as<Call>(id);
      has_exp = has_exp || (call != nullptr && call->op == CallOp::exp);
      facts.has_branch = facts.has_branch || pool.as<Select>(id) != nullptr ||
                         (call != nullptr && call->op == CallOp::if_then_else);
      if (const TensorRead* read = pool.as<TensorRead>(id)) {
        std::vector<ExprList>& reads =
            access_of(facts.read_from, dag.tensor(read->tensor).operation).reads;
        for (double i = 0; i < paths && i < most_occurrences; ++i) {
          reads.push_back(read->indices);
        }
      }
    });
  }
  int num_missing = 0;
  for (const Access& access : facts.read_from) {
    for (const ExprList& indices : access.reads) {
      const SimpleAccess simple = test_access(pool, op, indices);
      facts.is_simple_access = facts.is_simple_access && simple.is_simple;
      facts.reads_in_order =
          facts.reads_in_order && simple.is_simple && simple.same_order && !simple.axis_duplicated;
    }
    num_missing += count_missing(pool, op, access, reuse);
  }
  // The only call that the reference regards as expensive is exp.
  const bool is_constant = facts.read_from.empty();
  facts.is_strictly_inlineable = is_constant || (!has_exp && !facts.has_branch &&
                                                 !op.attrs.never_inline && facts.reads_in_order);
  facts.needs_multi_level_tiling =
      (num_missing >= 2 || (num_missing >= 1 && !op.reduce_axes.empty())) &&
      op.attrs.simplify_const_tensor_indices.empty();
}

inline std::uint32_t count_common_outer(const ComputeDag& dag, const Operation& op,
                                        const Access& access) {
  const auto& shape = dag.tensor(op.outputs[0]).shape;
  const auto& producer = dag.tensor(dag.operation(access.stage).outputs[0]).shape;
  std::uint32_t common = 0;
  while (common < shape.size() && common < producer.size() && shape[common] == producer[common]) {
    for (const ExprList& indices : access.reads) {
      if (!is_const_shift_equal(dag.pool(), op.axes[common].var, indices[common])) {
        return common;
      }
    }
    ++common;
  }
  return common;
}

/// Both compute, all outputs of one shape, every read of `op` in `reader` elementwise.
inline bool is_elementwise_step(const ComputeDag& dag, const Operation& op, const Operation& reader,
                                const Access& access) {
  if (op.is_placeholder() || reader.is_placeholder()) {
    return false;
  }
  const auto& shape = dag.tensor(op.outputs[0]).shape;
  for (const Operation* either : {&op, &reader}) {
    for (TensorId output : either->outputs) {
      if (!(dag.tensor(output).shape == shape)) {
        return false;
      }
    }
  }
  for (const ExprList& indices : access.reads) {
    if (!test_access(dag.pool(), reader, indices).is_elementwise()) {
      return false;
    }
  }
  return true;
}

}  // namespace te::detail

TENSORSMITH_INLINE AccessAnalysis::AccessAnalysis(const ComputeDag& dag, DataReuse reuse)
    : reuse_(reuse), stages_(dag.operations().size()) {
  const std::vector<Operation>& operations = dag.operations();
  for (std::uint32_t id = 0; id < operations.size(); ++id) {
    StageAccess& facts = stages_[id];
    ranks_.push_back(
        static_cast<std::uint32_t>(dag.tensor(operations[id].outputs[0]).shape.size()));
    facts.is_placeholder = operations[id].is_placeholder();
    if (!facts.is_placeholder) {
      te::detail::analyze_compute(dag, operations[id], reuse, facts);
    }
    for (const Access& access : facts.read_from) {  // producers have smaller ids
      StageAccess& producer = stages_[access.stage];
      producer.read_by.push_back({id, access.reads});
      producer.readers.push_back(id);
      facts.producers.push_back(access.stage);
      const std::uint32_t common = te::detail::count_common_outer(dag, operations[id], access);
      facts.num_common_outer.emplace_back(access.stage, common);
      producer.num_common_outer.emplace_back(id, common);
    }
  }
  std::vector<double> lengths;
  for (std::uint32_t id = 0; id < operations.size(); ++id) {
    StageAccess& facts = stages_[id];
    facts.is_output = facts.read_by.empty();
    lengths.push_back(te::detail::formula_length(dag, operations[id], lengths, stages_));
    facts.matches_reader = facts.read_by.size() == 1 &&
                           te::detail::is_elementwise_step(
                               dag, operations[id], operations[facts.readers[0]], facts.read_by[0]);
  }
  for (TensorId argument : dag.arguments()) {
    StageAccess& facts = stages_[dag.tensor(argument).operation];
    facts.is_output = facts.is_output || !facts.is_placeholder;
  }
  topological_order_ = te::topological_order(dag.pool(), operations, dag.arguments());
}

TENSORSMITH_INLINE std::uint32_t
AccessAnalysis::num_common_outer_iterators(std::uint32_t from, std::uint32_t to) const {
  constexpr std::uint32_t unreached = UINT32_MAX;
  std::vector<std::uint32_t> least(stages_.size(), unreached);
  least[from] = ranks_[from];
  for (std::uint32_t id = from; id < to; ++id) {  // readers have greater ids
    if (least[id] == unreached) {
      continue;
    }
    for (std::uint32_t reader : stages_[id].readers) {
      const std::uint32_t direct = num_common_outer_direct(id, reader);
      const std::uint32_t here = least[id] < direct ? least[id] : direct;
      least[reader] = here < least[reader] ? here : least[reader];
    }
  }
  return least[to] == unreached ? 0 : least[to];
}

}  // namespace tensorsmith
