// Assertions for our own bugs.
//
// Floor 0. Own design. An assertion says "tensorsmith is wrong here": it reports the condition and
// aborts; tests may install a throwing handler. It is never used for bad input: that is `Error`
// (support/error.hpp) or a `Result`.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace tensorsmith {

using AssertHandler = void (*)(const char* condition, const char* message, const char* file,
                               int line);

inline AssertHandler& assert_handler() {
  static AssertHandler handler = nullptr;
  return handler;
}

[[noreturn]] inline void assert_failed(const char* condition, const char* message, const char* file,
                                       int line) {
  if (assert_handler() != nullptr) {
    assert_handler()(condition, message, file, line);
  }
  std::fprintf(stderr, "tensorsmith: internal error at %s:%d: %s (%s)\n", file, line, message,
               condition);
  std::abort();
}

}  // namespace tensorsmith

#define TENSORSMITH_ASSERT(condition, message)                                                     \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      ::tensorsmith::assert_failed(#condition, (message), __FILE__, __LINE__);                     \
    }                                                                                              \
  } while (false)
