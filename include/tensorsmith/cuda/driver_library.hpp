// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA driver, found at run time.
//
// Floor 7; compiled in lib/cuda. Own design. The declarations repeat the documented interface of
// the driver (CUDA Driver API), whose versioned names stay; its header is not needed. Not here:
// what is done with them.
#pragma once

#include <cstddef>
#include <string>

#include "tensorsmith/support/result.hpp"

namespace tensorsmith::cuda {

using Status = int;  // 0 is success
using DevicePointer = unsigned long long;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;

constexpr Status out_of_memory = 2, no_device = 100;
constexpr int least_driver_version = 11040;  // graphs as they are used here

struct DriverLibrary {
  Status (*init)(unsigned) = nullptr;
  Status (*driver_version)(int*) = nullptr;
  Status (*error_name)(Status, const char**) = nullptr;
  Status (*device_count)(int*) = nullptr;
  Status (*device_get)(int*, int) = nullptr;
  Status (*device_name)(char*, int, int) = nullptr;
  Status (*device_uuid)(void* bytes16, int) = nullptr;
  Status (*device_memory)(std::size_t*, int) = nullptr;
  Status (*device_attribute)(int*, int, int) = nullptr;
  Status (*retain_context)(Context*, int) = nullptr;
  Status (*set_context)(Context) = nullptr;
  Status (*load_module)(Module*, const void* image) = nullptr;
  Status (*unload_module)(Module) = nullptr;
  Status (*get_function)(Function*, Module, const char*) = nullptr;
  Status (*set_function_attribute)(Function, int, int) = nullptr;
  Status (*allocate)(DevicePointer*, std::size_t) = nullptr;
  Status (*release)(DevicePointer) = nullptr;
  Status (*to_device)(DevicePointer, const void*, std::size_t) = nullptr;
  Status (*to_host)(void*, DevicePointer, std::size_t) = nullptr;
  Status (*copy)(DevicePointer, DevicePointer, std::size_t, Stream) = nullptr;
  Status (*fill)(DevicePointer, unsigned char, std::size_t, Stream) = nullptr;
  Status (*create_stream)(Stream*, unsigned) = nullptr;
  Status (*wait_for_stream)(Stream) = nullptr;
  Status (*begin_capture)(Stream, int) = nullptr;
  Status (*end_capture)(Stream, Graph*) = nullptr;
  Status (*instantiate)(GraphExec*, Graph, unsigned long long) = nullptr;
  Status (*launch_graph)(GraphExec, Stream) = nullptr;
  Status (*destroy_graph)(Graph) = nullptr;
  Status (*destroy_graph_exec)(GraphExec) = nullptr;
  Status (*create_event)(Event*, unsigned) = nullptr;
  Status (*record_event)(Event, Stream) = nullptr;
  Status (*wait_for_event)(Event) = nullptr;
  Status (*elapsed_ms)(float*, Event, Event) = nullptr;
  Status (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Stream, void**, void**) = nullptr;
  std::string path;
  int version = 0;  ///< 12040 of 12.4

  /// What $TENSORSMITH_LIBCUDA names, else the system's libcuda.so.1; initialised. Opened once and
  /// never closed. Error: one sentence.
  static Result<DriverLibrary, std::string> open();
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (700)".
  std::string name_of(Status status) const;
  std::string version_text() const;  ///< "12.4"
};

/// Whether nothing can be done in this process any more after that status.
bool is_sticky(Status status);

}  // namespace tensorsmith::cuda
