// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
#include "runs.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "support/golden_data.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/cost/program_model.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::bench {
namespace {

/// The released weights of an index, as tests read them.
std::vector<NamedTensor> tensors_of(const std::string& path) {
  const test::Json index = test::Json::parse(test::read_text(path));
  const std::vector<float> floats = test::read_floats(path.substr(0, path.size() - 5) + ".f32");
  std::vector<NamedTensor> tensors;
  for (const auto& tensor : index.at("tensors")) {
    const auto first = floats.begin() + tensor.at("offset").get<std::ptrdiff_t>();
    tensors.push_back({tensor.at("name").get<std::string>(),
                       {first, first + tensor.at("count").get<std::ptrdiff_t>()}});
  }
  return tensors;
}

Shared<CostModel> trained_model(const Method& method, const ModelContext& context) {
  Result<Shared<CostModel>, std::string> made =
      make_cost_model(known_models(), method.cost_model, context);
  if (!made) {
    throw Error(made.error());
  }
  CostModel& model = **made;
  auto* const network = dynamic_cast<ProgramModel*>(&model);
  const Result<Done, CostModelFault> loaded =
      method.weights.ends_with(".json") && network != nullptr
          ? network->import(tensors_of(method.weights))
          : load_from_file(model, method.weights);
  if (!loaded) {
    throw Error(method.weights + ": " + loaded.error().message);
  }
  return std::move(made).value();
}

/// The runs of one task and seed, by method; null: there is none.
using RunsOfCase = std::vector<const MethodRun*>;
std::map<std::pair<std::size_t, std::uint64_t>, RunsOfCase>
runs_by_case(std::size_t num_methods, const std::vector<MethodRun>& runs) {
  std::map<std::pair<std::size_t, std::uint64_t>, RunsOfCase> cases;
  for (const MethodRun& run : runs) {
    RunsOfCase& of_case = cases[{run.task, run.seed}];
    of_case.resize(num_methods, nullptr);
    of_case[run.method] = &run;
  }
  std::erase_if(cases, [](const auto& one) {
    return std::any_of(one.second.begin(), one.second.end(),
                       [](const MethodRun* run) { return run == nullptr; });
  });
  return cases;
}

/// All tasks as one network, by seed; seeds that some task lacks are left out.
void compare_networks(const std::vector<BenchTask>& tasks,
                      const std::map<std::pair<std::size_t, std::uint64_t>, RunsOfCase>& cases,
                      std::size_t method, MethodSummary& summary) {
  std::map<std::uint64_t, std::pair<std::vector<NetworkTask>, std::vector<NetworkTask>>> by_seed;
  for (const auto& [place, of_case] : cases) {
    auto& [mine, first] = by_seed[place.second];
    const double weight = tasks[place.first].weight;
    mine.push_back({of_case[method]->by_seconds, of_case[method]->seconds, weight});
    first.push_back({of_case[0]->by_seconds, of_case[0]->seconds, weight});
  }
  for (const auto& [seed, networks] : by_seed) {
    const auto& [mine, first] = networks;
    if (mine.size() == tasks.size()) {
      const double wanted = network_ns_after(first, math::infinity);
      summary.first_seconds.push_back(network_spent(first));
      summary.seconds_until_first.push_back(
          wanted < math::infinity ? network_spent_until(mine, wanted) : math::infinity);
    }
  }
}

}  // namespace

std::vector<Method> known_methods(const TrainedFiles& files) {
  std::vector<Method> methods = {{"ansor", "ansor", "ansor", "mlp"},
                                 {"pruner", "pruner", "ansor", "pam"},
                                 {"moa", "pruner", "ansor", "moa", files.moa},
                                 {"pruner-offline", "pruner-offline", "ansor", "pam", files.pam},
                                 {"tenset", "ansor", "ansor", "tenset-mlp", files.tenset},
                                 {"native", "evolution", "native", ""},
                                 {"random", "ansor", "ansor", "random"}};
  std::erase_if(methods, [](const Method& method) {
    const bool is_trained =
        method.name == "moa" || method.name == "pruner-offline" || method.name == "tenset";
    return is_trained && method.weights.empty();
  });
  return methods;
}

Method method_of_text(const std::string& text) {
  const std::size_t name_end = text.find('=');
  std::vector<std::string> parts;
  for (std::size_t at = name_end; at != std::string::npos && parts.size() < 4;) {
    const std::size_t end = parts.size() < 3 ? text.find('/', at + 1) : std::string::npos;
    parts.push_back(text.substr(at + 1, end == std::string::npos ? end : end - at - 1));
    at = end;
  }
  if (name_end == 0 || parts.size() < 3) {
    throw Error("expected NAME=POLICY[:DRAFT]/SPACE/MODEL[/FILE], got " + in_quotes(text));
  }
  parts.resize(4);
  const std::size_t colon = parts[0].find(':');
  const std::string draft = colon == std::string::npos ? "" : parts[0].substr(colon + 1);
  return {text.substr(0, name_end), parts[0].substr(0, colon), parts[1], parts[2], parts[3], draft};
}

MethodRun run_method(const Method& method, const TuneTask& task, std::uint64_t seed,
                     const TuneBudget& budget, std::int32_t num_threads, std::int32_t round_size) {
  TuneOptions options;
  options.budget = budget;
  options.seed = seed;
  options.simulated.seed = seed;
  options.num_threads = num_threads;
  options.policy = method.policy;
  options.space = method.space;
  options.cost_model = method.cost_model;
  options.draft = method.draft;
  options.round_size = round_size;
  if (!method.weights.empty()) {
    options.make_model = [&method](const ModelContext& context) {
      return trained_model(method, context);
    };
  }
  const TuneResult result = tune(task, options);
  const TuneSummary& summary = result.summary;
  const bool is_virtual = task.target.is_simulated;
  MethodRun run;
  run.seed = seed;
  for (const CurvePoint& point : summary.curve) {
    run.by_trials.push_back({static_cast<double>(point.trial + 1), point.best_ns});
    run.by_seconds.push_back(
        {is_virtual ? point.virtual_time.count() : point.seconds, point.best_ns});
  }
  if (!summary.curve.empty()) {  // the last point is that of the final ranking
    run.by_trials.pop_back();
    run.by_seconds.pop_back();
  }
  run.best_ns = run.by_trials.empty() ? 0 : run.by_trials.back().best_ns;
  run.trials = summary.trials;
  run.seconds = is_virtual ? summary.virtual_time.count() : summary.seconds;
  run.own_seconds = summary.propose_seconds + summary.train_seconds;
  run.guards = summary.guards;
  return run;
}

std::vector<MethodSummary> summarize(const std::vector<Method>& methods,
                                     const std::vector<BenchTask>& tasks,
                                     const std::vector<MethodRun>& runs) {
  const auto cases = runs_by_case(methods.size(), runs);
  std::vector<double> best_of_task(tasks.size(), 0);
  for (const MethodRun& run : runs) {
    double& best = best_of_task[run.task];
    best = run.best_ns > 0 && (best <= 0 || run.best_ns < best) ? run.best_ns : best;
  }
  std::vector<MethodSummary> summaries;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    MethodSummary summary;
    std::vector<double> quality, quality_seconds, ours, firsts, ours_timed, firsts_timed;
    std::vector<double> ratios_seconds[3], ratios_trials[3];
    double trials = 0, seconds = 0, own = 0;
    for (const auto& [place, of_case] : cases) {
      const MethodRun& run = *of_case[m];
      const MethodRun& first = *of_case[0];
      const double best = best_of_task[place.first];
      double common = first.seconds;
      for (const MethodRun* other : of_case) {
        common = std::min(common, other->seconds);
      }
      const auto add_quality = [&](std::vector<double>& to, double ns) {
        if (ns > 0) {
          to.push_back(best / ns);
        }
      };
      add_quality(quality, run.best_ns);
      add_quality(quality_seconds, best_after(run.by_seconds, common));
      ours.push_back(run.best_ns);
      firsts.push_back(first.best_ns);
      ours_timed.push_back(best_after(run.by_seconds, common));
      firsts_timed.push_back(best_after(first.by_seconds, common));
      for (std::size_t s = 0; s < 3; ++s) {
        const double wanted = best / reached_shares[s];
        const double mine = spent_until(run.by_seconds, wanted);
        const double its = spent_until(first.by_seconds, wanted);
        summary.reached[s].num_runs += mine < math::infinity ? 1 : 0;
        if (mine < math::infinity && its < math::infinity) {
          ratios_seconds[s].push_back(its / mine);
          ratios_trials[s].push_back(spent_until(first.by_trials, wanted) /
                                     spent_until(run.by_trials, wanted));
        }
      }
      trials += static_cast<double>(run.trials);
      seconds += run.seconds;
      own += run.own_seconds;
    }
    const auto mean_of_all = [&](const std::vector<double>& values) {
      return values.size() == cases.size() ? geometric_mean(values) : 0;
    };
    summary.quality = mean_of_all(quality);
    summary.quality_seconds = mean_of_all(quality_seconds);
    summary.trials_per_second = seconds > 0 ? trials / seconds : 0;
    summary.own_share = seconds > 0 ? own / seconds : 0;
    for (std::size_t s = 0; s < 3; ++s) {
      summary.reached[s].num_pairs = ratios_seconds[s].size();
      summary.reached[s].speedup_seconds = geometric_mean(ratios_seconds[s]);
      summary.reached[s].speedup_trials = geometric_mean(ratios_trials[s]);
    }
    compare_networks(tasks, cases, m, summary);
    summary.equal_trials = SignTest::of(ours, firsts);
    summary.equal_seconds = SignTest::of(ours_timed, firsts_timed);
    summaries.push_back(summary);
  }
  return summaries;
}

}  // namespace tensorsmith::bench
