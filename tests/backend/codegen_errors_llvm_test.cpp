// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Programs that cannot be compiled give a reason, and the compiler works on afterwards.
#include <functional>

#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

using Fill = std::function<void(Maker&, BufferId out, VarId i)>;

/// The reason why this program is refused, "" if it is not.
std::string refusal(const Fill& build) {
  Maker m;
  const BufferId out = m.argument("out", DType::f32, {16});
  const VarId i = m.var("i");
  build(m, out, i);
  LlvmOptions options;
  options.verify_module = true;
  LlvmCompiler compiler(host_target(), options);
  const auto object = compiler.compile(m.p);
  Maker good;
  const BufferId o = good.argument("out", DType::f32, {16});
  good.p.body = good.store(o, {good.i(3)}, good.f(1.0));
  CHECK(compiler.compile(good.p));  // after a failure too
  return object ? "" : object.error();
}

void check_refused(const std::string& words, const Fill& build) {
  CHECK_THAT(refusal(build), Catch::Matchers::Contains(words));
}

}  // namespace

TEST_CASE("malformed programs are refused with a reason", "[codegen]") {
  check_refused("outside its loop", [](Maker& m, BufferId out, VarId i) {
    m.p.body = m.store(out, {m.v(i)}, m.f(1.0));
  });
  check_refused("dimensions", [](Maker& m, BufferId out, VarId i) {
    m.p.body = m.loop(i, 4, ForKind::serial, m.store(out, {m.v(i), m.v(i)}, m.f(1.0)));
  });
  check_refused("buffer number", [](Maker& m, BufferId, VarId) {
    m.p.body = m.store(BufferId{9}, {m.i(0)}, m.f(1.0));
  });
  check_refused("outside its Alloc", [](Maker& m, BufferId, VarId) {
    const BufferId t = m.buffer("t", DType::f32, {4}, Scope::local);
    m.p.body = m.store(t, {m.i(0)}, m.f(1.0));
  });
  check_refused("must be constant", [](Maker& m, BufferId out, VarId i) {
    const VarId j = m.var("j");
    const StmtId inner = m.loop(j, m.v(i), ForKind::unrolled, m.store(out, {m.v(j)}, m.f(1.0)));
    m.p.body = m.loop(i, 4, ForKind::serial, inner);
  });
  check_refused("must be constant", [](Maker& m, BufferId out, VarId i) {
    const VarId j = m.var("j");
    const StmtId inner = m.loop(j, m.v(i), ForKind::vectorized, m.store(out, {m.v(j)}, m.f(1.0)));
    m.p.body = m.loop(i, 4, ForKind::serial, inner);
  });
  check_refused("GPU", [](Maker& m, BufferId out, VarId i) {
    m.p.body = m.loop(i, 4, ForKind::thread_x, m.store(out, {m.v(i)}, m.f(1.0)));
  });
  check_refused("not unrolled", [](Maker& m, BufferId out, VarId i) {
    const BufferId r = m.buffer("r", DType::f32, {16}, Scope::register_);
    m.p.body = m.alloc(r, m.loop(i, 16, ForKind::serial,
                                 m.seq({m.store(r, {m.v(i)}, m.f(1.0)),
                                        m.store(out, {m.v(i)}, m.load(r, {m.v(i)}))})));
  });
  check_refused("parallel iterations", [](Maker& m, BufferId out, VarId i) {
    const BufferId r = m.buffer("r", DType::f32, {1}, Scope::register_);
    m.p.body =
        m.alloc(r, m.loop(i, 16, ForKind::parallel, m.store(out, {m.v(i)}, m.load(r, {m.i(0)}))));
  });
  check_refused("a real is stored", [](Maker& m, BufferId out, VarId i) {
    m.p.body = m.loop(i, 4, ForKind::serial, m.store(out, {m.v(i)}, m.v(i)));
  });
  check_refused("another element type", [](Maker& m, BufferId out, VarId i) {
    const ExprId wrong = m.pool().load(out, DType::f64, {m.v(i)});
    m.p.body = m.loop(i, 4, ForKind::serial, m.store(out, {m.v(i)}, wrong));
  });
  check_refused("tensor expression", [](Maker& m, BufferId out, VarId i) {
    const ExprId read = m.pool().read(TensorId{0}, DType::f32, {m.v(i)});
    m.p.body = m.loop(i, 4, ForKind::serial, m.store(out, {m.v(i)}, read));
  });
  check_refused("division by zero", [](Maker& m, BufferId out, VarId i) {
    const ExprId at = m.pool().floordiv(m.v(i), m.i(0));
    m.p.body = m.loop(i, 4, ForKind::serial, m.store(out, {at}, m.f(1.0)));
  });
  check_refused("already in use", [](Maker& m, BufferId out, VarId i) {
    const StmtId inner = m.loop(i, 4, ForKind::serial, m.store(out, {m.v(i)}, m.f(1.0)));
    m.p.body = m.loop(i, 4, ForKind::serial, inner);
  });
  check_refused("allocated twice", [](Maker& m, BufferId out, VarId) {
    const BufferId t = m.buffer("t", DType::f32, {4}, Scope::local);
    m.p.body = m.alloc(t, m.alloc(t, m.store(out, {m.i(0)}, m.f(1.0))));
  });
  check_refused("Alloc of argument", [](Maker& m, BufferId out, VarId) {
    m.p.body = m.alloc(out, m.store(out, {m.i(0)}, m.f(1.0)));
  });
  check_refused("a statement is missing", [](Maker& m, BufferId, VarId) { m.p.body = StmtId{}; });
  check_refused("contains itself", [](Maker& m, BufferId, VarId) {
    m.p.body = m.seq({});
    std::get<Seq>(m.p.stmts[m.p.body.value]).items.push_back(m.p.body);
  });
  check_refused("larger than", [](Maker& m, BufferId out, VarId i) {
    m.p.body = m.loop(i, 100'000'000, ForKind::unrolled, m.store(out, {m.i(0)}, m.f(1.0)));
  });
}

TEST_CASE("other targets and entry names are refused with a reason", "[codegen]") {
  Maker m;
  const BufferId out = m.argument("out", DType::f32, {1});
  m.p.body = m.store(out, {m.i(0)}, m.f(1.0));
  LlvmCompiler cuda(*Target::cuda(90));
  const auto object = cuda.compile(m.p);
  REQUIRE_FALSE(object);
  CHECK_THAT(object.error(), Catch::Matchers::Contains("sm_90"));
  CHECK_FALSE(cuda.assembly(m.p));
  LlvmCompiler compiler(host_target());
  const CompiledBatch twice = compiler.compile_batch({{&m.p, "same"}, {&m.p, "same"}});
  CHECK(twice.kernels[0]);
  CHECK_FALSE(twice.kernels[1]);
  CompiledObject broken;
  broken.object = "this is no object file";
  broken.entry = "kernel";
  CHECK_FALSE(JitKernel::load(broken));
  CompiledObject nameless = *compiler.compile(m.p, "kernel");
  nameless.entry = "another";
  CHECK_FALSE(JitKernel::load(nameless));
  CHECK(compiler.llvm_ir(m.p)->find("define void @kernel(") != std::string::npos);
}

TEST_CASE("named levels stay within their instructions", "[codegen]") {
  Maker m;
  const BufferId x = m.argument("x", DType::f16, {100});
  const BufferId out = m.argument("out", DType::f32, {100});
  const VarId j = m.var("j");
  const ExprId value = m.pool().cast(DType::f32, m.load(x, {m.v(j)}));
  const ExprId sum = m.pool().add(m.pool().mul(value, value), m.pool().call(CallOp::exp, {value}));
  m.p.body = m.loop(j, 100, ForKind::vectorized, m.store(out, {m.v(j)}, sum));
  const auto text_for = [&](const Target& target) {
    LlvmCompiler compiler(target);
    const auto text = compiler.assembly(m.p);
    REQUIRE(text);
    return *text;
  };
  const auto contains = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  const std::string v4 = text_for(Target::x86_64_v4());
  const std::string v3 = text_for(Target::x86_64_v3());
  const std::string v2 = text_for(Target::x86_64_v2());
  CHECK(contains(v4, "%zmm"));
  CHECK_FALSE(contains(v3, "%zmm"));
  CHECK(contains(v3, "%ymm"));
  CHECK(contains(v3, "vcvtph2ps"));
  CHECK(contains(v3, "vfmadd"));
  CHECK_FALSE(contains(v2, "%ymm"));
  CHECK_FALSE(contains(v2, "vfmadd"));
  CHECK_FALSE(contains(v2, "callq\t__"));  // no conversion helpers are needed
}
