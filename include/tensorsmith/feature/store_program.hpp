// StoreProgram: the stores of a state in program order, each with its loops, accesses and
// operations.
//
// Floor 5. Ansor reference, ch. 6.1 (the program that features are read from): inlined stages are
// substituted, loops of extent 1 have vanished, a reduction's initialisation stands just outside
// its outermost reduction loop, attached stages come before the rest of the loop body they are
// attached at, guards of imperfect splits are ignored. Not here: how it is built
// (build_store_program.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/feature/arith.hpp"
#include "tensorsmith/feature/index_form.hpp"
#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

struct FeatureLoop {
  std::int64_t extent = 1;
  Annotation annotation = Annotation::none;
};

enum class AccessKind : std::uint8_t { read = 0, write = 1, read_write = 2 };

struct FeatureAccess {
  TensorId tensor;
  AccessKind kind = AccessKind::read;
  std::size_t rank = 0;
  std::vector<IndexForm> indices;    ///< `rank` per index vector, one vector after the other
  std::vector<std::int64_t> pieces;  ///< shape of a buffer with a storage layout, else empty
};

/// A loop around a store. The initialisation of a reduction has loops of its own (`table`) that run
/// like those of the update (`loop`).
struct OpenFeatureLoop {
  std::int32_t loop = -1;   ///< in the forms and in StoreProgram::loops
  std::int32_t table = -1;  ///< identity
};

struct FeatureStore {
  std::uint32_t stage = 0;
  TensorId tensor;
  std::vector<OpenFeatureLoop> loops;   ///< outermost first
  OpCounts counts;                      ///< per execution
  std::vector<FeatureAccess> accesses;  ///< the stored tensor first
  std::int32_t auto_unroll_max_step = 0;
};

struct FeatureAllocation {
  TensorId tensor;
  double elements = 1;
  double outer_prod = 1;  ///< product of the loops around the allocation
};

struct StoreProgram {
  std::vector<FeatureLoop> loops;
  std::int32_t num_tables = 0;
  IndexAtoms atoms;
  std::vector<FeatureStore> stores;
  std::vector<FeatureAllocation> allocations;
};

}  // namespace tensorsmith
