#include "tune/search.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#if defined(TENSORSMITH_HAS_EIGEN)
#include "tensorsmith/cost/mlp.hpp"
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

/// Whether the store adds to memory, not to a register.
bool accumulates_in_memory(const LoopProgram& program, const Store& store) {
  bool reads_itself = false;
  visit_expr(program.pool, store.value, [&](ExprId id) {
    const Load* load = program.pool.as<Load>(id);
    reads_itself = reads_itself || (load != nullptr && load->buffer == store.buffer);
  });
  return reads_itself && program[store.buffer].scope != Scope::register_;
}

/// Whether, outside of tails, a loop around a single store has an extent that varies, so that its
/// iterations are no lanes, or a reduction is summed up in memory for the same reason.
bool has_varying_inner_loop(const LoopProgram& program, StmtId id) {
  const auto any = [&](StmtId inner) {
    return inner.valid() && has_varying_inner_loop(program, inner);
  };
  if (const Seq* seq = program.as<Seq>(id)) {
    return std::any_of(seq->items.begin(), seq->items.end(), any);
  }
  if (const Alloc* alloc = program.as<Alloc>(id)) {
    return any(alloc->body);
  }
  if (const If* branch = program.as<If>(id)) {
    return any(branch->then_body) || any(branch->else_body);
  }
  if (const Store* store = program.as<Store>(id)) {
    return accumulates_in_memory(program, *store);
  }
  const For* loop = program.as<For>(id);
  if (loop == nullptr || program.pool.var_name(loop->var).ends_with("_tail")) {
    return false;
  }
  const bool varies =
      program.as<Store>(loop->body) != nullptr && program.pool.as<IntImm>(loop->extent) == nullptr;
  return varies || any(loop->body);
}

std::unique_ptr<CostModel> make_model(const TuneOptions& options) {
  if (options.cost_model == "random") {
    return std::make_unique<RandomModel>(options.seed);
  }
#if defined(TENSORSMITH_HAS_EIGEN)
  if (options.cost_model.empty() || options.cost_model == "mlp") {
    MlpOptions mlp;
    mlp.seed = options.seed;
    return std::make_unique<MlpModel>(mlp);
  }
#else
  if (options.cost_model.empty()) {
    return std::make_unique<RandomModel>(options.seed);
  }
#endif
  throw Error("unknown cost model \"" + options.cost_model + "\"; known: " +
#if defined(TENSORSMITH_HAS_EIGEN)
              "mlp, "
#endif
              "random");
}

std::vector<State> make_sketches(const TuneTask& task, const TuneOptions& options,
                                 const SketchOptions& sketch_options) {
  std::vector<State> sketches =
      options.sketches           ? options.sketches(task.dag, sketch_options)
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

}  // namespace

Search make_search(const TuneTask& task, const TuneOptions& options) {
  if (options.policy != "evolution") {
    throw Error("unknown policy \"" + options.policy + "\"; known: evolution");
  }
  if (!options.sketches && options.space != "native" && options.space != "ansor") {
    throw Error("unknown space \"" + options.space + "\"; known: native, ansor");
  }
  Search search;
  CostModel* model = options.model;
  if (model == nullptr) {
    search.model = make_model(options);
    model = search.model.get();
  }

  SketchOptions sketch_options;
  sketch_options.hardware = hardware_params(task.target);
  sketch_options.hardware.num_cores = options.num_threads;
  sketch_options.core_cache_bytes =
      task.target.caches.l2_bytes.value_or(sketch_options.core_cache_bytes);
  const bool is_native = options.space != "ansor";
  if (is_native) {
    sketch_options.hardware.vector_unit_bytes = task.target.vector_bits / 8;
  }
  std::vector<State> sketches = make_sketches(task, options, sketch_options);
  SpaceOptions space_options = is_native ? native_space_options() : SpaceOptions{};
  space_options.hardware = sketch_options.hardware;

  SearchCallbacks callbacks;
  const Target target = task.target;
  const FeatureOptions features{target.cache_line_bytes, is_native};
  callbacks.extract = [features](const State& state) { return extract_features(state, features); };
  callbacks.is_valid = [](const State& state) { return !has_nested_parallel(state); };
  callbacks.parallel_for = run_on_threads;
  PolicyOptions policy;
  policy.seed = options.seed;
  if (is_native) {
    callbacks.draft = [target, num_threads = options.num_threads](const State& state) {
      return draft_cycles(state, target, num_threads);
    };
    callbacks.is_regular = [target](const State& state) {
      const Result<LoopProgram, LowerError> program = lower(state, target);
      return program && !has_varying_inner_loop(*program, program->body);
    };
    policy.target = target;
  }
  policy.evolution = options.budget.seconds > 0
                         ? EvolutionOptions::for_budget(options.budget.seconds)
                         : EvolutionOptions{};
  search.policy = std::make_unique<BasicEvolutionaryPolicy<NativeCpuPopulation>>(
      SearchSpace(std::move(sketches), space_options), *model, std::move(callbacks), policy);
  return search;
}

}  // namespace tensorsmith
