// SPDX-License-Identifier: Apache-2.0
// requires: json
// What Felix names of the reference's schedules, and the limits of their programs.
#include "tensorsmith/feature/felix_schedule.hpp"

#include <map>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "support/pruner_programs.hpp"
#include "tensorsmith/feature/felix_rows.hpp"

namespace tensorsmith::test {
namespace {

std::map<std::string, std::int64_t> config_of(const State& state) {
  const FelixConfig config = felix_config(state.steps());
  return {config.begin(), config.end()};
}

/// One number for all kernels: the first threads times the first virtual threads.
double released_threads(const FelixLimits& limits) {
  double vthreads = 1;
  for (std::size_t k = limits.kernels.size(); k-- > 0;) {
    vthreads = limits.kernels[k].vthreads > 0 ? limits.kernels[k].vthreads : vthreads;
  }
  return limits.kernels.at(0).threads * vthreads;
}

void compare_limits(const FelixLimits& limits, const Json& expected) {
  CHECK(released_threads(limits) == expected.at("threads_times_vthreads").get<double>());
  CHECK(limits.shared_bytes() == expected.at("shared_bytes").get<double>());
  CHECK(limits.local_bytes() == expected.at("local_bytes").get<double>());
  CHECK(limits.vector_lengths == expected.at("vector_lengths").get<std::vector<std::int64_t>>());
}

}  // namespace

TEST_CASE("backbones, configurations and limits of the reference's programs", "[golden][feature]") {
  const PrunerPrograms programs("samples_cuda.jsonl");
  const HardwareParams hardware{-1, 16, 64, 49152, INT32_MAX, 1024, 8, 32};
  for (const GoldenFile& file : felix_files("features_cuda.jsonl")) {
    ComparedRows compared(file.name);
    compared.of("programs' schedules");
    for (const Json& line : read_json_lines(file.path)) {
      INFO(line.at("task").get<std::string>() << ", sample " << line.at("sample"));
      const State program = programs.program(line.at("task"), line.at("sample"));
      CHECK(felix_backbone(program.steps()) == line.at("backbone").get<std::string>());
      CHECK(config_of(program) == line.at("config").get<std::map<std::string, std::int64_t>>());
      const ProgramView view(program);
      const auto& stores = view.part<store_program_of>(FeatureContext());
      REQUIRE(stores.has_value());
      const FelixLimits limits = felix_limits(program, *stores);
      if (line.contains("limits")) {
        compare_limits(limits, line.at("limits"));
      }
      if (!line.at("ok").is_null()) {
        CHECK(limits.keeps(hardware) == line.at("ok").get<bool>());
      }
      ++compared;
    }
  }
}

}  // namespace tensorsmith::test
