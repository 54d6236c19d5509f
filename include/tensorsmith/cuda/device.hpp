// SPDX-License-Identifier: Apache-2.0
// Device: one GPU in this process: memory, code, launches, times.
//
// Floor 7; compiled in lib/cuda. Own design. Of the worker and of programs that compare with
// libraries; the search never has one. Every function gives the driver's status; after a sticky one
// (is_sticky) the process is of no use any more. Times are those of events on the stream, so they
// hold no launches from the host beyond the first. Not here: what a candidate may do wrong
// (gpu_session.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/cuda/cuda_object.hpp"
#include "tensorsmith/cuda/driver_library.hpp"
#include "tensorsmith/cuda/nvml_library.hpp"
#include "tensorsmith/measure/cuda_devices.hpp"
#include "tensorsmith/support/owned.hpp"

namespace tensorsmith::cuda {

class Device;

/// Memory of a device between two bands of known bytes.
class DeviceBuffer {
 public:
  static constexpr std::size_t band_bytes = 512;
  static constexpr unsigned char band_value = 0xA5;

  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer() { reset(); }

  Status create(Device& device, std::size_t num_bytes);
  void reset();
  DevicePointer data() const { return base_ == 0 ? 0 : base_ + band_bytes; }
  std::size_t size() const { return size_; }
  bool is_created() const { return base_ != 0; }

  Status mark_bands();
  /// Whether the bands are as they were marked.
  Status check_bands(bool& is_intact) const;

 private:
  Device* device_ = nullptr;
  DevicePointer base_ = 0;
  std::size_t size_ = 0;
};

/// Code on a device, ready to be called.
struct LoadedProgram {
  CudaObject object;
  Module module = nullptr;
  std::vector<Function> functions;                    // one per launch
  std::vector<std::vector<DevicePointer>> arguments;  // likewise
  GraphExec graph = nullptr;                          // of `graph_calls` calls
  std::int64_t graph_calls = 0;
};

class Device {
 public:
  /// The facts of that GPU, without touching it. Error: one sentence.
  static Result<CudaDevice, std::string> find(std::int32_t number);
  /// Takes the primary context of that GPU. Error: one sentence.
  static Result<Owned<Device>, std::string> open(const CudaDevice& facts);
  static Result<Owned<Device>, std::string> open(std::int32_t number);

  const CudaDevice& facts() const { return facts_; }
  const DriverLibrary& driver() const { return driver_; }
  const ClockMonitor& clocks() const { return clocks_; }
  Stream stream() const { return stream_; }

  Status load(CudaObject object, LoadedProgram& program);
  void unload(LoadedProgram& program);
  /// `arguments`: one pointer per argument of the program, then the workspace.
  void bind(LoadedProgram& program, const std::vector<DevicePointer>& arguments,
            DevicePointer workspace) const;

  /// One call, without waiting for it.
  Status enqueue(const LoadedProgram& program) const;
  /// Nanoseconds per call over back-to-back calls; several of them go into one graph, so that a
  /// tiny kernel's time is not that of its launch.
  Status time(LoadedProgram& program, std::int64_t calls, double& ns);
  /// The same of whatever `enqueue` puts on the stream, without a graph.
  template <class Enqueue>
  Status time_enqueued(std::int64_t calls, const Enqueue& enqueue, double& ns) {
    Status status = driver_.record_event(begin_, stream_);
    for (std::int64_t call = 0; status == 0 && call < calls; ++call) {
      status = enqueue();
    }
    return status != 0 ? status : finish_timing(calls, ns);
  }
  /// What the next call reads comes from memory: writes more than L2 holds.
  Status flush_l2();
  Status wait() const { return driver_.wait_for_stream(stream_); }

 private:
  template <class U, class... Args>
  friend Owned<U> tensorsmith::make_owned(Args&&... args);
  Device(const DriverLibrary& driver, CudaDevice facts)
      : driver_(driver), facts_(std::move(facts)), clocks_(facts_.uuid) {}
  Status make_graph(LoadedProgram& program, std::int64_t calls);
  Status finish_timing(std::int64_t calls, double& ns);

  DriverLibrary driver_;
  CudaDevice facts_;
  ClockMonitor clocks_;
  Stream stream_ = nullptr;
  Event begin_ = nullptr, end_ = nullptr;
  DevicePointer flushed_ = 0;
};

}  // namespace tensorsmith::cuda
