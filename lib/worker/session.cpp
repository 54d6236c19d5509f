// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <exception>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fault.hpp"
#include "measure/session_parts.hpp"
#include "tensorsmith/measure/fill.hpp"

namespace tensorsmith {
namespace {

constexpr std::size_t max_arguments = 250;

// Sanitizers reserve terabytes, so that no limit would make sense.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENSORSMITH_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENSORSMITH_HAS_SANITIZER 1
#endif
#endif

// Memory that a candidate may allocate on top of the task's own and the stacks of its threads.
void limit_memory(std::int64_t num_bytes, std::int32_t num_threads) {
#if !defined(TENSORSMITH_HAS_SANITIZER)
  pthread_attr_t attributes;
  std::size_t stack_bytes = 0;
  if (::pthread_attr_init(&attributes) == 0) {
    ::pthread_attr_getstacksize(&attributes, &stack_bytes);
    ::pthread_attr_destroy(&attributes);
  }
  const rlim_t most = static_cast<rlim_t>(num_bytes) * 3 + (rlim_t{1} << 30) +
                      static_cast<rlim_t>(num_threads) * stack_bytes;
  const rlimit limit = {most, RLIM_INFINITY};
  ::setrlimit(RLIMIT_DATA, &limit);
#else
  (void)num_bytes;
  (void)num_threads;
#endif
}

}  // namespace

std::int64_t resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) {
    return 0;
  }
  long long total = 0;
  long long resident = 0;
  const int got = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return got == 2 ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

void Session::set_phase(WorkerPhase phase, std::int64_t deadline_ns) {
  control_.deadline_ns.store(deadline_ns, std::memory_order_release);
  control_.phase.store(phase, std::memory_order_release);
}

StatusReply Session::prepare(const PrepareRequest& request, FileDescriptor data) {
  set_phase(WorkerPhase::check);
  StatusReply reply;
  is_prepared_ = false;
  clear_fault_regions();
  keep_arguments(request);
  pointers_.clear();
  workspace_.reset();
  data_.reset();
  if (request.data_bytes > 0) {
    data_ = SharedMemory::attach(std::move(data), request.data_bytes, false);
    if (!data_.is_mapped()) {
      reply.message = "the worker cannot map the task's data";
      return reply;
    }
  }
  reply.message = fill_arguments(request);
  if (!reply.message.empty()) {
    arguments_.clear();
    return reply;
  }
  vector_bits_ = request.vector_bits;
  if (pool_ == nullptr || pool_->num_threads() != request.num_threads) {
    pool_.reset();
    try {
      pool_ = std::make_unique<ThreadPool>(request.num_threads);
    } catch (const std::exception& error) {
      arguments_.clear();
      reply.message =
          "cannot start " + std::to_string(request.num_threads) + " threads: " + error.what();
      return reply;
    }
  }
  if (!request.is_pinned) {
    lease_.release();
  } else if (!lease_.take()) {
    reply.message = no_core_note;
  }
  is_prepared_ = true;
  reply.status = MeasureStatus::ok;
  reply.resident_bytes = resident_bytes();
  return reply;
}

// What the next task has too stays: a reference may follow later than its task.
void Session::keep_arguments(const PrepareRequest& request) {
  arguments_.resize(request.arguments.size());
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const KernelArgument &is = arguments_[i].spec, &wanted = request.arguments[i].argument;
    const bool has_values =
        is.is_output || (arguments_[i].is_drawn && request.arguments[i].data_bytes == 0 &&
                         input_seed_ == request.input_seed && is.fill.low == wanted.fill.low &&
                         is.fill.high == wanted.fill.high);
    if (is.dtype != wanted.dtype || is.num_elements != wanted.num_elements ||
        is.is_output != wanted.is_output || !has_values) {
      arguments_[i] = {};
    }
  }
  input_seed_ = request.input_seed;
}

std::string Session::fill_arguments(const PrepareRequest& request) {
  task_ = task_of(request);
  const MeasureTask& task = task_;
  std::string problem = check_task(task);
  if (problem.empty() && task.arguments.size() > max_arguments) {
    problem = "more than " + std::to_string(max_arguments) + " arguments";
  }
  if (!problem.empty()) {
    return problem;
  }
  limit_memory(task.num_bytes(), task.num_threads);
  for (std::size_t i = 0; i < request.arguments.size(); ++i) {
    const ArgumentMessage& message = request.arguments[i];
    Argument& argument = arguments_[i];
    argument.spec = message.argument;
    const std::size_t num_bytes = static_cast<std::size_t>(argument.spec.num_bytes());
    if (std::string wrong = data_problem(message, request.data_bytes); !wrong.empty()) {
      return wrong;
    }
    if (std::string wrong = hard_problem(message, request.data_bytes); !wrong.empty()) {
      return wrong;
    }
    argument.hard = message.hard;
    const bool is_kept = argument.buffer.mapping().data() != nullptr;
    if (!is_kept && !argument.buffer.create(num_bytes)) {
      return "no memory for argument '" + argument.spec.name + "' of " + std::to_string(num_bytes) +
             " bytes";
    }
    if (argument.spec.is_output) {
      argument.reference = message.data_bytes == 0
                               ? std::span<const std::byte>()
                               : data_.bytes().subspan(message.data_offset, message.data_bytes);
      argument.rms =
          rms_of(values_of(argument.spec, argument.reference), argument.spec.reference_dtype);
      if (is_kept) {
        argument.buffer.mark_bands();
      } else {  // its pages are there before a candidate waits for them
        poison_output(argument.spec, argument.reference, argument.buffer.data());
      }
    } else if (!is_kept) {
      if (message.data_bytes != 0) {
        std::memcpy(argument.buffer.data().data(), data_.bytes().data() + message.data_offset,
                    message.data_bytes);
      } else {
        fill_input(task, i, argument.buffer.data());
        argument.is_drawn = true;
      }
      argument.buffer.make_read_only();
    }
    pointers_.push_back(argument.buffer.data().data());
    add_fault_region(
        {argument.buffer.mapping(), argument.buffer.data(), static_cast<std::int32_t>(i)});
  }
  return {};
}

std::string Session::make_workspace(const CandidateMessage& candidate) {
  const std::uint64_t most = std::uint64_t{1} << 44;
  const auto threads = static_cast<std::uint64_t>(pool_->num_threads());
  if (candidate.shared_bytes < 0 || candidate.per_thread_bytes < 0 ||
      static_cast<std::uint64_t>(candidate.shared_bytes) > most ||
      static_cast<std::uint64_t>(candidate.per_thread_bytes) > most / threads) {
    return "the workspace has an impossible size";
  }
  const std::size_t wanted =
      static_cast<std::size_t>(static_cast<std::uint64_t>(candidate.shared_bytes) +
                               threads * static_cast<std::uint64_t>(candidate.per_thread_bytes));
  if (wanted != workspace_.data().size() || workspace_.data().data() == nullptr) {
    clear_fault_regions();
    if (!workspace_.create(wanted)) {
      return "no memory for a workspace of " + std::to_string(wanted) + " bytes";
    }
    note_fault_regions({});
  }
  return {};
}

KernelEntry Session::load(std::size_t slot, const CandidateMessage& candidate, bool reuses_object,
                          const SharedMemory& objects, std::int64_t timeout_ns,
                          MeasureResult& result) {
  set_phase(WorkerPhase::load, monotonic_ns() + timeout_ns);
  result.status = MeasureStatus::load_error;
  bool is_loaded = reuses_object;
  if (!reuses_object) {
    const std::span<const std::byte> all = objects.bytes();
    if (candidate.object_offset > all.size() ||
        candidate.object_bytes > all.size() - candidate.object_offset) {
      result.message = "the object code lies outside of its memory";
      return nullptr;
    }
    is_loaded = loader_.load(slot, all.subspan(candidate.object_offset, candidate.object_bytes),
                             result.message);
  }
  const KernelEntry entry =
      is_loaded ? loader_.find(slot, candidate.entry, result.message) : nullptr;
  set_phase(WorkerPhase::check);
  return entry;
}

double Session::run(KernelEntry entry, const std::vector<void*>& arguments, std::int64_t calls,
                    std::int64_t timeout_ns) {
  void* const* const pointers = arguments.data();
  void* const workspace = workspace_.data().data();
  const KernelRuntime* const runtime = &pool_->runtime();
  control_.processor_deadline_ns.store(processor_ns(0) + timeout_ns, std::memory_order_release);
  set_phase(WorkerPhase::run, monotonic_ns() + timeout_ns);
  const std::int64_t start = monotonic_ns();
  for (std::int64_t call = 0; call < calls; ++call) {
    entry(pointers, workspace, runtime);
  }
  const std::int64_t end = monotonic_ns();
  set_phase(WorkerPhase::check);
  return std::max(static_cast<double>(end - start) / static_cast<double>(calls), 0.1);
}

void Session::poison() {
  for (const Argument& argument : arguments_) {
    if (argument.spec.is_output) {
      poison_output(argument.spec, argument.reference, argument.buffer.data());
    }
  }
  // NaN in every float type.
  const std::span<std::byte> workspace = workspace_.data();
  std::fill(workspace.begin(), workspace.end(), std::byte{0xFF});
}

void Session::mark_bands() {
  for (Argument& argument : arguments_) {
    if (argument.spec.is_output) {
      argument.buffer.mark_bands();
    }
  }
  workspace_.mark_bands();
}

MeasureResult Session::check(bool checks_values) const {
  MeasureResult result;
  result.status = MeasureStatus::ok;
  for (const Argument& argument : arguments_) {
    if (!argument.spec.is_output) {
      continue;  // read-only: a write would have faulted
    }
    const std::string damage = argument.buffer.check_bands();
    if (!damage.empty()) {
      result.status = MeasureStatus::out_of_bounds;
      result.message = damage + " of argument '" + argument.spec.name + "'";
      return result;
    }
  }
  const std::string damage = workspace_.check_bands();
  if (!damage.empty()) {
    result.status = MeasureStatus::out_of_bounds;
    result.message = damage + " of the workspace";
    return result;
  }
  if (checks_values) {
    const auto read = [](const Argument& argument, std::span<const std::byte>& bytes) {
      bytes = argument.buffer.data();
      return true;
    };
    verify_outputs(arguments_, read, result);
  }
  return result;
}

MeasureReply Session::measure(const MeasureRequest& request, FileDescriptor object) {
  MeasureReply reply;
  MeasureResult& result = reply.result;
  if (!is_prepared_) {
    result.message = "no task is prepared";
    return reply;
  }
  SharedMemory code;
  if (!request.reuses_object) {
    code = SharedMemory::attach(std::move(object), request.candidate.object_bytes, false);
  }
  const KernelEntry entry =
      load(0, request.candidate, request.reuses_object, code, request.load_timeout_ns, result);
  code.reset();
  if (entry != nullptr) {
    result.message = make_workspace(request.candidate);
  }
  const RacingPolicy& racing = request.racing;
  Operands operands;
  if (entry == nullptr || !result.message.empty() ||
      !make_operands(0, request.candidate.prepack, racing.first_timeout_ns, operands, result)) {
    reply.resident_bytes = resident_bytes();
    return reply;
  }
  const std::int64_t timeout_ns = call_timeout_ns(racing, request.best_ns);
  poison();
  Race race(racing, request.best_ns);
  result.message.clear();
  // The first call is the one that is checked: everything before it was poisoned.
  const double first_ns = run(entry, operands.pointers, 1, timeout_ns);
  result = check(racing.verify);
  bool has_run_again = false;
  if (result.is_ok()) {
    if (race.wants_warm_up()) {
      race.add_warm_up(first_ns);
    }
    while (race.wants_warm_up()) {
      race.add_warm_up(run(entry, operands.pointers, 1, timeout_ns));
      has_run_again = true;
    }
    while (race.wants_sample()) {
      const std::int64_t calls = race.calls_per_sample();
      race.add_sample(run(entry, operands.pointers, calls, timeout_ns + racing.min_sample_ns));
      has_run_again = true;
    }
    // A survivor must still be right after many calls; the others cannot win.
    if (has_run_again) {
      const bool is_verified = result.is_verified;
      result = check(racing.verify && race.stage() == RaceStage::full);
      result.is_verified = result.is_ok() && is_verified;
    }
  }
  // Who is faster than the best so far may become the best: right for all inputs or not at all.
  if (result.is_ok() && racing.verify &&
      (request.best_ns <= 0 || race.min_ns() < request.best_ns)) {
    result.is_hard_verified =
        is_right_for_hard_inputs(0, entry, request.candidate.prepack, operands,
                                 racing.first_timeout_ns + timeout_ns, result);
  }
  if (result.is_ok()) {
    result.stage = race.stage();
    result.samples_ns = race.samples();
    result.min_ns = race.min_ns();
    result.median_ns = race.median_ns();
  } else {
    mark_bands();
  }
  std::fesetenv(FE_DFL_ENV);
  reply.resident_bytes = resident_bytes();
  return reply;
}

}  // namespace tensorsmith
