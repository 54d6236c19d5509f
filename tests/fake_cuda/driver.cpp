// SPDX-License-Identifier: Apache-2.0
// The functions of libcuda that lib/cuda uses.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_math.hpp"

namespace fake_cuda {

std::int64_t setting(const char* name) {
  const char* const all = std::getenv("FAKE_CUDA");
  const std::string text = "," + std::string(all != nullptr ? all : "");
  const std::size_t at = text.find("," + std::string(name) + "=");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + std::strlen(name) + 2);
}

Machine& Machine::instance() {
  static Machine machine;
  return machine;
}

bool runs_now() {
  Machine& machine = Machine::instance();
  const std::int64_t most = setting("runs");
  return setting("counted") != 1 && (!machine.is_timing || most == 0 || ++machine.timed <= most);
}

bool begins_call(double ns) {
  Machine::instance().clock_ns += ns;
  return runs_now();
}

namespace {

struct FakeModule {
  void* code = nullptr;
};
using Runner = const char* (*)(void* const*, const long long*, const long long*, long long,
                               unsigned);
struct FakeFunction {
  Runner run = nullptr;
};
struct FakeEvent {
  double ns = 0;
};
struct FakeGraph {
  double ns = 0;
};

FakeGraph* capturing = nullptr;

int state() { return Machine::instance().broken; }

/// The fault that is due at this launch.
void fail_launch(void** arguments, std::size_t num_arguments) {
  Machine& machine = Machine::instance();
  if (machine.launches == setting("sticky")) {
    machine.broken = 700;
  }
  while (machine.launches == setting("hang")) {
    ::pause();
  }
  if (machine.launches == setting("outside") && num_arguments > 0) {
    std::uint64_t data = 0;
    std::memcpy(&data, arguments[num_arguments - 1], sizeof(data));
    auto after = machine.allocations.upper_bound(data);
    --after;
    *reinterpret_cast<unsigned char*>(after->first + after->second - 512) ^= 1;
  }
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_CUDA_API int cuInit(unsigned) { return setting("devices") < 0 ? 100 : 0; }
FAKE_CUDA_API int cuDriverGetVersion(int* version) {
  *version = setting("driver") > 0 ? static_cast<int>(setting("driver")) : 13000;
  return 0;
}
FAKE_CUDA_API int cuGetErrorName(int status, const char** text) {
  *text = status == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == 100 ? "CUDA_ERROR_NO_DEVICE"
          : status == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                          : nullptr;
  return *text != nullptr ? 0 : 1;
}
FAKE_CUDA_API int cuDeviceGetCount(int* count) {
  *count = setting("devices") > 0 ? static_cast<int>(setting("devices")) : 1;
  return 0;
}
FAKE_CUDA_API int cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
FAKE_CUDA_API int cuDeviceGetName(char* text, int size, int) {
  const std::int64_t capability = setting("capability");
  std::snprintf(text, static_cast<std::size_t>(size), "%s",
                capability == 80   ? "Fake A100-SXM4-40GB"
                : capability == 75 ? "Fake T4"
                                   : "Fake H200");
  return 0;
}
FAKE_CUDA_API int cuDeviceGetUuid(void* bytes, int device) {
  std::memset(bytes, 0xFA, 16);
  static_cast<unsigned char*>(bytes)[15] = static_cast<unsigned char>(device);
  return 0;
}
FAKE_CUDA_API int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = static_cast<std::size_t>(setting("memory_mb") > 0 ? setting("memory_mb") : 1024) << 20;
  return 0;
}
FAKE_CUDA_API int cuDeviceGetAttribute(int* value, int which, int) {
  const auto capability = static_cast<int>(setting("capability") > 0 ? setting("capability") : 90);
  *value = which == 13   ? 1980000
           : which == 16 ? 132
           : which == 36 ? 3201000
           : which == 37 ? 6144
           : which == 38 ? 50 << 20
           : which == 75 ? capability / 10
           : which == 76 ? capability % 10
                         : 0;
  return 0;
}
FAKE_CUDA_API int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &Machine::instance();
  return 0;
}
FAKE_CUDA_API int cuCtxSetCurrent(void*) { return 0; }

FAKE_CUDA_API int cuModuleLoadData(void** module, const void* image) {
  if (setting("refused_code") == 1) {
    return 209;
  }
  *module = new FakeModule{setting("counted") == 1 ? nullptr : host_code(image)};
  return state();
}
FAKE_CUDA_API int cuModuleUnload(void* module) {
  auto* const loaded = static_cast<FakeModule*>(module);
  if (loaded->code != nullptr) {
    ::dlclose(loaded->code);
  }
  delete loaded;
  return 0;
}
FAKE_CUDA_API int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto* const loaded = static_cast<FakeModule*>(module);
  auto* const made = new FakeFunction;
  if (loaded->code != nullptr) {
    void* const symbol = ::dlsym(loaded->code, ("run_" + std::string(name)).c_str());
    std::memcpy(&made->run, &symbol, sizeof(symbol));
    if (symbol == nullptr) {
      return 500;
    }
  }
  *function = made;  // lives as long as the process
  return 0;
}
FAKE_CUDA_API int cuFuncSetAttribute(void*, int, int) { return 0; }

FAKE_CUDA_API int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  Machine& machine = Machine::instance();
  std::size_t most = 0;
  cuDeviceTotalMem_v2(&most, 0);
  if (state() != 0 || machine.allocated + bytes > most) {
    return state() != 0 ? state() : 2;
  }
  void* const memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  *pointer = reinterpret_cast<std::uint64_t>(memory);
  machine.allocations[*pointer] = bytes;
  machine.allocated += bytes;
  return 0;
}
FAKE_CUDA_API int cuMemFree_v2(std::uint64_t pointer) {
  Machine& machine = Machine::instance();
  const auto found = machine.allocations.find(pointer);
  if (found == machine.allocations.end()) {
    return 1;
  }
  machine.allocated -= found->second;
  machine.allocations.erase(found);
  std::free(reinterpret_cast<void*>(pointer));
  return state();
}
FAKE_CUDA_API int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return state();
}
FAKE_CUDA_API int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return state();
}
FAKE_CUDA_API int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes,
                                       void*) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  Machine::instance().clock_ns += 1000 + static_cast<double>(bytes) / 2000;
  return state();
}
FAKE_CUDA_API int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void*) {
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return state();
}

FAKE_CUDA_API int cuStreamCreate(void** stream, unsigned) {
  *stream = &Machine::instance();
  return state();
}
FAKE_CUDA_API int cuStreamSynchronize(void*) { return state(); }
FAKE_CUDA_API int cuEventCreate(void** event, unsigned) {
  *event = new FakeEvent;
  return state();
}
FAKE_CUDA_API int cuEventRecord(void* event, void*) {
  Machine& machine = Machine::instance();
  static_cast<FakeEvent*>(event)->ns = machine.clock_ns;
  machine.is_timing = !machine.is_timing;
  machine.timed = 0;
  return state();
}
FAKE_CUDA_API int cuEventSynchronize(void*) { return state(); }
FAKE_CUDA_API int cuEventElapsedTime(float* ms, void* begin, void* end) {
  *ms = static_cast<float>((static_cast<FakeEvent*>(end)->ns - static_cast<FakeEvent*>(begin)->ns) /
                           1e6);
  return state();
}

FAKE_CUDA_API int cuStreamBeginCapture_v2(void*, int) {
  capturing = new FakeGraph;
  return state();
}
FAKE_CUDA_API int cuStreamEndCapture(void*, void** graph) {
  *graph = capturing;
  capturing = nullptr;
  return state();
}
FAKE_CUDA_API int cuGraphInstantiateWithFlags(void** made, void* graph, unsigned long long) {
  *made = new FakeGraph(*static_cast<FakeGraph*>(graph));
  return state();
}
FAKE_CUDA_API int cuGraphDestroy(void* graph) {
  delete static_cast<FakeGraph*>(graph);
  return 0;
}
FAKE_CUDA_API int cuGraphExecDestroy(void* graph) {
  delete static_cast<FakeGraph*>(graph);
  return 0;
}
/// What a graph writes was written when its program was launched by itself: only time passes.
FAKE_CUDA_API int cuGraphLaunch(void* graph, void*) {
  Machine::instance().clock_ns += 2000 + static_cast<FakeGraph*>(graph)->ns;
  return state();
}

FAKE_CUDA_API int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared_bytes, void*,
                                 void** arguments, void**) {
  Machine& machine = Machine::instance();
  const double blocks = static_cast<double>(gx) * gy * gz;
  const double threads = static_cast<double>(bx) * by * bz;
  const double ns = 500 + blocks * (20 + 0.05 * threads + 640 / threads);
  if (capturing != nullptr) {
    capturing->ns += ns;
    return state();
  }
  if (state() != 0) {
    return state();
  }
  machine.clock_ns += 2000 + ns;
  ++machine.launches;
  std::size_t num_arguments = 0;
  std::vector<void*> pointers;
  const auto* const made = static_cast<FakeFunction*>(function);
  // Our own callers' lists of arguments hold what the kernel takes and nothing behind it, so their
  // number comes from the code.
  const long long grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  if (made->run != nullptr) {
    num_arguments = reinterpret_cast<std::size_t>(made->run(nullptr, grid, block, 0, 0));
    for (std::size_t i = 0; i < num_arguments; ++i) {
      pointers.push_back(*static_cast<void**>(arguments[i]));
    }
  }
  if (made->run != nullptr && machine.launches != setting("wrong") && runs_now()) {
    if (made->run(pointers.data(), grid, block, shared_bytes, 0) != nullptr) {
      machine.broken = 719;
    }
  }
  fail_launch(arguments, num_arguments);
  return state();
}
