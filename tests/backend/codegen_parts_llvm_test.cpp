// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Long kernels: many outermost loops, many calls of functions of values.
#include <limits>

#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// `body` with all of the buffers.
StmtId allocated(Maker& m, const std::vector<BufferId>& buffers, StmtId body) {
  for (const BufferId buffer : buffers) {
    body = m.alloc(buffer, body);
  }
  return body;
}

/// Programs of many outermost loops over buffers of equal shapes, most of them like another one.
class ManyLoops {
 public:
  ManyLoops(CounterRng& rng, std::int64_t n) : rng_(rng), n_(n) {}

  LoopProgram make(int count) {
    const BufferId a = m_.argument("a", DType::f32, {n_}), b = m_.argument("b", DType::f32, {n_});
    const BufferId out = m_.argument("out", DType::f32, {n_});
    std::vector<BufferId> made = {a, b};
    std::vector<StmtId> nests;
    for (int i = 0; i < count; ++i) {
      const std::int64_t size = rng_.next_below(2) == 0 ? n_ : 5000;  // on the stack, or not
      const BufferId to = m_.buffer("t" + std::to_string(i), DType::f32, {size}, Scope::global);
      nests.push_back(nest(to, made));
      made.push_back(to);
    }
    StmtId body = nest(out, made);
    for (int i = count - 1; i >= 0; --i) {  // each buffer for what comes behind it
      const auto at = static_cast<std::size_t>(i);
      body = m_.alloc(made[at + 2], m_.seq({nests[at], body}));
    }
    m_.p.body = body;
    return std::move(m_.p);
  }

 private:
  BufferId some(const std::vector<BufferId>& made) {
    if (rng_.next_below(4) == 0) {
      return made[rng_.next_below(2)];
    }
    const std::uint64_t last = std::min<std::uint64_t>(made.size(), 4);
    return made[made.size() - 1 - rng_.next_below(last)];
  }

  StmtId nest(BufferId to, const std::vector<BufferId>& made) {
    constexpr ForKind kinds[] = {ForKind::serial, ForKind::vectorized, ForKind::parallel};
    const ForKind kind = kinds[rng_.next_below(3)];
    ExprPool& pool = m_.pool();
    const VarId i = m_.var("i");
    const ExprId x = m_.load(some(made), {m_.v(i)}), y = m_.load(some(made), {m_.v(i)});
    const ExprId half = m_.f(0.5);
    switch (rng_.next_below(7)) {
    case 0:  // which instruction that is depends on what the buffer may hold
      return m_.loop(i, n_, kind, m_.store(to, {m_.v(i)}, pool.max(x, half)));
    case 1:
      return m_.loop(i, n_, kind, m_.store(to, {m_.v(i)}, pool.max(x, y)));
    case 2:
      return m_.loop(i, n_, kind, m_.store(to, {m_.v(i)}, half));
    case 3:
      return m_.loop(i, n_, kind,
                     m_.store(to, {m_.v(i)}, pool.call(CallOp::tanh, {pool.add(x, y)})));
    case 4:
      return repeated(m_.loop(i, n_, kind, m_.store(to, {m_.v(i)}, x)));
    case 5:
      return with_memory(to, x, i);
    default:
      return m_.loop(i, n_, kind, m_.store(to, {m_.v(i)}, pool.mul(pool.add(x, y), half)));
    }
  }

  /// Twice the same.
  StmtId repeated(StmtId body) { return m_.loop(m_.var("twice"), 2, ForKind::serial, body); }

  /// By way of memory of its own, mostly too large for the stack.
  StmtId with_memory(BufferId to, ExprId x, VarId i) {
    const BufferId own = m_.buffer("own", DType::f32, {n_, 300}, Scope::global);
    const StmtId fill = m_.loop(i, n_, ForKind::serial, m_.store(own, {m_.v(i), m_.i(7)}, x));
    const VarId j = m_.var("j");
    const StmtId take =
        m_.loop(j, n_, ForKind::serial, m_.store(to, {m_.v(j)}, m_.load(own, {m_.v(j), m_.i(7)})));
    return repeated(m_.alloc(own, m_.seq({fill, take})));
  }

  CounterRng& rng_;
  std::int64_t n_;
  Maker m_;
};

/// out[i] = the functions, one after the other, `count` times, of a[i].
LoopProgram many_calls(DType type, int count, std::int64_t n) {
  Maker m;
  ExprPool& pool = m.pool();
  const BufferId a = m.argument("a", type, {n}), out = m.argument("out", type, {n});
  const VarId i = m.var("i");
  ExprId value = m.load(a, {m.v(i)});
  const auto constant = [&](double x) { return m.f(x, type); };
  for (int k = 0; k < count; ++k) {
    const ExprId before = value;
    const auto call = [&](CallOp op, ExprId x) { return pool.call(op, {x}); };
    switch (k % 6) {
    case 0:
      value = call(CallOp::tanh, value);
      break;
    case 1:
      value = call(CallOp::sigmoid, value);
      break;
    case 2:
      value = call(CallOp::exp, pool.sub(constant(0), call(CallOp::abs, value)));
      break;
    case 3:  // gelu, twice with other constants
    case 4: {
      const ExprId x = pool.sub(value, constant(k % 6 == 3 ? 0.25 : 0.75));
      const double scale = k % 6 == 3 ? 0.70710678 : 0.70710700;
      const ExprId erf = call(CallOp::erf, pool.mul(x, constant(scale)));
      value = pool.mul(pool.mul(pool.max(x, constant(-5.6)), constant(0.5)),
                       pool.add(erf, constant(1)));
      break;
    }
    default:
      value = pool.call(CallOp::pow, {call(CallOp::abs, value), constant(1.25)});
    }
    value = pool.add(value, pool.mul(before, constant(0.125)));
  }
  m.p.body = m.loop(i, n, ForKind::vectorized, m.store(out, {m.v(i)}, value));
  return std::move(m.p);
}

/// out = -(...(-a)), a loop for each sign.
LoopProgram chain(int count) {
  Maker m;
  const BufferId a = m.argument("a", DType::f64, {40}), out = m.argument("out", DType::f64, {40});
  std::vector<StmtId> nests;
  BufferId from = a;
  std::vector<BufferId> temporaries;
  for (int k = 0; k < count; ++k) {
    const bool is_last = k + 1 == count;
    const BufferId to =
        is_last ? out : m.buffer("t" + std::to_string(k), DType::f64, {40}, Scope::global);
    const VarId i = m.var("i");
    const ExprId value = m.pool().sub(m.f(0, DType::f64), m.load(from, {m.v(i)}));
    nests.push_back(m.loop(i, 40, ForKind::serial, m.store(to, {m.v(i)}, value)));
    if (!is_last) {
      temporaries.push_back(to);
    }
    from = to;
  }
  m.p.body = allocated(m, temporaries, m.seq(nests));
  return std::move(m.p);
}

}  // namespace

TEST_CASE("a program of many loops does what the interpreter does", "[codegen]") {
  CounterRng rng(seed(), 78);
  constexpr double specials[] = {std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(), -0.0};
  for (std::uint32_t n = 0; n < scaled(12); ++n) {
    const LoopProgram program =
        ManyLoops(rng, 1 + static_cast<std::int64_t>(rng.next_below(40))).make(80);
    std::vector<HostArray> arrays = make_arrays(program, rng);
    for (int input = 0; input < 2; ++input) {
      for (std::int64_t at = 0; at < arrays[0].num_elements(); at += 3) {
        arrays[static_cast<std::size_t>(input)].set_real(at, specials[rng.next_below(4)]);
      }
    }
    for (const Target& target : code_targets()) {
      CHECK(difference(program, arrays, target, 2) == "");
    }
  }
}

TEST_CASE("loops that are alike share their code", "[codegen]") {
  check_program(chain(300));
  LlvmCompiler compiler(host_target(), {.is_serial = true});
  const auto num_functions = [&](int count) {
    const auto text = compiler.llvm_ir(chain(count), "kernel");
    REQUIRE(text);
    return count_of(*text, "define internal void @kernel.part");
  };
  CHECK(num_functions(8) == 0);
  CHECK(num_functions(200) == 2);  // the last one writes an argument
  CHECK(num_functions(400) == 2);
}

TEST_CASE("loops share no code that relies on what their buffers hold", "[codegen]") {
  Maker m;
  const BufferId a = m.argument("a", DType::f32, {8}), out = m.argument("out", DType::f32, {8});
  std::vector<StmtId> nests;
  std::vector<BufferId> made;
  const auto nest = [&](const auto& value_at) {
    const BufferId to = m.buffer("t" + std::to_string(made.size()), DType::f32, {8}, Scope::global);
    const VarId i = m.var("i");
    nests.push_back(m.loop(i, 8, ForKind::serial, m.store(to, {m.v(i)}, value_at(m.v(i)))));
    made.push_back(to);
    return to;
  };
  const auto max_of = [&](BufferId x, BufferId y) {
    return nest([&](ExprId i) { return m.pool().max(m.load(x, {i}), m.load(y, {i})); });
  };
  const BufferId any = nest([&](ExprId i) { return m.load(a, {i}); });
  const BufferId number = nest([&](ExprId) { return m.f(-3); });
  for (int n = 0; n < 20; ++n) {
    nest([&](ExprId) { return m.f(n); });
  }
  // An instruction that gives its second operand if one of them is NaN is right for the first only.
  const BufferId left = max_of(any, number), right = max_of(number, any);
  const VarId i = m.var("i");
  nests.push_back(m.loop(
      i, 8, ForKind::serial,
      m.store(out, {m.v(i)}, m.pool().add(m.load(left, {m.v(i)}), m.load(right, {m.v(i)})))));
  m.p.body = allocated(m, made, m.seq(nests));
  CounterRng rng(seed(), 79);
  std::vector<HostArray> arrays = make_arrays(m.p, rng);
  arrays[0].set_real(5, std::numeric_limits<double>::quiet_NaN());
  for (const Target& target : code_targets()) {
    CHECK(difference(m.p, arrays, target) == "");
  }
}

TEST_CASE("many functions of values in one loop are right", "[codegen]") {
  for (const DType type : {DType::f32, DType::f64, DType::f16}) {
    check_program(many_calls(type, 200, 37));
  }
}
