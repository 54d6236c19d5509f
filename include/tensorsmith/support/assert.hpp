// SPDX-License-Identifier: Apache-2.0
// Assertions for our own bugs.
//
// Floor 0. Own design. An assertion says "tensorsmith is wrong here": it throws InternalError with
// the condition and the place, so that a run loses a candidate, or ends with a sentence, where it
// would have ended the program that called it. Tests may install a handler. It is never used for
// bad input: that is `Error` (support/error.hpp) or a `Result`.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace tensorsmith {

/// Something that cannot be has come to pass; what was being worked on is lost, nothing else.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

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
  throw InternalError("tensorsmith: internal error at " + std::string(file) + ":" +
                      std::to_string(line) + ": " + message + " (" + condition + ")");
}

}  // namespace tensorsmith

#define TENSORSMITH_ASSERT(condition, message)                                                     \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      ::tensorsmith::assert_failed(#condition, (message), __FILE__, __LINE__);                     \
    }                                                                                              \
  } while (false)
