// SPDX-License-Identifier: Apache-2.0
// requires: llvm json cli11
#include "sampling.hpp"

#include <ctime>

#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/template_of.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/space/template_moves.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::bench {
namespace {

/// Of this process, whatever else the machine does.
double seconds_of_cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Calls draw(rng) for about `seconds`; calls per second. `num_drawn`: those that said true.
template <class Draw>
double rate_of(double seconds, std::size_t& num_drawn, const Draw& draw) {
  const double start = seconds_of_cpu();
  CounterRng rng(1);
  std::size_t calls = 0;
  double spent = 0;
  while (spent < seconds) {
    for (int i = 0; i < 16; ++i, ++calls) {
      num_drawn += draw(rng) ? 1 : 0;
    }
    spent = seconds_of_cpu() - start;
  }
  return static_cast<double>(calls) / spent;
}

}  // namespace

nlohmann::ordered_json time_sampling(const std::string& workload, const std::string& gpu) {
  const auto parsed = ops::parse_workload(workload);
  const auto target = Target::from_name(gpu);
  if (!parsed || !target || !target->gpu) {
    throw Error(parsed ? "expected a GPU, got \"" + gpu + "\"" : parsed.error());
  }
  const SpaceOptions options = native_gpu_space_options(*target);
  SketchOptions sketch_options = gpu_sketch_options(options.hardware);
  for (const TensorIntrinsic* intrinsic : intrinsics_of(*target)) {
    if (!(intrinsic->a == DType::f32 && intrinsic->accumulator == DType::f32)) {
      sketch_options.intrinsics.push_back(intrinsic);  // as tune() does: none that rounds factors
    }
  }
  const SearchSpace space(generate_sketches(parsed->dag, native_gpu_rules(), sketch_options),
                          options);
  nlohmann::ordered_json entry;
  entry["workload"] = workload;
  entry["target"] = gpu;
  entry["templates"] = nlohmann::ordered_json::array();
  for (std::uint32_t i = 0; i < space.sketches().size(); ++i) {
    const std::optional<Template> of = gpu_template_of(space, i);
    if (!of || of->sampler().is_empty()) {
      continue;
    }
    std::size_t num_legal = 0, num_programs = 0, num_fitting = 0, num_tried = 0, num_refused = 0;
    const double assignments = rate_of(
        0.2, num_legal, [&](CounterRng& rng) { return of->sampler().draw(rng).has_value(); });
    const double programs = rate_of(0.2, num_programs, [&](CounterRng& rng) {
      const std::optional<Instance> instance = draw_instance(*of, rng);
      num_fitting += instance && fits_block(instance->state, options) ? 1 : 0;
      return instance.has_value();
    });
    for (std::uint32_t n = 0; n < 100; ++n) {
      CounterRng rng(2, n);
      const std::optional<Instance> instance = draw_instance(*of, rng);
      if (instance && fits_block(instance->state, options)) {
        ++num_tried;
        num_refused += lower(instance->state, *target).has_value() ? 0 : 1;
      }
    }
    entry["templates"].push_back(
        {{"variables", of->space().size()},
         {"constraints", of->space().constraints().size()},
         {"assignments_per_second", assignments},
         {"programs_per_second", programs},
         {"share_that_fits",
          num_programs > 0 ? static_cast<double>(num_fitting) / static_cast<double>(num_programs)
                           : 0},
         {"lowered", num_tried},
         {"refused", num_refused}});
  }
  return entry;
}

}  // namespace tensorsmith::bench
