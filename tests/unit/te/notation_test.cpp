// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/notation.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/random_dags.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/te/workload_key.hpp"

using namespace tensorsmith;

namespace {

using DagPtr = Shared<const ComputeDag>;

DagPtr read(const std::string& text) {
  INFO(text);
  Result<DagPtr, std::string> dag = te::read_notation(text);
  INFO((dag ? std::string() : dag.error()));
  REQUIRE(dag);
  return *dag;
}
std::string write(const ComputeDag& dag) {
  Result<std::string, std::string> text = te::write_notation(dag);
  INFO((text ? std::string() : text.error()));
  REQUIRE(text);
  return *text;
}
std::string error_of(const std::string& text) {
  INFO(text);
  const Result<DagPtr, std::string> dag = te::read_notation(text);
  REQUIRE_FALSE(dag);
  return dag.error();
}

void check_round_trip(const ComputeDag& dag) {
  const std::string text = write(dag);
  INFO(text);
  const DagPtr back = read(text);
  CHECK(te::is_same_computation(dag, *back));
  CHECK(te::dag_text(dag) == te::dag_text(*back));
  CHECK(te::workload_key(dag) == te::workload_key(*back));
  CHECK(write(*back) == text);
}

}  // namespace

TEST_CASE("notation: the text of every named workload gives the same dag") {
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    INFO(line.example);
    check_round_trip(*ops::parse_workload(line.example).value().dag);
  }
}

TEST_CASE("notation: the text of random programs gives the same dag") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    CounterRng rng(seed, 7);
    check_round_trip(*test::RandomDag(rng).make());
  }
}

TEST_CASE("notation: what te::Program can say beside formulas") {
  te::Program p;
  const te::Tensor a = p.placeholder("A.f32", {4, 6}, DType::f16), b = p.placeholder("B", {});
  const te::ReduceAxis k = p.reduce_axis("inf", 6), unused = p.reduce_axis("r", 3);
  const CombinerId best = p.combiner(
      {DType::i32, DType::f16}, {te::Expr(-1), te::Expr(-math::infinity)}, [](auto x, auto y) {
        return std::vector<te::Expr>{te::select(x[1] >= y[1], x[0], y[0]), te::max(x[1], y[1])};
      });
  OperationAttrs attrs;
  attrs.flop = 12;
  attrs.never_inline = true;
  attrs.rounding = 2.5;
  const std::vector<te::Tensor> t = p.compute_all("T", {4}, [&](auto i) {
    return te::reduce(best, {k, a(i, k)}, {k, unused});
  });
  const te::Tensor c =
      p.compute("C", {4, 6},
                [&](auto i, auto j) {
                  return te::if_then_else(!(i < 2) || j == 3, te::cast(DType::f32, a(i, j)) * b(),
                                          -te::cast(DType::f32, t[0](i))) +
                         p.constant(DType::f32, 2) * p.constant(DType::f32, -0.0);
                },
                {{"x.1", "y"}, "a \"tag\"\n", attrs});
  const DagPtr dag = p.dag({c, b, a, t[1]});
  check_round_trip(*dag);
  CHECK(write(*dag) ==
        "B[]; A.f32.f16[4,6]; combine c0(i32 = -1, f16 = -inf) = (select(x_1 >= y_1, x_0, y_0), "
        "max(x_1, y_1)); T[i:4; inf:6,r:3] c0= (inf, A.f32[i,inf]); C[x.1:4,y:6] = "
        "if_then_else(!(x.1 < 2) || y == 3, f32(A.f32[x.1,y])*B[], -f32(T.v0[x.1])) + "
        "f32(2.0)*-0.0 {tag: \"a \\\"tag\\\"\\x0a\", flop: 12, never_inline, rounding: 2.5} | args "
        "C B A.f32 T.v1");
}

TEST_CASE("notation: extents are inferred from where indices stand by themselves") {
  CHECK(write(*read("C[i:512,j:512] += A[i,k:512]*B[k,j]")) ==
        "A[512,512]; B[512,512]; C[i:512,j:512] += A[i,k:512]*B[k,j]");
  CHECK(write(*read("A[4,8]; C[i] max= A[i,k]  # rows\n; D[i,k] = A[i,k] - C[i]")) ==
        "A[4,8]; C[i:4] max= A[i,k:8]; D[i:4,k:8] = A[i,k] - C[i]");
  CHECK(write(*read("Y.i32[i:4] += i32(X.u8[2*i+k,k:3])")) ==
        "X.u8[9,3]; Y.i32[i:4; k:3] += i32(X[2*i + k,k])");
}

TEST_CASE("notation: a choice reads only what exists") {
  const auto text = [](const char* source) { return write(*read(source)); };
  CHECK(text("X[9]; Y[i:8] = i < 4 ? X[i] : X[i+1]") ==
        "X[9]; Y[i:8] = select(i < 4, X[i], X[i + 1])");
  CHECK(text("X[5]; Y[i:8] = i < 4 ? X[i] : X[i-3]") ==
        "X[5]; Y[i:8] = if_then_else(i < 4, X[i], X[i - 3])");
  CHECK(text("X[5]; Y[i:8] = i < 4 ? X[i:5] : 1") ==
        "X[5]; X_pad[i:8] = if_then_else(i < 5, X[i], 0.0); Y[i:8] = select(i < 4, X_pad[i], 1.0)");
  CHECK(text("T[9]; Y[i:8] = n.i32[i] < 9 ? T[n[i]] : 0").find("if_then_else") !=
        std::string::npos);
  CHECK(text("X[5]; Y[i:8] = i < 4 ? X[min(i, 4)] : X[max(i-3, 1)]").find("select") !=
        std::string::npos);
}

TEST_CASE("notation: reads outside of an extent that is given are neutral") {
  const DagPtr dag =
      read("X[6]; W[3]; Y[i:4] += X[2*i+k-1:6]*W[k:3]; Z[i:6] max= X[i+k-1:6] + 0*W[k:3]; "
           "D[i:6] = X[i-1:6] - X[i+1:6]");
  const std::vector<double> x = {-1, -2, -3, -4, -5, -6}, w = {1, 10, 100};
  HostArray x_array(DType::f32, {6}), w_array(DType::f32, {3});
  for (std::size_t i = 0; i < 6; ++i) {
    x_array.set(static_cast<std::int64_t>(i), scalar_of_real(x[i]));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    w_array.set(static_cast<std::int64_t>(i), scalar_of_real(w[i]));
  }
  const auto results = eval_dag(*dag, {x_array, w_array});
  REQUIRE(results);
  const auto at = [&](std::int64_t i) {
    return i < 0 || i > 5 ? 0.0 : x[static_cast<std::size_t>(i)];
  };
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK((*results)[0].get(i).real == at(2 * i - 1) + 10 * at(2 * i) + 100 * at(2 * i + 1));
  }
  for (std::int64_t i = 0; i < 6; ++i) {
    CHECK((*results)[1].get(i).real == (i == 0 ? -1.0 : -static_cast<double>(i)));
    CHECK((*results)[2].get(i).real == at(i - 1) - at(i + 1));
  }
}

TEST_CASE("notation: wrong texts are one sentence that says where") {
  CHECK(error_of("C[i:4] = D[i") == "notation: at byte 12, at the end: expected \"]\"");
  CHECK(error_of("C[i:4] = D[k:5]").find("a reduction such as +=") != std::string::npos);
  CHECK(error_of("C[i:4] = D[k]").find("an extent of index \"k\"") != std::string::npos);
  CHECK(error_of("A[4]; C[i:8] = A[i//2] + A[i]").find("\"A\" has 4 there") != std::string::npos);
  CHECK(error_of("Y[i:4] = foo(X[i])").find("not \"foo\"") != std::string::npos);
  CHECK(error_of("Y[i:4] = X[i] + (X[i] < 3)").find("f32 and bool") != std::string::npos);
  CHECK(error_of("Y[i:4] = X[i] | packed Z").find("not \"Z\"") != std::string::npos);
  CHECK(error_of("Y[i:4] = Y[i]").find("in front of the formulas") != std::string::npos);
  CHECK(error_of("A[4]; B[8]; Y[i] = A[i] + B[i]").find("4 or 8") != std::string::npos);
  CHECK(error_of("Y[i:4] = " + std::string(5000, '(')).find("at most 800") != std::string::npos);
  CHECK(error_of("").find("got nothing") != std::string::npos);
}

TEST_CASE("computations may be compared without their names", "[te]") {
  const auto is_same = [](const char* a, const char* b) {
    CHECK_FALSE(te::is_same_computation(*read(a), *read(b)));
    const bool same = te::is_same_computation(*read(a), *read(b), te::Names::do_not_count);
    CHECK(te::is_same_computation(*read(b), *read(a), te::Names::do_not_count) == same);
    return same;
  };
  const char* const product = "C[i:8,j:6] += A[i,k:4]*B[k,j]";
  CHECK(is_same(product, "Y[m:8,n:6] += X[m,r:4]*W[r,n]"));
  CHECK(is_same(product, "C[j:8,i:6] += A[j,k:4]*B[k,i]"));
  CHECK_FALSE(is_same(product, "C[i:8,j:6] += A[k:4,i]*B[k,j]"));
  CHECK_FALSE(is_same(product, "C[i:8,j:7] += A[i,k:4]*B[k,j]"));
  CHECK_FALSE(is_same(product, "C[i:8,j:6] max= A[i,k:4]*B[k,j]"));
  CHECK_FALSE(is_same(product, "C.f64[i:8,j:6] += A.f64[i,k:4]*B.f64[k,j]"));
  CHECK_FALSE(is_same("C[i:8] = A[i] - B[i]", "B[8]; C[i:8] = A[i] - B[i]"));
  // What stays as it is from call to call is part of the form, what it is called is not.
  const char* const packed = "C[i:8,j:6] += A[i,k:4]*B[k,j] {layout_free_placeholders: [\"B\"]}";
  CHECK_FALSE(is_same(product, packed));
  CHECK(is_same(packed, "y[m:8,n:6] += x[m,r:4]*w[r,n] {layout_free_placeholders: [\"w\"]}"));
  CHECK_FALSE(is_same(packed, "y[m:8,n:6] += x[m,r:4]*w[r,n] {layout_free_placeholders: [\"x\"]}"));
}
