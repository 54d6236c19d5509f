// SPDX-License-Identifier: Apache-2.0
// requires: cuda json
#include "bench/gpu/contest.hpp"

#include <algorithm>
#include <limits>

#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith::bench {
namespace {

constexpr int num_rounds = 30;
constexpr double sample_ns = 500'000;

std::int64_t calls_for(double ns) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(sample_ns / ns), 1, 1000);
}

double time_once(cuda::Device& device, Contestant& one) {
  double ns = 0;
  require_good(device.time_enqueued(one.calls, one.peer.enqueue, ns), device,
               one.peer.name.c_str());
  return ns;
}

std::string refusal(cuda::Status status) {
  return "it refuses this workload with status " + std::to_string(status);
}

/// The result of one call on memory that holds NaN or -1 before it.
cuda::Status result_of(cuda::Device& device, const GpuPeer& peer, std::vector<std::byte>& result) {
  const cuda::DriverLibrary& driver = device.driver();
  require_good(driver.fill(peer.output, 0xFF, result.size(), device.stream()), device, "poisoning");
  cuda::Status status = peer.enqueue();
  status = status != 0 ? status : device.wait();
  if (status == 0) {
    require_good(driver.to_host(result.data(), peer.output, result.size()), device, "reading back");
    if (peer.reorder) {
      peer.reorder(result);
    }
  }
  return status;
}

}  // namespace

void require_good(cuda::Status status, const cuda::Device& device, const char* what) {
  if (status != 0) {
    throw Error(std::string(what) + ": " + device.driver().name_of(status));
  }
}

GpuPeer fastest_of(cuda::Device& device, const std::vector<GpuPeer>& candidates) {
  GpuPeer fastest = candidates.front();
  std::string why = fastest.absent;
  double least = std::numeric_limits<double>::infinity();
  for (const GpuPeer& candidate : candidates) {
    double ns = 0;
    cuda::Status status = candidate.absent.empty() ? candidate.enqueue() : 0;
    status = status != 0 ? status : device.wait();
    for (int i = 0; candidate.absent.empty() && status == 0 && i < 4; ++i) {
      status = device.time_enqueued(ns > 0 ? calls_for(ns) : 1, candidate.enqueue, ns);
    }
    if (!candidate.absent.empty() || status != 0) {
      why = status != 0 ? refusal(status) : candidate.absent;
    } else if (ns < least) {
      fastest = candidate;
      least = ns;
    }
  }
  if (least == std::numeric_limits<double>::infinity()) {
    fastest.absent = why;
  }
  return fastest;
}

std::vector<std::string> compare_results(cuda::Device& device, const KernelArgument& output,
                                         std::vector<Contestant>& all) {
  std::vector<std::byte> ours(static_cast<std::size_t>(output.num_bytes()));
  std::vector<std::byte> theirs(ours.size());
  require_good(result_of(device, all.front().peer, ours), device, "ours");
  const double rms = rms_of(ours, output.dtype);
  std::vector<std::string> same;
  for (std::size_t i = 1; i < all.size(); ++i) {
    GpuPeer& peer = all[i].peer;
    if (!peer.absent.empty() || peer.output == 0) {
      continue;
    }
    if (const cuda::Status status = result_of(device, peer, theirs); status != 0) {
      peer.absent = refusal(status);
      continue;
    }
    KernelArgument expected = output;
    expected.reference_dtype = output.dtype;  // ours, which has errors of its own
    expected.tolerance.absolute *= 1 + peer.rounding;
    expected.tolerance.relative *= 1 + peer.rounding;
    expected.tolerance.of_rms *= 1 + peer.rounding;
    const Verdict verdict = verify_output(expected, ours, rms, theirs);
    if (verdict.status == MeasureStatus::ok) {
      same.push_back(peer.name);
    } else {
      peer.absent = "its result differs from ours: " + verdict.message;
    }
  }
  return same;
}

void race(cuda::Device& device, std::vector<Contestant>& all) {
  for (Contestant& one : all) {
    const cuda::Status status = one.peer.absent.empty() ? one.peer.enqueue() : 0;
    if (status != 0 && &one != all.data()) {
      one.peer.absent = refusal(status);
    }
    for (int i = 0; one.peer.absent.empty() && i < 6; ++i) {
      one.calls = calls_for(time_once(device, one));
    }
  }
  for (int round = 0; round < num_rounds; ++round) {
    for (Contestant& one : all) {
      if (one.peer.absent.empty()) {
        one.samples.push_back(time_once(device, one));
      }
    }
  }
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

nlohmann::json peer_json(const Contestant& one, const Contestant& ours) {
  if (!one.peer.absent.empty()) {
    return {{"absent", one.peer.absent}};
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.samples.size(); ++i) {
    ratios.push_back(one.samples[i] / ours.samples[i]);
  }
  return {{"version", one.peer.version},        {"ns", quantile(one.samples, 0.5)},
          {"ratio", quantile(ratios, 0.5)},     {"ratio_p10", quantile(ratios, 0.1)},
          {"ratio_p90", quantile(ratios, 0.9)}, {"samples_ns", one.samples}};
}

}  // namespace tensorsmith::bench
