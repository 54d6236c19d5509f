// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/host_array.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("every type stores and returns what it can hold") {
  for (DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                     DType::i8, DType::u8, DType::boolean}) {
    CAPTURE(name_of(type));
    HostArray array(type, {2, 3});
    CHECK(array.num_elements() == 6);
    CHECK(array.data.size() == static_cast<std::size_t>(6 * bytes_of(type)));
    CHECK(array.get_real(5) == 0);
    array.set_int(array.position({1, 2}), 1);
    CHECK(array.get_int(5) == 1);
    CHECK(array.get_real(5) == 1);
    CHECK(array.get_int(4) == 0);
    const HostArray copy = array;
    CHECK(copy == array);
    array.set_real(0, 1.0);
    CHECK(!(copy == array));
  }
}

TEST_CASE("stores round and wrap") {
  HostArray half(DType::f16, {1});
  half.set_real(0, 0.1);
  CHECK(half.get_real(0) == static_cast<double>(float_from_f16(f16_from_float(0.1F))));
  HostArray byte(DType::i8, {1});
  byte.set_int(0, 130);
  CHECK(byte.get_int(0) == -126);
  byte.set_real(0, -1.5);
  CHECK(byte.get_int(0) == -1);
}

TEST_CASE("rank 0 is one element; what is outside is an internal error") {
  HostArray scalar(DType::f32, {});
  CHECK(scalar.num_elements() == 1);
  scalar.set_real(scalar.position({}), 2);
  CHECK(scalar.get_real(0) == 2);
  CHECK_THROWS_AS(scalar.get(1), test::AssertionFailed);
  CHECK_THROWS_AS(scalar.position({0}), test::AssertionFailed);
}
