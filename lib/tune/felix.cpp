// SPDX-License-Identifier: Apache-2.0
// The policy "felix": descent on the score of the cost model in the space of tile lengths.
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/felix/felix_policy.hpp"
#include "tune/methods.hpp"
#include "tune/search.hpp"

namespace tensorsmith {
namespace {

template <class Population>
Owned<SearchPolicy> make_felix_of(SearchContext& context, const FelixOptions& options) {
  return make_owned<FelixPolicy<Population>>(std::move(context.space), context.model,
                                             std::move(context.callbacks), options);
}

Owned<SearchPolicy> make_felix(SearchContext& context) {
  if (context.templates) {
    throw Error("the policy felix searches sketches, not templates; take another one");
  }
  FelixOptions options;
  options.seed = context.options.seed;
  options.task = context.index;
  const bool names_epsilon = any_item(
      context.options.policy_params, [](const auto& param) { return param.first == "eps_greedy"; });
  if (names_epsilon) {
    options.epsilon = context.params.eps_greedy;
  }
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
