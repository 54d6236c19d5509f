// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "bench/support/race.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/paired.hpp"
#include "bench/support/reference.hpp"

namespace tensorsmith::bench {
namespace {

/// Longer than idle threads of OpenMP (some milliseconds) and OpenBLAS (2^26 cycles) look for work.
constexpr std::chrono::milliseconds pause_between_turns{25};
/// A core of a virtual machine that has slept may take a millisecond to come back. A library that
/// gives every thread its share waits for it; one whose threads take what is left does not, and
/// would be timed alone.
constexpr double wake_up_ns = 5e6;
/// What is faster than the roofline by more than the clock drifts is a bug.
constexpr double roofline_margin = 0.95;
constexpr std::int64_t evicting_floats = std::int64_t{32} << 20;

/// Keeps the calling thread on the core that it is on and, on request, all others of the process
/// off it: on a small machine the system wakes a library's thread on the core of its caller and
/// leaves both there for milliseconds. Threads that start meanwhile would stay with the caller, so
/// every contestant must have run before.
class PlacedThreads {
 public:
  explicit PlacedThreads(bool keeps_others_off) : keeps_others_off_(keeps_others_off) {
    const int cpu = ::sched_getcpu();
    if (cpu < 0 || ::sched_getaffinity(0, sizeof(before_), &before_) != 0 ||
        (keeps_others_off && CPU_COUNT(&before_) < 2)) {
      return;
    }
    is_placed_ = true;
    cpu_set_t own, rest = before_;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    CPU_CLR(cpu, &rest);
    place(own, rest);
  }
  ~PlacedThreads() {
    if (is_placed_) {
      place(before_, before_);
    }
  }
  PlacedThreads(const PlacedThreads&) = delete;
  PlacedThreads& operator=(const PlacedThreads&) = delete;

 private:
  void place(const cpu_set_t& caller, const cpu_set_t& others) const {
    ::sched_setaffinity(0, sizeof(caller), &caller);
    if (!keeps_others_off_) {
      return;
    }
    const pid_t self = ::gettid();
    std::error_code no_task;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", no_task)) {
      const pid_t id = std::atoi(entry.path().filename().c_str());
      if (id != self) {
        ::sched_setaffinity(id, sizeof(others), &others);
      }
    }
  }

  const bool keeps_others_off_;
  cpu_set_t before_ = {};
  bool is_placed_ = false;
};

/// Reads 128 MiB, so that nothing of the operands stays in the caches of this core.
void evict_caches() {
  static const AlignedBuffer buffer(evicting_floats);
  float sum = 0;
  for (std::int64_t i = 0; i < evicting_floats; i += 16) {
    sum += buffer[i];
  }
  volatile float sink = sum;
  (void)sink;
}

/// The libraries that have this operation and compute it right; the others with the reason.
std::vector<Peer*> prepare_peers(const Contest& contest, const RaceOptions& options,
                                 std::vector<FoundPeer>& peers, AlignedBuffer& output,
                                 nlohmann::ordered_json& left_out) {
  std::vector<Peer*> racing;
  Buffers buffers = contest.buffers;
  buffers.output = output.data();
  for (FoundPeer& found : peers) {
    if (!found.peer || !contest.problem) {
      left_out[found.name] =
          found.peer ? "this operation is compared with libraries in other types, or not at all"
                     : found.reason;
      continue;
    }
    const Prepared prepared =
        found.peer->prepare(*contest.problem, buffers, options.packing, options.threads);
    if (!prepared.ok) {
      left_out[found.name] = prepared.reason;
      continue;
    }
    output.fill(NAN);  // an element that is not written fails
    found.peer->rewind();
    found.peer->run();
    found.peer->write_output();
    const VerifyResult check = verify(*contest.problem, contest.buffers, output.data());
    if (!check.ok) {
      left_out[found.name] = "its result differs: " + check.message;
      continue;
    }
    racing.push_back(found.peer.get());
  }
  return racing;
}

void run_to_output(const Contest& contest) {
  if (contest.rewind) {
    contest.rewind();
  }
  contest.ours();
  if (contest.write_output) {
    contest.write_output();
  }
}

PairOptions pair_options(const RaceOptions& options) {
  PairOptions pairs;
  pairs.pairs = options.pairs;
  pairs.is_stopped = options.is_stopped;
  if (options.is_cold) {
    pairs.before_sample = evict_caches;
    return pairs;
  }
  pairs.warm_calls = 1;
  if (options.threads > 1) {
    pairs.warm_ns = wake_up_ns;
    pairs.before_turn = [] { std::this_thread::sleep_for(pause_between_turns); };
  }
  return pairs;
}

}  // namespace

nlohmann::ordered_json race(const Contest& contest, const RaceOptions& options,
                            const Roofline& roofline, std::vector<FoundPeer>& peers) {
  nlohmann::ordered_json report;
  report["ours_gflops"] = nullptr;
  report["peers"] = nlohmann::ordered_json::object();
  report["peak_fraction"] = nullptr;
  report["roofline_ns"] = nullptr;
  report["verified"] = nullptr;
  report["left_out"] = nlohmann::ordered_json::object();

  const ProblemSizes sizes = contest.problem ? sizes_of(*contest.problem) : ProblemSizes{};
  std::vector<float> first_output;
  if (contest.problem) {
    float* const output = contest.buffers.output;
    std::fill(output, output + sizes.output, NAN);
    run_to_output(contest);
    const VerifyResult check = verify(*contest.problem, contest.buffers, output);
    report["verified"] = check.ok;
    report["checked_elements"] = {check.checked, check.total};
    report["max_error_over_bound"] = std::isfinite(check.max_error_over_bound)
                                         ? nlohmann::ordered_json(check.max_error_over_bound)
                                         : nlohmann::ordered_json(nullptr);
    if (!check.ok) {
      report["problem"] = "our result differs: " + check.message;
    }
    first_output.assign(output, output + sizes.output);
  }
  AlignedBuffer peer_output(std::max<std::int64_t>(sizes.output, 1));
  const std::vector<Peer*> racing =
      prepare_peers(contest, options, peers, peer_output, report["left_out"]);
  std::vector<std::function<void()>> contestants{contest.ours};
  for (Peer* peer : racing) {
    contestants.emplace_back([peer] { peer->run(); });
  }
  if (contest.instant) {
    contestants.push_back(contest.instant);
  }

  Calibration calibration;
  std::vector<ContestantTimes> times;
  {
    const PlacedThreads placed(options.threads > 1);
    calibration.before_gflops = measure_peak_gflops(options.isa);
    times = measure_interleaved(contestants, pair_options(options));
    calibration.after_gflops = measure_peak_gflops(options.isa);
  }
  if (contest.instant || contest.rewind) {  // others, or many runs, wrote the same buffer
    run_to_output(contest);
  } else if (contest.write_output) {
    contest.write_output();
  }
  if (!first_output.empty() && std::memcmp(first_output.data(), contest.buffers.output,
                                           first_output.size() * sizeof(float)) != 0) {
    report["verified"] = false;
    report["problem"] = "our later runs wrote another result than the first";
  }

  const auto width = static_cast<double>(sizes.products_per_lane());
  const double peak = width * calibration.gflops() * options.threads;
  report["ours_ns"] = times[0].median_ns;
  report["ours_gflops"] = contest.flop / times[0].median_ns;
  report["peak_fraction"] = contest.flop / times[0].median_ns / peak;
  if (contest.problem) {
    // Clocks drift: the peak next to the race counts, not the one when the program started.
    Roofline here = roofline;
    here.peak_gflops = width * std::max(calibration.before_gflops, calibration.after_gflops);
    report["roofline_ns"] = roofline_ns(sizes.least_flop, sizes.bytes(), here, options.threads);
    report["below_roofline"] =
        times[0].median_ns < roofline_margin * report["roofline_ns"].get<double>();
  }
  report["state"] = options.is_cold ? "cold" : "warm";
  report["pairs"] = times[0].sample_ns.size();
  report["slow_samples"] = times[0].slow_samples;
  report["calibration"] = {{"gflops", calibration.gflops()},
                           {"moved", calibration.moved()},
                           {"stable", calibration.is_stable()}};
  for (std::size_t i = 0; i < racing.size(); ++i) {
    const ContestantTimes& t = times[i + 1];
    report["peers"][racing[i]->name()] = {{"gflops", contest.flop / t.median_ns},
                                          {"ratio", t.ratio},
                                          {"ratio_p10", t.ratio_p10},
                                          {"ratio_p90", t.ratio_p90},
                                          {"slow_samples", t.slow_samples},
                                          {"impl", racing[i]->impl_info()}};
  }
  if (contest.instant) {
    report["instant_share"] = times[0].median_ns / times.back().median_ns;
  }
  return report;
}

}  // namespace tensorsmith::bench
