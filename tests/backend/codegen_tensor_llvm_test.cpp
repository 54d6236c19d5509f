// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Tensor intrinsics in machine code: every way in which operands may lie, tails, and the fallback.
#include "codegen_fixture.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/measure/tolerance.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// How B[k, j] lies in memory.
enum class Layout { groups, rows, columns };

/// What A is read at for a depth of k.
enum class Depth { each, every_other, alternating };

struct Dot {
  const TensorIntrinsic* intrinsic = &vdpbf16ps;
  std::int64_t rows = 3, columns = 48, steps = 5;
  Layout b = Layout::groups;
  bool a_is_transposed = false;
  Depth a = Depth::each;
};

/// C[i, j] += sum over s, g of A[i, s, g] * B[s, g, j], with accumulators in registers.
LoopProgram dot_program(const Dot& d) {
  const TensorIntrinsic& x = *d.intrinsic;
  Maker m;
  const std::int64_t depth = d.steps * x.k;
  using Shape = std::vector<std::int64_t>;
  const BufferId a =
      m.argument("A", x.a, d.a_is_transposed ? Shape{depth, d.rows} : Shape{d.rows, depth});
  const BufferId b = m.argument("B", x.b,
                                d.b == Layout::groups ? Shape{d.steps, d.columns, x.k}
                                : d.b == Layout::rows ? Shape{depth, d.columns}
                                                      : Shape{d.columns, depth});
  const BufferId c = m.argument("C", x.accumulator, {d.rows, d.columns});
  const BufferId acc = m.buffer("acc", x.accumulator, {d.rows, d.columns}, Scope::register_);
  ExprPool& p = m.pool();
  const auto tile = [&](const auto& body) {
    const VarId i = m.var("i"), j = m.var("j");
    const StmtId lanes = m.loop(j, d.columns, ForKind::vectorized, body(m.v(i), m.v(j)));
    return m.loop(i, d.rows, ForKind::unrolled, lanes);
  };
  const VarId s = m.var("s"), g = m.var("g");
  const StmtId first = tile([&](ExprId i, ExprId j) {
    return m.store(acc, {i, j}, m.load(c, {i, j}));
  });
  const StmtId update = tile([&](ExprId i, ExprId j) {
    const ExprId k = p.add(p.mul(m.v(s), m.i(x.k)), m.v(g));
    const ExprId of_a = d.a == Depth::each          ? k
                        : d.a == Depth::every_other ? p.floordiv(k, m.i(2))
                                                    : p.floormod(k, m.i(2));
    const ExprId left = m.load(a, d.a_is_transposed ? ExprList{of_a, i} : ExprList{i, of_a});
    const ExprId right = m.load(b, d.b == Layout::groups ? ExprList{m.v(s), j, m.v(g)}
                                   : d.b == Layout::rows ? ExprList{k, j}
                                                         : ExprList{j, k});
    const ExprId wide = p.cast(x.accumulator, left);
    return m.store(
        acc, {i, j},
        p.add(m.load(acc, {i, j}),
              p.mul(x.a_offset == 0 ? wide : p.add(wide, p.int_imm(x.a_offset, x.accumulator)),
                    p.cast(x.accumulator, right))));
  });
  const StmtId last = tile([&](ExprId i, ExprId j) {
    return m.store(c, {i, j}, m.load(acc, {i, j}));
  });
  const StmtId group = m.p.add(Stmt(For{g, m.i(x.k), ForKind::unrolled, update, d.intrinsic}));
  m.p.body = m.alloc(acc, m.seq({first, m.loop(s, d.steps, ForKind::serial, group), last}));
  return std::move(m.p);
}

std::string znver4_assembly(const LoopProgram& program) {
  LlvmCompiler compiler(*Target::from_name("znver4"));
  const auto text = compiler.assembly(program, "kernel");
  REQUIRE(text);
  return *text;
}

/// The host, if it has the instruction.
bool host_has(const TensorIntrinsic& intrinsic) { return intrinsic.is_available(host_target()); }

constexpr const TensorIntrinsic* intrinsics[] = {&vdpbf16ps, &vpdpbusd, &vpdpbusd_signed};

}  // namespace

TEST_CASE("a group of products is one instruction per vector of accumulators") {
  for (const TensorIntrinsic* intrinsic : intrinsics) {
    const std::string name = intrinsic == &vdpbf16ps ? "\tvdpbf16ps\t" : "\tvpdpbusd\t";
    for (const Layout layout : {Layout::groups, Layout::rows}) {
      Dot d;
      d.intrinsic = intrinsic;
      d.b = layout;
      d.steps = 100;  // stays a loop
      const LoopProgram program = dot_program(d);
      CHECK(verify(program).empty());
      CHECK(count_of(znver4_assembly(program), name) == 9);  // 3 rows of 3 vectors
    }
    Dot d;
    d.intrinsic = intrinsic;
    d.b = Layout::columns;
    d.steps = 100;
    CHECK(count_of(znver4_assembly(dot_program(d)), name) == 0);  // the loops
  }
}

TEST_CASE("tensor intrinsics compute what their loops do, tails and all layouts included") {
  for (const TensorIntrinsic* intrinsic : intrinsics) {
    if (!host_has(*intrinsic)) {
      continue;  // its code cannot run here; what it is, the case above has seen
    }
    for (const Layout layout : {Layout::groups, Layout::rows, Layout::columns}) {
      for (const std::int64_t columns : {1, 3, 4, 7, 16, 35, 64}) {
        for (const bool is_transposed : {false, true}) {
          const LoopProgram program =
              dot_program({intrinsic, 3, columns, 5, layout, is_transposed});
          CounterRng rng(seed(), 78, static_cast<std::uint32_t>(columns));
          INFO(intrinsic->name << ", " << columns << " columns, layout "
                               << static_cast<int>(layout));
          CHECK(difference(program, make_arrays(program, rng, true), host_target()) == "");
        }
      }
    }
  }
}

TEST_CASE("operands that move unevenly through a group run as the loops") {
  for (const TensorIntrinsic* intrinsic : {&vpdpbusd, &vpdpbusd_signed}) {
    for (const Depth depth : {Depth::every_other, Depth::alternating}) {
      const LoopProgram program = dot_program({intrinsic, 2, 32, 5, Layout::groups, false, depth});
      CHECK(count_of(znver4_assembly(program), "\tvpdpbusd\t") == 0);
      CounterRng rng(seed(), 81);
      CHECK(difference(program, make_arrays(program, rng, true), host_target()) == "");
    }
  }
}

TEST_CASE("extreme bytes: sums wrap as those of the interpreter do") {
  if (!host_has(vpdpbusd)) {
    return;
  }
  for (const TensorIntrinsic* intrinsic : {&vpdpbusd, &vpdpbusd_signed}) {
    const LoopProgram program = dot_program({intrinsic, 2, 32, 7});
    CounterRng rng(seed(), 79);
    std::vector<HostArray> arrays = make_arrays(program, rng, true);
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::int64_t e = 0; e < arrays[n].num_elements(); ++e) {
        const IntegerLimits limits = limits_of(arrays[n].dtype);
        arrays[n].set_int(e, rng.next_below(2) == 0 ? limits.low : limits.high);
      }
    }
    CHECK(difference(program, arrays, host_target()) == "");
  }
}

TEST_CASE("products of bf16 keep the bound of a sum in f32") {
  if (!host_has(vdpbf16ps)) {
    return;
  }
  constexpr std::int64_t steps = 200;
  const LoopProgram program = dot_program({&vdpbf16ps, 2, 32, steps});
  CounterRng rng(seed(), 80);
  const std::vector<HostArray> arrays = make_arrays(program, rng);
  std::vector<HostArray> want = arrays;
  REQUIRE(eval(program, want));
  const auto got = run_compiled(program, arrays, host_target());
  REQUIRE(got);
  const OutputTolerance bound = tolerance_for(DType::f32, DType::f32, 2 * steps);
  double squares = 0;
  for (std::int64_t n = 0; n < want[2].num_elements(); ++n) {
    squares += want[2].get_real(n) * want[2].get_real(n);
  }
  const double rms = std::sqrt(squares / static_cast<double>(want[2].num_elements()));
  for (std::int64_t n = 0; n < want[2].num_elements(); ++n) {
    const double exact = want[2].get_real(n);
    CHECK(std::fabs((*got)[2].get_real(n) - exact) <=
          bound.absolute + bound.relative * std::fabs(exact) + bound.of_rms * rms);
  }
}
