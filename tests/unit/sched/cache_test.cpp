// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/cache_write.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/te/dag_text.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

TEST_CASE("cache_write: the cache takes the body, the stage becomes the copy") {
  ScheduleBuilder s(matmul_dag(4, 8, 16));
  CHECK(s.cache_write(2, "local") == 2);
  CHECK(stage_names(s.state()) == Names{"A", "B", "C.local", "C"});
  CHECK(iterator_names(s.state(), 2) == Names{"i_c", "j_c", "k"});
  CHECK(iterator_names(s.state(), 3) == Names{"i", "j"});
  CHECK(s.text() == "Placeholder: A, B\n"
                    "for i_c (0,4)\n  for j_c (0,8)\n    for k (0,16)\n      C.local = ...\n"
                    "for i (0,4)\n  for j (0,8)\n    C = ...\n");
  const ComputeDag& dag = s.state().dag();
  CHECK(dag.arguments() == s.state().initial_dag()->arguments());
  CHECK(dag.tensor(dag.arguments()[2]).operation == 3);  // the result is still C
  CHECK(dag.operation(3).reduce_axes.empty());
}

TEST_CASE("cache_read: readers that are named read the copy") {
  ScheduleBuilder s(matmul_dag(4, 8, 16));
  CHECK(s.cache_read(0, "shared", {2}) == 1);
  CHECK(stage_names(s.state()) == Names{"A", "A.shared", "B", "C"});
  CHECK(iterator_names(s.state(), 1) == Names{"ax0", "ax1"});
  CHECK(extents(s.state(), 1) == Ids{4, 16});
  CHECK(!detail::reads_tensor(s.state().dag().pool(), s.state().operation(3).bodies[0],
                              s.state().operation(0).outputs[0]));
  CHECK(detail::reads_tensor(s.state().dag().pool(), s.state().operation(3).bodies[0],
                             s.state().operation(1).outputs[0]));
}

TEST_CASE(
    "cache_read of patches: a place per iteration that reads, rows along rows of the source") {
  te::Program p;
  auto x = p.placeholder("X", {9, 32}), w = p.placeholder("W", {3, 32, 16});
  auto r = p.reduce_axis("r", 3), k = p.reduce_axis("k", 32);
  auto y = p.compute("Y", {4, 16}, [&](auto h, auto c) {
    return te::sum(x(h * 2 + r, k) * w(r, k, c), {r, k});
  });
  ScheduleBuilder s(p.dag({x, w, y}));
  CHECK(s.cache_read(0, "patches", {2}) == 1);
  CHECK(stage_names(s.state()) == Names{"X", "X.patches", "W", "Y"});
  CHECK(extents(s.state(), 1) == Ids{4, 3, 32});
  const std::string text = te::dag_text(s.state().dag(), true);
  CHECK(text.find("X.patches(ax0, ax1, ax2) = X[((ax0*2) + ax1), ax2]") != std::string::npos);
  CHECK(text.find("X.patches[i, r, k]") != std::string::npos);
  CHECK(s.state().dag().operation(1).attrs.never_inline);

  te::Program q;  // channels first: rows of the copy run along the pixels
  auto v = q.placeholder("V", {8, 34}), f = q.placeholder("F", {16, 8, 3});
  auto t = q.reduce_axis("t", 3), c = q.reduce_axis("c", 8);
  auto z = q.compute("Z", {16, 32}, [&](auto o, auto i) {
    return te::sum(v(c, i + t) * f(o, c, t), {c, t});
  });
  ScheduleBuilder first(q.dag({v, f, z}));
  first.cache_read(0, "patches", {2});
  CHECK(extents(first.state(), 1) == Ids{8, 3, 32});
}

TEST_CASE("conformance 11.4: cache stages of two matmuls, eleven stages in order") {
  te::Program p;
  auto A = p.placeholder("A", {512, 512}), B = p.placeholder("B", {512, 512});
  auto C = p.placeholder("C", {512, 512});
  auto k = p.reduce_axis("k", 512), l = p.reduce_axis("l", 512);
  auto D =
      p.compute("D", {512, 512}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
  auto E =
      p.compute("E", {512, 512}, [&](auto i, auto j) { return te::sum(A(i, l) * C(l, j), {l}); });
  ScheduleBuilder s(p.dag({A, B, C, D, E}));
  REQUIRE(stage_names(s.state()) == Names{"A", "B", "D", "C", "E"});
  s.cache_write(s.stage("D"), "local");
  s.cache_write(s.stage("E"), "local");
  s.cache_read(s.stage("A"), "shared", {s.stage("D.local")});
  s.cache_read(s.stage("B"), "shared", {s.stage("D.local")});
  s.cache_read(s.stage("A"), "shared", {s.stage("E.local")});
  s.cache_read(s.stage("C"), "shared", {s.stage("E.local")});
  CHECK(stage_names(s.state()) == Names{"A", "A.d.shared", "A.shared", "B", "B.shared", "D.local",
                                        "D", "C", "C.shared", "E.local", "E"});
}

TEST_CASE("new stages move the attached ones along") {
  ScheduleBuilder s(matmul_dag(16, 16, 16));
  s.cache_write(2, "local");
  s.compute_at(2, 3, 1);
  const std::int32_t cache = s.cache_read(0, "shared", {2});  // C.local is 3 now, C is 4
  CHECK(s.state().attach_map().stage_to_iterator.at(3) == IteratorKey{4, 1});
  s.compute_at(cache, 3, 2);
  CHECK(s.state().attach_map().stage_to_iterator.at(1) == IteratorKey{3, 2});
}

TEST_CASE("cache_read of a stage with two outputs copies the first") {
  ScheduleBuilder s(two_output_dag());
  s.cache_read(1, "local", {2});
  CHECK(stage_names(s.state()) == Names{"A", "S", "S.v0.local", "D"});
}

TEST_CASE("a derived dag keeps its bases alive") {
  Shared<const ComputeDag> derived;
  {
    ScheduleBuilder s(matmul_dag(4, 8, 16));
    s.cache_write(2, "local");
    s.cache_read(0, "shared", {2});
    derived = s.state().dag_ptr();
  }
  CHECK(derived->operation(3).name == "C.local");
  CHECK(te::dag_text(*derived).find("C.local") != std::string::npos);
}
