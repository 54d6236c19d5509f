// SPDX-License-Identifier: Apache-2.0
// rewrite_layouts: the program whose constant inputs are stored as a schedule reads them.
//
// Floor 4. Ansor reference, ch. 3.6, option 2 (inputs transformed before the kernel is called).
// Applies to the placeholders that an operation lists as layout-free and that one of its stages
// reads by bare axes. The new dimensions are the pieces of the axes in loop order:
//     B[k, j], loops j0 i1 j1 k0 i2 j2 k1 i3 j3  -->  B[j0, j1, k0, j2, k1, j3]
// Not here: option 1, which transforms inside of the kernel (layout_transform.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/te/compute_dag_build.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith {

/// A dimension of the stored input: (index of `dimension` div `stride`) mod `extent`.
struct LayoutPiece {
  std::size_t dimension = 0;
  std::int64_t stride = 1, extent = 1;
};

struct InputLayout {
  TensorId tensor;            ///< in the program as written, and in the new one
  std::string before, after;  ///< "512k512j", "4j8j4j4j512k"
  std::vector<LayoutPiece> pieces;
};

struct LayoutRewrite {
  Shared<const ComputeDag> dag;
  std::vector<InputLayout> inputs;  ///< empty: nothing was rewritten, `dag` is the old one
};

namespace detail {

/// A loop as the pieces it was fused from: the position of its axis and its extent.
struct LoopPiece {
  std::int32_t axis = -1;
  std::int64_t extent = 1;
};

/// By stage, by iterator: the pieces, outermost first. A stage whose ranges were dropped (computed
/// at an iterator, or at root again) has pieces of extent 1 until bounds are inferred.
inline std::vector<std::vector<std::vector<LoopPiece>>> loop_pieces(const State& state) {
  using Stage = std::vector<std::vector<LoopPiece>>;
  const auto fresh = [](const Operation& op) {
    Stage stage;
    for (const auto* axes : {&op.axes, &op.reduce_axes}) {
      for (const Axis& axis : *axes) {
        stage.push_back({{static_cast<std::int32_t>(stage.size()), axis.extent}});
      }
    }
    return stage;
  };
  State now = state.restart();
  std::vector<Stage> stages;
  const auto match = [&](std::size_t id) {  // where a step has made a stage anew
    stages[id] = fresh(now.operation(id));
  };
  for (const Operation& op : now.dag().operations()) {
    stages.push_back(fresh(op));
  }
  for (const Step& step : state.steps()) {
    const auto id = static_cast<std::size_t>(stage_of(step));
    if (const auto* fuse = std::get_if<FuseStep>(&step);
        fuse != nullptr && !fuse->iterators.empty()) {
      Stage& stage = stages[id];
      const auto first = static_cast<std::size_t>(fuse->iterators[0]);
      for (std::size_t i = 1; i < fuse->iterators.size(); ++i) {
        const std::vector<LoopPiece>& inner = stage[first + i];
        stage[first].insert(stage[first].end(), inner.begin(), inner.end());
      }
      stage.erase(stage.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                  stage.begin() + static_cast<std::ptrdiff_t>(first + fuse->iterators.size()));
    } else if (const auto* reorder = std::get_if<ReorderStep>(&step)) {
      Stage next;
      for (const std::int32_t from : reorder->after) {
        next.push_back(stages[id][static_cast<std::size_t>(from)]);
      }
      stages[id] = std::move(next);
    }
    const std::size_t before = now.stage(id).iterators.size();
    if (try_apply(now, step)) {
      return {};
    }
    if (adds_stage(step)) {
      const bool is_read = std::holds_alternative<CacheReadStep>(step);
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(id) + (is_read ? 1 : 0), Stage{});
      match(is_read ? id + 1 : id);
      if (!is_read) {
        match(id + 1);
      }
      continue;
    }
    Stage& stage = stages[id];
    const auto& iterators = now.stage(id).iterators;
    if (iterators.size() > before) {  // a split of any kind
      const std::size_t at = static_cast<std::size_t>(std::visit(
          [](const auto& s) {
            if constexpr (requires { s.iterator; }) {
              return s.iterator;
            } else {
              return std::int32_t{0};
            }
          },
          step));
      const std::int32_t axis = stage[at].size() == 1 ? stage[at][0].axis : -1;
      stage[at] = {{axis, 1}};
      stage.insert(stage.begin() + static_cast<std::ptrdiff_t>(at) + 1, iterators.size() - before,
                   {{axis, 1}});
    }
    for (std::size_t i = 0; i < stage.size() && i < iterators.size(); ++i) {
      if (stage[i].size() == 1) {
        stage[i][0].extent = iterators[i].extent.value_or(1);
      }
    }
  }
  return stages;
}

/// The position of the axis that an index is, -1 if it is something else.
inline std::int32_t axis_of_index(const ExprPool& pool, const Operation& op, ExprId index) {
  const VarRef* ref = pool.as<VarRef>(index);
  std::int32_t position = 0;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      if (ref != nullptr && axis.var == ref->var) {
        return position;
      }
      ++position;
    }
  }
  return -1;
}

/// The indices of the first read of `tensor`; nullptr if there is none.
inline const ExprList* find_read(const ComputeDag& dag, const Operation& op, TensorId tensor) {
  const ExprList* found = nullptr;
  for (const ExprId body : op.bodies) {
    visit_expr(dag.pool(), body, [&](ExprId id) {
      const TensorRead* read = dag.pool().as<TensorRead>(id);
      if (read != nullptr && read->tensor == tensor && found == nullptr) {
        found = &read->indices;
      }
    });
  }
  return found;
}

inline ExprId relaid_reads(ExprPool& pool, ExprId id, const InputLayout& layout) {
  const ExprId inner =
      map_children(pool, id, [&](ExprId child) { return relaid_reads(pool, child, layout); });
  const TensorRead* read = pool.as<TensorRead>(inner);
  if (read == nullptr || read->tensor != layout.tensor) {
    return inner;
  }
  const ExprList old = read->indices;
  ExprList indices;
  for (const LayoutPiece& piece : layout.pieces) {
    if (piece.extent == 1) {
      indices.push_back(pool.int_imm(0, DType::i32));
      continue;
    }
    ExprId index = old[piece.dimension];
    const auto literal = [&](std::int64_t value) { return pool.int_imm(value, DType::i32); };
    if (piece.stride > 1) {
      index = pool.binary(BinaryOp::floordiv, index, literal(piece.stride));
    }
    indices.push_back(pool.binary(BinaryOp::floormod, index, literal(piece.extent)));
  }
  return pool.read(layout.tensor, pool.dtype(inner), std::move(indices));
}

/// The layout that the stage's loops want for an input; no pieces if it cannot be had.
inline InputLayout wanted_layout(const State& state,
                                 const std::vector<std::vector<std::vector<LoopPiece>>>& pieces,
                                 std::size_t stage, TensorId tensor) {
  const ComputeDag& dag = state.dag();
  const Operation& op = dag.operation(stage);
  InputLayout layout;
  layout.tensor = tensor;
  const ExprList* read = find_read(dag, op, tensor);
  const auto& shape = dag.tensor(tensor).shape;
  if (read == nullptr) {
    return layout;
  }
  std::vector<std::int32_t> axes;  // by dimension
  std::vector<std::string> names;
  for (std::size_t d = 0; d < read->size(); ++d) {
    axes.push_back(axis_of_index(dag.pool(), op, (*read)[d]));
    if (axes.back() < 0 ||
        te::detail::contains(std::vector<std::int32_t>(axes.begin(), axes.end() - 1),
                             axes.back())) {
      return layout;
    }
    const VarRef* ref = dag.pool().as<VarRef>((*read)[d]);
    std::string name = clean_name(dag.pool().var_name(ref->var));
    name.resize(name.rfind('_') == std::string::npos ? name.size() : name.rfind('_'));
    layout.before += std::to_string(shape[d]) + name;
    names.push_back(std::move(name));
  }
  // The loops around come first, under the names of the stage's own loops in the same places.
  std::vector<LoopPiece> own, all;
  for (std::size_t i = 0; i < pieces[stage].size(); ++i) {
    for (LoopPiece piece : pieces[stage][i]) {
      if (pieces[stage][i].size() == 1) {
        piece.extent = state.stage(stage).iterators[i].extent.value_or(1);
      }
      own.push_back(piece);
    }
  }
  const auto& attached = state.attach_map().stage_to_iterator;
  const auto place = attached.find(static_cast<std::int32_t>(stage));
  if (place != attached.end()) {
    const auto target = static_cast<std::size_t>(place->second.stage);
    for (std::int32_t i = 0; i <= place->second.iterator; ++i) {
      for (const LoopPiece& piece : pieces[target][static_cast<std::size_t>(i)]) {
        if (all.size() >= own.size()) {
          return layout;
        }
        all.push_back({own[all.size()].axis, piece.extent});
      }
    }
  }
  all.insert(all.end(), own.begin(), own.end());
  std::vector<std::int64_t> rest(shape.size(), 1);  // strides, from the innermost piece
  for (std::size_t i = all.size(); i-- > 0;) {
    for (std::size_t d = 0; d < axes.size(); ++d) {
      if (all[i].axis == axes[d]) {
        layout.pieces.insert(layout.pieces.begin(), {d, rest[d], all[i].extent});
        layout.after = std::to_string(all[i].extent) + names[d] + layout.after;
        rest[d] *= all[i].extent;
      }
    }
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (rest[d] != shape[d]) {  // splits that do not divide
      layout.pieces.clear();
    }
  }
  return layout;
}

}  // namespace detail

/// `state` must be concrete, with its bounds inferred.
inline LayoutRewrite rewrite_layouts(const State& state) {
  const Shared<const ComputeDag>& old = state.initial_dag();
  LayoutRewrite result{old, {}};
  const auto pieces = detail::loop_pieces(state);
  if (pieces.size() != state.num_stages()) {
    return result;
  }
  std::vector<TensorInfo> tensors = old->tensors();
  std::vector<Operation> operations = old->operations();
  LayeredPool layer(*old);
  for (Operation& consumer : operations) {
    for (const std::string& name : consumer.attrs.layout_free_placeholders) {
      for (const Operation& input : old->operations()) {
        if (!input.is_placeholder() || input.name != name) {
          continue;
        }
        for (std::size_t s = 0; s < state.num_stages(); ++s) {
          InputLayout layout = detail::wanted_layout(state, pieces, s, input.outputs[0]);
          if (layout.pieces.empty()) {
            continue;
          }
          for (ExprId& body : consumer.bodies) {
            body = detail::relaid_reads(layer.pool(), body, layout);
          }
          auto& shape = tensors[input.outputs[0].value].shape;
          shape.clear();
          for (const LayoutPiece& piece : layout.pieces) {
            shape.push_back(piece.extent);
          }
          result.inputs.push_back(std::move(layout));
          break;
        }
      }
    }
  }
  if (!result.inputs.empty()) {
    result.dag = make_shared_of<const ComputeDag>(layer.share(), std::move(tensors),
                                                  std::move(operations), old->arguments());
  }
  return result;
}

/// The values of an input, stored as `layout` wants them.
inline HostArray transform_input(const HostArray& input, const InputLayout& layout) {
  std::vector<std::int64_t> shape, at(input.shape.size(), 0);
  for (const LayoutPiece& piece : layout.pieces) {
    shape.push_back(piece.extent);
  }
  HostArray result(input.dtype, shape);
  for (std::int64_t i = 0; i < input.num_elements(); ++i) {
    std::int64_t to = 0;
    for (const LayoutPiece& piece : layout.pieces) {
      to = to * piece.extent + at[piece.dimension] / piece.stride % piece.extent;
    }
    const auto size = static_cast<std::int64_t>(bytes_of(input.dtype));
    for (std::int64_t b = 0; b < size; ++b) {
      result.data[static_cast<std::size_t>(to * size + b)] =
          input.data[static_cast<std::size_t>(i * size + b)];
    }
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == input.shape[d];) {
      at[d] = 0;
    }
  }
  return result;
}

}  // namespace tensorsmith
