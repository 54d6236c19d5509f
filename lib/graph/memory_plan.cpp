// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace tensorsmith::graph {

namespace {

constexpr std::int64_t alignment = 64;

std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

Placement place(const std::vector<Lifetime>& lifetimes) {
  Placement placed;
  placed.offsets.assign(lifetimes.size(), 0);
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  std::vector<std::size_t> done;
  for (const std::size_t i : order) {
    const Lifetime& own = lifetimes[i];
    // Those that live at the same time, from the lowest on: the first gap that is large enough.
    std::vector<std::size_t> others;
    for (const std::size_t j : done) {
      if (lifetimes[j].first <= own.last && own.first <= lifetimes[j].last) {
        others.push_back(j);
      }
    }
    std::sort(others.begin(), others.end(),
              [&](std::size_t a, std::size_t b) { return placed.offsets[a] < placed.offsets[b]; });
    std::int64_t offset = 0;
    const std::int64_t bytes = rounded_up(own.bytes);
    for (const std::size_t j : others) {
      if (placed.offsets[j] - offset >= bytes) {
        break;
      }
      offset = std::max(offset, placed.offsets[j] + rounded_up(lifetimes[j].bytes));
    }
    placed.offsets[i] = offset;
    placed.total_bytes = std::max(placed.total_bytes, offset + bytes);
    done.push_back(i);
  }
  return placed;
}

MemoryPlan plan_memory(const Graph& graph, const Partition& partition) {
  MemoryPlan plan;
  plan.offsets.assign(graph.values.size(), -1);
  constexpr std::size_t never = SIZE_MAX;
  std::vector<std::size_t> first(graph.values.size(), never), last(graph.values.size(), 0);
  std::vector<bool> is_outside(graph.values.size(), false);
  for (const std::vector<ValueId>* ids : {&graph.inputs, &graph.outputs}) {
    for (const ValueId id : *ids) {
      is_outside[partition.storage[id.value].value] = true;
    }
  }
  for (std::size_t step = 0; step < partition.groups.size(); ++step) {
    const GroupProgram& program = partition.groups[step].program;
    for (const ValueId id : program.outputs) {
      const std::uint32_t v = partition.storage[id.value].value;
      first[v] = std::min(first[v], step);
      last[v] = std::max(last[v], step);
    }
    for (const ValueId id : program.inputs) {
      const std::uint32_t v = partition.storage[id.value].value;
      last[v] = std::max(last[v], step);
    }
  }
  std::vector<Lifetime> lifetimes;
  std::vector<std::size_t> values;
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (first[v] == never || is_outside[v]) {
      continue;
    }
    const Value& value = graph.values[v];
    lifetimes.push_back({num_elements(value.shape) * bytes_of(value.dtype), first[v], last[v]});
    values.push_back(v);
    plan.sum_bytes += rounded_up(lifetimes.back().bytes);
  }
  const Placement placed = place(lifetimes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    plan.offsets[values[i]] = placed.offsets[i];
  }
  plan.arena_bytes = placed.total_bytes;
  return plan;
}

}  // namespace tensorsmith::graph
