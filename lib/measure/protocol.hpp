// SPDX-License-Identifier: Apache-2.0
// The messages between a measurer and its workers, and their bytes.
//
// Private to lib/measure and lib/worker. A frame is a fixed header and a payload;
// numbers are little endian as in memory. Neither side trusts the other: every length is checked
// before use. Both sides must be of one build: the hello says of which one the worker is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "measure/payload.hpp"
#include "tensorsmith/measure/measure_result.hpp"
#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/measure/policy.hpp"
#include "tensorsmith/measure/task.hpp"

namespace tensorsmith {

inline constexpr std::uint32_t protocol_magic = 0x57534D54;  // "TMSW"
/// Of the frames and of the hello. Changes of other messages show in message_layout().
inline constexpr std::uint16_t protocol_version = 5;
inline constexpr std::uint64_t max_frame_bytes = 16u << 20;
inline constexpr int max_frame_fds = 2;

/// Descriptors of the worker: its end of the socket and the control page.
inline constexpr int worker_socket_fd = 3;
inline constexpr int worker_control_fd = 4;

/// The worker's exit code when a GPU's context is gone; the control page says which error it was.
inline constexpr int worker_exit_device = 5;

enum class FrameType : std::uint16_t {
  hello,       // worker: HelloMessage
  prepare,     // parent: PrepareRequest, one descriptor if data_bytes > 0
  prepared,    // worker: StatusReply
  measure,     // parent: MeasureRequest, one descriptor unless reuses_object
  measured,    // worker: MeasureReply
  rank,        // parent: RankRequest, one descriptor with all objects
  ranked,      // worker: RankReply
  calibrate,   // parent: CalibrateRequest
  calibrated,  // worker: Calibration
  shut_down,   // parent: empty
  refused,     // worker: StatusReply; it could not make sense of a frame
};
inline constexpr std::uint16_t num_frame_types = 11;

struct FrameHeader {
  std::uint32_t magic = protocol_magic;
  std::uint16_t version = protocol_version;
  FrameType type = FrameType::hello;
  std::uint64_t num_bytes = 0;
};
static_assert(sizeof(FrameHeader) == 16 && std::is_trivially_copyable_v<FrameHeader>);

/// Empty if the header is acceptable, else the reason.
std::string check_header(const FrameHeader& header);

struct HelloMessage {
  std::int32_t pid = 0;
  std::string loader;        ///< name and version of what links object code
  std::string version;       ///< of tensorsmith
  std::uint64_t layout = 0;  ///< message_layout() of the worker
};

/// A HardReference whose data lies in the prepare frame's memory file: the values, then the bounds.
struct HardMessage {
  HardDraw draw = HardDraw::finite;
  RowSample rows;
  std::uint64_t data_offset = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t bound_bytes = 0;
};

/// A KernelArgument whose data lies in the prepare frame's memory file.
struct ArgumentMessage {
  KernelArgument argument;  ///< without fill.bytes, reference and hard
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;  ///< input values or reference, 0: none
  std::vector<HardMessage> hard;
};

struct PrepareRequest {
  std::vector<ArgumentMessage> arguments;
  std::uint64_t input_seed = 0;
  std::int32_t num_threads = 1;
  std::int32_t device = -1;      ///< number of a GPU, -1: the CPU
  std::int32_t vector_bits = 0;  ///< as in MeasureTask
  bool is_pinned = false;
  std::uint64_t data_bytes = 0;  ///< size of the memory file
};

struct StatusReply {
  MeasureStatus status = MeasureStatus::unknown_error;
  std::string message;
  std::int64_t resident_bytes = 0;
};

struct CandidateMessage {
  std::uint64_t object_offset = 0;
  std::uint64_t object_bytes = 0;
  std::string entry;
  std::int64_t shared_bytes = 0;
  std::int64_t per_thread_bytes = 0;
  PrepackCode prepack;
  std::int64_t complexity = 0;
  bool is_hard_verified = false;
};

struct MeasureRequest {
  CandidateMessage candidate;
  bool reuses_object = false;  ///< the object of the measure frame before this one
  double best_ns = 0;
  std::int64_t load_timeout_ns = 0;
  RacingPolicy racing;
};

struct MeasureReply {
  MeasureResult result;
  std::int64_t resident_bytes = 0;
};

struct RankRequest {
  std::vector<CandidateMessage> candidates;
  std::int64_t load_timeout_ns = 0;
  std::uint64_t data_bytes = 0;
  RankingPolicy policy;
};

struct RankReply {
  std::vector<MeasureResult> results;
  double min_peak_gflops = 0;
  double max_peak_gflops = 0;
  std::int64_t resident_bytes = 0;
};

struct CalibrateRequest {
  std::int64_t budget_ns = 0;
};

template <class A>
void transfer(A& a, HelloMessage& m) {
  a(m.pid), a(m.loader), a(m.version), a(m.layout);
}
template <class A>
void transfer(A& a, OutputTolerance& m) {
  a.enumeration(m.kind, 3);
  a(m.absolute), a(m.relative), a(m.of_rms);
}
template <class A>
void transfer(A& a, RowSample& m) {
  a(m.inner), a(m.extent), a(m.first), a(m.stride), a(m.count);
}
template <class A>
void transfer(A& a, HardMessage& m) {
  a.enumeration(m.draw, num_hard_draws);
  a(m.rows), a(m.data_offset), a(m.value_bytes), a(m.bound_bytes);
}
template <class A>
void transfer(A& a, ArgumentMessage& m) {
  a(m.argument.name);
  a.enumeration(m.argument.dtype, std::size(all_dtypes));
  a(m.argument.num_elements), a(m.argument.is_output);
  a(m.argument.fill.low), a(m.argument.fill.high);
  a(m.argument.fill.row_elements), a(m.argument.fill.num_rows), a(m.argument.fill.is_main);
  a.enumeration(m.argument.reference_dtype, std::size(all_dtypes));
  a(m.argument.reference_rows), a(m.argument.has_bounds);
  a(m.argument.tolerance), a(m.data_offset), a(m.data_bytes), a(m.hard);
}
template <class A>
void transfer(A& a, PrepareRequest& m) {
  a(m.arguments), a(m.input_seed), a(m.num_threads), a(m.device), a(m.vector_bits), a(m.is_pinned);
  a(m.data_bytes);
}
template <class A>
void transfer(A& a, StatusReply& m) {
  a.enumeration(m.status, num_measure_statuses);
  a(m.message), a(m.resident_bytes);
}
template <class A>
void transfer(A& a, PackedArgument& m) {
  a(m.name);
  a.enumeration(m.dtype, std::size(all_dtypes));
  a(m.num_elements);
}
template <class A>
void transfer(A& a, PrepackCode& m) {
  a(m.entry), a(m.packed), a(m.arguments), a(m.kernel_arguments);
}
template <class A>
void transfer(A& a, CandidateMessage& m) {
  a(m.object_offset), a(m.object_bytes), a(m.entry), a(m.shared_bytes), a(m.per_thread_bytes);
  a(m.prepack), a(m.complexity), a(m.is_hard_verified);
}
template <class A>
void transfer(A& a, RacingPolicy& m) {
  a(m.warm_up_calls), a(m.stop_after_warm_up), a(m.long_call_ns), a(m.stop_after_single),
      a(m.stop_after_long_warm_up), a(m.stop_after_long_single), a(m.triple_calls);
  a(m.stop_after_triple), a(m.full_calls), a(m.full_budget_ns), a(m.long_budget_ns),
      a(m.min_sample_ns);
  a(m.only_call_ns), a(m.first_calls), a(m.timeout_factor), a(m.timeout_floor_ns);
  a(m.first_timeout_ns), a(m.verify);
}
template <class A>
void transfer(A& a, RankingPolicy& m) {
  a(m.budget_ns), a(m.min_rounds), a(m.max_rounds), a(m.is_cold_cache), a(m.calibrator_ns);
  a(m.call_timeout_ns), a(m.max_wall_ns), a(m.tie_fraction), a(m.most_tied);
}
template <class A>
void transfer(A& a, MeasureRequest& m) {
  a(m.candidate), a(m.reuses_object), a(m.best_ns), a(m.load_timeout_ns), a(m.racing);
}
template <class A>
void transfer(A& a, MeasureResult& m) {
  a.enumeration(m.status, num_measure_statuses);
  a.enumeration(m.stage, 4);
  a(m.is_verified), a(m.is_hard_verified), a(m.min_ns), a(m.median_ns), a(m.samples_ns),
      a(m.wall_ns), a(m.message);
}
template <class A>
void transfer(A& a, MeasureReply& m) {
  a(m.result), a(m.resident_bytes);
}
template <class A>
void transfer(A& a, RankRequest& m) {
  a(m.candidates), a(m.load_timeout_ns), a(m.data_bytes), a(m.policy);
}
template <class A>
void transfer(A& a, RankReply& m) {
  a(m.results), a(m.min_peak_gflops), a(m.max_peak_gflops), a(m.resident_bytes);
}
template <class A>
void transfer(A& a, CalibrateRequest& m) {
  a(m.budget_ns);
}
template <class A>
void transfer(A& a, Calibration& m) {
  a(m.peak_gflops_f32), a(m.vector_bits);
}

/// Payload of a message.
template <class Message>
std::vector<std::byte> encode(const Message& message) {
  PayloadWriter writer;
  writer(message);
  return writer.bytes();
}

/// False if the bytes are not exactly one such message.
template <class Message>
bool decode(const std::vector<std::byte>& bytes, Message& message) {
  PayloadReader reader(bytes.data(), bytes.size());
  reader(message);
  return reader.is_finished();
}

/// A number over the form of all messages: two builds between which a field came, went or changed
/// its size have different ones.
std::uint64_t message_layout();

}  // namespace tensorsmith
