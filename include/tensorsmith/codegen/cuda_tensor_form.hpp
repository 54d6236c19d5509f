// SPDX-License-Identifier: Apache-2.0
// Which loops are an instruction of tensor cores, and which of them repeat it.
//
// Floor 5. Part of cuda_tensor.hpp. Own design; fragments as in the PTX ISA, "Matrix Fragments for
// mma". How far every loop, the lane and the depth move both factors is found by giving them values
// one after the other; whatever does not add up to a fragment is no instruction.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/cuda_tensor.hpp"

namespace tensorsmith::detail {

inline std::optional<CudaTensorPrinter::Product> CudaTensorPrinter::warp_form(const For& loop) {
  Product product;
  product.intrinsic = loop.intrinsic;
  const TensorIntrinsic& intrinsic = *loop.intrinsic;
  const LinearText extent = linear(loop.extent);
  const std::int64_t threads = warp * intrinsic.warps;
  const auto row_of = [](std::int64_t thread) { return thread / warp * 16 + thread % warp / 4; };
  if (intrinsic.m != 16 * intrinsic.warps || intrinsic.n % 8 != 0 || !lane_var_.valid() ||
      lane_extent_ != threads || !extent.is_constant() || extent.constant != intrinsic.k ||
      bytes_of(intrinsic.a) != bytes_of(intrinsic.b)) {
    return std::nullopt;
  }
  std::vector<TileLoop> loops;
  StmtId at = loop.body;
  while (const For* inner = program_.as<For>(at)) {
    const LinearText count = linear(inner->extent);
    if (!count.is_constant() || inner->intrinsic != nullptr) {
      return std::nullopt;
    }
    loops.push_back({inner->var, count.constant});
    at = inner->body;
  }
  product.store = program_.as<Store>(at);
  const TensorUpdate update = product.store == nullptr
                                  ? TensorUpdate{}
                                  : match_tensor_update(program_, *product.store, intrinsic);
  if (!update || !is_private(product.store->buffer)) {
    return std::nullopt;
  }
  const LinearText lane = bound(lane_var_);
  std::vector<VarId> vars{loop.var, lane_var_};
  for (const TileLoop& inner : loops) {
    vars.push_back(inner.var);
  }
  for (VarId var : vars) {
    bind(var, LinearText::of(0));
  }
  // Either order of the factors: a has its rows along the lanes' upper bits.
  bool fits = false;
  for (const bool is_swapped : {false, true}) {
    const Load* const a = is_swapped ? update.b.load : update.a.load;
    const Load* const b = is_swapped ? update.a.load : update.b.load;
    if (fits || (is_swapped && intrinsic.a != intrinsic.b)) {
      break;
    }
    const LinearText base_a = offset(a->buffer, a->indices), base_b = offset(b->buffer, b->indices);
    const auto row = moved(*a, base_a, lane_var_, 4), pair = moved(*b, base_b, lane_var_, 1);
    const auto ka = moved(*a, base_a, loop.var, 1), kb = moved(*b, base_b, loop.var, 1);
    fits = row && pair && ka && kb && *pair % 2 == 0 && *row != 0 && *pair != 0;
    for (std::int64_t l = 0; fits && l < threads; ++l) {
      fits = moved(*a, base_a, lane_var_, l) == row_of(l) * *row &&
             moved(*b, base_b, lane_var_, l) == l % 4 * *pair;
    }
    for (std::int64_t g = 0; fits && g < intrinsic.k; ++g) {
      fits = moved(*a, base_a, loop.var, g) == g * *ka && moved(*b, base_b, loop.var, g) == g * *kb;
    }
    if (!fits) {
      continue;
    }
    // What lane and depth add together is their sum: indices that wrap are none of ours.
    const std::int64_t deepest = intrinsic.k - 1;
    const std::int64_t end_a = deepest * *ka, end_b = deepest * *kb;
    bind(loop.var, LinearText::of(deepest));
    for (std::int64_t l = 0; fits && l < threads; ++l) {
      fits = moved(*a, base_a, lane_var_, l) == row_of(l) * *row + end_a &&
             moved(*b, base_b, lane_var_, l) == l % 4 * *pair + end_b;
    }
    bind(loop.var, LinearText::of(0));
    product.a = {a, *row, *ka};
    product.b = {b, *pair / 2, *kb};
    for (TileLoop inner : loops) {
      bool moves_a = false, moves_b = false;
      for (std::int64_t x = inner.extent; fits && x-- > 1;) {
        const auto of_a = moved(*a, base_a, inner.var, x), of_b = moved(*b, base_b, inner.var, x);
        bind(loop.var, LinearText::of(deepest));
        bind(lane_var_, LinearText::of(threads - 1));
        fits = of_a && of_b &&
               moved(*a, base_a, inner.var, x) == *of_a + row_of(threads - 1) * *row + end_a &&
               moved(*b, base_b, inner.var, x) == *of_b + (threads - 1) % 4 * *pair + end_b;
        bind(loop.var, LinearText::of(0));
        bind(lane_var_, LinearText::of(0));
        moves_a = moves_a || (fits && *of_a != 0);
        moves_b = moves_b || (fits && *of_b != 0);
        inner.along_a = fits ? *of_a : 0;  // of the first step in the end
        inner.along_b = fits ? *of_b : 0;
      }
      const bool is_row = inner.extent == 2 && inner.along_b == 0 &&
                          inner.along_a == 8 * product.a.line && !product.row.var.valid();
      const bool is_column = inner.extent == 2 && inner.along_a == 0 &&
                             inner.along_b == product.b.line && !product.column.var.valid();
      if (is_row) {
        product.row = inner;
      } else if (is_column) {
        product.column = inner;
      } else if (!moves_a || !moves_b) {
        (moves_b ? product.of_b : product.of_a).push_back(inner);
      } else {
        fits = false;
      }
    }
    fits = fits && product.row.var.valid() && product.column.var.valid();
  }
  bind(lane_var_, lane);
  return fits ? std::optional(std::move(product)) : std::nullopt;
}

}  // namespace tensorsmith::detail
