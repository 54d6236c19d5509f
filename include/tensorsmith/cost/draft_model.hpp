// draft_cycles: an estimate of a CPU program's time from its loops alone, before any measurement.
//
// Floor 6. Own design, in the spirit of a draft that prunes before the learned model looks closer
// (Pruner, ASPLOS 2025). Per stage: arithmetic and loads of one register tile as
// lower/shape_nest.hpp would make it, its lost lanes, the cost of starting a reduction, gathers
// along the vector loop, idle cores. Caches are left to the learned model. Not here: anything that
// measures or learns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

namespace detail {

/// The axis that an iterator runs along: "j.3" and "i.3@j.3@" run along j.
inline std::string root_axis(std::string_view name) {
  if (!name.empty() && name.back() == '@') {
    name.remove_suffix(1);
  }
  const std::size_t fused = name.rfind('@');
  name = fused == std::string_view::npos ? name : name.substr(fused + 1);
  return std::string(name.substr(0, name.find('.')));
}

/// How the loads and stores of `op` meet a vector loop along the axis called `name`.
struct VectorAccess {
  double contiguous = 0, strided = 0, broadcast = 0;
  bool is_store_strided = false;
};

inline VectorAccess vector_access(const State& state, const Operation& op,
                                  const std::string& name) {
  const ExprPool& pool = state.dag().pool();
  const std::vector<const StorageLayoutStep*> layouts = storage_layouts(state);
  // Whether neighbours along dimension d of a tensor are neighbours in memory.
  const auto is_contiguous = [&](TensorId tensor, std::size_t d, std::size_t rank) {
    const StorageLayoutStep* layout = layouts[state.dag().tensor(tensor).operation];
    const auto piece = static_cast<std::int32_t>(2 * d);
    return layout == nullptr ? d + 1 == rank
                             : layout->order.back() == piece + (layout->blocks[d] > 0 ? 1 : 0);
  };
  VectorAccess found;
  std::optional<VarId> var;
  for (std::size_t a = 0; a < op.axes.size(); ++a) {
    if (clean_name(pool.var_name(op.axes[a].var)) == name) {
      var = op.axes[a].var;
      found.is_store_strided = !is_contiguous(op.outputs[0], a, op.axes.size());
    }
  }
  for (ExprId body : op.bodies) {
    visit_expr(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read == nullptr) {
        return;
      }
      bool is_inner = false, is_outer = false;
      for (std::size_t d = 0; d < read->indices.size(); ++d) {
        visit_expr(pool, read->indices[d], [&](ExprId part) {
          const VarRef* ref = pool.as<VarRef>(part);
          if (ref != nullptr && var && ref->var == *var) {
            (is_contiguous(read->tensor, d, read->indices.size()) ? is_inner : is_outer) = true;
          }
        });
      }
      (is_outer ? found.strided : is_inner ? found.contiguous : found.broadcast) += 1;
    });
  }
  return found;
}

inline double draft_stage_cycles(const State& state, std::size_t id, const Target& target,
                                 std::int32_t num_threads) {
  const Operation& op = state.operation(id);
  const auto& iterators = state.stage(id).iterators;
  const auto extent_of = [&](std::size_t i) {
    return static_cast<double>(iterators[i].extent.value_or(1));
  };
  double points = 1;
  std::size_t tile = 0;  // the iterators behind the last reduction
  for (std::size_t i = 0; i < iterators.size(); ++i) {
    points *= extent_of(i);
    tile = iterators[i].kind == IteratorKind::reduction ? i + 1 : tile;
  }
  if (iterators.empty()) {
    return points;
  }
  double run = 1;  // iterations of the innermost run of reduction loops
  for (std::size_t i = tile;
       i > 0 && (iterators[i - 1].kind == IteratorKind::reduction || extent_of(i - 1) == 1); --i) {
    run *= extent_of(i - 1);
  }
  const std::int32_t fitting = target.vector_lanes(
      static_cast<std::int32_t>(8 * bytes_of(state.dag().tensor(op.outputs[0]).dtype)));
  const double lanes = fitting > 0 ? fitting : 1;
  const double registers = static_cast<double>(target.num_vector_registers);
  double width = 1, rows = 1, vectors = 1;
  VectorAccess access;
  if (tile < iterators.size()) {
    width = extent_of(iterators.size() - 1);
    width = width > 4 * lanes ? 4 * lanes : width;
    for (std::size_t i = tile; i + 1 < iterators.size(); ++i) {
      rows *= extent_of(i);
    }
    vectors = static_cast<double>(static_cast<std::int64_t>((width + lanes - 1) / lanes));
    access = vector_access(state, op, root_axis(iterators.back().name));
  }
  const double most_rows = (registers - vectors - 1) / vectors;
  rows = op.reduce_axes.empty() || rows < most_rows ? rows : (most_rows < 1 ? 1 : most_rows);
  // One step of the tile: two loads per cycle, and no step is shorter than the latency.
  const double arithmetic = rows * vectors / target.fma_per_cycle.value_or(2);
  const double latency = target.fma_latency.value_or(4);
  const double gathers = access.strided * (rows < 2 ? 1 : rows) * width;
  double step = (access.contiguous * vectors + access.broadcast * rows) / 2 + gathers / 2;
  step = step > arithmetic ? step : arithmetic;
  if (!op.reduce_axes.empty()) {
    step = step > latency ? step : latency;
    step += rows * vectors * (access.is_store_strided ? lanes : 2) / run;
  } else {
    step += rows * vectors * (access.is_store_strided ? lanes : 1);
  }
  double cycles = points / (rows * width) * step;
  if (num_threads > 1) {
    double chunks = 1;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      chunks = iterators[i].annotation == Annotation::parallel ? extent_of(i) : chunks;
    }
    const auto whole = static_cast<std::int64_t>(chunks);
    cycles *= static_cast<double>((whole + num_threads - 1) / num_threads) / chunks;
  }
  return cycles;
}

}  // namespace detail

/// Cycles of one run, for comparing programs of one workload; bounds must be inferred.
inline double draft_cycles(const State& state, const Target& target, std::int32_t num_threads = 1) {
  double cycles = 0;
  for (std::size_t id = 0; id < state.num_stages(); ++id) {
    const auto& stage = state.stage(id);
    if (stage.is_placeholder || stage.compute_at == ComputeAt::inlined) {
      continue;
    }
    double runs = 1;  // an attached stage runs once for every iteration around it
    for (auto at = static_cast<std::int32_t>(id);;) {
      const auto found = state.attach_map().stage_to_iterator.find(at);
      if (found == state.attach_map().stage_to_iterator.end()) {
        break;
      }
      at = found->second.stage;
      const auto& around = state.stage(static_cast<std::size_t>(at)).iterators;
      for (std::int32_t i = 0; i <= found->second.iterator; ++i) {
        runs *= static_cast<double>(around[static_cast<std::size_t>(i)].extent.value_or(1));
      }
    }
    cycles += runs * detail::draft_stage_cycles(state, id, target, num_threads);
  }
  return cycles;
}

}  // namespace tensorsmith
