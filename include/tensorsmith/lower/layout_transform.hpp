// SPDX-License-Identifier: Apache-2.0
// insert_layout_transforms: the program that stores its constant inputs anew in a stage of its own.
//
// Floor 4. Ansor reference, ch. 3.6, option 1: the arguments stay as they are; a stage in front of
// the consumer copies the input into the layout that the consumer's loops want, in parallel, and
// the schedule is that of the program as written with one more stage.
// Not here: which layout (layout_rewrite.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/lower/layout_rewrite.hpp"
#include "tensorsmith/sched/apply/cache_read.hpp"
#include "tensorsmith/sched/apply/new_operation.hpp"

namespace tensorsmith {

struct LayoutTransform {
  Shared<const ComputeDag> dag;
  std::vector<Step> steps;          ///< of the same schedule on `dag`
  std::vector<InputLayout> inputs;  ///< empty: nothing was inserted, `dag` is the old one
};

namespace detail {

/// A stage is added at `place`: every number from there on is one higher. `place` follows the
/// stages that the steps themselves add.
inline std::vector<Step> steps_around_new_stage(std::vector<Step> steps, std::int32_t& place) {
  for (Step& step : steps) {
    const std::int32_t stage = stage_of(step);
    const auto move = [&](std::int32_t& id) { id += id >= place ? 1 : 0; };
    std::visit([&](auto& s) { move(s.stage); }, step);
    if (auto* at = std::get_if<ComputeAtStep>(&step)) {
      move(at->target_stage);
    } else if (auto* read = std::get_if<CacheReadStep>(&step)) {
      for (std::int32_t& reader : read->readers) {
        move(reader);
      }
    }
    place += adds_stage(step) && stage < place ? 1 : 0;
  }
  return steps;
}

/// Reads of `layout.tensor` in `consumer` become reads of what a new operation, in front of it,
/// has stored.
inline Shared<const ComputeDag> with_transform(const ComputeDag& dag, std::size_t consumer,
                                               const InputLayout& layout) {
  LayeredPool layer(dag);
  ExprPool& pool = layer.pool();
  std::vector<TensorInfo> tensors = dag.tensors();
  std::vector<Operation> operations = dag.operations();
  const TensorInfo input = tensors[layout.tensor.value];
  TensorInfo stored = input;
  stored.shape.clear();
  for (const LayoutPiece& piece : layout.pieces) {
    stored.shape.push_back(piece.extent);
  }
  Operation transform;
  transform.name = "auto_scheduler_layout_transform";
  transform.axes = new_axes(pool, stored);
  ExprList indices;
  for (std::size_t d = 0; d < input.shape.size(); ++d) {
    ExprId index;
    bool is_first = true;
    for (std::size_t i = 0; i < layout.pieces.size(); ++i) {
      const LayoutPiece& piece = layout.pieces[i];
      if (piece.dimension != d || piece.extent == 1) {
        continue;
      }
      ExprId part = pool.var(transform.axes[i].var);
      if (piece.stride > 1) {
        part = pool.binary(BinaryOp::mul, part, pool.int_imm(piece.stride, DType::i32));
      }
      index = is_first ? part : pool.binary(BinaryOp::add, index, part);
      is_first = false;
    }
    indices.push_back(is_first ? pool.int_imm(0, DType::i32) : index);
  }
  transform.bodies = {pool.read(layout.tensor, input.dtype, std::move(indices))};
  const TensorId copy = add_tensor(tensors, stored, transform.name);
  transform.outputs = {copy};
  for (ExprId& body : operations[consumer].bodies) {
    body = redirect_reads(pool, relaid_reads(pool, body, layout), layout.tensor, copy);
  }
  operations.insert(operations.begin() + static_cast<std::ptrdiff_t>(consumer),
                    std::move(transform));
  return make_shared_of<const ComputeDag>(layer.share(), std::move(tensors), std::move(operations),
                                          dag.arguments());
}

}  // namespace detail

/// `state` must be concrete, with its bounds inferred. Nothing is inserted into a schedule that
/// reads through caches (GPUs).
inline LayoutTransform insert_layout_transforms(const State& state) {
  LayoutTransform result{state.initial_dag(), state.steps(), {}};
  for (const Step& step : state.steps()) {
    if (std::holds_alternative<CacheReadStep>(step)) {
      return result;
    }
  }
  for (const InputLayout& layout : rewrite_layouts(state).inputs) {
    std::size_t consumer = 0;
    while (detail::find_read(*result.dag, result.dag->operation(consumer), layout.tensor) ==
           nullptr) {
      ++consumer;
    }
    result.dag = detail::with_transform(*result.dag, consumer, layout);
    auto place = static_cast<std::int32_t>(consumer);
    result.steps = detail::steps_around_new_stage(std::move(result.steps), place);
    // The reference fuses the outermost three loops of five or more, two of three or four.
    const std::size_t rank = layout.pieces.size();
    if (rank >= 3) {
      result.steps.push_back(FuseStep{place, rank >= 5 ? IdList{0, 1, 2} : IdList{0, 1}});
    }
    result.steps.push_back(AnnotationStep{place, 0, Annotation::parallel});
    result.inputs.push_back(layout);
  }
  return result;
}

}  // namespace tensorsmith
