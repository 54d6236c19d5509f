// SPDX-License-Identifier: Apache-2.0
// GpuSession: buffers of the prepared task on a GPU, running and checking candidates there.
//
// Own design. Worker only. A status after which the context is gone ends the process, with a code
// of its own and the status on the control page; the parent starts another one. So does a call that
// passes its deadline: the parent kills the process, which the control page told it to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/device_session.hpp"
#include "tensorsmith/cuda/device.hpp"
#include "tensorsmith/cuda/device_lease.hpp"

namespace tensorsmith::cuda {

/// Deadline of a call in a race against `best_ns` (0: none known).
std::int64_t device_timeout_ns(const RacingPolicy& policy, double best_ns);

class GpuSession final : public DeviceSession {
 public:
  explicit GpuSession(ControlPage& control) : control_(control) {}
  ~GpuSession() override { release_task(); }

  StatusReply prepare(const PrepareRequest& request, FileDescriptor data) override;
  MeasureReply measure(const MeasureRequest& request, FileDescriptor object) override;
  RankReply rank(const RankRequest& request, FileDescriptor objects) override;

 private:
  struct Argument {
    KernelArgument spec;
    DeviceBuffer buffer;
    DeviceBuffer poison;                   // of outputs: what they hold before a call
    std::span<const std::byte> data;       // of inputs, in data_; empty: drawn by the task's seed
    std::span<const std::byte> reference;  // in data_; empty for inputs
    double rms = 0;
    std::vector<HardMessage> hard;  // their data are in data_
  };
  struct Ranked {
    LoadedProgram program;
    bool is_alive = false;
    double last_ns = 0;
  };

  std::string open_device(std::int32_t number);
  std::string fill_arguments(const PrepareRequest& request);
  void release_task();
  /// False: `status` of `what` goes into `result`; does not come back if it sticks.
  bool is_good(Status status, const char* what, MeasureResult& result,
               MeasureStatus otherwise = MeasureStatus::unknown_error);
  bool load(std::span<const std::byte> code, std::int64_t timeout_ns, LoadedProgram& program,
            MeasureResult& result);
  bool make_workspace(std::int64_t num_bytes, MeasureResult& result);
  /// `draw`: hard inputs; null: the task's own.
  bool upload_input(std::size_t index, MeasureResult& result, const HardDraw* draw = nullptr);
  /// Whether the program is right for hard inputs too, else `result` says why not. The inputs are
  /// the task's again afterwards.
  bool is_right_for_hard_inputs(LoadedProgram& program, std::int64_t timeout_ns,
                                MeasureResult& result);
  /// After a candidate that may have written anywhere: inputs and bands as they were.
  void restore();
  bool poison(MeasureResult& result);
  bool check(bool checks_values, MeasureResult& result);
  bool check_bands(const DeviceBuffer& buffer, const std::string& whose, MeasureResult& result);
  bool run(LoadedProgram& program, std::int64_t calls, std::int64_t timeout_ns, double& ns,
           MeasureResult& result);
  /// Calls until the clocks are those of a busy device.
  bool warm_up(LoadedProgram& program, double call_ns, std::int64_t timeout_ns,
               MeasureResult& result);
  bool race(LoadedProgram& program, const MeasureRequest& request, MeasureResult& result);
  bool start_ranked(const RankRequest& request, const CandidateMessage& candidate,
                    std::span<const std::byte> code, Ranked& ranked, MeasureResult& result);
  void run_rounds(const RankRequest& request, std::vector<Ranked>& all,
                  std::vector<MeasureResult>& results);
  void set_phase(WorkerPhase phase, std::int64_t deadline_ns = 0);

  ControlPage& control_;
  DeviceLease lease_;
  Owned<Device> device_;
  std::int32_t number_ = -1;
  SharedMemory data_;
  MeasureTask task_;
  std::vector<Argument> arguments_;
  DeviceBuffer workspace_;
  LoadedProgram program_;  // of the last measure request
  std::vector<std::byte> host_;
  std::int64_t busy_until_ns_ = 0;
  bool is_prepared_ = false;
};

}  // namespace tensorsmith::cuda
