// SPDX-License-Identifier: Apache-2.0
// Functions made of others, against those of the standard library.
#include "tensorsmith/te/functions.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Case {
  const char* name;
  double (*of)(double);
  double low, high;  ///< of arguments
};
constexpr Case cases[] = {
    {"sin", std::sin, -1e4, 1e4},     {"cos", std::cos, -1e4, 1e4},
    {"tan", std::tan, -1e4, 1e4},     {"asin", std::asin, -1, 1},
    {"acos", std::acos, -1, 1},       {"atan", std::atan, -100, 100},
    {"sinh", std::sinh, -20, 20},     {"cosh", std::cosh, -20, 20},
    {"asinh", std::asinh, -1e9, 1e9}, {"acosh", std::acosh, 1, 1e9},
    {"atanh", std::atanh, -1, 1},     {"exp2", std::exp2, -100, 100},
    {"expm1", std::expm1, -20, 20},   {"log2", std::log2, 1e-6, 1e6},
    {"log10", std::log10, 1e-6, 1e6}, {"log1p", std::log1p, -0.99, 100},
};

template <class T>
std::vector<T> results(const std::string& text, const std::vector<std::vector<T>>& inputs) {
  const auto dag = te::read_notation(text);
  REQUIRE(dag);
  std::vector<HostArray> arrays;
  for (const std::vector<T>& values : inputs) {
    HostArray array(sizeof(T) == 8 ? DType::f64 : DType::f32,
                    {static_cast<std::int64_t>(values.size())});
    std::memcpy(array.data.data(), values.data(), values.size() * sizeof(T));
    arrays.push_back(std::move(array));
  }
  const auto outputs = eval_dag(**dag, arrays);
  REQUIRE(outputs);
  std::vector<T> found(inputs[0].size());
  REQUIRE((*outputs)[0].data.size() == found.size() * sizeof(T));
  std::memcpy(found.data(), (*outputs)[0].data.data(), found.size() * sizeof(T));
  return found;
}

/// Half of them spread evenly, half of every size.
std::vector<double> arguments(const Case& function, CounterRng& rng) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) {
    const double x = function.low + (function.high - function.low) * rng.next_double();
    const double scaled = x * std::exp2(-30 * rng.next_double());
    values.push_back(i % 2 == 0 || scaled < function.low ? x : scaled);
  }
  return values;
}

bool is_alike(double found, double wanted, double relative) {
  return std::isnan(wanted)   ? std::isnan(found)
         : std::isinf(wanted) ? found == wanted
                              : std::abs(found - wanted) <= relative * std::abs(wanted);
}

}  // namespace

TEST_CASE("functions are right in all but the last bit of f32", "[te]") {
  CounterRng rng(77);
  REQUIRE(std::size(cases) == std::size(te::named_functions));
  for (std::size_t f = 0; f < std::size(cases); ++f) {
    const Case& function = cases[f];
    REQUIRE(te::named_functions[f].name == function.name);
    std::vector<float> narrow;
    for (const double x : arguments(function, rng)) {
      narrow.push_back(static_cast<float>(x));
    }
    const std::string count = std::to_string(narrow.size());
    const std::vector<float> found =
        results<float>("Y[i:" + count + "] = " + function.name + "(X[i])", {narrow});
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(function.name << "(" << narrow[i] << ") = " << found[i]);
      const double wanted = static_cast<float>(function.of(static_cast<double>(narrow[i])));
      CHECK(is_alike(static_cast<double>(found[i]), wanted, 1.2e-7));
    }
  }
}

TEST_CASE("functions have eleven digits of f64", "[te]") {
  CounterRng rng(78);
  for (const Case& function : cases) {
    const std::vector<double> values = arguments(function, rng);
    const std::string count = std::to_string(values.size());
    const std::vector<double> found = results<double>(
        "X.f64[" + count + "]; Y[i:" + count + "] = " + function.name + "(X[i])", {values});
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(function.name << "(" << values[i] << ") = " << found[i]);
      CHECK(is_alike(found[i], function.of(values[i]), 1e-11));
    }
  }
}

TEST_CASE("functions of what is no usual number", "[te]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0, nan, infinity, -infinity, 1, -1, 2, -2};
  for (const Case& function : cases) {
    const bool is_angle = function.high == 1e4;
    const std::vector<double> found =
        results<double>(std::string("X.f64[8]; Y[i:8] = ") + function.name + "(X[i])", {values});
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(function.name << "(" << values[i] << ") = " << found[i]);
      const double wanted = is_angle && std::isinf(values[i]) ? nan : function.of(values[i]);
      CHECK((is_alike(found[i], wanted, 1e-11) ||
             (std::isfinite(wanted) && std::abs(found[i] - wanted) < 1e-15)));
    }
  }
}

TEST_CASE("the remainder of a quotient towards zero", "[te]") {
  CounterRng rng(79);
  std::vector<double> x, y;
  for (int i = 0; i < 300; ++i) {
    x.push_back(static_cast<double>(rng.next_below(20'001)) / 8 - 1250);
    y.push_back(i % 50 == 49
                    ? (i % 100 == 49 ? infinity : 0.0)
                    : (static_cast<double>(rng.next_below(100)) + 1) / 8 * (i % 2 == 0 ? 1 : -1));
  }
  const std::vector<double> found =
      results<double>("X.f64[300]; Z.f64[300]; Y[i:300] = fmod(X[i], Z[i])", {x, y});
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO(x[i] << " mod " << y[i]);
    CHECK(is_alike(found[i], std::fmod(x[i], y[i]), 1e-12));
  }
}

TEST_CASE("functions want floats", "[te]") {
  te::Program p;
  const te::Tensor n = p.placeholder("n", {4}, DType::i32);
  CHECK_THROWS_AS(p.compute("y", {4}, [&](auto i) { return te::sin(n(i)); }), Error);
  CHECK_THROWS_AS(te::log2(te::Expr(2.0)), Error);
  CHECK_THROWS_AS(te::fmod(te::Expr(2.0), te::Expr(1.0)), Error);
  CHECK_FALSE(te::read_notation("Y[i:4] = sin(X[i], X[i])"));
}

}  // namespace tensorsmith
