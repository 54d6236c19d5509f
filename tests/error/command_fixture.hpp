// SPDX-License-Identifier: Apache-2.0
// Runs the `tensorsmith` command as a user would, in a folder of its own, and looks at what it
// leaves: exit code, both outputs, files, processes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/processes.hpp"
#include "worker/cpu_lease.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TENSORSMITH_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TENSORSMITH_HAS_SANITIZER 1
#endif
#endif

namespace tensorsmith::test {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Without the note of a tuner that finds every core held, which depends on what runs beside a
/// test.
inline std::string without_note_of_cores(std::string err) {
  const std::string note = no_core_note;
  for (const std::string& whole : {"; " + note, note + "; ", "tensorsmith: " + note + "\n"}) {
    if (const std::size_t at = err.find(whole); at != std::string::npos) {
      err.erase(at, whole.size());
    }
  }
  return err;
}

/// What one run of the command came to.
struct CommandResult {
  int code = -1;  ///< exit code; -1: ended by `signal`
  int signal = 0;
  std::string out, err;
  std::int64_t peak_bytes = 0;  ///< resident, at its highest

  /// The object on standard output, discarded() unless there is exactly one and nothing else.
  nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// An error of the user's, told in a sentence with these words.
inline void check_refused(const CommandResult& result, const std::string& words) {
  CAPTURE(words, result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find(words) != std::string::npos);
}

/// A folder for journals and outputs that goes away with the object. Commands that were started and
/// not waited for are killed.
class CommandFolder {
 public:
  CommandFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "tensorsmith-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~CommandFolder() {
    for (const int pid : running_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  CommandFolder(const CommandFolder&) = delete;
  CommandFolder& operator=(const CommandFolder&) = delete;

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string read(const std::string& name) const { return read_text(folder_ / name); }
  void write(const std::string& name, const std::string& text) const {
    write_text(folder_ / name, text);
  }

  /// In this folder, with HOME and XDG_CACHE_HOME in it too. `shell`: what precedes the program,
  /// e.g. "ulimit -f 64;"; `redirections` follow its arguments.
  int start(const std::vector<std::string>& arguments, const std::string& shell = {},
            const std::string& redirections = {}) {
    std::string text = "cd '" + folder_.string() + "' && export HOME=$PWD XDG_CACHE_HOME=$PWD; " +
                       shell + " exec '" TENSORSMITH_BIN_DIR "/tensorsmith' \"$@\" </dev/null " +
                       ">stdout 2>stderr " + redirections;
    std::vector<std::string> all = {"/bin/sh", "-c", text, "sh"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& argument : all) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    pid_t pid = -1;
    REQUIRE(::posix_spawn(&pid, "/bin/sh", nullptr, nullptr, pointers.data(), environ) == 0);
    running_.push_back(pid);
    return pid;
  }
  CommandResult wait(int pid) {
    int status = 0;
    rusage usage = {};
    REQUIRE(::wait4(pid, &status, 0, &usage) == pid);
    running_.erase(std::remove(running_.begin(), running_.end(), pid), running_.end());
    CommandResult result;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.out = read("stdout");
    result.err = without_note_of_cores(read("stderr"));
    result.peak_bytes = std::int64_t{usage.ru_maxrss} * 1024;
    return result;
  }
  CommandResult run(const std::vector<std::string>& arguments, const std::string& shell = {},
                    const std::string& redirections = {}) {
    return wait(start(arguments, shell, redirections));
  }

 private:
  std::filesystem::path folder_;
  std::vector<int> running_;
};

/// Live workers that `parent` has started, whether it lives or not.
inline std::vector<Process> workers_of(int parent) {
  const std::string wanted = "--parent" + std::string(1, '\0') + std::to_string(parent) + '\0';
  std::vector<Process> workers;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const int pid = std::atoi(entry.path().filename().c_str());
    // Of a dead process that nobody has waited for this is empty.
    ProcessInfo info;
    if (pid > 0 && read_text(entry.path() / "cmdline").find(wanted) != std::string::npos &&
        read_process(pid, info)) {
      workers.push_back(info.process);
    }
  }
  return workers;
}

/// One sentence on standard error, nothing on standard output, exit code 2.
inline void check_refusal(const CommandResult& result, const std::string& part) {
  CAPTURE(result.out, result.err, result.signal);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(lines_of(result.err).size() == 1);
  CHECK(result.err.rfind("tensorsmith: ", 0) == 0);
  CHECK(result.err.find(part) != std::string::npos);
}

}  // namespace tensorsmith::test
