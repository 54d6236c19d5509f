// SPDX-License-Identifier: Apache-2.0
// What operators give for infinities and NaN: maxima, minima, argmax, pools, relu, gelu.
#include <limits>

#include "support/elementwise_sweep.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/support/rng.hpp"
#include "unit/ops/naive.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rows of every mixture of these, the first ones of nothing but one of them.
Values hard_rows(std::size_t rows, std::size_t columns) {
  const double kinds[] = {-infinity, NAN, infinity, -3, 2, 0};
  Values values;
  for (std::size_t r = 0; r < rows; ++r) {
    CounterRng rng(7, 1, static_cast<std::uint32_t>(r));
    const std::uint64_t allowed = r < 6 ? 1U << r : 1 + rng.next_below(63);
    for (std::size_t c = 0; c < columns; ++c) {
      std::uint64_t kind = rng.next_below(6);
      while ((allowed >> kind & 1U) == 0) {
        kind = (kind + 1) % 6;
      }
      values.push_back(kinds[kind]);
    }
  }
  return values;
}

HostArray run_on(const std::string& text, const std::vector<Values>& inputs) {
  const auto workload = ops::parse_workload(text);
  INFO(text);
  REQUIRE(workload.has_value());
  const ComputeDag& dag = *workload->dag;
  std::vector<HostArray> arrays;
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    const TensorInfo& info = dag.tensor(dag.arguments()[a]);
    arrays.emplace_back(info.dtype,
                        std::vector<std::int64_t>(info.shape.begin(), info.shape.end()));
    REQUIRE(arrays.back().num_elements() == static_cast<std::int64_t>(inputs[a].size()));
    for (std::size_t i = 0; i < inputs[a].size(); ++i) {
      arrays.back().set_real(static_cast<std::int64_t>(i), inputs[a][i]);
    }
  }
  auto outputs = eval_dag(dag, arrays);
  REQUIRE(outputs.has_value());
  return std::move(outputs->front());
}

bool is_same(double got, double want) {
  return got == want || (std::isnan(got) && std::isnan(want));
}

/// The extreme of `values` by the definition, and its place.
std::pair<double, std::size_t> extreme_of(const Values& values, bool is_max, bool propagates) {
  double best = is_max ? -infinity : infinity;
  std::size_t place = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (propagates && std::isnan(values[i])) {
      return {NAN, i};
    }
    const bool is_better = is_max ? values[i] > best : values[i] < best;
    if (is_better || (place == values.size() && values[i] == best)) {
      best = values[i];
      place = i;
    }
  }
  return {best, std::min(place, values.size() - 1)};
}

}  // namespace

TEST_CASE("maxima, minima and argmax of infinities and NaN, every float type", "[ops]") {
  const std::size_t rows = 48, columns = 5;
  const Values x = hard_rows(rows, columns);
  for (const char* type : {"f64", "f32", "f16", "bf16"}) {
    for (const bool propagates : {false, true}) {
      const std::string tail = ":48x5:" + std::string(type) + (propagates ? ",nan=propagate" : "");
      const HostArray most = run_on("reduce_max" + tail, {x}),
                      least = run_on("reduce_min" + tail, {x}),
                      place = run_on("argmax" + tail, {x});
      for (std::size_t r = 0; r < rows; ++r) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(r * columns);
        const Values row(first, first + columns);
        const auto at = static_cast<std::int64_t>(r);
        INFO(tail << ", row " << r);
        CHECK(is_same(most.get_real(at), extreme_of(row, true, propagates).first));
        CHECK(is_same(least.get_real(at), extreme_of(row, false, propagates).first));
        CHECK(place.get_int(at) ==
              static_cast<std::int64_t>(extreme_of(row, true, propagates).second));
      }
    }
  }
}

TEST_CASE("maxima and minima of the ends of integer types", "[ops]") {
  for (const DType type : {DType::i64, DType::i32, DType::i8, DType::u8}) {
    const IntegerLimits range = limits_of(type);
    for (const std::int64_t end : {range.low, range.high}) {
      for (const char* kind : {"reduce_max", "reduce_min", "argmax"}) {
        const std::string text = kind + std::string(":1x3:") + std::string(name_of(type));
        const auto workload = ops::parse_workload(text);
        INFO(text);
        REQUIRE(workload.has_value());
        HostArray row(type, {1, 3});
        for (std::int64_t c = 0; c < 3; ++c) {
          row.set_int(c, end);
        }
        const auto output = eval_dag(*workload->dag, {row});
        REQUIRE(output.has_value());
        CHECK(output->front().get_int(0) == (std::string(kind) == "argmax" ? 0 : end));
      }
    }
  }
}

TEST_CASE("max pools of infinities and NaN, padded", "[ops]") {
  const std::size_t side = 6;
  const Values x = hard_rows(side, side);
  for (const char* type : {"f32", "f16"}) {
    for (const bool propagates : {false, true}) {
      const HostArray out =
          run_on("max_pool:n=1,c=1,h=6,w=6,k=3,s=1,p=1,dtype=" + std::string(type) +
                     (propagates ? ",nan=propagate" : ""),
                 {x});
      for (std::size_t i = 0; i < side; ++i) {
        for (std::size_t j = 0; j < side; ++j) {
          Values window;
          for (std::size_t a = i == 0 ? 0 : i - 1; a < std::min(i + 2, side); ++a) {
            for (std::size_t b = j == 0 ? 0 : j - 1; b < std::min(j + 2, side); ++b) {
              window.push_back(x[a * side + b]);
            }
          }
          INFO(type << propagates << " " << i << " " << j);
          CHECK(is_same(out.get_real(static_cast<std::int64_t>(i * side + j)),
                        extreme_of(window, true, propagates).first));
        }
      }
    }
  }
}

TEST_CASE("relu, max and min of two of NaN and infinities", "[ops]") {
  const Values kinds{-infinity, NAN, infinity, -3, 2, 0};
  Values x, y;
  for (double a : kinds) {
    for (double b : kinds) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (const bool propagates : {false, true}) {
    const std::string tail = propagates ? ",nan=propagate" : "";
    const HostArray most = run_on("pointwise:36,max" + tail, {x, y}),
                    least = run_on("pointwise:36,min" + tail, {x, y}),
                    relu = run_on("pointwise:36,relu" + tail, {x});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      INFO(x[i] << " and " << y[i] << tail);
      const Values both{x[i], y[i]};
      const bool is_nan = std::isnan(x[i]) && std::isnan(y[i]);
      CHECK(is_same(most.get_real(at), is_nan ? NAN : extreme_of(both, true, propagates).first));
      CHECK(is_same(least.get_real(at), is_nan ? NAN : extreme_of(both, false, propagates).first));
      CHECK(is_same(relu.get_real(at), extreme_of({x[i], 0}, true, propagates).first));
    }
  }
}

TEST_CASE("relu behind products passes NaN on where asked, and a pool behind it", "[ops]") {
  for (const bool propagates : {false, true}) {
    const std::string tail = propagates ? ",nan=propagate" : "";
    const HostArray product = run_on("gemm:1x1x1:f32,relu" + tail, {{NAN}, {1}});
    CHECK(std::isnan(product.get_real(0)) == propagates);
    const HostArray pooled = run_on("conv2d:n=1,h=2,w=2,ci=1,co=1,k=1,relu,max_pool=2" + tail,
                                    {{3, NAN, 1, -infinity}, {1}});
    CHECK(is_same(pooled.get_real(0), propagates ? NAN : 3));
  }
}

TEST_CASE("gelu as it is defined, by the interpreter, for every number of every type", "[ops]") {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const HostArray inputs = sweep_inputs(type);
    const std::string text = "pointwise:" + std::to_string(inputs.num_elements()) + ":" +
                             std::string(name_of(type)) + ",gelu";
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload.has_value());
    const auto output = eval_dag(*workload->dag, {inputs});
    REQUIRE(output.has_value());
    std::int64_t num_wrong = 0;
    for (std::int64_t n = 0; n < inputs.num_elements(); ++n) {
      const double x = inputs.get_real(n), got = output->front().get_real(n);
      if (std::isnan(x)) {
        num_wrong += std::isnan(got) ? 0 : 1;
      } else if (std::isinf(x)) {
        num_wrong += got == (x > 0 ? x : 0) ? 0 : 1;
      } else {
        const double want = x / 2 * std::erfc(-x / std::sqrt(2.0));
        const double half_unit = std::ldexp(std::fabs(want), type == DType::f32   ? -24
                                                             : type == DType::f16 ? -11
                                                                                  : -8);
        const double allowed =
            half_unit + std::fabs(x) * 0x1p-23 + (type == DType::f16 ? 0x1p-25 : 0x1p-133);
        const bool is_over = std::fabs(want) > 65504 && type == DType::f16 && std::isinf(got);
        num_wrong += std::fabs(got - want) <= allowed || is_over ? 0 : 1;
      }
    }
    INFO(text);
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("a block of nothing but -infinity adds nothing to an online softmax", "[ops]") {
  const Values row{-infinity, -infinity, 1, 2, -infinity};
  const double sum = std::exp(1.0) + std::exp(2.0);
  const Values want{0, 0, std::exp(1.0) / sum, std::exp(2.0) / sum, 0};
  for (const char* type : {"f32", "f64"}) {
    const HostArray out = run_on("softmax:1x5:" + std::string(type) + ",online=2", {row});
    for (std::int64_t c = 0; c < 5; ++c) {
      CHECK(std::fabs(out.get_real(c) - want[static_cast<std::size_t>(c)]) < 1e-6);
    }
  }
}

TEST_CASE("nan=propagate stands where it says something, and comes back", "[ops]") {
  for (const char* text :
       {"gemm:3x4x5:f32,bias,relu,nan=propagate", "pointwise:7x5:f16,add,relu,nan=propagate",
        "max_pool:n=1,c=4,h=8,w=8,k=2,s=2,p=0,nan=propagate", "reduce_min:3x4,nan=propagate",
        "argmax:3x4:bf16,nan=propagate",
        "conv2d:n=1,h=8,w=8,ci=4,co=4,k=3,s=1,p=1,relu,max_pool=2,nan=propagate"}) {
    const auto workload = ops::parse_workload(text);
    INFO(text << ": " << (workload ? workload->name : workload.error()));
    REQUIRE(workload.has_value());
    CHECK(workload->name == text);
  }
  const std::pair<const char*, const char*> wrong[] = {
      {"gemm:3x4x5:f32,nan=propagate", "relu, max or min of a float type with nan=propagate"},
      {"gemm:3x4x5:i8,relu,nan=propagate", "with nan=propagate, got i8"},
      {"gemm:3x4x5:f32,relu,nan=ignore", "expected nan=propagate, got \"nan=ignore\""},
      {"pointwise:7:f32,exp,nan=propagate", "with nan=propagate, got none of them"},
      {"avg_pool:n=1,c=4,h=8,w=8,k=2,s=2,nan=propagate", "got none of them"},
      {"max_pool:n=1,c=4,h=8,w=8,k=2,s=2,nan=", "expected nan=propagate"},
      {"reduce_max:3x4:i32,nan=propagate", "with nan=propagate, got i32"},
      {"reduce_max:3x4,nan=propagate,nan=propagate", "every flag once"},
      {"softmax:3x4,nan=propagate", "expected online=B once"}};
  for (const auto& [text, reason] : wrong) {
    const auto workload = ops::parse_workload(text);
    INFO(text);
    REQUIRE_FALSE(workload.has_value());
    INFO(workload.error());
    CHECK(workload.error().find(reason) != std::string::npos);
  }
}
