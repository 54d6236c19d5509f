// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
#include "bench/gpu/compare.hpp"

#include <algorithm>

#include "bench/gpu/peers.hpp"
#include "tensorsmith/cuda/device_lease.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/tune/measure_task.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::json;

/// The programs of a case in memory of the device, which they share.
class LoadedCase {
 public:
  LoadedCase(cuda::Device& device, const GpuCase& one, const std::vector<TuneResult>& results)
      : device_(device), buffers_(one.num_buffers), programs_(results.size()) {
    std::vector<bool> is_written(one.num_buffers);
    workspaces_.resize(results.size());
    for (std::size_t p = 0; p < results.size(); ++p) {
      const MeasureTask task = make_measure_task(*results[p].task.dag, 1, 1);
      std::vector<cuda::DevicePointer> pointers;
      for (std::size_t i = 0; i < task.arguments.size(); ++i) {
        const std::size_t b = one.parts[p].arguments[i];
        if (!buffers_[b].is_created()) {
          fill(task, i, buffers_[b]);
        }
        is_written[b] = is_written[b] || task.arguments[i].is_output;
        pointers.push_back(buffers_[b].data());
      }
      load(results[p], p, pointers);
      arguments_.push_back(std::move(pointers));
      output_ = task.arguments.back();
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b) {  // what comes in, and the result
      num_bytes_ += !is_written[b] || b + 1 == buffers_.size() ? buffers_[b].size() : 0;
    }
  }
  LoadedCase(const LoadedCase&) = delete;
  LoadedCase& operator=(const LoadedCase&) = delete;
  ~LoadedCase() {
    for (cuda::LoadedProgram& program : programs_) {
      device_.unload(program);
    }
  }

  const std::vector<cuda::DevicePointer>& arguments(std::size_t part) const {
    return arguments_[part];
  }
  const KernelArgument& output() const { return output_; }
  std::size_t num_bytes() const { return num_bytes_; }

  GpuPeer ours() {
    GpuPeer peer;
    peer.name = "ours";
    peer.output = buffers_.back().data();
    peer.enqueue = [this] {
      cuda::Status status = 0;
      for (std::size_t p = 0; status == 0 && p < programs_.size(); ++p) {
        status = device_.enqueue(programs_[p]);
      }
      return status;
    };
    return peer;
  }

 private:
  void fill(const MeasureTask& task, std::size_t i, cuda::DeviceBuffer& buffer) {
    const auto size = static_cast<std::size_t>(task.arguments[i].num_bytes());
    require_good(buffer.create(device_, size), device_, "allocating");
    std::vector<std::byte> host(size);
    if (!task.arguments[i].is_output) {
      fill_input(task, i, host);
    }
    require_good(device_.driver().to_device(buffer.data(), host.data(), size), device_, "copy");
  }
  void load(const TuneResult& result, std::size_t p,
            const std::vector<cuda::DevicePointer>& pointers) {
    std::optional<cuda::CudaObject> object = cuda::decode_object(result.object);
    if (!object) {
      throw Error("the best program is no code for a GPU");
    }
    const auto workspace_bytes = static_cast<std::size_t>(object->workspace_bytes);
    require_good(workspaces_[p].create(device_, workspace_bytes), device_, "allocating");
    require_good(device_.load(std::move(*object), programs_[p]), device_, "loading");
    device_.bind(programs_[p], pointers, workspaces_[p].data());
  }

  cuda::Device& device_;
  std::vector<cuda::DeviceBuffer> buffers_, workspaces_;
  std::vector<cuda::LoadedProgram> programs_;
  std::vector<std::vector<cuda::DevicePointer>> arguments_;
  KernelArgument output_;
  std::size_t num_bytes_ = 0;
};

/// Of one part: every library that has it. Of several: for each the first one, in a row.
std::vector<GpuPeer> peers_of(cuda::Device& device, const GpuCase& one, const LoadedCase& loaded) {
  std::vector<GpuPeer> firsts;
  for (std::size_t p = 0; p < one.parts.size(); ++p) {
    const std::vector<GpuPeer> found =
        library_peers(device, one.parts[p].workload, loaded.arguments(p), one.is_tf32);
    if (one.parts.size() == 1) {
      return found;
    }
    if (!found.empty()) {
      firsts.push_back(found.front());
    }
  }
  if (firsts.size() != one.parts.size()) {
    return {};
  }
  return {sequence_of("cublas+cudnn", firsts)};
}

}  // namespace

Json compare_on_device(const GpuCase& one, const std::vector<TuneResult>& results, bool compares) {
  auto opened = cuda::Device::open(results.front().task.target.device.value_or(0));
  if (!opened) {
    throw Error(opened.error());
  }
  cuda::Device& device = **opened;
  cuda::DeviceLease lease;
  if (const std::string problem = lease.take(device.facts().uuid, device.facts().name);
      !problem.empty()) {
    throw Error(problem);
  }
  LoadedCase loaded(device, one, results);
  std::vector<Contestant> all(1);
  all[0].peer = loaded.ours();
  for (GpuPeer& peer : peers_of(device, one, loaded)) {
    all.push_back({std::move(peer), 1, {}});
  }
  KernelArgument output = loaded.output();
  if (one.is_tf32) {
    output.tolerance = tf32_tolerance(one.parts.front().workload.reduction_length);
  }
  Json json;
  if (compares) {
    json["same_result"] = compare_results(device, output, all);
  }
  const std::size_t half = loaded.num_bytes() / 2;
  cuda::DeviceBuffer copied;
  require_good(copied.create(device, 2 * half), device, "allocating");
  GpuPeer copy;
  copy.name = "copy";
  copy.enqueue = [&] {
    return device.driver().copy(copied.data(), copied.data() + half, half, device.stream());
  };
  all.push_back({copy, 1, {}});
  const cuda::ClockState before = device.clocks().read();
  race(device, all);
  const cuda::ClockState after = device.clocks().read();
  const double ns = quantile(all[0].samples, 0.5);
  json["ours_ns"] = ns;
  json["samples_ns"] = all[0].samples;
  for (std::size_t i = 1; i < all.size(); ++i) {
    json["peers"][all[i].peer.name] = peer_json(all[i], all[0]);
  }
  json["gflops"] = one.flop() / ns;
  json["gb_per_s"] = static_cast<double>(loaded.num_bytes()) / ns;
  json["clocks"] = {{"sm_mhz_before", before.sm_mhz}, {"sm_mhz_after", after.sm_mhz},
                    {"memory_mhz", after.memory_mhz}, {"temperature_c", after.temperature_c},
                    {"reasons", after.reasons},       {"is_throttled", after.is_throttled()}};
  return json;
}

}  // namespace tensorsmith::bench
