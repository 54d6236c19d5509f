// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/eval_dag.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace tensorsmith;

namespace {

struct DagMaker {
  Shared<ExprPool> pool = make_shared_of<ExprPool>();
  std::vector<TensorInfo> tensors;
  std::vector<Operation> operations;
  std::vector<TensorId> arguments;

  std::vector<Axis> axes(std::vector<std::int64_t> extents, const char* name) {
    std::vector<Axis> out;
    for (std::int64_t extent : extents) {
      out.push_back({pool->new_var(name), extent});
    }
    return out;
  }
  TensorId tensor(const char* name, DType type, std::vector<std::int64_t> shape) {
    tensors.push_back({name, type, {shape.begin(), shape.end()}});
    return TensorId{static_cast<std::uint32_t>(tensors.size()) - 1};
  }
  TensorId placeholder(const char* name, DType type, std::vector<std::int64_t> shape) {
    const TensorId id = tensor(name, type, shape);
    Operation op;
    op.kind = OperationKind::placeholder;
    op.name = name;
    op.axes = axes(shape, "i");
    op.outputs = {id};
    operations.push_back(op);
    arguments.push_back(id);
    return id;
  }
  std::vector<TensorId> compute(const char* name, std::vector<Axis> spatial,
                                std::vector<Axis> reduce, std::vector<ExprId> bodies) {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : spatial) {
      shape.push_back(axis.extent);
    }
    Operation op;
    op.name = name;
    op.axes = std::move(spatial);
    op.reduce_axes = std::move(reduce);
    op.bodies = bodies;
    for (ExprId body : bodies) {
      op.outputs.push_back(tensor(name, pool->dtype(body), shape));
    }
    operations.push_back(op);
    return op.outputs;
  }
  CombinerId sum(DType type) {
    const VarId a = pool->new_var("a", type), b = pool->new_var("b", type);
    const ExprId zero = is_float(type) ? pool->float_imm(0, type) : pool->int_imm(0, type);
    return pool->add_combiner({{a}, {b}, {pool->add(pool->var(a), pool->var(b))}, {zero}});
  }
  ComputeDag finish() { return ComputeDag(pool, tensors, operations, arguments); }
};

}  // namespace

TEST_CASE("a sum over rows, then relu") {
  DagMaker m;
  const TensorId a = m.placeholder("A", DType::i32, {2, 3});
  const auto rows = m.axes({2}, "i"), columns = m.axes({3}, "k");
  const ExprId i = m.pool->var(rows[0].var), k = m.pool->var(columns[0].var);
  const ExprId read = m.pool->read(a, DType::i32, {i, k});
  const TensorId s = m.compute(
      "S", rows, columns, {m.pool->reduce({m.sum(DType::i32), {read}, {columns[0].var}, 0})})[0];
  const auto again = m.axes({2}, "i");
  const ExprId at = m.pool->read(s, DType::i32, {m.pool->var(again[0].var)});
  m.arguments.push_back(m.compute("R", again, {}, {m.pool->max(at, m.pool->int_imm(0))})[0]);
  HostArray input(DType::i32, {2, 3});
  for (std::int64_t n = 0; n < 6; ++n) {
    input.set_int(n, n < 3 ? -n : 1000000000);
  }
  auto outputs = eval_dag(m.finish(), {input});
  REQUIRE(outputs);
  REQUIRE(outputs->size() == 1);
  CHECK((*outputs)[0].get_int(0) == 0);
  CHECK((*outputs)[0].get_int(1) == 0);  // 3e9 wraps to a negative number
  auto all = eval_dag_tensors(m.finish(), {input});
  REQUIRE(all);
  CHECK((*all)[s.value].get_int(0) == -3);
  CHECK((*all)[s.value].get_int(1) == 3000000000 - 4294967296);
}

TEST_CASE("argmax: two outputs, the first of equal values wins") {
  DagMaker m;
  ExprPool& e = *m.pool;
  const TensorId a = m.placeholder("A", DType::f32, {2, 5});
  const VarId la = e.new_var("la"), lv = e.new_var("lv", DType::f32), ra = e.new_var("ra"),
              rv = e.new_var("rv", DType::f32);
  const ExprId keep = e.ge(e.var(lv), e.var(rv));
  const CombinerId argmax =
      e.add_combiner({{la, lv},
                      {ra, rv},
                      {e.select(keep, e.var(la), e.var(ra)), e.select(keep, e.var(lv), e.var(rv))},
                      {e.int_imm(-1), e.float_imm(-1e30)}});
  const auto rows = m.axes({2}, "i"), columns = m.axes({5}, "k");
  const ExprId k = e.var(columns[0].var);
  const ExprList sources = {k, e.read(a, DType::f32, {e.var(rows[0].var), k})};
  const VarList over = {columns[0].var};
  m.arguments.push_back(
      m.compute("M", rows, columns,
                {e.reduce({argmax, sources, over, 0}), e.reduce({argmax, sources, over, 1})})[0]);
  m.arguments.push_back(TensorId{m.arguments.back().value + 1});
  HostArray input(DType::f32, {2, 5});
  const double values[] = {1, 7, 3, 7, 2, -4, -3, -9, -3, -8};
  for (std::int64_t n = 0; n < 10; ++n) {
    input.set_real(n, values[n]);
  }
  auto outputs = eval_dag(m.finish(), {input});
  REQUIRE(outputs);
  REQUIRE(outputs->size() == 2);
  CHECK((*outputs)[0].get_int(0) == 1);
  CHECK((*outputs)[0].get_int(1) == 1);
  CHECK((*outputs)[1].get_real(0) == 7);
  CHECK((*outputs)[1].get_real(1) == -3);
}

TEST_CASE("wide accumulation keeps what f32 loses; f16 is rounded when stored") {
  DagMaker m;
  const TensorId a = m.placeholder("A", DType::f32, {3});
  const auto columns = m.axes({3}, "k");
  const ExprId read = m.pool->read(a, DType::f32, {m.pool->var(columns[0].var)});
  m.arguments.push_back(m.compute(
      "S", {}, columns, {m.pool->reduce({m.sum(DType::f32), {read}, {columns[0].var}, 0})})[0]);
  const auto point = m.axes({3}, "i");
  const ExprId third = m.pool->read(a, DType::f32, {m.pool->var(point[0].var)});
  m.arguments.push_back(m.compute("H", point, {}, {m.pool->cast(DType::f16, third)})[0]);
  HostArray input(DType::f32, {3});
  input.set_real(0, 1e8);
  input.set_real(1, 1);
  input.set_real(2, -1e8);
  auto narrow = eval_dag(m.finish(), {input});
  auto wide = eval_dag(m.finish(), {input}, {true});
  REQUIRE(narrow);
  REQUIRE(wide);
  CHECK((*narrow)[0].get_real(0) == 0);
  CHECK((*wide)[0].get_real(0) == 1);
  CHECK((*narrow)[1].dtype == DType::f16);
  CHECK((*narrow)[1].get_real(0) == std::numeric_limits<double>::infinity());
}

TEST_CASE("padding guarded by if_then_else; without the guard it is an error") {
  DagMaker m;
  ExprPool& e = *m.pool;
  const TensorId a = m.placeholder("A", DType::f32, {4});
  const auto axes = m.axes({6}, "i");
  const ExprId i = e.var(axes[0].var), at = e.sub(i, e.int_imm(1));
  const ExprId inside = e.and_(e.ge(at, e.int_imm(0)), e.lt(at, e.int_imm(4)));
  const ExprId read = e.read(a, DType::f32, {at});
  m.arguments.push_back(
      m.compute("P", axes, {}, {e.if_then_else(inside, read, e.float_imm(0))})[0]);
  HostArray input(DType::f32, {4});
  input.set_real(3, 5);
  auto outputs = eval_dag(m.finish(), {input});
  REQUIRE(outputs);
  CHECK((*outputs)[0].get_real(4) == 5);
  CHECK((*outputs)[0].get_real(5) == 0);
  m.operations.back().bodies = {e.select(inside, read, e.float_imm(0))};
  auto broken = eval_dag(m.finish(), {input});
  REQUIRE(!broken);
  CHECK(broken.error().kind == EvalErrorKind::out_of_bounds);
  CHECK(broken.error().index == -1);
  auto missing = eval_dag(m.finish(), {});
  REQUIRE(!missing);
  CHECK(missing.error().kind == EvalErrorKind::wrong_argument);
}
