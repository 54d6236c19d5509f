// SPDX-License-Identifier: Apache-2.0
// expect: discard\|unused\|nodiscard
// Ignoring a Result is a warning, and warnings are errors here.
#pragma GCC diagnostic error "-Wunused-result"
#include "tensorsmith/support/result.hpp"

tensorsmith::Result<int, int> compute() { return 1; }

int main() {
#ifdef MUST_FAIL
  compute();
#endif
  return compute().has_value() ? 0 : 1;
}
