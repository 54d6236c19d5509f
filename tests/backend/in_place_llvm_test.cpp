// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Results in the memory of an input: which inputs allow it. That results are the same there is part
// of run_compiled, so it is checked for every program of these tests.
#include "codegen_fixture.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

State with_inlined_stages(State state) {
  for (std::size_t stage = state.num_stages() - 1; stage-- > 0;) {
    State inlined = state;
    if (!try_apply(inlined, ComputeInlineStep{static_cast<std::int32_t>(stage)})) {
      state = std::move(inlined);
    }
  }
  return state;
}

using Places = std::vector<std::int32_t>;

Places overwritable(const LoopProgram& program, bool is_serial = true) {
  LlvmCompiler compiler(host_target(), LlvmOptions{.is_serial = is_serial});
  const auto object = compiler.compile(program);
  REQUIRE(object);
  return object->overwritable;
}

/// x, y and out of 40 elements, and a loop over them.
struct Elementwise : Maker {
  BufferId x = argument("x", DType::f32, {40});
  BufferId y = argument("y", DType::f32, {40});
  BufferId out = argument("out", DType::f32, {40});
  VarId j = var("j");

  ExprId sum() { return pool().add(load(x, {v(j)}), load(y, {v(j)})); }
  Places places(StmtId body, ForKind kind = ForKind::serial) {
    p.body = loop(j, 40, kind, body);
    check_program(p, 2);
    return overwritable(p);
  }
};

/// Of the workload with everything in its last stage that can be.
Places places_of(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  const State state = with_inlined_stages(State::initial(workload->dag));
  const auto program = lower(state, host_target());
  REQUIRE(program);
  check_program(*program, 2);
  return overwritable(*program);
}

}  // namespace

TEST_CASE("what is read where the result is written may be overwritten", "[codegen]") {
  for (const ForKind kind : {ForKind::serial, ForKind::vectorized, ForKind::parallel}) {
    Elementwise m;
    CHECK(m.places(m.store(m.out, {m.v(m.j)}, m.sum()), kind) == Places{0, 1});
  }
}

TEST_CASE("what is read elsewhere, twice, or not with every store may not", "[codegen]") {
  {
    Elementwise m;
    const ExprId mirrored = m.load(m.y, {m.pool().sub(m.i(39), m.v(m.j))});
    const ExprId value = m.pool().add(m.load(m.x, {m.v(m.j)}), mirrored);
    CHECK(m.places(m.store(m.out, {m.v(m.j)}, value)) == Places{0});
  }
  {  // zero first, as partial sums do
    Elementwise m;
    const StmtId body =
        m.seq({m.store(m.out, {m.v(m.j)}, m.f(0.0)), m.store(m.out, {m.v(m.j)}, m.sum())});
    CHECK(m.places(body).empty());
  }
  {  // added to
    Elementwise m;
    const ExprId value = m.pool().add(m.sum(), m.load(m.out, {m.v(m.j)}));
    CHECK(m.places(m.store(m.out, {m.v(m.j)}, value)).empty());
  }
  {  // three times the same element
    Elementwise m;
    const VarId r = m.var("r");
    CHECK(m.places(m.loop(r, 3, ForKind::serial, m.store(m.out, {m.v(m.j)}, m.sum()))).empty());
  }
  {  // decides about another store
    Elementwise m;
    const ExprId is_positive = m.pool().lt(m.f(0.0), m.load(m.x, {m.v(m.j)}));
    const StmtId body = m.branch(is_positive, m.store(m.out, {m.v(m.j)}, m.sum()),
                                 m.store(m.out, {m.v(m.j)}, m.load(m.y, {m.v(m.j)})));
    CHECK(m.places(body) == Places{1});
  }
  {  // two results
    Elementwise m;
    const BufferId other = m.argument("other", DType::f32, {40});
    const StmtId body = m.seq(
        {m.store(m.out, {m.v(m.j)}, m.sum()), m.store(other, {m.v(m.j)}, m.load(m.y, {m.v(m.j)}))});
    CHECK(m.places(body).empty());
  }
}

TEST_CASE("a residual may be overwritten, an operand of a product may not", "[codegen]") {
  CHECK(places_of("gemm:12x12x12:f32,bias,add,relu") == Places{3});
  CHECK(places_of("gemm:12x12x12:f32,bias").empty());
  CHECK(places_of("pointwise:7x20:f32,mul_per_column,add,gelu") == Places{0, 2});
  CHECK(places_of("softmax:5x33").empty());
}

// decisions/0014. What the program gives in place is checked by check_program.
TEST_CASE("a stream larger than the cache fetches ahead where it works in place", "[codegen]") {
  const auto assembly = [](std::int64_t count, ForKind kind, std::int64_t l2_bytes) {
    Maker m;
    const BufferId x = m.argument("x", DType::f32, {count, 64});
    const BufferId y = m.argument("y", DType::f32, {count, 64});
    const BufferId bias = m.argument("bias", DType::f32, {64});
    const BufferId out = m.argument("out", DType::f32, {count, 64});
    const VarId i = m.var("i"), j = m.var("j");
    const ExprList at{m.v(i), m.v(j)};
    const ExprId sum =
        m.pool().add(m.pool().add(m.load(x, at), m.load(bias, {m.v(j)})), m.load(y, at));
    m.p.body = m.loop(i, count, kind, m.loop(j, 64, ForKind::vectorized, m.store(out, at, sum)));
    check_program(m.p, 2);
    Target target = *Target::from_name("znver4");
    target.caches.l2_bytes = l2_bytes;
    LlvmCompiler compiler(target, LlvmOptions{.is_serial = kind == ForKind::serial});
    const auto text = compiler.assembly(m.p);
    REQUIRE(text);
    return *text;
  };
  // Two operands, four lines of a row each; not the bias, and not apart from the inputs.
  CHECK(count_of(assembly(9, ForKind::serial, 2048), "prefetch") == 8);
  CHECK(count_of(assembly(9, ForKind::serial, 1 << 20), "prefetch") == 0);
  CHECK(count_of(assembly(9, ForKind::parallel, 2048), "prefetch") == 0);
}
