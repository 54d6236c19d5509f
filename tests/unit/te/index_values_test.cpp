// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/index_values.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;

namespace {

Interval range_of_tensor(const te::Program& program, const te::Tensor& out,
                         const te::Tensor& tensor) {
  const auto dag = program.dag({tensor, out});
  return te::index_values(*dag)[tensor.id().value].legal;
}
void check_range(const Interval& range, std::int64_t min, std::int64_t max) {
  CHECK(range.min == min);
  CHECK(range.max == max);
}

}  // namespace

TEST_CASE("values that are indices stay in bounds", "[te]") {
  te::Program p;
  const te::Tensor table = p.placeholder("T", {10, 6});
  const te::Tensor numbers = p.placeholder("I", {4}, DType::i64);
  const te::Tensor plain =
      p.compute("P", {4, 6}, [&](auto n, auto c) { return table(numbers(n), c); });
  check_range(range_of_tensor(p, plain, numbers), 0, 9);
  CHECK(range_of_tensor(p, plain, table) == Interval{});

  // 0 <= 2 v + n <= 9 for n in 0..3, and 0 <= v - 1
  const te::Tensor moved = p.compute("M", {4}, [&](auto n) {
    return table(te::cast(DType::i32, numbers(n)) * 2 + n, te::Expr(0)) +
           table(te::cast(DType::i32, numbers(n)) - 1, te::Expr(0));
  });
  check_range(range_of_tensor(p, moved, numbers), 1, 3);
}

TEST_CASE("indices that count from the end if they are negative", "[te]") {
  te::Program p;
  const te::Tensor table = p.placeholder("T", {10});
  const te::Tensor small = p.placeholder("S", {3});
  const te::Tensor numbers = p.placeholder("I", {4}, DType::i32);
  const auto from_the_end = [&](const te::Expr& i, std::int64_t extent) {
    return te::select(i < 0, i + extent, i);
  };
  const te::Tensor out = p.compute("O", {4}, [&](auto n) {
    return table(from_the_end(numbers(n), 10)) + small(from_the_end(numbers(n), 3));
  });
  const auto dag = p.dag({table, small, numbers, out});
  check_range(te::index_values(*dag)[numbers.id().value].legal, 0, 2);
  CHECK(te::index_values(*dag)[numbers.id().value].is_chosen);  // -1 is legal as well
}

TEST_CASE("values that become indices in a later stage", "[te]") {
  te::Program p;
  const te::Tensor table = p.placeholder("T", {7});
  const te::Tensor numbers = p.placeholder("I", {4}, DType::i64);
  const te::Tensor narrow =
      p.compute("N", {4}, [&](auto n) { return te::cast(DType::i32, numbers(n)) + 2; });
  const te::Tensor out = p.compute("O", {4}, [&](auto n) { return table(narrow(n)); });
  check_range(range_of_tensor(p, out, numbers), -2, 4);
}

TEST_CASE("nothing is known of values that are checked, or fit nowhere", "[te]") {
  te::Program p;
  const te::Tensor table = p.placeholder("T", {7});
  const te::Tensor numbers = p.placeholder("I", {4}, DType::i32);
  const te::Tensor clamped =
      p.compute("O", {4}, [&](auto n) { return table(te::max(te::min(numbers(n), 6), 0)); });
  CHECK(range_of_tensor(p, clamped, numbers) == Interval{});
  const te::Tensor wide =
      p.compute("W", {20}, [&](auto n) { return table(numbers(te::Expr(0)) + n); });
  CHECK(range_of_tensor(p, wide, numbers) == Interval{});
}

TEST_CASE("what is divided by is an index that is never zero", "[te]") {
  te::Program p;
  const te::Tensor data = p.placeholder("A", {9, 4}, DType::i32);
  const te::Tensor divisors = p.placeholder("D", {4}, DType::i32);
  const te::Tensor offset = p.compute("F", {4}, [&](auto c) { return divisors(c) + 3; });
  const te::Tensor quotient =
      p.compute("Q", {9, 4}, [&](auto n, auto c) { return te::floordiv(data(n, c), offset(c)); });
  const te::Tensor real = p.compute("R", {9, 4}, [&](auto n, auto c) {
    return te::cast(DType::f32, quotient(n, c)) / te::cast(DType::f32, data(n, c));
  });
  const auto dag = p.dag({data, divisors, real});
  const std::vector<te::IndexUse> uses = te::index_values(*dag);
  check_range(uses[divisors.id().value].legal, -2, 97);
  CHECK(uses[divisors.id().value].is_index);
  CHECK(uses[offset.id().value].is_index);
  CHECK(uses[data.id().value].is_index);  // the least number divided by -1 is none
  CHECK_FALSE(uses[quotient.id().value].is_index);
}

TEST_CASE("a value that another stage makes an index of is one, whatever the way", "[te]") {
  te::Program p;
  const te::Tensor table = p.placeholder("T", {7});
  const te::Tensor numbers = p.placeholder("I", {4}, DType::i32);
  const te::Tensor clamped =
      p.compute("C", {4}, [&](auto n) { return te::max(te::min(numbers(n), 6), 0); });
  const te::Tensor out = p.compute("O", {4}, [&](auto n) { return table(clamped(n)); });
  const auto dag = p.dag({table, numbers, out});
  const std::vector<te::IndexUse> uses = te::index_values(*dag);
  CHECK(uses[numbers.id().value].is_index);
  CHECK(uses[numbers.id().value].legal == Interval{});
  CHECK_FALSE(uses[table.id().value].is_index);
}
