// SPDX-License-Identifier: Apache-2.0
#include "measure/worker_lane.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "measure/protocol.hpp"
#include "tensorsmith/measure/winner.hpp"

namespace tensorsmith {
namespace {

constexpr std::int64_t second = 1'000'000'000;

CandidateMessage message_of(const CompiledCandidate& candidate) {
  CandidateMessage message;
  message.object_bytes = candidate.object.size();
  message.entry = candidate.entry;
  message.shared_bytes = candidate.shared_bytes;
  message.per_thread_bytes = candidate.per_thread_bytes;
  message.prepack = candidate.prepack;
  message.complexity = candidate.complexity;
  message.is_hard_verified = candidate.is_hard_verified;
  return message;
}

/// `limit_ns` from now.
Patience patience_for(std::int64_t limit_ns, const PreparedTask* task) {
  return {monotonic_ns() + limit_ns, 0, task != nullptr && task->uses_device};
}

// Time to fill, poison or compare that many bytes on a slow machine.
std::int64_t checking_ns(std::int64_t num_bytes) { return 5 * second + num_bytes * 20; }

std::string check_candidate(const CompiledCandidate& candidate) {
  if (candidate.object.empty()) {
    return "the candidate has no object code";
  }
  if (candidate.shared_bytes < 0 || candidate.per_thread_bytes < 0) {
    return "the candidate's workspace has a negative size";
  }
  return {};
}

}  // namespace

WorkerLane::WorkerLane(const WorkerOptions& options)
    : options_(options), thread_([this] { loop(); }) {}

WorkerLane::~WorkerLane() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  has_job_.notify_one();
  thread_.join();
}

void WorkerLane::post(std::function<void()> job) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  has_job_.notify_one();
}

void WorkerLane::loop() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      has_job_.wait(lock, [this] { return is_stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) {
        break;
      }
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
  process_.stop();
}

void WorkerLane::lose_worker() {
  process_.stop();
  prepared_generation_ = 0;
  first_resident_bytes_ = 0;
  object_batch_ = 0;
}

MeasureFault WorkerLane::ensure(const std::shared_ptr<const PreparedTask>& task) {
  if (!start_problem_.empty()) {
    return {MeasureStatus::worker_lost, start_problem_};
  }
  if (!process_.is_running()) {
    lose_worker();
    WorkerOptions options = options_;
    if (time_up_ns_ > 0) {
      options.start_timeout_ns =
          std::clamp<std::int64_t>(time_up_ns_ - monotonic_ns(), 1, options.start_timeout_ns);
    }
    start_problem_ = process_.start(options, find_worker_program(options));
    if (!start_problem_.empty()) {
      return {MeasureStatus::worker_lost, start_problem_};
    }
  }
  if (task == nullptr || prepared_generation_ == task->generation) {
    return {MeasureStatus::ok, {}};
  }
  process_.name_arguments(task->argument_names);
  std::vector<int> fds;
  if (task->data.is_mapped()) {
    fds.push_back(task->data.fd());
  }
  Patience patience = patience_for(checking_ns(task->num_bytes) + 10 * second, task.get());
  patience.time_up_ns = time_up_ns_;
  const Answer answer =
      process_.call(FrameType::prepare, task->payload, fds, FrameType::prepared, patience, {});
  object_batch_ = 0;
  first_resident_bytes_ = 0;
  StatusReply reply;
  if (!answer.is_ok) {
    lose_worker();
    return answer.fault;
  }
  if (!decode(answer.frame.payload, reply)) {
    lose_worker();
    return {MeasureStatus::worker_lost, "the worker's answer makes no sense"};
  }
  prepared_generation_ = reply.status == MeasureStatus::ok ? task->generation : 0;
  note_ = reply.status == MeasureStatus::ok ? reply.message : std::string();
  return {reply.status, reply.message};
}

void WorkerLane::note_resident_bytes(std::int64_t resident_bytes) {
  if (first_resident_bytes_ == 0) {
    first_resident_bytes_ = resident_bytes;
  } else if (resident_bytes > first_resident_bytes_ + options_.recycle_growth_bytes) {
    lose_worker();
  }
}

MeasureResult WorkerLane::run(const std::shared_ptr<const PreparedTask>& task,
                              const CompiledCandidate& candidate, const MeasureContext& context,
                              double best_ns, std::uint64_t batch, std::int64_t time_up_ns) {
  const std::int64_t start = monotonic_ns();
  MeasureResult result;
  const auto finish = [&result, start](MeasureStatus status, const std::string& message) {
    result = MeasureResult{};
    result.status = status;
    result.message = message;
    result.wall_ns = monotonic_ns() - start;
    return result;
  };
  const std::string problem = check_candidate(candidate);
  if (!problem.empty()) {
    return finish(MeasureStatus::load_error, problem);
  }
  const RacingPolicy& racing = context.racing;
  const std::int64_t calls = std::int64_t{4} + std::max(racing.warm_up_calls, 0) +
                             std::max(racing.triple_calls, 0) + std::max(racing.full_calls, 0);
  const std::int64_t limit_ns =
      options_.load_timeout_ns + racing.full_budget_ns +
      calls * (call_timeout_ns(racing, best_ns) + racing.min_sample_ns) +
      (candidate.prepack.entry.empty() ? 0 : racing.first_timeout_ns) +
      num_hard_draws * (2 * racing.first_timeout_ns + checking_ns(2 * task->num_bytes)) +
      checking_ns(2 * task->num_bytes + candidate.shared_bytes + 64 * candidate.per_thread_bytes);
  time_up_ns_ = time_up_ns;
  // A worker that is lost for reasons of its own gets one successor.
  std::string first_loss;
  for (int attempt = 0;; ++attempt) {
    const MeasureFault fault = ensure(task);
    if (fault.status != MeasureStatus::ok) {  // says nothing about the candidate
      const bool is_late = time_up_ns > 0 && monotonic_ns() >= time_up_ns;
      return finish(is_late ? MeasureStatus::cancelled : MeasureStatus::worker_lost, fault.message);
    }
    MeasureRequest request;
    request.candidate = message_of(candidate);
    request.reuses_object = object_batch_ == batch && object_.data() == candidate.object.data() &&
                            object_.size() == candidate.object.size();
    request.best_ns = best_ns;
    request.load_timeout_ns = options_.load_timeout_ns;
    request.racing = racing;
    SharedMemory object;
    std::vector<int> fds;
    if (!request.reuses_object) {
      object = SharedMemory::create("tensorsmith-object", candidate.object.size());
      if (!object.is_mapped()) {
        return finish(MeasureStatus::unknown_error, shared_memory_problem());
      }
      std::memcpy(object.bytes().data(), candidate.object.data(), candidate.object.size());
      fds.push_back(object.fd());
    }
    Patience patience = patience_for(limit_ns, task.get());
    patience.time_up_ns = time_up_ns;
    const Answer answer = process_.call(FrameType::measure, encode(request), fds,
                                        FrameType::measured, patience, context.is_stopped);
    if (answer.is_ok) {
      MeasureReply reply;
      if (!decode(answer.frame.payload, reply)) {
        lose_worker();
        return finish(MeasureStatus::worker_lost, "the worker's answer makes no sense");
      }
      object_batch_ = reply.result.status == MeasureStatus::load_error ? 0 : batch;
      object_ = candidate.object;
      result = std::move(reply.result);
      if (result.is_ok() && !first_loss.empty()) {
        result.message = "measured again: " + first_loss;
      }
      result.wall_ns = monotonic_ns() - start;
      note_resident_bytes(reply.resident_bytes);
      return result;
    }
    lose_worker();
    if (answer.fault.status != MeasureStatus::worker_lost || attempt > 0) {
      return finish(answer.fault.status, answer.fault.message);
    }
    first_loss = answer.fault.message;
  }
}

RankingResult WorkerLane::rank(const std::shared_ptr<const PreparedTask>& task,
                               std::span<const CompiledCandidate> candidates,
                               const RankingPolicy& policy) {
  RankingResult ranking;
  ranking.results.resize(candidates.size());
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string problem = check_candidate(candidates[i]);
    if (problem.empty()) {
      alive.push_back(i);
    } else {
      ranking.results[i].status = MeasureStatus::load_error;
      ranking.results[i].message = problem;
    }
  }
  const auto give_up = [&ranking, &alive](const MeasureFault& fault) {
    for (const std::size_t i : alive) {
      ranking.results[i].status = fault.status;
      ranking.results[i].message = fault.message;
    }
    alive.clear();
  };
  int num_lost = 0;
  const std::int64_t time_up_ns = policy.max_wall_ns > 0 ? monotonic_ns() + policy.max_wall_ns : 0;
  time_up_ns_ = time_up_ns;
  while (!alive.empty()) {
    const MeasureFault fault = ensure(task);
    if (fault.status != MeasureStatus::ok) {
      give_up(fault);
      break;
    }
    RankRequest request;
    request.policy = policy;
    if (time_up_ns > 0) {  // what is left of it
      request.policy.max_wall_ns = std::max<std::int64_t>(1, time_up_ns - monotonic_ns());
    }
    request.load_timeout_ns = options_.load_timeout_ns;
    std::uint64_t num_bytes = 0;
    for (const std::size_t i : alive) {
      CandidateMessage message = message_of(candidates[i]);
      message.object_offset = num_bytes;
      num_bytes += (message.object_bytes + 63) / 64 * 64;
      request.candidates.push_back(std::move(message));
    }
    request.data_bytes = num_bytes;
    SharedMemory objects = SharedMemory::create("tensorsmith-objects", num_bytes);
    if (!objects.is_mapped()) {
      give_up({MeasureStatus::unknown_error, shared_memory_problem()});
      break;
    }
    for (std::size_t n = 0; n < alive.size(); ++n) {
      const std::span<const std::byte> object = candidates[alive[n]].object;
      std::memcpy(objects.bytes().data() + request.candidates[n].object_offset, object.data(),
                  object.size());
    }
    const std::int64_t count = static_cast<std::int64_t>(alive.size());
    const std::int64_t rounds =
        std::int64_t{5} + 2 * num_hard_draws + std::max(policy.min_rounds, 0);
    const std::int64_t limit_ns =
        policy.budget_ns + count * (options_.load_timeout_ns +
                                    (1 + num_hard_draws) * checking_ns(2 * task->num_bytes) +
                                    rounds * (policy.call_timeout_ns + policy.calibrator_ns));
    const int fd = objects.fd();
    Patience patience = patience_for(limit_ns, task.get());
    patience.time_up_ns = time_up_ns;
    const Answer answer = process_.call(FrameType::rank, encode(request), std::span(&fd, 1),
                                        FrameType::ranked, patience, {});
    object_batch_ = 0;
    RankReply reply;
    if (answer.is_ok && decode(answer.frame.payload, reply) &&
        reply.results.size() == alive.size()) {
      for (std::size_t n = 0; n < alive.size(); ++n) {
        ranking.results[alive[n]] = std::move(reply.results[n]);
      }
      ranking.min_peak_gflops = reply.min_peak_gflops;
      ranking.max_peak_gflops = reply.max_peak_gflops;
      break;
    }
    lose_worker();
    if (answer.is_ok) {
      give_up({MeasureStatus::worker_lost, "the worker's answer makes no sense"});
    } else if (is_candidate_fault(answer.fault.status) && answer.candidate < alive.size()) {
      MeasureResult& loser = ranking.results[alive[answer.candidate]];
      loser.status = answer.fault.status;
      loser.message = answer.fault.message;
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(answer.candidate));
    } else if (++num_lost > 1 || (time_up_ns > 0 && monotonic_ns() >= time_up_ns)) {
      give_up(answer.fault);
    }
  }
  choose_winner(ranking, policy, complexities(candidates));
  return ranking;
}

Result<Calibration, MeasureFault> WorkerLane::calibrate() {
  time_up_ns_ = 0;
  const MeasureFault fault = ensure(nullptr);
  if (fault.status != MeasureStatus::ok) {
    return fail(fault);
  }
  CalibrateRequest request;
  request.budget_ns = 3'000'000;
  const Answer answer = process_.call(FrameType::calibrate, encode(request), {},
                                      FrameType::calibrated, patience_for(5 * second, nullptr), {});
  Calibration calibration;
  if (!answer.is_ok) {
    lose_worker();
    return fail(answer.fault);
  }
  if (!decode(answer.frame.payload, calibration)) {
    lose_worker();
    return fail(MeasureFault{MeasureStatus::worker_lost, "the worker's answer makes no sense"});
  }
  return calibration;
}

}  // namespace tensorsmith
