// SPDX-License-Identifier: Apache-2.0
// The policies "pruner" and "pruner-offline": a draft chooses, a learned model ranks.
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/pruner_policy.hpp"
#include "tensorsmith/search/tile_templates.hpp"
#include "tune/methods.hpp"
#include "tune/search.hpp"

namespace tensorsmith {
namespace {

/// The best there is, but for simulated boards: they answer by the model that the estimate is of,
/// so that a search would know what it is about to measure.
std::string_view own_draft(const Target& target) {
  return target.kind == TargetKind::cuda && target.is_simulated ? "psa-fixed" : "estimate";
}

/// The blocks of both, those of the same name once.
Features joined(Features features, const Features& others) {
  for (const FeatureBlock& block : others.blocks()) {
    if (features.find(block.schema->name()) == nullptr) {
      features.blocks().push_back(block);
    }
  }
  return features;
}

/// What the options name of the parameters that both have.
void take_params(const TuneOptions& options, const PolicyParams& params, PrunerOptions& pruner) {
  const auto is_named = [&](std::string_view name) {
    return any_item(options.policy_params, [&](const auto& param) { return param.first == name; });
  };
  const auto take = [&](std::string_view name, auto value, auto& member) {
    if (is_named(name)) {
      member = static_cast<std::decay_t<decltype(member)>>(value);
    }
  };
  take("eps_greedy", params.eps_greedy, pruner.epsilon);
  take("retry_search_one_round_on_empty", params.retry_search_one_round_on_empty,
       pruner.retries_on_empty);
  take("sample_init_min_population", params.sample_init_min_population, pruner.min_population);
  take("sample_init_use_measured_ratio", params.sample_init_use_measured_ratio,
       pruner.measured_ratio);
  take("evolutionary_search_population", params.evolutionary_search_population,
       pruner.evolution.population);
  take("evolutionary_search_num_iters", params.evolutionary_search_num_iters,
       pruner.evolution.num_generations);
  take("evolutionary_search_mutation_prob", params.evolutionary_search_mutation_prob,
       pruner.evolution.mutation_probability);
  pruner.draft_size = smaller_of(pruner.draft_size, pruner.evolution.population);
}

template <class Population, class Mutators>
Owned<SearchPolicy> make_policy_of(SearchContext& context, PrunerOptions options) {
  const TuneOptions& tune = context.options;
  options.seed = tune.seed;
  options.task = context.index;
  take_params(tune, context.params, options);
  const Target target = context.task.target;
  Shared<CostModel> draft = make_draft(tune, target, own_draft(target));
  SearchCallbacks callbacks = std::move(context.callbacks);
  callbacks.draft = {};  // here another model drafts
  SearchCallbacks draft_callbacks = callbacks;
  const bool is_gpu = target.kind == TargetKind::cuda;
  const auto plan = make_shared_of<const FeaturePlan>(
      make_feature_plan(tune, *draft, {target, is_gpu ? 1 : tune.num_threads, {}}));
  // Most of the work is to find the stores of a program, which both models need: it is done once.
  draft_callbacks.extract = [plan, own = callbacks.extract](const ProgramView& view) {
    Features features = plan->extract(view);
    return features.empty() ? features : joined(std::move(features), own(view));
  };
  auto population = population_of<Population>(context.space);
  return make_owned<PrunerPolicy<Population, Mutators>>(
      std::move(context.space), context.model, std::move(callbacks), std::move(draft),
      std::move(draft_callbacks), options, std::move(population));
}

Owned<SearchPolicy> make_with(SearchContext& context, const PrunerOptions& options) {
  if (context.templates) {
    throw Error("the policy pruner searches sketches, not templates; take another one");
  }
  const bool is_reference = context.drawing == DrawingKind::reference;
  if (context.task.target.kind == TargetKind::cuda) {
    return is_reference ? make_policy_of<AnsorGpuPopulation, AnsorGpuMutators>(context, options)
                        : make_policy_of<NativeGpuPopulation, NativeGpuMutators>(context, options);
  }
  return is_reference ? make_policy_of<AnsorCpuPopulation, AnsorCpuMutators>(context, options)
                      : make_policy_of<NativeCpuPopulation, NativeCpuMutators>(context, options);
}

Owned<SearchPolicy> make_pruner(SearchContext& context) { return make_with(context, {}); }

Owned<SearchPolicy> make_offline(SearchContext& context) {
  PrunerOptions options;
  options.learns = false;
  options.is_trained = true;
  return make_with(context, options);
}

}  // namespace

PolicyMethod pruner_method() {
  return {"pruner", "an analytic draft chooses, the cost model ranks what it chose", false,
          make_pruner, true};
}

PolicyMethod pruner_offline_method() {
  return {"pruner-offline", "the same with a loaded cost model, which learns nothing more", false,
          make_offline, true};
}

}  // namespace tensorsmith
