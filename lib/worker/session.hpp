// SPDX-License-Identifier: Apache-2.0
// Session: the worker's side of the work: buffers of the prepared task, running and checking
// kernels.
//
// Worker only. Runs foreign code: whatever happens here may be the last thing that this process
// does, so the control page always says what is being done and until when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "code_loader.hpp"
#include "cpu/thread_pool.hpp"
#include "cpu_lease.hpp"
#include "guarded_buffer.hpp"
#include "measure/control_page.hpp"
#include "measure/protocol.hpp"
#include "measure/shared_memory.hpp"
#include "tensorsmith/measure/calibrator.hpp"

namespace tensorsmith {

class Session {
 public:
  Session(ControlPage& control, CodeLoader& loader) : control_(control), loader_(loader) {}

  StatusReply prepare(const PrepareRequest& request, FileDescriptor data);
  MeasureReply measure(const MeasureRequest& request, FileDescriptor object);
  RankReply rank(const RankRequest& request, FileDescriptor objects);
  /// The peak of code like that of the prepared task.
  Calibration calibrate(std::int64_t budget_ns) const {
    return calibrate_peak(budget_ns, vector_bits_);
  }

 private:
  struct Argument {
    KernelArgument spec;
    GuardedBuffer buffer;
    bool is_drawn = false;                 // an input whose values are the seed's
    std::span<const std::byte> reference;  // in data_; empty for inputs
    double rms = 0;
    std::vector<HardMessage> hard;  // their data are in data_
  };
  /// The arguments of a candidate: the task's, or some of them and what its prepack wrote.
  struct Operands {
    std::vector<void*> pointers;
    std::vector<GuardedBuffer> packed;  // read-only once written
  };
  struct Ranked {
    KernelEntry entry = nullptr;
    Operands operands;
    double last_ns = 0;
  };

  void keep_arguments(const PrepareRequest& request);
  std::string fill_arguments(const PrepareRequest& request);
  std::string make_workspace(const CandidateMessage& candidate);
  KernelEntry load(std::size_t slot, const CandidateMessage& candidate, bool reuses_object,
                   const SharedMemory& objects, std::int64_t timeout_ns, MeasureResult& result);
  /// For the candidate loaded in `slot`; calls its prepack, if it has one. False: `result` says
  /// why.
  bool make_operands(std::size_t slot, const PrepackCode& prepack, std::int64_t timeout_ns,
                     Operands& operands, MeasureResult& result);
  std::string make_packed(const PrepackCode& prepack, Operands& operands,
                          std::vector<void*>& prepack_pointers);
  void note_fault_regions(const Operands& operands);
  /// Nanoseconds per call over `calls` back-to-back calls.
  double run(KernelEntry entry, const std::vector<void*>& pointers, std::int64_t calls,
             std::int64_t timeout_ns);
  void poison();
  void mark_bands();
  MeasureResult check(bool checks_values) const;
  /// Whether the candidate in `slot` is right for hard inputs too, else `result` says why not. The
  /// inputs are the task's again afterwards; `timed`: its operands made from those.
  bool is_right_for_hard_inputs(std::size_t slot, KernelEntry entry, const PrepackCode& prepack,
                                const Operands& timed, std::int64_t timeout_ns,
                                MeasureResult& result);
  void fill_for(const HardDraw* draw);
  void evict(const Operands& operands);
  bool start_ranked(std::size_t i, const RankRequest& request, const SharedMemory& objects,
                    Ranked& ranked, MeasureResult& result);
  void run_rounds(const RankRequest& request, std::vector<Ranked>& all, RankReply& reply);
  void set_phase(WorkerPhase phase, std::int64_t deadline_ns = 0);

  ControlPage& control_;
  CodeLoader& loader_;
  CpuLease lease_;
  SharedMemory data_;
  std::vector<Argument> arguments_;
  std::uint64_t input_seed_ = 0;
  std::int32_t vector_bits_ = 0;
  MeasureTask task_;  // how inputs are filled
  std::vector<void*> pointers_;
  GuardedBuffer workspace_;
  std::unique_ptr<ThreadPool> pool_;
  bool is_prepared_ = false;
};

/// Resident memory of this process.
std::int64_t resident_bytes();

}  // namespace tensorsmith
