// SPDX-License-Identifier: Apache-2.0
// PrunerPolicy: an analytic draft chooses a few hundred programs, the learned model ranks those.
//
// Floor 7. Pruner, ch. 1.2 to 1.5: the draft set of a task is made anew every second round and
// seeds a short evolution under the learned model. Own design: as long as the learned model ordered
// new measurements worse than the draft, or has learned nothing of this task, the draft orders; a
// share of every batch goes without the draft set or without the model's order, and either is given
// up where those are faster (guard.hpp); the draft says which programs are valid, so that the
// learned model scores fewer. Not here: the models.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/search/epsilon_greedy.hpp"
#include "tensorsmith/search/evolution/evolve.hpp"
#include "tensorsmith/search/guard.hpp"
#include "tensorsmith/search/measured_programs.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/taken_programs.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

struct PrunerOptions {
  std::uint64_t seed = 1;
  std::uint32_t task = 0;
  double epsilon = 0.1;  ///< of a batch, drawn at random
  std::uint32_t retries_on_empty = 1;
  std::uint32_t min_population = 50;
  double measured_ratio = 0.1;  ///< of the population, from the best measured programs
  EvolutionOptions evolution{1536, 1, 0.85, 0.0, true};  ///< under the learned model
  std::uint32_t draft_size = 512;
  std::uint32_t draft_generations = 2;
  std::uint32_t draft_rounds = 2;       ///< that one draft set lasts
  bool learns = true;                   ///< off: the model is taken as it is
  bool is_trained = false;              ///< the model is worth asking before any observation
  bool falls_back = true;               ///< to the order of the draft, where the model's is worse
  double control_share = Guard::share;  ///< of a batch, see Guard; 0: draft and model are trusted
};

/// What a round of `n` programs is made of.
struct PrunerRound {
  std::size_t num_measured;  ///< best measured programs in the first population
  RoundSizes sizes;
  bool makes_draft;
  std::size_t num_controls;  ///< of the good ones
};
inline PrunerRound pruner_round(const PrunerOptions& options, std::uint32_t round,
                                std::size_t num_measured, std::size_t n) {
  const auto most = static_cast<std::size_t>(options.measured_ratio *
                                             static_cast<double>(options.evolution.population));
  const auto num_random = static_cast<std::size_t>(options.epsilon * static_cast<double>(n) + 1e-9);
  const RoundSizes sizes(n, num_random);
  const auto controls_until = [&](std::uint32_t end) {  // small batches have one now and then
    return static_cast<std::size_t>(options.control_share * static_cast<double>(n * end) + 1e-9);
  };
  return {smaller_of(num_measured, most), sizes, round % larger_of(options.draft_rounds, 1U) == 0,
          smaller_of(sizes.num_good, controls_until(round + 1) - controls_until(round))};
}

template <class Population, class Mutators>
class PrunerPolicy final : public SearchPolicy {
 public:
  /// `draft` scores what `draft_callbacks.extract` extracts and learns nothing; what `model` reads
  /// may be among it, so that a program is looked at once. `model` is updated by observe and must
  /// outlive the policy.
  PrunerPolicy(SearchSpace space, CostModel& model, SearchCallbacks callbacks,
               Shared<CostModel> draft, SearchCallbacks draft_callbacks, PrunerOptions options,
               Population population = {}, Mutators mutators = {})
      : space_(std::move(space)), model_(model), callbacks_(std::move(callbacks)),
        draft_model_(std::move(draft)), draft_callbacks_(std::move(draft_callbacks)),
        options_(options), population_(std::move(population)), mutators_(std::move(mutators)) {}

  std::string_view name() const override { return "pruner"; }

  std::vector<Proposal> propose(std::size_t n) override {
    std::vector<Proposal> proposals;
    for (std::uint32_t retry = 0; n > 0 && proposals.empty() && retry <= options_.retries_on_empty;
         ++retry) {
      proposals = search_one_round(n);
    }
    return proposals;
  }

  void observe(std::span<const Observation> results) override {
    std::vector<TrainingSample> samples(results.size());
    std::vector<Features> drafts(results.size());
    std::vector<std::string> texts(results.size());
    run_for(callbacks_.parallel_for, results.size(), [&](std::size_t i) {
      texts[i] = state_text(results[i].state);
      samples[i] = TrainingSample{callbacks_.extract(results[i].state), options_.task,
                                  results[i].throughput};
      drafts[i] = draft_callbacks_.extract(results[i].state);
    });
    judge(samples, drafts);
    compare_sides(results, texts);
    for (std::size_t i = 0; i < results.size(); ++i) {
      (void)taken_.claim(texts[i], results[i].state, callbacks_.identity);
      if (results[i].throughput > 0) {
        measured_.add(results[i].throughput, results[i].state.steps());
      }
    }
    measured_.sort();
    if (options_.learns && !samples.empty()) {
      model_.update(samples);
    }
  }

  RankReport model_rank() const override { return model_rank_; }
  std::vector<GuardReport> guards() const override {
    return {draft_guard_.report(), model_guard_.report()};
  }
  /// Whether the learned model orders most of what is proposed next.
  bool uses_model() const { return may_use_model() && model_guard_.is_trusted(); }
  std::size_t draft_set_size() const { return draft_.size(); }

 private:
  /// How well both ordered the programs that were timed, before the model learns from them.
  void judge(const std::vector<TrainingSample>& samples, const std::vector<Features>& drafts) {
    std::vector<TrainingSample> timed, drafted;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].throughput > 0) {
        timed.push_back(samples[i]);
        drafted.push_back({drafts[i], samples[i].task, samples[i].throughput});
      }
    }
    if (options_.is_trained || !measured_.empty()) {
      model_rank_.add(rank_report(model_, timed));
      draft_rank_.add(rank_report(*draft_model_, drafted));
    }
  }

  bool may_use_model() const {
    const bool has_learned = options_.learns ? !measured_.empty() : true;
    return (options_.is_trained || has_learned) &&
           !(options_.falls_back && model_rank_.correlation() < draft_rank_.correlation());
  }

  /// Which guard learns from a proposal, and on which side of it that is.
  struct Side {
    Guard* guard = nullptr;
    bool is_with = false;
  };
  void compare_sides(std::span<const Observation> results, const std::vector<std::string>& texts) {
    for (Guard* const guard : {&draft_guard_, &model_guard_}) {
      std::vector<double> with, without;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const Side* const side = sides_.find(texts[i]);
        if (side != nullptr && side->guard == guard) {
          (side->is_with ? with : without).push_back(results[i].throughput);
        }
      }
      guard->compare(with, without);
    }
  }

  /// What a batch, or the part of it that is to be compared, is chosen with.
  struct Advice {
    bool draft = true, model = true;
  };

  std::vector<Proposal> search_one_round(std::size_t n) {
    const RoundKey key{options_.seed, options_.task, round_};
    const PrunerRound round = pruner_round(options_, round_++, measured_.size(), n);
    Evaluator by_draft(draft_callbacks_, draft_model_.get(), options_.seed, key.round);
    Evaluator by_model(callbacks_, &model_, options_.seed, key.round);
    std::vector<Individual> sampled = sample(key, by_draft);
    if (round.makes_draft) {
      EvolutionOptions evolution = options_.evolution;
      evolution.num_generations = options_.draft_generations;
      draft_ = evolve(space_, mutators_, evolution, key, callbacks_, by_draft, sampled,
                      options_.draft_size, is_new());
    }
    const Advice advice{draft_guard_.is_trusted(), uses_model()};
    std::vector<Individual> plain = sampled;
    join(plain, by_draft, measured_.best(round.num_measured, space_, population_));
    std::vector<Individual> population = draft_;
    population.insert(population.end(), plain.begin(), plain.end());
    const std::vector<Individual>& own = advice.draft ? population : plain;

    CounterRng rng = key.rng(max_generation, 0);
    std::vector<Individual> random;
    for (std::size_t i = 0; i < round.sizes.num_random_drawn && !own.empty(); ++i) {
      random.push_back(own[rng.next_below(static_cast<std::uint32_t>(own.size()))]);
    }
    std::vector<Proposal> proposals, compared;
    Guard* tested = nullptr;
    if (round.num_controls > 0) {
      // In turn, once there is a model.
      tested = num_tests_++ % 2 == 0 || !may_use_model() ? &draft_guard_ : &model_guard_;
      Advice other = advice;
      bool& changed = tested == &draft_guard_ ? other.draft : other.model;
      changed = !changed;
      std::vector<Individual> controls =
          ranked(key, by_draft, by_model, other.draft ? population : plain, n, other, 0);
      rng.shuffle(controls);  // those that would be a batch: none is more typical than another
      propose_from(controls, {}, round.num_controls, 0, {tested, changed}, compared);
    }
    const std::vector<Individual> best = ranked(key, by_draft, by_model, own, round.sizes.num_kept,
                                                advice, options_.evolution.num_generations);
    const bool is_with = tested == &draft_guard_ ? advice.draft : advice.model;
    propose_from(best, random, n - compared.size(), round.sizes.num_random, {tested, is_with},
                 proposals);
    for (Proposal& proposal : compared) {
      proposals.push_back(std::move(proposal));
    }
    return proposals;
  }

  auto is_new() const {
    return [this](const std::string& text) { return !taken_.contains(text); };
  }

  void propose_from(const std::vector<Individual>& best, const std::vector<Individual>& random,
                    std::size_t n, std::size_t num_random, Side side,
                    std::vector<Proposal>& proposals) {
    for (Picked& picked :
         pick_epsilon_greedy(best, random, n, num_random, [&](const Individual& one) {
           return taken_.claim(one.text, one.candidate.state, callbacks_.identity);
         })) {
      if (side.guard != nullptr && !picked.is_random) {
        sides_.set(picked.individual.text, side);
      }
      proposals.push_back(Proposal{std::move(picked.individual.candidate.state),
                                   std::move(picked.individual.text), picked.individual.score,
                                   picked.is_random});
    }
  }

  /// The best new programs: of an evolution under the learned model, or of the population itself in
  /// the order of the draft; without either in any order.
  std::vector<Individual> ranked(const RoundKey& key, Evaluator& by_draft, Evaluator& by_model,
                                 std::vector<Individual> population, std::size_t count,
                                 Advice advice, std::uint32_t num_generations) {
    EvolutionOptions evolution = options_.evolution;
    RoundKey second = key;
    second.round |= 1U << 31;  // other random numbers than those of the draft
    evolution.num_generations = advice.model ? num_generations : 0;
    if (!advice.model) {
      if (!advice.draft) {
        CounterRng rng = second.rng(max_generation, 0);
        for (Individual& individual : population) {
          individual.score = static_cast<float>(rng.next_double());
        }
      }
      return evolve(space_, mutators_, evolution, second, callbacks_, by_draft,
                    std::move(population), count, is_new());
    }
    return evolve(space_, mutators_, evolution, second, callbacks_, by_model,
                  by_model.rescore(std::move(population)), count, is_new());
  }

  /// Valid programs, at least min_population of them if five batches hold as many.
  std::vector<Individual> sample(const RoundKey& key, Evaluator& evaluator) const {
    const std::size_t batch = options_.evolution.population;
    constexpr std::size_t most_batches = 5;
    std::vector<Individual> accepted;
    for (std::size_t b = 0; b < most_batches && accepted.size() < options_.min_population; ++b) {
      if (b > 0 && callbacks_.late()) {
        break;
      }
      std::vector<Candidate> drawn =
          make_candidates(callbacks_, batch, batch, [&](std::size_t attempt) {
            CounterRng rng = key.rng(0, b * batch + attempt);
            return draw_candidate(space_, population_, rng);
          });
      join(accepted, evaluator, std::move(drawn));
    }
    return accepted;
  }

  SearchSpace space_;
  CostModel& model_;
  SearchCallbacks callbacks_;
  Shared<CostModel> draft_model_;
  SearchCallbacks draft_callbacks_;
  PrunerOptions options_;
  Population population_;
  Mutators mutators_;
  RankReport model_rank_, draft_rank_;
  Guard draft_guard_{"draft"}, model_guard_{"model"};
  HashMap<std::string, Side> sides_;  ///< by text
  std::size_t num_tests_ = 0;
  std::uint32_t round_ = 0;
  TakenPrograms taken_;
  MeasuredPrograms measured_;
  std::vector<Individual> draft_;  ///< best draft first
};

}  // namespace tensorsmith
