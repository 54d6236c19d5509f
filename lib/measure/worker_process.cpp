// SPDX-License-Identifier: Apache-2.0
#include "measure/worker_process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensorsmith/version.hpp"

namespace tensorsmith {
namespace {

constexpr std::int64_t millisecond = 1'000'000;
// A worker that misses its deadline by less than this was only not scheduled.
constexpr std::int64_t deadline_grace_ns = 5 * millisecond;
// A worker that computes and uses no processor for so long, though none is asked for, is stuck.
constexpr std::int64_t most_idle_ns = 3000 * millisecond;
constexpr std::int64_t least_share = 100;  // less than a hundredth of a processor is none
// What is killed is dead by then, or cannot be.
constexpr std::int64_t most_dying_ns = 2000 * millisecond;

// The descriptor above those that the child gets, closed on exec.
FileDescriptor lift(int fd) { return FileDescriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 10)); }

void sleep_a_little() {
  const timespec pause = {0, millisecond};
  ::nanosleep(&pause, nullptr);
}

int spawn(const std::string& program, int socket, int control, bool keeps_stderr, int& error) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (keeps_stderr) {
    ::posix_spawn_file_actions_adddup2(&actions, 2, 1);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  ::posix_spawn_file_actions_adddup2(&actions, socket, worker_socket_fd);
  ::posix_spawn_file_actions_adddup2(&actions, control, worker_control_fd);

  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  // A group of its own: the terminal's Ctrl-C is the parent's business, and one kill reaches all.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::string name = program;
  std::string flag = "--parent";
  std::string parent = std::to_string(::getpid());
  std::array<char*, 4> arguments = {name.data(), flag.data(), parent.data(), nullptr};
  pid_t pid = -1;
  error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

// One sentence: what is wrong with the pair of programs, and what to do.
std::string of_another_build(const std::string& program, const std::string& theirs,
                             const std::string& ours) {
  return "the worker program '" + program + "' belongs to another build of tensorsmith (it has " +
         theirs + ", this program " + ours +
         "): build both from one source tree, or set TENSORSMITH_WORKER or worker_path of the "
         "options to the tensorsmith-worker that was built with this program";
}

std::string build_text(const std::string& version, std::uint64_t layout) {
  char text[32];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(layout));
  return "version " + version + " with messages " + text;
}

/// Whether a process is running or waits for nothing but a processor; false if nobody says.
bool is_runnable(int pid) {
  char path[40];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  std::FILE* const file = std::fopen(path, "r");
  if (file == nullptr) {
    return false;
  }
  char text[512] = {};
  const std::size_t size = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  const char* const name_end = size > 0 ? std::strrchr(text, ')') : nullptr;
  return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
}

bool is_stopped_by_signal(int pid) {
  siginfo_t info = {};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

std::string milliseconds(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), ns < 999'500'000 ? "%.3g ms" : "%.4g ms",
                static_cast<double>(ns) / 1e6);
  return text;
}

/// CUDA Driver API, CUresult: those after which a context cannot be used.
std::string device_error_text(std::int32_t status) {
  static constexpr std::array<std::pair<std::int32_t, const char*>, 10> names = {
      {{214, "an uncorrectable memory error"},
       {700, "an illegal address"},
       {702, "a launch that took too long"},
       {714, "a hardware stack error"},
       {715, "an illegal instruction"},
       {716, "a misaligned address"},
       {717, "an address of the wrong memory"},
       {718, "an invalid program counter"},
       {719, "a launch that failed"},
       {710, "a failed assertion"}}};
  for (const auto& row : names) {
    if (row.first == status) {
      return row.second + (" (CUDA error " + std::to_string(status) + ")");
    }
  }
  return "CUDA error " + std::to_string(status);
}

}  // namespace

std::string signal_name(int signal) {
  static constexpr std::array<std::pair<int, const char*>, 11> names = {{{SIGSEGV, "SIGSEGV"},
                                                                         {SIGBUS, "SIGBUS"},
                                                                         {SIGFPE, "SIGFPE"},
                                                                         {SIGILL, "SIGILL"},
                                                                         {SIGABRT, "SIGABRT"},
                                                                         {SIGTRAP, "SIGTRAP"},
                                                                         {SIGKILL, "SIGKILL"},
                                                                         {SIGTERM, "SIGTERM"},
                                                                         {SIGSYS, "SIGSYS"},
                                                                         {SIGHUP, "SIGHUP"},
                                                                         {SIGINT, "SIGINT"}}};
  for (const auto& row : names) {
    if (row.first == signal) {
      return row.second;
    }
  }
  return "signal " + std::to_string(signal);
}

/// Looks at a worker that is waited for: until when it may be, and why no longer.
class WorkerProcess::Watch {
 public:
  enum class End { none, own_deadline, asleep, idle, stopped, too_long, time_up };

  Watch(int pid, const ControlPage& page, const Patience& patience)
      : pid_(pid), page_(page), patience_(patience), used_ns_(processor_ns(pid)),
        begin_ns_(monotonic_ns()) {}

  /// The next moment at which something has to be decided; in the past: it ends now.
  std::int64_t moment_ns() {
    constexpr std::int64_t past = 1;
    const std::int64_t now = monotonic_ns();
    if (end_ != End::none) {
      return past;
    }
    const auto ends = [&](End end) {
      end_ = end;
      return past;
    };
    if (patience_.time_up_ns > 0 && now >= patience_.time_up_ns) {
      return ends(End::time_up);
    }
    if (patience_.until_ns > 0 && now >= patience_.until_ns) {
      return ends(End::too_long);
    }
    if (is_stopped_by_signal(pid_)) {
      return ends(End::stopped);
    }
    const std::int64_t used = processor_ns(pid_);
    const std::int64_t own = page_.deadline_ns.load(std::memory_order_acquire);
    const bool is_late = own > 0 && now >= own + deadline_grace_ns;
    const std::int64_t enough = page_.processor_deadline_ns.load(std::memory_order_acquire);
    const bool is_running = page_.phase.load(std::memory_order_acquire) == WorkerPhase::run;
    if (is_late && (!is_running || enough <= 0 || used < 0 || used >= enough)) {
      return ends(End::own_deadline);
    }
    if (now - begin_ns_ >= most_idle_ns) {
      const bool is_idle = used - used_ns_ < (now - begin_ns_) / least_share && !is_runnable(pid_);
      if (is_idle && !patience_.may_sleep) {
        return ends(is_late ? End::asleep : End::idle);
      }
      used_ns_ = used;
      begin_ns_ = now;
    }
    // Sooner than any of them: the wait looks again every few milliseconds.
    return now + most_idle_ns;
  }
  End end() const { return end_; }

 private:
  int pid_;
  const ControlPage& page_;
  Patience patience_;
  std::int64_t used_ns_, begin_ns_;  // of a while that is looked at as a whole
  End end_ = End::none;
};

std::string WorkerProcess::start(const WorkerOptions& options, const std::string& program) {
  stop();
  if (program.empty()) {
    return "cannot find the program tensorsmith-worker next to this executable or on PATH; install "
           "it there, or set TENSORSMITH_WORKER or worker_path of the options";
  }
  if (::access(program.c_str(), X_OK) != 0) {
    return "cannot execute the worker program '" + program + "': " + std::strerror(errno);
  }
  std::array<int, 2> pair = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return "cannot create a socket pair: " + file_problem(errno);
  }
  FileDescriptor ours(pair[0]);
  FileDescriptor theirs = lift(pair[1]);
  if (!theirs.is_open()) {
    const std::string problem = file_problem(errno);
    ::close(pair[1]);
    return "cannot create a socket pair: " + problem;
  }
  ::close(pair[1]);
  SharedMemory control = SharedMemory::create("tensorsmith-control", sizeof(ControlPage));
  if (!control.is_mapped()) {
    return shared_memory_problem();
  }
  const FileDescriptor control_fd = lift(control.fd());
  if (!control_fd.is_open()) {
    return shared_memory_problem();
  }
  int error = 0;
  const int pid = spawn(program, theirs.get(), control_fd.get(), options.keeps_stderr, error);
  theirs.reset();  // or its end would never read as closed
  if (pid < 0) {
    return "cannot start the worker program '" + program + "': " + std::strerror(error);
  }
  pid_ = pid;
  socket_ = std::move(ours);
  control_ = std::move(control);
  page_ = reinterpret_cast<const ControlPage*>(control_.bytes().data());

  Frame frame;
  std::string problem;
  const IoStatus status = receive_frame(
      socket_.get(), frame, deadline_at(monotonic_ns() + options.start_timeout_ns), problem);
  HelloMessage hello;
  if (status == IoStatus::ok && frame.type == FrameType::hello && decode(frame.payload, hello)) {
    if (hello.version == version_string && hello.layout == message_layout()) {
      return {};
    }
    stop();
    return of_another_build(program, build_text(hello.version, hello.layout),
                            build_text(version_string, message_layout()));
  }
  if (status == IoStatus::other_version) {
    stop();
    return of_another_build(program, "protocol version " + std::to_string(frame.version),
                            "version " + std::to_string(protocol_version));
  }
  if (status == IoStatus::timeout) {
    problem = "no hello within " + milliseconds(options.start_timeout_ns);
  } else if (status == IoStatus::closed) {
    const int how = reap(100 * millisecond);
    problem = how >= 0 ? explain_death(how).message : "it closed the connection";
  } else if (problem.empty()) {
    problem = "its hello makes no sense";
  }
  stop();
  return "the worker program '" + program + "' did not start: " + problem;
}

Answer WorkerProcess::call(FrameType request, std::span<const std::byte> payload,
                           std::span<const int> fds, FrameType expected, const Patience& patience,
                           const Callback<bool()>& is_stopped) {
  Answer answer;
  Watch watch(pid_, *page_, patience);
  Deadline deadline;
  deadline.moment_ns = [&watch] { return watch.moment_ns(); };
  deadline.is_stopped = [&is_stopped] { return is_stopped && is_stopped(); };
  std::string problem;
  IoStatus status = send_frame(socket_.get(), request, payload, fds, deadline);
  if (status == IoStatus::ok) {
    status = receive_frame(socket_.get(), answer.frame, deadline, problem);
  }
  answer.candidate = page_->candidate.load(std::memory_order_relaxed);
  if (status == IoStatus::ok && answer.frame.type == expected) {
    answer.is_ok = true;
    return answer;
  }
  StatusReply refusal;
  if (status == IoStatus::timeout) {
    answer.fault = explain_timeout(watch);
    reap(0);
  } else if (status == IoStatus::closed) {
    const int how = reap(2000 * millisecond);
    answer.fault = how >= 0 ? explain_death(how)
                            : MeasureFault{MeasureStatus::worker_lost,
                                           "the worker closed its connection and had to be killed"};
  } else if (status == IoStatus::stopped) {
    answer.fault = {MeasureStatus::cancelled, "stopped by the caller"};
    reap(0);
  } else if (status == IoStatus::ok && answer.frame.type == FrameType::refused &&
             decode(answer.frame.payload, refusal)) {
    answer.fault = {MeasureStatus::worker_lost, "the worker refused a request: " + refusal.message};
    reap(0);
  } else {
    answer.fault = {MeasureStatus::worker_lost,
                    "the worker broke the protocol: " +
                        (problem.empty() ? std::string("unexpected frame") : problem)};
    reap(0);
  }
  socket_.reset();
  return answer;
}

MeasureFault WorkerProcess::explain_timeout(const Watch& watch) const {
  switch (watch.end()) {
  case Watch::End::time_up:
    return {MeasureStatus::cancelled, "the time was up before it was measured"};
  case Watch::End::stopped:
    return {MeasureStatus::worker_lost, "the worker was stopped from outside"};
  case Watch::End::idle:
    return {MeasureStatus::worker_lost, "the worker did not get any further within " +
                                            milliseconds(most_idle_ns) + " and was replaced"};
  case Watch::End::asleep:
    return {MeasureStatus::run_timeout, "a call slept past its deadline"};
  default:
    break;
  }
  const std::int64_t over = monotonic_ns() - page_->deadline_ns.load(std::memory_order_acquire);
  switch (page_->phase.load(std::memory_order_acquire)) {
  case WorkerPhase::load:
    return {MeasureStatus::load_error, "linking the object code did not end in time"};
  case WorkerPhase::run:
    return {MeasureStatus::run_timeout, "a call did not end before its deadline (killed " +
                                            milliseconds(std::max<std::int64_t>(over, 0)) +
                                            " after it)"};
  case WorkerPhase::check:
  case WorkerPhase::idle:
    break;
  }
  return {MeasureStatus::worker_lost, "the worker did not answer in time"};
}

MeasureFault WorkerProcess::explain_death(int wait_status) const {
  const WorkerPhase phase = page_->phase.load(std::memory_order_acquire);
  const bool is_candidates = phase == WorkerPhase::run || phase == WorkerPhase::check;
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == worker_exit_device) {
    return {MeasureStatus::device_error,
            device_error_text(page_->device_error.load(std::memory_order_acquire)) +
                "; the device's context was gone and the worker was replaced"};
  }
  if (WIFEXITED(wait_status)) {
    const std::string text =
        "the worker exited with code " + std::to_string(WEXITSTATUS(wait_status));
    return {phase == WorkerPhase::run ? MeasureStatus::crashed : MeasureStatus::worker_lost, text};
  }
  const int signal = WTERMSIG(wait_status);
  static constexpr std::array<int, 7> of_code = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                                 SIGABRT, SIGTRAP, SIGSYS};
  const std::int32_t sender = page_->fault.signal.load(std::memory_order_acquire) == signal
                                  ? page_->fault.sender.load(std::memory_order_relaxed)
                                  : 0;
  if (std::find(of_code.begin(), of_code.end(), signal) == of_code.end()) {
    return {MeasureStatus::worker_lost, "the worker was killed by " + signal_name(signal) +
                                            " from outside" +
                                            (signal == SIGKILL ? " (out of memory?)" : "")};
  }
  if (sender != 0) {
    return {MeasureStatus::worker_lost,
            "the worker was sent " + signal_name(signal) + " by process " + std::to_string(sender)};
  }
  if (phase == WorkerPhase::load) {
    return {MeasureStatus::load_error, "linking the object code ended in " + signal_name(signal)};
  }
  if (!is_candidates) {
    return {MeasureStatus::worker_lost, "the idle worker ended in " + signal_name(signal)};
  }
  const FaultReport& fault = page_->fault;
  if (fault.signal.load(std::memory_order_acquire) != signal ||
      (signal != SIGSEGV && signal != SIGBUS)) {
    return {MeasureStatus::crashed, signal_name(signal)};
  }
  char address[32];
  std::snprintf(address, sizeof(address), "0x%llx",
                static_cast<unsigned long long>(fault.address.load(std::memory_order_relaxed)));
  const std::string access = fault.is_write.load(std::memory_order_relaxed) != 0 ? "write" : "read";
  const std::uint32_t index = fault.argument.load(std::memory_order_relaxed);
  const bool is_packed = index >= argument_names_.size();
  const std::string name = is_packed
                               ? "packed operand " + std::to_string(index - argument_names_.size())
                               : "argument '" + argument_names_[index] + "'";
  const std::string number = std::to_string(fault.offset_bytes.load(std::memory_order_relaxed));
  const std::string offset = number + " bytes";
  switch (fault.place.load(std::memory_order_relaxed)) {
  case FaultPlace::before_argument:
    return {MeasureStatus::out_of_bounds, access + " " + offset + " before " + name};
  case FaultPlace::after_argument:
    return {MeasureStatus::out_of_bounds, access + " " + offset + " past the end of " + name};
  case FaultPlace::inside_argument:
    return {MeasureStatus::out_of_bounds,
            access + " at byte " + number + (is_packed ? " of " : " of the input ") + name};
  case FaultPlace::before_workspace:
    return {MeasureStatus::out_of_bounds, access + " " + offset + " before the workspace"};
  case FaultPlace::after_workspace:
    return {MeasureStatus::out_of_bounds, access + " " + offset + " past the end of the workspace"};
  case FaultPlace::elsewhere:
    break;
  }
  return {MeasureStatus::crashed, signal_name(signal) + " on a " + access + " at " + address};
}

int WorkerProcess::reap(std::int64_t patience_ns) {
  if (pid_ <= 0) {
    return -1;
  }
  const std::int64_t end = monotonic_ns() + patience_ns;
  int status = 0;
  bool is_killed = false;
  std::int64_t given_up = 0;
  for (;;) {
    const pid_t done = ::waitpid(pid_, &status, WNOHANG);
    if (done == pid_ || (done < 0 && errno == ECHILD)) {
      // Threads of the group cannot outlive it, but a kernel may have started processes.
      ::kill(-pid_, SIGKILL);
      pid_ = -1;
      return done < 0 || is_killed ? -1 : status;
    }
    if (!is_killed && monotonic_ns() >= end) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      is_killed = true;
      given_up = monotonic_ns() + most_dying_ns;
    }
    if (is_killed && monotonic_ns() >= given_up) {
      pid_ = -1;
      return -1;
    }
    sleep_a_little();
  }
}

void WorkerProcess::stop() {
  if (pid_ <= 0) {
    return;
  }
  // An idle worker leaves at once when its connection closes.
  const bool is_idle =
      page_ != nullptr && page_->phase.load(std::memory_order_acquire) == WorkerPhase::idle;
  socket_.reset();
  reap(is_idle ? 200 * millisecond : 0);
  page_ = nullptr;
  control_.reset();
}

}  // namespace tensorsmith
