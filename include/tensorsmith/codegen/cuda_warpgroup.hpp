// SPDX-License-Identifier: Apache-2.0
// Loops that four warps compute together, from shared memory: wgmma.
//
// Floor 5. Part of cuda_tensor.hpp. Own design; as in the PTX ISA, "Asynchronous Warpgroup Level
// Matrix Multiply-Accumulate". Neighbouring tiles of 64 columns become one instruction of up to
// 256. The warps wait for their products behind the last step, in front of the barrier after which
// copies are overwritten.
//     for k.1 in 4: for k in 16 as wgmma_k16_f16: for t in 2: for j in 8: for i in 2: for c in 2:
//     ...
//       -->  begin_products(); for k.1, unrolled: wgmma_k16_f16<128, false, true>(C, a, b);
//            finish_products();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/codegen/cuda_tensor.hpp"

namespace tensorsmith::detail {

/// `eights`: how far every eight columns of b lie behind the first; those of one instruction.
inline std::optional<CudaTensorPrinter::SharedMatrix>
CudaTensorPrinter::matrix_form(const Product& product, bool is_a,
                               const std::vector<std::int64_t>& eights) const {
  const Operand& operand = is_a ? product.a : product.b;
  const std::int64_t bytes = bytes_of(is_a ? product.intrinsic->a : product.intrinsic->b);
  constexpr std::int64_t line_bytes = 128, unused = 16;
  const std::int64_t line = line_bytes / bytes, eight_lines = 8 * line_bytes;
  SharedMatrix matrix;
  matrix.lines = eight_lines;
  matrix.columns = unused;
  if (!program_[operand.load->buffer].is_swizzled) {
    return std::nullopt;
  }
  const LinearText base = offset(operand.load->buffer, operand.load->indices);
  bool fits = base.constant * bytes % eight_lines == 0 &&
              all_items(base.terms,
                        [&](const auto& term) { return term.second * bytes % eight_lines == 0; });
  if (operand.k == 1 && operand.line == line) {
    for (std::size_t g = 0; fits && !is_a && g < eights.size(); ++g) {
      fits = eights[g] == static_cast<std::int64_t>(g) * 8 * line;
    }
  } else if (operand.line == 1 && operand.k == line) {
    matrix.is_transposed = true;
    const std::int64_t chunk = !is_a && eights.size() > 8 ? eights[8] : 0;
    matrix.columns = chunk > 0 ? chunk * bytes : unused;
    for (std::size_t g = 0; fits && !is_a && g < eights.size(); ++g) {
      const auto number = static_cast<std::int64_t>(g);
      fits = eights[g] == number / 8 * chunk + number % 8 * 8;
    }
  } else {
    fits = false;
  }
  return fits && matrix.columns % 16 == 0 ? std::optional(matrix) : std::nullopt;
}

inline bool CudaTensorPrinter::warpgroup_products(const For& loop) {
  const For* product_loop = loop.intrinsic != nullptr ? &loop : program_.as<For>(loop.body);
  if (product_loop == nullptr || product_loop->intrinsic == nullptr ||
      product_loop->intrinsic->warps == 1) {
    return false;
  }
  const bool has_steps = product_loop != &loop;
  const LinearText num_steps = has_steps ? linear(loop.extent) : LinearText::of(1);
  if (!num_steps.is_constant()) {
    return false;
  }
  if (has_steps) {
    bind(loop.var, LinearText::of(0));
  }
  const std::optional<Product> form = warp_form(*product_loop);
  constexpr std::int64_t tiles_of_64 = 8, most_joined = 4;
  if (!form) {
    return false;
  }
  const Product& product = *form;
  begin_product(product, *product_loop);
  // Eight columns of b after the other, and tiles of 64 that are somewhere else.
  const TileLoop *columns = nullptr, *tiles = nullptr;
  for (const TileLoop& inner : product.of_b) {
    const bool is_first =
        columns == nullptr && inner.extent == tiles_of_64 && inner.along_b == 8 * product.b.line;
    (is_first ? columns : tiles) = &inner;
  }
  if (columns == nullptr || product.of_b.size() > 2) {
    return false;
  }
  const std::int64_t num_tiles = tiles != nullptr ? tiles->extent : 1;
  std::int64_t joined = smaller_of(most_joined, num_tiles);
  while (num_tiles % joined != 0) {
    --joined;
  }

  // Everything lies as the instruction wants it, or there is none.
  const LinearText lane = bound(lane_var_);
  bind(lane_var_, LinearText::of(0));
  const Load &a = *product.a.load, &b = *product.b.load;
  const Store& store = *product.store;
  const LinearText base_a = offset(a.buffer, a.indices), base_b = offset(b.buffer, b.indices);
  const auto distance = [&](BufferId buffer, const ExprList& indices, const LinearText& from) {
    LinearText difference = offset(buffer, indices);
    difference.add(from, -1);
    return difference.is_constant() ? difference.constant : std::int64_t{-1};
  };
  const LinearText first = offset(store.buffer, store.indices);
  std::vector<std::int64_t> eights;
  bool fits = true;
  for (std::int64_t eight = 0; eight < num_tiles * tiles_of_64; ++eight) {
    if (tiles != nullptr) {
      bind(tiles->var, LinearText::of(eight / tiles_of_64));
    }
    bind(columns->var, LinearText::of(eight % tiles_of_64));
    if (eight < joined * tiles_of_64) {
      eights.push_back(distance(b.buffer, b.indices, base_b));
    }
    for (std::int64_t r = 0; r < 4; ++r) {
      bind(product.row.var, LinearText::of(r / 2));
      bind(product.column.var, LinearText::of(r % 2));
      fits = fits && distance(store.buffer, store.indices, first) == 4 * eight + r;
    }
    begin_product(product, *product_loop);
  }
  for (std::int64_t step = 1; step < num_steps.constant; ++step) {
    const std::int64_t depth = step * product.intrinsic->k;
    fits = fits && moved(a, base_a, loop.var, step) == depth * product.a.k &&
           moved(b, base_b, loop.var, step) == depth * product.b.k;
  }
  const auto matrix_a = matrix_form(product, true, eights);
  const auto matrix_b = matrix_form(product, false, eights);
  if (!fits || !matrix_a || !matrix_b) {
    bind(lane_var_, lane);
    return false;
  }

  const WarpgroupCall call{product.intrinsic, joined * product.intrinsic->n,
                           matrix_a->is_transposed, matrix_b->is_transposed};
  if (!has_item(calls_, call)) {
    calls_.push_back(call);
  }
  std::vector<TileLoop> loops;
  if (has_steps) {
    loops.push_back({loop.var, num_steps.constant});
  }
  for (const TileLoop& inner : product.of_a) {
    loops.push_back(inner);
  }
  const VarId part = num_tiles > joined ? tiles->var : VarId{};
  if (part.valid()) {
    loops.push_back({part, num_tiles / joined});
  }
  line("begin_products();");
  std::vector<std::string> names;
  open_loops(loops, names);
  if (part.valid()) {
    LinearText tile;
    tile.add(bound(part), joined);
    bind(part, tile);
  }
  const auto matrix = [&](const Load& load, const SharedMatrix& lies) {
    return "shared_matrix<" + std::to_string(lies.columns) + ", " + std::to_string(lies.lines) +
           ">(" + name(load.buffer) + " + " +
           offset(load.buffer, load.indices).print().within(CText::add) + ")";
  };
  line(call.function() + "(&" + element(store.buffer, store.indices) + ",");
  line("    " + matrix(a, *matrix_a) + ", " + matrix(b, *matrix_b) + ");");
  close_loops(names);
  line("finish_products();");
  bind(lane_var_, lane);
  return true;
}

inline std::string CudaTensorPrinter::warpgroup_helpers() const {
  std::string text;
  std::vector<const TensorIntrinsic*> declared;
  for (const WarpgroupCall& call : calls_) {
    const std::string name(call.intrinsic->name);
    const std::string operands = "(float* c, unsigned long long a, unsigned long long b)";
    if (!has_item(declared, call.intrinsic)) {
      declared.push_back(call.intrinsic);
      text += "// c: 64 rows, n columns of a warpgroup.\n"
              "template <int n, bool is_a_transposed, bool is_b_transposed>\n"
              "__device__ void " +
              name + operands + ";\n";
    }
    const std::int64_t count = call.columns / 2;  // accumulators of a thread
    std::string registers, constraints;
    for (std::int64_t i = 0; i < count; ++i) {
      registers += (i > 0 ? ", %" : "%") + std::to_string(i);
      constraints += (i > 0 ? i % 8 == 0 ? ",\n                 " : ", " : "") +
                     std::string("\"+f\"(c[") + std::to_string(i) + "])";
    }
    text += "template <>\n__device__ __forceinline__ void " + call.function() + operands +
            " {\n  asm volatile(\"wgmma.mma_async.sync.aligned.m64n" +
            std::to_string(call.columns) + "k" + std::to_string(call.intrinsic->k) + "." +
            std::string(call.intrinsic->ptx) + " {" + registers + "}, %" + std::to_string(count) +
            ", %" + std::to_string(count + 1) + ", 1, 1, 1, " + (call.is_a_transposed ? "1" : "0") +
            ", " + (call.is_b_transposed ? "1" : "0") + ";\"\n               : " + constraints +
            "\n               : \"l\"(a), \"l\"(b));\n}\n\n";
  }
  return text;
}

}  // namespace tensorsmith::detail
