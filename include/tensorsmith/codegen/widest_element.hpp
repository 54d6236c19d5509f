// SPDX-License-Identifier: Apache-2.0
// widest_element_bytes: how many elements fit a vector is decided by the largest one.
//
// Floor 5. Own design. Of what is stored, and what stored values read; indices do not count.
#pragma once

#include <cstdint>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// Bytes of the largest element that the statement touches, 1 if it touches none.
inline std::int32_t widest_element_bytes(const LoopProgram& program, StmtId id) {
  std::int32_t bytes = 1;
  const auto see = [&](std::int32_t other) { bytes = larger_of(bytes, other); };
  if (const Store* store = program.as<Store>(id)) {
    see(bytes_of(program[store->buffer].dtype));
    visit_nodes(program.pool, store->value, [&](ExprId e) {
      if (program.pool.as<Load>(e) != nullptr) {
        see(bytes_of(program.pool.dtype(e)));
      }
    });
  }
  for_each_child(program[id], [&](StmtId child) { see(widest_element_bytes(program, child)); });
  return bytes;
}

}  // namespace tensorsmith::detail
