// SPDX-License-Identifier: Apache-2.0
#include "measure/protocol.hpp"

#include "support/catch.hpp"

#include <random>
#include <thread>

#include <sys/socket.h>

#include "measure/control_page.hpp"
#include "measure/frame_io.hpp"

using namespace tensorsmith;

namespace {

PrepareRequest sample_prepare() {
  PrepareRequest request;
  request.arguments.resize(2);
  request.arguments[0].argument.name = "A";
  request.arguments[0].argument.dtype = DType::bf16;
  request.arguments[0].argument.num_elements = 12;
  request.arguments[0].argument.fill.low = -3;
  request.arguments[1].argument.name = std::string("with\0zero", 9);
  request.arguments[1].argument.is_output = true;
  request.arguments[1].argument.reference_rows = {4, 5, 6, 7, 8};
  request.arguments[1].argument.tolerance = {OutputTolerance::Kind::bounded, 1, 2, 3};
  request.arguments[1].data_offset = 64;
  request.input_seed = 99;
  request.num_threads = 4;
  request.is_pinned = true;
  request.data_bytes = 128;
  return request;
}

MeasureReply sample_reply() {
  MeasureReply reply;
  reply.result.status = MeasureStatus::wrong_result;
  reply.result.stage = RaceStage::triple;
  reply.result.is_verified = true;
  reply.result.samples_ns = {1.5, 2.5};
  reply.result.message = "no";
  reply.resident_bytes = -1;
  return reply;
}

struct SocketPair {
  FileDescriptor left;
  FileDescriptor right;
  SocketPair() {
    int pair[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    left.reset(pair[0]);
    right.reset(pair[1]);
  }
};

Deadline in_ms(std::int64_t ms) { return deadline_at(monotonic_ns() + ms * 1'000'000); }

}  // namespace

TEST_CASE("messages come back as they were") {
  PrepareRequest prepare;
  REQUIRE(decode(encode(sample_prepare()), prepare));
  CHECK(encode(prepare) == encode(sample_prepare()));
  CHECK(prepare.arguments[1].argument.name.size() == 9);
  CHECK(prepare.arguments[0].argument.dtype == DType::bf16);
  CHECK(prepare.arguments[1].argument.tolerance.of_rms == 3);
  CHECK(prepare.arguments[1].argument.reference_rows.inner == 4);
  CHECK(prepare.arguments[1].argument.reference_rows.count == 8);

  MeasureReply reply;
  REQUIRE(decode(encode(sample_reply()), reply));
  CHECK(reply.result.samples_ns == std::vector<double>{1.5, 2.5});
  CHECK(reply.result.status == MeasureStatus::wrong_result);

  RankRequest rank;
  rank.candidates.resize(3);
  rank.candidates[2].entry = "entry";
  rank.policy.is_cold_cache = true;
  RankRequest rank_back;
  REQUIRE(decode(encode(rank), rank_back));
  CHECK(encode(rank_back) == encode(rank));
  MeasureRequest request;
  request.racing.verify = false;
  MeasureRequest request_back;
  REQUIRE(decode(encode(request), request_back));
  CHECK(request_back.racing.verify == false);
}

TEST_CASE("a message that is cut off or too long is not one") {
  const auto whole = encode(sample_prepare());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> part(whole.begin(),
                                      whole.begin() + static_cast<std::ptrdiff_t>(size));
    PrepareRequest request;
    CHECK_FALSE(decode(part, request));
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  PrepareRequest request;
  CHECK_FALSE(decode(longer, request));
}

TEST_CASE("no bytes whatever lead to anything but a message or a refusal") {
  std::mt19937 random(static_cast<std::uint32_t>(test::seed()));
  const std::vector<std::vector<std::byte>> seeds = {encode(sample_prepare()),
                                                     encode(sample_reply())};
  std::size_t num_refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = seeds[static_cast<std::size_t>(round) % 2];
    for (int change = 0; change < 3; ++change) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() & 0xFFU);
    }
    PrepareRequest request;
    MeasureReply reply;
    RankReply ranked;
    const bool is_request = decode(bytes, request);
    const bool is_reply = decode(bytes, reply);
    const bool is_ranked = decode(bytes, ranked);
    num_refused += is_request || is_reply || is_ranked ? 0U : 1U;
    if (is_request) {
      CHECK(request.arguments.size() <= bytes.size());
    }
    if (is_reply) {
      CHECK(static_cast<std::size_t>(reply.result.status) < num_measure_statuses);
    }
  }
  CHECK(num_refused > 0);
}

TEST_CASE("frames carry payloads and descriptors") {
  SocketPair sockets;
  const SharedMemory memory = SharedMemory::create("test", 100);
  memory.bytes()[7] = std::byte{42};
  const std::vector<std::byte> payload(1 << 20, std::byte{9});  // more than a socket buffer
  const int fd = memory.fd();
  std::thread sender([&] {
    send_frame(sockets.left.get(), FrameType::rank, payload, std::span(&fd, 1), in_ms(10'000));
  });
  Frame frame;
  std::string problem;
  const IoStatus status = receive_frame(sockets.right.get(), frame, in_ms(10'000), problem);
  sender.join();
  REQUIRE(status == IoStatus::ok);
  CHECK(frame.type == FrameType::rank);
  CHECK(frame.payload == payload);
  REQUIRE(frame.fds.size() == 1);
  CHECK_FALSE(SharedMemory::attach(FileDescriptor(::dup(frame.fds[0].get())), 101, false)
                  .is_mapped());  // the file is not that long
  const SharedMemory mapped = SharedMemory::attach(std::move(frame.fds[0]), 100, false);
  REQUIRE(mapped.is_mapped());
  CHECK(mapped.bytes()[7] == std::byte{42});
}

TEST_CASE("waits end: at the deadline, at the peer's end, when stopped") {
  SocketPair sockets;
  Frame frame;
  std::string problem;
  CHECK(receive_frame(sockets.left.get(), frame, in_ms(20), problem) == IoStatus::timeout);
  Deadline stopped = in_ms(60'000);
  stopped.is_stopped = [] { return true; };
  CHECK(receive_frame(sockets.left.get(), frame, stopped, problem) == IoStatus::stopped);
  const std::vector<std::byte> large(8 << 20);
  CHECK(send_frame(sockets.left.get(), FrameType::rank, large, {}, in_ms(20)) == IoStatus::timeout);
  sockets.left.reset();
  IoStatus status = IoStatus::ok;
  for (int i = 0; i < 3 && status == IoStatus::ok; ++i) {
    status = receive_frame(sockets.right.get(), frame, in_ms(1000), problem);
  }
  CHECK(status == IoStatus::closed);
  CHECK(send_frame(sockets.right.get(), FrameType::rank, large, {}, in_ms(20)) == IoStatus::closed);
  const std::vector<std::byte> too_large(max_frame_bytes + 1);
  CHECK(send_frame(sockets.right.get(), FrameType::rank, too_large, {}, in_ms(20)) ==
        IoStatus::malformed);
}

TEST_CASE("headers are checked") {
  FrameHeader header;
  CHECK(check_header(header).empty());
  header.magic = 1;
  CHECK(check_header(header) == "not a tensorsmith worker frame");
  header = FrameHeader{};
  header.version = protocol_version + 1;
  CHECK(check_header(header) == "protocol version " + std::to_string(protocol_version + 1) +
                                    ", expected " + std::to_string(protocol_version));
  header = FrameHeader{};
  header.num_bytes = max_frame_bytes + 1;
  CHECK(check_header(header).find("too long") != std::string::npos);
}
