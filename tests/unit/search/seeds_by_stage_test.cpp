// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/seeds_by_stage.hpp"

#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/search/policy_params.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

/// Y = tanh(A W) V: a wide product of short sums, then a narrow one of long sums.
Shared<const ComputeDag> two_products() {
  te::Program p;
  auto a = p.placeholder("A", {96, 16}), w = p.placeholder("W", {16, 512}),
       v = p.placeholder("V", {512, 48});
  auto k = p.reduce_axis("k", 16), l = p.reduce_axis("l", 512);
  auto h =
      p.compute("H", {96, 512}, [&](auto i, auto j) { return te::sum(a(i, k) * w(k, j), {k}); });
  auto g = p.compute("G", {96, 512}, [&](auto i, auto j) { return te::tanh(h(i, j)); });
  auto y =
      p.compute("Y", {96, 48}, [&](auto i, auto j) { return te::sum(g(i, l) * v(l, j), {l}); });
  return p.dag({a, w, v, y});
}

}  // namespace

TEST_CASE("each stage takes its own lengths, and every step has a better draft") {
  Target target = *Target::from_name("znver5");
  const Shared<const ComputeDag> dag = two_products();
  SketchOptions sketch_options;
  sketch_options.hardware = hardware_params(target);
  sketch_options.hardware.num_cores = 1;
  sketch_options.hardware.vector_unit_bytes = target.vector_bits / 8;
  SpaceOptions options = native_space_options();
  options.hardware = sketch_options.hardware;
  const SearchSpace space(generate_sketches(dag, native_cpu_rules(), sketch_options), options);
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  callbacks.draft = [&target](const State& state) { return draft_cycles(state, target); };
  const NativeCpuPopulation population;
  const detail::SeedModel model(target, options.max_innermost_split_factor);
  const detail::SeedMaker<NativeCpuPopulation> maker(space, population, callbacks,
                                                     RoundKey{1, 0, 0});
  std::size_t num_tried = 0, num_improved = 0;
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    const auto stages =
        detail::open_stages(space.initial(), space.sketches()[sketch], options.intrinsics);
    if (stages.size() < 2) {
      continue;
    }
    std::vector<detail::TileChoice> chosen;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      chosen.push_back(detail::choices_of_stage(model, stages, s, 1).front());
    }
    const auto start =
        maker.complete(sketch, detail::with_lengths(space, model, sketch, stages, chosen), 0);
    if (!start) {
      continue;
    }
    const auto found = [&] {
      return detail::seeds_by_stage(space, model, maker, sketch, stages, chosen, start->draft, 3,
                                    24);
    };
    const std::vector<Seed> seeds = found(), again = found();
    ++num_tried;
    num_improved += seeds.empty() ? 0 : 1;
    double draft = start->draft;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      CHECK(seeds[i].draft < draft);
      draft = seeds[i].draft;
      CHECK(seeds[i].candidate.sketch == sketch);
      REQUIRE(i < again.size());
      CHECK(seeds[i].text == again[i].text);
    }
    CHECK(seeds.size() == again.size());
  }
  CHECK(num_tried > 0);
  CHECK(num_improved > num_tried / 2);
}

}  // namespace tensorsmith
