// SPDX-License-Identifier: Apache-2.0
// EvolutionaryPolicy: sample, evolve under the cost model, propose the best and a few at random.
//
// Floor 7. Ansor reference, ch. 5.2-5.5; differences are named in the headers it includes, and
// PolicyOptions::reference() takes them back. Before the first successful measurement an untrained
// model says nothing, so the first round only samples. Deterministic: what it proposes depends on
// the space, the options and the observations, not on the number of threads. Where the machine is
// known (PolicyOptions::target), analytic seeds join the population and make half of the first
// batch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/analytic_seeds.hpp"
#include "tensorsmith/search/batch_order.hpp"
#include "tensorsmith/search/counter_sampler.hpp"
#include "tensorsmith/search/drafted_seeds.hpp"
#include "tensorsmith/search/epsilon_greedy.hpp"
#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/measured_programs.hpp"
#include "tensorsmith/search/policy_options.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/reference_sampler.hpp"
#include "tensorsmith/search/taken_programs.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

template <class Population = NativeCpuPopulation, class Mutators = NativeCpuMutators>
class BasicEvolutionaryPolicy final : public SearchPolicy {
 public:
  /// `model` is updated by observe and must outlive the policy.
  BasicEvolutionaryPolicy(SearchSpace space, CostModel& model, SearchCallbacks callbacks,
                          PolicyOptions options, Population population = {}, Mutators mutators = {})
      : space_(std::move(space)), model_(model), callbacks_(std::move(callbacks)),
        options_(options), population_(std::move(population)), mutators_(std::move(mutators)),
        exploration_(options.epsilon, options.carries_exploration), sampler_(sampler_for(options)) {
    TENSORSMITH_ASSERT(callbacks_.extract, "a policy without a feature extractor");
    TENSORSMITH_ASSERT(options_.evolution.population > 0 &&
                           options_.evolution.population < 1U << 18,
                       "population out of range");
  }

  std::string_view name() const override { return "evolutionary"; }
  const SearchSpace& space() const { return space_; }

  std::vector<Proposal> propose(std::size_t n) override {
    const std::size_t num_random = exploration_.next(n);
    std::vector<Proposal> proposals;
    constexpr std::uint32_t most_equal_rounds = 8;
    std::uint32_t retry = 0, num_equal_rounds = 0;
    while (n > 0 && proposals.empty() && retry <= options_.retries_on_empty) {
      const std::size_t before = taken_.num_equal();
      proposals = search_one_round(n, num_random, num_equal_rounds);
      // One that met known programs under other steps has not seen the end of the space.
      const bool is_vain = taken_.num_equal() == before || ++num_equal_rounds > most_equal_rounds;
      retry += is_vain ? 1 : 0;
    }
    return proposals;
  }

  /// Results of proposals, or of earlier runs; the model learns from all of them in one update.
  void observe(std::span<const Observation> results) override {
    std::vector<TrainingSample> samples(results.size());
    std::vector<std::string> texts(results.size());
    run_for(callbacks_.parallel_for, results.size(), [&](std::size_t i) {
      texts[i] = state_text(results[i].state);
      const Shared<const Features>* proposed = proposed_.find(texts[i]);
      const bool is_known = proposed != nullptr && *proposed;
      samples[i] = TrainingSample{is_known ? **proposed : callbacks_.extract(results[i].state),
                                  options_.task, results[i].throughput};
    });
    if (uses_model()) {  // those that failed would count for a model that knows only failures
      std::vector<TrainingSample> timed;
      for (const TrainingSample& sample : samples) {
        if (sample.throughput > 0) {
          timed.push_back(sample);
        }
      }
      model_rank_.add(rank_report(model_, timed));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Observation& result = results[i];
      (void)taken_.claim(texts[i], result.state, callbacks_.identity);
      if (proposed_.contains(texts[i])) {
        proposed_.set(texts[i], nullptr);  // never needed again
      }
      ++num_observed_;
      if (result.throughput > 0.0) {
        measured_.add(result.throughput, result.state.steps());
      }
    }
    measured_.sort();
    if (!samples.empty()) {
      model_.update(samples);
    }
  }

  RankReport model_rank() const override { return model_rank_; }

 private:
  using Sampler = std::variant<CounterSampler, ReferenceSampler>;

  static Sampler sampler_for(const PolicyOptions& options) {
    const std::size_t batch = options.evolution.population, wanted = options.min_population;
    if (options.random == RandomSource::mersenne_twister) {
      return ReferenceSampler(static_cast<std::uint32_t>(options.seed), batch, wanted);
    }
    return CounterSampler(batch, wanted);
  }

  bool uses_model() const {
    return options_.model_is_trained || (!measured_.empty() && num_observed_ > options_.num_warmup);
  }

  /// After rounds of nothing but equal programs, more of the best are looked at: of a few, all may
  /// lower to what is known while others do not.
  std::vector<Proposal> search_one_round(std::size_t n, std::size_t num_random,
                                         std::uint32_t num_equal_rounds) {
    const RoundKey key{options_.seed, options_.task, round_++};
    const bool use_model = uses_model();
    std::vector<Proposal> proposals;
    if (!use_model && options_.target && callbacks_.draft) {
      if (key.round == 0) {
        seeds_ = make_seeds(key);
      }
      take_seeds((n + 1) / 2, proposals);
    }
    if (proposals.size() == n) {
      return proposals;
    }
    n -= proposals.size();
    Evaluator evaluator(callbacks_, use_model ? &model_ : nullptr, options_.seed, key.round);
    std::vector<Individual> population = std::visit(
        [&](auto& sampler) {
          return sampler.sample(space_, population_, callbacks_, key, evaluator);
        },
        sampler_);
    add_seeds(evaluator, population);
    add_measured(evaluator, population);
    RoundSizes sizes(n, num_random);
    sizes.num_kept <<= num_equal_rounds;
    std::vector<Individual> random;
    if (!population.empty()) {
      random = std::visit(
          [&](auto& sampler) { return sampler.pick(population, sizes.num_random_drawn, key); },
          sampler_);
    }
    EvolutionOptions evolution = options_.evolution;
    if (!use_model && !options_.evolves_untrained) {
      evolution.num_generations = 0;
    } else if (options_.evolves_untrained && model_.name() == "random") {
      evolution.num_generations = smaller_of<std::uint32_t>(evolution.num_generations, 2);
    }
    std::vector<Individual> best =
        evolve(space_, mutators_, evolution, key, callbacks_, evaluator, std::move(population),
               sizes.num_kept, [&](const std::string& text) { return !taken_.contains(text); });

    const auto take = [&](const std::vector<Individual>& from, std::size_t count,
                          const std::vector<Individual>& others, std::size_t num_others) {
      for (Picked& picked :
           pick_epsilon_greedy(from, others, count, num_others, [&](const Individual& one) {
             return taken_.claim(one.text, one.candidate.state, callbacks_.identity);
           })) {
        proposed_.set(picked.individual.text, picked.individual.features);
        proposals.push_back(Proposal{std::move(picked.individual.candidate.state),
                                     std::move(picked.individual.text), picked.individual.score,
                                     picked.is_random});
      }
    };
    const std::size_t before = proposals.size();
    const auto put_irregular_last = [&](std::vector<Individual>& list, std::size_t wanted) {
      if (callbacks_.is_regular) {
        put_first(list, wanted, [&](const Individual& one) {
          return callbacks_.late() || callbacks_.is_regular(one.candidate.state);
        });
      }
    };
    std::vector<Individual> near = neighbours(key, evaluator);
    const auto num_near =
        static_cast<std::size_t>(options_.near_share * static_cast<double>(n - num_random) + 0.5);
    if (options_.least_distance > 0 && callbacks_.distance) {
      spread_out(best, n, options_.least_distance, [&](const Individual& a, const Individual& b) {
        return callbacks_.distance(a.candidate.state, b.candidate.state);
      });
    }
    put_irregular_last(near, num_near);
    put_irregular_last(best, n);
    put_irregular_last(random, num_random);
    take(near, num_near, {}, 0);
    take(best, n - (proposals.size() - before), random, num_random);
    return proposals;
  }

  /// One mutation away from the few best measured programs and not taken yet, best score first. A
  /// model that has seen a few dozen programs knows little about those right beside the best one;
  /// measurements do.
  std::vector<Individual> neighbours(const RoundKey& key, Evaluator& evaluator) const {
    constexpr std::size_t num_parents = 4, num_children = 64;
    std::vector<Candidate> parents;
    if (options_.near_share > 0) {
      parents = measured_.best(num_parents, space_, population_);
    }
    if (parents.empty() || callbacks_.late()) {
      return {};
    }
    std::vector<Candidate> children =
        make_candidates(callbacks_, num_children, 4 * num_children, [&](std::size_t attempt) {
          CounterRng rng = key.rng(max_generation - 1, attempt);
          return mutators_.mutate(space_, parents[draw_rank(parents.size(), rng)], rng);
        });
    std::vector<Individual> scored = evaluator.evaluate(std::move(children));
    std::erase_if(scored, [&](const Individual& child) { return taken_.contains(child.text); });
    sort_items(scored, is_better);
    return scored;
  }

  /// How a GPU is tiled follows from no model of lengths, nor does what a template leaves open:
  /// such seeds are found by mutations.
  std::vector<Seed> make_seeds(const RoundKey& key) const {
    if constexpr (requires { population_.rules; }) {  // sketches, whose lengths a model knows
      if (options_.target->kind == TargetKind::cpu) {
        return analytic_seeds(space_, population_, callbacks_, *options_.target, key,
                              options_.seeds);
      }
    }
    return drafted_seeds(space_, population_, mutators_, callbacks_, key,
                         options_.drafted.at_most(options_.evolution.population));
  }

  /// The best seeds, none of which was measured before.
  void take_seeds(std::size_t count, std::vector<Proposal>& proposals) {
    for (const Seed& seed : seeds_) {
      if (proposals.size() < count &&
          taken_.claim(seed.text, seed.candidate.state, callbacks_.identity)) {
        proposals.push_back(Proposal{seed.candidate.state, seed.text,
                                     static_cast<float>(-math::log2(seed.draft + 1e-9)), false});
      }
    }
  }

  void add_seeds(Evaluator& evaluator, std::vector<Individual>& population) const {
    std::vector<Candidate> candidates;
    for (const Seed& seed : seeds_) {
      candidates.push_back(seed.candidate);
    }
    join(population, evaluator, std::move(candidates));
  }

  void add_measured(Evaluator& evaluator, std::vector<Individual>& population) const {
    const auto wanted = static_cast<std::size_t>(
        options_.measured_ratio * static_cast<double>(options_.evolution.population));
    join(population, evaluator, measured_.best(wanted, space_, population_));
  }

  SearchSpace space_;
  CostModel& model_;
  RankReport model_rank_;
  SearchCallbacks callbacks_;
  PolicyOptions options_;
  Population population_;
  Mutators mutators_;
  ExplorationShare exploration_;
  Sampler sampler_;
  std::size_t num_observed_ = 0;
  std::uint32_t round_ = 0;
  TakenPrograms taken_;
  /// Features of proposals until they are observed; the model learns from what it scored.
  HashMap<std::string, Shared<const Features>> proposed_;
  MeasuredPrograms measured_;
  std::vector<Seed> seeds_;  ///< best draft first
};

using EvolutionaryPolicy = BasicEvolutionaryPolicy<>;

}  // namespace tensorsmith
