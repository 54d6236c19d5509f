// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/value.hpp"

#include "support/catch.hpp"

#include <cfloat>

#include "tensorsmith/support/rng.hpp"

#include <bit>
#include <cmath>
#include <limits>

using namespace tensorsmith;

TEST_CASE("integer division rounds as written in expr.hpp") {
  const std::int64_t numbers[][2] = {{7, 2}, {-7, 2}, {7, -2}, {-7, -2}, {6, 3}, {-6, 3}};
  for (const auto& [a, b] : numbers) {
    const double exact = static_cast<double>(a) / static_cast<double>(b);
    CHECK(*apply_integer(BinaryOp::floordiv, a, b) == static_cast<std::int64_t>(std::floor(exact)));
    CHECK(*apply_integer(BinaryOp::div, a, b) == static_cast<std::int64_t>(std::trunc(exact)));
    CHECK(*apply_integer(BinaryOp::floormod, a, b) ==
          a - b * *apply_integer(BinaryOp::floordiv, a, b));
    CHECK(*apply_integer(BinaryOp::truncmod, a, b) == a - b * *apply_integer(BinaryOp::div, a, b));
  }
  for (BinaryOp op : {BinaryOp::div, BinaryOp::truncmod, BinaryOp::floordiv, BinaryOp::floormod}) {
    CHECK(!apply_integer(op, 5, 0));
    CHECK(apply_integer(op, INT64_MIN, -1));
  }
}

TEST_CASE("elements wrap to their type") {
  CHECK(wrap_integer(200, DType::i8) == -56);
  CHECK(wrap_integer(-1, DType::u8) == 255);
  CHECK(wrap_integer(std::int64_t{1} << 31, DType::i32) == INT32_MIN);
  CHECK(wrap_integer(7, DType::boolean) == 1);
  const auto sum = apply_binary(BinaryOp::add, DType::u8, scalar_of(200), scalar_of(100));
  CHECK(sum->integer == 44);
  CHECK(apply_unary(UnaryOp::neg, DType::i8, scalar_of(-128)).integer == -128);
  CHECK(apply_call(CallOp::abs, DType::i8, scalar_of(-128), scalar_of(0)).integer == -128);
  // Index arithmetic does not.
  const auto exact =
      apply_binary(BinaryOp::mul, DType::i32, scalar_of(1 << 20), scalar_of(1 << 20), false);
  CHECK(exact->integer == std::int64_t{1} << 40);
}

TEST_CASE("f32 arithmetic is that of float") {
  CounterRng rng(test::seed(), 11);
  for (int n = 0; n < 2000; ++n) {
    const auto a = std::bit_cast<float>(rng.next_u32()), b = std::bit_cast<float>(rng.next_u32());
    for (BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::div}) {
      const float expected = apply_real(op, a, b);
      const auto found = apply_binary(op, DType::f32, scalar_of_real(a), scalar_of_real(b));
      const bool same = static_cast<float>(found->real) == expected ||
                        (expected != expected && found->real != found->real);
      CHECK(same);
    }
    const float root = std::sqrt(std::fabs(a));
    const double found =
        apply_call(CallOp::sqrt, DType::f32, scalar_of_real(std::fabs(a)), scalar_of(0)).real;
    const bool same_root = found == static_cast<double>(root) || root != root;
    CHECK(same_root);
  }
}

TEST_CASE("narrow floats are rounded once, from double too") {
  // Halfway between two f16 plus less than a float can tell: a double rounding would go down.
  const double above = 1.0 + 0x1.0p-11 + 0x1.0p-40;
  CHECK(round_real(above, DType::f16) == 1.0 + 0x1.0p-10);
  CHECK(round_real(1.0 + 0x1.0p-11 - 0x1.0p-40, DType::f16) == 1.0);
  CHECK(round_real(-above, DType::f16) == -1.0 - 0x1.0p-10);
  CHECK(round_real(1.0 + 0x1.0p-8 + 0x1.0p-40, DType::bf16) == 1.0 + 0x1.0p-7);
  CHECK(round_real(1e300, DType::f16) == std::numeric_limits<double>::infinity());
  CHECK(std::signbit(round_real(-1e-300, DType::f16)));
  CHECK(round_real(0.1, DType::f32) == static_cast<double>(0.1F));
  // Arithmetic of f16 is that of f32: nothing is rounded to 11 bits.
  const auto sum = apply_binary(BinaryOp::add, DType::f16, scalar_of_real(2048), scalar_of_real(1));
  CHECK(sum->real == 2049);
}

TEST_CASE("casts") {
  const auto to = [](double value, DType type) {
    return cast_scalar(scalar_of_real(value), DType::f64, type).integer;
  };
  CHECK(to(-1.9, DType::i32) == -1);
  CHECK(to(300, DType::u8) == 255);
  CHECK(to(-3, DType::u8) == 0);
  CHECK(to(-129, DType::i8) == -128);
  CHECK(to(1e30, DType::i64) == INT64_MAX);
  CHECK(to(-1e30, DType::i32) == INT32_MIN);
  CHECK(to(std::numeric_limits<double>::quiet_NaN(), DType::i32) == 0);
  CHECK(to(0.5, DType::boolean) == 1);
  CHECK(cast_scalar(scalar_of(300), DType::i32, DType::u8).integer == 44);
  CHECK(cast_scalar(scalar_of(16777217), DType::i64, DType::f32).real == 16777216.0);
  CHECK(cast_scalar(scalar_of(INT64_MAX), DType::i64, DType::f64).real == 0x1.0p63);
}

TEST_CASE("min and max return the other operand of a NaN") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (BinaryOp op : {BinaryOp::min, BinaryOp::max}) {
    CHECK(apply_binary(op, DType::f32, scalar_of_real(nan), scalar_of_real(3))->real == 3);
    CHECK(apply_binary(op, DType::f32, scalar_of_real(3), scalar_of_real(nan))->real == 3);
  }
  CHECK(apply_binary(BinaryOp::ne, DType::f32, scalar_of_real(nan), scalar_of_real(nan))->integer ==
        1);
  CHECK(apply_call(CallOp::round, DType::f32, scalar_of_real(2.5), scalar_of(0)).real == 2);
}
