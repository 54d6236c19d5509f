// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Products of bytes of either sign by instructions that multiply pairs of 16 bits: whole ranges of
// values, all ways in which operands may lie, odd shapes, every width of vectors.
#include "codegen_fixture.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/schedule.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

enum class Copies { none, narrow, wide };

struct Product {
  DType a = DType::i8, b = DType::i8;
  std::int64_t m = 5, n = 40, depth = 37, rows = 3, columns = 16;
  bool b_is_transposed = false;
  Copies copies = Copies::none;
};

/// C[i, j] = sum over k of i32(A[i, k]) * i32(B[k, j]) in tiles of rows x columns.
LoopProgram product_program(const Product& d, const Target& target) {
  te::Program p;
  auto a = p.placeholder("A", {d.m, d.depth}, d.a);
  auto b = d.b_is_transposed ? p.placeholder("B", {d.n, d.depth}, d.b)
                             : p.placeholder("B", {d.depth, d.n}, d.b);
  auto k = p.reduce_axis("k", d.depth);
  auto c = p.compute("C", {d.m, d.n}, [&](auto i, auto j) {
    const auto right = d.b_is_transposed ? b(j, k) : b(k, j);
    return te::sum(te::cast(DType::i32, a(i, k)) * te::cast(DType::i32, right), {k});
  });
  ScheduleBuilder s(p.dag({a, b, c}));
  std::int32_t stage = 2;
  if (d.copies != Copies::none) {  // groups of two along k come last
    const std::string scope = d.copies == Copies::wide ? "widened" : "packed";
    s.apply(CacheReadStep{0, scope, {stage++}});
    s.apply(StorageLayoutStep{1, {0, 2}, {0, 2, 3}, 0});
    s.apply(CacheReadStep{2, scope, {stage++}});
    s.apply(d.b_is_transposed ? StorageLayoutStep{3, {d.columns, 2}, {0, 2, 1, 3}, 0}
                              : StorageLayoutStep{3, {2, d.columns}, {2, 0, 3, 1}, 0});
  }
  s.split(stage, 0, {d.rows});
  s.split(stage, 2, {d.columns});
  s.reorder(stage, {0, 2, 4, 1, 3});
  s.apply(PragmaStep{stage, 0, "tensorize$vpmaddwd"});
  auto program = lower(s.state(), target);
  REQUIRE(program.has_value());
  return std::move(program).value();
}

/// Targets without instructions for bytes: vectors of 128, 256 and 512 bits.
std::vector<Target> targets() {
  return {Target::x86_64_v2(), Target::x86_64_v3(), Target::x86_64_v4()};
}

constexpr std::pair<DType, DType> all_types[] = {
    {DType::i8, DType::i8}, {DType::u8, DType::i8}, {DType::i8, DType::u8}, {DType::u8, DType::u8}};

}  // namespace

TEST_CASE("products of bytes are exact for whole ranges, wherever operands lie") {
  std::uint32_t number = 0;
  for (const auto& [a, b] : all_types) {
    for (const Copies copies : {Copies::none, Copies::narrow, Copies::wide}) {
      for (const bool is_transposed : {false, true}) {
        for (const auto& [n, columns] : {std::pair(40, 16), std::pair(37, 12), std::pair(3, 3)}) {
          const Target target = targets()[number++ % 3];
          INFO(name_of(a) << " x " << name_of(b) << ", copies " << static_cast<int>(copies)
                          << (is_transposed ? ", transposed" : "") << ", " << n << " columns for "
                          << target.name);
          const LoopProgram program =
              product_program({a, b, 5, n, 37, 3, columns, is_transposed, copies}, target);
          CounterRng rng(seed(), 82, number);
          std::vector<HostArray> arrays = make_arrays(program, rng, true);
          for (std::size_t i = 0; i < 2; ++i) {  // the ends of the range every other time
            const IntegerLimits limits = limits_of(arrays[i].dtype);
            for (std::int64_t e = 0; e < arrays[i].num_elements(); ++e) {
              const std::uint32_t drawn = rng.next_below(4);
              const auto inside = static_cast<std::int64_t>(rng.next_below(256)) + limits.low;
              arrays[i].set_int(e, drawn == 0 ? limits.low : drawn == 1 ? limits.high : inside);
            }
          }
          CHECK(difference(program, arrays, target) == "");
        }
      }
    }
  }
}

TEST_CASE("a step of a tile is an instruction per vector, and a load of what is extended already",
          "[codegen]") {
  for (const auto& [a, b] : all_types) {
    for (const Copies copies : {Copies::none, Copies::narrow, Copies::wide}) {
      const LoopProgram program =
          product_program({a, b, 6, 64, 512, 3, 16, false, copies}, Target::x86_64_v3());
      const auto text = LlvmCompiler(Target::x86_64_v3()).assembly(program);
      REQUIRE(text);
      CHECK(count_of(*text, "\tvpmaddwd\t") == 6);  // 3 rows of 2 vectors
      CHECK(count_of(*text, "\tvpmulld\t") == 0);
      const bool extends_pairs = count_of(*text, "\tvpbroadcastw\t") > 0;
      CHECK(extends_pairs == (copies != Copies::wide));
    }
  }
}

TEST_CASE("machines that multiply bytes have no use for it") {
  for (const char* name : {"znver4", "icelake-server", "sapphirerapids"}) {
    CHECK_FALSE(vpmaddwd.is_available(*Target::from_name(name)));
  }
  for (const char* name : {"haswell", "znver3", "skylake-avx512", "x86-64-v2", "alderlake"}) {
    CHECK(vpmaddwd.is_available(*Target::from_name(name)));
  }
  CHECK_FALSE(vpmaddwd.is_available(*Target::from_name("ivybridge")));  // no integers of 256 bits
}
