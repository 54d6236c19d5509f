// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_sum_lanes.hpp"

#include <string>
#include <vector>

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// C[i, j] = sum over k of A[i, k] * B[j, k]: stages 0 A, 1 B, 2 C.
DagPtr rows_by_rows(std::int64_t m, std::int64_t n, std::int64_t depth, DType type = DType::f32) {
  te::Program p;
  auto a = p.placeholder("A", {m, depth}, type), b = p.placeholder("B", {n, depth}, type);
  auto k = p.reduce_axis("k", depth);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
  return p.dag({a, b, c});
}

/// Tiles of rows x columns behind the reduction, its vectors along that.
ScheduleBuilder sums_in_tiles(DagPtr dag, std::int64_t rows, std::int64_t columns) {
  ScheduleBuilder s(std::move(dag));
  s.split(2, 0, {rows});
  s.split(2, 2, {columns});
  s.reorder(2, {0, 2, 4, 1, 3});
  s.apply(PragmaStep{2, 0, "vectorize_sum"});
  return s;
}

bool has_lanes(const std::string& text) { return text.find("for lane in ") != std::string::npos; }

}  // namespace

TEST_CASE("a tile of vectors of partial sums reads both operands along the sum") {
  CHECK(is_golden(checked_text(sums_in_tiles(rows_by_rows(4, 6, 32), 2, 3).state())));
}

TEST_CASE("tails of tiles and of the sum: what the formulas say") {
  for (const DType type : {DType::f32, DType::i32, DType::f64}) {
    for (const auto& [m, n] :
         {std::pair(1, 1), std::pair(3, 7), std::pair(5, 4), std::pair(4, 9)}) {
      for (const std::int64_t depth : {4, 7, 8, 31, 70}) {
        for (const auto& [rows, columns] : {std::pair(1, 3), std::pair(2, 2), std::pair(4, 3)}) {
          INFO(name_of(type) << ", " << m << " x " << n << " x " << depth << ", tiles of " << rows
                             << " x " << columns);
          CHECK(has_lanes(
              checked_text(sums_in_tiles(rows_by_rows(m, n, depth, type), rows, columns).state())));
        }
      }
    }
  }
}

TEST_CASE("tiles that find no registers are cut, those that do have as many vectors as fit") {
  const auto accumulators = [](std::int64_t rows, std::int64_t columns, const Target& target) {
    const std::string text =
        checked_text(sums_in_tiles(rows_by_rows(16, 16, 256), rows, columns).state(), target);
    const std::size_t at = text.find("C.acc: f32[") + 11;
    return text.substr(at, text.find(']', at) - at);
  };
  CHECK(accumulators(1, 1, Target::x86_64_v3()) == "1, 1, 32");
  CHECK(accumulators(2, 2, Target::x86_64_v3()) == "2, 2, 16");
  CHECK(accumulators(4, 2, Target::x86_64_v3()) == "4, 2, 8");
  CHECK(accumulators(4, 4, Target::x86_64_v3()) == "2, 4, 8");
  CHECK(accumulators(4, 4, Target::x86_64_v4()) == "4, 4, 16");
}

TEST_CASE("where the sum cannot be taken in parts the pragma means nothing") {
  ScheduleBuilder outside(rows_by_rows(4, 6, 64));  // k.0 around the tile
  outside.split(2, 2, {16});
  outside.reorder(2, {2, 0, 3, 1});
  outside.apply(PragmaStep{2, 0, "vectorize_sum"});
  CHECK_FALSE(has_lanes(checked_text(outside.state())));
  te::Program p;
  auto a = p.placeholder("A", {4, 64}), b = p.placeholder("B", {64, 6});
  auto k = p.reduce_axis("k", 64);
  auto c = p.compute("C", {4, 6}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  CHECK_FALSE(
      has_lanes(checked_text(sums_in_tiles(p.dag({a, b, c}), 2, 3).state())));  // b has gaps
}

TEST_CASE("an intrinsic has its groups in the lanes of the sum, where they divide it") {
  const auto narrow = [](DType a, DType b, DType sum, std::int64_t depth, const char* intrinsic,
                         const Target& target) {
    te::Program p;
    auto x = p.placeholder("A", {3, depth}, a), y = p.placeholder("B", {5, depth}, b);
    auto k = p.reduce_axis("k", depth);
    auto c = p.compute("C", {3, 5}, [&](auto i, auto j) {
      return te::sum(te::cast(sum, x(i, k)) * te::cast(sum, y(j, k)), {k});
    });
    ScheduleBuilder s = sums_in_tiles(p.dag({x, y, c}), 2, 2);
    s.apply(PragmaStep{2, 0, "tensorize$" + std::string(intrinsic)});
    return checked_text(s.state(), target);
  };
  const Target v3 = Target::x86_64_v3(), znver4 = *Target::from_name("znver4");
  for (const DType a : {DType::i8, DType::u8}) {
    for (const DType b : {DType::i8, DType::u8}) {
      const std::string text = narrow(a, b, DType::i32, 64, "vpmaddwd", v3);
      CHECK(text.find("for x in 2 unrolled as vpmaddwd:") != std::string::npos);
      CHECK(text.find(" in 16 vectorized:") != std::string::npos);  // of pairs: 32 of the sum
    }
  }
  const std::string bf16 = narrow(DType::bf16, DType::bf16, DType::f32, 96, "vdpbf16ps", znver4);
  CHECK(bf16.find("as vdpbf16ps:") != std::string::npos);
  const std::string bytes = narrow(DType::u8, DType::i8, DType::i32, 256, "vpdpbusd", znver4);
  CHECK(bytes.find("as vpdpbusd:") != std::string::npos);
  // Other lengths, and what needs sums of its own for an offset: the loops.
  CHECK(narrow(DType::i8, DType::i8, DType::i32, 70, "vpmaddwd", v3).find(" as ") ==
        std::string::npos);
  const std::string offset =
      narrow(DType::i8, DType::i8, DType::i32, 256, "vpdpbusd_signed", znver4);
  CHECK(offset.find(" as ") == std::string::npos);
}
