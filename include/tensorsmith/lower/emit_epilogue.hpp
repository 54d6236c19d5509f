// SPDX-License-Identifier: Apache-2.0
// Epilogues: an elementwise reader is computed where a register tile is written back.
//
// Floor 4. Part of emit.hpp. Own design. Y is computed inside of Z[i, j] = max(Y[i, j] + b[j], 0):
//     Y.acc = ... ; Y = Y.acc ; for i, j: Z = max(Y + b, 0)   -->   Y.acc = ... ; Z = max(Y.acc +
//     b, 0)
// Legal where the loops that Z still has cover exactly the box that Y computes, element for
// element. If a reduction loop stands outside of the tile, Y keeps its place for partial sums and Z
// is written in the last block.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// Whether the values of `stage` are used in `reader` and in nothing else that has loops.
inline bool NestDecisions::is_sole_reader(std::int32_t stage, std::int32_t reader) const {
  const auto& operations = state_.dag().operations();
  for (std::size_t r = 0; r < operations.size(); ++r) {
    const auto other = static_cast<std::int32_t>(r);
    bool reads = false;
    for (ExprId body : operations[r].bodies) {
      visit_nodes(program_.pool, body, [&](ExprId id) {
        const TensorRead* read = program_.pool.as<TensorRead>(id);
        reads = reads ||
                (read != nullptr &&
                 static_cast<std::int32_t>(state_.dag().tensor(read->tensor).operation) == stage);
      });
    }
    if (reads && other != reader && !(is_inlined(other) && is_sole_reader(other, reader))) {
      return false;
    }
  }
  return true;
}

/// Whether the loops inside of `leaf` visit every element of the box once, and no other element,
/// except where box and loops both end with the domain.
inline bool Emitter::covers_exactly(const Emission& e, std::size_t leaf,
                                    const std::vector<SymbolicInterval>& box) {
  const Nest& nest = e.nest;
  const ExprPool& pool = program_.pool;
  struct Digit {
    std::int64_t stride, extent;
    std::size_t leaf;
  };
  // How many values the digits that `is_wanted` takes have in a row, counted in `stride`; 0: gaps.
  const auto values_of = [](const std::vector<Digit>& digits, std::int64_t stride,
                            const auto& is_wanted) {
    std::int64_t product = 1;
    std::size_t wanted = 0, found = 0;
    for (const Digit& digit : digits) {
      wanted += digit.extent > 1 && is_wanted(digit) ? 1 : 0;
    }
    for (bool grows = true; grows;) {
      grows = false;
      for (const Digit& digit : digits) {
        if (digit.extent > 1 && is_wanted(digit) && digit.stride == stride * product) {
          product *= digit.extent;
          ++found;
          grows = true;
          break;
        }
      }
    }
    return found == wanted ? product : 0;
  };
  std::vector<std::vector<Digit>> digits(nest.axis_base.size());
  std::vector<bool> is_used(nest.num_leaves(), false);
  for (std::size_t a = 0; a < digits.size(); ++a) {
    const SymbolicInterval own = axis_interval(program_.pool, extents_, nest, a);
    if (!own.is_known || own.width != box[a].width || !(own.low == box[a].low)) {
      return false;
    }
    for (const AffineTerm& term : nest.axis_value[a].terms) {
      const std::int32_t deepest = deepest_leaf(pool, nest, term.atom);
      if (deepest <= static_cast<std::int32_t>(leaf)) {
        continue;
      }
      const auto at = static_cast<std::size_t>(deepest);
      if (pool.as<VarRef>(term.atom) == nullptr || is_used[at]) {
        return false;
      }
      is_used[at] = true;
      digits[a].push_back({term.coefficient, nest.leaf_extent[at], at});
    }
  }
  // Loops that a constraint cuts short count as one, if the cut is known; that of the whole axis at
  // the end of the domain holds for the box as well.
  for (const Constraint& c : nest.constraints) {
    bool is_settled = !c.residual;
    for (std::size_t a = 0; a < digits.size() && !is_settled; ++a) {
      Affine end = c.bound;
      end.add(nest.axis_base[a]);
      is_settled =
          c.form == nest.axis_value[a] && end.is_constant() && end.constant == e.op->axes[a].extent;
    }
    for (std::size_t a = 0; a < digits.size() && !is_settled; ++a) {
      const auto part = c.residual->is_constant() ? part_of_axis(pool, nest, a, c) : std::nullopt;
      if (!part) {
        continue;
      }
      const auto is_in_part = [&](const Digit& d) { return has_item(part->leaves, d.leaf); };
      const std::int64_t values = values_of(digits[a], part->scale, is_in_part);
      if (c.residual->constant < 1 || values < c.residual->constant) {
        return false;
      }
      const std::size_t first = part->leaves.front();
      std::erase_if(digits[a], is_in_part);
      digits[a].push_back({part->scale, c.residual->constant, first});
      is_settled = true;
    }
    if (!is_settled) {
      return false;
    }
  }
  for (std::size_t a = 0; a < digits.size(); ++a) {
    if (values_of(digits[a], 1, [](const Digit&) { return true; }) < box[a].width + 1) {
      return false;
    }
  }
  return true;
}

/// Whether `stage`, which is computed at `leaf` of the nest `e`, may write the elements of e
/// itself.
inline bool Emitter::can_finish(const Emission& e, std::size_t leaf, std::int32_t stage,
                                const std::vector<SymbolicInterval>& box) {
  const Operation& op = state_.operation(static_cast<std::size_t>(stage));
  const bool is_alone =
      state_.attach_map()
          .iterator_to_stages.at({e.nest.stage, e.nest.derivation.leaves[leaf].iterator})
          .size() == 1;
  if (!is_alone || e.mode != BodyMode::compute || !e.op->reduce_axes.empty() ||
      op.reduce_axes.empty() || op.outputs.size() != 1 || e.op->outputs.size() != 1 ||
      op.axes.size() != e.op->axes.size()) {
    return false;
  }
  const auto bytes = [&](const Operation& of) {
    return bytes_of(state_.dag().tensor(of.outputs[0]).dtype);
  };
  if (bytes(*e.op) > bytes(op)) {
    return false;  // the tile's vectors are as wide as a register of the sums
  }
  for (std::size_t i = leaf + 1; i < e.nest.num_leaves(); ++i) {
    const LeafIterator& inner = e.nest.derivation.leaves[i];
    const bool has_attached = inner.iterator >= 0 && state_.attach_map().iterator_to_stages.count(
                                                         {e.nest.stage, inner.iterator}) != 0;
    if (has_attached || inner.annotation > Annotation::vectorize ||
        (inner.annotation == Annotation::parallel && e.nest.leaf_extent[i] > 1)) {
      return false;
    }
  }
  for (std::size_t d = 0; d < op.axes.size(); ++d) {
    if (op.axes[d].extent != e.op->axes[d].extent) {
      return false;
    }
  }
  return covers_exactly(e, leaf, box) && is_sole_reader(stage, e.nest.stage);
}

/// True in the first block of the reduction: all reduction loops outside of the run are at 0.
inline ExprId Emitter::is_first_block(Emission& e) {
  ExprPool& pool = program_.pool;
  ExprId condition;
  for (std::int32_t i = 0; i < e.shape.reduction_begin; ++i) {
    const auto leaf = static_cast<std::size_t>(i);
    if (!e.nest.is_reduction[leaf] || e.nest.leaf_extent[leaf] == 1) {
      continue;
    }
    const ExprId at_zero = fold(pool.eq(e.nest.leaf_value[leaf], pool.int_imm(0)));
    condition = condition.valid() ? fold(pool.and_(condition, at_zero)) : at_zero;
  }
  return condition.valid() ? condition : pool.int_imm(1, DType::boolean);
}

/// True in the last block of the reduction: all reduction loops outside of the run are at their
/// end. Invalid where that is not known.
inline ExprId Emitter::is_last_block(Emission& e) {
  ExprPool& pool = program_.pool;
  const Nest& nest = e.nest;
  const auto is_outer = [&](std::size_t leaf) {
    return static_cast<std::int32_t>(leaf) < e.shape.reduction_begin && nest.is_reduction[leaf] &&
           nest.leaf_extent[leaf] > 1;
  };
  // Of several imperfect loops around each other the last one in use need not be at its end; a
  // single one ends where its constraint says.
  std::vector<std::int64_t> last = nest.leaf_extent;
  for (const Constraint& c : nest.constraints) {
    std::size_t outer = 0;
    for (const AffineTerm& term : c.form.terms) {
      const std::int32_t deepest = deepest_leaf(pool, nest, term.atom);
      if (deepest >= 0 && is_outer(static_cast<std::size_t>(deepest))) {
        if (++outer > 1 || pool.as<VarRef>(term.atom) == nullptr || !c.bound.is_constant()) {
          return {};
        }
        std::int64_t& count = last[static_cast<std::size_t>(deepest)];
        count = smaller_of(count, ceil_div(c.bound.constant, term.coefficient));
      }
    }
  }
  ExprId condition;
  for (std::size_t leaf = 0; leaf < nest.num_leaves(); ++leaf) {
    if (is_outer(leaf)) {
      const ExprId at_end = fold(pool.eq(nest.leaf_value[leaf], pool.int_imm(last[leaf] - 1)));
      condition = condition.valid() ? fold(pool.and_(condition, at_end)) : at_end;
    }
  }
  return condition.valid() ? condition : pool.int_imm(1, DType::boolean);
}

/// The tile's way to memory: to its own place, or through the reader where the sums are complete.
inline StmtId Emitter::emit_write_back(Emission& e) {
  const auto tile = static_cast<std::size_t>(e.shape.reduction_end);
  e.mode = BodyMode::write_back;
  if (e.reader == nullptr) {
    return emit_leaf(e, tile);
  }
  const ExprId last = is_last_block(e);
  if (!last.valid()) {
    cannot_finish_ = true;
    return program_.add(Seq{});
  }
  const IntImm* known = program_.pool.as<IntImm>(last);
  const bool is_always = known != nullptr && known->value != 0;
  const bool is_never = known != nullptr && known->value == 0;
  e.mode = BodyMode::finish;
  const StmtId finished = is_never ? StmtId{} : emit_leaf(e, tile);
  if (is_always) {
    return finished;
  }
  e.mode = BodyMode::write_back;
  const StmtId partial = emit_leaf(e, tile);
  return finished.valid() ? program_.add(If{last, finished, partial}) : partial;
}

/// The reader's element at `point`, from the accumulator `value` of e.
inline StmtId Emitter::emit_finish(Emission& e, const ExprList& point, ExprId value) {
  const Emission& reader = *e.reader;
  std::vector<std::pair<VarId, ExprId>> env;
  for (std::size_t d = 0; d < point.size(); ++d) {
    env.emplace_back(reader.op->axes[d].var, point[d]);
  }
  const FinishedTensor before = finished_;
  finished_ = {e.op->outputs[0], point, value};
  const ExprId result = value_of(reader.op->bodies[0], env);
  finished_ = before;
  const TensorId output = reader.op->outputs[0];
  return program_.add(Store{homes_[output.value].buffer, place(output, point), result});
}

}  // namespace tensorsmith::detail
