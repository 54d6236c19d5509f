// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/serial_twin.hpp"

#include "support/catch.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

bool has_parallel(const State& state) {
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    for (const auto& it : state.stage(s).iterators) {
      if (it.annotation == Annotation::parallel) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("the serial twin has the same loops and runs none of them in parallel") {
  State state = State::initial(test::matmul_dag(8, 12, 16));
  grow(state, SplitStep{2, 0, 8, {4}, true});
  grow(state, FuseStep{2, {0, 1}});
  grow(state, AnnotationStep{2, 0, Annotation::parallel});
  grow(state, AnnotationStep{2, 1, Annotation::unroll});
  REQUIRE(has_parallel(state));
  const std::optional<State> twin = serial_twin(state);
  REQUIRE(twin.has_value());
  CHECK_FALSE(has_parallel(*twin));
  CHECK(twin->has_bounds());
  CHECK(twin->steps().size() == state.steps().size() - 1);
  REQUIRE(twin->stage(2).iterators.size() == state.stage(2).iterators.size());
  CHECK(twin->stage(2).iterators[1].annotation == Annotation::unroll);
  CHECK_FALSE(serial_twin(*twin).has_value());  // it is its own
}

}  // namespace tensorsmith
