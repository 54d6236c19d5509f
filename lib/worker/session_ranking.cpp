// SPDX-License-Identifier: Apache-2.0
// The final ranking of a task's fastest candidates: rounds A B C ... A B C.
//
// Part of session.hpp.
#include <algorithm>
#include <cfenv>

#include "measure/session_parts.hpp"
#include "session.hpp"
#include "tensorsmith/measure/calibrator.hpp"

namespace tensorsmith {
namespace {

constexpr std::size_t max_ranked = 64;
constexpr std::int64_t calibration_interval_ns = 50'000'000;

}  // namespace

bool Session::start_ranked(std::size_t i, const RankRequest& request, const SharedMemory& objects,
                           Ranked& ranked, MeasureResult& result) {
  const CandidateMessage& candidate = request.candidates[i];
  const std::int64_t timeout_ns = request.policy.call_timeout_ns;
  control_.candidate.store(static_cast<std::uint32_t>(i), std::memory_order_relaxed);
  const KernelEntry entry = load(i, candidate, false, objects, request.load_timeout_ns, result);
  if (entry == nullptr ||
      !make_operands(i, candidate.prepack, timeout_ns, ranked.operands, result)) {
    return false;
  }
  poison();
  run(entry, ranked.operands.pointers, 1, timeout_ns);
  result = check(true);
  result.is_hard_verified = candidate.is_hard_verified;
  if (!result.is_ok()) {
    mark_bands();
    return false;
  }
  ranked.last_ns = run(entry, ranked.operands.pointers, 1, timeout_ns);
  ranked.entry = entry;
  return true;
}

void Session::run_rounds(const RankRequest& request, std::vector<Ranked>& all, RankReply& reply) {
  const RankingPolicy& policy = request.policy;
  const RacingPolicy racing;
  std::int64_t calibrated_at = 0;
  const auto read_peak = [this, &reply, &policy, &calibrated_at] {
    const double peak = calibrate(policy.calibrator_ns).peak_gflops_f32;
    reply.min_peak_gflops =
        reply.min_peak_gflops <= 0 ? peak : std::min(reply.min_peak_gflops, peak);
    reply.max_peak_gflops = std::max(reply.max_peak_gflops, peak);
    calibrated_at = monotonic_ns();
  };
  if (policy.calibrator_ns > 0) {
    read_peak();
  }
  repeat_rounds(policy, [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      Ranked& ranked = all[i];
      if (ranked.entry == nullptr) {
        continue;
      }
      control_.candidate.store(static_cast<std::uint32_t>(i), std::memory_order_relaxed);
      std::int64_t calls = 1;
      if (policy.is_cold_cache) {
        evict(ranked.operands);
      } else if (ranked.last_ns < static_cast<double>(racing.min_sample_ns)) {
        calls = static_cast<std::int64_t>(
            static_cast<double>(racing.min_sample_ns) / std::max(ranked.last_ns, 1.0) + 1);
      }
      const double ns = run(ranked.entry, ranked.operands.pointers, calls,
                            policy.call_timeout_ns + racing.min_sample_ns);
      ranked.last_ns = ns;
      reply.results[i].samples_ns.push_back(ns);
    }
    if (policy.calibrator_ns > 0 && monotonic_ns() - calibrated_at > calibration_interval_ns) {
      read_peak();
    }
  });
  if (policy.calibrator_ns > 0) {
    read_peak();
  }
}

RankReply Session::rank(const RankRequest& request, FileDescriptor objects) {
  RankReply reply;
  reply.results.resize(request.candidates.size());
  const SharedMemory code =
      SharedMemory::attach(std::move(objects), static_cast<std::size_t>(request.data_bytes), false);
  CandidateMessage largest;
  for (const CandidateMessage& candidate : request.candidates) {
    largest.shared_bytes = std::max(largest.shared_bytes, candidate.shared_bytes);
    largest.per_thread_bytes = std::max(largest.per_thread_bytes, candidate.per_thread_bytes);
  }
  std::string problem;
  if (!is_prepared_) {
    problem = "no task is prepared";
  } else if (reply.results.size() > max_ranked || !code.is_mapped()) {
    problem = "cannot rank that many candidates at once";
  } else {
    problem = make_workspace(largest);
  }
  if (!problem.empty()) {
    refuse_ranking(problem, reply);
    return reply;
  }
  std::vector<Ranked> all(request.candidates.size());
  start_candidates(request.policy, reply.results, [&](std::size_t i) {
    return start_ranked(i, request, code, all[i], reply.results[i]);
  });
  run_rounds(request, all, reply);
  settle_winner(request, reply, [&](std::size_t i, MeasureResult& result) {
    control_.candidate.store(static_cast<std::uint32_t>(i), std::memory_order_relaxed);
    if (!is_right_for_hard_inputs(i, all[i].entry, request.candidates[i].prepack, all[i].operands,
                                  2 * request.policy.call_timeout_ns, result)) {
      mark_bands();
    }
  });
  std::fesetenv(FE_DFL_ENV);
  for (std::size_t i = 1; i < all.size(); ++i) {
    loader_.unload(i);
  }
  reply.resident_bytes = resident_bytes();
  return reply;
}

}  // namespace tensorsmith
