// SPDX-License-Identifier: Apache-2.0
// Features of kernels that are lowered already.
#include "tensorsmith/feature/kernel_features.hpp"

#include <utility>

#include "support/catch.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/te/program.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

using namespace tensorsmith;
using tensorsmith::test::Approx;

namespace {

struct KernelMaker {
  LoopProgram p;
  ExprPool& e = p.pool;

  BufferId argument(const char* name, std::vector<std::int64_t> shape) {
    Buffer buffer{name, DType::f32, {shape.begin(), shape.end()}, {}};
    buffer.argument = static_cast<std::int32_t>(p.arguments.size());
    p.arguments.push_back(p.add(std::move(buffer)));
    return p.arguments.back();
  }
  StmtId loop(VarId var, std::int64_t extent, StmtId body, ForKind kind = ForKind::serial) {
    return p.add(For{var, e.int_imm(extent), kind, body});
  }
};

struct KernelKinds {
  ForKind i = ForKind::serial, j = ForKind::serial, k = ForKind::serial;
};

/// C[i, j] = 0, then C[i, j] += A[i, k] * B[k, j]; loops i, j, k. Flat: one index per buffer, e.g.
/// A[i * n + k].
LoopProgram matmul_kernel(std::int64_t n, bool is_flat, KernelKinds kinds = {}) {
  KernelMaker t;
  const std::vector<std::int64_t> shape =
      is_flat ? std::vector<std::int64_t>{n * n} : std::vector<std::int64_t>{n, n};
  const BufferId a = t.argument("A", shape), b = t.argument("B", shape), c = t.argument("C", shape);
  const VarId vi = t.e.new_var("i"), vj = t.e.new_var("j"), vk = t.e.new_var("k");
  const ExprId i = t.e.var(vi), j = t.e.var(vj), k = t.e.var(vk);
  const auto at = [&](ExprId row, ExprId column) {
    return is_flat ? ExprList{t.e.add(t.e.mul(row, t.e.int_imm(n)), column)}
                   : ExprList{row, column};
  };
  const auto load = [&](BufferId buffer, ExprId row, ExprId column) {
    return t.e.load(buffer, DType::f32, at(row, column));
  };
  const StmtId zero = t.p.add(Store{c, at(i, j), t.e.float_imm(0)});
  const ExprId sum = t.e.add(load(c, i, j), t.e.mul(load(a, i, k), load(b, k, j)));
  const StmtId update = t.loop(vk, n, t.p.add(Store{c, at(i, j), sum}), kinds.k);
  t.p.body = t.loop(vi, n, t.loop(vj, n, t.p.add(Seq{{zero, update}}), kinds.j), kinds.i);
  return std::move(t.p);
}

void check_same_rows(const FeatureMatrix& a, const FeatureMatrix& b) {
  REQUIRE(a.num_rows == b.num_rows);
  for (std::size_t r = 0; r < a.num_rows; ++r) {
    for (std::size_t c = 0; c < feature_length; ++c) {
      INFO(feature_name(c));
      CHECK(a.row(r)[c] == b.row(r)[c]);
    }
  }
}

}  // namespace

TEST_CASE("conformance 11.5 (f): a lowered kernel with flat buffers, without the logarithm",
          "[feature]") {
  const FeatureMatrix features =
      extract_features(matmul_kernel(128, true), FeatureOptions{.is_log_scaled = false});
  REQUIRE(features.num_rows == 1);
  const auto row = features.row(0);
  const double executions = 128.0 * 128 * 128;
  CHECK(row[column(HeadColumn::float_addsub)] == executions);
  CHECK(row[column(HeadColumn::float_mul)] == executions);
  for (std::size_t b = 0; b < 3; ++b) {
    CHECK(row[column(b, BufferColumn::unique_bytes)] == 65536);
    CHECK(row[column(b, BufferColumn::bytes)] == 4 * executions);
  }
  // What flat buffers add: a product and a sum per index that is loaded from.
  CHECK(row[column(HeadColumn::int_addsub)] == 3 * executions);
  CHECK(row[column(HeadColumn::int_mul)] == 3 * executions);
  CHECK(row[column(TailColumn::outer_prod)] == executions);
  CHECK(row[column(TailColumn::num_loops)] == 3);
  CHECK(row[column(TailColumn::alloc_size)] == 65536);
}

TEST_CASE("a kernel and the state that is the same loops have the same features", "[feature]") {
  const auto dag = test::matmul_dag(128, 128, 128);
  check_same_rows(extract_features(matmul_kernel(128, false)),
                  extract_features(State::initial(dag)));
  const auto annotated = replay(dag, {AnnotationStep{2, 0, Annotation::parallel},
                                      AnnotationStep{2, 1, Annotation::unroll},
                                      AnnotationStep{2, 2, Annotation::unroll}});
  REQUIRE(annotated.has_value());
  check_same_rows(extract_features(matmul_kernel(
                      128, false, {ForKind::parallel, ForKind::unrolled, ForKind::unrolled})),
                  extract_features(*annotated));
  const auto bound = replay(
      dag, {AnnotationStep{2, 0, Annotation::block_x}, AnnotationStep{2, 1, Annotation::thread_x}});
  REQUIRE(bound.has_value());
  check_same_rows(extract_features(matmul_kernel(
                      128, false, {ForKind::block_x, ForKind::thread_x, ForKind::serial})),
                  extract_features(*bound));
}

TEST_CASE("scaled features are the logarithms of plain ones", "[feature]") {
  const auto dag = test::matmul_dag(96, 96, 96);
  const auto tiled =
      replay(dag, {SplitStep{2, 0, 96, {16}, true}, SplitStep{2, 2, 96, {8}, true},
                   ReorderStep{2, {0, 2, 4, 3, 1}}, AnnotationStep{2, 0, Annotation::parallel},
                   AnnotationStep{2, 3, Annotation::vectorize}});
  REQUIRE(tiled.has_value());
  const FeatureMatrix scaled = extract_features(*tiled),
                      plain = extract_features(*tiled, FeatureOptions{.is_log_scaled = false});
  REQUIRE(scaled.num_rows == 1);
  REQUIRE(plain.num_rows == 1);
  for (std::size_t c = 0; c < feature_length; ++c) {
    INFO(feature_name(c));
    const double x = plain.row(0)[c];
    CHECK(scaled.row(0)[c] == Approx(x < 0 ? -math::log2(1 - x) : math::log2(1 + x)).epsilon(1e-6));
  }
  CHECK(plain.row(0)[column(HeadColumn::vec_len)] == 8);
  CHECK(plain.row(0)[column(TailColumn::num_loops)] == 5);
}

TEST_CASE("what lowering makes of a state has rows for all that it stores", "[feature]") {
  const auto kernel = lower(State::initial(test::matmul_dag(32, 32, 32)), Target::x86_64_v2());
  REQUIRE(kernel);
  const FeatureMatrix features = extract_features(*kernel, FeatureOptions{.is_log_scaled = false});
  REQUIRE(features.num_rows >= 1);
  double products = 0;
  for (std::size_t r = 0; r < features.num_rows; ++r) {
    products += features.row(r)[column(HeadColumn::float_mul)];
  }
  CHECK(products == 32 * 32 * 32);
}

TEST_CASE("loops of varying extent, of extent 1, conditions and allocations of a kernel",
          "[feature]") {
  KernelMaker t;
  const BufferId a = t.argument("A", {8, 8}), s = t.argument("S", {8});
  const BufferId local = t.p.add(Buffer{"local", DType::f32, {4}, {}, Scope::local});
  const VarId vi = t.e.new_var("i"), vj = t.e.new_var("j"), vz = t.e.new_var("z");
  const ExprId i = t.e.var(vi), j = t.e.var(vj), z = t.e.var(vz);
  const auto load = [&](BufferId buffer, ExprList at) { return t.e.load(buffer, DType::f32, at); };
  // for i < 8: { local { for z < 1: local[z] = 2; if i < 6: for j <= i: S[i] = S[i] + A[i, j] } }
  const StmtId fill = t.loop(vz, 1, t.p.add(Store{local, {z}, t.e.float_imm(2)}));
  const StmtId add = t.p.add(Store{s, {i}, t.e.add(load(s, {i}), load(a, {i, j}))});
  const StmtId triangle = t.p.add(For{vj, t.e.add(i, t.e.int_imm(1)), ForKind::serial, add});
  const StmtId guarded = t.p.add(If{t.e.lt(i, t.e.int_imm(6)), triangle, StmtId{}});
  t.p.body = t.loop(vi, 8, t.p.add(Alloc{local, t.p.add(Seq{{fill, guarded}})}));
  const FeatureMatrix features = extract_features(t.p, FeatureOptions{.is_log_scaled = false});
  REQUIRE(features.num_rows == 2);
  const auto of_local = features.row(0), of_sum = features.row(1);
  CHECK(of_local[column(TailColumn::num_loops)] == 1);
  CHECK(of_local[column(TailColumn::alloc_size)] == 16);
  CHECK(of_local[column(TailColumn::alloc_outer_prod)] == 8);
  CHECK(of_local[column(HeadColumn::float_addsub)] == 0);
  CHECK(of_sum[column(TailColumn::num_loops)] == 2);
  CHECK(of_sum[column(TailColumn::outer_prod)] == 64);  // the largest extent counts
  CHECK(of_sum[column(TailColumn::alloc_outer_prod)] == 1);
  CHECK(of_sum[column(HeadColumn::float_addsub)] == 64);
  CHECK(of_sum[column(HeadColumn::int_cmp)] == 0);
}
