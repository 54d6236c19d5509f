// SPDX-License-Identifier: Apache-2.0
// What of the indices and conditions of a kernel are instructions, and what of them is constant
// once loops are written out.
//
// Floor 6. Part of gpu_work_reader.hpp. Own design.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/cost/gpu_work_reader.hpp"

namespace tensorsmith::detail {

inline bool GpuWorkReader::is_division(ExprId id) const {
  const Binary* binary = program_.pool.as<Binary>(id);
  return binary != nullptr &&
         (binary->op == BinaryOp::floordiv || binary->op == BinaryOp::floormod);
}

/// What of an index is not carried along from one iteration to the next: quotients, remainders,
/// comparisons and choices, each as often as the loops that it depends on run. In a straight line
/// the numbers of its loops are constants, and so is what depends on these alone.
inline void GpuWorkReader::count_index(ExprId index, const Place& here, Path& path) {
  visit_nodes(program_.pool, index, [&](ExprId id) {
    const double clocks = index_instructions(id);
    if (clocks <= 0 || counted_[id.value]) {
      return;
    }
    counted_[id.value] = true;
    const std::uint64_t loops = footprint_.dependences({id});
    if ((loops & ~constant_loops()) == 0) {
      return;
    }
    double times = 1;
    for (const GpuLoop& open : open_) {
      times *= (footprint_.bit_of(open.var) & loops) != 0 ? static_cast<double>(open.extent) : 1;
    }
    GpuUse use;
    use.instructions = use.integer = clocks;
    spend(use, times / here.times, here, path);
  });
}

/// Loops around whose numbers are constants, because they are written out. Where a loop is in part,
/// the turns of the line are none.
inline std::uint64_t GpuWorkReader::constant_loops() const {
  std::uint64_t constants = 0;
  for (const GpuLoop& open : open_) {
    constants |= is_expanded(open.kind) ? footprint_.bit_of(open.var) : 0;
  }
  for (const GpuLoop& open : open_) {
    constants &= is_expanded(open.kind) ? ~std::uint64_t{0} : ~footprint_.bit_of(open.var);
  }
  return constants;
}

/// Whether the compiler makes a branch of a load behind a condition. Else the load is predicated:
/// where threads differ about the condition and little is computed for it.
inline bool GpuWorkReader::is_branched(ExprId load, ExprId condition) const {
  if (!condition.valid()) {
    return false;
  }
  bool is_long = false;
  const std::uint64_t constants = constant_loops();
  std::uint64_t around = 0;
  for (const GpuLoop& open : open_) {
    around |= footprint_.bit_of(open.var);
  }
  for (const ExprId root : {load, condition}) {
    visit_nodes(program_.pool, root, [&](ExprId id) {
      if (is_division(id)) {
        const std::uint64_t loops = footprint_.dependences({id});
        is_long = is_long || ((loops & around) != 0 && (loops & ~constants) != 0);
      }
    });
  }
  return is_long || is_uniform(condition);
}

/// Different quotients and remainders of `body` that change with a loop's variable and are no
/// constants if the loop is written out.
inline void GpuWorkReader::find_quotients(StmtId body, std::uint64_t bit,
                                          std::vector<ExprId>& found) const {
  const std::uint64_t constants = constant_loops() | bit;
  for_each_expr(program_[body], [&](ExprId root) {
    visit_nodes(program_.pool, root, [&](ExprId id) {
      if (is_division(id) && !has_item(found, id)) {
        const std::uint64_t loops = footprint_.dependences({id});
        if ((loops & bit) != 0 && (loops & ~constants) != 0) {
          found.push_back(id);
        }
      }
    });
  });
  for_each_child(program_[body], [&](StmtId child) { find_quotients(child, bit, found); });
}

/// Of one node of an index: sums and products are parts of addresses, which instructions add.
inline double GpuWorkReader::index_instructions(ExprId id) const {
  const Binary* binary = program_.pool.as<Binary>(id);
  if (binary == nullptr) {
    return program_.pool.as<Select>(id) != nullptr ? 1 : 0;
  }
  if (is_division(id)) {
    const IntImm* by = program_.pool.as<IntImm>(binary->b);
    const bool is_shift = by != nullptr && by->value > 0 && (by->value & (by->value - 1)) == 0;
    // By a constant: a product, its upper half, shifts and a correction.
    return is_shift ? 1 : by != nullptr ? 5 : 20;
  }
  const bool is_sum =
      binary->op == BinaryOp::add || binary->op == BinaryOp::sub || binary->op == BinaryOp::mul;
  return is_sum ? 0 : 1;
}

}  // namespace tensorsmith::detail
