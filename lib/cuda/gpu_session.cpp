// SPDX-License-Identifier: Apache-2.0
#include "gpu_session.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "measure/session_parts.hpp"
#include "tensorsmith/measure/hard_fill.hpp"

namespace tensorsmith {

std::unique_ptr<DeviceSession> make_cuda_session(ControlPage& control) {
  return std::make_unique<cuda::GpuSession>(control);
}

namespace cuda {

void GpuSession::set_phase(WorkerPhase phase, std::int64_t deadline_ns) {
  control_.deadline_ns.store(deadline_ns, std::memory_order_release);
  control_.phase.store(phase, std::memory_order_release);
}

bool GpuSession::is_good(Status status, const char* what, MeasureResult& result,
                         MeasureStatus otherwise) {
  if (status == 0) {
    return true;
  }
  if (is_sticky(status)) {
    control_.device_error.store(status, std::memory_order_release);
    ::_exit(worker_exit_device);
  }
  result.status = status == out_of_memory ? MeasureStatus::out_of_memory : otherwise;
  result.message = std::string(what) + ": " + device_->driver().name_of(status);
  return false;
}

void GpuSession::release_task() {
  is_prepared_ = false;
  if (device_) {
    device_->unload(program_);
  }
  arguments_.clear();
  workspace_.reset();
  data_.reset();
}

std::string GpuSession::open_device(std::int32_t number) {
  if (device_ && number_ == number) {
    return {};
  }
  device_ = {};
  lease_.release();
  const Result<CudaDevice, std::string> facts = Device::find(number);
  if (!facts) {
    return facts.error();
  }
  // First, for a context would take memory and time of whoever measures there.
  if (const std::string problem = lease_.take(facts->uuid, facts->name); !problem.empty()) {
    return problem;
  }
  Result<Owned<Device>, std::string> opened = Device::open(*facts);
  if (!opened) {
    lease_.release();
    return opened.error();
  }
  device_ = std::move(*opened);
  number_ = number;
  return {};
}

StatusReply GpuSession::prepare(const PrepareRequest& request, FileDescriptor data) {
  set_phase(WorkerPhase::check);
  StatusReply reply;
  release_task();
  reply.message = open_device(request.device);
  if (!reply.message.empty()) {
    return reply;
  }
  if (request.data_bytes > 0) {
    data_ = SharedMemory::attach(std::move(data), request.data_bytes, false);
    if (!data_.is_mapped()) {
      reply.message = "the worker cannot map the task's data";
      return reply;
    }
  }
  reply.message = fill_arguments(request);
  if (!reply.message.empty()) {
    release_task();
    return reply;
  }
  is_prepared_ = true;
  reply.status = MeasureStatus::ok;
  return reply;
}

std::string GpuSession::fill_arguments(const PrepareRequest& request) {
  task_ = task_of(request);
  std::int64_t num_bytes = 0;
  if (const std::string problem = check_task(task_); !problem.empty()) {
    return problem;
  }
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const ArgumentMessage& message = request.arguments[i];
    Argument argument;
    argument.spec = message.argument;
    const std::string who = "argument '" + argument.spec.name + "'";
    const auto size = static_cast<std::size_t>(argument.spec.num_bytes());
    if (std::string wrong = data_problem(message, request.data_bytes); !wrong.empty()) {
      return wrong;
    }
    if (std::string wrong = hard_problem(message, request.data_bytes); !wrong.empty()) {
      return wrong;
    }
    argument.hard = message.hard;
    num_bytes += argument.spec.num_bytes();
    const std::span<const std::byte> bytes =
        message.data_bytes == 0 ? std::span<const std::byte>()
                                : data_.bytes().subspan(message.data_offset, message.data_bytes);
    if (argument.spec.is_output) {
      argument.reference = bytes;
      argument.rms = rms_of(values_of(argument.spec, bytes), argument.spec.reference_dtype);
    } else {
      argument.data = bytes;
    }
    MeasureResult result;
    bool is_filled = is_good(argument.buffer.create(*device_, size), "allocating", result);
    if (is_filled && argument.spec.is_output) {
      host_.assign(size, std::byte{});
      poison_output(argument.spec, bytes, host_);
      is_filled = is_good(argument.poison.create(*device_, size), "allocating", result) &&
                  is_good(device_->driver().to_device(argument.poison.data(), host_.data(), size),
                          "copying to the device", result);
    }
    arguments_.push_back(std::move(argument));
    is_filled = is_filled && (arguments_.back().spec.is_output || upload_input(i, result));
    if (!is_filled) {
      return result.status == MeasureStatus::out_of_memory
                 ? device_->facts().name + " has no room for " + who + " of " +
                       std::to_string(size) + " bytes (" + std::to_string(num_bytes) + " up to it)"
                 : who + ": " + result.message;
    }
  }
  return {};
}

bool GpuSession::upload_input(std::size_t index, MeasureResult& result, const HardDraw* draw) {
  const Argument& argument = arguments_[index];
  host_.assign(argument.buffer.size(), std::byte{});
  if (argument.data.empty() && draw != nullptr) {
    fill_hard_input(task_, index, *draw, {}, host_);
  } else if (argument.data.empty()) {
    fill_input(task_, index, host_);
  } else {
    std::memcpy(host_.data(), argument.data.data(), argument.data.size());
  }
  return is_good(
      device_->driver().to_device(argument.buffer.data(), host_.data(), argument.buffer.size()),
      "copying to the device", result);
}

void GpuSession::restore() {
  MeasureResult ignored;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    is_good(arguments_[i].buffer.mark_bands(), "marking", ignored);
    if (!arguments_[i].spec.is_output) {
      upload_input(i, ignored);
    }
  }
  if (workspace_.is_created()) {
    is_good(workspace_.mark_bands(), "marking", ignored);
  }
}

bool GpuSession::make_workspace(std::int64_t num_bytes, MeasureResult& result) {
  if (workspace_.is_created() && workspace_.size() == static_cast<std::size_t>(num_bytes)) {
    return true;
  }
  return is_good(workspace_.create(*device_, static_cast<std::size_t>(num_bytes)),
                 "no room for the workspace", result);
}

bool GpuSession::load(std::span<const std::byte> code, std::int64_t timeout_ns,
                      LoadedProgram& program, MeasureResult& result) {
  set_phase(WorkerPhase::load, monotonic_ns() + timeout_ns);
  std::optional<CudaObject> object = decode_object(code);
  result.status = MeasureStatus::load_error;
  bool is_fitting = object.has_value();
  for (std::size_t b = 0; is_fitting && b < object->buffers.size(); ++b) {
    const CudaBuffer& buffer = object->buffers[b];
    is_fitting = buffer.argument < 0 ||
                 (static_cast<std::size_t>(buffer.argument) < arguments_.size() &&
                  buffer.num_bytes <=
                      arguments_[static_cast<std::size_t>(buffer.argument)].spec.num_bytes());
  }
  if (!is_fitting) {
    result.message = "the candidate's code is none for a GPU, or for another task";
    return false;
  }
  const std::int64_t workspace_bytes = object->workspace_bytes;
  const bool is_loaded =
      is_good(device_->load(std::move(*object), program), "loading the code", result,
              MeasureStatus::load_error) &&
      make_workspace(std::max(workspace_bytes, static_cast<std::int64_t>(workspace_.size())),
                     result);
  set_phase(WorkerPhase::check);
  if (!is_loaded) {
    device_->unload(program);
    return false;
  }
  std::vector<DevicePointer> pointers;
  for (const Argument& argument : arguments_) {
    pointers.push_back(argument.buffer.data());
  }
  device_->bind(program, pointers, workspace_.data());
  return true;
}

bool GpuSession::poison(MeasureResult& result) {
  const DriverLibrary& driver = device_->driver();
  for (const Argument& argument : arguments_) {
    if (argument.spec.is_output &&
        !is_good(driver.copy(argument.buffer.data(), argument.poison.data(), argument.buffer.size(),
                             device_->stream()),
                 "poisoning an output", result)) {
      return false;
    }
  }
  // NaN in every float type.
  return workspace_.size() == 0 ||
         is_good(driver.fill(workspace_.data(), 0xFF, workspace_.size(), device_->stream()),
                 "poisoning the workspace", result);
}

bool GpuSession::check_bands(const DeviceBuffer& buffer, const std::string& whose,
                             MeasureResult& result) {
  bool is_intact = true;
  if (!is_good(buffer.check_bands(is_intact), "reading back", result)) {
    return false;
  }
  if (!is_intact) {
    result.status = MeasureStatus::out_of_bounds;
    result.message = "a write within 512 bytes around " + whose;
  }
  return is_intact;
}

bool GpuSession::check(bool checks_values, MeasureResult& result) {
  set_phase(WorkerPhase::check);
  result.status = MeasureStatus::ok;
  result.message.clear();
  for (const Argument& argument : arguments_) {
    if (!check_bands(argument.buffer, "argument '" + argument.spec.name + "'", result)) {
      return false;
    }
  }
  if (workspace_.is_created() && !check_bands(workspace_, "the workspace", result)) {
    return false;
  }
  result.is_verified = false;
  const auto read = [&](const Argument& argument, std::span<const std::byte>& bytes) {
    host_.resize(argument.buffer.size());
    bytes = host_;
    return is_good(device_->driver().to_host(host_.data(), argument.buffer.data(), host_.size()),
                   "reading back", result);
  };
  return !checks_values || verify_outputs(arguments_, read, result);
}

bool GpuSession::is_right_for_hard_inputs(LoadedProgram& program, std::int64_t timeout_ns,
                                          MeasureResult& result) {
  const auto read = [&](const Argument& argument, std::span<const std::byte>& bytes) {
    host_.resize(argument.buffer.size());
    bytes = host_;
    return is_good(device_->driver().to_host(host_.data(), argument.buffer.data(), host_.size()),
                   "reading back", result);
  };
  const auto upload = [&](const HardDraw* draw) {
    bool is_there = true;
    for (std::size_t i = 0; is_there && i < arguments_.size(); ++i) {
      const Argument& argument = arguments_[i];
      const bool changes = !argument.spec.is_output && argument.spec.fill.row_elements > 0;
      is_there = !changes || upload_input(i, result, draw);
    }
    return is_there;
  };
  const MeasureResult timed = result;
  const std::size_t num_draws = count_hard_draws(arguments_);
  bool is_right = true;
  double ns = 0;
  for (std::size_t number = 0; is_right && number < num_draws; ++number) {
    const HardDraw draw = hard_draw_of(arguments_, number);
    is_right = upload(&draw) && poison(result) && run(program, 1, timeout_ns, ns, result) &&
               check(false, result) &&
               verify_hard_outputs(arguments_, number, data_.bytes(), read, result);
  }
  is_right = (num_draws == 0 || upload(nullptr)) && is_right;
  if (is_right) {
    result = timed;
    result.is_hard_verified = true;
  }
  return is_right;
}

bool GpuSession::run(LoadedProgram& program, std::int64_t calls, std::int64_t timeout_ns,
                     double& ns, MeasureResult& result) {
  set_phase(WorkerPhase::run, monotonic_ns() + timeout_ns);
  const Status status = device_->time(program, calls, ns);
  set_phase(WorkerPhase::check);
  busy_until_ns_ = monotonic_ns();
  return is_good(status, "running", result, MeasureStatus::crashed);
}

MeasureReply GpuSession::measure(const MeasureRequest& request, FileDescriptor object) {
  MeasureReply reply;
  MeasureResult& result = reply.result;
  if (!is_prepared_) {
    result.message = "no task is prepared";
    return reply;
  }
  bool is_loaded = request.reuses_object && !program_.functions.empty();
  if (!is_loaded) {
    const SharedMemory code =
        SharedMemory::attach(std::move(object), request.candidate.object_bytes, false);
    is_loaded = load(code.bytes(), request.load_timeout_ns, program_, result);
  }
  const std::int64_t timeout_ns = device_timeout_ns(request.racing, request.best_ns);
  double first_ns = 0;
  // The first call is the one that is checked: everything before it was poisoned.
  const bool is_right = is_loaded && poison(result) &&
                        run(program_, 1, timeout_ns, first_ns, result) &&
                        check(request.racing.verify, result);
  if (!is_right || !race(program_, request, result)) {
    MeasureResult failed;
    failed.status = result.status;
    failed.message = result.message;
    result = std::move(failed);
    restore();
  }
  return reply;
}

}  // namespace cuda
}  // namespace tensorsmith
