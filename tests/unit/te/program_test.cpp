// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/program.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using te::Expr;

TEST_CASE("the ten-line matmul", "[te]") {
  const std::int64_t m = 4, n = 5, depth = 6;
  te::Program p;
  auto a = p.placeholder("A", {m, depth}), b = p.placeholder("B", {depth, n});
  auto k = p.reduce_axis("k", depth);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  const auto dag = p.dag({a, b, c});
  CHECK(te::dag_text(*dag) == "A = PLACEHOLDER [4, 6]\n"
                              "B = PLACEHOLDER [6, 5]\n"
                              "C(i, j) += (A[i, k]*B[k, j])\n");
  REQUIRE(dag->arguments().size() == 3);
  CHECK(dag->arguments()[2] == c.id());
  CHECK(dag->operation(2).reduce_axes.size() == 1);
  CHECK(dag->operation(2).reduce_axes[0].extent == 6);
  CHECK(dag->tensor(c.id()).operation == 2);
}

TEST_CASE("axis names: given, or the free ones of i, j, k", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {2, 3, 4});
  auto first = p.compute("P", {2, 3, 4}, [&](auto x, auto y, auto z) { return a(x, y, z) + 1; });
  auto k = p.reduce_axis("k", 4);
  auto second = p.compute("Q", {2, 3, 2}, [&](auto x, auto y, auto z) {
    return te::sum(first(x, y, k) * te::cast(DType::f32, z), {k});
  });
  auto third = p.compute("R", {2}, [&](auto x) { return second(x, 0, 1); }, {{"row"}, "tag", {}});
  const auto dag = p.dag({a, third});
  CHECK(te::dag_text(*dag) == "A = PLACEHOLDER [2, 3, 4]\n"
                              "P(i, j, k) = (A[i, j, k] + 1f)\n"
                              "Q(i, j, l) += (P[i, j, k]*float32(l))\n"
                              "R(row) = Q[row, 0, 1]\n");
  CHECK(dag->operation(3).tag == "tag");
}

TEST_CASE("bodies of any rank, none and variadic", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {2, 3});
  auto b =
      p.compute("B", {2, 3}, [&](const std::vector<Expr>& at) { return te::max(a.at(at), 0); });
  auto c = p.compute("C", {2, 3}, [&](auto... at) { return b(at...) * 2; });
  auto r = p.reduce_axis("r", 2);
  auto s = p.reduce_axis("s", 3);
  auto d = p.compute("D", {}, [&] { return te::sum(c(r, s), {r, s}); });
  CHECK(te::dag_text(*p.dag({a, d})) == "A = PLACEHOLDER [2, 3]\n"
                                        "B(i, j) = max(A[i, j], 0f)\n"
                                        "C(i, j) = (B[i, j]*2f)\n"
                                        "D() += C[r, s]\n");
}

TEST_CASE("argmax by a combiner with two outputs", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {2, 4});
  auto k = p.reduce_axis("k", 4);
  const CombinerId argmax =
      p.combiner({DType::i32, DType::f32}, {-1, -1e30}, [](const auto& x, const auto& y) {
        const Expr keep = x[1] >= y[1];
        return std::vector<Expr>{te::select(keep, x[0], y[0]), te::select(keep, x[1], y[1])};
      });
  auto best = p.compute_all("best", {2}, [&](auto i) {
    return te::reduce(argmax, {Expr(k), a(i, k)}, {k});
  });
  REQUIRE(best.size() == 2);
  CHECK(best[0].dtype() == DType::i32);
  CHECK(best[1].dtype() == DType::f32);
  auto at = p.compute("at", {2}, [&](auto i) { return best[0](i) * 10; });
  const auto dag = p.dag({a, best[1], at});
  CHECK(te::dag_text(*dag) == "A = PLACEHOLDER [2, 4]\n"
                              "best(i).v0 select((x_1 >= y_1), x_0, y_0)= (k,A[i, k])\n"
                              "best(i).v1 select((x_1 >= y_1), x_1, y_1)= (k,A[i, k])\n"
                              "at(i) = (best.v0[i]*10)\n");
  HostArray in(DType::f32, {2, 4});
  const double values[] = {1, 5, 2, 5, -3, -1, -2, -9};
  for (std::int64_t i = 0; i < 8; ++i) {
    in.set_real(i, values[i]);
  }
  auto out = eval_dag(*dag, {in});
  REQUIRE(out.has_value());
  CHECK((*out)[0].get_real(0) == 5);
  CHECK((*out)[0].get_real(1) == -1);
  CHECK((*out)[1].get_int(0) == 10);
  CHECK((*out)[1].get_int(1) == 10);
}

TEST_CASE("a dag lives on without its program and does not see its growth", "[te]") {
  Shared<const ComputeDag> dag;
  {
    te::Program p;
    auto a = p.placeholder("A", {2});
    auto b = p.compute("B", {2}, [&](auto i) { return a(i) + 1; });
    dag = p.dag({a, b});
    const auto before = dag->pool().num_exprs();
    p.compute("C", {2}, [&](auto i) { return b(i) * 3; });
    CHECK(dag->pool().num_exprs() == before);
    te::Program moved = std::move(p);
    auto d = moved.compute("D", {2}, [&](auto i) { return b(i) * 4; });
    CHECK(moved.dag({a, d})->operations().size() == 3);
  }
  CHECK(te::dag_text(*dag) == "A = PLACEHOLDER [2]\nB(i) = (A[i] + 1f)\n");
}

TEST_CASE("attributes reach the dag", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {2});
  te::ComputeOptions options;
  options.attrs.flop = 7;
  options.attrs.layout_free_placeholders = {"A"};
  auto b = p.compute(
      "B", {2}, [&](auto i) { return a(i); }, options);
  const auto dag = p.dag({a, b});
  CHECK(dag->operation(1).attrs == options.attrs);
}

TEST_CASE("misuse of a program is named", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {4, 4});
  auto k = p.reduce_axis("k", 4);
  const auto one = [&](auto i) { return a(i, i); };
  CHECK_THROWS_WITH(p.placeholder("B", {0, 3}),
                    "te::placeholder \"B\": expected an extent between 1 and 2147483647, got 0");
  CHECK_THROWS_WITH(p.placeholder("A", {3}),
                    "te::placeholder: expected a name that is not taken, got \"A\" again");
  CHECK_THROWS_WITH(
      p.placeholder("3a", {3}),
      "te::placeholder: expected a name of letters, digits and _ that starts with a letter, got "
      "\"3a\"");
  CHECK_THROWS_AS(p.placeholder("B", {2147483647, 2147483647}), Error);
  CHECK_THROWS_WITH(p.reduce_axis("r", -2), "te::reduce_axis \"r\": expected an extent between 1 "
                                            "and 2147483647, got -2");
  CHECK_THROWS_WITH(p.compute("X", {2, 2}, one),
                    "te::compute \"X\": expected a body with 2 parameters, got 1");
  CHECK_THROWS_WITH(p.compute("X", {2}, [&](auto i) { return a(i); }),
                    "te::tensor \"A\": expected 2 indices, got 1");
  CHECK_THROWS_WITH(p.compute("X", {2}, [&](auto i) { return a(i, 0.5); }),
                    "te::tensor \"A\": expected a literal that i32 can hold, got 0.500000");
  CHECK_THROWS_WITH(p.compute("X", {2}, [&](auto i) { return a(i, a(i, i)); }),
                    "te::tensor \"A\": expected integer indices, got f32");
  CHECK_THROWS_WITH(p.compute("X", {2}, [&](auto i) { return te::sum(a(i, k), {k}) + 1; }),
                    "te: operation \"X\": expected a reduction only at the root of a body, got one "
                    "inside an expression; give it a stage of its own");
  CHECK_THROWS_WITH(p.compute("X", {2}, [&](auto i) { return a(i, k); }),
                    "te: operation \"X\": expected only its own iterators, got \"k\"");
  CHECK_THROWS_WITH(p.compute("X", {2}, one, {{"i", "j"}, {}, {}}),
                    "te::compute \"X\": expected 1 axis names, got 2");
  CHECK_THROWS_WITH(
      p.compute("X", {2}, [&](auto i) { return te::sum(a(i, k), {k}); }, {{"k"}, {}, {}}),
      "te: operation \"X\": expected iterator names that are unique, got \"k\" twice");
  CHECK_THROWS_WITH(p.compute("X", {2}, [&](auto i) { return te::sum(a(i, i), {}); }),
                    "te::sum: expected at least one reduction axis, got none");
  CHECK_THROWS_WITH(p.dag({}), "te: dag: expected at least one tensor, got none");
  CHECK_THROWS_WITH(p.dag({a, a}), "te::Program::dag: expected every tensor once, got \"A\" twice");
  te::Program other;
  auto foreign = other.placeholder("F", {4});
  CHECK_THROWS_WITH(p.dag({a, foreign}), "te::Program::dag: expected tensors of this program, got "
                                         "\"F\" of another program");
  CHECK_THROWS_WITH(p.compute("X", {4}, [&](auto i) { return foreign(i); }),
                    "te::tensor \"F\": expected expressions of one te::Program, got expressions of "
                    "two programs");
  CHECK_THROWS_AS(p.compute("X", {4}, [&](auto i) { return foreign(0) + a(i, i); }), Error);
  CHECK_THROWS_AS(p.compute("X", {4}, [&](auto) { return foreign(0); }), Error);
  // nothing of the failed attempts is left
  auto x = p.compute("X", {4}, one);
  CHECK(p.dag({a, x})->tensors().size() == 2);
}

TEST_CASE("misuse of combiners is named", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {4});
  auto k = p.reduce_axis("k", 4);
  const auto same = [](const auto& x, const auto&) { return x; };
  CHECK_THROWS_AS(p.combiner({}, {}, same), Error);
  CHECK_THROWS_AS(p.combiner({DType::f32}, {0, 1}, same), Error);
  CHECK_THROWS_WITH(p.combiner({DType::i8}, {1000}, same),
                    "te::combiner: expected a literal that i8 can hold, got 1000");
  CHECK_THROWS_AS(
      p.combiner({DType::f32}, {0}, [](const auto&, const auto&) { return std::vector<Expr>{}; }),
      Error);
  const CombinerId last = p.combiner({DType::f32, DType::f32}, {0, 0}, same);
  CHECK_THROWS_WITH(te::reduce(last, {a(k)}, {k}), "te::reduce: expected 2 sources, got 1");
  CHECK_THROWS_WITH(te::reduce(last, {a(k), Expr(k)}, {k}),
                    "te::reduce: expected source 1 of type f32, got i32");
}
