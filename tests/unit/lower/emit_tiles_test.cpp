// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics in tile registers: which programs keep their loops for them.
#include "lower_fixtures.hpp"
#include "tensorsmith/lower/emit_tensor.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

const Target& with_tiles() {
  static const Target target = *Target::from_name("sapphirerapids");
  return target;
}

/// C[b, m, n] = sum over k of A * B, B in groups of two along k; stages 0 A, 1 B, 2 C.
DagPtr grouped_product(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t extent) {
  te::Program p;
  auto A = p.placeholder("A", {batch, m, extent}, DType::bf16);
  auto B = p.placeholder("B", {batch, (extent + 1) / 2, n, 2}, DType::bf16);
  auto k = p.reduce_axis("k", extent);
  auto C = p.compute("C", {batch, m, n}, [&](auto b, auto i, auto j) {
    return te::sum(te::cast(DType::f32, A(b, i, k)) *
                       te::cast(DType::f32, B(b, te::floordiv(k, 2), j, te::floormod(k, 2))),
                   {k});
  });
  return p.dag({A, B, C});
}

/// Loops of the batch, rows and columns, the sum, and the tile.
State tiled_product(const DagPtr& dag, std::int64_t rows, std::int64_t columns) {
  ScheduleBuilder s(dag);
  s.split(2, 1, {rows});
  s.split(2, 3, {columns});
  s.reorder(2, {0, 1, 3, 5, 2, 4});
  State state = s.state();
  REQUIRE(!try_apply(state, PragmaStep{2, 0, "tensorize$tdpbf16ps"}));
  return state;
}

bool is_tiled(const State& state, const Target& target = with_tiles()) {
  return checked_text(state, target).find(" as tdpbf16ps") != std::string::npos;
}

}  // namespace

TEST_CASE("a tile for tile registers keeps its loops, and its accumulators have addresses") {
  CHECK(checked_text(tiled_product(grouped_product(1, 32, 32, 64), 32, 32), with_tiles()) == R"(
C.acc: f32[32, 32] local
alloc C.acc:
  for j.1 in 32:
    for l.1 in 32 vectorized:
      C.acc[j.1, l.1] = 0.0
  for k in 2:
    for x in 32 as tdpbf16ps:
      for j.1 in 32:
        for l.1 in 32 vectorized:
          C.acc[j.1, l.1] = C.acc[j.1, l.1] + f32(A[0, j.1, k*32 + x])*f32(B[0, k*16 + floordiv(x, 2), l.1, floormod(x, 2)])
  for j.1 in 32:
    for l.1 in 32 vectorized:
      C[0, j.1, l.1] = C.acc[j.1, l.1]
)");
}

TEST_CASE("tails of rows, columns and sums run as loops behind the whole tiles") {
  for (const auto& [m, n, extent] : {std::tuple(40, 32, 64), std::tuple(32, 40, 64),
                                     std::tuple(32, 32, 72), std::tuple(40, 40, 72)}) {
    INFO(m << " x " << n << " x " << extent);
    const DagPtr dag = grouped_product(2, m, n, extent);
    CHECK(is_tiled(tiled_product(dag, 32, 32)));
    CHECK(is_tiled(tiled_product(dag, 16, 16)));
  }
}

TEST_CASE("what fills no tiles runs as if there were none") {
  const DagPtr dag = grouped_product(1, 96, 96, 64);
  for (const auto& [rows, columns, fits] :
       {std::tuple(16, 16, true), std::tuple(16, 96, true), std::tuple(96, 16, true),
        std::tuple(48, 32, false), std::tuple(24, 32, false), std::tuple(32, 24, false),
        std::tuple(1, 32, false)}) {
    INFO(rows << " x " << columns);
    CHECK(is_tiled(tiled_product(dag, rows, columns)) == fits);
  }
  const State state = tiled_product(dag, 32, 32);
  CHECK(!is_tiled(state, *Target::from_name("znver4")));
  CHECK(!is_tiled(state, Target::x86_64_v3()));
  Target refused = with_tiles();
  refused.llvm_features += ",-amx-tile";
  CHECK(!is_tiled(state, refused));
  Target level = Target::x86_64_v4();
  level.llvm_features += ",+amx-tile,+amx-bf16";
  CHECK(is_tiled(state, level));
  CHECK(!is_tiled(tiled_product(grouped_product(1, 32, 32, 31), 32, 32)));
}
