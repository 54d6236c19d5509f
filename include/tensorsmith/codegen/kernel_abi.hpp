// SPDX-License-Identifier: Apache-2.0
// The binary interface between a compiled CPU kernel and whoever calls it: plain data, C layout.
//
// Floor 1 (no dependency). Own design. Used by the LLVM back end, by exported C++ (which repeats
// these declarations in its text), by the worker process and by Kernel.
// Not here: thread pools, memory; the caller brings both.
#pragma once

#include <cstdint>

namespace tensorsmith {

struct KernelRuntime;

/// Body of a parallel loop: runs iterations [begin, end) of it on worker `worker`
/// (0 <= worker < KernelRuntime::num_threads).
using ParallelBody = void (*)(void* closure, std::int64_t begin, std::int64_t end,
                              std::int32_t worker);

/// What a kernel may ask of its caller. `parallel_for` runs body over [0, count) with at most
/// num_threads workers and returns when all are done; it may run everything on the caller.
struct KernelRuntime {
  void (*parallel_for)(const KernelRuntime* self, ParallelBody body, void* closure,
                       std::int64_t count);
  void* pool;                ///< owned by the caller, opaque to the kernel
  std::int32_t num_threads;  ///< >= 1
};

/// Entry point of every compiled kernel. `args`: one pointer per kernel argument, aligned to its
/// elements, in the order of the dag's tensors. `workspace`: at least
/// shared_bytes + num_threads * per_thread_bytes bytes (KernelSource / KernelInfo), 64-byte
/// aligned.
using KernelEntry = void (*)(void* const* args, void* workspace, const KernelRuntime* runtime);

}  // namespace tensorsmith
