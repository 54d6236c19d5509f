// SPDX-License-Identifier: Apache-2.0
// A program of somebody else that links everything that was installed.
#include <cstdio>

#include "tensorsmith/version.hpp"
#if __has_include("tensorsmith/tune.hpp")
#include "tensorsmith/tune.hpp"
#endif

int main() {
#ifdef TENSORSMITH_HAS_LLVM
  std::puts("with the CPU back end");
#else
  std::puts("without the CPU back end");
#endif
  return tensorsmith::version_major >= 0 ? 0 : 1;
}
