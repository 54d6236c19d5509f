// DraftProgram: what the draft must know of a state: loops around every stage, and what the body
// reads and writes as they run.
//
// Floor 6. Own design. An index is taken as a linear form of the axes (floordiv and floormod by
// constants scale and cap it), inlined producers are read through, and a stage inside another's
// loops sees which of its own axes those loops move. No expressions are made: an estimate must cost
// microseconds. Not here: costs (draft_model.hpp), exact regions (sched/bounds, lower).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/cost/draft_terms.hpp"
#include "tensorsmith/ir/rewrite.hpp"
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
  std::int32_t lines_ahead = 0;  ///< of a prefetch; 0: none
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
  DraftTerms terms;  ///< of its reduction; lowering leaves out the others

  const double* row(const DraftAccess& access, std::size_t dimension) const {
    return coefficients.data() + access.first + dimension * num_axes;
  }
};

/// The axes that every iterator of a stage runs along, outermost first, by its name: "i.0@j.1@" -->
/// i, j; "i@j@.0", a part of loops that were fused before the split --> one entry of both.
inline std::vector<std::vector<AxisMask>> axes_of_iterators(const State& state, std::size_t stage) {
  const Operation& op = state.operation(stage);
  std::vector<std::string> names;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      names.push_back(clean_name(state.dag().pool().var_name(axis.var)));
    }
  }
  std::vector<std::vector<AxisMask>> result;
  for (const auto& iterator : state.stage(stage).iterators) {
    const std::string_view name = iterator.name;
    std::vector<AxisMask> found;
    std::size_t num_whole = 0;  // at the end of `found`: not yet split
    for (std::size_t begin = 0; begin < name.size();) {
      const std::size_t end = smaller_of(name.find('@', begin), name.size());
      const std::string_view piece = name.substr(begin, end - begin);
      const std::string_view base = piece.substr(0, piece.find('.'));
      begin = end + 1;
      if (base.empty() && !piece.empty()) {
        for (; num_whole > 1; --num_whole) {
          found[found.size() - 2] |= found.back();
          found.pop_back();
        }
        num_whole = 0;
        continue;
      }
      std::size_t axis = 0;
      while (axis < names.size() && names[axis] != base) {
        ++axis;
      }
      if (axis < names.size()) {
        found.push_back(AxisMask{1} << axis);
        num_whole = base == piece ? num_whole + 1 : 0;
      }
    }
    result.push_back(std::move(found));
  }
  return result;
}

/// One loop around a stage's body. A loop of several fused axes counts as several loops.
struct DraftLoop {
  double extent = 1;
  AxisMask moves = 0;
  std::int32_t stage = -1, iterator = -1;  ///< where it stands
  bool is_reduction = false, is_parallel = false;
  bool is_fused_inner = false;  ///< not the first part of its iterator
};

/// Reads the operation of a stage; values of inlined producers are read where they are computed.
class DraftReader {
 public:
  DraftReader(const State& state, std::size_t stage)
      : state_(state), stage_(stage), op_(state.operation(stage)), pool_(state.dag().pool()) {
    result_.num_spatial = op_.axes.size();
    result_.num_axes = op_.axes.size() + op_.reduce_axes.size();
    Frame frame{&op_, std::vector<double>(result_.num_axes * result_.num_axes, 0.0)};
    for (std::size_t a = 0; a < result_.num_axes; ++a) {
      const bool is_spatial = a < op_.axes.size();
      const Axis& axis = is_spatial ? op_.axes[a] : op_.reduce_axes[a - op_.axes.size()];
      result_.extents.push_back(static_cast<double>(axis.extent));
      frame.rows[a * result_.num_axes + a] = 1;
    }
    for (const std::vector<AxisMask>& axes : axes_of_iterators(state, stage)) {
      for (AxisMask run : axes) {
        if ((run & (run - 1)) != 0 && (run & result_.collapsed) == 0) {
          collapse(run, frame);
        }
      }
    }
    result_.num_float_ops = op_.reduce_axes.empty() ? 0 : 1;
    conditions_ = term_conditions(state, stage);
    result_.terms = count_terms(conditions_, result_.extents);
    for (ExprId body : op_.bodies) {
      read(frame, body);
    }
    for (TensorId output : op_.outputs) {
      DraftAccess store{output, result_.coefficients.size(), op_.axes.size(), 0, true};
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
      if (is_choice) {  // its condition is index arithmetic
        read(frame, call->args[1]);
        read(frame, call->args[2]);
        return;
      }
    } else if (const Select* select = std::get_if<Select>(&node.op)) {
      result_.num_conditions += is_left_out(pool_, conditions_, select->condition) ? 0 : 1;
      read(frame, select->if_true);
      read(frame, select->if_false);
      return;
    }
    for_each_child(node, [&](ExprId child) { read(frame, child); });
  }

  void read_tensor(const Frame& frame, const TensorRead& tensor) {
    const std::size_t width = result_.num_axes;
    const OperandPrefetch& ahead = state_.stage(stage_).prefetch;
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
    access.lines_ahead = frame.op == &op_ && next_read_++ == ahead.operand ? ahead.lines : 0;
    for (DraftAccess& other : result_.accesses) {
      bool is_same = other.tensor == tensor.tensor;
      for (std::size_t i = 0; is_same && i < rows.size(); ++i) {
        is_same = result_.coefficients[other.first + i] == rows[i];
      }
      if (is_same) {
        other.lines_ahead = larger_of(other.lines_ahead, access.lines_ahead);
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
  std::int32_t next_read_ = 0;
  DraftOperation result_;
  std::vector<TermCondition> conditions_;
};

/// A state, read once. Stages that are placeholders or inlined have no operation and no loops.
class DraftProgram {
 public:
  explicit DraftProgram(const State& state) : state_(state), operations_(state.num_stages()) {
    for (std::size_t s = 0; s < state.num_stages(); ++s) {
      if (is_computed(s) && axes_fit(state.operation(s))) {
        operations_[s] = DraftReader(state, s).take();
      }
    }
  }

  const State& state() const { return state_; }
  bool is_computed(std::size_t stage) const {
    return !state_.stage(stage).is_placeholder &&
           state_.stage(stage).compute_at != ComputeAt::inlined;
  }
  const DraftOperation& operation(std::size_t stage) const { return operations_[stage]; }

  /// Where `stage` is computed; nothing at root.
  std::optional<IteratorKey> place(std::size_t stage) const {
    const auto& places = state_.attach_map().stage_to_iterator;
    const auto found = places.find(static_cast<std::int32_t>(stage));
    return found == places.end() ? std::nullopt : std::optional<IteratorKey>(found->second);
  }

  /// The loops of other stages around `stage`, outermost first, and which of its axes they move.
  std::vector<DraftLoop> loops_around(std::size_t stage) const {
    const std::optional<IteratorKey> at = place(stage);
    if (!at) {
      return {};
    }
    const auto parent = static_cast<std::size_t>(at->stage);
    std::vector<DraftLoop> loops = loops_around(parent);
    for (const DraftLoop& loop : own_loops(parent)) {
      if (loop.iterator <= at->iterator) {
        loops.push_back(loop);
      }
    }
    for (DraftLoop& loop : loops) {
      loop.moves = translate(loop.moves, parent, stage);
    }
    return loops;
  }

  /// The stage's own loops, outermost first.
  std::vector<DraftLoop> own_loops(std::size_t stage) const {
    const DraftOperation& read = operations_[stage];
    const auto& iterators = state_.stage(stage).iterators;
    const std::vector<std::vector<AxisMask>> axes = axes_of_iterators(state_, stage);
    std::vector<double> covered(read.num_axes, 1.0);  // of each axis by loops of its own
    std::vector<DraftLoop> loops;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      DraftLoop loop;
      loop.extent = static_cast<double>(iterators[i].extent.value_or(1));
      loop.stage = static_cast<std::int32_t>(stage);
      loop.iterator = static_cast<std::int32_t>(i);
      loop.is_reduction = iterators[i].kind == IteratorKind::reduction;
      loop.is_parallel = iterators[i].annotation == Annotation::parallel;
      bool is_first = true;
      for (AxisMask run : axes[i]) {
        loop.moves = AxisMask{1} << axis_index(run);
        loop.is_fused_inner = !is_first;
        is_first = false;
        loops.push_back(loop);
      }
      if (is_first) {
        loops.push_back(loop);
      } else if (!loops.back().is_fused_inner) {
        covered[axis_index(loops.back().moves)] *= loop.extent;
      }
    }
    share_fused(read, covered, loops);
    trim(read, loops);
    return loops;
  }

  static std::size_t axis_index(AxisMask mask) {
    std::size_t a = 0;
    while (mask > 1) {
      mask >>= 1;
      ++a;
    }
    return a;
  }

  /// The axes of `to` that move when the axes in `mask` of `from`, around it, move.
  AxisMask translate(AxisMask mask, std::size_t from, std::size_t to) const {
    AxisMask moved = mask == 0 ? 0 : read_by(mask, from, to);
    for (std::size_t between = to + 1; mask != 0 && between < from; ++between) {
      const std::optional<IteratorKey> at = is_computed(between) ? place(between) : std::nullopt;
      if (at) {
        moved |= read_by(translate(mask, from, between), between, to);
      }
    }
    return moved;
  }

 private:
  static constexpr std::size_t most_axes = 48;
  static bool axes_fit(const Operation& op) {
    return op.axes.size() + op.reduce_axes.size() <= most_axes;
  }

  AxisMask read_by(AxisMask mask, std::size_t reader, std::size_t producer) const {
    const DraftOperation& op = operations_[reader];
    AxisMask moved = 0;
    for (const DraftAccess& access : op.accesses) {
      if (access.is_store || state_.dag().tensor(access.tensor).operation != producer) {
        continue;
      }
      for (std::size_t d = 0; d < access.rank; ++d) {
        for (std::size_t a = 0; a < op.num_axes; ++a) {
          const bool is_moving = (mask >> a & 1) != 0 && op.row(access, d)[a] != 0;
          moved |= is_moving ? AxisMask{1} << d : 0;
        }
      }
    }
    return moved;
  }

  /// The extents of the parts of fused loops, from the innermost: what the axis has left.
  static void share_fused(const DraftOperation& read, std::vector<double>& covered,
                          std::vector<DraftLoop>& loops) {
    for (std::size_t end = loops.size(); end > 0;) {
      std::size_t begin = end - 1;
      while (loops[begin].is_fused_inner) {
        --begin;
      }
      double rest = loops[begin].extent;
      for (std::size_t i = end; i > begin && begin + 1 < end; --i) {
        DraftLoop& loop = loops[i - 1];
        const std::size_t axis = axis_index(loop.moves);
        const double left = ceil_of(read.extents[axis] / covered[axis]);
        loop.extent = i - 1 == begin ? rest : smaller_of(rest, larger_of(1.0, left));
        rest = ceil_of(rest / loop.extent);
        covered[axis] *= loop.extent;
      }
      end = begin;
    }
  }
  /// Loops that go beyond their axis (1021 in 16 x 64) run less often: the outermost is shortened.
  static void trim(const DraftOperation& read, std::vector<DraftLoop>& loops) {
    for (std::size_t axis = 0; axis < read.num_axes; ++axis) {
      double product = 1;
      DraftLoop* outermost = nullptr;
      for (DraftLoop& loop : loops) {
        if (loop.moves == AxisMask{1} << axis) {
          product *= loop.extent;
          outermost = outermost == nullptr && loop.extent > 1 ? &loop : outermost;
        }
      }
      if (outermost != nullptr && product > read.extents[axis]) {
        outermost->extent *= read.extents[axis] / product;
      }
    }
  }
  static double ceil_of(double x) {
    return static_cast<double>(static_cast<std::int64_t>(x + 0.999999));
  }

  const State& state_;
  std::vector<DraftOperation> operations_;
};

}  // namespace tensorsmith::detail
