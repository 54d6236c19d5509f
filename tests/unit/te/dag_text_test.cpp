// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/dag_text.hpp"

#include <limits>

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;

namespace {

std::string line_of(const te::Program& p, const te::Tensor& tensor, bool simple = false) {
  const std::string text = te::dag_text(*p.dag({tensor}), simple);
  const auto at = text.rfind('\n', text.size() - 2);
  return text.substr(at == std::string::npos ? 0 : at + 1);
}

}  // namespace

TEST_CASE("literals have six digits and a suffix for their width", "[te]") {
  const std::pair<double, std::string> cases[] = {
      {0, "0"},           {0.001, "0.001"},   {1.0 / 9, "0.111111"},
      {1e-5, "1e-05"},    {-2.5, "-2.5"},     {1e6, "1e+06"},
      {123456, "123456"}, {0.0001, "0.0001"}, {1234567, "1.23457e+06"}};
  const std::pair<DType, std::string> types[] = {
      {DType::f32, "f"}, {DType::f64, ""}, {DType::f16, "h"}, {DType::bf16, "h"}};
  int count = 0;
  te::Program p;
  for (const auto& [type, suffix] : types) {
    for (const auto& [value, text] : cases) {
      const auto c = p.compute("C" + std::to_string(count), {2},
                               // clang 14 captures no structured bindings
                               [&, t = type, v = value](auto) { return p.constant(t, v); });
      CHECK(line_of(p, c) == "C" + std::to_string(count) + "(i) = " + text + suffix + "\n");
      ++count;
    }
  }
}

TEST_CASE("the simple form cuts only bodies that are calls", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4});
  const auto c = p.compute("C", {4}, [&](auto i) { return te::exp(a(i)); });
  CHECK(line_of(p, c) == "C(i) = tir.exp(A[i])\n");
  CHECK(line_of(p, c, true) == "C(i) = Op(tir.exp)\n");
  const auto d = p.compute("D", {4}, [&](auto i) { return te::exp(a(i)) + 1; });
  CHECK(line_of(p, d, true) == "D(i) = (tir.exp(A[i]) + 1f)\n");
}

TEST_CASE("reductions by their combiner", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4});
  const auto k = p.reduce_axis("k", 4);
  const auto source = [&] { return a(k) * 2; };
  CHECK(line_of(p, p.compute("S", {}, [&] { return te::sum(source(), {k}); })) ==
        "S() += (A[k]*2f)\n");
  CHECK(line_of(p, p.compute("L", {}, [&] { return te::min(source(), {k}); })) ==
        "L() min= (A[k]*2f)\n");
  CHECK(line_of(p, p.compute("H", {}, [&] { return te::max(source(), {k}); })) ==
        "H() max= (A[k]*2f)\n");
  CHECK(line_of(p, p.compute("P", {}, [&] { return te::prod(source(), {k}); })) ==
        "P()reduce(x*y)\n");
}

// The reference has no infinities: where we begin and pad with them it has the ends of the type.
TEST_CASE("infinities are printed as the reference's largest numbers", "[te]") {
  const std::pair<DType, const char*> largest[] = {{DType::f64, "1.79769e+308"},
                                                   {DType::f32, "3.40282e+38f"},
                                                   {DType::f16, "65504h"},
                                                   {DType::bf16, "3.38953e+38h"}};
  for (const auto& [type, text] : largest) {
    te::Program p;
    const auto a = p.placeholder("A", {4}, type);
    const double infinity = std::numeric_limits<double>::infinity();
    const auto c = p.compute("C", {4}, [&](auto i) { return te::max(a(i), -infinity); });
    CHECK(line_of(p, c) == "C(i) = max(A[i], -" + std::string(text) + ")\n");
  }
}
