// SPDX-License-Identifier: Apache-2.0
// The policies "evolution" and "ansor": one evolutionary search, with this project's settings or
// the reference's.
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/search/template_population.hpp"
#include "tune/methods.hpp"

namespace tensorsmith {
namespace {

/// Instant mode takes the program with the best draft: nobody is to wait for more of them.
constexpr std::uint32_t instant_generations = 1;
/// Of a batch, where not everything is the reference's: mutations of the best measured programs.
constexpr double near_share = 0.25;

/// What the options name of the search's parameters; the policy's own values for the others.
void take_params(const TuneOptions& options, PolicyOptions& policy) {
  PolicyParams params;
#define TENSORSMITH_SEARCH_PARAM(kind, name, value, least, most, member, meaning)                  \
  params.name = static_cast<PolicyParams::kind>(policy.member);
#define TENSORSMITH_SPACE_PARAM(kind, name, value, least, most, meaning)
#include "tensorsmith/search/policy_params.def"
  for (const auto& [name, value] : options.policy_params) {
    if (const std::string problem = params.set(name, value); !problem.empty()) {
      throw Error(problem);
    }
  }
#define TENSORSMITH_SEARCH_PARAM(kind, name, value, least, most, member, meaning)                  \
  policy.member = static_cast<decltype(policy.member)>(params.name);
#define TENSORSMITH_SPACE_PARAM(kind, name, value, least, most, meaning)
#include "tensorsmith/search/policy_params.def"
}

Owned<SearchPolicy> make_evolutionary(SearchContext& context, PolicyOptions policy) {
  const TuneOptions& options = context.options;
  policy.seed = options.seed;
  policy.task = context.index;
  policy.random = options.random_numbers;
  take_params(options, policy);
  if (context.templates) {
    return make_owned<BasicEvolutionaryPolicy<TemplatePopulation, TemplateMutators>>(
        std::move(context.space), context.model, std::move(context.callbacks), policy,
        TemplatePopulation{context.templates}, TemplateMutators(context.templates));
  }
  if (context.task.target.kind == TargetKind::cuda) {
    return make_gpu_policy(context, policy);
  }
  if (context.drawing == DrawingKind::reference) {
    return make_owned<BasicEvolutionaryPolicy<AnsorCpuPopulation, AnsorCpuMutators>>(
        std::move(context.space), context.model, std::move(context.callbacks), policy);
  }
  return make_owned<EvolutionaryPolicy>(std::move(context.space), context.model,
                                        std::move(context.callbacks), policy);
}

Owned<SearchPolicy> make_evolution(SearchContext& context) {
  const TuneBudget& budget = context.options.budget;
  PolicyOptions policy;
  if (budget.seconds > 0) {
    policy.evolution = EvolutionOptions::for_budget(budget.seconds);
  } else if (budget.trials <= 0) {
    policy.evolution.num_generations = instant_generations;
    policy.seeds = context.is_estimate ? SeedEffort::rough() : SeedEffort::single();
    policy.drafted = DraftedEffort::single();
  }
  const bool is_gpu = context.task.target.kind == TargetKind::cuda;
  if (context.callbacks.draft) {
    policy.target = context.task.target;
  }
  policy.near_share = is_gpu || context.callbacks.draft ? near_share : 0;
  policy.least_distance = context.options.diversity;
  return make_evolutionary(context, policy);
}

Owned<SearchPolicy> make_ansor(SearchContext& context) {
  return make_evolutionary(context, PolicyOptions::reference());
}

}  // namespace

PolicyMethod evolution_method() {
  return {"evolution", "evolution under the cost model, analytic seeds, neighbours of the best",
          false, make_evolution};
}

PolicyMethod ansor_evolution_method() {
  return {"ansor", "the Ansor reference's evolution, parameters and all", true, make_ansor};
}

}  // namespace tensorsmith
