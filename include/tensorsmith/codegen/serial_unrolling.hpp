// SPDX-License-Identifier: Apache-2.0
// How often the compiler of a GPU unrolls serial loops: what our text says to it. What it does
// where nothing is said: compiler_unrolling.hpp.
//
// Floor 5. Own design. Serial loops are unrolled up to so many stores in a straight line; loops
// that say so, in full. The compiler's time grows with the line: 60 to 230 ms up to 256 stores, 300
// to 550 ms at 512 (NVRTC 13.0 for sm_80, one thread, drawn matrix products).
#pragma once

#include <cstdint>
#include <variant>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith {

/// All of the loop, or a power of two that divides the extent. `instances`: stores of the line that
/// one iteration makes.
inline std::int64_t serial_unroll_factor(std::int64_t extent, double instances) {
  constexpr double most_instances = 128;
  if (static_cast<double>(extent) * instances <= most_instances) {
    return extent;
  }
  std::int64_t factor = 1;
  while (2.0 * static_cast<double>(factor) * instances <= most_instances &&
         extent % (2 * factor) == 0) {
    factor *= 2;
  }
  return factor;
}

/// Stores of the statement once its loops are unrolled.
inline double num_unrolled_stores(const LoopProgram& program, StmtId id) {
  return std::visit(
      Overloaded{[&](const Seq& seq) {
                   double sum = 0.0;
                   for (const StmtId item : seq.items) {
                     sum += num_unrolled_stores(program, item);
                   }
                   return sum;
                 },
                 [&](const For& loop) {
                   const double body = num_unrolled_stores(program, loop.body);
                   if (loop.intrinsic != nullptr && !loop.intrinsic->ptx.empty()) {
                     return body * 32 / (loop.intrinsic->m * loop.intrinsic->n);
                   }
                   const IntImm* extent = program.pool.as<IntImm>(loop.extent);
                   const std::int64_t copies = extent == nullptr ? 1
                                               : loop.kind == ForKind::serial && loop.load_sets < 2
                                                   ? serial_unroll_factor(extent->value, body)
                                                   : extent->value;
                   return body * static_cast<double>(copies);
                 },
                 [](const Store&) { return 1.0; },
                 [&](const If& branch) {
                   return num_unrolled_stores(program, branch.then_body) +
                          (branch.else_body.valid() ? num_unrolled_stores(program, branch.else_body)
                                                    : 0.0);
                 },
                 [&](const Alloc& alloc) { return num_unrolled_stores(program, alloc.body); },
                 [](const auto&) { return 0.0; }},
      program[id]);
}

}  // namespace tensorsmith
