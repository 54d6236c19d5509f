// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Fatal errors of LLVM end a job, not the process, and the next job goes on.
#include "lib/cpu/code_thread.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"

namespace llvm {
void report_fatal_error(const char* reason, bool is_crash);  // what LLVM itself calls
}

using tensorsmith::llvm_codegen::CodeThread;

TEST_CASE("a job runs, and its exceptions come through", "[codegen]") {
  CodeThread thread;
  int value = 0;
  CHECK(thread.run([&] { value = 3; }).empty());
  CHECK(value == 3);
  CHECK_THROWS_AS((void)thread.run([] { throw std::runtime_error("no"); }), std::runtime_error);
  CHECK(thread.run([&] { value = 4; }).empty());
  CHECK(value == 4);
}

TEST_CASE("a fatal error is the job's reason", "[codegen]") {
  CodeThread thread;
  for (int n = 0; n < 3; ++n) {
    bool is_behind = false;
    const std::string problem = thread.run([&] {
      llvm::report_fatal_error("cannot do that", true);
      is_behind = true;
    });
    CHECK(problem == "LLVM gave up: cannot do that");
    CHECK_FALSE(is_behind);
    CHECK(thread.run([] {}).empty());
  }
}

TEST_CASE("fatal errors on several threads at once keep to their own jobs", "[codegen][threads]") {
  std::vector<std::string> problems(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&, t] {
      CodeThread thread;
      problems[t] = thread.run([t] {
        if (t % 2 == 0) {
          llvm::report_fatal_error("even", true);
        }
      });
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(problems == std::vector<std::string>{"LLVM gave up: even", "", "LLVM gave up: even", ""});
}

TEST_CASE("objects that cannot be linked are sentences, from several threads at once",
          "[codegen][threads]") {
  std::vector<std::string> problems(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < problems.size(); ++t) {
    threads.emplace_back([&, t] {
      tensorsmith::CompiledObject object;
      object.object = std::string(64 + t, 'x');
      object.entry = "kernel";
      const auto loaded = tensorsmith::JitKernel::load(object);
      problems[t] = loaded ? "" : loaded.error();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::string& problem : problems) {
    CHECK_FALSE(problem.empty());
  }
}
