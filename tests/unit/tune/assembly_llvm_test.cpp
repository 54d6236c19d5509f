// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/tune.hpp"
#include "tune/compile.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("assembly is that of the code which the builder of so many threads makes") {
  State state = State::initial(matmul_dag(64, 64, 64));
  const auto stage = static_cast<std::int32_t>(state.num_stages()) - 1;
  REQUIRE_FALSE(try_apply(state, AnnotationStep{stage, 0, Annotation::parallel}));
  const std::string serial = assembly_of(state, host_target(), 1);
  const std::string parallel = assembly_of(state, host_target(), 2);
  CHECK(serial.find("kernel.body") != std::string::npos);
  CHECK(serial.find("kernel.parallel") == std::string::npos);
  CHECK(parallel.find("kernel.parallel") != std::string::npos);
  CHECK(assembly_of(state, host_target(), 8) == parallel);
}
