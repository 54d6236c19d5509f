// SPDX-License-Identifier: Apache-2.0
// A program of somebody else that uses the headers only.
#include <cstdio>

#include "tensorsmith/support/id.hpp"
#include "tensorsmith/version.hpp"
#if __has_include("tensorsmith/tensorsmith.hpp")
#include "tensorsmith/tensorsmith.hpp"
#endif

int main() {
  const tensorsmith::Id<struct SomeTag> id{7};
  std::printf("tensorsmith %s, id %u\n", tensorsmith::version_string,
              static_cast<unsigned>(id.value));
  return id.valid() ? 0 : 1;
}
