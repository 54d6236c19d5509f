// SPDX-License-Identifier: Apache-2.0
// swizzle_shared: shared copies that warps multiply together lie as their instruction reads them.
//
// Floor 4. Own design; the form is that of the PTX ISA, "wgmma: shared memory matrix layout", with
// a swizzle of 128 bytes. A copy in lines of 128 bytes is marked; its indices stay as they are, so
// nothing else in the program changes:
//     A.shared: f16[128, 64]  -->  A.shared: f16[128, 64] swizzled
// Not here: how elements are found then (codegen/cuda_vector.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"

namespace tensorsmith {
namespace detail {

/// Whole lines of 128 bytes, and eight of them at a time.
inline bool has_swizzled_form(const Buffer& buffer) {
  const std::int64_t line = 128 / bytes_of(buffer.dtype);
  bool fits = buffer.scope == Scope::shared && !buffer.shape.empty() &&
              buffer.shape.back() == line && buffer.strides.back() == 1 &&
              buffer.num_bytes() % 1024 == 0;
  for (std::size_t d = 0; d + 1 < buffer.shape.size(); ++d) {
    fits = fits && buffer.strides[d] % line == 0;
  }
  return fits;
}

}  // namespace detail

/// `body`: what one thread of a kernel does.
inline void swizzle_shared(LoopProgram& program, StmtId body) {
  const auto mark = [&](auto&& self, StmtId id, bool is_inside) -> void {
    const For* loop = program.as<For>(id);
    is_inside =
        is_inside || (loop != nullptr && loop->intrinsic != nullptr && loop->intrinsic->warps > 1);
    if (is_inside) {
      for_each_expr(program[id], [&](ExprId expr) {
        visit_nodes(program.pool, expr, [&](ExprId node) {
          const Load* load = program.pool.as<Load>(node);
          if (load != nullptr && detail::has_swizzled_form(program[load->buffer])) {
            program[load->buffer].is_swizzled = true;
            program[load->buffer].alignment = 1024;
          }
        });
      });
    }
    for_each_child(program[id], [&](StmtId child) { self(self, child, is_inside); });
  };
  mark(mark, body, false);
}

}  // namespace tensorsmith
