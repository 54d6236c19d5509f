// SPDX-License-Identifier: Apache-2.0
// Programs as users write them in te: what no workload string names.
//
// Own design. Each family is a function from sizes to a dag, so that other sizes can be asked for.
// `user_programs` is the suite; `user_held_out` holds forms and sizes that rules are not made for.
// Not here: what they are compared with (plain_nest.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::bench {

using Sizes = std::vector<std::int64_t>;

/// A dag, and others of the same meaning and arguments that libraries have more of.
struct UserProgram {
  Shared<const ComputeDag> dag;
  std::vector<Shared<const ComputeDag>> alternatives = {};
};

struct ProgramFamily {
  std::string suite, name, sizes;  ///< the names of the sizes, comma separated
  std::vector<Sizes> examples;     ///< those of the suite
  std::function<UserProgram(const Sizes&)> make;
};

const std::vector<ProgramFamily>& program_families();

/// One program of a family, as "mlp:64x128x256x64".
struct NamedProgram {
  std::string suite, name;
  UserProgram program;
};
/// Throws Error for an unknown family or a wrong number of sizes.
NamedProgram make_program(const std::string& text);
std::vector<std::string> programs_of_suite(const std::string& suite);

}  // namespace tensorsmith::bench
