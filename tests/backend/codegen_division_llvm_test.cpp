// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Quotients and remainders by constants, which are products: of every width, sign and size, as
// values and as indices.
#include <limits>

#include "backend/codegen_fixture.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t columns = 4;

std::vector<std::int64_t> divisors_below(std::int64_t most) {
  std::vector<std::int64_t> all;
  for (int exponent = 0; exponent < 63 && std::int64_t{1} << exponent <= most; ++exponent) {
    const std::int64_t power = std::int64_t{1} << exponent;
    for (std::int64_t d : {power - 1, power, power + 1, power + power / 2}) {
      if (d > 1 && d <= most) {
        all.push_back(d);
      }
    }
  }
  for (std::int64_t d : {7, 10, 100, 641, 1000, 6700417}) {
    if (d <= most) {
      all.push_back(d);
    }
  }
  all.push_back(most);
  return all;
}

/// Around multiples of the divisor, the ends of the type, and others.
HostArray dividends(DType type, std::int64_t divisor, CounterRng& rng) {
  const IntegerLimits limits = limits_of(type);
  std::vector<std::int64_t> values = {
      limits.low, limits.low + 1, -divisor, 1 - divisor,     -1,         0,
      1,          divisor - 1,    divisor,  limits.high - 1, limits.high};
  for (std::int64_t q : {limits.high / divisor, limits.low / divisor}) {
    values.push_back(q * divisor);
    values.push_back(q > 0 ? q * divisor - 1 : q * divisor + 1);
  }
  while (values.size() < 32) {
    const auto drawn = static_cast<std::int64_t>(rng.next_u64());
    values.push_back(drawn >> rng.next_below(64));
  }
  HostArray array(type, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t bits = 8 * bytes_of(type);
    const std::int64_t value = bits == 64 ? values[i] : (values[i] << (64 - bits)) >> (64 - bits);
    array.set_int(static_cast<std::int64_t>(i), value);
  }
  return array;
}

/// The four operations, each the same for a row, so that no vector computes them.
void check_division(DType type, std::int64_t divisor, CounterRng& rng) {
  te::Program p;
  const HostArray values = dividends(type, divisor, rng);
  const std::int64_t rows = values.shape[0];
  auto x = p.placeholder("X", {rows}, type), z = p.placeholder("Z", {columns}, type);
  const te::Expr d = divisor;
  std::vector<te::Tensor> arguments = {x, z};
  arguments.push_back(p.compute("Q", {rows, columns},
                                [&](auto i, auto j) { return te::floordiv(x(i), d) + z(j); }));
  arguments.push_back(p.compute("R", {rows, columns},
                                [&](auto i, auto j) { return te::floormod(x(i), d) + z(j); }));
  arguments.push_back(
      p.compute("S", {rows, columns}, [&](auto i, auto j) { return x(i) / d + z(j); }));
  arguments.push_back(p.compute("T", {rows, columns},
                                [&](auto i, auto j) { return te::truncmod(x(i), d) + z(j); }));
  const auto dag = p.dag(arguments);
  const std::vector<HostArray> inputs = {values, HostArray(type, {columns})};
  const auto expected = eval_dag(*dag, inputs);
  REQUIRE(expected);
  std::vector<HostArray> arrays = inputs;
  arrays.resize(6, HostArray(type, {rows, columns}));
  const auto program = lower(State::initial(dag), host_target());
  REQUIRE(program);
  const auto compiled = run_compiled(*program, arrays, host_target());
  REQUIRE(compiled);
  for (std::size_t k = 0; k < 4; ++k) {
    INFO(name_of(type) << " by " << divisor << ", operation " << k);
    REQUIRE((*compiled)[2 + k] == (*expected)[k]);
  }
}

}  // namespace

TEST_CASE("quotients and remainders by constants: every width, sign and size") {
  CounterRng rng(seed(), 17);
  for (DType type : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    const std::vector<std::int64_t> divisors = divisors_below(limits_of(type).high);
    const std::size_t step = divisors.size() / scaled(48) + 1;
    for (std::size_t at = 0; at < divisors.size(); at += step) {
      check_division(type, divisors[at], rng);
    }
  }
}

TEST_CASE("rows by a quotient and a remainder of their number, and of numbers that are data") {
  for (std::int64_t divisor : {3, 7, 10}) {
    te::Program p;
    auto table = p.placeholder("T", {66, columns}, DType::i32);
    auto number = p.placeholder("N", {40}, DType::i64);
    auto y = p.compute("Y", {40, columns}, [&](auto i, auto j) {
      return table(te::floordiv(i * 5, divisor), j) + table(te::floormod(i * 3, divisor), j) +
             table(te::floormod(number(i) - 7, divisor), j);
    });
    const auto dag = p.dag({table, number, y});
    std::vector<HostArray> arrays = whole_number_inputs(*dag);
    const auto expected = eval_dag(*dag, arrays);
    REQUIRE(expected);
    arrays.emplace_back(DType::i32, std::vector<std::int64_t>{40, columns});
    const auto program = lower(State::initial(dag), host_target());
    REQUIRE(program);
    const auto compiled = run_compiled(*program, arrays, host_target());
    REQUIRE(compiled);
    CHECK(compiled->back() == expected->back());
  }
}
