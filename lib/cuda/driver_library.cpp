// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cuda/driver_library.hpp"

#include <cstdlib>

#include "tensorsmith/cuda/shared_library.hpp"

namespace tensorsmith::cuda {
namespace {

std::string version_words(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// The name of the first function that is missing; null: none is.
const char* find_all(void* handle, DriverLibrary& library) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!find_function(handle, name, function) && missing == nullptr) {
      missing = name;
    }
  };
  need("cuInit", library.init);
  need("cuDriverGetVersion", library.driver_version);
  need("cuGetErrorName", library.error_name);
  need("cuDeviceGetCount", library.device_count);
  need("cuDeviceGet", library.device_get);
  need("cuDeviceGetName", library.device_name);
  need("cuDeviceGetUuid", library.device_uuid);
  need("cuDeviceTotalMem_v2", library.device_memory);
  need("cuDeviceGetAttribute", library.device_attribute);
  need("cuDevicePrimaryCtxRetain", library.retain_context);
  need("cuCtxSetCurrent", library.set_context);
  need("cuModuleLoadData", library.load_module);
  need("cuModuleUnload", library.unload_module);
  need("cuModuleGetFunction", library.get_function);
  need("cuFuncSetAttribute", library.set_function_attribute);
  need("cuMemAlloc_v2", library.allocate);
  need("cuMemFree_v2", library.release);
  need("cuMemcpyHtoD_v2", library.to_device);
  need("cuMemcpyDtoH_v2", library.to_host);
  need("cuMemcpyDtoDAsync_v2", library.copy);
  need("cuMemsetD8Async", library.fill);
  need("cuStreamCreate", library.create_stream);
  need("cuStreamSynchronize", library.wait_for_stream);
  need("cuStreamBeginCapture_v2", library.begin_capture);
  need("cuStreamEndCapture", library.end_capture);
  need("cuGraphInstantiateWithFlags", library.instantiate);
  need("cuGraphLaunch", library.launch_graph);
  need("cuGraphDestroy", library.destroy_graph);
  need("cuGraphExecDestroy", library.destroy_graph_exec);
  need("cuEventCreate", library.create_event);
  need("cuEventRecord", library.record_event);
  need("cuEventSynchronize", library.wait_for_event);
  need("cuEventElapsedTime", library.elapsed_ms);
  need("cuLaunchKernel", library.launch);
  return missing;
}

}  // namespace

Result<DriverLibrary, std::string> DriverLibrary::open() {
  const char* const named = std::getenv("TENSORSMITH_LIBCUDA");
  DriverLibrary library;
  library.path = named != nullptr && *named != 0 ? named : "libcuda.so.1";
  std::string problem;
  void* const handle = open_library(library.path, problem);
  if (handle == nullptr) {
    return fail("there is no CUDA driver (" + problem + ")");
  }
  const char* const missing = find_all(handle, library);
  int version = 0;
  const bool has_version =
      library.driver_version != nullptr && library.driver_version(&version) == 0 && version > 0;
  if (has_version && version < least_driver_version) {
    return fail("the CUDA driver is of version " + version_words(version) + ", and " +
                version_words(least_driver_version) + " or newer is needed: install a newer one");
  }
  if (missing != nullptr) {
    return fail("the CUDA driver " + library.path + " has no function " + missing +
                ": install one of version " + version_words(least_driver_version) + " or newer");
  }
  library.version = version;
  const Status status = library.init(0);
  if (status == no_device) {
    return fail(std::string("the CUDA driver finds no NVIDIA GPU here"));
  }
  if (status != 0) {
    return fail("the CUDA driver cannot be used: cuInit says " + library.name_of(status));
  }
  return library;
}

std::string DriverLibrary::name_of(Status status) const {
  const char* text = nullptr;
  const bool has_name = error_name(status, &text) == 0 && text != nullptr;
  return (has_name ? std::string(text) : std::string("status")) + " (" + std::to_string(status) +
         ")";
}

std::string DriverLibrary::version_text() const { return version_words(version); }

bool is_sticky(Status status) {
  return status == 214 || status == 220 || status == 700 || status == 702 || status == 709 ||
         status == 710 || (status >= 714 && status <= 719) || status == 999;
}

}  // namespace tensorsmith::cuda
