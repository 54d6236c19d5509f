// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "measure/protocol.hpp"

#include "support/catch.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure/control_page.hpp"
#include "measure/frame_io.hpp"
#include "tensorsmith/version.hpp"
#include "worker_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// A worker on the other end of a socket, without the library in between.
struct RawWorker {
  int pid = -1;
  FileDescriptor socket;

  RawWorker() {
    int pair[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    const SharedMemory control = SharedMemory::create("control", sizeof(ControlPage));
    const std::string program = worker_program();
    const std::string parent = std::to_string(::getpid());
    const int their_socket = ::fcntl(pair[1], F_DUPFD_CLOEXEC, 20);
    const int their_control = ::fcntl(control.fd(), F_DUPFD_CLOEXEC, 20);
    pid = ::fork();
    if (pid == 0) {
      ::dup2(their_socket, worker_socket_fd);
      ::dup2(their_control, worker_control_fd);
      ::execl(program.c_str(), "tensorsmith-worker", "--parent", parent.c_str(),
              static_cast<char*>(nullptr));
      ::_exit(99);
    }
    ::close(pair[1]);
    ::close(their_socket);
    ::close(their_control);
    socket.reset(pair[0]);
  }
  ~RawWorker() {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
  }
  Frame receive(IoStatus& status) {
    Frame frame;
    std::string problem;
    status = receive_frame(socket.get(), frame, deadline_at(monotonic_ns() + 10 * second), problem);
    return frame;
  }
};

std::string script(const std::string& text) {
  const std::string path = "/tmp/tensorsmith-fake-worker-" + std::to_string(::getpid());
  std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

}  // namespace

TEST_CASE("a worker that talks nonsense is reported, not believed") {
  static_assert(protocol_version < 8, "one octal digit below");
  const std::string frame = "printf 'TMSW\\00" + std::to_string(protocol_version);
  const std::string texts[] = {
      "printf 'this is not a frame at all, not at all' >&3; sleep 1",
      "printf 'TMSW\\007\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000' >&3; sleep 1",
      frame + "\\000\\000\\000\\377\\377\\377\\377\\377\\377\\000\\000' >&3; sleep 1",
      frame + "\\000\\143\\000\\000\\000\\000\\000\\000\\000\\000\\000' >&3; sleep 1",
      frame + "\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000x' >&3; sleep 1",
      "exit 7",
      "kill -9 $$",
      "exec sleep 60",
  };
  const char* const problems[] = {"not a tensorsmith worker frame",
                                  "protocol version 7",
                                  "too long",
                                  "unknown frame type 99",
                                  "makes no sense",
                                  "exited with code 7",
                                  "SIGKILL",
                                  "no hello"};
  for (std::size_t i = 0; i < 8; ++i) {
    WorkerOptions options;
    options.worker_path = script(texts[i]);
    options.start_timeout_ns = 500'000'000;
    const auto prepared = WorkerMeasurer(options).prepare(affine_task(4));
    REQUIRE_FALSE(prepared.has_value());
    CAPTURE(texts[i], prepared.error().message);
    CHECK(prepared.error().status == MeasureStatus::worker_lost);
    CHECK(prepared.error().message.find(problems[i]) != std::string::npos);
    std::remove(options.worker_path.c_str());
  }
}

TEST_CASE("a worker of another build is named, with what to do") {
  const auto hello_of = [](const std::string& version, std::uint64_t layout) {
    HelloMessage hello;
    hello.version = version;
    hello.layout = layout;
    const std::vector<std::byte> payload = encode(hello);
    FrameHeader header;
    header.num_bytes = payload.size();
    std::string text;
    const auto add = [&text](const void* data, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i) {
        char octal[8];
        std::snprintf(octal, sizeof(octal), "\\%03o", static_cast<const unsigned char*>(data)[i]);
        text += octal;
      }
    };
    add(&header, sizeof(header));
    add(payload.data(), payload.size());
    return "printf '" + text + "' >&3";
  };
  const std::pair<std::string, std::string> workers[] = {
      {"printf 'TMSW\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000' >&3; exec sleep "
       "60",
       "protocol version 1"},
      {hello_of("0.0.9", message_layout()), "version 0.0.9"},
      {hello_of(version_string, 0xabc), "messages 0000000000000abc"}};
  for (const auto& [text, theirs] : workers) {
    WorkerOptions options;
    options.worker_path = script(text);
    const auto prepared = WorkerMeasurer(options).prepare(affine_task(4));
    REQUIRE_FALSE(prepared.has_value());
    const std::string& message = prepared.error().message;
    CAPTURE(message);
    CHECK(prepared.error().status == MeasureStatus::worker_lost);
    CHECK(message.find("'" + options.worker_path + "' belongs to another build") !=
          std::string::npos);
    CHECK(message.find(theirs) != std::string::npos);
    CHECK(message.find("set TENSORSMITH_WORKER or worker_path") != std::string::npos);
    std::remove(options.worker_path.c_str());
  }
  // The same hello with the right numbers is believed: only the next answer is missing.
  WorkerOptions options;
  options.worker_path = script(hello_of(version_string, message_layout()));
  const auto prepared = WorkerMeasurer(options).prepare(affine_task(4));
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().message.find("another build") == std::string::npos);
  std::remove(options.worker_path.c_str());
}

TEST_CASE("a worker refuses nonsense and ends") {
  std::mt19937 random(static_cast<std::uint32_t>(seed()));
  for (int round = 0; round < 8; ++round) {
    RawWorker worker;
    IoStatus status = IoStatus::ok;
    Frame frame = worker.receive(status);
    REQUIRE(status == IoStatus::ok);
    HelloMessage hello;
    REQUIRE(frame.type == FrameType::hello);
    REQUIRE(decode(frame.payload, hello));
    CHECK(hello.loader.find("ORC") != std::string::npos);
    std::vector<std::byte> noise(200);
    for (std::byte& byte : noise) {
      byte = static_cast<std::byte>(random() & 0xFFU);
    }
    if (round == 0) {
      REQUIRE(::send(worker.socket.get(), noise.data(), noise.size(), MSG_NOSIGNAL) == 200);
    } else {
      const FrameType types[] = {FrameType::prepare,   FrameType::measure, FrameType::rank,
                                 FrameType::calibrate, FrameType::hello,   FrameType::prepared,
                                 FrameType::measure};
      REQUIRE(send_frame(worker.socket.get(), types[round - 1], noise, {},
                         deadline_at(monotonic_ns() + second)) == IoStatus::ok);
    }
    frame = worker.receive(status);
    REQUIRE(status == IoStatus::ok);
    StatusReply refusal;
    CHECK(frame.type == FrameType::refused);
    CHECK(decode(frame.payload, refusal));
    CHECK_FALSE(refusal.message.empty());
    worker.receive(status);
    CHECK(status == IoStatus::closed);
  }
}

TEST_CASE("well-formed requests with impossible numbers are answered") {
  RawWorker worker;
  IoStatus status = IoStatus::ok;
  worker.receive(status);
  REQUIRE(status == IoStatus::ok);
  const Deadline soon = deadline_at(monotonic_ns() + 10 * second);
  const auto ask = [&](FrameType type, const std::vector<std::byte>& payload) {
    REQUIRE(send_frame(worker.socket.get(), type, payload, {}, soon) == IoStatus::ok);
    Frame frame = worker.receive(status);
    REQUIRE(status == IoStatus::ok);
    return frame;
  };
  MeasureReply measured;
  REQUIRE(decode(ask(FrameType::measure, encode(MeasureRequest{})).payload, measured));
  CHECK(measured.result.message == "no task is prepared");

  PrepareRequest request;
  request.arguments.resize(1);
  StatusReply reply;
  request.arguments[0].argument.num_elements = std::int64_t{1} << 55;
  REQUIRE(decode(ask(FrameType::prepare, encode(request)).payload, reply));
  CHECK(reply.status != MeasureStatus::ok);
  request.arguments[0].argument.num_elements = 4;
  request.arguments[0].data_bytes = 16;
  request.arguments[0].data_offset = ~std::uint64_t{0} - 3;
  REQUIRE(decode(ask(FrameType::prepare, encode(request)).payload, reply));
  CHECK(reply.message.find("wrong size") != std::string::npos);
  request.data_bytes = 1 << 20;  // announced, but no descriptor came
  REQUIRE(decode(ask(FrameType::prepare, encode(request)).payload, reply));
  CHECK(reply.message.find("cannot map") != std::string::npos);
  request = PrepareRequest{};
  request.arguments.resize(1);
  request.num_threads = 1'000'000;
  REQUIRE(decode(ask(FrameType::prepare, encode(request)).payload, reply));
  CHECK(reply.status != MeasureStatus::ok);
  request.num_threads = 1;
  REQUIRE(decode(ask(FrameType::prepare, encode(request)).payload, reply));
  CHECK(reply.status == MeasureStatus::ok);
  MeasureRequest measure;
  measure.candidate.object_bytes = 100;
  REQUIRE(decode(ask(FrameType::measure, encode(measure)).payload, measured));
  CHECK(name_of(measured.result.status) == "load_error");
  measure.reuses_object = true;  // there is none
  REQUIRE(decode(ask(FrameType::measure, encode(measure)).payload, measured));
  CHECK(name_of(measured.result.status) == "load_error");
}

TEST_CASE("run by hand, the worker explains itself") {
  const int status = std::system((worker_program() + " </dev/null 2>/dev/null").c_str());
  CHECK(WEXITSTATUS(status) == 2);
}
