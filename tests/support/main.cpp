// SPDX-License-Identifier: Apache-2.0
// The main function of every test program: Catch's session plus our own options.
#define CATCH_CONFIG_RUNNER
#include "support/catch.hpp"

#include <cstdio>
#include <cstdlib>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith::test {
namespace {

struct Options {
  std::uint64_t seed = 1;
  bool dump_state = false;
  bool dump_source = false;
};

Options& options() {
  static Options instance;
  return instance;
}

[[noreturn]] void throw_assertion(const char* condition, const char* message, const char* file,
                                  int line) {
  (void)file;
  (void)line;
  throw AssertionFailed{condition, message};
}

}  // namespace

std::uint64_t seed() { return options().seed; }
bool dump_state() { return options().dump_state; }
bool dump_source() { return options().dump_source; }

void skip(const std::string& reason) {
  std::printf("tensorsmith-skip: %s: %s\n", Catch::getResultCapture().getCurrentTestName().c_str(),
              reason.c_str());
  SUCCEED("skipped: " << reason);
}

}  // namespace tensorsmith::test

// Shows what broke when an assertion escapes a test.
CATCH_TRANSLATE_EXCEPTION(const tensorsmith::test::AssertionFailed& failure) {
  return "internal assertion failed: " + failure.message + " (" + failure.condition + ")";
}

int main(int argc, char** argv) {
  auto& options = tensorsmith::test::options();
  if (const char* text = std::getenv("TENSORSMITH_TEST_SEED")) {
    options.seed = std::strtoull(text, nullptr, 10);
  }
  Catch::Session session;
#if TENSORSMITH_CATCH_VERSION == 3
  using Catch::Clara::Opt;
#else
  using Catch::clara::Opt;
#endif
  auto cli = session.cli() | Opt(options.seed, "number")["--seed"]("seed of the randomised tests") |
             Opt(options.dump_state)["--dump-state"]("print the states that tests build") |
             Opt(options.dump_source)["--dump-source"]("print the sources that tests generate");
  session.cli(cli);
  if (const int code = session.applyCommandLine(argc, argv); code != 0) {
    return code;
  }
  tensorsmith::assert_handler() = &tensorsmith::test::throw_assertion;
  const int failed = session.run();
  if (failed != 0) {
    std::fprintf(stderr, "replay with: %s --seed %llu\n", argv[0],
                 static_cast<unsigned long long>(options.seed));
  }
  return failed == 0 ? 0 : 1;
}
