// SPDX-License-Identifier: Apache-2.0
// DraftOperation: what the body of a stage reads and writes as its axes move.
//
// Floor 6. Own design. An index is taken as a linear form of the axes (floordiv and floormod by
// constants scale and cap it), inlined producers are read through, and axes whose loops were fused
// before any split count as one. No expressions are made: an estimate must cost microseconds.
// Not here: the loops (draft_program.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/cost/draft_terms.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/lower/solved_loops.hpp"
#include "tensorsmith/sched/derivation.hpp"
#include "tensorsmith/sched/reduction_blocks.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// One read of the body, or one store. Dimension d moves by row(d)[a] when axis a moves by one.
struct DraftAccess {
  TensorId tensor;
  std::size_t first = 0;  ///< of its rows in DraftOperation::coefficients
  std::size_t rank = 0;
  AxisMask moved_by = 0;
  bool is_store = false;
  bool is_streamed = false;      ///< a store past the caches
  std::int32_t lines_ahead = 0;  ///< of a prefetch; 0: none
  bool is_block_ahead = false;   ///< it is for the next block, in the order of memory
};

struct DraftOperation {
  std::size_t num_axes = 0, num_spatial = 0;
  std::vector<double> extents;       ///< of the axes
  std::vector<double> coefficients;  ///< rows of num_axes, one per dimension of every access
  std::vector<DraftAccess> accesses;
  double num_float_ops = 0;   ///< additions, products, comparisons of values per point
  double num_calls = 0;       ///< exp and its like, divisions
  double num_conditions = 0;  ///< guards and selections per point
  /// Axes that stand for a run of axes whose loops were fused before any split; the others of the
  /// run have extent 1.
  AxisMask collapsed = 0;
  DraftTerms terms;            ///< of its reduction; lowering leaves out the others
  std::vector<double> phases;  ///< per axis: a step of its inner loops is that many elements
  IdList solved;               ///< iterators that lowering replaces by a value
  std::vector<std::vector<AxisMask>> axes_of_iterators;  ///< as the function below finds them

  const double* row(const DraftAccess& access, std::size_t dimension) const {
    return coefficients.data() + access.first + dimension * num_axes;
  }
};

/// The axes that every iterator of a stage runs along, outermost first, by its name: "i.0@j.1@" -->
/// The axes that each iterator of a stage runs over. A part of a loop of axes that were fused
/// before any split has one entry of them all.
inline std::vector<std::vector<AxisMask>> axes_of_iterators(const StageDerivation& derivation,
                                                            std::size_t num_iterators) {
  struct Pieces {
    std::vector<AxisMask> axes;
    std::size_t num_whole = 0;  // at the end of `axes`: not yet split
  };
  std::vector<Pieces> of_node(static_cast<std::size_t>(derivation.num_nodes));
  for (std::size_t a = 0; a < static_cast<std::size_t>(derivation.num_axes); ++a) {
    of_node[a] = {{AxisMask{1} << a}, 1};
  }
  const auto at = [&](std::int32_t node) -> Pieces& {
    return of_node[static_cast<std::size_t>(node)];
  };
  for (const IteratorRelation& relation : derivation.relations) {
    if (relation.is_split) {
      Pieces pieces = at(relation.parent);
      for (; pieces.num_whole > 1; --pieces.num_whole) {
        pieces.axes[pieces.axes.size() - 2] |= pieces.axes.back();
        pieces.axes.pop_back();
      }
      pieces.num_whole = 0;
      for (const std::int32_t part : relation.parts) {
        at(part) = pieces;
      }
      continue;
    }
    Pieces fused;
    for (const std::int32_t part : relation.parts) {
      const Pieces& pieces = at(part);
      const bool is_whole = pieces.num_whole == pieces.axes.size();
      fused.num_whole = (is_whole ? fused.num_whole : 0) + pieces.num_whole;
      fused.axes.insert(fused.axes.end(), pieces.axes.begin(), pieces.axes.end());
    }
    at(relation.parent) = std::move(fused);
  }
  std::vector<std::vector<AxisMask>> result(num_iterators);
  for (std::size_t i = 0; i < num_iterators && i < derivation.leaves.size(); ++i) {
    result[i] = at(derivation.leaves[i].node).axes;
  }
  return result;
}

/// Reads the operation of a stage; values of inlined producers are read where they are computed.
class DraftReader {
 public:
  DraftReader(const State& state, std::size_t stage, const StageDerivation& derivation)
      : state_(state), stage_(stage), op_(state.operation(stage)), pool_(state.dag().pool()),
        has_blocks_(has_blocks_of_reduction(state, stage)) {
    result_.num_spatial = op_.axes.size();
    result_.num_axes = op_.axes.size() + op_.reduce_axes.size();
    Frame frame{&op_, std::vector<double>(result_.num_axes * result_.num_axes, 0.0)};
    for (std::size_t a = 0; a < result_.num_axes; ++a) {
      const bool is_spatial = a < op_.axes.size();
      const Axis& axis = is_spatial ? op_.axes[a] : op_.reduce_axes[a - op_.axes.size()];
      result_.extents.push_back(static_cast<double>(axis.extent));
      frame.rows[a * result_.num_axes + a] = 1;
    }
    result_.axes_of_iterators = axes_of_iterators(derivation, state.stage(stage).iterators.size());
    for (const std::vector<AxisMask>& axes : result_.axes_of_iterators) {
      for (AxisMask run : axes) {
        if ((run & (run - 1)) != 0 && (run & result_.collapsed) == 0) {
          collapse(run, frame);
        }
      }
    }
    result_.num_float_ops = op_.reduce_axes.empty() ? 0 : 1;
    conditions_ = term_conditions(state, stage);
    result_.solved = drop_unsolved(state, stage, conditions_);
    result_.terms = count_terms(conditions_, result_.extents);
    result_.phases.assign(result_.num_axes, 1);
    for (const TermCondition& condition : conditions_) {
      for (std::size_t a = 0; condition.modulus > 0 && a < result_.num_axes; ++a) {
        const bool has_phases = condition.coefficients[a] % condition.modulus != 0;
        result_.phases[a] = has_phases ? static_cast<double>(condition.modulus) : result_.phases[a];
      }
    }
    for (ExprId body : op_.bodies) {
      read(frame, body);
    }
    for (TensorId output : op_.outputs) {
      DraftAccess store{output, result_.coefficients.size(), op_.axes.size(), 0, true};
      store.is_streamed = state.stage(stage).hints.has<hints::StreamResult>();
      result_.coefficients.insert(
          result_.coefficients.end(), frame.rows.begin(),
          frame.rows.begin() + static_cast<std::ptrdiff_t>(op_.axes.size() * result_.num_axes));
      store.moved_by = (AxisMask{1} << op_.axes.size()) - 1;
      result_.accesses.push_back(store);
    }
  }
  DraftOperation take() { return std::move(result_); }

 private:
  /// An operation and, per axis of it, how the axes of the stage move that axis.
  struct Frame {
    const Operation* op;
    std::vector<double> rows;
  };

  /// The last axis of the run stands for all of it: one step of it is a fraction of a step of the
  /// axes before.
  void collapse(AxisMask run, Frame& frame) {
    std::size_t last = result_.num_axes;
    double steps = 1;
    for (std::size_t a = result_.num_axes; a-- > 0;) {
      if ((run >> a & 1) == 0) {
        continue;
      }
      last = last == result_.num_axes ? a : last;
      frame.rows[a * result_.num_axes + a] = 0;
      frame.rows[a * result_.num_axes + last] = 1 / steps;
      steps *= result_.extents[a];
      result_.extents[a] = 1;
    }
    result_.extents[last] = steps;
    result_.collapsed |= AxisMask{1} << last;
  }

  void read(const Frame& frame, ExprId id) {
    const ExprNode& node = pool_[id];
    if (const TensorRead* tensor = std::get_if<TensorRead>(&node.op)) {
      read_tensor(frame, *tensor);
      return;
    }
    if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      (binary->op == BinaryOp::div ? result_.num_calls : result_.num_float_ops) += 1;
    } else if (const Call* call = std::get_if<Call>(&node.op)) {
      const bool is_choice = call->op == CallOp::if_then_else;
      (is_choice ? result_.num_conditions : result_.num_calls) +=
          is_choice && is_left_out(pool_, conditions_, call->args[0]) ? 0 : 1;
      if (is_choice) {
        read_condition(frame, call->args[0]);
        read(frame, call->args[1]);
        read(frame, call->args[2]);
        return;
      }
    } else if (const Select* select = std::get_if<Select>(&node.op)) {
      result_.num_conditions += is_left_out(pool_, conditions_, select->condition) ? 0 : 1;
      read_condition(frame, select->condition);
      read(frame, select->if_true);
      read(frame, select->if_false);
      return;
    }
    for_each_child(node, [&](ExprId child) { read(frame, child); });
  }

  /// Index arithmetic, or a comparison of data.
  void read_condition(const Frame& frame, ExprId id) {
    const ExprNode& node = pool_[id];
    if (const TensorRead* tensor = std::get_if<TensorRead>(&node.op)) {
      read_tensor(frame, *tensor);
      return;
    }
    for_each_child(node, [&](ExprId child) { read_condition(frame, child); });
  }

  void read_tensor(const Frame& frame, const TensorRead& tensor) {
    const std::size_t width = result_.num_axes;
    const OperandPrefetch ahead = operand_prefetch(state_.stage(stage_).hints);
    std::vector<double> rows(tensor.indices.size() * width, 0.0);
    for (std::size_t d = 0; d < tensor.indices.size(); ++d) {
      add_index(frame, tensor.indices[d], 1, rows.data() + d * width);
    }
    const std::uint32_t producer = state_.dag().tensor(tensor.tensor).operation;
    if (state_.stage(producer).compute_at == ComputeAt::inlined) {
      const Frame inner{&state_.operation(producer), std::move(rows)};
      for (ExprId body : inner.op->bodies) {
        read(inner, body);
      }
      return;
    }
    DraftAccess access{tensor.tensor, result_.coefficients.size(), tensor.indices.size(), 0, false};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      access.moved_by |= rows[i] != 0 ? AxisMask{1} << (i % width) : 0;
    }
    const bool is_said = frame.op == &op_ && next_read_++ == ahead.operand;
    access.lines_ahead = is_said && (!ahead.is_block || has_blocks_) ? ahead.lines : 0;
    access.is_block_ahead = access.lines_ahead > 0 && ahead.is_block;
    for (DraftAccess& other : result_.accesses) {
      bool is_same = other.tensor == tensor.tensor;
      for (std::size_t i = 0; is_same && i < rows.size(); ++i) {
        is_same = result_.coefficients[other.first + i] == rows[i];
      }
      if (is_same) {
        other.lines_ahead = larger_of(other.lines_ahead, access.lines_ahead);
        other.is_block_ahead = other.is_block_ahead || access.is_block_ahead;
        return;  // read twice at the same place
      }
    }
    result_.coefficients.insert(result_.coefficients.end(), rows.begin(), rows.end());
    result_.accesses.push_back(access);
  }

  /// Adds |scale| times the form of the index to `row`.
  void add_index(const Frame& frame, ExprId id, double scale, double* row) const {
    const ExprNode& node = pool_[id];
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      const std::optional<std::size_t> axis = axis_of(*frame.op, ref->var);
      for (std::size_t a = 0; axis && a < result_.num_axes; ++a) {
        row[a] += scale * frame.rows[*axis * result_.num_axes + a];
      }
      return;
    }
    if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      const IntImm* left = pool_.as<IntImm>(binary->a);
      const IntImm* right = pool_.as<IntImm>(binary->b);
      const auto size = [](const IntImm& c) {
        return static_cast<double>(c.value < 0 ? -c.value : c.value);
      };
      if (binary->op == BinaryOp::mul && (left != nullptr || right != nullptr)) {
        add_index(frame, left != nullptr ? binary->b : binary->a,
                  scale * size(left != nullptr ? *left : *right), row);
        return;
      }
      if (binary->op == BinaryOp::floordiv && right != nullptr && right->value != 0) {
        add_index(frame, binary->a, scale / size(*right), row);
        return;
      }
      if (is_comparison(binary->op)) {
        return;
      }
    }
    for_each_child(node, [&](ExprId child) { add_index(frame, child, scale, row); });
  }

  static std::optional<std::size_t> axis_of(const Operation& op, VarId var) {
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      if (op.axes[a].var == var) {
        return a;
      }
    }
    for (std::size_t a = 0; a < op.reduce_axes.size(); ++a) {
      if (op.reduce_axes[a].var == var) {
        return op.axes.size() + a;
      }
    }
    return std::nullopt;
  }

  const State& state_;
  std::size_t stage_;
  const Operation& op_;
  const ExprPool& pool_;
  bool has_blocks_;
  std::int32_t next_read_ = 0;
  DraftOperation result_;
  std::vector<TermCondition> conditions_;
};

}  // namespace tensorsmith::detail
