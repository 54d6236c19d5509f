// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/eval.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// A program under construction, with short names.
struct Maker {
  LoopProgram p;
  ExprPool& e = p.pool;

  BufferId argument(const char* name, DType type, std::vector<std::int64_t> shape,
                    std::vector<std::int64_t> strides = {}) {
    Buffer buffer{name, type, {shape.begin(), shape.end()}, {strides.begin(), strides.end()}};
    buffer.argument = static_cast<std::int32_t>(p.arguments.size());
    const BufferId id = p.add(buffer);
    p.arguments.push_back(id);
    return id;
  }
  BufferId local(const char* name, DType type, std::vector<std::int64_t> shape) {
    return p.add(Buffer{name, type, {shape.begin(), shape.end()}, {}, Scope::local});
  }
  ExprId at(BufferId b, ExprList indices) { return e.load(b, p[b].dtype, indices); }
  ExprId n(std::int64_t value) { return e.int_imm(value); }
  StmtId loop(VarId v, std::int64_t extent, StmtId body, ForKind kind = ForKind::serial) {
    return p.add(For{v, n(extent), kind, body});
  }
  StmtId store(BufferId b, ExprList indices, ExprId value) {
    return p.add(Store{b, indices, value});
  }
  StmtId seq(std::vector<StmtId> items) { return p.add(Seq{std::move(items)}); }
};

HostArray numbers(DType type, std::vector<std::int64_t> shape, std::int64_t first = 0) {
  HostArray array(type, std::move(shape));
  for (std::int64_t i = 0; i < array.num_elements(); ++i) {
    array.set_int(i, first + i);
  }
  return array;
}

EvalErrorKind failure(const LoopProgram& p, std::vector<HostArray> arguments,
                      const EvalOptions& options = {}) {
  const auto result = eval(p, arguments, options);
  REQUIRE(!result);
  CHECK(!explain(result.error(), p).empty());
  return result.error().kind;
}

/// C[i, j] = sum over k of A[i, k] * B[k, j], with kinds for i and j.
LoopProgram matmul(std::int64_t m, std::int64_t n, std::int64_t k, ForKind outer, ForKind inner) {
  Maker t;
  const BufferId a = t.argument("A", DType::f32, {m, k}), b = t.argument("B", DType::f32, {k, n}),
                 c = t.argument("C", DType::f32, {m, n}, {n + 3, 1});
  const VarId vi = t.e.new_var("i"), vj = t.e.new_var("j"), vk = t.e.new_var("k");
  const ExprId i = t.e.var(vi), j = t.e.var(vj), l = t.e.var(vk);
  const StmtId zero = t.loop(vj, n, t.store(c, {i, j}, t.e.float_imm(0)), inner);
  const VarId vj2 = t.e.new_var("j");
  const ExprId j2 = t.e.var(vj2);
  const ExprId product = t.e.mul(t.at(a, {i, l}), t.at(b, {l, j2}));
  const StmtId update = t.store(c, {i, j2}, t.e.add(t.at(c, {i, j2}), product));
  const StmtId sum = t.loop(vk, k, t.loop(vj2, n, update, inner));
  t.p.body = t.loop(vi, m, t.seq({zero, sum}), outer);
  return std::move(t.p);
}

}  // namespace

TEST_CASE("a matrix product is the same for every kind and order of loops") {
  const HostArray a = numbers(DType::f32, {3, 5}), b = numbers(DType::f32, {5, 7}, -9);
  HostArray expected(DType::f32, {3, 7});
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 5; ++k) {
        sum += a.get_real(i * 5 + k) * b.get_real(k * 7 + j);
      }
      expected.set_real(i * 7 + j, sum);
    }
  }
  for (ForKind outer : {ForKind::serial, ForKind::parallel, ForKind::block_x, ForKind::unrolled}) {
    for (ForKind inner : {ForKind::serial, ForKind::vectorized, ForKind::unrolled}) {
      for (LoopOrder order : {LoopOrder::forward, LoopOrder::reversed, LoopOrder::shuffled}) {
        std::vector<HostArray> arguments = {a, b, HostArray(DType::f32, {3, 7})};
        const LoopProgram p = matmul(3, 7, 5, outer, inner);
        REQUIRE(eval(p, arguments, {order, 5, {false, false, true}}));
        CHECK(arguments[2] == expected);
        CHECK(arguments[0] == a);
      }
    }
  }
}

TEST_CASE("all lanes finish a statement before the next begins") {
  // A[i + 1] = A[i] serially spreads A[0]; in lanes it shifts.
  for (ForKind kind : {ForKind::serial, ForKind::vectorized}) {
    Maker t;
    const BufferId a = t.argument("A", DType::i32, {5});
    const VarId v = t.e.new_var("i");
    t.p.body = t.loop(v, 4, t.store(a, {t.e.add(t.e.var(v), t.n(1))}, t.at(a, {t.e.var(v)})), kind);
    std::vector<HostArray> arguments = {numbers(DType::i32, {5}, 10)};
    REQUIRE(eval(t.p, arguments));
    for (std::int64_t i = 1; i < 5; ++i) {
      CHECK(arguments[0].get_int(i) == (kind == ForKind::serial ? 10 : 10 + i - 1));
    }
  }
  // Two statements: B[i] = A[i]; A[i] = B[3 - i] sees all of B.
  Maker t;
  const BufferId a = t.argument("A", DType::i32, {4});
  const BufferId b = t.local("B", DType::i32, {4});
  const VarId v = t.e.new_var("i");
  const ExprId i = t.e.var(v);
  const StmtId body =
      t.seq({t.store(b, {i}, t.at(a, {i})), t.store(a, {i}, t.at(b, {t.e.sub(t.n(3), i)}))});
  const StmtId lanes = t.loop(v, 4, body, ForKind::vectorized);
  t.p.body = t.p.add(Alloc{b, lanes});
  std::vector<HostArray> arguments = {numbers(DType::i32, {4})};
  REQUIRE(eval(t.p, arguments));
  CHECK(arguments[0].get_int(0) == 3);
  CHECK(arguments[0].get_int(3) == 0);
}

TEST_CASE("branches and lazy selections work lane by lane") {
  Maker t;
  const BufferId a = t.argument("A", DType::i32, {4}), b = t.argument("B", DType::i32, {8});
  const VarId v = t.e.new_var("i");
  const ExprId i = t.e.var(v);
  const ExprId guarded = t.e.if_then_else(t.e.lt(i, t.n(4)), t.at(a, {i}), t.n(-1));
  const StmtId odd = t.store(b, {i}, t.n(7));
  const StmtId even = t.store(b, {i}, guarded);
  t.p.body = t.loop(v, 8, t.p.add(If{t.e.eq(t.e.floormod(i, t.n(2)), t.n(1)), odd, even}),
                    ForKind::vectorized);
  std::vector<HostArray> arguments = {numbers(DType::i32, {4}, 20), HostArray(DType::i32, {8})};
  REQUIRE(eval(t.p, arguments, {LoopOrder::forward, 1, {false, true}}));
  const std::int64_t expected[] = {20, 7, 22, 7, -1, 7, -1, 7};
  for (std::int64_t n = 0; n < 8; ++n) {
    CHECK(arguments[1].get_int(n) == expected[n]);
  }
}

TEST_CASE("index arithmetic is exact, element arithmetic wraps") {
  Maker t;
  const BufferId a = t.argument("A", DType::i32, {1}), b = t.argument("B", DType::i64, {2});
  const VarId v = t.e.new_var("i");
  const ExprId big = t.n(2000000000);
  const ExprId index = t.e.add(t.e.var(v), big);
  const ExprId exact = t.e.floordiv(t.e.add(index, big), t.n(1000));
  const ExprId element = t.e.floordiv(t.e.add(t.at(a, {t.n(0)}), big), t.n(1000));
  const StmtId body = t.seq({t.store(b, {t.n(0)}, t.e.cast(DType::i64, exact)),
                             t.store(b, {t.n(1)}, t.e.cast(DType::i64, element))});
  t.p.body = t.loop(v, 1, body);
  std::vector<HostArray> arguments = {numbers(DType::i32, {1}, 2000000000),
                                      HostArray(DType::i64, {2})};
  REQUIRE(eval(t.p, arguments));
  CHECK(arguments[1].get_int(0) == 4000000);
  CHECK(arguments[1].get_int(1) == floor_div(4000000000 - 4294967296, 1000));
}

TEST_CASE("every error has its kind") {
  const auto simple = [](const auto& value_of) {
    Maker t;
    const BufferId a = t.argument("A", DType::i32, {4});
    const VarId v = t.e.new_var("i");
    const ExprId value = value_of(t, a, t.e.var(v));
    t.p.body = t.loop(v, 4, t.store(a, {t.e.var(v)}, value));
    return std::move(t.p);
  };
  const std::vector<HostArray> four = {numbers(DType::i32, {4})};
  CHECK(
      failure(simple([](Maker& t, BufferId a, ExprId i) { return t.at(a, {t.e.add(i, t.n(1))}); }),
              four) == EvalErrorKind::out_of_bounds);
  CHECK(failure(simple([](Maker& t, BufferId, ExprId i) { return t.e.floordiv(t.n(3), i); }),
                four) == EvalErrorKind::division_by_zero);
  CHECK(failure(simple([](Maker& t, BufferId, ExprId) { return t.e.var(t.e.new_var("x")); }),
                four) == EvalErrorKind::unbound_variable);
  CHECK(failure(simple([](Maker& t, BufferId, ExprId i) {
                  return t.at(t.local("T", DType::i32, {4}), {i});
                }),
                four) == EvalErrorKind::buffer_out_of_scope);
  CHECK(failure(simple([](Maker& t, BufferId, ExprId) { return t.e.float_imm(1); }), four) ==
        EvalErrorKind::type_mismatch);
  CHECK(failure(simple([](Maker& t, BufferId, ExprId i) {
                  return t.e.read(TensorId{0}, DType::i32, {i});
                }),
                four) == EvalErrorKind::unsupported);
  const LoopProgram identity = simple([](Maker& t, BufferId a, ExprId i) { return t.at(a, {i}); });
  CHECK(failure(identity, {numbers(DType::i32, {5})}) == EvalErrorKind::wrong_argument);
  CHECK(failure(identity, {}) == EvalErrorKind::wrong_argument);
  CHECK(failure(identity, four, {LoopOrder::forward, 1, {true}}) ==
        EvalErrorKind::uninitialised_read);
}

TEST_CASE("an allocated buffer is fresh at every entry") {
  Maker t;
  const BufferId a = t.argument("A", DType::i32, {4});
  const BufferId b = t.local("T", DType::i32, {1});
  const VarId v = t.e.new_var("i");
  const ExprId i = t.e.var(v), zero = t.n(0);
  const StmtId first = t.p.add(If{t.e.eq(i, zero), t.store(b, {zero}, t.n(1)), t.seq({})});
  const StmtId use = t.store(a, {i}, t.at(b, {zero}));
  t.p.body = t.loop(v, 4, t.p.add(Alloc{b, t.seq({first, use})}));
  CHECK(failure(t.p, {numbers(DType::i32, {4})}) == EvalErrorKind::uninitialised_read);
}

TEST_CASE("an output must be written everywhere; padding is not part of it") {
  Maker t;
  const BufferId a = t.argument("A", DType::f16, {2, 3}, {4, 1});
  const VarId v = t.e.new_var("i"), w = t.e.new_var("j");
  const StmtId body = t.store(a, {t.e.var(v), t.e.var(w)}, t.e.float_imm(0.1, DType::f16));
  const StmtId inner = t.loop(w, 3, body);
  t.p.body = t.loop(v, 2, inner);
  std::vector<HostArray> arguments = {HostArray(DType::f16, {2, 3})};
  REQUIRE(eval(t.p, arguments, {LoopOrder::forward, 1, {true}}));
  CHECK(arguments[0].get_real(5) == float_from_f16(f16_from_float(0.1F)));
  t.p.body = inner;
  t.p.body = t.loop(v, 1, inner);
  CHECK(failure(t.p, arguments, {LoopOrder::forward, 1, {true}}) ==
        EvalErrorKind::unwritten_output);
}

TEST_CASE("a dependence between parallel iterations shows in another order") {
  Maker t;
  const BufferId a = t.argument("A", DType::i32, {5});
  const VarId v = t.e.new_var("i");
  t.p.body = t.loop(v, 4, t.store(a, {t.e.add(t.e.var(v), t.n(1))}, t.at(a, {t.e.var(v)})),
                    ForKind::parallel);
  std::vector<HostArray> forward = {numbers(DType::i32, {5})}, reversed = forward;
  REQUIRE(eval(t.p, forward));
  REQUIRE(eval(t.p, reversed, {LoopOrder::reversed, 1, {}}));
  CHECK(forward != reversed);
}

TEST_CASE("what cannot be run says so") {
  Maker t;
  const BufferId a = t.argument("A", DType::i32, {4});
  const VarId v = t.e.new_var("i"), w = t.e.new_var("j");
  const StmtId store = t.store(a, {t.n(0)}, t.n(1));
  t.p.body = t.loop(v, 2, t.p.add(Barrier{Scope::shared}), ForKind::vectorized);
  CHECK(failure(t.p, {numbers(DType::i32, {4})}) == EvalErrorKind::unsupported);
  t.p.body = t.loop(
      v, 2, t.seq({store, t.p.add(Barrier{Scope::shared}), t.p.add(Prefetch{a, {t.n(99)}, 1})}));
  std::vector<HostArray> arguments = {numbers(DType::i32, {4})};
  CHECK(eval(t.p, arguments).has_value());
  t.p.body = t.loop(v, 2, t.p.add(For{w, t.e.var(v), ForKind::vectorized, store}));
  CHECK(failure(t.p, arguments) == EvalErrorKind::extent_not_constant);
  t.p.body = t.loop(v, 2, t.p.add(For{w, t.e.var(v), ForKind::serial, store}), ForKind::vectorized);
  CHECK(failure(t.p, arguments) == EvalErrorKind::extent_not_constant);
}
