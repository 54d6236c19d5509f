// SPDX-License-Identifier: Apache-2.0
// CHR of scope "patches": what one stage reads, a place per iteration instead of one per element.
//
// Floor 3. Own design (im2col, for any read). Legal for one reader that reads the tensor at one
// place, with indices that are sums and stay inside it for all iterations. The copy has the axes of
// the reader that the indices use: the spatial ones first, or last if the longest axis of the last
// index is one of them, so that rows of the copy run along rows of the tensor where they can.
//   Y[h,c] += X[h+r,k] * W[r,k,c]  -->  X.patches[ax0,ax1,ax2] = X[ax0+ax1,ax2]
//                                       Y[h,c] += X.patches[h,r,k] * W[r,k,c]
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/apply/new_operation.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// The scope of a copy that has a place per iteration of its reader. Elsewhere it is as any other
/// that lies in global memory.
inline constexpr std::string_view patches_scope = "patches";

namespace detail {

/// The one place where `reader` reads `tensor`; not valid if there are none or several.
inline ExprId only_read_of(const ExprPool& pool, const Operation& reader, TensorId tensor) {
  ExprId found;
  std::int64_t count = 0;
  for (ExprId body : reader.bodies) {
    visit_nodes(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read != nullptr && read->tensor == tensor && (count == 0 || id != found)) {
        found = id;
        ++count;
      }
    });
  }
  return count == 1 ? found : ExprId{};
}

/// The axes of `reader` that the indices of the read use, in the order of the copy's.
inline std::vector<Axis> axes_of_patches(const ExprPool& pool, const Operation& reader,
                                         const ExprList& indices) {
  std::vector<Axis> spatial, reduced;
  std::int64_t longest = 0;
  bool is_spatial_last = false;
  for (const bool is_spatial : {true, false}) {
    for (const Axis& axis : is_spatial ? reader.axes : reader.reduce_axes) {
      if (!any_item(indices, [&](ExprId index) { return uses_var(pool, index, axis.var); })) {
        continue;
      }
      (is_spatial ? spatial : reduced).push_back(axis);
      if (uses_var(pool, indices.back(), axis.var) && axis.extent > longest) {
        longest = axis.extent;
        is_spatial_last = is_spatial;
      }
    }
  }
  std::vector<Axis>& first = is_spatial_last ? reduced : spatial;
  const std::vector<Axis>& last = is_spatial_last ? spatial : reduced;
  first.insert(first.end(), last.begin(), last.end());
  return std::move(first);
}

/// Whether all values of an index are in [low, high]: sums and differences of axes of `reader`,
/// which start at 0, of multiples of them and constants. (Axes count to 2^31, so nothing overflows
/// before it is refused.)
inline bool stays_within(const ExprPool& pool, const Operation& reader, ExprId index,
                         std::int64_t low, std::int64_t high) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  struct Range {
    std::int64_t min = -most - 1, max = most + 1;  // unknown
  };
  const auto range_of = [&](const auto& self, ExprId id) -> Range {
    if (const IntImm* constant = pool.as<IntImm>(id)) {
      return {constant->value, constant->value};
    }
    if (const VarRef* ref = pool.as<VarRef>(id)) {
      for (const auto* axes : {&reader.axes, &reader.reduce_axes}) {
        for (const Axis& axis : *axes) {
          if (axis.var == ref->var) {
            return {0, axis.extent - 1};
          }
        }
      }
      return {};
    }
    const Binary* node = pool.as<Binary>(id);
    if (node == nullptr) {
      return {};
    }
    const Range a = self(self, node->a), b = self(self, node->b);
    for (std::int64_t end : {a.min, a.max, b.min, b.max}) {
      if (end < -most || end > most) {
        return {};
      }
    }
    const std::int64_t ends[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
    switch (node->op) {
    case BinaryOp::add:
      return {a.min + b.min, a.max + b.max};
    case BinaryOp::sub:
      return {a.min - b.max, a.max - b.min};
    case BinaryOp::mul:
      return {smaller_of(smaller_of(ends[0], ends[1]), smaller_of(ends[2], ends[3])),
              larger_of(larger_of(ends[0], ends[1]), larger_of(ends[2], ends[3]))};
    default:
      return {};
    }
  };
  const Range range = range_of(range_of, index);
  return low <= range.min && range.max <= high && high <= most;
}

/// Whether `reader` reads `tensor` at one place, inside of it whatever its iteration.
inline bool can_read_patches(const ComputeDag& dag, const Operation& reader, TensorId tensor) {
  const ExprPool& pool = dag.pool();
  const ExprId read = only_read_of(pool, reader, tensor);
  if (!read.valid()) {
    return false;
  }
  const ExprList& indices = pool.as<TensorRead>(read)->indices;
  const auto& shape = dag.tensor(tensor).shape;
  bool is_inside = !indices.empty();
  for (std::size_t d = 0; d < indices.size(); ++d) {
    is_inside = is_inside && stays_within(pool, reader, indices[d], 0, shape[d] - 1);
  }
  return is_inside && !axes_of_patches(pool, reader, indices).empty();
}

inline ExprId replaced(ExprPool& pool, ExprId id, ExprId from, ExprId to) {
  return id == from ? to : map_children(pool, id, [&](ExprId child) {
    return replaced(pool, child, from, to);
  });
}

/// `copy` becomes the patches that `reader` reads of `source`, and `reader` reads them.
inline void read_patches(ExprPool& pool, Operation& copy, Operation& reader, TensorId source,
                         TensorId patches) {
  const ExprId read = only_read_of(pool, reader, source);
  const DType type = pool.dtype(read);
  const ExprList indices = pool.as<TensorRead>(read)->indices;
  const std::vector<Axis> axes = axes_of_patches(pool, reader, indices);
  Substitution place;
  ExprList refs, sources;
  for (const Axis& axis : axes) {
    const VarId var = pool.new_var("ax" + std::to_string(copy.axes.size()));
    copy.axes.push_back({var, axis.extent});
    place.set(axis.var, pool.var(var));
    refs.push_back(pool.var(axis.var));
  }
  for (ExprId index : indices) {
    sources.push_back(place(pool, index));
  }
  copy.bodies = {pool.read(source, type, std::move(sources))};
  copy.attrs.never_inline = true;
  const ExprId of_patches = pool.read(patches, type, std::move(refs));
  for (ExprId& body : reader.bodies) {
    body = replaced(pool, body, read, of_patches);
  }
}

}  // namespace detail
}  // namespace tensorsmith
