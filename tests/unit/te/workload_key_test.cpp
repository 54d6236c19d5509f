// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/workload_key.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;

TEST_CASE("conformance 11.6: hash and key of matmul 512", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {512, 512}), b = p.placeholder("B", {512, 512});
  auto k = p.reduce_axis("k", 512);
  auto c =
      p.compute("C", {512, 512}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  const auto dag = p.dag({a, b, c});
  CHECK(te::dag_text(*dag, true) ==
        "A = PLACEHOLDER \nB = PLACEHOLDER \nC(i, j) += (A[i, k]*B[k, j])\n");
  CHECK(te::dag_hash(*dag) == "dc29d1d0f45b6bb93e8328b9f55c70d9");
  CHECK(te::workload_key(*dag) ==
        "[\"dc29d1d0f45b6bb93e8328b9f55c70d9\", [512, 512], [512, 512], [512, 512]]");
}

TEST_CASE("key of a program with a rank-0 output", "[te]") {
  te::Program p;
  auto a = p.placeholder("A", {3});
  auto k = p.reduce_axis("k", 3);
  auto b = p.compute("B", {}, [&] { return te::sum(a(k), {k}); });
  const std::string key = te::workload_key(*p.dag({a, b}));
  CHECK(key.substr(34) == "\", [3], []]");
}

TEST_CASE("keys of workload functions", "[te]") {
  CHECK(te::function_workload_key("matmul", {512, 512, 512}) == "[\"matmul\", 512, 512, 512]");
  CHECK(te::function_workload_key("nothing", {}) == "[\"nothing\"]");
}

TEST_CASE("keys of functions with text and flags", "[te]") {
  CHECK(te::call_workload_key("pool", {"avg", 128, true, false, "VALID"}) ==
        "[\"pool\", \"avg\", 128, true, false, \"VALID\"]");
  CHECK(te::call_workload_key("a\"b\\\n", {}) == "[\"a\\\"b\\\\\\u000a\"]");
}
