// SPDX-License-Identifier: Apache-2.0
// What a program is compared with on a GPU: libraries that take turns with it.
//
// Own design. Everybody's result is compared with ours first; then all are timed round by round,
// so that drift of the clock hits all alike. Not here: which library does what (blas.hpp, dnn.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensorsmith/cuda/device.hpp"
#include "tensorsmith/measure/task.hpp"

namespace tensorsmith::bench {

/// A library that computes the same, or why it does not.
struct GpuPeer {
  std::string name, version;
  std::function<cuda::Status()> enqueue;
  std::string absent;
  cuda::DevicePointer output = 0;  ///< where its result is; 0: nothing to compare
  double rounding = 1;             ///< its errors, in those of sums of the same products in f32
  /// Brings the result into our layout; empty: it has it.
  std::function<void(std::vector<std::byte>&)> reorder;
};

/// One contestant: how it is enqueued and what it took.
struct Contestant {
  GpuPeer peer;
  std::int64_t calls = 1;
  std::vector<double> samples;
};

/// As libraries take it.
inline void* pointer_of(cuda::DevicePointer memory) { return reinterpret_cast<void*>(memory); }

/// Throws Error with the driver's name of the status if that is not 0.
void require_good(cuda::Status status, const cuda::Device& device, const char* what);

/// The first one that takes the least time, of those that compute at all; what is wrong with the
/// last one if none does. Not empty.
GpuPeer fastest_of(cuda::Device& device, const std::vector<GpuPeer>& candidates);

/// Runs ours (the first), then every other one: whose result differs by more than the tolerance of
/// `output` for either (times `rounding` for the other) is absent and says so. The names of those
/// whose result is the same.
std::vector<std::string> compare_results(cuda::Device& device, const KernelArgument& output,
                                         std::vector<Contestant>& all);

/// Ours first. Every one runs until the clocks are those of a busy device, then all in turn. What
/// a library refuses to do, it is absent for.
void race(cuda::Device& device, std::vector<Contestant>& all);

/// Of `values`, not empty.
double quantile(std::vector<double> values, double q);

nlohmann::json peer_json(const Contestant& one, const Contestant& ours);

}  // namespace tensorsmith::bench
