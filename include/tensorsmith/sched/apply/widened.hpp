// SPDX-License-Identifier: Apache-2.0
// CHR of scope "widened": a copy whose elements have the type that its readers compute with.
//
// Floor 3. Own design. f16 and bf16 become f32, bytes become i16: every value of the narrow type is
// one of the wide type, so a reader finds what it would have read, and converts once per element of
// the copy instead of once per use.
//   C[i,j] += f32(A[i,k]) * f32(B[k,j])  -->  B.widened[ax0,ax1] = f32(B[ax0,ax1])
//                                             C[i,j] += f32(A[i,k]) * B.widened[k,j]
#pragma once

#include <string_view>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// Elsewhere it is as any other scope in global memory.
inline constexpr std::string_view widened_scope = "widened";

/// The type of a widened copy; that of the tensor itself where nothing is gained.
constexpr DType wide_type(DType type) {
  switch (type) {
  case DType::f16:
  case DType::bf16:
    return DType::f32;
  case DType::i8:
  case DType::u8:
    return DType::i16;
  default:
    return type;
  }
}

namespace detail {

/// `id` with every read of `from` replaced by the same read of `to`, which has elements of `type`;
/// conversions that this makes needless are left out.
inline ExprId redirect_widened(ExprPool& pool, ExprId id, TensorId from, TensorId to, DType type) {
  const auto read_of = [&](ExprId at) -> ExprId {
    const TensorRead* read = pool.as<TensorRead>(at);
    if (read == nullptr || read->tensor != from) {
      return {};
    }
    ExprList indices = read->indices;
    return pool.read(to, type, std::move(indices));
  };
  if (const Cast* cast = pool.as<Cast>(id)) {
    const DType target = pool.dtype(id);
    if (const ExprId wide = read_of(cast->a); wide.valid()) {
      return target == type ? wide : pool.cast(target, wide);
    }
  }
  if (const ExprId wide = read_of(id); wide.valid()) {
    return pool.cast(pool.dtype(id), wide);
  }
  return map_children(pool, id,
                      [&](ExprId child) { return redirect_widened(pool, child, from, to, type); });
}

}  // namespace detail
}  // namespace tensorsmith
