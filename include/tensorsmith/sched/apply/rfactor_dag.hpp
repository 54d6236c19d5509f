// SPDX-License-Identifier: Apache-2.0
// The dag after an rfactor: the .rf and .repl operations.
//
// Floor 3. Ansor reference, ch. 2.2; OSDI 2020 sec. 4.1 (rule 6). Used by apply/rfactor.hpp only,
// which checks legality. As in the reference the new operations carry no tag and no attributes.
#pragma once

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/sched/apply/new_operation.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith::detail {

/// The iterators of the stage are its axes after the fuse and the split, and nothing else.
template <class Extent>
bool is_rfactor_ready(const BasicState<Extent>& state, std::int32_t stage_id, const FuseStep* fuse,
                      const SplitStep& split) {
  const auto id = static_cast<std::size_t>(stage_id);
  const Operation& op = state.operation(id);
  const BasicStage<Extent>& stage = state.stage(id);
  std::vector<std::string> names;
  const auto add = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      names.push_back(clean_name(state.dag().pool().var_name(axis.var)));
    }
  };
  add(op.axes);
  add(op.reduce_axes);
  if (fuse != nullptr) {
    const auto first = static_cast<std::size_t>(fuse->iterators[0]);
    if (first + fuse->iterators.size() > names.size()) {
      return false;
    }
    std::string fused;
    for (std::size_t i = 0; i < fuse->iterators.size(); ++i) {
      fused += names[first + i] + "@";
    }
    names[first] = fused;
    const auto after = names.begin() + static_cast<std::ptrdiff_t>(first) + 1;
    names.erase(after, after + static_cast<std::ptrdiff_t>(fuse->iterators.size()) - 1);
  }
  const auto at = static_cast<std::size_t>(split.iterator);
  if (at >= names.size()) {
    return false;
  }
  names.insert(names.begin() + split.iterator + 1, names[at] + ".1");
  names[at] += ".0";
  if (stage.iterators.size() != names.size() || has_attach_points(state.attach_map(), stage_id)) {
    return false;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (stage.iterators[i].name != names[i] || stage.iterators[i].annotation != Annotation::none) {
      return false;
    }
  }
  return true;
}

inline ExprId mul_add(ExprPool& pool, ExprId a, std::int64_t factor, ExprId b) {
  const ExprId zero = pool.int_imm(0);
  const ExprId scaled = a == zero ? zero : factor == 1 ? a : pool.mul(a, pool.int_imm(factor));
  return scaled == zero ? b : b == zero ? scaled : pool.add(scaled, b);
}

/// One iterator of the reduction that is split: the fused axes, its extent, its name.
struct SplitAxes {
  std::size_t first = 0, count = 1;  ///< positions among the reduce axes
  std::int64_t extent = 1;
  std::string name;
};

inline SplitAxes split_axes(const ComputeDag& dag, const Operation& op, const FuseStep* fuse,
                            const SplitStep& split) {
  SplitAxes axes;
  const std::size_t num_spatial = op.axes.size();
  const std::size_t at = static_cast<std::size_t>(split.iterator) - num_spatial;
  axes.first = at;
  if (fuse != nullptr) {
    const std::size_t first = static_cast<std::size_t>(fuse->iterators[0]) - num_spatial;
    if (at == first) {
      axes.count = fuse->iterators.size();
    } else if (at > first) {
      axes.first = at + fuse->iterators.size() - 1;
    }
  }
  for (std::size_t i = 0; i < axes.count; ++i) {
    const Axis& axis = op.reduce_axes[axes.first + i];
    axes.extent *= axis.extent;
    axes.name = i == 0 ? dag.pool().var_name(axis.var)
                       : axes.name + "." + dag.pool().var_name(axis.var) + ".fused";
  }
  return axes;
}

inline Shared<const ComputeDag> derive_rfactor(const ComputeDag& dag, const FuseStep* fuse,
                                               const SplitStep& split, const RfactorStep& step) {
  LayeredPool layer(dag);
  ExprPool& pool = layer.pool();
  std::vector<TensorInfo> tensors = dag.tensors();
  std::vector<Operation> operations = dag.operations();
  const Operation old = operations[static_cast<std::size_t>(step.stage)];
  const SplitAxes whole = split_axes(dag, old, fuse, split);

  // The two parts. Lengths are taken as they are, not clamped to the extent.
  const std::int64_t length = split.lengths[0] == unknown_length ? 1 : split.lengths[0];
  const std::int64_t other = (whole.extent - 1) / length + 1;
  const Axis outer{pool.new_var(whole.name + ".outer"), split.inner_to_outer ? other : length};
  const Axis inner{pool.new_var(whole.name + ".inner"), split.inner_to_outer ? length : other};
  const bool factor_outer = step.iterator == split.iterator;
  const Axis& factored = factor_outer ? outer : inner;
  const Axis& kept = factor_outer ? inner : outer;

  // The old reduce axes in terms of the parts.
  const auto value_of = [&](const Axis& axis) {
    return axis.extent == 1 ? pool.int_imm(0) : pool.var(axis.var);
  };
  const ExprId position = mul_add(pool, value_of(outer), inner.extent, value_of(inner));
  Substitution to_parts;
  ExprId rest = position;
  for (std::size_t i = whole.count; i-- > 0;) {
    const Axis& axis = old.reduce_axes[whole.first + i];
    const ExprId extent = pool.int_imm(axis.extent);
    to_parts.set(axis.var, i == 0 ? rest : pool.floormod(rest, extent));
    rest = i == 0 ? rest : pool.floordiv(rest, extent);
  }
  const bool is_exact = outer.extent * inner.extent == whole.extent;
  const ExprId inside = pool.lt(position, pool.int_imm(whole.extent));

  const auto at_factor = static_cast<std::ptrdiff_t>(step.factor_iterator);
  Operation rf;
  rf.name = old.name + ".rf";
  rf.axes = old.axes;
  rf.axes.insert(rf.axes.begin() + at_factor, factored);
  for (std::size_t i = 0; i < old.reduce_axes.size(); ++i) {
    if (i < whole.first || i >= whole.first + whole.count) {
      rf.reduce_axes.push_back(old.reduce_axes[i]);
    }
  }
  rf.reduce_axes.push_back(kept);

  const Reduce reduce = *pool.as<Reduce>(old.bodies[0]);
  const ExprList identity = pool.combiner(reduce.combiner).identity;
  Reduce partial{reduce.combiner, {}, {}, 0};
  for (std::size_t i = 0; i < reduce.sources.size(); ++i) {
    const ExprId source = to_parts(pool, reduce.sources[i]);
    partial.sources.push_back(is_exact ? source : pool.if_then_else(inside, source, identity[i]));
  }
  for (const Axis& axis : rf.reduce_axes) {
    partial.axes.push_back(axis.var);
  }

  Operation repl;
  repl.name = old.name + ".repl";
  repl.axes = new_axes(pool, tensors[old.outputs[0].value]);
  repl.reduce_axes = {{pool.new_var(pool.var_name(factored.var) + ".v"), factored.extent}};
  repl.outputs = old.outputs;
  ExprList indices = axis_refs(pool, repl.axes);
  indices.insert(static_cast<std::size_t>(step.factor_iterator), pool.var(repl.reduce_axes[0].var));
  Reduce total{reduce.combiner, {}, {repl.reduce_axes[0].var}, 0};
  for (std::size_t k = 0; k < old.outputs.size(); ++k) {
    TensorInfo info = tensors[old.outputs[k].value];
    info.name = rf.name + (old.outputs.size() > 1 ? ".v" + std::to_string(k) : "");
    info.shape.insert(static_cast<std::size_t>(step.factor_iterator), factored.extent);
    const TensorId tensor{static_cast<std::uint32_t>(tensors.size())};
    total.sources.push_back(pool.read(tensor, info.dtype, indices));
    tensors.push_back(std::move(info));
    rf.outputs.push_back(tensor);
  }
  for (std::uint32_t k = 0; k < old.outputs.size(); ++k) {
    partial.value_index = total.value_index = k;
    rf.bodies.push_back(pool.reduce(partial));
    repl.bodies.push_back(pool.reduce(total));
  }
  operations[static_cast<std::size_t>(step.stage)] = std::move(repl);
  operations.insert(operations.begin() + step.stage, std::move(rf));
  return make_shared_of<const ComputeDag>(layer.share(), std::move(tensors), std::move(operations),
                                          dag.arguments());
}

}  // namespace tensorsmith::detail
