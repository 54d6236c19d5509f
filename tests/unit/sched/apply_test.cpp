// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

TEST_CASE("a legal step is recorded, an illegal one changes nothing") {
  State state = State::initial(chain_dag());
  REQUIRE(!try_apply(state, SplitStep{2, 0, 16, {4}, true}));
  REQUIRE(state.steps().size() == 1);
  const std::string before = state_text(state);
  const StepCheck error = try_apply(state, SplitStep{2, 9, 0, {4}, true});
  REQUIRE(error);
  CHECK(error->step == 1);
  CHECK(state.steps().size() == 1);
  CHECK(state_text(state) == before);
}

TEST_CASE("applying to a copy leaves the original alone") {
  const State before = State::initial(chain_dag());
  const std::string text = state_text(before);
  const auto after = apply_step(before, SplitStep{2, 0, 16, {4}, true});
  REQUIRE(after);
  CHECK(state_text(before) == text);
  CHECK(before.steps().empty());
  CHECK(state_text(*after) != text);
  CHECK(&before.stage(1) == &after->stage(1));  // untouched stages are shared
}

TEST_CASE("annotation: set once, shown in the text") {
  ScheduleBuilder s(chain_dag());
  s.parallel(2, 0);
  s.vectorize(2, 1);
  CHECK(s.state().stage(2).iterators[0].annotation == Annotation::parallel);
  CHECK(s.text().find("parallel i (0,16)\n  vectorize j (0,8)\n    C = ...") != std::string::npos);
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  CHECK(s.text().find("blockIdx.x i (0,16)\n  threadIdx.x j (0,8)\n") != std::string::npos);
}

TEST_CASE("threadIdx may go on a reduction, parallel may not") {
  State state = State::initial(matmul_dag(8, 8, 8));
  CHECK(!try_apply(state, AnnotationStep{2, 2, Annotation::thread_x}));
  const auto error = try_apply(state = state.restart(), AnnotationStep{2, 2, Annotation::parallel});
  REQUIRE(error);
  CHECK(error->code == ScheduleErrorCode::annotation_needs_spatial);
  CHECK(!try_apply(state, AnnotationStep{2, 2, Annotation::unroll}));
}

TEST_CASE("pragma sets the unroll limit of the stage") {
  ScheduleBuilder s(chain_dag());
  s.auto_unroll(2, 0, 512);
  CHECK(s.state().stage(2).auto_unroll_max_step == 512);
  CHECK(s.text().find("C auto_unroll: 512\nfor i (0,16)") != std::string::npos);
  s.compute_at(1, 2, 0);
  s.apply(PragmaStep{1, 0, "debug_skip_region"});
  CHECK(s.state().attach_map().stage_to_iterator.empty());
}

TEST_CASE("pragma sets what a register tile asks for ahead") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  s.apply(PragmaStep{2, 0, "prefetch$1$12$2"});
  CHECK(operand_prefetch(s.state().stage(2).hints).operand == 1);
  CHECK(s.text().find("C prefetch: operand 1, 12 lines, into L2\nfor i (0,8)") !=
        std::string::npos);
  s.apply(PragmaStep{2, 0, "prefetch_block$0$1"});
  CHECK(operand_prefetch(s.state().stage(2).hints).is_block);
  CHECK(s.text().find("C prefetch: operand 0, the next block, into L1\nfor i (0,8)") !=
        std::string::npos);
  s.apply(PragmaStep{2, 0, "prefetch$1$0$1"});
  CHECK(s.text().find("prefetch") == std::string::npos);
}

TEST_CASE("pragma writes out steps of a reduction") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  s.apply(PragmaStep{2, 0, "unroll_reduction$4"});
  CHECK(s.state().stage(2).hints.get<hints::UnrollReduction>().steps == 4);
  CHECK(s.text().find("C unroll_reduction: 4\nfor i (0,8)") != std::string::npos);
}

TEST_CASE("pragma sets how many rows a reduction computes at a time") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  s.apply(PragmaStep{2, 0, "row_block$8"});
  s.apply(PragmaStep{2, 0, "row_block$4"});
  CHECK(s.state().stage(2).hints.get<hints::RowBlock>().rows == 4);
  CHECK(s.text().find("C row_block: 4\nfor i (0,8)") != std::string::npos);
}

TEST_CASE("pragma has the vectors of a stage along its sum") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  CHECK_FALSE(s.state().stage(2).hints.has<hints::VectorizeSum>());
  s.apply(PragmaStep{2, 0, "vectorize_sum"});
  CHECK(s.state().stage(2).hints.has<hints::VectorizeSum>());
  CHECK(s.text().find("C vectorizes its sum\nfor i (0,8)") != std::string::npos);
}

TEST_CASE("pragma lets a result pass the caches") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  CHECK_FALSE(s.state().stage(2).hints.has<hints::StreamResult>());
  s.apply(PragmaStep{2, 0, "stream_result"});
  CHECK(s.state().stage(2).hints.has<hints::StreamResult>());
  CHECK(s.text().find("C streams its result\nfor i (0,8)") != std::string::npos);
}

TEST_CASE("reorder permutes the iterators and leaves attach points by position") {
  ScheduleBuilder s(matmul_dag(4, 8, 16));
  s.reorder(2, {2, 0, 1});
  CHECK(iterator_names(s.state(), 2) == Names{"k", "i", "j"});
  ScheduleBuilder c(chain_dag());
  c.compute_at(1, 2, 0);
  c.reorder(2, {1, 0});
  CHECK(c.state().attach_map().stage_to_iterator.at(1) == IteratorKey{2, 0});
}

TEST_CASE("storage_align shows its offset") {
  ScheduleBuilder s(chain_dag());
  s.storage_align(1, 0, 32, 4);
  CHECK(s.state().stage(1).storage_offset == 4);
  CHECK(s.text().find("B storage_offset: 4\n") != std::string::npos);
}

TEST_CASE("storage layout of a cache stage is legal and leaves the text alone") {
  ScheduleBuilder s(matmul_dag(24, 8, 16));
  const std::int32_t cache = s.cache_read(0, "local", {2});
  const std::string before = s.text();
  s.storage_layout(cache, {12, 0}, {0, 2, 1}, 4);
  CHECK(s.text() == before);
  CHECK(s.state().steps().size() == 2);
}
