// SPDX-License-Identifier: Apache-2.0
#include "network_callable.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "command.hpp"
#include "heap.hpp"
#include "tensorsmith/graph/lowering.hpp"

namespace tensorsmith::cli {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double timed_call(graph::Executor& network, const std::vector<KernelOperand>& operands) {
  const double start = now_seconds();
  network.call(operands);
  return 1e9 * (now_seconds() - start);
}

double total_flop(const graph::Partition& parts) {
  double flop = 0;
  for (const graph::NetworkTask& task : parts.tasks) {
    flop += task.weight * task.flop;
  }
  return flop;
}

Callable callable(const NetworkArguments& arguments) {
  keep_few_heaps();
  Callable made;
  const double start = now_seconds();
  made.loaded = load(arguments);
  made.records = records_of(arguments);
  const graph::Graph& net = made.loaded.net;
  const std::vector<KernelArtifact> kernels =
      graph::recorded_kernels(made.loaded.parts, made.records, tune_options(arguments),
                              arguments.is_plain, made.num_recorded);
  give_back_memory();  // before constants are packed
  made.network =
      make_owned<graph::Executor>(net, made.loaded.parts, kernels, arguments.num_threads);
  made.prepare_seconds = now_seconds() - start;
  made.arrays = graph::random_arguments(net, arguments.seed);
  made.operands = graph::operands_of(net, made.arrays);
  return made;
}

double largest_difference(const std::vector<HostArray>& got, std::size_t first_got,
                          const std::vector<HostArray>& want, std::size_t first_want) {
  double worst = 0;
  for (std::size_t k = 0; first_want + k < want.size(); ++k) {
    const HostArray& ours = got[first_got + k];
    const HostArray& theirs = want[first_want + k];
    double largest = 0, furthest = 0;
    for (std::int64_t i = 0; i < ours.num_elements(); ++i) {
      const double apart = std::abs(ours.get_real(i) - theirs.get_real(i));
      if (!std::isfinite(apart)) {
        return -1;
      }
      largest = std::max(largest, std::abs(theirs.get_real(i)));
      furthest = std::max(furthest, apart);
    }
    worst = std::max(worst, largest > 0 ? furthest / largest : furthest);
  }
  return worst;
}

double difference_to_interpreter(const Callable& made) {
  const graph::Graph& net = made.loaded.net;
  const std::vector<HostArray> inputs(
      made.arrays.begin(), made.arrays.begin() + static_cast<std::ptrdiff_t>(net.inputs.size()));
  const auto want = graph::interpret(net, inputs);
  if (!want) {
    throw Error(want.error());
  }
  return largest_difference(made.arrays, net.inputs.size(), *want, 0);
}

}  // namespace tensorsmith::cli
