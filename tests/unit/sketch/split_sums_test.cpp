// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/split_sums.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

/// Sketches whose parts of the sum are the outermost loop of a tiled stage.
std::vector<State> split_sketches(const Shared<const ComputeDag>& dag, std::int32_t threads) {
  SketchOptions options;
  options.hardware.num_cores = threads;
  std::vector<State> found;
  for (State& sketch : generate_sketches(dag, native_cpu_rules(), options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const auto& iterators = sketch.stage(s).iterators;
      if (sketch.operation(s).name == "C.rf" && iterators.size() > 4 &&
          iterators[0].name == "k_o" && iterators[0].kind == IteratorKind::spatial) {
        CHECK(iterators[0].extent == threads);
        found.push_back(std::move(sketch));
        break;
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("threads share long sums of a small result, and the sums stay the same") {
  for (std::int32_t threads : {2, 3}) {
    const std::vector<State> found = split_sketches(test::matmul_dag(4, 5, 4099, true), threads);
    REQUIRE(!found.empty());
    for (const State& sketch : found) {
      CHECK(test::computes_the_same(sketch));
    }
  }
}

TEST_CASE("nothing is split for one thread, for short sums or for large results") {
  CHECK(split_sketches(test::matmul_dag(4, 5, 4096), 1).empty());
  CHECK(split_sketches(test::matmul_dag(4, 5, 1000), 2).empty());
  CHECK(split_sketches(test::matmul_dag(64, 64, 4096), 2).empty());
}

}  // namespace tensorsmith
