// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/choose.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

Shared<const ComputeDag> parsed_dag(const std::string& text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload.has_value());
  return workload->dag;
}

SketchOptions one_core() {
  SketchOptions options;
  options.hardware.num_cores = 1;
  options.hardware.vector_unit_bytes = 32;
  return options;
}

/// A sum over the steps, by their kinds.
double sines_of(const State& sketch, std::size_t seed) {
  double cost = 0;
  for (const Step& step : sketch.steps()) {
    cost += std::sin(static_cast<double>((step.index() + 1) * seed)) + 1;
  }
  return cost;
}

std::size_t index_in(const std::vector<State>& all, const State& sketch) {
  std::size_t place = 0;
  while (place < all.size() && all[place].steps() != sketch.steps()) {
    ++place;
  }
  return place;
}

constexpr const char* two_softmaxes =
    "M[i:64] max= X[i,j:100]; S[i] += exp(X[i,j]-M[i]); Y[i,j] = exp(X[i,j]-M[i])/S[i]; "
    "N[j:100] max= Y[i:64,j]; T[j] += exp(Y[i,j]-N[j]); Z[i:64,j:100] = exp(Y[i,j]-N[j])/T[j]";

}  // namespace

TEST_CASE("as many sketches as are asked for are those of the rules, in their order") {
  const auto dag = parsed_dag("gemm:64x64x64:f32,bias,relu");
  const auto all = generate_sketches(dag, native_cpu_rules(), one_core());
  const auto unasked = [](const std::vector<State>& sketches) {
    CHECK(sketches.empty());
    return std::vector<double>(sketches.size());
  };
  const auto chosen = choose_sketches(dag, native_cpu_rules(), one_core(), 1000, unasked);
  REQUIRE(chosen.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(chosen[i].steps() == all[i].steps());
  }
}

TEST_CASE("of more sketches the best one is among the few that are looked at") {
  for (const char* text : {"softmax:33x100:f32,online=32", "attention:2x13x16x8:bf16",
                           "gemm:13x20x28:bf16,bias,add,layernorm"}) {
    const auto dag = parsed_dag(text);
    const auto all = generate_sketches(dag, native_cpu_rules(), one_core());
    REQUIRE(all.size() > 250);
    const std::size_t most = std::min<std::size_t>(400, all.size() - 1);
    for (const std::size_t seed : {1U, 5U, 7U, 11U, 13U}) {
      CAPTURE(text, seed, all.size());
      std::size_t num_rated = 0;
      const auto rate = [&](const std::vector<State>& sketches) {
        std::vector<double> costs;
        for (const State& sketch : sketches) {
          costs.push_back(sines_of(sketch, seed));
        }
        num_rated += costs.size();
        return costs;
      };
      const auto chosen = choose_sketches(dag, native_cpu_rules(), one_core(), most, rate);
      REQUIRE(!chosen.empty());
      CHECK(chosen.size() <= most);
      CHECK(num_rated >= chosen.size());
      std::size_t num_better = 0;
      for (const State& sketch : all) {
        num_better += sines_of(sketch, seed) < sines_of(chosen.front(), seed) ? 1 : 0;
      }
      CHECK(num_better <= all.size() / 100);
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        places.push_back(index_in(all, chosen[i]));
        CHECK(places.back() < all.size());
        CHECK((i == 0 || sines_of(chosen[i - 1], seed) <= sines_of(chosen[i], seed)));
      }
      std::sort(places.begin(), places.end());
      CHECK(std::adjacent_find(places.begin(), places.end()) == places.end());
    }
  }
}

TEST_CASE("sketches of which no program is known are kept") {
  const auto nothing = [](const std::vector<State>& sketches) {
    return std::vector<double>(sketches.size(), math::infinity);
  };
  const auto chosen =
      choose_sketches(parsed_dag(two_softmaxes), native_cpu_rules(), one_core(), 20, nothing);
  CHECK(!chosen.empty());
  CHECK(chosen.size() <= 20);
}

}  // namespace tensorsmith
