// SPDX-License-Identifier: Apache-2.0
// Variables for the lengths of splits that share rows out among threads.
//
// Floor 7. Own design (row_threads.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/sched/steps.hpp"
#include "tensorsmith/space/constraint.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::detail {

/// {rows of a block}, or {threads, elements at once}: powers of two (row_threads.hpp). `widest`:
/// the most elements at once.
inline std::vector<VariableId> add_row_lengths(VariableSpace& space, const std::string& name,
                                               const SplitStep& split,
                                               const HardwareParams& hardware,
                                               std::int64_t widest) {
  const bool is_rows = split.lengths.size() == 1;
  const std::int64_t most = is_rows ? hardware.max_threads_per_block / hardware.warp_size
                                    : hardware.max_threads_per_block;
  const std::int64_t least = is_rows ? 1 : hardware.warp_size;
  std::vector<std::int32_t> counts;
  for (std::int64_t threads = 1; threads <= most; threads *= 2) {
    counts.push_back(static_cast<std::int32_t>(threads));
  }
  const VariableId threads =
      space.add(name + ".1", VariableRole::tile_length, Domain::list(std::move(counts)));
  std::vector<VariableId> lengths = {threads};
  ExprId work = space.number(split.extent);
  if (!is_rows) {
    std::vector<std::int32_t> widths;
    for (std::int32_t lanes = 1; lanes <= widest && split.extent % lanes == 0; lanes *= 2) {
      widths.push_back(lanes);
    }
    lengths.push_back(
        space.add(name + ".2", VariableRole::tile_length, Domain::list(std::move(widths))));
    const ExprId lanes = space.expr(lengths.back());
    work = space.pool().floordiv(space.pool().add(space.number(split.extent - 1), lanes), lanes);
  }
  const ExprId one = space.expr(threads);
  const auto either = [&](ExprId a, ExprId b) { return space.pool().binary(BinaryOp::or_, a, b); };
  space.require(
      either(space.at_most(one, 1), space.pool().lt(one, space.pool().mul(work, space.number(2)))),
      ConstraintKind::legality, "half of the threads have work in " + name);
  space.require(either(space.at_least(one, least), space.pool().ge(one, work)),
                ConstraintKind::legality, "there is a whole warp where there is work for one");
  return lengths;
}

}  // namespace tensorsmith::detail
