// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cuda/device.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tensorsmith::cuda {
namespace {

constexpr std::int64_t most_graph_nodes = 1024;
// Waits for copies from the host, which may go on when their function has returned.
constexpr unsigned default_stream = 0;  // CU_STREAM_DEFAULT
constexpr int capture_relaxed = 2;      // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int max_dynamic_shared = 8;   // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr std::int64_t default_shared_limit = 48 * 1024;

}  // namespace

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  reset();
  device_ = other.device_;
  base_ = std::exchange(other.base_, 0);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void DeviceBuffer::reset() {
  if (base_ != 0) {
    device_->driver().release(base_);
  }
  base_ = 0;
  size_ = 0;
}

Status DeviceBuffer::create(Device& device, std::size_t num_bytes) {
  reset();
  device_ = &device;
  const Status status = device.driver().allocate(&base_, num_bytes + 2 * band_bytes);
  if (status != 0) {
    base_ = 0;
    return status;
  }
  size_ = num_bytes;
  return mark_bands();
}

Status DeviceBuffer::mark_bands() {
  const DriverLibrary& driver = device_->driver();
  const Status first = driver.fill(base_, band_value, band_bytes, device_->stream());
  const Status second = driver.fill(data() + size_, band_value, band_bytes, device_->stream());
  return first != 0 ? first : second != 0 ? second : device_->wait();
}

Status DeviceBuffer::check_bands(bool& is_intact) const {
  std::array<unsigned char, 2 * band_bytes> bytes{};
  const DriverLibrary& driver = device_->driver();
  Status status = driver.to_host(bytes.data(), base_, band_bytes);
  if (status == 0) {
    status = driver.to_host(bytes.data() + band_bytes, data() + size_, band_bytes);
  }
  is_intact = std::all_of(bytes.begin(), bytes.end(),
                          [](unsigned char byte) { return byte == band_value; });
  return status;
}

Result<CudaDevice, std::string> Device::find(std::int32_t number) {
  const Result<std::vector<CudaDevice>, std::string> devices = list_cuda_devices();
  if (!devices) {
    return fail(devices.error());
  }
  if (number < 0 || static_cast<std::size_t>(number) >= devices->size()) {
    return fail("there is no GPU number " + std::to_string(number) + " here");
  }
  return (*devices)[static_cast<std::size_t>(number)];
}

Result<Owned<Device>, std::string> Device::open(std::int32_t number) {
  const Result<CudaDevice, std::string> facts = find(number);
  return facts ? open(*facts) : fail(facts.error());
}

Result<Owned<Device>, std::string> Device::open(const CudaDevice& facts) {
  const Result<DriverLibrary, std::string> driver = DriverLibrary::open();
  if (!driver) {
    return fail(driver.error());
  }
  Owned<Device> device = make_owned<Device>(*driver, facts);
  const DriverLibrary& library = device->driver_;
  int handle = 0;
  Context context = nullptr;
  Status status = library.device_get(&handle, facts.number);
  status = status != 0 ? status : library.retain_context(&context, handle);
  status = status != 0 ? status : library.set_context(context);
  status = status != 0 ? status : library.create_stream(&device->stream_, default_stream);
  status = status != 0 ? status : library.create_event(&device->begin_, 0);
  status = status != 0 ? status : library.create_event(&device->end_, 0);
  if (status != 0) {
    return fail(device->facts_.name + " cannot be used: " + library.name_of(status));
  }
  return device;
}

Status Device::load(CudaObject object, LoadedProgram& program) {
  unload(program);
  Status status = driver_.load_module(&program.module, object.code.data());
  for (std::size_t i = 0; status == 0 && i < object.launches.size(); ++i) {
    const CudaLaunch& launch = object.launches[i];
    Function function = nullptr;
    status = driver_.get_function(&function, program.module, launch.kernel.c_str());
    if (status == 0 && launch.shared_bytes() > default_shared_limit) {
      status = driver_.set_function_attribute(function, max_dynamic_shared,
                                              static_cast<int>(launch.dynamic_shared_bytes));
    }
    program.functions.push_back(function);
  }
  program.object = std::move(object);
  return status;
}

void Device::unload(LoadedProgram& program) {
  if (program.graph != nullptr) {
    driver_.destroy_graph_exec(program.graph);
  }
  if (program.module != nullptr) {
    driver_.unload_module(program.module);
  }
  program = {};
}

void Device::bind(LoadedProgram& program, const std::vector<DevicePointer>& arguments,
                  DevicePointer workspace) const {
  program.arguments.clear();
  for (const CudaLaunch& launch : program.object.launches) {
    std::vector<DevicePointer> pointers;
    for (const std::int32_t b : launch.buffers) {
      const CudaBuffer& buffer = program.object.buffers[static_cast<std::size_t>(b)];
      pointers.push_back(buffer.argument >= 0
                             ? arguments[static_cast<std::size_t>(buffer.argument)]
                             : workspace + static_cast<DevicePointer>(buffer.workspace_offset));
    }
    program.arguments.push_back(std::move(pointers));
  }
}

Status Device::enqueue(const LoadedProgram& program) const {
  for (std::size_t i = 0; i < program.functions.size(); ++i) {
    const CudaLaunch& launch = program.object.launches[i];
    std::vector<void*> pointers;
    for (const DevicePointer& pointer : program.arguments[i]) {
      pointers.push_back(const_cast<DevicePointer*>(&pointer));
    }
    const auto size = [](std::int64_t n) { return static_cast<unsigned>(n); };
    const Status status = driver_.launch(
        program.functions[i], size(launch.grid[0]), size(launch.grid[1]), size(launch.grid[2]),
        size(launch.block[0]), size(launch.block[1]), size(launch.block[2]),
        size(launch.dynamic_shared_bytes), stream_, pointers.data(), nullptr);
    if (status != 0) {
      return status;
    }
  }
  return 0;
}

Status Device::make_graph(LoadedProgram& program, std::int64_t calls) {
  if (program.graph != nullptr) {
    driver_.destroy_graph_exec(program.graph);
    program.graph = nullptr;
  }
  Status status = driver_.begin_capture(stream_, capture_relaxed);
  for (std::int64_t call = 0; status == 0 && call < calls; ++call) {
    status = enqueue(program);
  }
  Graph graph = nullptr;
  const Status ended = driver_.end_capture(stream_, &graph);
  status = status != 0 ? status : ended;
  status = status != 0 ? status : driver_.instantiate(&program.graph, graph, 0);
  if (graph != nullptr) {
    driver_.destroy_graph(graph);
  }
  program.graph_calls = calls;
  return status;
}

Status Device::finish_timing(std::int64_t calls, double& ns) {
  Status status = driver_.record_event(end_, stream_);
  status = status != 0 ? status : driver_.wait_for_event(end_);
  float ms = 0;
  status = status != 0 ? status : driver_.elapsed_ms(&ms, begin_, end_);
  ns = std::max(1e6 * static_cast<double>(ms) / static_cast<double>(calls), 0.1);
  return status;
}

Status Device::time(LoadedProgram& program, std::int64_t calls, double& ns) {
  const auto num_launches = static_cast<std::int64_t>(program.functions.size());
  const std::int64_t most_calls = std::max<std::int64_t>(1, most_graph_nodes / num_launches);
  const std::int64_t timed = std::min(calls, most_calls);
  if (timed == 1) {
    return time_enqueued(
        1, [&] { return enqueue(program); }, ns);
  }
  const auto launch = [&] { return driver_.launch_graph(program.graph, stream_); };
  // One of about that many calls is as good; the first launch of a graph brings it to the device.
  if (program.graph == nullptr || program.graph_calls < timed / 2 ||
      program.graph_calls > 2 * timed) {
    Status status = make_graph(program, timed);
    status = status != 0 ? status : launch();
    if (status != 0) {
      return status;
    }
  }
  const std::int64_t launches =
      std::max<std::int64_t>(1, (calls + program.graph_calls / 2) / program.graph_calls);
  double all = 0;
  const Status status = time_enqueued(launches, launch, all);
  ns = all / static_cast<double>(program.graph_calls);
  return status;
}

Status Device::flush_l2() {
  constexpr std::int64_t least_bytes = std::int64_t{32} << 20;
  const auto bytes = static_cast<std::size_t>(std::max(2 * facts_.board.l2_bytes, least_bytes));
  if (flushed_ == 0) {
    if (const Status status = driver_.allocate(&flushed_, bytes); status != 0) {
      flushed_ = 0;
      return status;
    }
  }
  const Status status = driver_.fill(flushed_, 0, bytes, stream_);
  return status != 0 ? status : wait();
}

}  // namespace tensorsmith::cuda
