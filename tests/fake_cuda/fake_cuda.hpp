// SPDX-License-Identifier: Apache-2.0
// A machine with NVIDIA GPUs that is not there: what FAKE_CUDA says of it, its clock and memory.
//
// Test support: one shared library that stands for libcuda, NVRTC, NVML, cuBLAS and cuDNN, named by
// TENSORSMITH_LIBCUDA, TENSORSMITH_NVRTC, TENSORSMITH_LIBNVML, TENSORSMITH_LIBCUBLAS and
// TENSORSMITH_CUDNN. Memory of the device is memory of the host; kernels are compiled as C++
// against cuda_shim.hpp and run, or only counted, and so are calls of libraries; times come from
// the sizes of launches, so they are the same every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#define FAKE_CUDA_API extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

/// FAKE_CUDA="name=value,name=value": 0 where it says nothing. devices (else 1), driver (else
/// 13000), capability (else 90), memory_mb, counted (1: nothing is run), runs (of what is enqueued
/// between two events only so many kernels and calls are run; else all), and faults at the n-th
/// launch of a process: sticky, hang, outside (a write behind the last buffer), wrong (it is
/// left out); skewed (1: wrong products of cuBLAS), refused_code (1), no_nvml (1), throttled (so
/// many readings).
std::int64_t setting(const char* name);

struct Machine {
  std::map<std::uint64_t, std::size_t> allocations;
  std::size_t allocated = 0;
  double clock_ns = 0;
  std::int64_t launches = 0, readings = 0;
  bool is_timing = false;  ///< between an event and the next one
  std::int64_t timed = 0;  ///< kernels and calls since the former
  int broken = 0;          ///< status of all calls from now on

  static Machine& instance();
};

/// Host code of a compiled text, null: it was not made to be run.
void* host_code(const void* image);
std::vector<std::string> kernel_names(const std::string& text);

/// Whether a kernel that is launched now is run, or only takes its time.
bool runs_now();

}  // namespace fake_cuda
