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

TEST_CASE("values that taps share do not push accumulators out of registers", "[codegen]") {
  te::Program p;
  auto x = p.placeholder("X", {64, 16});
  auto w = p.placeholder("W", {64, 3, 32});
  auto k = p.reduce_axis("k", 64), tap = p.reduce_axis("tap", 2);
  auto y = p.compute("Y", {14, 32}, [&](auto i, auto c) {
    return te::sum(x(k, i + tap) * w(k, tap, c), {k, tap});
  });
  ScheduleBuilder s(p.dag({x, w, y}));
  s.apply(ReorderStep{2, {2, 3, 0, 1}});
  const Target target = Target::x86_64_v4();
  const auto program = lower(s.state(), target);
  REQUIRE(program);
  const auto text = LlvmCompiler(target).assembly(*program);
  REQUIRE(text);
  std::istringstream lines(*text);
  int num_fma = 0, num_spills = 0;
  for (std::string line; std::getline(lines, line);) {
    num_fma += line.find("vfmadd") != std::string::npos ? 1 : 0;
    num_spills +=
        line.find("(%rsp)") != std::string::npos && line.find("%zmm") != std::string::npos ? 1 : 0;
  }
  CHECK(num_fma == 2 * 28);  // both taps, 28 accumulators
  CHECK(num_spills == 0);
  check_program(*program, 1, true);
}
