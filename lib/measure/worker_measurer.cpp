// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/worker_measurer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include <sys/auxv.h>
#include <unistd.h>

#include "measure/protocol.hpp"
#include "measure/worker_lane.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace {

constexpr std::string_view worker_name = "tensorsmith-worker";

std::shared_ptr<const PreparedTask> make_prepared(const MeasureTask& task, bool is_pinned,
                                                  std::uint64_t generation) {
  auto prepared = std::make_shared<PreparedTask>();
  PrepareRequest request;
  request.input_seed = task.input_seed;
  request.num_threads = task.num_threads;
  request.device = task.device;
  request.vector_bits = task.vector_bits;
  request.is_pinned = is_pinned;
  std::vector<const std::vector<std::byte>*> data;
  for (const KernelArgument& argument : task.arguments) {
    const std::vector<std::byte>& bytes =
        argument.is_output ? argument.reference : argument.fill.bytes;
    ArgumentMessage message;
    message.argument.name = argument.name;
    message.argument.dtype = argument.dtype;
    message.argument.num_elements = argument.num_elements;
    message.argument.is_output = argument.is_output;
    message.argument.fill.low = argument.fill.low;
    message.argument.fill.high = argument.fill.high;
    message.argument.fill.row_elements = argument.fill.row_elements;
    message.argument.fill.num_rows = argument.fill.num_rows;
    message.argument.fill.is_main = argument.fill.is_main;
    message.argument.reference_dtype = argument.reference_dtype;
    message.argument.reference_rows = argument.reference_rows;
    message.argument.has_bounds = argument.has_bounds;
    message.argument.tolerance = argument.tolerance;
    message.data_offset = request.data_bytes;
    message.data_bytes = bytes.size();
    request.data_bytes += (bytes.size() + 63) / 64 * 64;
    for (const HardReference& hard : argument.hard) {
      message.hard.push_back(
          {hard.draw, hard.rows, request.data_bytes, hard.values.size(), hard.bounds.size()});
      request.data_bytes += (hard.values.size() + hard.bounds.size() + 63) / 64 * 64;
    }
    request.arguments.push_back(std::move(message));
    data.push_back(&bytes);
    prepared->argument_names.push_back(argument.name);
  }
  prepared->generation = generation;
  prepared->num_bytes = task.num_bytes();
  prepared->uses_device = task.device >= 0;
  if (request.data_bytes > 0) {
    prepared->data = SharedMemory::create("tensorsmith-data", request.data_bytes);
    if (!prepared->data.is_mapped()) {
      return nullptr;
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (!data[i]->empty()) {
        std::memcpy(prepared->data.bytes().data() + request.arguments[i].data_offset,
                    data[i]->data(), data[i]->size());
      }
      for (std::size_t h = 0; h < task.arguments[i].hard.size(); ++h) {
        const HardReference& hard = task.arguments[i].hard[h];
        std::byte* const at =
            prepared->data.bytes().data() + request.arguments[i].hard[h].data_offset;
        std::copy(hard.values.begin(), hard.values.end(), at);
        std::copy(hard.bounds.begin(), hard.bounds.end(), at + hard.values.size());
      }
    }
  }
  prepared->payload = encode(request);
  return prepared;
}

}  // namespace

class WorkerMeasurer::Pool {
 public:
  explicit Pool(const WorkerOptions& options) : options_(options) {
    for (std::int32_t i = 0; i < std::max(options.num_workers, 1); ++i) {
      lanes_.push_back(std::make_unique<WorkerLane>(options));
    }
    // Starts while the caller prepares a task. A failure is told when the worker is needed.
    lanes_.front()->post([&lane = *lanes_.front()] { (void)lane.ensure(nullptr); });
  }

  Result<Done, MeasureFault> prepare(const MeasureTask& task) {
    const std::string problem = check_task(task);
    if (!problem.empty()) {
      return fail(MeasureFault{MeasureStatus::unknown_error, problem});
    }
    const bool is_pinned = options_.is_pinned && task.num_threads == 1 && task.device < 0;
    task_ = make_prepared(task, is_pinned, ++generation_);
    num_timeouts_ = 0;
    if (task_ == nullptr) {
      return fail(MeasureFault{MeasureStatus::unknown_error, shared_memory_problem()});
    }
    MeasureFault fault;
    const std::int64_t time_up_ns =
        task.max_prepare_ns > 0 ? monotonic_ns() + task.max_prepare_ns : 0;
    on_lane([this, &fault, time_up_ns](WorkerLane& lane) {
      lane.allow_start();
      lane.has_time_until(time_up_ns);
      fault = lane.ensure(task_);
    });
    if (fault.status == MeasureStatus::cancelled) {
      fault.message = "the inputs were not drawn in time; they want a larger budget";
    }
    if (fault.status != MeasureStatus::ok) {
      return fail(fault);
    }
    const std::lock_guard<std::mutex> lock(note_mutex_);
    note_ = fault.message;
    return Done{};
  }
  std::string note() const {
    const std::lock_guard<std::mutex> lock(note_mutex_);
    return note_;
  }

  std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                     const MeasureContext& context);

  RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                              const RankingPolicy& policy) {
    RankingResult ranking;
    if (task_ == nullptr) {
      ranking.results.resize(candidates.size());
      return ranking;
    }
    on_lane([this, &ranking, candidates, &policy](WorkerLane& lane) {
      lane.allow_start();
      ranking = lane.rank(task_, candidates, policy);
    });
    return ranking;
  }

  Result<Calibration, MeasureFault> calibrate() {
    Result<Calibration, MeasureFault> result = Calibration{};
    on_lane([&result](WorkerLane& lane) {
      lane.allow_start();
      result = lane.calibrate();
    });
    return result;
  }

 private:
  // Runs `job` on the first lane and waits for it.
  template <class Job>
  void on_lane(const Job& job) {
    std::mutex mutex;
    std::condition_variable is_done;
    bool done = false;
    WorkerLane& lane = *lanes_.front();
    lane.post([&] {
      job(lane);
      const std::lock_guard<std::mutex> lock(mutex);
      done = true;
      is_done.notify_one();
    });
    std::unique_lock<std::mutex> lock(mutex);
    is_done.wait(lock, [&done] { return done; });
  }

  WorkerOptions options_;
  mutable std::mutex note_mutex_;
  std::string note_;
  std::uint64_t generation_ = 0;
  std::uint64_t batch_ = 0;
  std::int32_t num_timeouts_ = 0;  ///< of the task, while nothing of it had ended
  std::shared_ptr<const PreparedTask> task_;
  std::vector<std::unique_ptr<WorkerLane>> lanes_;
};

namespace {

// What the lanes of one measure() call share.
struct Batch {
  std::mutex mutex;
  std::condition_variable has_news;
  std::size_t next = 0;
  double best_ns = 0;
  std::int32_t num_timeouts = 0;  ///< while there was no best
  std::deque<std::pair<std::size_t, MeasureResult>> finished;
  std::size_t num_lanes_left = 0;
};

}  // namespace

std::vector<MeasureResult>
WorkerMeasurer::Pool::measure(std::span<const CompiledCandidate> candidates,
                              const MeasureContext& context) {
  std::vector<MeasureResult> results(candidates.size());
  for (MeasureResult& result : results) {
    result.status = MeasureStatus::cancelled;
    result.message = task_ == nullptr ? "no task was prepared" : "stopped before it was measured";
  }
  std::vector<bool> is_reported(candidates.size(), false);
  Batch batch;
  batch.best_ns = context.best_ns;
  batch.num_timeouts = num_timeouts_;
  const std::uint64_t batch_name = ++batch_;
  const std::int64_t end = context.max_wall_ns > 0 ? monotonic_ns() + context.max_wall_ns : 0;
  const std::int64_t time_up =
      end > 0 && context.max_overrun_ns > 0 ? end + context.max_overrun_ns : 0;

  const auto work = [&](WorkerLane& lane) {
    lane.allow_start();
    for (;;) {
      std::size_t index = 0;
      double best_ns = 0;
      MeasureContext now = context;
      {
        const std::lock_guard<std::mutex> lock(batch.mutex);
        const bool is_stopped =
            (context.is_stopped && context.is_stopped()) || (end > 0 && monotonic_ns() >= end);
        if (batch.next == candidates.size() || is_stopped) {
          --batch.num_lanes_left;
          batch.has_news.notify_one();
          return;
        }
        index = batch.next++;
        best_ns = batch.best_ns;
        now.racing = after_timeouts(context.racing, batch.num_timeouts);
      }
      MeasureResult result = lane.run(task_, candidates[index], now, best_ns, batch_name, time_up);
      const std::lock_guard<std::mutex> lock(batch.mutex);
      if (batch.best_ns <= 0 && result.status == MeasureStatus::run_timeout) {
        ++batch.num_timeouts;
      }
      if (result.is_ok() && (batch.best_ns <= 0 || result.min_ns < batch.best_ns)) {
        batch.best_ns = result.min_ns;
      }
      batch.finished.emplace_back(index, std::move(result));
      batch.has_news.notify_one();
    }
  };
  if (task_ != nullptr && !candidates.empty()) {
    batch.num_lanes_left = std::min(lanes_.size(), candidates.size());
    for (std::size_t i = 0, count = batch.num_lanes_left; i < count; ++i) {
      WorkerLane& lane = *lanes_[i];
      lane.post([&work, &lane] { work(lane); });
    }
  }
  // A callback that throws ends the batch; the lanes must be done before `batch` goes away.
  std::exception_ptr failure;
  const auto report = [&](std::size_t index) {
    is_reported[index] = true;
    if (!context.on_result || failure != nullptr) {
      return;
    }
    try {
      context.on_result(index, results[index]);
    } catch (...) {
      failure = std::current_exception();
      const std::lock_guard<std::mutex> guard(batch.mutex);
      batch.next = candidates.size();
    }
  };
  std::unique_lock<std::mutex> lock(batch.mutex);
  for (;;) {
    batch.has_news.wait(lock,
                        [&batch] { return !batch.finished.empty() || batch.num_lanes_left == 0; });
    if (batch.finished.empty()) {
      break;
    }
    const std::size_t index = batch.finished.front().first;
    results[index] = std::move(batch.finished.front().second);
    batch.finished.pop_front();
    lock.unlock();
    report(index);
    lock.lock();
  }
  num_timeouts_ = batch.num_timeouts;
  lock.unlock();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_reported[i]) {
      report(i);
    }
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
  return results;
}

WorkerMeasurer::WorkerMeasurer(const WorkerOptions& options) : pool_(new Pool(options)) {}

WorkerMeasurer::~WorkerMeasurer() { delete pool_; }

Result<Done, MeasureFault> WorkerMeasurer::prepare(const MeasureTask& task) {
  return pool_->prepare(task);
}

std::vector<MeasureResult> WorkerMeasurer::measure(std::span<const CompiledCandidate> candidates,
                                                   const MeasureContext& context) {
  return pool_->measure(candidates, context);
}

RankingResult WorkerMeasurer::final_ranking(std::span<const CompiledCandidate> candidates,
                                            const RankingPolicy& policy) {
  return pool_->final_ranking(candidates, policy);
}

Result<Calibration, MeasureFault> WorkerMeasurer::calibrate() { return pool_->calibrate(); }

std::string WorkerMeasurer::note() const { return pool_->note(); }

namespace {

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

/// Where this program is; where /proc is not mounted, how it was called.
std::string this_program() {
  std::array<char, 4096> self = {};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size() - 1);
  if (length > 0) {
    return {self.data(), static_cast<std::size_t>(length)};
  }
  // The kernel's own note of the path; auxiliary vectors hold addresses as numbers.
  const auto* const called = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  std::string path = called != nullptr ? called : "";
  return path.find('/') != std::string::npos ? path : std::string();
}

/// What the CMake package said, else where this build would be installed.
std::string& installed_worker() {
#if defined(TENSORSMITH_INSTALLED_WORKER)
  static std::string path = TENSORSMITH_INSTALLED_WORKER;
#else
  static std::string path;
#endif
  return path;
}

struct WorkerSearch {
  std::string found;  // empty: nowhere
  std::string looked_at;
};

WorkerSearch search_worker(const WorkerOptions& options) {
  if (!options.worker_path.empty()) {
    return {options.worker_path, {}};
  }
  if (const char* named = std::getenv("TENSORSMITH_WORKER"); named != nullptr && *named != 0) {
    return {named, {}};
  }
  WorkerSearch search;
  const auto look_at = [&search](const std::string& path) {
    const bool is_there = is_program(path);
    search.found = is_there ? path : std::string();
    search.looked_at += (search.looked_at.empty() ? "" : ", ") + in_quotes(path);
    return is_there;
  };
  const std::string self = this_program();
  if (!self.empty() && look_at(self.substr(0, self.rfind('/') + 1) + std::string(worker_name))) {
    return search;
  }
  if (!installed_worker().empty() && look_at(installed_worker())) {
    return search;
  }
  const char* const variable = std::getenv("PATH");
  std::string_view left = variable == nullptr ? "" : variable;
  while (!left.empty()) {
    const std::size_t colon = left.find(':');
    const std::string folder(left.substr(0, colon));
    left = colon == std::string_view::npos ? std::string_view() : left.substr(colon + 1);
    const std::string path = folder + "/" + std::string(worker_name);
    if (!folder.empty() && is_program(path)) {
      search.found = path;
      return search;
    }
  }
  search.looked_at += " nor on PATH";
  return search;
}

}  // namespace

std::string find_worker_program(const WorkerOptions& options) {
  return search_worker(options).found;
}

std::string worker_program_problem(const WorkerOptions& options) {
  const WorkerSearch search = search_worker(options);
  return !search.found.empty()
             ? std::string()
             : "the program " + std::string(worker_name) + " was not found: neither at " +
                   search.looked_at +
                   "; name it by the environment variable TENSORSMITH_WORKER or by worker_path of "
                   "the options";
}

bool set_installed_worker(const char* path) {
  installed_worker() = path;
  return true;
}

}  // namespace tensorsmith
