// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Tiles of vectors of partial sums in machine code: odd shapes, all types, every target.
#include "codegen_fixture.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/schedule.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Rows {
  std::int64_t m = 4, n = 6, depth = 64, rows = 4, columns = 3;
};

/// C[i, j] = sum over k of A[i, k] * B[j, k], added up in `sum`, by an intrinsic if one is named.
LoopProgram rows_by_rows(const Rows& r, DType type, DType sum, const Target& target,
                         const std::string& intrinsic = "") {
  te::Program p;
  auto a = p.placeholder("A", {r.m, r.depth}, type), b = p.placeholder("B", {r.n, r.depth}, type);
  auto k = p.reduce_axis("k", r.depth);
  auto c = p.compute("C", {r.m, r.n}, [&](auto i, auto j) {
    return te::sum(te::cast(sum, a(i, k)) * te::cast(sum, b(j, k)), {k});
  });
  ScheduleBuilder s(p.dag({a, b, c}));
  s.split(2, 0, {r.rows});
  s.split(2, 2, {r.columns});
  s.reorder(2, {0, 2, 4, 1, 3});
  s.apply(PragmaStep{2, 0, "vectorize_sum"});
  if (!intrinsic.empty()) {
    s.apply(PragmaStep{2, 0, "tensorize$" + intrinsic});
  }
  auto program = lower(s.state(), target);
  REQUIRE(program.has_value());
  return std::move(program).value();
}

}  // namespace

TEST_CASE("sums in vectors of partial results in machine code do what the loop program says") {
  std::uint32_t number = 0;
  for (const auto& [type, sum] :
       {std::pair(DType::f32, DType::f32), std::pair(DType::f64, DType::f64),
        std::pair(DType::i32, DType::i32), std::pair(DType::i8, DType::i32),
        std::pair(DType::u8, DType::i32), std::pair(DType::f16, DType::f32),
        std::pair(DType::bf16, DType::f32)}) {
    for (const Rows& r : {Rows{1, 1, 40, 1, 1}, Rows{3, 7, 33, 2, 3}, Rows{4, 9, 128, 4, 2},
                          Rows{5, 5, 199, 4, 4}, Rows{2, 16, 1000, 2, 6}}) {
      const Target target = code_targets()[number % 4];
      INFO(name_of(type) << ", " << r.m << " x " << r.n << " x " << r.depth << " for "
                         << target.name);
      const LoopProgram program = rows_by_rows(r, type, sum, target);
      CounterRng rng(seed(), 79, number++);
      CHECK(difference(program, make_arrays(program, rng, true), target) == "");
    }
  }
}

TEST_CASE("the tile multiplies vectors and gathers nothing", "[codegen]") {
  for (const DType type : {DType::f32, DType::f16}) {
    const Target target = Target::x86_64_v3();
    const LoopProgram program = rows_by_rows({4, 6, 2048, 4, 2}, type, DType::f32, target);
    const auto text = LlvmCompiler(target).assembly(program);
    REQUIRE(text);
    CHECK(count_of(*text, "vfmadd") == 8);
    CHECK(count_of(*text, "gather") == 0);
    CHECK(count_of(*text, "vpinsr") == 0);
    CHECK(count_of(*text, "vbroadcast") == 0);
  }
}

TEST_CASE("pairs of bytes and of bf16 along the sum are one instruction", "[codegen]") {
  for (const DType type : {DType::i8, DType::u8}) {
    for (const Target& target : {Target::x86_64_v2(), Target::x86_64_v3(), Target::x86_64_v4()}) {
      const LoopProgram program =
          rows_by_rows({5, 7, 2048, 2, 2}, type, DType::i32, target, "vpmaddwd");
      const auto text = LlvmCompiler(target).assembly(program);
      REQUIRE(text);
      CHECK(count_of(*text, "pmaddwd") >= 4);
      CHECK(count_of(*text, "pmulld") == 0);
      CounterRng rng(seed(), 83, static_cast<std::uint32_t>(target.vector_bits));
      std::vector<HostArray> arrays = make_arrays(program, rng, true);
      for (std::size_t n = 0; n < 2; ++n) {  // both ends of the range
        const IntegerLimits limits = limits_of(type);
        for (std::int64_t e = 0; e < arrays[n].num_elements(); ++e) {
          arrays[n].set_int(e, rng.next_below(2) == 0 ? limits.low : limits.high);
        }
      }
      CHECK(difference(program, arrays, target) == "");
    }
  }
  const Target znver4 = *Target::from_name("znver4");
  const LoopProgram bf16 =
      rows_by_rows({4, 6, 2048, 4, 2}, DType::bf16, DType::f32, znver4, "vdpbf16ps");
  const auto text = LlvmCompiler(znver4).assembly(bf16);
  REQUIRE(text);
  CHECK(count_of(*text, "\tvdpbf16ps\t") == 16);  // two vectors for each of 4 x 2
}
