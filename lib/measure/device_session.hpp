// SPDX-License-Identifier: Apache-2.0
// DeviceSession: the worker's side of measuring on a device that is not the CPU.
//
// Private to lib/ and tools/. The worker asks for one when a task names a device. Like the CPU's
// session it says on the control page what it does and until when.
#pragma once

#include <memory>

#include "measure/control_page.hpp"
#include "measure/protocol.hpp"
#include "measure/shared_memory.hpp"

namespace tensorsmith {

class DeviceSession {
 public:
  DeviceSession() = default;
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  virtual ~DeviceSession() = default;

  virtual StatusReply prepare(const PrepareRequest& request, FileDescriptor data) = 0;
  virtual MeasureReply measure(const MeasureRequest& request, FileDescriptor object) = 0;
  virtual RankReply rank(const RankRequest& request, FileDescriptor objects) = 0;
};

/// On NVIDIA GPUs; defined in lib/cuda.
std::unique_ptr<DeviceSession> make_cuda_session(ControlPage& control);

}  // namespace tensorsmith
