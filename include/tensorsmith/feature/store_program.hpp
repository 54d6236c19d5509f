// SPDX-License-Identifier: Apache-2.0
// StoreProgram: a program as a list of stores, each with its loops, accesses and operations.
//
// Floor 5. Ansor reference, ch. 6.1 (the program that features are read from): inlined stages are
// substituted, loops of extent 1 have vanished, a reduction's initialisation stands just outside
// its outermost reduction loop, attached stages come before the rest of the loop body they are
// attached at, guards of imperfect splits count only for what they say of indices. A reduction
// across threads has two buffers of its own: what each thread has gathered, and what all have. Of a
// lowered kernel the loops and stores are as they stand. Not here: how it is built
// (build_store_program.hpp, kernel_features.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/feature/arith.hpp"
#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/sched/steps.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct FeatureLoop {
  std::int64_t extent = 1;  ///< the largest, where it depends on the loops around
  Annotation annotation = Annotation::none;
  algebra::Ref varying = algebra::no_ref;  ///< the extent, where it does
  SmallVector<std::int32_t, 2> vars;       ///< that stand for it
  std::int32_t stage = -1, iterator = -1;  ///< of the state; -1: of a lowered kernel

  /// 1 where it depends on the loops around.
  double constant_extent() const {
    return varying == algebra::no_ref ? static_cast<double>(extent) : 1.0;
  }
};

enum class AccessKind : std::uint8_t { read = 0, write = 1, read_write = 2 };

struct FeatureAccess {
  TensorId tensor;
  AccessKind kind = AccessKind::read;
  std::size_t rank = 0;
  std::vector<algebra::Ref> indices;  ///< `rank` per index vector, one vector after the other
  std::vector<std::int64_t> pieces;   ///< shape of a buffer with a storage layout, else empty
};

/// A loop around a store. The initialisation of a reduction has loops of its own (`table`) that run
/// like those of the update (`loop`).
struct OpenFeatureLoop {
  std::int32_t loop = -1;   ///< in StoreProgram::loops
  std::int32_t table = -1;  ///< identity
};

struct FeatureStore {
  std::uint32_t stage = 0;
  TensorId tensor;
  std::vector<OpenFeatureLoop> loops;    ///< outermost first
  algebra::Ref value = algebra::no_ref;  ///< that is stored; none: a constant
  OpCounts counts;                       ///< per execution
  std::vector<FeatureAccess> accesses;   ///< the stored tensor first
  std::int32_t auto_unroll_max_step = 0;
  std::vector<algebra::Ref>
      conditions;  ///< without which nothing is stored, but for initialisations
};

/// Where a buffer lies; what is no argument and says nothing lies where the threads around it do.
enum class FeatureScope : std::uint8_t { global, shared, local };

struct FeatureAllocation {
  TensorId tensor;
  double elements = 1;
  double outer_prod = 1;  ///< product of the loops around the allocation
  FeatureScope scope = FeatureScope::global;
  double constant_outer_prod = 1;     ///< the same of constant extents (FeatureLoop)
  std::size_t depth = 0;              ///< how many loops are around it
  std::vector<algebra::Ref> varying;  ///< extents that depend on them, 1 each in `elements`
  bool is_scratch = false;            ///< of a reduction across threads: its own, no stage's
};

/// What is stored to or read from and is no tensor of a dag.
struct FeatureBuffer {
  DType dtype = DType::f32;
  SmallVector<std::int64_t, 6> shape;
};

struct StoreProgram {
  /// Whose tensors the first ids are; must outlive the program. Null: a lowered kernel.
  const ComputeDag* dag = nullptr;
  algebra::Pool pool;
  std::vector<FeatureLoop> loops;
  std::int32_t num_tables = 0;
  std::vector<FeatureStore> stores;
  std::vector<FeatureAllocation> allocations;
  /// Their ids follow those of the dag's tensors.
  std::vector<FeatureBuffer> buffers;

  std::size_t num_tensors() const { return dag == nullptr ? 0 : dag->tensors().size(); }
  /// Null for what is not allocated in the program: its inputs.
  const FeatureAllocation* allocation(TensorId id) const {
    return find_item(allocations, [&](const FeatureAllocation& one) { return one.tensor == id; });
  }
  bool is_tensor(TensorId id) const { return id.value < num_tensors(); }
  DType dtype(TensorId id) const {
    return is_tensor(id) ? dag->tensor(id).dtype : buffers[id.value - num_tensors()].dtype;
  }
  const SmallVector<std::int64_t, 6>& shape(TensorId id) const {
    return is_tensor(id) ? dag->tensor(id).shape : buffers[id.value - num_tensors()].shape;
  }
};

/// Of one element, inside these loops.
inline FeatureAllocation allocation_inside(const StoreProgram& program,
                                           const std::vector<OpenFeatureLoop>& around) {
  FeatureAllocation made;
  made.depth = around.size();
  for (const OpenFeatureLoop& open : around) {
    const FeatureLoop& loop = program.loops[static_cast<std::size_t>(open.loop)];
    made.outer_prod *= static_cast<double>(loop.extent);
    made.constant_outer_prod *= loop.constant_extent();
  }
  return made;
}

}  // namespace tensorsmith
