// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/flat_index.hpp"

#include "support/catch.hpp"
#include "support/random_expr.hpp"

using namespace tensorsmith;

namespace {

/// The only term of the sum.
FlatTerm only(const FlatIndex& sum) {
  REQUIRE(sum.size() == 1);
  return sum[0];
}

struct Fixture {
  ExprPool pool;
  ExprId v = pool.var(pool.new_var("v")), u = pool.var(pool.new_var("u"));
  ExprId i(std::int64_t value) { return pool.int_imm(value); }
  ExprId div(ExprId a, std::int64_t b) { return pool.floordiv(a, i(b)); }
  ExprId mod(ExprId a, std::int64_t b) { return pool.floormod(a, i(b)); }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "quotient and remainder over a whole dimension are the value itself") {
  const ExprId both = pool.add(pool.mul(u, i(48)), v);
  const FlatIndex sum = flat_index(pool, {div(both, 56), mod(both, 56)}, {56, 1});
  REQUIRE(sum.size() == 2);  // 48 * u + v
  CHECK(sum[0].index == u);
  CHECK(sum[0].coefficient == 48);
  CHECK(sum[1].index == v);
  CHECK(sum[1].coefficient == 1);
}

TEST_CASE_METHOD(Fixture, "three dimensions, with a stride behind them") {
  const FlatTerm term =
      only(flat_index(pool, {div(v, 9), mod(div(v, 3), 3), mod(v, 3)}, {288, 96, 32}));
  CHECK(term.index == v);
  CHECK(term.coefficient == 32);
  CHECK(
      only(flat_index(pool, {div(div(v, 3), 3), mod(div(v, 3), 3), mod(v, 3)}, {9, 3, 1})).index ==
      v);
}

TEST_CASE_METHOD(Fixture, "what does not belong together stays apart") {
  CHECK(flat_index(pool, {div(v, 56), mod(v, 56)}, {57, 1}).size() == 2);  // padded rows
  CHECK(flat_index(pool, {div(v, 55), mod(v, 56)}, {56, 1}).size() == 2);
  CHECK(flat_index(pool, {div(u, 56), mod(v, 56)}, {56, 1}).size() == 2);
  CHECK(only(flat_index(pool, {mod(v, 56)}, {1})).index == mod(v, 56));
  CHECK(flat_index(pool, {}, {}).empty());
}

TEST_CASE_METHOD(Fixture, "the sum has the value of the indices") {
  std::size_t compared = 0;
  for (std::uint32_t n = 0; n < 500; ++n) {
    CounterRng rng(test::seed(), 43, n);
    const auto draw = [&](std::uint32_t least, std::uint32_t most) {
      return static_cast<std::int64_t>(least + rng.next_below(most - least + 1));
    };
    const ExprId whole = pool.add(pool.mul(u, i(draw(0, 40))), pool.sub(v, i(draw(0, 20))));
    const std::int64_t inner = draw(1, 5), outer = draw(1, 5), row = inner + 2 * (n % 4 / 3);
    const ExprList indices = {pool.mul(mod(u, 3), div(v, 2)), div(whole, inner * outer),
                              pool.add(mod(div(whole, inner), outer), i(3)), mod(whole, inner)};
    const SmallVector<std::int64_t, 6> strides = {7, row * outer * 2, row * 2, 2};
    const FlatIndex sum = flat_index(pool, indices, strides);
    CHECK(sum.size() >= 2);
    CHECK((row != inner || sum.size() <= 5));  // the first index, the terms of `whole`, constants
    for (std::int64_t first = 0; first < 7; first += 3) {
      for (std::int64_t second = 0; second < 50; second += 7) {
        const test::ExprValue value{pool, {scalar_of(second), scalar_of(first)}};
        std::int64_t expected = 0, found = 0;
        for (std::size_t d = 0; d < indices.size(); ++d) {
          expected += value(indices[d])->integer * strides[d];
        }
        for (const FlatTerm& term : sum) {
          found += value(term.index)->integer * term.coefficient;
        }
        ++compared;
        REQUIRE(found == expected);
      }
    }
  }
  CHECK(compared == 500 * 3 * 8);
}
