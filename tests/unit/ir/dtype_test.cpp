// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/dtype_name.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("every type has two names that lead back to it, and one class") {
  static_assert(std::size(all_dtypes) == std::size(detail::dtype_facts));
  for (DType type : all_dtypes) {
    CHECK(dtype_from_name(name_of(type)) == type);
    CHECK(dtype_from_name(reference_name_of(type)) == type);
    CHECK(is_float(type) + is_integer(type) + (type == DType::boolean) == 1);
  }
  CHECK(!dtype_from_name("f128"));
  CHECK(bytes_of(DType::bf16) == 2);
  CHECK(bytes_of(DType::i64) == 8);
  CHECK(bytes_of(DType::boolean) == 1);
}
