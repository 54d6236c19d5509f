// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/widened.hpp"

#include <string>
#include <utility>

#include "support/catch.hpp"
#include "tensorsmith/ir/print.hpp"
#include "unit/lower/lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// C[i, j] = sum over k of A[i, k] * B[k, j] in type `sum`; stages 0 A, 1 B, 2 C.
DagPtr narrow_product(DType a, DType b, DType sum) {
  te::Program p;
  auto A = p.placeholder("A", {5, 7}, a), B = p.placeholder("B", {7, 9}, b);
  auto k = p.reduce_axis("k", 7);
  auto C = p.compute("C", {5, 9}, [&](auto i, auto j) {
    return te::sum(te::cast(sum, A(i, k)) * te::cast(sum, B(k, j)), {k});
  });
  return p.dag({A, B, C});
}

}  // namespace

TEST_CASE("every value of a narrow type is one of the type of its widened copy") {
  for (DType type : all_dtypes) {
    const DType wide = wide_type(type);
    CHECK(is_float(type) == is_float(wide));
    CHECK((wide == type || bytes_of(wide) == 2 * bytes_of(type)));
    CHECK(limits_of(wide).low <= limits_of(type).low);
    CHECK(limits_of(wide).high >= limits_of(type).high);
  }
}

TEST_CASE("a widened copy computes what its readers would, conversions are left out") {
  for (const auto& [a, b, sum] : {std::tuple(DType::f16, DType::f16, DType::f32),
                                  std::tuple(DType::bf16, DType::bf16, DType::f32),
                                  std::tuple(DType::i8, DType::u8, DType::i32),
                                  std::tuple(DType::f32, DType::i32, DType::f32)}) {
    INFO(name_of(a) << " x " << name_of(b));
    ScheduleBuilder s(narrow_product(a, b, sum));
    s.apply(CacheReadStep{0, "widened", {2}});
    s.apply(CacheReadStep{2, "widened", {3}});
    CHECK(s.state().dag().tensor(s.state().operation(1).outputs[0]).dtype == wide_type(a));
    CHECK(s.state().dag().tensor(s.state().operation(3).outputs[0]).dtype == wide_type(b));
    const std::string text = checked_text(s.state());  // and what the formulas say
    const std::string read =
        wide_type(a) == sum ? "+ A.widened[" : "+ " + std::string(name_of(sum)) + "(A.widened[";
    CHECK(text.find(read) != std::string::npos);
  }
}

TEST_CASE("a reader that computes with the narrow type itself still does") {
  te::Program p;
  auto a = p.placeholder("A", {40}, DType::u8);
  auto b = p.compute("B", {40}, [&](auto i) { return a(i) + a(i); });
  ScheduleBuilder s(p.dag({a, b}));
  s.apply(CacheReadStep{0, "widened", {1}});
  CHECK(checked_text(s.state()).find("u8(A.widened[") != std::string::npos);
}
