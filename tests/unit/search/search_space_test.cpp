#include "tensorsmith/search/search_space.hpp"

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {

TEST_CASE("length choices are the reference's factorizations") {
  const SearchSpace space = test::space_of(test::matmul_dag(512, 512, 512));
  REQUIRE(space.length_choices(512, 3) != nullptr);
  CHECK(space.length_choices(512, 3)->size() == 210);  // ch. 11.7
  CHECK(space.length_choices(512, 1)->size() == 7);
  CHECK(space.length_choices(77, 1) == nullptr);
  CounterRng rng(1);
  for (int i = 0; i < 100; ++i) {
    const auto lengths = space.draw_lengths(512, 3, rng);
    REQUIRE(lengths);
    CHECK(512 % ((*lengths)[0] * (*lengths)[1] * (*lengths)[2]) == 0);
    CHECK(lengths->back() <= 64);
  }
  CHECK(space.draw_lengths(77, 1, rng));
}

TEST_CASE("a history is built again as it was, and its sketch is found") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64));
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Candidate candidate = test::sample_of(space, i);
    CHECK(space.sketch_of(candidate.state.steps()) == candidate.sketch);
    const auto again = space.build(candidate.state.steps(), candidate.sketch);
    REQUIRE(again);
    CHECK(state_text(again->state) == state_text(candidate.state));
  }
}

TEST_CASE("an illegal history builds nothing and belongs to no sketch") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64));
  const std::vector<Step> steps = {ReorderStep{2, {0, 0, 1}}};
  CHECK_FALSE(space.build(steps, Candidate::no_sketch));
  CHECK(space.sketch_of(steps) == Candidate::no_sketch);
}

TEST_CASE("two parallel loops in one loop tree are nested parallelism") {
  State state = State::initial(test::matmul_dag(8, 8, 8));
  grow(state, AnnotationStep{2, 0, Annotation::parallel});
  CHECK_FALSE(has_nested_parallel(state));
  grow(state, AnnotationStep{2, 1, Annotation::parallel});
  CHECK(has_nested_parallel(state));
}

}  // namespace tensorsmith
