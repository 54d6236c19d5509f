// SPDX-License-Identifier: Apache-2.0
// A network that can be called, with operands for a call: what run, profile, bench and bisect start
// from.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "network.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/graph/graph.hpp"

namespace tensorsmith::cli {

/// A network with operands: random inputs, or zeros for whole numbers.
struct Callable {
  Loaded loaded;
  JournalContents records;
  std::vector<HostArray> arrays;  ///< inputs, then outputs
  std::vector<KernelOperand> operands;
  Owned<graph::Executor> network;
  std::size_t num_recorded = 0;  ///< tasks whose kernel is of the journal
  double prepare_seconds = 0;
};
/// Throws Error.
Callable callable(const NetworkArguments& arguments);

double now_seconds();
/// Nanoseconds of one call.
double timed_call(graph::Executor& network, const std::vector<KernelOperand>& operands);
double total_flop(const graph::Partition& parts);

/// Largest difference to the interpreter, as a share of the largest result; -1: it is not finite.
double difference_to_interpreter(const Callable& made);
/// The same of two lists of arrays of the same shapes.
double largest_difference(const std::vector<HostArray>& got, std::size_t first_got,
                          const std::vector<HostArray>& want, std::size_t first_want);

}  // namespace tensorsmith::cli
