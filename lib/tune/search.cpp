// SPDX-License-Identifier: Apache-2.0
#include "tune/search.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "support/run_on_threads.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/cost/standard_features.hpp"
#include "tensorsmith/feature/lowered_part.hpp"
#include "tensorsmith/lower/is_regular.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/neighbourhood.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/value_names.hpp"
#include "tune/gpu.hpp"

namespace tensorsmith {

bool has_draft(const TuneOptions& options, const Target& target) {
  const bool has_estimate =
      target.kind == TargetKind::cpu || (target.gpu.has_value() && target.gpu->board.has_value());
  return has_estimate && !follows_reference(options);
}

Shared<CostModel> make_model(const TuneOptions& options, const Target& target) {
  const ModelContext context{options.seed, target, has_draft(options, target)};
  if (options.make_model) {
    Shared<CostModel> made = options.make_model(context);
    if (!made) {
      throw Error("TuneOptions::make_model: expected a cost model, got none");
    }
    return made;
  }
  Result<Shared<CostModel>, std::string> made =
      make_cost_model(known_models(), options.cost_model, context);
  if (!made) {
    throw Error(made.error());
  }
  return std::move(made).value();
}

Shared<CostModel> make_draft(const TuneOptions& options, const Target& target,
                             std::string_view otherwise) {
  const ModelContext context{options.seed, target, has_draft(options, target)};
  Result<Shared<CostModel>, std::string> made = make_cost_model(
      draft_models(), options.draft.empty() ? otherwise : options.draft, context, "draft");
  if (!made) {
    throw Error(made.error());
  }
  return std::move(made).value();
}

FeaturePlan make_feature_plan(const TuneOptions& options, const CostModel& model,
                              FeatureContext context) {
  FeatureTable table = standard_features();
  for (const FeatureExtractor& block : options.features) {
    if (!block.schema || !block.extract) {
      throw Error("TuneOptions::features: expected a schema and a function, got a block without");
    }
    if (!table.add(block)) {
      throw Error("TuneOptions::features: the name " + in_quotes(block.schema->name()) +
                  " is taken");
    }
  }
  Result<FeaturePlan, std::string> plan =
      FeaturePlan::make(table, model.wanted_blocks(), std::move(context));
  if (!plan) {
    throw Error("the cost model " + in_quotes(model.name()) + ": " + plan.error());
  }
  return std::move(plan).value();
}

namespace {

/// What the library's methods take of the parameters that the options name. A policy of the
/// caller's may have others.
PolicyParams params_of(const TuneOptions& options) {
  PolicyParams params;
  for (const auto& [name, value] : options.policy_params) {
    const std::string problem = params.set(name, value);
    if (!problem.empty() && !options.make_policy) {
      throw Error(problem);
    }
  }
  return params;
}

/// Records tell methods apart by their names, so a factory goes with a name that is not the
/// library's.
void check_names(const TuneOptions& options) {
  const auto check = [](const char* what, const std::string& name, bool is_made, auto methods) {
    const bool is_known = std::any_of(methods.begin(), methods.end(),
                                      [&](const auto& method) { return method.name == name; });
    if (is_made && (is_known || name.empty())) {
      throw Error(std::string("TuneOptions::make_") + what + ": records carry the name of the " +
                  what + ", and \"" + name + "\" is " + (name.empty() ? "none" : "the library's") +
                  "; set TuneOptions::" + what + " to another one");
    }
    return is_known || is_made;
  };
  if (!check("policy", options.policy, bool(options.make_policy), policy_methods())) {
    throw Error("unknown policy \"" + options.policy +
                "\"; known: " + names_text(policy_methods()));
  }
  if (int(bool(options.make_space)) + int(bool(options.sketches)) + int(bool(options.templates)) >
      1) {
    throw Error("TuneOptions: expected one of make_space, sketches and templates, got several");
  }
  if (!check("space", options.space, bool(options.make_space), space_methods()) &&
      !options.sketches && !options.templates) {
    throw Error("unknown space \"" + options.space + "\"; known: " + names_text(space_methods()));
  }
}

void check_draft(const TuneOptions& options, const Target& target) {
  const PolicyMethod* const policy = named_policy(options);
  if (options.draft.empty() || has_draft(options, target) ||
      (policy != nullptr && policy->drafts)) {
    return;
  }
  throw Error("the draft " + in_quotes(options.draft) +
              " has nobody to use it: the policy ansor drafts nothing, and in the space ansor only "
              "the policies pruner and pruner-offline draft");
}

/// A draft by name as the estimate that searches prune by: the time, in a unit of its own.
Callback<double(const ProgramView&)> draft_callback(const TuneOptions& options,
                                                    const Target& target, FeatureContext context) {
  const Shared<CostModel> draft = make_draft(options, target, options.draft);
  const auto plan =
      make_shared_of<const FeaturePlan>(make_feature_plan(options, *draft, std::move(context)));
  return [draft, plan](const ProgramView& view) {
    const Features features[] = {plan->extract(view)};
    float score[] = {invalid_score};
    if (!features[0].empty()) {
      draft->predict(features, score);
    }
    return score[0] > 0 ? 1 / static_cast<double>(score[0]) : math::infinity;
  };
}

/// A space of the caller's templates.
SpaceParts space_of(const SpaceContext& context) {
  const TuneTask& task = context.task;
  std::vector<Template> templates =
      context.options.templates(task.dag, native_sketch_options(context));
  if (templates.empty()) {
    throw Error("TuneOptions::templates: got none");
  }
  SpaceParts space;
  for (const Template& each : templates) {
    if (each.initial().initial_dag() != task.dag) {
      throw Error(
          "TuneOptions::templates: expected templates of the task's dag, got one of another");
    }
    if (each.sampler().is_empty()) {
      throw Error("TuneOptions::templates: no values of a template keep its constraints");
    }
    space.sketches.push_back(each.initial());
  }
  space.templates = make_shared_of<const std::vector<Template>>(std::move(templates));
  if (task.target.kind == TargetKind::cuda) {
    space.options = native_gpu_space_options(task.target);
    // What a block holds is for the constraints of whoever wrote the template, but no board runs
    // what exceeds its limits.
    space.is_valid = [context = FeatureContext{task.target, 1, {}}](const ProgramView& view) {
      return is_worth_compiling(view, context);
    };
  } else {
    space.is_valid = [](const State& state) { return !has_nested_parallel(state); };
  }
  return space;
}

SpaceParts make_space(const SpaceContext& context) {
  const TuneOptions& options = context.options;
  if (options.templates) {
    return space_of(context);
  }
  const SpaceMethod* const named = named_space(options);
  SpaceParts space;
  if (options.make_space) {
    const Owned<SpaceParts> made = options.make_space(context);
    if (!made) {
      throw Error("TuneOptions::make_space: expected a space, got none");
    }
    space = std::move(*made);
  } else {  // sketches of the caller's may have any name
    space = (named != nullptr ? *named : space_methods().front()).make(context);
  }
  if (space.sketches.empty()) {
    throw Error("the search space of this workload is empty");
  }
  for (const State& sketch : space.sketches) {
    if (sketch.initial_dag() != context.task.dag) {
      throw Error(
          std::string(options.make_space ? "TuneOptions::make_space" : "TuneOptions::sketches") +
          ": expected sketches of the task's dag, got one of another");
    }
  }
  return space;
}

/// What the loops of a candidate say that is asked about more than once: it is lowered once.
class LoweredFacts {
 public:
  struct Facts {
    std::optional<ProgramHash> hash;  ///< none: lowering refuses it
    bool is_regular = false;
  };

  Facts of(const ProgramView& view, const FeatureContext& context) {
    const std::uint64_t key = hash_text(steps_json(view.steps()));
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = known_.find(key); found != known_.end()) {
        return found->second;
      }
    }
    const Result<LoopProgram, LowerError>& program = view.part<lowered_program_of>(context);
    Facts facts;
    if (program) {
      facts.hash = program_hash(*program);
      facts.is_regular = is_regular(*program);
    }
    const std::lock_guard lock(mutex_);
    known_.emplace(key, facts);
    return facts;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Facts> known_;  ///< by the steps
};

/// A space as templates, for all who ask about decisions; states that were placed are remembered.
class Decisions {
 public:
  explicit Decisions(Neighbourhood programs) : programs_(std::move(programs)) {}

  double distance(const State& a, const State& b) {
    const std::lock_guard lock(mutex_);
    const auto& one = place(a);
    const auto& other = place(b);
    return one && other ? programs_.distance(*one, *other) : math::infinity;
  }
  std::vector<State> around(const State& state) {
    const std::lock_guard lock(mutex_);
    const auto& placed = place(state);
    return placed ? programs_.around(*placed) : std::vector<State>();
  }
  std::vector<State> nearest_to(const std::vector<Step>& steps) {
    const std::lock_guard lock(mutex_);
    return programs_.nearest_to(steps);
  }

 private:
  const std::optional<PlacedProgram>& place(const State& state) {
    const std::uint64_t key = hash_text(steps_json(state.steps()));
    auto found = placed_.find(key);
    if (found == placed_.end()) {
      found = placed_.emplace(key, programs_.place(state.steps())).first;
    }
    return found->second;
  }

  std::mutex mutex_;
  Neighbourhood programs_;
  std::unordered_map<std::uint64_t, std::optional<PlacedProgram>> placed_;  ///< by the steps
};

/// Those that may be measured.
std::vector<State> valid_ones(std::vector<State> states, const SearchCallbacks& callbacks) {
  std::vector<char> is_valid(states.size(), 1);
  run_for(callbacks.parallel_for, states.size(), [&](std::size_t i) {
    is_valid[i] =
        !has_nested_parallel(states[i]) && (!callbacks.is_valid || callbacks.is_valid(states[i]));
  });
  std::vector<State> valid;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (is_valid[i]) {
      valid.push_back(std::move(states[i]));
    }
  }
  return valid;
}

/// What the policy asks about programs of that space.
SearchCallbacks callbacks_for(const TuneTask& task, const TuneOptions& options,
                              const SpaceParts& space, const CostModel& model) {
  SearchCallbacks callbacks;
  const Target target = task.target;
  const bool is_gpu = target.kind == TargetKind::cuda;
  const FeatureOptions features{.cache_line_bytes = is_gpu ? space.options.hardware.cache_line_bytes
                                                           : target.cache_line_bytes,
                                .leaves_out_prepared =
                                    !is_gpu && space.drawing == DrawingKind::native};
  const auto plan = make_shared_of<const FeaturePlan>(
      make_feature_plan(options, model, {target, is_gpu ? 1 : options.num_threads, features}));
  callbacks.extract = [plan](const ProgramView& view) { return plan->extract(view); };
  callbacks.is_valid = space.is_valid;
  callbacks.parallel_for = run_on_threads;
  if (has_draft(options, target) && (options.draft.empty() || options.draft == "estimate")) {
    callbacks.draft = [plan](const ProgramView& view) {
      return view.part<draft_parts_of>(plan->context()).total;
    };
  } else if (has_draft(options, target)) {
    callbacks.draft = draft_callback(options, target, plan->context());
  }
  if (!follows_reference(options)) {
    const auto facts = std::make_shared<LoweredFacts>();
    callbacks.identity = [facts, plan](const ProgramView& view) {
      return facts->of(view, plan->context()).hash;
    };
    if (callbacks.draft && !is_gpu) {
      callbacks.is_regular = [facts, plan](const ProgramView& view) {
        return facts->of(view, plan->context()).is_regular;
      };
    }
  }
  return callbacks;
}

}  // namespace

Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index) {
  SearchFacts facts;
  return make_search(task, options, index, facts);
}

Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index,
                   SearchFacts& facts) {
  check_names(options);
  check_draft(options, task.target);
  const PolicyParams params = params_of(options);
  Search search;
  CostModel* model = options.model;
  if (model == nullptr) {
    search.model = make_model(options, task.target);
    model = search.model.get();
  }
  SpaceParts space = make_space({task, options, params});
  if (options.sketches) {
    for (const State& sketch : space.sketches) {
      if (sketch.is_concrete()) {
        search.complete.push_back(sketch);
      }
    }
  }
  SearchCallbacks callbacks = callbacks_for(task, options, space, *model);
  callbacks.is_late = facts.is_late;
  SearchSpace sketches(std::move(space.sketches), std::move(space.options));
  if (!follows_reference(options)) {
    const auto decisions =
        std::make_shared<Decisions>(Neighbourhood(sketches, space.templates, task.target.kind));
    facts.identity = callbacks.identity;
    facts.neighbours = [decisions, callbacks](const State& state) {
      return valid_ones(decisions->around(state), callbacks);
    };
    facts.carry = [decisions, callbacks](const std::vector<Step>& steps) {
      return valid_ones(decisions->nearest_to(steps), callbacks);
    };
    callbacks.distance = [decisions](const State& a, const State& b) {
      return decisions->distance(a, b);
    };
  }
  SearchContext context{task,
                        options,
                        params,
                        index,
                        std::move(sketches),
                        std::move(space.templates),
                        *model,
                        std::move(callbacks),
                        space.drawing,
                        facts.is_estimate};
  const PolicyMethod* const named = named_policy(options);
  search.policy = named != nullptr ? named->make(context) : options.make_policy(context);
  if (!search.policy) {
    throw Error("TuneOptions::make_policy: expected a policy, got none");
  }
  return search;
}

}  // namespace tensorsmith
