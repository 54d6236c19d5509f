#include "tensorsmith/ir/dtype.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("every type has two names that lead back to it, and one class") {
  for (std::size_t n = 0; n < std::size(detail::dtype_facts); ++n) {
    const auto type = static_cast<DType>(n);
    CHECK(dtype_from_name(name_of(type)) == type);
    CHECK(dtype_from_name(reference_name_of(type)) == type);
    CHECK(is_float(type) + is_integer(type) + (type == DType::boolean) == 1);
  }
  CHECK(!dtype_from_name("f128"));
  CHECK(bytes_of(DType::bf16) == 2);
  CHECK(bytes_of(DType::i64) == 8);
  CHECK(bytes_of(DType::boolean) == 1);
}
