// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Tiles in machine code: blocks of rows, odd numbers of them, odd lengths, all types, every target;
// taps that share values.
#include <sstream>

#include "codegen_fixture.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/schedule.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

enum class RowsOf { sum, largest, product_with_vector, two_values };

Shared<const ComputeDag> rows_dag(RowsOf what, std::int64_t rows, std::int64_t columns,
                                  DType type) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns}, type);
  auto k = p.reduce_axis("k", columns);
  if (what == RowsOf::product_with_vector) {
    auto x = p.placeholder("X", {columns}, type);
    auto y = p.compute("Y", {rows}, [&](auto i) { return te::sum(a(i, k) * x(k), {k}); });
    return p.dag({a, x, y});
  }
  if (what == RowsOf::two_values) {
    const CombinerId both =
        p.combiner({type, type}, {te::Expr(0), te::Expr(0)}, [](const auto& x, const auto& y) {
          return std::vector<te::Expr>{te::max(x[0], y[0]), te::min(x[1], y[1])};
        });
    auto s = p.compute_all("S", {rows}, [&](auto i) {
      return te::reduce(both, {a(i, k), a(i, k)}, {k});
    });
    return p.dag({a, s[0], s[1]});
  }
  auto b = p.compute("B", {rows}, [&](auto i) {
    return what == RowsOf::sum ? te::sum(a(i, k), {k}) : te::max(a(i, k), {k});
  });
  return p.dag({a, b});
}

/// The program of blocks of so many rows.
LoopProgram in_blocks(RowsOf what, std::int64_t rows, std::int64_t columns, DType type,
                      std::int64_t block, const Target& target) {
  ScheduleBuilder s(rows_dag(what, rows, columns, type));
  const std::int32_t stage = what == RowsOf::product_with_vector ? 2 : 1;
  s.apply(PragmaStep{stage, 0, "row_block$" + std::to_string(block)});
  auto program = lower(s.state(), target);
  REQUIRE(program.has_value());
  return std::move(program).value();
}

}  // namespace

TEST_CASE("blocks of rows in machine code do what the loop program says") {
  std::int64_t number = 0;
  for (const DType type : all_dtypes) {
    if (type == DType::boolean) {
      continue;
    }
    for (const std::int64_t rows : {1, 3, 5, 37}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 197, 1000}) {
        const std::int64_t block = std::int64_t{2} << (number % 3);
        // Few terms of the small types are exact, so those are compared; extremes always are.
        const bool is_small = bytes_of(type) <= 2 && is_float(type);
        const auto what = is_small ? RowsOf::largest : static_cast<RowsOf>(number % 4);
        ++number;
        INFO(name_of(type) << ", " << rows << " x " << columns << ", block " << block
                           << ", reduction " << static_cast<int>(what));
        const Target target = code_targets()[static_cast<std::size_t>(number / 4 % 4)];
        const LoopProgram program = in_blocks(what, rows, columns, type, block, target);
        CounterRng rng(seed(), 78, static_cast<std::uint32_t>(number));
        CHECK(difference(program, make_arrays(program, rng, true), target) == "");
      }
    }
  }
}

TEST_CASE("accumulators of tiles that fill the registers stay in them", "[codegen]") {
  struct Tile {
    Target target;
    std::int64_t rows, columns, taps;
  };
  const Target wide = Target::x86_64_v4(), narrow = Target::x86_64_v3();
  const std::vector<Tile> tiles = {
      {wide, 14, 32, 2},  {narrow, 14, 8, 1}, {narrow, 14, 8, 3}, {narrow, 13, 8, 2},
      {narrow, 6, 16, 1}, {narrow, 6, 16, 3}, {narrow, 5, 16, 3}, {narrow, 4, 16, 3},
      {narrow, 4, 24, 1}, {narrow, 4, 24, 3}, {narrow, 3, 24, 3}, {narrow, 2, 32, 2},
      {narrow, 6, 13, 1}, {narrow, 6, 15, 2}, {narrow, 4, 23, 1}, {narrow, 5, 11, 3}};
  for (const auto& [target, rows, columns, taps] : tiles) {
    INFO(target.name << ", " << rows << " x " << columns << ", taps that share values: " << taps);
    te::Program p;
    auto x = p.placeholder("X", {64, rows + taps - 1});
    auto w = p.placeholder("W", {64, taps, columns});
    auto k = p.reduce_axis("k", 64), tap = p.reduce_axis("tap", taps);
    auto y = p.compute("Y", {rows, columns}, [&](auto i, auto c) {
      return te::sum(x(k, i + tap) * w(k, tap, c), {k, tap});
    });
    ScheduleBuilder s(p.dag({x, w, y}));
    s.apply(ReorderStep{2, {2, 3, 0, 1}});
    const auto program = lower(s.state(), target);
    REQUIRE(program);
    const auto text = LlvmCompiler(target).assembly(*program);
    REQUIRE(text);
    std::istringstream lines(*text);
    std::int64_t num_fma = 0, num_spills = 0, num_copies = 0;
    for (std::string line; std::getline(lines, line);) {
      const bool is_vector = line.find("\tv") == 0;
      const bool is_move = line.find("\tvmova") == 0 || line.find("\tvmovu") == 0;
      num_fma += line.find("vfmadd") != std::string::npos ? 1 : 0;
      num_spills += is_vector && line.find("(%rsp)") != std::string::npos ? 1 : 0;
      num_copies += is_move && line.find('(') == std::string::npos ? 1 : 0;
    }
    const std::int64_t lanes = target.vector_bits / 32;
    CHECK(num_fma == taps * rows * ((columns + lanes - 1) / lanes));
    CHECK(num_spills == 0);
    CHECK(num_copies == 0);
    check_program(*program, 1, true);
  }
}
