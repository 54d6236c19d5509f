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
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/search/policy_params.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tune/gpu.hpp"
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

/// Those of the target whose operands have the type of some tensor.
std::vector<const TensorIntrinsic*> usable_intrinsics(const ComputeDag& dag, const Target& target) {
  std::vector<const TensorIntrinsic*> usable = intrinsics_of(target);
  std::erase_if(usable, [&](const TensorIntrinsic* intrinsic) {
    const auto has_tensor_for = [&](DType operand) {
      return std::any_of(dag.tensors().begin(), dag.tensors().end(), [&](const TensorInfo& tensor) {
        return intrinsic->takes(operand, tensor.dtype);
      });
    };
    return !has_tensor_for(intrinsic->a) || !has_tensor_for(intrinsic->b);
  });
  return usable;
}

std::vector<State> make_sketches(const TuneTask& task, const TuneOptions& options,
                                 const SketchOptions& sketch_options) {
  std::vector<State> sketches =
      sketch_options.is_gpu()    ? make_gpu_sketches(task, options, sketch_options)
      : options.sketches         ? options.sketches(task.dag, sketch_options)
      : options.space == "ansor" ? generate_sketches(task.dag, ansor_cpu_rules(), sketch_options)
                                 : generate_sketches(task.dag, native_cpu_rules(), sketch_options);
  if (sketches.empty()) {
    throw Error("the search space of this workload is empty");
  }
  for (const State& sketch : sketches) {
    if (sketch.initial_dag() != task.dag) {
      throw Error("TuneOptions::sketches: expected sketches of the task's dag, got one of another");
    }
  }
  return sketches;
}

/// Instant mode takes the program with the best draft: nobody is to wait for more of them.
constexpr std::uint32_t instant_generations = 1;

/// The policy's own settings, before the parameters that a user names.
PolicyOptions policy_options(const TuneOptions& options) {
  PolicyOptions policy;
  if (options.policy == "ansor") {
    policy = PolicyOptions::reference();
  } else if (options.budget.seconds > 0) {
    policy.evolution = EvolutionOptions::for_budget(options.budget.seconds);
  } else if (options.budget.trials <= 0) {
    policy.evolution.num_generations = instant_generations;
    policy.seeds = SeedEffort::single();
    policy.drafted = DraftedEffort::single();
  }
  policy.seed = options.seed;
  if (options.random_numbers == "reference") {
    policy.random = RandomSource::mersenne_twister;
  } else if (options.random_numbers != "counter") {
    throw Error("unknown random numbers \"" + options.random_numbers +
                "\"; known: counter, reference");
  }
  return policy;
}

/// All parameters by name, those of `policy` where the user names none; `policy` takes them over.
PolicyParams policy_params(const TuneOptions& options, PolicyOptions& policy) {
  PolicyParams params;
  params.eps_greedy = policy.epsilon;
  params.retry_search_one_round_on_empty = static_cast<std::int32_t>(policy.retries_on_empty);
  params.sample_init_min_population = static_cast<std::int32_t>(policy.min_population);
  params.sample_init_use_measured_ratio = policy.measured_ratio;
  params.evolutionary_search_population = static_cast<std::int32_t>(policy.evolution.population);
  params.evolutionary_search_num_iters =
      static_cast<std::int32_t>(policy.evolution.num_generations);
  params.evolutionary_search_mutation_prob = policy.evolution.mutation_probability;
  for (const auto& [name, value] : options.policy_params) {
    if (const std::string problem = params.set(name, value); !problem.empty()) {
      throw Error(problem);
    }
  }
  policy.epsilon = params.eps_greedy;
  policy.retries_on_empty = static_cast<std::uint32_t>(params.retry_search_one_round_on_empty);
  policy.min_population = static_cast<std::uint32_t>(params.sample_init_min_population);
  policy.measured_ratio = params.sample_init_use_measured_ratio;
  policy.evolution.population = static_cast<std::uint32_t>(params.evolutionary_search_population);
  policy.evolution.num_generations =
      static_cast<std::uint32_t>(params.evolutionary_search_num_iters);
  policy.evolution.mutation_probability = params.evolutionary_search_mutation_prob;
  return params;
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
  const bool has_estimate =
      target.kind == TargetKind::cpu || (target.gpu.has_value() && target.gpu->board.has_value());
  return has_estimate && options.space != "ansor" && options.policy != "ansor";
}

std::unique_ptr<CostModel> make_model(const TuneOptions& options, const Target& target) {
  const std::string& name = options.cost_model;
  if (name == "draft" || (name.empty() && has_draft(options, target))) {
    if (!has_draft(options, target)) {
      throw Error(
          "the cost model draft is there for CPUs and boards with the native space and the policy "
          "evolution; known beside it: " +
          learned_models());
    }
    return std::make_unique<CorrectedDraft>(options.seed);
  }
#if defined(TENSORSMITH_HAS_EIGEN)
  if (name.empty() || name == "mlp") {
    MlpOptions mlp;
    mlp.seed = options.seed;
    return std::make_unique<MlpModel>(mlp);
  }
#endif
#if defined(TENSORSMITH_HAS_XGB)
  if (name == "xgb") {
    XgbOptions xgb;
    xgb.seed = options.seed;
    return std::make_unique<XgbModel>(xgb);
  }
#endif
  if (name.empty() || name == "random") {
    return std::make_unique<RandomModel>(options.seed);
  }
  throw Error("unknown cost model \"" + name + "\"; known: draft, " + learned_models());
}

Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index) {
  const bool is_reference = options.policy == "ansor";
  if (!is_reference && options.policy != "evolution") {
    throw Error("unknown policy \"" + options.policy + "\"; known: evolution, ansor");
  }
  if (!options.sketches && options.space != "native" && options.space != "ansor") {
    throw Error("unknown space \"" + options.space + "\"; known: native, ansor");
  }
  PolicyOptions policy = policy_options(options);
  policy.task = index;
  const PolicyParams params = policy_params(options, policy);
  Search search;
  CostModel* model = options.model;
  if (model == nullptr) {
    search.model = make_model(options, task.target);
    model = search.model.get();
  }

  if (task.target.kind == TargetKind::cuda) {
    policy.near_share = is_reference ? 0 : 0.25;
    search.policy =
        make_gpu_policy(task, options, params, policy,
                        make_sketches(task, options, gpu_sketch_options_for(task.target, params)),
                        *model, run_on_threads);
    return search;
  }
  SketchOptions sketch_options;
  sketch_options.hardware = hardware_params(task.target);
  sketch_options.hardware.num_cores = options.num_threads;
  sketch_options.core_cache_bytes =
      task.target.caches.l2_bytes.value_or(sketch_options.core_cache_bytes);
  sketch_options.tiling_structure = params.cpu_multi_level_tiling_structure;
  const bool is_native = options.space != "ansor";
  if (is_native) {
    sketch_options.hardware.vector_unit_bytes = task.target.vector_bits / 8;
    sketch_options.collapse_axes = true;
    sketch_options.intrinsics = usable_intrinsics(*task.dag, task.target);
  }
  std::vector<State> sketches = make_sketches(task, options, sketch_options);
  SpaceOptions space_options = is_native ? native_space_options() : SpaceOptions{};
  space_options.follows_reference = !is_native;
  space_options.max_innermost_split_factor = params.max_innermost_split_factor;
  if (!is_native ||
      params.max_innermost_split_factor != SpaceOptions{}.max_innermost_split_factor) {
    space_options.max_innermost_reduction_factor = params.max_innermost_split_factor;
  }
  space_options.max_vectorize_size = params.max_vectorize_size;
  space_options.change_compute_location = params.disable_change_compute_location == 0;
  space_options.hardware = sketch_options.hardware;
  space_options.min_prefetch_bytes = sketch_options.core_cache_bytes;
  if (is_native) {  // what is written last would have left the caches before its next use
    space_options.min_streamed_bytes = task.target.caches.l3_bytes.value_or(16 << 20) / 2;
  }
  space_options.intrinsics = sketch_options.intrinsics;

  SearchCallbacks callbacks;
  const Target target = task.target;
  const FeatureOptions features{.cache_line_bytes = target.cache_line_bytes,
                                .leaves_out_prepared = is_native};
  callbacks.extract = [features](const State& state) { return extract_features(state, features); };
  callbacks.is_valid = [](const State& state) { return !has_nested_parallel(state); };
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
    policy.target = target;
    policy.near_share = 0.25;
  }
  search.policy = std::make_unique<BasicEvolutionaryPolicy<NativeCpuPopulation>>(
      SearchSpace(std::move(sketches), space_options), *model, std::move(callbacks), policy);
  return search;
}

}  // namespace tensorsmith
