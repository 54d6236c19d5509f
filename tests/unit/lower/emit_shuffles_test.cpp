// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_shuffles.hpp"

#include "row_sums.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

std::size_t num_found(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// The first column of the largest element of each row, which ties make hard: stages 0 A, 1 S, 2 D.
DagPtr first_largest_dag(std::int64_t columns) {
  te::Program p;
  auto A = p.placeholder("A", {3, columns}, DType::i32);
  auto k = p.reduce_axis("k", columns);
  const CombinerId first = p.combiner(
      {DType::i32, DType::i32}, {te::Expr(-1000), te::Expr(0)}, [](const auto& x, const auto& y) {
        return std::vector<te::Expr>{te::select(x[0] >= y[0], x[0], y[0]),
                                     te::select(x[0] >= y[0], x[1], y[1])};
      });
  auto S = p.compute_all("S", {3}, [&](auto i) {
    return te::reduce(first, {te::max(te::min(A(i, k), 1), 0), te::cast(DType::i32, te::Expr(k))},
                      {k});
  });
  auto D = p.compute("D", {3}, [&](auto i) { return S[0](i) * 1000 + S[1](i); });
  return p.dag({A, D});
}

}  // namespace

TEST_CASE("lanes pass partial results from register to register") {
  CHECK(is_golden(exchange_text(row_sum_state(8, 4))));
}

TEST_CASE("warps exchange their results behind one barrier of the block") {
  const std::string text = exchange_text(row_sum_state(200, 96));
  const std::size_t begin = text.find("            if floormod(tx, 32)");
  REQUIRE(begin != std::string::npos);
  CHECK(is_golden("\n" + text.substr(begin)));
}

TEST_CASE("groups of lanes of every size: no shared memory up to a warp, else one exchange") {
  for (const std::int64_t threads : {2, 4, 8, 16, 32, 64, 96, 128, 224, 512, 1024}) {
    INFO(threads);
    const std::string text = exchange_text(row_sum_state(3 * threads - 1, threads));
    const std::size_t has_warps = threads > 32 ? 1 : 0;
    CHECK(num_found(text, " shared\n") == 2 * has_warps);  // a buffer and a barrier
    CHECK(num_found(text, "S.lane: i32[1, 1, " + std::to_string(threads) + "] warp") == 1);
  }
}

TEST_CASE("threads that are no whole groups of lanes go through shared memory") {
  for (const std::int64_t threads : {3, 6, 12, 33, 48, 80}) {
    INFO(threads);
    const std::string text = exchange_text(row_sum_state(2 * threads, threads));
    CHECK(text.find("warp") == std::string::npos);
    CHECK(text.find("S.red") != std::string::npos);
  }
}

TEST_CASE("rows of threads have lanes of their own; guards stand around the stores alone") {
  ScheduleBuilder s(sum_dag(8));
  s.annotate(1, 0, Annotation::thread_y);
  s.annotate(1, 1, Annotation::thread_x);
  const std::string text = exchange_text(s.state());
  CHECK(text.find("S.lane: i32[1, 3, 8] warp") != std::string::npos);
  CHECK(text.find("S.lane[0, ty, tx] = S.acc[0]") != std::string::npos);
}

TEST_CASE("groups of lanes may not lie across the rows of a longer axis") {
  te::Program p;
  auto A = p.placeholder("A", {3, 48}, DType::i32);
  auto k = p.reduce_axis("k", 48);
  auto S = p.compute("S", {3}, [&](auto i) { return te::sum(A(i, k), {k}); });
  auto B = p.compute("B", {3, 48}, [&](auto i, auto j) { return A(i, j) - S(i); });
  const DagPtr dag = p.dag({A, B});
  const auto text_with = [&](std::int32_t columns) {
    ScheduleBuilder s(dag);
    s.split(2, 1, {columns});
    s.annotate(2, 0, Annotation::block_x);
    s.annotate(2, 2, Annotation::thread_x);
    s.compute_at(1, 2, 0);
    s.split(1, 1, {16});
    s.annotate(1, 2, Annotation::thread_x);
    return exchange_text(s.state());
  };
  const std::string whole = text_with(48), torn = text_with(24);
  CHECK(whole.find("S.lane: i32[1, 1, 48] warp") != std::string::npos);
  CHECK(torn.find("warp") == std::string::npos);
  CHECK(torn.find("S.red: i32[16] shared") != std::string::npos);
}

TEST_CASE("two results at once: of equal elements the first one stays") {
  for (const std::int64_t threads : {8, 64, 96}) {
    INFO(threads);
    ScheduleBuilder s(first_largest_dag(threads));
    s.annotate(1, 0, Annotation::block_x);
    s.annotate(1, 1, Annotation::thread_x);
    s.annotate(2, 0, Annotation::thread_x);
    CHECK(exchange_text(s.state()).find("S.lane1[0, 0, tx] = S.acc1[0]") != std::string::npos);
  }
}

TEST_CASE("no barrier of lanes can be left out") {
  for (const std::int64_t threads : {2, 8, 32, 96}) {
    const State state = row_sum_state(2 * threads, threads);
    const KnownResults known(*state.initial_dag());
    LoopProgram program = lowered(state, gpu_target());
    std::vector<StmtId> barriers;
    find_barriers(program, program.body, barriers);
    CHECK(!barriers.empty());
    for (StmtId id : barriers) {
      const Stmt barrier = std::exchange(program.stmts[id.value], Stmt(Seq{}));
      CHECK(known.wrong_with(program, LoopOrder::forward) != "");
      program.stmts[id.value] = barrier;
    }
  }
}
