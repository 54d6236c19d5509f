// Access analysis: who reads whom, how, and what follows for inlining, tiling and fusion.
//
// Floor 2. Ansor reference, ch. 1.2. A value computed once per dag by analyze_access; stages are
// named by their index in ComputeDag::operations(). Queries that look through inlined stages take a
// predicate `is_inlined(stage)`, so that this floor knows no states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/te/compute_dag_build.hpp"

namespace tensorsmith::te {

/// All reads of one producer (or by one consumer): index vectors in the order of the bodies. A read
/// that occurs twice is listed twice.
struct Access {
  std::uint32_t stage = 0;  ///< the other stage
  std::vector<ExprList> reads;
};

struct StageAccess {
  bool is_placeholder = false;
  bool is_simple_access = true;
  bool is_strictly_inlineable = false;
  bool needs_multi_level_tiling = false;
  bool is_output = false;
  bool has_branch = false;        ///< if_then_else or select in a body
  std::vector<Access> read_from;  ///< by ascending producer
  std::vector<Access> read_by;    ///< by ascending consumer
  /// (other stage, n) for every direct producer and consumer, by ascending stage.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> num_common_outer;
};

struct AccessAnalysis {
  std::vector<StageAccess> stages;
  /// Stage ids in analysis order (Kahn with priorities, Ansor reference ch. 1.1).
  std::vector<std::uint32_t> topological_order;
};

/// `index` is var, var + c, var - c or c + var.
inline bool is_const_shift_equal(const ExprPool& pool, VarId var, ExprId index) {
  const auto is_var = [&](ExprId id) {
    const VarRef* ref = pool.as<VarRef>(id);
    return ref != nullptr && ref->var == var;
  };
  if (is_var(index)) {
    return true;
  }
  const Binary* binary = pool.as<Binary>(index);
  if (binary == nullptr || (binary->op != BinaryOp::add && binary->op != BinaryOp::sub)) {
    return false;
  }
  if (is_var(binary->a) && pool.as<IntImm>(binary->b) != nullptr) {
    return true;
  }
  return binary->op == BinaryOp::add && is_var(binary->b) && pool.as<IntImm>(binary->a) != nullptr;
}

struct SimpleAccess {
  bool is_simple = true;
  bool axis_missing = false, axis_duplicated = false, same_order = true;
  bool is_elementwise() const {
    return is_simple && !axis_missing && !axis_duplicated && same_order;
  }
};

/// The simple-access test of one index vector in operation `op`.
inline SimpleAccess test_access(const ExprPool& pool, const Operation& op,
                                const ExprList& indices) {
  SimpleAccess result;
  std::vector<std::size_t> matched;
  std::vector<int> count(op.axes.size(), 0);
  for (ExprId index : indices) {
    if (pool.as<IntImm>(index) != nullptr) {
      continue;
    }
    std::size_t axis = 0;
    while (axis < op.axes.size() && !is_const_shift_equal(pool, op.axes[axis].var, index)) {
      ++axis;
    }
    if (axis == op.axes.size()) {
      result.is_simple = false;
      return result;
    }
    if (!matched.empty() && axis < matched.back()) {
      result.same_order = false;
    }
    matched.push_back(axis);
    ++count[axis];
  }
  for (int times : count) {
    result.axis_missing = result.axis_missing || times == 0;
    result.axis_duplicated = result.axis_duplicated || times > 1;
  }
  return result;
}

namespace detail {

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

inline void set_common(StageAccess& stage, std::uint32_t other, std::uint32_t count) {
  auto& list = stage.num_common_outer;
  std::size_t at = 0;
  while (at < list.size() && list[at].first < other) {
    ++at;
  }
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), {other, count});
}

/// Some spatial axis of extent > 1 occurs in no index of `access`.
inline bool misses_an_axis(const ExprPool& pool, const Operation& op, const Access& access) {
  for (const Axis& axis : op.axes) {
    bool used = axis.extent <= 1;
    for (const ExprList& indices : access.reads) {
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

inline void analyze_compute(const ComputeDag& dag, const Operation& op, StageAccess& facts) {
  const ExprPool& pool = dag.pool();
  bool has_exp = false;
  for (ExprId body : op.bodies) {
    visit_expr(pool, body, [&](ExprId id) {
      const Call* call = pool.as<Call>(id);
      has_exp = has_exp || (call != nullptr && call->op == CallOp::exp);
      facts.has_branch = facts.has_branch || pool.as<Select>(id) != nullptr ||
                         (call != nullptr && call->op == CallOp::if_then_else);
      if (const TensorRead* read = pool.as<TensorRead>(id)) {
        access_of(facts.read_from, dag.tensor(read->tensor).operation)
            .reads.push_back(read->indices);
      }
    });
  }
  // The only call that the reference regards as expensive is exp.
  facts.is_strictly_inlineable = !has_exp && !facts.has_branch;
  int num_missing = 0;
  for (const Access& access : facts.read_from) {
    for (const ExprList& indices : access.reads) {
      const SimpleAccess simple = test_access(pool, op, indices);
      facts.is_simple_access = facts.is_simple_access && simple.is_simple;
      facts.is_strictly_inlineable = facts.is_strictly_inlineable && simple.is_simple &&
                                     simple.same_order && !simple.axis_duplicated;
    }
    num_missing += misses_an_axis(pool, op, access) ? 1 : 0;
  }
  if (facts.read_from.empty()) {
    facts.is_strictly_inlineable = true;  // a constant tensor
  }
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

}  // namespace detail

/// Linear in the size of the bodies, a read counted once per occurrence.
inline AccessAnalysis analyze_access(const ComputeDag& dag) {
  const std::vector<Operation>& operations = dag.operations();
  AccessAnalysis result;
  result.stages.resize(operations.size());
  for (std::uint32_t stage = 0; stage < operations.size(); ++stage) {
    StageAccess& facts = result.stages[stage];
    facts.is_placeholder = operations[stage].is_placeholder();
    if (!facts.is_placeholder) {
      detail::analyze_compute(dag, operations[stage], facts);
    }
    for (const Access& access : facts.read_from) {
      result.stages[access.stage].read_by.push_back({stage, access.reads});
      const std::uint32_t common = detail::count_common_outer(dag, operations[stage], access);
      detail::set_common(facts, access.stage, common);
      detail::set_common(result.stages[access.stage], stage, common);
    }
  }
  for (StageAccess& facts : result.stages) {
    facts.is_output = facts.read_by.empty();
  }
  result.topological_order = topological_order(dag.pool(), operations, dag.arguments());
  return result;
}

/// ElementWiseMatch(from, to): along a chain of single readers every read is elementwise and every
/// shape is equal.
inline bool element_wise_match(const ComputeDag& dag, const AccessAnalysis& analysis,
                               std::uint32_t from, std::uint32_t to) {
  while (from != to) {
    const std::vector<Access>& readers = analysis.stages[from].read_by;
    if (readers.size() != 1) {
      return false;
    }
    const Operation& current = dag.operation(from);
    const Operation& next = dag.operation(readers[0].stage);
    if (current.is_placeholder() || next.is_placeholder()) {
      return false;
    }
    const auto& shape = dag.tensor(current.outputs[0]).shape;
    for (const Operation* op : {&current, &next}) {
      for (TensorId output : op->outputs) {
        if (!(dag.tensor(output).shape == shape)) {
          return false;
        }
      }
    }
    for (const ExprList& indices : readers[0].reads) {
      if (!test_access(dag.pool(), next, indices).is_elementwise()) {
        return false;
      }
    }
    from = readers[0].stage;
  }
  return true;
}

/// The common-outer number of two directly connected stages, 0 if they are not.
inline std::uint32_t num_common_outer_direct(const AccessAnalysis& analysis, std::uint32_t a,
                                             std::uint32_t b) {
  for (const auto& [other, count] : analysis.stages[a].num_common_outer) {
    if (other == b) {
      return count;
    }
  }
  return 0;
}

/// NumCommonOuterIterator(from, to): the minimum over all paths of readers, starting at the rank of
/// `from`; 0 if there is no path.
inline std::uint32_t num_common_outer_iterators(const ComputeDag& dag,
                                                const AccessAnalysis& analysis, std::uint32_t from,
                                                std::uint32_t to) {
  constexpr std::uint32_t unreached = UINT32_MAX;
  std::vector<std::uint32_t> least(analysis.stages.size(), unreached);
  least[from] = static_cast<std::uint32_t>(dag.tensor(dag.operation(from).outputs[0]).shape.size());
  for (std::uint32_t stage = from; stage < to; ++stage) {  // readers have greater ids
    if (least[stage] == unreached) {
      continue;
    }
    for (const Access& reader : analysis.stages[stage].read_by) {
      const std::uint32_t direct = num_common_outer_direct(analysis, stage, reader.stage);
      std::uint32_t& there = least[reader.stage];
      const std::uint32_t here = least[stage] < direct ? least[stage] : direct;
      there = here < there ? here : there;
    }
  }
  return least[to] == unreached ? 0 : least[to];
}

namespace detail {

template <class IsInlined>
void collect(const AccessAnalysis& analysis, std::uint32_t stage, bool forward,
             const IsInlined& is_inlined, std::vector<bool>& visited, std::vector<bool>& found) {
  const StageAccess& facts = analysis.stages[stage];
  for (const Access& access : forward ? facts.read_by : facts.read_from) {
    if (visited[access.stage]) {
      continue;
    }
    visited[access.stage] = true;
    if (is_inlined(access.stage)) {
      collect(analysis, access.stage, forward, is_inlined, visited, found);
    } else {
      found[access.stage] = true;
    }
  }
}
template <class IsInlined>
std::vector<std::uint32_t> collect_sorted(const AccessAnalysis& analysis, std::uint32_t stage,
                                          bool forward, const IsInlined& is_inlined) {
  std::vector<bool> visited(analysis.stages.size(), false), found(analysis.stages.size(), false);
  collect(analysis, stage, forward, is_inlined, visited, found);
  std::vector<std::uint32_t> stages;
  for (std::uint32_t i = 0; i < found.size(); ++i) {
    if (found[i]) {
      stages.push_back(i);
    }
  }
  return stages;
}

}  // namespace detail

/// Consumers(stage), ascending: readers, an inlined reader replaced by its own consumers.
template <class IsInlined>
std::vector<std::uint32_t> consumers(const AccessAnalysis& analysis, std::uint32_t stage,
                                     const IsInlined& is_inlined) {
  return detail::collect_sorted(analysis, stage, true, is_inlined);
}
/// Producers(stage), ascending: what it reads, an inlined producer replaced by its own producers.
template <class IsInlined>
std::vector<std::uint32_t> producers(const AccessAnalysis& analysis, std::uint32_t stage,
                                     const IsInlined& is_inlined) {
  return detail::collect_sorted(analysis, stage, false, is_inlined);
}

}  // namespace tensorsmith::te
