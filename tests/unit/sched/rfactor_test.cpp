// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/rfactor.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/print_state.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

TEST_CASE("conformance 11.4: rfactor of the outer and the inner part") {
  ScheduleBuilder outer(matmul_dag(8, 8, 512));
  outer.split(2, 2, {16});
  CHECK(outer.rfactor(2, 2, 2) == 2);
  CHECK(stage_names(outer.state()) == Names{"A", "B", "C.rf", "C.repl"});
  CHECK(iterator_names(outer.state(), 2) == Names{"i", "j", "k_o", "k_i"});
  CHECK(extents(outer.state(), 2) == Ids{8, 8, 32, 16});
  CHECK(iterator_names(outer.state(), 3) == Names{"ax0", "ax1", "k_o_v"});
  CHECK(extents(outer.state(), 3) == Ids{8, 8, 32});
  const auto bounded = infer_bounds(outer.state());
  REQUIRE(bounded);
  CHECK(state_text(*bounded) == "Placeholder: A, B\n"
                                "for i (0,8)\n"
                                "  for j (0,8)\n"
                                "    for k_o (0,32)\n"
                                "      for k_i (0,16)\n"
                                "        C.rf = ...\n"
                                "for ax0 (0,8)\n"
                                "  for ax1 (0,8)\n"
                                "    for k_o_v (0,32)\n"
                                "      C.repl = ...\n");
  ScheduleBuilder inner(matmul_dag(8, 8, 512));
  inner.split(2, 2, {16});
  inner.rfactor(2, 3, 2);
  CHECK(iterator_names(inner.state(), 2) == Names{"i", "j", "k_i", "k_o"});
  CHECK(extents(inner.state(), 2) == Ids{8, 8, 16, 32});
  CHECK(extents(inner.state(), 3) == Ids{8, 8, 16});
}

TEST_CASE("rfactor: the factored axis stands where it was asked to") {
  for (std::int32_t position = 0; position <= 2; ++position) {
    ScheduleBuilder s(matmul_dag(3, 5, 12, DType::i32));
    s.split(2, 2, {4});
    s.rfactor(2, 2, position);
    CHECK(iterator_names(s.state(), 2)[static_cast<std::size_t>(position)] == "k_o");
    CHECK(computes_the_same(s.state()));
  }
}

TEST_CASE("rfactor keeps the values for any factor, dividing or not") {
  for (std::int64_t factor : {1, 2, 3, 4, 5, 7, 10, 11, 16}) {
    for (bool inner_to_outer : {true, false}) {
      for (std::int32_t part : {2, 3}) {
        INFO("factor " << factor << ", part " << part << ", inner to outer " << inner_to_outer);
        ScheduleBuilder s(matmul_dag(3, 5, 10, DType::i32));
        s.split(2, 2, {factor}, inner_to_outer);
        s.rfactor(2, part, 2);
        CHECK(computes_the_same(s.state()));
      }
    }
  }
}

TEST_CASE("rfactor of fused reduction axes") {
  te::Program p;
  auto A = p.placeholder("A", {3, 4, 5}, DType::i32);
  auto k = p.reduce_axis("k", 3), l = p.reduce_axis("l", 4), m = p.reduce_axis("m", 5);
  auto S = p.compute("S", {}, [&]() { return te::sum(A(k, l, m), {k, l, m}); });
  const DagPtr dag = p.dag({A, S});
  ScheduleBuilder all(dag);
  all.fuse(1, {0, 1, 2});
  all.split(1, 0, {7});
  all.rfactor(1, 1, 0);
  CHECK(iterator_names(all.state(), 1) == Names{"k_l_fused_m_fused_i", "k_l_fused_m_fused_o"});
  CHECK(iterator_names(all.state(), 2) == Names{"k_l_fused_m_fused_i_v"});
  CHECK(computes_the_same(all.state()));
  ScheduleBuilder some(dag);
  some.fuse(1, {1, 2});
  some.split(1, 1, {6});
  some.rfactor(1, 1, 0);
  CHECK(iterator_names(some.state(), 1) == Names{"l_m_fused_o", "k", "l_m_fused_i"});
  CHECK(computes_the_same(some.state()));
  ScheduleBuilder beside(dag);  // the fuse is of other axes than the split
  beside.fuse(1, {0, 1});
  beside.split(1, 1, {2});
  beside.rfactor(1, 1, 0);
  CHECK(iterator_names(beside.state(), 1) == Names{"m_o", "k", "l", "m_i"});
  CHECK(computes_the_same(beside.state()));
}

TEST_CASE("rfactor of a reduction with two outputs") {
  for (std::int64_t factor : {2, 3, 5}) {
    ScheduleBuilder s(two_output_dag(4, 10));
    s.split(1, 1, {factor});
    s.rfactor(1, 2, 1);
    CHECK(stage_names(s.state()) == Names{"A", "S.rf", "S.repl", "D"});
    CHECK(s.state().operation(1).outputs.size() == 2);
    CHECK(computes_the_same(s.state()));
  }
}

TEST_CASE("rfactor while the split is unknown counts it as 1") {
  State state = State::initial(matmul_dag(8, 8, 512));
  REQUIRE(!try_apply(state, SplitStep{2, 2, 512, {unknown_length}, true}));
  REQUIRE(!try_apply(state, RfactorStep{2, 2, 2}));
  CHECK(extents(state, 2) == Ids{8, 8, 512, 1});
  CHECK(!state.is_concrete());
}
