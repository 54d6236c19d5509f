// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/factor_sums.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

/// The formulas of the stages of each sketch that factors a sum, as "name:axes+sums".
std::set<std::string> factored(const std::string& text) {
  const auto parsed = ops::parse_workload(text);
  REQUIRE(parsed);
  SketchOptions options;
  options.hardware.num_cores = 4;
  std::set<std::string> found;
  bool has_plain = false;
  for (const State& state : generate_sketches(parsed->dag, native_cpu_rules(), options)) {
    std::string stages;
    bool is_factored = false;
    for (const Step& step : state.steps()) {
      is_factored = is_factored || std::holds_alternative<FactorSumStep>(step);
      if (const auto* s = std::get_if<FactorSumStep>(&step)) {
        for (std::int32_t at : s->kept) {
          stages += std::to_string(at);
        }
        stages += "+";
        for (std::int32_t at : s->summed) {
          stages += std::to_string(at);
        }
        stages += " ";
      }
    }
    has_plain = has_plain || !is_factored;
    if (is_factored) {
      found.insert(stages);
    }
  }
  CHECK(has_plain);
  return found;
}

}  // namespace

using Ways = std::set<std::string>;

TEST_CASE("a chain of products is summed in the cheaper order") {
  CHECK(factored("Y[i:100,l:90] += A[i,j:80]*B[j,k:10]*C[k,l]") == Ways{"03+2 "});
  CHECK(factored("Y[i:10,l:90] += A[i,j:80]*B[j,k:100]*C[k,l]") == Ways{"03+2 "});
  CHECK(factored("Y[i:90,l:10] += A[i,j:100]*B[j,k:80]*C[k,l]") == Ways{"21+3 "});
}

TEST_CASE("of four factors what is left is asked again; what costs as much stays one") {
  const Ways ways = factored("Y[i:40,m:50] += A[i,j:30]*B[j,k:40]*C[k,l:30]*D[l,m]");
  REQUIRE(ways.size() == 2);
  CHECK(ways.rbegin()->starts_with(*ways.begin()));
  CHECK(std::count(ways.rbegin()->begin(), ways.rbegin()->end(), '+') == 2);
  CHECK(factored("M[i:64,r:32] += X[i,j:64,k:64]*B[j,r]*C[k,r]") == Ways{"021+3 "});
  CHECK(factored("Y[i:64,j:64] += A[i,k:64]*B[k,j]").empty());
  CHECK(factored("Y[i:64] += A[i,k:2]*B[i,k]*C[i]").empty());
}

}  // namespace tensorsmith
