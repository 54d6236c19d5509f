// SPDX-License-Identifier: Apache-2.0
// The policy "felix": descent on the score of the cost model in the space of tile lengths.
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/felix/felix_policy.hpp"
#include "tensorsmith/search/tile_templates.hpp"
#include "tune/methods.hpp"
#include "tune/search.hpp"

namespace tensorsmith {
namespace {

template <class Population>
Owned<SearchPolicy> make_felix_of(SearchContext& context, const FelixOptions& options) {
  auto population = population_of<Population>(context.space);
  return make_owned<FelixPolicy<Population>>(std::move(context.space), context.model,
                                             std::move(context.callbacks), options,
                                             std::move(population));
}

Owned<SearchPolicy> make_felix(SearchContext& context) {
  if (context.templates) {
    throw Error("the policy felix searches sketches, not templates; take another one");
  }
  FelixOptions options;
  options.seed = context.options.seed;
  options.task = context.index;
  const auto is_named = [&](std::string_view name) {
    return any_item(context.options.policy_params,
                    [&](const auto& param) { return param.first == name; });
  };
  if (is_named("eps_greedy")) {
    options.epsilon = context.params.eps_greedy;
  }
  if (is_named("n_seeds")) {
    options.formulas.num_seeds = static_cast<std::uint32_t>(context.params.n_seeds);
  }
  if (is_named("n_steps")) {
    options.formulas.descent.num_steps = static_cast<std::uint32_t>(context.params.n_steps);
  }
  options.uses_formulas = context.params.use_formulas != 0;
  const bool is_reference = context.drawing == DrawingKind::reference;
  if (context.task.target.kind == TargetKind::cuda) {
    return is_reference ? make_felix_of<AnsorGpuPopulation>(context, options)
                        : make_felix_of<NativeGpuPopulation>(context, options);
  }
  return is_reference ? make_felix_of<AnsorCpuPopulation>(context, options)
                      : make_felix_of<NativeCpuPopulation>(context, options);
}

}  // namespace

PolicyMethod felix_method() {
  return {"felix", "points in the space of tile lengths descend on the score of the cost model",
          false, make_felix};
}

}  // namespace tensorsmith
