// SPDX-License-Identifier: Apache-2.0
// A program of somebody else that uses the headers only, behind much of the standard library: no
// call of ours may find a function of std by the type of its arguments.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <regex>
#include <sstream>
#include <thread>
#include <variant>

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
