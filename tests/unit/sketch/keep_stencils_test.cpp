// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/keep_stencils.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

struct StencilCounts {
  int inlined = 0, kept = 0;
};
/// Sketches in which the stage B is inlined, and in which it is not.
template <class Rules>
StencilCounts count_stencils(const Shared<const ComputeDag>& dag, const Rules& rules) {
  SketchOptions options;
  options.hardware.num_cores = 2;
  StencilCounts counts;
  for (const State& sketch : generate_sketches(dag, rules, options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      if (sketch.operation(s).name == "B") {
        ++(sketch.stage(s).compute_at == ComputeAt::inlined ? counts.inlined : counts.kept);
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("a stencil of a stencil is computed anew or kept; the reference computes it anew") {
  te::Program p;
  auto a = p.placeholder("A", {104});
  auto b = p.compute("B", {102}, [&](auto i) { return a(i) + a(i + 1) + a(i + 2); });
  auto c = p.compute("C", {100}, [&](auto i) { return b(i) + b(i + 1) + b(i + 2); });
  const auto dag = p.dag({a, c});
  const StencilCounts native = count_stencils(dag, native_cpu_rules());
  CHECK(native.kept > 0);
  CHECK(native.inlined == native.kept);
  CHECK(count_stencils(dag, ansor_cpu_rules()).kept == 0);
}

TEST_CASE("of many stencils in a row all are kept, so sketches stay few") {
  te::Program p;
  te::Tensor a = p.placeholder("A", {200});
  const te::Tensor input = a;
  for (int step = 0; step < 20; ++step) {
    const te::Tensor in = a;
    a = p.compute(step == 5 ? "B" : "S" + std::to_string(step), {in.extent(0) - 2},
                  [&](auto i) { return in(i) + in(i + 1) + in(i + 2); });
  }
  const StencilCounts counts = count_stencils(p.dag({input, a}), native_cpu_rules());
  CHECK(counts.inlined == 0);
  CHECK(counts.kept >= 1);
  CHECK(counts.kept <= 4);
}

TEST_CASE("what is read at one place only is always inlined") {
  te::Program p;
  auto a = p.placeholder("A", {104});
  auto b = p.compute("B", {102}, [&](auto i) { return a(i) + a(i + 1) + a(i + 2); });
  auto c = p.compute("C", {102}, [&](auto i) { return b(i) * b(i); });
  const StencilCounts counts = count_stencils(p.dag({a, c}), native_cpu_rules());
  CHECK(counts.kept == 0);
  CHECK(counts.inlined > 0);
}

}  // namespace tensorsmith
