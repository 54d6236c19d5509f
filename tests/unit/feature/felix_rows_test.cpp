// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/feature/felix_rows.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/feature/felix_range.hpp"
#include "tensorsmith/feature/felix_schedule.hpp"
#include "tensorsmith/ir/algebra/bounds.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using tensorsmith::test::Approx;

namespace {

FelixRows felix_rows_of_state(State state) {
  REQUIRE(!try_infer_bounds(state));
  const ProgramView view(state);
  return felix_rows_of(view, FeatureContext());
}

/// ln(1 + x) undone.
double raw(const FelixRows& rows, std::size_t row, std::size_t column) {
  return std::expm1(rows.values[row * felix_length + column]);
}

}  // namespace

TEST_CASE("reuse and lines of a sum over rows", "[feature][felix]") {
  te::Program p;  // conformance test C15
  auto A = p.placeholder("A", {8, 16}, DType::f32);
  auto k = p.reduce_axis("k", 16);
  auto C = p.compute("C", {8}, [&](auto i) { return te::sum(A(i, k), {k}); });
  const FelixRows rows = felix_rows_of_state(State::initial(p.dag({A, C})));
  REQUIRE(rows.tensors.size() == 1);
  CHECK(rows.is_known);
  const auto of = [&](std::size_t buffer, BufferColumn c) {
    return raw(rows, 0, felix_column(buffer, c));
  };
  const auto flag = [&](std::size_t buffer, BufferColumn c) {
    return rows.values[felix_column(buffer, c)];
  };
  // A stands first: slots are in the order of names.
  CHECK(flag(0, BufferColumn::acc_read) == 1);
  CHECK(flag(0, BufferColumn::reuse_no_reuse) == 1);
  CHECK(of(0, BufferColumn::reuse_ct) == Approx(1));  // D17; 0 in the Ansor reference
  CHECK(of(0, BufferColumn::lines) == Approx(1));     // D19; 8 in the Ansor reference
  CHECK(flag(1, BufferColumn::acc_read_write) == 1);
  CHECK(flag(1, BufferColumn::reuse_loop_multiple_read) == 1);
  CHECK(of(1, BufferColumn::reuse_ct) == Approx(16));
  CHECK(of(1, BufferColumn::reuse_dis_iter) == Approx(1));
  CHECK(of(1, BufferColumn::reuse_dis_bytes) == Approx(8));
  CHECK(flag(2, BufferColumn::acc_read) == 1);  // D16: a slot without a buffer
  CHECK(of(2, BufferColumn::bytes) == 0);
  CHECK(rows.values[felix_column(HeadColumn::is_gpu)] == 0);
  CHECK(raw(rows, 0, felix_column(TailColumn::num_loops)) == Approx(2));
  CHECK(raw(rows, 0, felix_column(TailColumn::outer_prod)) == Approx(128));
  CHECK(raw(rows, 0, felix_column(HeadColumn::float_addsub)) == Approx(128));
}

TEST_CASE("places that are read twice count twice", "[feature][felix]") {
  te::Program p;
  auto A = p.placeholder("A", {8, 16}, DType::f32);
  auto B = p.compute("B", {8, 16}, [&](auto i, auto j) { return A(i, j) * A(i, j); });
  const FelixRows rows = felix_rows_of_state(State::initial(p.dag({A, B})));
  REQUIRE(rows.tensors.size() == 1);
  // D18: 16 for each of the two reads instead of 8 times 16.
  CHECK(raw(rows, 0, felix_column(0, BufferColumn::unique_bytes)) == Approx(16 * 16 * 4));
  CHECK(raw(rows, 0, felix_column(1, BufferColumn::unique_bytes)) == Approx(8 * 16 * 4));
}

TEST_CASE("Felix's ranges hold what indices of loops can be", "[feature][felix]") {
  CounterRng rng(3, 0, 0, 0);
  algebra::Pool pool;
  std::vector<algebra::Ref> nodes;
  std::vector<std::int32_t> vars;
  for (int v = 0; v < 3; ++v) {
    vars.push_back(pool.new_var());
    nodes.push_back(pool.var(vars.back()));
  }
  nodes.push_back(pool.integer(3));
  nodes.push_back(pool.integer(4));
  const algebra::Op ops[] = {algebra::Op::add,      algebra::Op::mul, algebra::Op::floordiv,
                             algebra::Op::floormod, algebra::Op::min, algebra::Op::max};
  for (int i = 0; i < 60; ++i) {
    const algebra::Op op = ops[rng.next_below(6)];
    const bool divides = op == algebra::Op::floordiv || op == algebra::Op::floormod;
    const algebra::Ref a = nodes[rng.next_below(static_cast<std::uint32_t>(nodes.size()))];
    const algebra::Ref b = divides ? nodes[3 + rng.next_below(2)] : nodes[rng.next_below(5)];
    nodes.push_back(pool.raw(op, a, b));
  }
  detail::FelixRanges ranges(pool);
  algebra::Remembered<algebra::Bound> known;
  algebra::Bounds bounds(pool, known);
  for (std::size_t v = 0; v < vars.size(); ++v) {
    const std::int64_t last = 1 + rng.next_below(9);
    ranges.bind(vars[v], {0, last});
    bounds.bind(vars[v], algebra::Bound{0, last});
  }
  for (const algebra::Ref node : nodes) {
    const detail::FelixRange range = ranges(node);
    CHECK(range.min <= bounds(node).min);
    CHECK(range.max >= bounds(node).max);
  }
  CHECK(ranges.is_known());
  (void)ranges(pool.raw(algebra::Op::lt, nodes[0], nodes[1]));
  CHECK(!ranges.is_known());
}

TEST_CASE("limits of a kernel allow what equals them", "[feature][felix]") {
  const HardwareParams hardware{-1, 16, 64, 49152, INT32_MAX, 1024, 8, 32};
  // Conformance test C9 and defect D23; D8 and D9: kernels, threads and virtual threads apart.
  FelixLimits limits{{{1024, 8, 49152, 64}, {1024, 0, 0, 0}}, {2, 4}, 16};
  CHECK(limits.keeps(hardware));
  CHECK(limits.shared_bytes() == 49152);
  CHECK(!FelixLimits{{{1025, 0, 0, 0}}, {}, 0}.keeps(hardware));
  CHECK(!FelixLimits{{{32, 17, 0, 0}}, {}, 0}.keeps(hardware));
  CHECK(!FelixLimits{{{32, 1, 49153, 0}}, {}, 0}.keeps(hardware));
  CHECK(!FelixLimits{{}, {8}, 32}.keeps(hardware));
}
