// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/inline_cheap.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

SketchOptions on_one_core() {
  SketchOptions options;
  options.hardware.num_cores = 1;
  return options;
}

/// Native sketches in which the stage is inlined, computed inside of another one or at the root.
struct PlaceCounts {
  int inlined = 0, others = 0;
};
PlaceCounts places_of(const Shared<const ComputeDag>& dag, const std::string& stage) {
  PlaceCounts counts;
  for (const State& sketch : generate_sketches(dag, native_cpu_rules(), on_one_core())) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      if (sketch.operation(s).name == stage) {
        ++(sketch.stage(s).compute_at == ComputeAt::inlined ? counts.inlined : counts.others);
      }
    }
  }
  return counts;
}

/// Y = f(A) * V, a product of m x 64 x n; f(x) = erf(x), or x * 2.
Shared<const ComputeDag> product_of(bool is_costly, std::int64_t n) {
  te::Program p;
  auto a = p.placeholder("A", {32, 64}), v = p.placeholder("V", {64, n});
  auto f = p.compute("F", {32, 64},
                     [&](auto i, auto j) { return is_costly ? te::erf(a(i, j)) : a(i, j) * 2.0; });
  auto k = p.reduce_axis("k", 64);
  auto y = p.compute("Y", {32, n}, [&](auto i, auto j) { return te::sum(f(i, k) * v(k, j), {k}); });
  return p.dag({a, v, y});
}

}  // namespace

TEST_CASE("what lies between two products is computed from the registers of the first") {
  te::Program p;
  auto a = p.placeholder("A", {64, 128}), w = p.placeholder("W", {128, 256}),
       v = p.placeholder("V", {256, 64});
  auto k = p.reduce_axis("k", 128), l = p.reduce_axis("l", 256);
  auto h =
      p.compute("H", {64, 256}, [&](auto i, auto j) { return te::sum(a(i, k) * w(k, j), {k}); });
  auto g = p.compute("G", {64, 256}, [&](auto i, auto j) { return te::max(h(i, j), 0.0); });
  auto y =
      p.compute("Y", {64, 64}, [&](auto i, auto j) { return te::sum(g(i, l) * v(l, j), {l}); });
  const auto dag = p.dag({a, w, v, y});
  CHECK(places_of(dag, "G").inlined == 0);
  bool is_separate = false, is_fused = false;
  for (const State& sketch : generate_sketches(dag, native_cpu_rules(), on_one_core())) {
    std::int32_t product = -1, middle = -1;
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      product = sketch.operation(s).name == "H" ? static_cast<std::int32_t>(s) : product;
      middle = sketch.operation(s).name == "G" ? static_cast<std::int32_t>(s) : middle;
    }
    const auto& stage = sketch.stage(static_cast<std::size_t>(middle));
    const auto& places = sketch.attach_map().stage_to_iterator;
    const auto place = places.find(product);
    is_fused = is_fused || (stage.compute_at == ComputeAt::root && place != places.end() &&
                            place->second.stage == middle);
    is_separate = is_separate || (stage.compute_at == ComputeAt::root && place == places.end());
  }
  CHECK(is_fused);
  CHECK(is_separate);
}

TEST_CASE("what one stage reads element by element is inlined, whatever it costs") {
  te::Program p;
  auto a = p.placeholder("A", {64, 128}), b = p.placeholder("B", {64});
  const auto each = [&](const char* name, const auto& value) {
    return p.compute(name, {64, 128}, value);
  };
  auto e = each("E", [&](auto i, auto j) { return te::exp(a(i, j)); });
  auto f = each("F", [&](auto i, auto j) { return te::select(e(i, j) < 2.0, e(i, j), 2.0); });
  // Not these: read by two, by rows of many, by a sum.
  auto g = each("G", [&](auto i, auto j) { return te::exp(f(i, j)); });
  auto h = p.compute("H", {64}, [&](auto i) { return te::exp(b(i)); });
  auto s = each("S", [&](auto i, auto j) { return te::exp(g(i, j) + h(i)); });
  auto k = p.reduce_axis("k", 128);
  auto y = p.compute("Y", {64}, [&](auto i) { return te::sum(s(i, k), {k}); });
  auto z = each("Z", [&](auto i, auto j) { return g(i, j) * 3.0; });
  const auto dag = p.dag({a, b, y, z});
  for (const char* name : {"E", "F"}) {
    CHECK(places_of(dag, name).others == 0);
    CHECK(places_of(dag, name).inlined > 0);
  }
  for (const char* name : {"G", "H", "S"}) {
    CHECK(places_of(dag, name).inlined == 0);
  }
}

TEST_CASE("a costly operand of a product is kept, a cheap one that is used often too") {
  CHECK(places_of(product_of(true, 64), "F").inlined == 0);
  CHECK(places_of(product_of(false, 256), "F").inlined == 0);
}

TEST_CASE("a cheap operand that is used a few times is inlined, in between both are tried") {
  const PlaceCounts few = places_of(product_of(false, 8), "F");
  CHECK(few.inlined > 0);
  CHECK(few.others == 0);
  const PlaceCounts some = places_of(product_of(false, 64), "F");
  CHECK(some.inlined > 0);
  CHECK(some.others > 0);
}

TEST_CASE("a costly stage is not computed for each of several sums; the reference does it") {
  te::Program p;
  auto a = p.placeholder("A", {32, 64});
  auto f = p.compute("F", {32, 64}, [&](auto i, auto j) { return te::tanh(a(i, j)); });
  auto k = p.reduce_axis("k", 64), l = p.reduce_axis("l", 64), m = p.reduce_axis("m", 64);
  auto s = p.compute("S", {32}, [&](auto i) { return te::sum(f(i, k), {k}); });
  auto t = p.compute("T", {32}, [&](auto i) { return te::max(f(i, l), {l}); });
  auto u = p.compute("U", {32}, [&](auto i) { return te::min(f(i, m), {m}); });
  const auto dag = p.dag({a, s, t, u});
  CHECK(places_of(dag, "F").inlined == 0);
  for (const State& sketch : generate_sketches(dag, ansor_cpu_rules(), on_one_core())) {
    CHECK(sketch.stage(1).compute_at == ComputeAt::inlined);
  }
}

TEST_CASE("what is only read element by element is inlined however costly") {
  te::Program p;
  auto a = p.placeholder("A", {32, 64});
  auto f = p.compute("F", {32, 64}, [&](auto i, auto j) { return te::erf(a(i, j)); });
  auto y = p.compute("Y", {32, 64}, [&](auto i, auto j) { return f(i, j) * 2.0; });
  const PlaceCounts counts = places_of(p.dag({a, y}), "F");
  CHECK(counts.inlined > 0);
  CHECK(counts.others == 0);
}

}  // namespace tensorsmith
