// SPDX-License-Identifier: Apache-2.0
// requires: mlp json cli11
// bench_program_models: microseconds per program for what Pruner's models read and say, and seconds
// of an update.
//
//   bench_program_models [--json] [--target sim:a100] [WORKLOAD...]
// Programs are those that a search of the reference's space proposes. Times are of the processor,
// so that other work on the machine does not count.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/support/arguments.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/cost/program_model.hpp"
#include "tensorsmith/cost/psa.hpp"
#include "tensorsmith/cost/standard_features.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/workload_embedding.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune/board_latency.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace tensorsmith::bench {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Drawn {
  std::vector<State> states;
  std::vector<TrainingSample> samples;  ///< with the speed that the board's model says
};

FeaturePlan plan_of(std::span<const std::string_view> blocks, const Target& target) {
  FeatureTable table;
  for (const FeatureExtractor& row : {statements_block(), embedding_block(), dataflow_block()}) {
    (void)table.add(row);
  }
  auto plan = FeaturePlan::make(table, blocks, {target, 1, {}});
  if (!plan) {
    throw Error(plan.error());
  }
  return std::move(plan).value();
}

void draw(const std::string& workload, std::uint32_t task, const Target& target, std::size_t count,
          const FeaturePlan& plan, Drawn& drawn) {
  TuneOptions options;
  options.space = options.policy = "ansor";
  options.cost_model = "random";
  options.policy_params = {{"evolutionary_search_population", "256"},
                           {"evolutionary_search_num_iters", "1"}};
  const Search search = make_search(named_task(workload, target), options);
  const std::size_t all = drawn.states.size() + count;
  while (drawn.states.size() < all) {
    const std::vector<Proposal> proposals =
        search.policy->propose(std::min<std::size_t>(128, all - drawn.states.size()));
    if (proposals.empty()) {
      return;
    }
    for (const Proposal& proposal : proposals) {
      const auto latency = latency_on_board(proposal.state, target);
      drawn.states.push_back(proposal.state);
      drawn.samples.push_back({plan.extract(proposal.state), task, latency ? 1 / latency->ns : 0});
    }
  }
}

int run(const std::vector<std::string>& workloads, const std::string& target_name, bool is_json) {
  const auto target = named_target(target_name);
  if (!target || !psa_device(*target)) {
    throw Error(target_name + " is no board of a GPU");
  }
  constexpr std::size_t num_samples = 2000;
  ProgramModel model;
  const FeaturePlan plan = plan_of(model.wanted_blocks(), *target);
  Drawn drawn;
  for (std::uint32_t i = 0; i < workloads.size(); ++i) {
    draw(workloads[i], i, *target, num_samples / workloads.size(), plan, drawn);
  }
  if (drawn.states.empty()) {
    throw Error("no program of these workloads could be drawn");
  }
  std::vector<State> some;  // of every workload alike
  const std::size_t step = std::max<std::size_t>(1, drawn.states.size() / 256);
  for (std::size_t i = 0; i < drawn.states.size(); i += step) {
    some.push_back(drawn.states[i]);
  }
  const auto us_per_program = [&](const auto& work, std::size_t count) {
    work();
    double least = 1e300;
    for (int i = 0; i < 5; ++i) {
      const double begin = cpu_seconds();
      work();
      least = std::min(least, cpu_seconds() - begin);
    }
    return 1e6 * least / static_cast<double>(count);
  };
  double sum = 0;
  nlohmann::ordered_json report;
  report["programs"] = drawn.states.size();
  for (const ModelFactory& row : draft_models()) {
    const Shared<CostModel> draft = row.make({1, *target, true});
    const auto of_draft =
        FeaturePlan::make(standard_features(), draft->wanted_blocks(), {*target, 1, {}});
    if (!of_draft) {
      throw Error(of_draft.error());
    }
    report["drafts_us"][std::string(row.name)] = us_per_program(
        [&] {
          for (const State& state : some) {
            const Features features[] = {of_draft->extract(state)};
            float score[] = {0};
            draft->predict(features, score);
            sum += score[0] > 0 ? 1 : 0;
          }
        },
        some.size());
  }
  report["pam_features_us"] = us_per_program(
      [&] {
        for (const State& state : some) {
          sum += plan.extract(state).empty() ? 0 : 1;
        }
      },
      some.size());
  std::vector<Features> programs;
  for (const TrainingSample& sample : drawn.samples) {
    programs.push_back(sample.features);
  }
  const double begin = cpu_seconds();
  model.update(drawn.samples);
  report["update_seconds"] = cpu_seconds() - begin;
  report["update_epochs"] = model.last_training().num_epochs;
  std::vector<float> scores(programs.size());
  report["prediction_us"] =
      us_per_program([&] { model.predict(programs, scores); }, programs.size());
  report["pairs_right"] = rank_report(model, drawn.samples).pairwise_accuracy();
  report["sum"] = sum > 0;
  if (is_json) {
    std::printf("%s\n", report.dump(2).c_str());
    return 0;
  }
  for (const auto& [name, us] : report["drafts_us"].items()) {
    std::printf("draft %s %.1f us, ", name.c_str(), us.get<double>());
  }
  std::printf("features of pam %.1f us, prediction %.1f us per program\n"
              "update of %zu programs: %.2f s, %u epochs, %.3f of pairs right\n",
              report["pam_features_us"].get<double>(), report["prediction_us"].get<double>(),
              drawn.states.size(), report["update_seconds"].get<double>(),
              model.last_training().num_epochs, report["pairs_right"].get<double>());
  return 0;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"Speed of Pruner's models"};
  std::string target = "sim:a100";
  bool is_json = false;
  std::vector<std::string> workloads{
      "gemm:1024x1024x1024:f32", "conv2d:n=1,h=28,w=28,ci=128,co=128,k=3,s=1,p=1,relu",
      "depthwise:n=1,h=56,w=56,c=144,k=3,s=1,p=1", "softmax:1024x1024"};
  app.add_option("workloads", workloads, "of the programs");
  app.add_option("--target", target, "a board");
  app.add_flag("--json", is_json, "machine-readable output");
  if (const auto code =
          tensorsmith::bench::parse_arguments(app, argc, argv, "bench_program_models")) {
    return *code;
  }
  try {
    return tensorsmith::bench::run(workloads, target, is_json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_program_models: %s\n", error.what());
    return 2;
  }
}
