// SPDX-License-Identifier: Apache-2.0
// bisect: the first kernel of a network whose result is not what its nodes say.
//
// Floor 10; compiled in lib/graph. Own design. Every kernel is judged on what it was given: its
// formulas in f64 on the same values, and beside them a bound that follows from types, lengths of
// sums and the values (lib/tune/error_twin.hpp). So errors of earlier kernels neither hide one nor
// make one. Values that others recorded are judged in the same way, each on the recorded ones that
// it depends on, with room for another way to round: what is found there is an operator that the
// two understand differently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/support/callback.hpp"

namespace tensorsmith::graph {

/// A value of the network as another implementation has it.
struct RecordedValue {
  std::string name;  ///< of the value
  Constant elements;
};

struct BisectProgress {
  std::size_t done = 0, count = 0;  ///< kernels, then recorded values
};
struct BisectOptions {
  std::vector<RecordedValue> recorded;
  Callback<void(const BisectProgress&)> progress;
};

enum class Disagreement : std::uint8_t {
  kernel,       ///< what the kernel wrote is not what its nodes compute
  overwritten,  ///< what a kernel reads is not what was written there
  recorded,     ///< a recorded value is not what the nodes before it compute
};

struct Difference {
  Disagreement kind = Disagreement::kernel;
  std::size_t node = 0;  ///< computes the value; of `overwritten`: that reads it
  ValueId value;
  std::int64_t num_wrong = 0, num_compared = 0;
  /// The element that is furthest beyond its bound.
  std::int64_t element = 0;
  double got = 0, expected = 0, allowed = 0;
};

struct Bisected {
  std::size_t num_kernels = 0;  ///< that were judged, in the order of their calls
  std::size_t num_recorded = 0;
  /// Elements, and those of which the bound says nothing (an overflow on the way, formulas that
  /// are too long).
  std::int64_t num_elements = 0, num_unjudged = 0;
  /// Largest share of its bound that a difference took.
  double worst_share = 0;
  std::optional<Difference> kernel;    ///< the first of kind `kernel` or `overwritten`
  std::optional<Difference> recorded;  ///< the first of that kind
};

/// `network` is the executor of the graph and the partition, `operands` as for its call; stops at
/// the first difference of either kind. Recorded values of names that the graph does not have are
/// left out, as are inputs: who calls it gives these. Throws Error where a recorded value has
/// another type or shape, or a reference cannot be computed.
Bisected bisect(const Graph& graph, const Partition& partition, Executor& network,
                std::span<const KernelOperand> operands, const BisectOptions& options = {});

/// "node "conv1" (Conv): ..." for people.
std::string explain(const Graph& graph, const Difference& difference);

}  // namespace tensorsmith::graph
