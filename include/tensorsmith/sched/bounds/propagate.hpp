// SPDX-License-Identifier: Apache-2.0
// From axes to loops and back, through the splits and fuses of one stage.
//
// Floor 3. Ansor reference, ch. 2.5, rule 3.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/bounds/intervals.hpp"
#include "tensorsmith/sched/bounds/loops.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::bounds {

constexpr std::size_t node(std::int32_t id) { return static_cast<std::size_t>(id); }

/// Extents of split and fused loops from those of the axes. The length of a split that makes a
/// thread-bound loop is taken as it is, so that stages of one kernel can agree on it.
inline void pass_down(const StageLoops& loops, const BasicStage<std::int64_t>& stage,
                      std::vector<std::int64_t>& extents) {
  std::vector<char> bound(static_cast<std::size_t>(loops.num_nodes), 0);
  for (std::size_t i = 0; i < loops.leaves.size(); ++i) {
    bound[node(loops.leaves[i])] = is_thread_annotation(stage.iterators[i].annotation) ? 1 : 0;
  }
  for (auto r = loops.relations.rbegin(); r != loops.relations.rend(); ++r) {
    if (r->is_split) {
      bound[node(r->whole)] = bound[node(r->outer)] | bound[node(r->inner)];
    } else {
      bound[node(r->outer)] = bound[node(r->inner)] = bound[node(r->whole)];
    }
  }
  for (const LoopRelation& r : loops.relations) {
    if (!r.is_split) {
      extents[node(r.whole)] = extents[node(r.outer)] * extents[node(r.inner)];
      continue;
    }
    const std::int64_t whole = extents[node(r.whole)];
    const std::int32_t given = r.by_factor ? r.inner : r.outer;
    const std::int32_t other = r.by_factor ? r.outer : r.inner;
    const std::int64_t length = bound[node(given)] != 0 ? r.length : smaller_of(whole, r.length);
    extents[node(given)] = length;
    // The outer extent counts whole factors, the inner one the parts that there are.
    const std::int64_t divisor = r.by_factor ? r.length : length;
    extents[node(other)] = (whole - 1) / divisor + 1;
  }
}

/// Intervals of the axes from those of the loops.
inline void pass_up(const StageLoops& loops, const std::vector<std::int64_t>& extents,
                    IntervalContext& context, std::vector<Interval>& nodes) {
  const auto is_full = [&](std::size_t n) {
    return nodes[n].min == Affine{} && nodes[n].max == constant_form(extents[n] - 1);
  };
  for (auto r = loops.relations.rbegin(); r != loops.relations.rend(); ++r) {
    const std::size_t whole = node(r->whole), outer = node(r->outer), inner = node(r->inner);
    if (r->is_split) {
      if (is_full(outer) && is_full(inner)) {
        nodes[whole] = constant_interval(0, extents[whole] - 1);
        continue;
      }
      nodes[whole] = nodes[inner];
      nodes[whole].min.add(nodes[outer].min, extents[inner]);
      nodes[whole].max.add(nodes[outer].max, extents[inner]);
      continue;
    }
    const std::int64_t width = extents[inner];
    if (is_full(whole)) {
      nodes[outer] = constant_interval(0, extents[outer] - 1);
      nodes[inner] = constant_interval(0, width - 1);
      continue;
    }
    const Interval fused = nodes[whole];
    nodes[outer].min = context.quotient(fused.min, width);
    nodes[inner].min = context.remainder(fused.min, width);
    if (fused.is_point()) {
      nodes[outer].max = nodes[outer].min;
      nodes[inner].max = nodes[inner].min;
      continue;
    }
    nodes[outer].max = context.quotient(fused.max, width);
    const auto size = IntervalContext::difference(fused.max, fused.min);
    if (size && width % (*size + 1) == 0) {  // stays in one row
      nodes[inner].max = context.remainder(fused.max, width);
    } else {
      nodes[inner] = constant_interval(0, width - 1);
    }
  }
}

}  // namespace tensorsmith::bounds
