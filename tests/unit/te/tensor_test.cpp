// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/tensor.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;

TEST_CASE("a tensor knows what it is", "[te]") {
  te::Program p;
  const te::Tensor a = p.placeholder("A", {2, 3}, DType::f16);
  CHECK(a.name() == "A");
  CHECK(a.dtype() == DType::f16);
  CHECK(a.rank() == 2);
  CHECK(a.extent(1) == 3);
  CHECK(a.shape() == te::Shape{2, 3});
}

TEST_CASE("reductions over several axes equal loops, per type", "[te]") {
  for (DType type : {DType::f64, DType::f32, DType::i64, DType::i32, DType::i8}) {
    te::Program p;
    const te::Tensor a = p.placeholder("A", {2, 3, 2}, type);
    const te::ReduceAxis r = p.reduce_axis("r", 3), s = p.reduce_axis("s", 2);
    const auto sum = p.compute("S", {2}, [&](auto i) { return te::sum(a(i, r, s), {r, s}); });
    const auto prod = p.compute("P", {2}, [&](auto i) { return te::prod(a(i, r, s), {r, s}); });
    const auto low = p.compute("L", {2}, [&](auto i) { return te::min(a(i, r, s), {r, s}); });
    const auto high = p.compute("H", {2}, [&](auto i) { return te::max(a(i, r, s), {r, s}); });
    HostArray in(type, {2, 3, 2});
    const std::int64_t values[] = {1, -2, 3, 1, 2, -1, -3, -1, -2, -1, -1, -4};
    for (std::int64_t i = 0; i < 12; ++i) {
      in.set_int(i, values[i]);
    }
    const auto out = eval_dag(*p.dag({a, sum, prod, low, high}), {in});
    REQUIRE(out.has_value());
    const std::int64_t expected[4][2] = {{4, -12}, {12, 24}, {-2, -4}, {3, -1}};
    for (std::size_t f = 0; f < 4; ++f) {
      for (std::int64_t i = 0; i < 2; ++i) {
        INFO(name_of(type) << " " << f << " " << i);
        CHECK((*out)[f].get_int(i) == expected[f][i]);
      }
    }
  }
}

TEST_CASE("equal reductions share one combiner", "[te]") {
  te::Program p;
  const te::Tensor a = p.placeholder("A", {4}), b = p.placeholder("B", {4}, DType::f64);
  const te::ReduceAxis k = p.reduce_axis("k", 4);
  const auto combiner = [&](const te::Expr& e) {
    return e.program()->pool.as<Reduce>(e.id())->combiner;
  };
  CHECK(combiner(te::sum(a(k), {k})) == combiner(te::sum(a(k) * 2, {k})));
  CHECK_FALSE(combiner(te::sum(a(k), {k})) == combiner(te::max(a(k), {k})));
  CHECK_FALSE(combiner(te::sum(a(k), {k})) == combiner(te::sum(b(k), {k})));
  CHECK_FALSE(combiner(te::max(a(k), {k})) == combiner(te::maximum(a(k), {k})));
  CHECK_FALSE(combiner(te::minimum(a(k), {k})) == combiner(te::maximum(a(k), {k})));
  CHECK(combiner(te::maximum(a(k), {k})) == combiner(te::maximum(a(k) * 2, {k})));
  CHECK_THROWS_AS(te::sum(a(k) > 0, {k}), Error);
}

TEST_CASE("min and max of a value and an axis are no reductions", "[te]") {
  te::Program p;
  const te::Tensor n = p.placeholder("N", {4}, DType::i32);
  const te::ReduceAxis k = p.reduce_axis("k", 4);
  const te::Expr value = te::max(n(k), k);
  CHECK(value.program()->pool.as<Binary>(value.id()) != nullptr);
}
