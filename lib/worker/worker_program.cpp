// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The worker: runs candidate kernels for a measurer, in a process that may die of them.
//
// Started by a program that uses tensorsmith, never by hand. Descriptor 3 is its socket, 4 the
// control page. It lives no longer than the thread that started it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "code_loader.hpp"
#include "fault.hpp"
#include "measure/control_page.hpp"
#include "measure/device_session.hpp"
#include "measure/frame_io.hpp"
#include "measure/protocol.hpp"
#include "measure/shared_memory.hpp"
#include "session.hpp"
#include "tensorsmith/measure/calibrator.hpp"
#include "tensorsmith/measure/worker_program.hpp"
#include "tensorsmith/version.hpp"

namespace tensorsmith {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_connection = 3;
constexpr int exit_loader = 4;

// Sending to a parent that does not read would block forever.
constexpr std::int64_t send_timeout_ns = 60'000'000'000;

template <class Message>
bool reply(FrameType type, const Message& message) {
  return send_frame(worker_socket_fd, type, encode(message), {},
                    deadline_at(monotonic_ns() + send_timeout_ns)) == IoStatus::ok;
}

bool refuse(const std::string& problem) {
  StatusReply message;
  message.message = problem;
  reply(FrameType::refused, message);
  return false;
}

FileDescriptor first_fd(Frame& frame) {
  return frame.fds.empty() ? FileDescriptor() : std::move(frame.fds.front());
}

/// Where the prepared task runs: this process, or a device.
struct Sessions {
  Session cpu;
  std::unique_ptr<DeviceSession> gpu;
  bool is_on_gpu = false;

  StatusReply prepare(const PrepareRequest& request, FileDescriptor data, ControlPage& control) {
    is_on_gpu = request.device >= 0;
    if (!is_on_gpu) {
      return cpu.prepare(request, std::move(data));
    }
#if defined(TENSORSMITH_HAS_CUDA)
    if (gpu == nullptr) {
      gpu = make_cuda_session(control);
    }
    return gpu->prepare(request, std::move(data));
#else
    (void)control;
    StatusReply refused;
    refused.message = "the program tensorsmith-worker was built without CUDA";
    return refused;
#endif
  }
  MeasureReply measure(const MeasureRequest& request, FileDescriptor object) {
    return is_on_gpu && gpu != nullptr ? gpu->measure(request, std::move(object))
                                       : cpu.measure(request, std::move(object));
  }
  RankReply rank(const RankRequest& request, FileDescriptor objects) {
    return is_on_gpu && gpu != nullptr ? gpu->rank(request, std::move(objects))
                                       : cpu.rank(request, std::move(objects));
  }
};

// False: end the process.
bool serve(Frame& frame, Sessions& session, ControlPage& control) {
  switch (frame.type) {
  case FrameType::prepare: {
    PrepareRequest request;
    if (!decode(frame.payload, request)) {
      return refuse("malformed prepare request");
    }
    const StatusReply answer = session.prepare(request, first_fd(frame), control);
    control.phase.store(WorkerPhase::idle, std::memory_order_release);
    return reply(FrameType::prepared, answer);
  }
  case FrameType::measure: {
    MeasureRequest request;
    if (!decode(frame.payload, request)) {
      return refuse("malformed measure request");
    }
    const MeasureReply answer = session.measure(request, first_fd(frame));
    control.phase.store(WorkerPhase::idle, std::memory_order_release);
    return reply(FrameType::measured, answer);
  }
  case FrameType::rank: {
    RankRequest request;
    if (!decode(frame.payload, request)) {
      return refuse("malformed rank request");
    }
    const RankReply answer = session.rank(request, first_fd(frame));
    control.phase.store(WorkerPhase::idle, std::memory_order_release);
    return reply(FrameType::ranked, answer);
  }
  case FrameType::calibrate: {
    CalibrateRequest request;
    if (!decode(frame.payload, request) || request.budget_ns < 0 ||
        request.budget_ns > 1'000'000'000) {
      return refuse("malformed calibrate request");
    }
    return reply(FrameType::calibrated, session.cpu.calibrate(request.budget_ns));
  }
  case FrameType::shut_down:
    return false;
  default:
    return refuse("unexpected frame");
  }
}

/// Until the connection ends; the exit code.
int serve_all(Sessions& session, ControlPage& control) {
  for (;;) {
    Frame frame;
    std::string problem;
    const IoStatus status = receive_frame(worker_socket_fd, frame, deadline_at(0), problem);
    if (status == IoStatus::malformed || status == IoStatus::other_version) {
      refuse(problem);
      return exit_connection;
    }
    if (status != IoStatus::ok || !serve(frame, session, control)) {
      return 0;
    }
  }
}

int run() {
  SharedMemory page =
      SharedMemory::attach(FileDescriptor(::dup(worker_control_fd)), sizeof(ControlPage), true);
  if (!page.is_mapped()) {
    return exit_connection;
  }
  ControlPage& control = *reinterpret_cast<ControlPage*>(page.bytes().data());
  install_fault_handlers(control);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);

  std::string problem;
  // Static, and so never taken apart: run_worker leaves with _exit, and the system is faster.
  static const std::unique_ptr<CodeLoader> loader = make_orc_loader(problem);
  if (loader == nullptr) {
    std::fprintf(stderr, "tensorsmith-worker: %s\n", problem.c_str());
    return exit_loader;
  }
  HelloMessage hello;
  hello.pid = ::getpid();
  hello.loader = loader->name();
  hello.version = version_string;
  hello.layout = message_layout();
  if (!reply(FrameType::hello, hello)) {
    return exit_connection;
  }
  static Sessions session{Session(control, *loader), nullptr};
  const int code = serve_all(session, control);
  session.gpu.reset();
  return code;
}

}  // namespace

void run_worker(int argc, char** argv) {
  const long parent =
      argc == 3 && std::strcmp(argv[1], "--parent") == 0 ? std::strtol(argv[2], nullptr, 10) : 0;
  if (parent <= 0 || ::fcntl(worker_socket_fd, F_GETFD) < 0) {
    std::fprintf(stderr, "tensorsmith-worker measures kernels for programs that use tensorsmith; "
                         "they start it themselves. There is nothing to run by hand.\n");
    std::exit(exit_usage);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    std::exit(exit_connection);  // the parent died before the line above
  }
  ::fcntl(worker_socket_fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(worker_control_fd, F_SETFD, FD_CLOEXEC);
  const int code = run();
  // Not exit(): foreign code may have left anything in the tables of destructors.
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace tensorsmith
