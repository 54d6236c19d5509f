// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/root_arguments.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;

TEST_CASE("arguments of roots and logarithms are found", "[te]") {
  te::Program p;
  const te::Tensor x = p.placeholder("X", {4}), variance = p.placeholder("V", {4});
  const te::Tensor narrow = p.placeholder("N", {4}, DType::f16), other = p.placeholder("O", {4});
  const te::Tensor y = p.compute("Y", {4}, [&](auto i) {
    return x(i) * te::rsqrt(variance(i) + 1e-5) + te::log(te::cast(DType::f32, narrow(i))) +
           te::exp(other(i)) + te::sqrt(other(i) * other(i));
  });
  const auto dag = p.dag({x, variance, narrow, other, y});
  const std::vector<bool> found = te::root_arguments(*dag);
  CHECK_FALSE(found[x.id().value]);
  CHECK(found[variance.id().value]);
  CHECK(found[narrow.id().value]);
  CHECK_FALSE(found[other.id().value]);
  CHECK_FALSE(found[y.id().value]);
}
