// SPDX-License-Identifier: Apache-2.0
// Programs in the types they are written in, against their twins in f64 and the bounds beside them.
#include "tune/error_twin.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/unstable_programs.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tune/error_facts.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Judged {
  std::size_t num_elements = 0;
  std::size_t num_judged = 0;
  std::size_t num_exact = 0;  ///< with a bound of zero
  std::size_t num_wrong = 0;
};

/// The results of `program` against the twin of `dag`, on random operands.
Judged judge(const ComputeDag& dag, const ComputeDag& program, std::uint32_t stream) {
  const auto twin = error_twin(dag);
  REQUIRE(twin);
  std::vector<HostArray> inputs;
  CounterRng rng(seed(), 79, stream);
  for (const TensorId id : dag.arguments()) {
    const TensorInfo& tensor = dag.tensor(id);
    if (dag.operation(tensor.operation).is_placeholder()) {
      inputs.emplace_back(tensor.dtype,
                          std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end()));
      for (std::int64_t i = 0; i < inputs.back().num_elements(); ++i) {
        inputs.back().set_real(i, 8 * rng.next_double() - 4);
      }
    }
  }
  const auto got = eval_dag(program, inputs), wanted = eval_dag(*twin->dag, inputs);
  REQUIRE(got);
  REQUIRE(wanted);
  Judged judged;
  const std::size_t first = inputs.size();
  for (std::size_t k = 0; k < got->size(); ++k) {
    const auto at = twin->bounds_of[first + k];
    for (std::int64_t i = 0; i < (*got)[k].num_elements(); ++i) {
      const double bound = at ? (*wanted)[*at - first].get_real(i) : 0;
      const double apart = std::abs((*got)[k].get_real(i) - (*wanted)[k].get_real(i));
      ++judged.num_elements;
      judged.num_judged += bound < unknown_error ? 1 : 0;
      judged.num_exact += bound == 0 ? 1 : 0;
      judged.num_wrong += bound < unknown_error && !(apart <= bound) ? 1 : 0;
    }
  }
  return judged;
}

}  // namespace

TEST_CASE("random programs whose floats become integers are within the bounds of their twins") {
  Judged all;
  for (std::uint32_t number = 0; number < scaled(200); ++number) {
    INFO("seed " << seed() << ", number " << number);
    const auto dag = random_quantized_program(seed(), number);
    const Judged judged = judge(*dag, *dag, number);
    CHECK(judged.num_wrong == 0);
    all.num_elements += judged.num_elements;
    all.num_judged += judged.num_judged;
    all.num_exact += judged.num_exact;
  }
  CHECK(all.num_judged > all.num_elements * 9 / 10);
  CHECK(all.num_exact > all.num_elements / 4);  // the integers that no rounding reaches
}

TEST_CASE("another step, another element read and a branch turned are beyond the bounds") {
  const auto dag_of = [](bool floors, std::int64_t off, double limit) {
    te::Program p;
    const auto a = p.placeholder("A", {24, 20}), b = p.placeholder("B", {24, 20});
    const auto whole = p.compute("Q", {24, 20}, [&](auto i, auto j) {
      const auto x = te::max(te::min(a(i, j) * 2.7, 100.0), -100.0);
      return te::cast(DType::i32, floors ? te::floor(x) : te::round(x));
    });
    const auto read = p.compute("R", {24, 20}, [&](auto i, auto j) {
      const auto x = b(i, te::floormod(whole(i, j) + off, 20));
      return te::select(te::cast(DType::f32, whole(i, j)) < limit, x, x + 3.0);
    });
    return p.dag({a, b, read});
  };
  const auto right = dag_of(false, 0, 2.5);
  const Judged fits = judge(*right, *right, 0);
  CHECK(fits.num_wrong == 0);
  CHECK(fits.num_judged * 100 > fits.num_elements * 99);
  CHECK(judge(*right, *dag_of(true, 0, 2.5), 0).num_wrong > fits.num_elements / 4);
  CHECK(judge(*right, *dag_of(false, 1, 2.5), 0).num_wrong > fits.num_elements / 2);
  CHECK(judge(*right, *dag_of(false, 0, 3.5), 0).num_wrong > fits.num_elements / 100);
}

TEST_CASE("where rounding may turn a step the bound is the step") {
  te::Program p;
  const auto a = p.placeholder("A", {24, 20});
  // Whole numbers but for a rounding.
  const auto thirds = p.compute("T", {24, 20}, [&](auto i, auto j) {
    return te::floor(te::floor(a(i, j)) * (1.0 / 3.0) * 3.0);
  });
  const auto sums =
      p.compute("S", {24, 20}, [&](auto i, auto j) { return te::floor(a(i, j) + 0.25); });
  const auto dag = p.dag({a, thirds, sums});
  const auto twin = error_twin(*dag);
  REQUIRE(twin);
  HostArray input(DType::f32, {24, 20});
  for (std::int64_t i = 0; i < input.num_elements(); ++i) {
    input.set_real(i, i == 0 ? INFINITY : static_cast<double>(i % 37) + 1);
  }
  const auto found = eval_dag(*twin->dag, {input});
  REQUIRE(found);
  REQUIRE(twin->bounds_of[1]);
  REQUIRE(twin->bounds_of[2]);
  const HostArray &near_steps = (*found)[*twin->bounds_of[1] - 1],
                  &between = (*found)[*twin->bounds_of[2] - 1];
  CHECK(between.get_real(0) == 0);
  for (std::int64_t i = 1; i < input.num_elements(); ++i) {
    CHECK(near_steps.get_real(i) == 1);
    CHECK(between.get_real(i) == 0);
  }
}

TEST_CASE("sums that cancel in all results at once are told from others") {
  const auto is_alike = [](const char* text) {
    INFO(text);
    const auto dag = te::read_notation(text);
    REQUIRE(dag);
    return sums_cancel_alike(**dag);
  };
  CHECK(is_alike("Y[i:40] += A[i]*B[k:4]"));
  CHECK(is_alike("S.f64[] += X.f64[i:100]"));
  CHECK(is_alike("Y[i:8,j:3] += X[i,k:5]*W[k,j]"));
  CHECK_FALSE(is_alike("Y[i:8,j:4] += X[i,k:5]*W[i,k,j]"));
  CHECK_FALSE(is_alike("Y[i:40] += A[i,k:4]*B[k]"));
  CHECK_FALSE(is_alike("Y[i:4] max= A[i,k:9]"));
  CHECK_FALSE(is_alike("Y.i32[i:4] += A.i32[i,k:9]"));
  CHECK_FALSE(is_alike("Y[i:4] = A[i]+1"));
}
