// SPDX-License-Identifier: Apache-2.0
// The command line of a benchmark.
//
// Own design. Not here: what its options are.
#pragma once

#include <cstdio>
#include <optional>

#include <CLI/CLI.hpp>

namespace tensorsmith::bench {

/// Nothing, or the exit code with which the program `name` ends: 0 after --help, 2 for what it does
/// not know. `check()` may throw CLI::ValidationError.
template <class Check>
std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv, const char* name,
                                   const Check& check) {
  try {
    app.parse(argc, argv);
    check();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    std::fprintf(stderr, "%s: %s; see %s --help\n", name, error.what(), name);
    return 2;
  }
  return std::nullopt;
}
inline std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv, const char* name) {
  return parse_arguments(app, argc, argv, name, [] {});
}

}  // namespace tensorsmith::bench
