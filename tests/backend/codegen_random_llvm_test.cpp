// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Random loop programs: the compiled code does exactly what the interpreter does.
#include "codegen_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// All numbers are small integers, so that floats are exact too.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::uint32_t number) : rng_(seed, 5, number) {
    const DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                           DType::i64, DType::i32, DType::i8,  DType::u8};
    type_ = rng_.next_below(2) == 0 ? DType::f32 : types[rng_.next_below(8)];
    switch (rng_.next_below(4)) {
    case 0:
      elementwise();
      break;
    case 1:
      reduction();
      break;
    case 2:
      transposing();
      break;
    default:
      staged();
    }
  }
  LoopProgram take() { return std::move(m_.p); }

 private:
  struct LoopVar {
    VarId id;
    std::int64_t extent;
  };
  struct Index {
    ExprId expr;
    std::int64_t largest;  // it is never negative
  };

  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_.next_below(static_cast<std::uint32_t>(n)));
  }
  ExprPool& pool() { return m_.pool(); }
  LoopVar new_loop(std::int64_t largest) {
    const LoopVar made = {m_.var("v" + std::to_string(vars_.size())), 1 + below(largest)};
    vars_.push_back(made);
    return made;
  }
  const LoopVar& any_var() {
    return vars_[rng_.next_below(static_cast<std::uint32_t>(vars_.size()))];
  }

  Index index() {
    const LoopVar a = any_var();
    const LoopVar b = any_var();
    const ExprId x = m_.v(a.id), y = m_.v(b.id);
    const std::int64_t c = 1 + below(3);
    const std::int64_t top = a.extent - 1;
    switch (rng_.next_below(9)) {
    case 0:
      return {pool().add(pool().mul(x, m_.i(c)), y), top * c + b.extent - 1};
    case 1:
      return {pool().sub(m_.i(top), x), top};
    case 2:
      return {pool().floordiv(pool().add(pool().mul(x, m_.i(4)), y), m_.i(c + 1)),
              (top * 4 + b.extent - 1) / (c + 1)};
    case 3:
      return {pool().floormod(pool().sub(x, pool().mul(y, m_.i(5))), m_.i(c + 2)), c + 1};
    case 4:
      return {pool().min(pool().add(x, m_.i(c)), y), std::min(top + c, b.extent - 1)};
    case 5:
      return {pool().select(pool().lt(x, y), y, pool().mul(x, m_.i(2))),
              std::max(b.extent - 1, 2 * top)};
    case 6:
      return {m_.i(c), c};
    default:
      return {pool().add(x, m_.i(c - 1)), top + c - 1};
    }
  }
  ExprId condition() {
    const Index a = index();
    const Index b = index();
    const BinaryOp ops[] = {BinaryOp::lt, BinaryOp::ge, BinaryOp::eq, BinaryOp::ne, BinaryOp::le};
    const ExprId first = pool().binary(ops[rng_.next_below(5)], a.expr, b.expr);
    switch (rng_.next_below(4)) {
    case 0:
      return pool().and_(first, pool().lt(index().expr, m_.i(6)));
    case 1:
      return pool().binary(BinaryOp::or_, first, pool().unary(UnaryOp::not_, first));
    case 2:
      return pool().lt(load(), load());
    default:
      return first;
    }
  }
  /// Holds in whole vectors or in none of their lanes.
  ExprId vector_condition() {
    const BinaryOp op = rng_.next_below(2) == 0 ? BinaryOp::lt : BinaryOp::ge;
    return pool().binary(op, m_.v(vars_.back().id), m_.i(16 * (1 + below(3))));
  }
  ExprId number(std::int64_t value) {
    return is_float(type_) ? m_.f(static_cast<double>(value), type_) : pool().int_imm(value, type_);
  }
  /// A read of an input that is just large enough.
  ExprId load() {
    if (num_inputs_ == 6) {
      return number(3);
    }
    ExprList at;
    std::vector<std::int64_t> shape;
    for (std::int64_t d = 1 + below(3); d > 0; --d) {
      const Index i = index();
      at.push_back(i.expr);
      shape.push_back(i.largest + 1);
    }
    const BufferId b = m_.argument("in" + std::to_string(num_inputs_++), type_, shape);
    return m_.load(b, at);
  }
  /// A read that is allowed for part of the iterations only.
  ExprId guarded_load() {
    const LoopVar v = any_var();
    const std::int64_t bound = 1 + below(v.extent);
    const BufferId b = m_.argument("in" + std::to_string(num_inputs_++), type_, {bound});
    return pool().if_then_else(pool().lt(m_.v(v.id), m_.i(bound)), m_.load(b, {m_.v(v.id)}),
                               number(below(3)));
  }
  ExprId value(int depth) {
    if (depth == 0) {
      switch (rng_.next_below(5)) {
      case 0:
        return number(below(5));
      case 1:
        return pool().cast(type_, index().expr);
      case 2:
        return num_inputs_ < 6 ? guarded_load() : number(1);
      default:
        return load();
      }
    }
    const ExprId a = value(depth - 1);
    const ExprId b = value(depth - 1);
    switch (rng_.next_below(10)) {
    case 0:
      return pool().sub(a, b);
    case 1:
      return pool().mul(a, b);
    case 2:
      return pool().min(a, b);
    case 3:
      return pool().max(a, b);
    case 4:
      return pool().select(condition(), a, b);
    case 5:
      return pool().if_then_else(condition(), a, b);
    case 6:
      return is_float(type_) ? pool().unary(UnaryOp::neg, a)
                             : pool().floordiv(a, number(2 + below(3)));
    case 7:
      return is_float(type_) ? pool().cast(type_, pool().cast(DType::f64, a))
                             : pool().floormod(a, number(2 + below(3)));
    case 8:
      return pool().add(pool().mul(a, number(2)), b);
    default:
      return pool().add(a, b);
    }
  }

  ForKind inner_kind(std::int64_t extent) {
    return rng_.next_below(2) == 0 ? ForKind::serial
           : extent <= 8           ? ForKind::unrolled
                                   : ForKind::serial;
  }
  StmtId wrap(const LoopVar& loop, ForKind kind, StmtId body) {
    return m_.loop(loop.id, loop.extent, kind, body);
  }
  /// Every variable in a place of its own, some backwards or with gaps.
  ExprList places(const std::vector<LoopVar>& loops, std::vector<std::int64_t>& shape) {
    std::vector<LoopVar> order = loops;
    rng_.shuffle(order);
    ExprList at;
    for (const LoopVar& v : order) {
      switch (rng_.next_below(4)) {
      case 0:
        at.push_back(pool().sub(m_.i(v.extent - 1), m_.v(v.id)));
        shape.push_back(v.extent);
        break;
      case 1:
        at.push_back(pool().add(pool().mul(m_.v(v.id), m_.i(2)), m_.i(1)));
        shape.push_back(2 * v.extent);
        break;
      default:
        at.push_back(m_.v(v.id));
        shape.push_back(v.extent);
      }
    }
    return at;
  }

  void elementwise() {
    const bool is_long = rng_.next_below(3) == 0;  // several vectors, and more to compute for each
    const LoopVar a = new_loop(6), b = new_loop(7), c = new_loop(is_long ? 90 : 45);
    std::vector<StmtId> stores;
    for (std::int64_t n = 1 + below(2); n > 0; --n) {
      std::vector<std::int64_t> shape;
      const ExprList at = places(vars_, shape);
      const BufferId out = m_.argument("out" + std::to_string(n), type_, shape);
      StmtId store = m_.store(out, at, value(is_long ? 3 : 2));
      if (is_long || rng_.next_below(2) == 0) {
        const StmtId other = rng_.next_below(2) == 0 ? m_.store(out, at, value(1)) : StmtId{};
        store = m_.branch(is_long ? vector_condition() : condition(), store, other);
      }
      stores.push_back(store);
    }
    const ForKind innermost = rng_.next_below(4) == 0 ? ForKind::serial : ForKind::vectorized;
    const StmtId inner = wrap(b, inner_kind(b.extent), wrap(c, innermost, m_.seq(stores)));
    m_.p.body = wrap(a, rng_.next_below(2) == 0 ? ForKind::parallel : ForKind::serial, inner);
  }

  void reduction() {
    const LoopVar a = new_loop(5), i = new_loop(6), j = new_loop(40), k = new_loop(9);
    const Scope scope = rng_.next_below(3) == 0 ? Scope::local : Scope::register_;
    const BufferId acc = m_.buffer("acc", type_, {i.extent, j.extent}, scope);
    const BufferId out = m_.argument("out", type_, {a.extent, i.extent, j.extent});
    const auto nest = [&](StmtId body) {
      return wrap(i, scope == Scope::register_ ? ForKind::unrolled : inner_kind(i.extent),
                  wrap(j, ForKind::vectorized, body));
    };
    const ExprList tile = {m_.v(i.id), m_.v(j.id)};
    const ExprId held = m_.load(acc, tile);
    StmtId update = m_.store(acc, tile, pool().add(held, value(1)));
    const LoopVar saved = vars_.back();
    if (rng_.next_below(2) == 0) {
      update = m_.branch(condition(), update);
    }
    StmtId step = nest(update);
    if (rng_.next_below(3) == 0) {
      const StmtId reset = nest(m_.store(acc, tile, number(1)));
      step = m_.branch(pool().eq(m_.v(k.id), m_.i(k.extent / 2)),
                       rng_.next_below(2) == 0 ? m_.seq({reset, step}) : reset, step);
    }
    const ExprId extent =
        rng_.next_below(2) == 0 ? m_.i(k.extent) : pool().min(m_.i(k.extent), m_.v(a.id));
    vars_.pop_back();  // k is not visible behind its loop
    const StmtId init = nest(m_.store(acc, tile, value(0)));
    const ExprList at = {m_.v(a.id), m_.v(i.id), m_.v(j.id)};
    const StmtId finish = nest(m_.store(out, at, pool().add(held, value(0))));
    vars_.push_back(saved);
    const StmtId all = m_.seq({init, m_.loop(k.id, extent, ForKind::serial, step), finish});
    m_.p.body =
        wrap(a, rng_.next_below(2) == 0 ? ForKind::parallel : ForKind::serial, m_.alloc(acc, all));
  }

  void staged() {
    const LoopVar a = new_loop(6), i = new_loop(30);
    const Scope scope = rng_.next_below(2) == 0 ? Scope::local : Scope::shared;
    const std::int64_t size = i.extent * (rng_.next_below(3) == 0 ? 500 : 1);
    const BufferId stage = m_.buffer("stage", type_, {size}, scope);
    const BufferId out = m_.argument("out", type_, {a.extent, i.extent});
    const StmtId fill = wrap(i, ForKind::vectorized, m_.store(stage, {m_.v(i.id)}, value(1)));
    const LoopVar j = {m_.var("j"), i.extent};
    const ExprId there =
        pool().floormod(pool().mul(m_.v(j.id), m_.i(1 + below(4))), m_.i(i.extent));
    const ExprId sum = pool().add(m_.load(stage, {there}), m_.load(stage, {m_.v(j.id)}));
    const StmtId use =
        m_.loop(j.id, j.extent, ForKind::vectorized, m_.store(out, {m_.v(a.id), m_.v(j.id)}, sum));
    m_.p.body = wrap(a, rng_.next_below(2) == 0 ? ForKind::parallel : ForKind::serial,
                     m_.alloc(stage, m_.seq({fill, use})));
  }

  /// Reads by columns, or writes by rows, of any two extents.
  void transposing() {
    const LoopVar a = new_loop(3), u = new_loop(35), v = new_loop(40);
    const std::int64_t first = below(3), step = 1 + below(3);
    const BufferId rows = m_.argument("rows", type_, {(v.extent - 1) * step + 1, u.extent + first});
    ExprId read =
        m_.load(rows, {pool().mul(m_.v(v.id), m_.i(step)), pool().add(m_.v(u.id), m_.i(first))});
    if (rng_.next_below(3) == 0) {
      read = pool().if_then_else(condition(), read, number(1));
    }
    const bool by_rows = rng_.next_below(3) == 0;
    const LoopVar& slow = by_rows ? v : u;
    const LoopVar& fast = by_rows ? u : v;
    const BufferId out = m_.argument("out", type_, {a.extent, slow.extent, fast.extent + below(2)});
    const ExprList at = {m_.v(a.id), m_.v(slow.id), m_.v(fast.id)};
    const ExprId sum = rng_.next_below(2) == 0 ? read : pool().add(read, value(1));
    const ForKind kind = rng_.next_below(2) == 0 ? ForKind::serial : ForKind::unrolled;
    m_.p.body = wrap(a, rng_.next_below(2) == 0 ? ForKind::parallel : ForKind::serial,
                     wrap(u, kind, wrap(v, ForKind::vectorized, m_.store(out, at, sum))));
  }

  CounterRng rng_;
  Maker m_;
  DType type_ = DType::f32;
  std::vector<LoopVar> vars_;
  std::int64_t num_inputs_ = 0;
};

}  // namespace

TEST_CASE("random programs compile to what they mean", "[codegen]") {
  constexpr std::uint32_t num_programs = 80;
  for (std::uint32_t number = 0; number < num_programs; ++number) {
    const LoopProgram program = RandomProgram(seed(), number).take();
    INFO("program " << number << " of seed " << seed());
    CHECK(any_difference(program, 1 + static_cast<int>(number % 3), true) == "");
  }
}
