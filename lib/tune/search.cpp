#include "tune/search.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tensorsmith/cost/corrected_draft.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/lower/is_regular.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/support/value_names.hpp"
#if defined(TENSORSMITH_HAS_EIGEN)
#include "tensorsmith/cost/mlp.hpp"
#endif
#if defined(TENSORSMITH_HAS_XGB)
#include "tensorsmith/cost/xgb.hpp"
#endif

namespace tensorsmith {
namespace {

/// Threads of the search itself; its results do not depend on their number.
std::size_t num_search_threads() {
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
}

void run_on_threads(std::size_t count, const Callback<void(std::size_t)>& body) {
  const std::size_t num_threads = std::min(num_search_threads(), count);
  if (num_threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) {
      body(i);
    }
    return;
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        body(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = failure ? failure : std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < num_threads; ++t) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

std::string learned_models() {
  return
#if defined(TENSORSMITH_HAS_EIGEN)
      "mlp, "
#endif
#if defined(TENSORSMITH_HAS_XGB)
      "xgb, "
#endif
      "random";
}

}  // namespace

bool has_draft(const TuneOptions& options, const Target& target) {
  return target.kind == TargetKind::cpu && !follows_reference(options);
}

Owned<CostModel> make_model(const TuneOptions& options, const Target& target) {
  if (options.make_model) {
    Owned<CostModel> made = options.make_model(options, target);
    if (!made) {
      throw Error("TuneOptions::make_model: expected a cost model, got none");
    }
    return made;
  }
  const std::string& name = options.cost_model;
  if (name == "draft" || (name.empty() && has_draft(options, target))) {
    if (!has_draft(options, target)) {
      throw Error("the cost model draft is there for CPUs with the native space and the policy "
                  "evolution; known beside it: " +
                  learned_models());
    }
    return make_owned<CorrectedDraft>(options.seed);
  }
#if defined(TENSORSMITH_HAS_EIGEN)
  if (name.empty() || name == "mlp") {
    MlpOptions mlp;
    mlp.seed = options.seed;
    return make_owned<MlpModel>(mlp);
  }
#endif
#if defined(TENSORSMITH_HAS_XGB)
  if (name == "xgb") {
    XgbOptions xgb;
    xgb.seed = options.seed;
    return make_owned<XgbModel>(xgb);
  }
#endif
  if (name.empty() || name == "random") {
    return make_owned<RandomModel>(options.seed);
  }
  throw Error("unknown cost model \"" + name + "\"; known: draft, " + learned_models());
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
  if (options.make_space && options.sketches) {
    throw Error("TuneOptions: expected make_space or sketches, got both");
  }
  if (!check("space", options.space, bool(options.make_space), space_methods()) &&
      !options.sketches) {
    throw Error("unknown space \"" + options.space + "\"; known: " + names_text(space_methods()));
  }
}

SpaceParts make_space(const SpaceContext& context) {
  const TuneOptions& options = context.options;
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

/// What the policy asks about programs of that space.
SearchCallbacks callbacks_for(const TuneTask& task, const TuneOptions& options,
                              const SpaceParts& space, const CostModel* model) {
  SearchCallbacks callbacks;
  const Target target = task.target;
  const bool is_gpu = target.kind == TargetKind::cuda;
  const FeatureOptions features{.cache_line_bytes = is_gpu ? space.options.hardware.cache_line_bytes
                                                           : target.cache_line_bytes,
                                .leaves_out_prepared = !is_gpu && !space.options.follows_reference};
  callbacks.extract = [features](const State& state) { return extract_features(state, features); };
  callbacks.is_valid = space.is_valid;
  callbacks.parallel_for = run_on_threads;
  if (has_draft(options, target)) {
    const bool needs_rows = dynamic_cast<const CorrectedDraft*>(model) == nullptr;
    callbacks.extract = [=, num_threads = options.num_threads](const State& state) {
      FeatureMatrix seen = needs_rows ? extract_features(state, features) : FeatureMatrix{};
      if (!needs_rows || !seen.empty()) {
        seen.draft =
            draft_columns(draft_parts(state, target, num_threads), schedule_choices(state));
      }
      return seen;
    };
    callbacks.draft = [target, num_threads = options.num_threads](const State& state) {
      return draft_cycles(state, target, num_threads);
    };
    callbacks.is_regular = [target](const State& state) {
      const Result<LoopProgram, LowerError> program = lower(state, target);
      return program && is_regular(*program);
    };
  }
  return callbacks;
}

}  // namespace

Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index) {
  check_names(options);
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
  SearchCallbacks callbacks = callbacks_for(task, options, space, model);
  SearchContext context{task,
                        options,
                        params,
                        index,
                        SearchSpace(std::move(space.sketches), std::move(space.options)),
                        *model,
                        std::move(callbacks)};
  const PolicyMethod* const named = named_policy(options);
  search.policy = named != nullptr ? named->make(context) : options.make_policy(context);
  if (!search.policy) {
    throw Error("TuneOptions::make_policy: expected a policy, got none");
  }
  return search;
}

}  // namespace tensorsmith
