// SPDX-License-Identifier: Apache-2.0
// How the session on a GPU times: warm-up, races, the final ranking. Part of gpu_session.hpp.
#include <algorithm>

#include "gpu_session.hpp"
#include "measure/session_parts.hpp"

namespace tensorsmith::cuda {
namespace {

constexpr std::int64_t least_sample_ns = 100'000;

/// So many calls make a sample of useful length.
std::int64_t calls_for(double call_ns) {
  return 1 +
         static_cast<std::int64_t>(static_cast<double>(least_sample_ns) / std::max(call_ns, 1.0));
}

}  // namespace

std::int64_t device_timeout_ns(const RacingPolicy& policy, double best_ns) {
  constexpr std::int64_t least_ns = 200'000'000;  // to bring code to the device may take that long
  return std::max(call_timeout_ns(policy, best_ns), least_ns);
}

bool GpuSession::warm_up(LoadedProgram& program, double call_ns, std::int64_t timeout_ns,
                         MeasureResult& result) {
  constexpr std::int64_t idle_ns = 300'000'000, batch_ns = 5'000'000;
  constexpr std::int64_t least_ns = 20'000'000, most_ns = 200'000'000;
  if (monotonic_ns() - busy_until_ns_ < idle_ns && busy_until_ns_ > 0) {
    return true;
  }
  const auto calls =
      static_cast<std::int64_t>(static_cast<double>(batch_ns) / std::max(call_ns, 1.0)) + 1;
  double last = 0, now = 0;
  const std::int64_t start = monotonic_ns();
  for (;;) {
    if (!run(program, calls, timeout_ns + batch_ns, now, result)) {
      return false;
    }
    const std::int64_t spent = monotonic_ns() - start;
    const bool is_steady = last > 0 && now > 0.98 * last && now < 1.02 * last;
    if (spent >= most_ns || (spent >= least_ns && is_steady)) {
      return true;
    }
    last = now;
  }
}

bool GpuSession::race(LoadedProgram& program, const MeasureRequest& request,
                      MeasureResult& result) {
  // A sample of several calls hides the microsecond that an event may be off, and the launch from
  // the host. What the first call took says nothing: the code was brought to the device in it.
  RacingPolicy policy = request.racing;
  policy.min_sample_ns = std::max<std::int64_t>(policy.min_sample_ns, least_sample_ns);
  const std::int64_t timeout_ns = device_timeout_ns(policy, request.best_ns) + policy.min_sample_ns;
  const bool is_verified = result.is_verified;
  double ns = 0;
  if (!run(program, 1, timeout_ns, ns, result) || !warm_up(program, ns, timeout_ns, result)) {
    return false;
  }
  std::string message;
  constexpr int most_repeats = 2;
  for (int repeat = 0;; ++repeat) {
    Race race(policy, request.best_ns);
    while (race.wants_warm_up()) {
      if (!run(program, calls_for(ns), timeout_ns, ns, result)) {
        return false;
      }
      race.add_warm_up(ns);
    }
    while (race.wants_sample()) {
      if (!run(program, race.calls_per_sample(), timeout_ns, ns, result)) {
        return false;
      }
      race.add_sample(ns);
    }
    const ClockState clocks = device_->clocks().read();
    if (clocks.is_throttled() && race.stage() == RaceStage::full && repeat < most_repeats) {
      message =
          "measured again: heat or power held the device's clock down (" + to_text(clocks) + ")";
      continue;
    }
    // A survivor must still be right after many calls; the others cannot win.
    if (!check(policy.verify && race.stage() == RaceStage::full, result)) {
      return false;
    }
    result.is_verified = is_verified;
    result.stage = race.stage();
    result.samples_ns = race.samples();
    result.min_ns = race.min_ns();
    result.median_ns = race.median_ns();
    result.message = message;
    // Who is faster than the best so far may become the best: right for all inputs or not at all.
    return !policy.verify || (request.best_ns > 0 && race.min_ns() >= request.best_ns) ||
           is_right_for_hard_inputs(program, policy.first_timeout_ns + timeout_ns, result);
  }
}

bool GpuSession::start_ranked(const RankRequest& request, const CandidateMessage& candidate,
                              std::span<const std::byte> code, Ranked& ranked,
                              MeasureResult& result) {
  result.status = MeasureStatus::load_error;
  const std::int64_t timeout_ns = request.policy.call_timeout_ns;
  const bool is_good =
      candidate.object_offset <= code.size() &&
      candidate.object_bytes <= code.size() - candidate.object_offset &&
      load(code.subspan(candidate.object_offset, candidate.object_bytes), request.load_timeout_ns,
           ranked.program, result) &&
      poison(result) && run(ranked.program, 1, timeout_ns, ranked.last_ns, result) &&
      check(true, result) && run(ranked.program, 1, timeout_ns, ranked.last_ns, result) &&
      warm_up(ranked.program, ranked.last_ns, timeout_ns, result);
  result.is_hard_verified = candidate.is_hard_verified;
  return is_good;
}

RankReply GpuSession::rank(const RankRequest& request, FileDescriptor objects) {
  constexpr std::size_t max_ranked = 64;
  RankReply reply;
  reply.results.resize(request.candidates.size());
  const SharedMemory code =
      SharedMemory::attach(std::move(objects), static_cast<std::size_t>(request.data_bytes), false);
  if (!is_prepared_ || reply.results.size() > max_ranked || !code.is_mapped()) {
    refuse_ranking("no task is prepared, or that many candidates cannot be ranked at once", reply);
    return reply;
  }
  std::vector<Ranked> all(request.candidates.size());
  std::int64_t workspace_bytes = 0;
  for (const CandidateMessage& candidate : request.candidates) {
    workspace_bytes = std::max(workspace_bytes, candidate.shared_bytes);
  }
  start_candidates(request.policy, reply.results, [&](std::size_t i) {
    control_.candidate.store(static_cast<std::uint32_t>(i), std::memory_order_relaxed);
    // One for all of them, before any is bound to it.
    all[i].is_alive =
        make_workspace(workspace_bytes, reply.results[i]) &&
        start_ranked(request, request.candidates[i], code.bytes(), all[i], reply.results[i]);
    if (!all[i].is_alive) {
      restore();
    }
    return all[i].is_alive;
  });
  run_rounds(request, all, reply.results);
  settle_winner(request, reply, [&](std::size_t i, MeasureResult& result) {
    control_.candidate.store(static_cast<std::uint32_t>(i), std::memory_order_relaxed);
    if (!is_right_for_hard_inputs(all[i].program, 2 * request.policy.call_timeout_ns, result)) {
      restore();
    }
  });
  for (Ranked& ranked : all) {
    device_->unload(ranked.program);
  }
  return reply;
}

void GpuSession::run_rounds(const RankRequest& request, std::vector<Ranked>& all,
                            std::vector<MeasureResult>& results) {
  const RankingPolicy& policy = request.policy;
  repeat_rounds(policy, [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      Ranked& ranked = all[i];
      if (!ranked.is_alive) {
        continue;
      }
      control_.candidate.store(static_cast<std::uint32_t>(i), std::memory_order_relaxed);
      std::int64_t calls = 1;
      if (policy.is_cold_cache) {
        ranked.is_alive = is_good(device_->flush_l2(), "flushing L2", results[i]);
      } else {
        calls = calls_for(ranked.last_ns);
      }
      ranked.is_alive = ranked.is_alive && run(ranked.program, calls, policy.call_timeout_ns,
                                               ranked.last_ns, results[i]);
      if (ranked.is_alive) {
        results[i].samples_ns.push_back(ranked.last_ns);
      }
    }
  });
}

}  // namespace tensorsmith::cuda
