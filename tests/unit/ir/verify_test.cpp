// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/verify.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// for i in 4 KIND: for j in 8 KIND: A[i, j] = B[i, j] + 1, to be damaged by the tests.
struct VerifiedSample {
  LoopProgram p;
  ExprPool& e = p.pool;
  VarId vi = e.new_var("i"), vj = e.new_var("j");
  ExprId i = e.var(vi), j = e.var(vj);
  BufferId a = buffer("A", 0), b = buffer("B", 1);
  BufferId t = p.add(Buffer{"T", DType::f32, {8}, {}, Scope::local});
  BufferId r = p.add(Buffer{"R", DType::f32, {8}, {}, Scope::register_});

  BufferId buffer(const char* name, std::int32_t argument) {
    const BufferId id = p.add(Buffer{name, DType::f32, {4, 8}, {}});
    p[id].argument = argument;
    p.arguments.push_back(id);
    return id;
  }
  ExprId n(std::int64_t v) { return e.int_imm(v); }
  ExprId value() { return e.load(b, DType::f32, {i, j}); }
  StmtId store(ExprId v) { return p.add(Store{a, {i, j}, v}); }
  StmtId loop(VarId var, ExprId extent, StmtId body, ForKind kind = ForKind::serial) {
    return p.add(For{var, extent, kind, body});
  }
  StmtId nest(StmtId body, ForKind outer = ForKind::serial, ForKind inner = ForKind::serial) {
    return loop(vi, n(4), loop(vj, n(8), body, inner), outer);
  }
  std::vector<VerifyRule> rules(StmtId body) {
    p.body = body;
    std::vector<VerifyRule> result;
    for (const Violation& violation : verify(p)) {
      CHECK(!explain(violation, p).empty());
      result.push_back(violation.rule);
    }
    return result;
  }
};

using Rules = std::vector<VerifyRule>;

}  // namespace

TEST_CASE_METHOD(VerifiedSample, "a good program has no violations") {
  CHECK(rules(nest(store(value()), ForKind::parallel, ForKind::vectorized)).empty());
  const VarId k = e.new_var("k");
  const ExprId at = e.var(k);
  const StmtId zero = loop(k, n(8), p.add(Store{r, {at}, e.float_imm(0)}), ForKind::vectorized);
  const StmtId use = store(e.load(r, DType::f32, {j}));
  const StmtId body = loop(vi, n(4), p.add(Seq{{zero, loop(vj, n(8), use, ForKind::unrolled)}}));
  CHECK(rules(p.add(Alloc{r, body})).empty());
}

TEST_CASE_METHOD(VerifiedSample, "extents") {
  CHECK(rules(loop(vi, n(4), loop(vj, i, store(value())))).empty());
  for (ForKind kind : {ForKind::unrolled, ForKind::vectorized, ForKind::vthread, ForKind::block_x,
                       ForKind::thread_z}) {
    const VarId v = e.new_var("i"), w = e.new_var("j");
    const StmtId body = p.add(Store{a, {e.var(v), e.var(w)}, e.float_imm(1)});
    const ForKind outer =
        is_thread_loop(kind) || is_block_loop(kind) ? ForKind::block_y : ForKind::serial;
    CHECK(rules(loop(v, n(4), loop(w, e.var(v), body, kind), outer)) ==
          Rules{VerifyRule::extent_not_constant});
  }
  const StmtId body = p.add(Seq{});
  CHECK(rules(loop(vi, n(-1), body)) == Rules{VerifyRule::extent_not_integer});
  CHECK(rules(loop(vi, e.float_imm(4), body)) == Rules{VerifyRule::extent_not_integer});
  CHECK(rules(StmtId{}) == Rules{VerifyRule::missing_body});
}

TEST_CASE_METHOD(VerifiedSample, "what may be inside a vectorized loop") {
  const ForKind lanes = ForKind::vectorized;
  CHECK(rules(nest(store(value()), lanes, ForKind::serial)) ==
        Rules{VerifyRule::loop_inside_vectorized});
  CHECK(rules(nest(store(value()), lanes, lanes)) == Rules{VerifyRule::loop_inside_vectorized});
  CHECK(rules(nest(store(value()), lanes, ForKind::unrolled)).empty());
  CHECK(rules(nest(p.add(Barrier{Scope::shared}), ForKind::serial, lanes)) ==
        Rules{VerifyRule::barrier_inside_vectorized});
  CHECK(rules(nest(p.add(Alloc{t, store(value())}), ForKind::serial, lanes)) ==
        Rules{VerifyRule::alloc_inside_vectorized});
  CHECK(
      rules(nest(p.add(If{e.lt(n(1), n(2)), store(value()), {}}), ForKind::serial, lanes)).empty());
  CHECK(rules(nest(store(value()), ForKind::parallel, ForKind::parallel)) ==
        Rules{VerifyRule::parallel_inside_parallel});
}

TEST_CASE_METHOD(VerifiedSample, "scopes of variables and buffers") {
  CHECK(rules(loop(vi, n(4), store(e.float_imm(0)))) == Rules{VerifyRule::variable_out_of_scope});
  const StmtId inner = loop(vj, n(8), store(value()));
  CHECK(rules(loop(vi, n(4), p.add(Seq{{inner, inner}}))) ==
        Rules{VerifyRule::variable_defined_twice});
  const StmtId local = p.add(Store{t, {j}, value()});
  CHECK(rules(nest(local)) == Rules{VerifyRule::buffer_out_of_scope});
  CHECK(rules(p.add(Alloc{t, nest(local)})).empty());
  CHECK(rules(p.add(Alloc{t, p.add(Alloc{t, nest(local)})})) ==
        Rules{VerifyRule::buffer_allocated_twice});
  CHECK(rules(p.add(Alloc{a, nest(store(value()))})) == Rules{VerifyRule::argument_allocated});
}

TEST_CASE_METHOD(VerifiedSample, "arguments and layouts") {
  const StmtId body = nest(store(value()));
  std::swap(p[a].argument, p[b].argument);
  CHECK(rules(body) == Rules{VerifyRule::argument_order, VerifyRule::argument_order});
  std::swap(p[a].argument, p[b].argument);
  p[t].argument = 2;
  CHECK(rules(body) == Rules{VerifyRule::argument_order});
  p[t].argument = -1;
  p[t].strides.push_back(1);
  CHECK(rules(body) == Rules{VerifyRule::buffer_layout});
  p[t].strides.pop_back();
  p[t].alignment = 24;
  CHECK(rules(body) == Rules{VerifyRule::buffer_layout});
}

TEST_CASE_METHOD(VerifiedSample, "registers are indexed by what becomes constant") {
  const auto with_index = [&](ExprId index, ForKind kind) {
    return rules(p.add(Alloc{r, nest(p.add(Store{r, {index}, value()}), ForKind::serial, kind)}));
  };
  const ExprId sum = e.add(j, n(0));
  CHECK(with_index(sum, ForKind::unrolled).empty());
  CHECK(with_index(sum, ForKind::vectorized).empty());
  VerifiedSample other;
  const StmtId serial = other.nest(other.p.add(Store{other.r, {other.i}, other.value()}),
                                   ForKind::serial, ForKind::unrolled);
  CHECK(other.rules(other.p.add(Alloc{other.r, serial})) == Rules{VerifyRule::register_index});
}

TEST_CASE_METHOD(VerifiedSample, "types and ranks") {
  CHECK(rules(nest(store(n(1)))) == Rules{VerifyRule::store_type});
  CHECK(rules(nest(store(e.load(b, DType::f32, {i})))) == Rules{VerifyRule::index_count});
  CHECK(rules(nest(store(e.cast(DType::f32, e.load(b, DType::i32, {i, j}))))) ==
        Rules{VerifyRule::load_type});
  CHECK(rules(nest(store(e.load(b, DType::f32, {e.float_imm(0), j})))) ==
        Rules{VerifyRule::index_not_integer});
  CHECK(rules(nest(store(e.add(value(), n(1))))) == Rules{VerifyRule::operand_type});
  CHECK(rules(nest(store(e.select(i, value(), value())))) == Rules{VerifyRule::operand_type});
  CHECK(rules(nest(p.add(If{i, store(value()), {}}))) == Rules{VerifyRule::operand_type});
  CHECK(rules(nest(store(e.read(TensorId{0}, DType::f32, {i})))) ==
        Rules{VerifyRule::tensor_in_program});
}

TEST_CASE_METHOD(VerifiedSample, "guards inside tiles are slow, not wrong") {
  const ForKind lanes = ForKind::vectorized;
  const ExprId edge = e.lt(e.add(i, j), n(9));
  const StmtId guarded = p.add(If{edge, store(value()), {}});
  CHECK(rules(nest(guarded)).empty());
  CHECK(rules(nest(guarded, ForKind::serial, lanes)) == Rules{VerifyRule::guard_in_tile});
  CHECK(is_valid(verify(p)));
  CHECK(rules(nest(p.add(If{e.lt(i, n(3)), store(value()), {}}), ForKind::serial, lanes)).empty());
  const StmtId padded = store(e.if_then_else(edge, value(), e.float_imm(0)));
  CHECK(rules(nest(padded, ForKind::unrolled, ForKind::serial)) ==
        Rules{VerifyRule::guard_in_tile});
  const StmtId clamped = store(e.load(b, DType::f32, {i, e.min(j, n(7))}));
  CHECK(rules(nest(clamped, ForKind::serial, lanes)) == Rules{VerifyRule::extremum_in_tile});
  CHECK(rules(nest(store(e.max(value(), e.float_imm(0))), ForKind::serial, lanes)).empty());
}

TEST_CASE_METHOD(VerifiedSample, "all violations come at once") {
  const StmtId bad = p.add(Store{t, {i, j}, n(1)});
  const Rules found = rules(loop(vi, n(4), bad, ForKind::vectorized));
  CHECK(found.size() == 4);  // scope of T, rank, variable j, type
  CHECK(!is_valid(verify(p)));
}

TEST_CASE_METHOD(VerifiedSample, "GPU kernels: blocks, shared buffers, threads, then the rest") {
  const BufferId s = p.add(Buffer{"S", DType::f32, {8}, {}, Scope::shared});
  const auto threads = [&](StmtId body) { return loop(vj, n(8), body, ForKind::thread_x); };
  const auto blocks = [&](StmtId body) { return loop(vi, n(4), body, ForKind::block_x); };
  const StmtId barrier = p.add(Barrier{Scope::shared});
  const StmtId fill = p.add(Store{s, {j}, value()});
  const StmtId use = store(e.load(s, DType::f32, {j}));
  CHECK(rules(blocks(p.add(Alloc{s, threads(p.add(Seq{{fill, barrier, use}}))}))).empty());
  CHECK(rules(blocks(threads(p.add(Alloc{s, p.add(Seq{{fill, barrier, use}})})))) ==
        Rules{VerifyRule::shared_place});
  CHECK(rules(threads(blocks(store(value())))) == Rules{VerifyRule::axis_place});
  CHECK(rules(loop(vi, n(4), threads(store(value())))) == Rules{VerifyRule::axis_place});
  CHECK(rules(blocks(loop(vj, n(8), store(value()), ForKind::block_x))) ==
        Rules{VerifyRule::axis_twice});
  const StmtId guarded = p.add(If{e.lt(j, n(3)), barrier, {}});
  CHECK(rules(blocks(threads(guarded))) == Rules{VerifyRule::barrier_place});
  const StmtId uniform = p.add(If{e.lt(i, n(3)), barrier, {}});
  CHECK(rules(blocks(threads(uniform))).empty());
  const VarId k = e.new_var("k");
  const StmtId uneven = loop(k, j, barrier);
  CHECK(rules(blocks(threads(uneven))) == Rules{VerifyRule::barrier_place});
}

TEST_CASE_METHOD(VerifiedSample, "a tensor intrinsic computes what its loop says") {
  static constexpr TensorIntrinsic pairs{
      .name = "pairs", .a = DType::bf16, .b = DType::bf16, .accumulator = DType::f32, .k = 2};
  const BufferId x = p.add(Buffer{"X", DType::bf16, {8}, {}, Scope::local});
  const BufferId y = p.add(Buffer{"Y", DType::bf16, {8}, {}, Scope::local});
  const auto product = [&](ExprId left, ExprId right) {
    return e.mul(e.cast(DType::f32, left), e.cast(DType::f32, right));
  };
  const ExprId old = e.load(t, DType::f32, {i}), one = e.load(x, DType::bf16, {j});
  const ExprId other = e.load(y, DType::bf16, {j});
  const auto rules_of = [&](ExprId value, std::int64_t extent) {
    const StmtId tile = loop(vi, n(8), p.add(Store{t, {i}, value}), ForKind::vectorized);
    const StmtId group = p.add(For{vj, n(extent), ForKind::unrolled, tile, &pairs});
    return rules(p.add(Alloc{t, p.add(Alloc{x, p.add(Alloc{y, group})})}));
  };
  CHECK(rules_of(e.add(old, product(one, other)), 2).empty());
  CHECK(rules_of(e.add(product(one, other), old), 2).empty());
  CHECK(rules_of(e.add(old, product(one, other)), 3) == Rules{VerifyRule::intrinsic_form});
  CHECK(rules_of(e.sub(old, product(one, other)), 2) == Rules{VerifyRule::intrinsic_form});
  CHECK(rules_of(e.add(old, e.cast(DType::f32, one)), 2) == Rules{VerifyRule::intrinsic_form});
  CHECK(is_about_speed(VerifyRule::intrinsic_form));
}

TEST_CASE_METHOD(VerifiedSample,
                 "buffers of a warp: own elements written, others read as they are") {
  const BufferId s = p.add(Buffer{"S", DType::f32, {1, 1, 8}, {}, Scope::warp});
  const auto threads = [&](StmtId body) { return loop(vj, n(8), body, ForKind::thread_x); };
  const auto kernel = [&](StmtId body) {
    return loop(vi, n(4), p.add(Alloc{s, threads(body)}), ForKind::block_x);
  };
  const auto lane = [&](ExprId x) { return e.load(s, DType::f32, {n(0), n(0), x}); };
  const StmtId fill = p.add(Store{s, {n(0), n(0), j}, value()});
  const StmtId barrier = p.add(Barrier{Scope::warp});
  const StmtId use = store(lane(xor_index(e, j, 4)));
  CHECK(rules(kernel(p.add(Seq{{fill, barrier, use}}))).empty());
  CHECK(rules(loop(vi, n(4), threads(p.add(Alloc{s, fill})), ForKind::block_x)) ==
        Rules{VerifyRule::shared_place});
  CHECK(rules(kernel(store(lane(e.sub(n(7), j))))) == Rules{VerifyRule::lane_access});
  CHECK(rules(kernel(store(e.add(value(), lane(xor_index(e, j, 4)))))) ==
        Rules{VerifyRule::lane_access});
  CHECK(rules(kernel(p.add(Store{s, {n(0), n(0), xor_index(e, j, 4)}, value()}))) ==
        Rules{VerifyRule::lane_access});
  const ExprId some = e.lt(j, n(3));
  CHECK(rules(kernel(p.add(If{some, use, {}}))) == Rules{VerifyRule::lane_access});
  CHECK(rules(kernel(p.add(If{some, barrier, {}}))) == Rules{VerifyRule::barrier_place});
}
