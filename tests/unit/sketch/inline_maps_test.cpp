// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/inline_maps.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

/// Sketches in which the stage T is inlined, of those the ones where a packed copy computes it, and
/// in which it is not.
struct MapCounts {
  int inlined = 0, packed = 0, kept = 0;
};
MapCounts count_maps(const Shared<const ComputeDag>& dag) {
  SketchOptions options;
  options.hardware.num_cores = 2;
  MapCounts counts;
  for (const State& sketch : generate_sketches(dag, native_cpu_rules(), options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      if (sketch.operation(s).name == "T") {
        const bool is_inlined = sketch.stage(s).compute_at == ComputeAt::inlined;
        ++(is_inlined ? counts.inlined : counts.kept);
        counts.packed += is_inlined && !PackedCopies(sketch.steps()).empty() ? 1 : 0;
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("a transposition is inlined in some sketches, and kept in as many") {
  te::Program p;
  auto a = p.placeholder("A", {24, 36});
  auto t = p.compute("T", {36, 24}, [&](auto i, auto j) { return a(j, i); });
  auto o = p.compute("O", {36 * 24}, [&](auto i) { return t(i / 24, i % 24) * 2; });
  const MapCounts counts = count_maps(p.dag({a, o}));
  CHECK(counts.inlined > 0);
  CHECK(counts.inlined == counts.kept);
}

TEST_CASE("of many transpositions in a row all are inlined, so sketches stay few") {
  te::Program p;
  te::Tensor a = p.placeholder("A", {24, 36});
  const te::Tensor input = a;
  for (int step = 0; step < 20; ++step) {
    const te::Tensor in = a;
    a = p.compute(step == 5 ? "T" : "S" + std::to_string(step), {in.extent(1), in.extent(0)},
                  [&](auto i, auto j) { return in(j, i); });
  }
  const MapCounts counts = count_maps(p.dag({input, a}));
  CHECK(counts.kept == 0);
  CHECK(counts.inlined >= 1);
  CHECK(counts.inlined <= 8);
}

TEST_CASE("a transposed operand of a product is copied, as it was") {
  te::Program p;
  auto a = p.placeholder("A", {24, 36}), b = p.placeholder("B", {24, 12});
  auto t = p.compute("T", {36, 24}, [&](auto i, auto j) { return a(j, i); });
  auto k = p.reduce_axis("k", 24);
  auto o =
      p.compute("O", {36, 12}, [&](auto i, auto j) { return te::sum(t(i, k) * b(k, j), {k}); });
  const MapCounts counts = count_maps(p.dag({a, b, o}));
  CHECK(counts.inlined == counts.packed);
  CHECK(counts.kept > 0);
}

}  // namespace tensorsmith
