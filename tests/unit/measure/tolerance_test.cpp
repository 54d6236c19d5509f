// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/tolerance.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("integers are exact, floats are bounded by type and reduction length") {
  CHECK(tolerance_for(DType::i32, DType::i32, 512).kind == OutputTolerance::Kind::exact);
  CHECK(tolerance_for(DType::boolean, DType::f32, 1).kind == OutputTolerance::Kind::exact);
  CHECK(tolerance_for_rounded().kind == OutputTolerance::Kind::rounded);
  CHECK(tolerance_for_rounded().absolute == 1);
  const OutputTolerance one = tolerance_for(DType::f32, DType::f32, 1);
  const OutputTolerance many = tolerance_for(DType::f32, DType::f32, 10'000);
  CHECK(one.kind == OutputTolerance::Kind::bounded);
  CHECK(one.of_rms == 0);
  CHECK(many.relative > one.relative);
  CHECK(many.of_rms > 0);
  // Far below what a missing term of the sum would do: rms / sqrt(length) on average.
  CHECK(many.of_rms < 0.01 / 100);
  CHECK(many.relative < 1e-4);
  CHECK(tolerance_for(DType::f32, DType::f32, 0).relative == one.relative);
}

TEST_CASE("narrow outputs are bounded by their own precision, not by that of the accumulator") {
  const OutputTolerance half = tolerance_for(DType::f16, DType::f32, 512);
  CHECK(half.relative >= epsilon_of(DType::f16));
  CHECK(half.relative < 1.2 * epsilon_of(DType::f16));
  CHECK(tolerance_for(DType::bf16, DType::bf16, 64).relative >
        tolerance_for(DType::bf16, DType::f32, 64).relative);
  CHECK(epsilon_of(DType::i8) == 0);
}
