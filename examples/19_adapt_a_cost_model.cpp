// SPDX-License-Identifier: Apache-2.0
// requires: llvm mlp json
// Lesson 19: train a cost model on one device, adapt it to another.
//
// Programs of a few tasks are measured on the board T4, a network learns from them, and a search on
// the board A100 starts with what it learned. Both boards are simulated, so this runs anywhere;
// with the names of real ones nothing else changes. docs/pruner.md says what is adapted and when.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tensorsmith/cost/program_model.hpp"
#include "tensorsmith/tensorsmith.hpp"
#include "tensorsmith/tune/dataset.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace ts = tensorsmith;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

static ts::Dataset measured(const ts::DatasetIndex& index, const std::string& folder,
                            std::int64_t trials, const ts::CostModel& model) {
  std::filesystem::create_directories(folder);
  ts::CollectOptions options;
  options.trials = trials;
  (void)ts::collect_dataset(index, folder, options);  // goes on if it was ended before
  return ts::read_dataset(index, folder, model);
}

int main() {
  const std::filesystem::path folder = "adapt_a_cost_model";
  std::filesystem::remove_all(folder);

  // What a network calls, and how often. A network's file gives the same: tensorsmith dataset.
  ts::DatasetIndex source;
  source.target = "sim:t4";
  ts::add_network(
      source, "mine",
      {{"gemm:256x256x256:f32", 2}, {"gemm:512x256x128:f32", 1}, {"softmax:256x512", 1}});

  ts::ProgramModelOptions options = ts::ProgramModelOptions::pam();
  options.num_epochs = 20;
  ts::ProgramModel teacher(options);
  const ts::Dataset learned = measured(source, (folder / "t4").string(), 240, teacher);
  teacher.update(learned.samples());
  const ts::DatasetQuality at_home = ts::dataset_quality(teacher, learned);
  std::printf("T4, learned from %zu programs: %.2f of pairs right\n", learned.num_samples(),
              at_home.metrics.pair_accuracy);

  // Another task on another board: what does the model know of it?
  ts::DatasetIndex elsewhere;
  elsewhere.target = "sim:a100";
  ts::add_network(elsewhere, "other", {{"gemm:384x384x192:f32", 1}});
  const ts::Dataset unseen = measured(elsewhere, (folder / "a100").string(), 60, teacher);
  const ts::DatasetQuality abroad = ts::dataset_quality(teacher, unseen);
  std::printf("A100, never seen: %.2f of pairs right\n", abroad.metrics.pair_accuracy);
  require(abroad.metrics.pair_accuracy > 0.55, "what was learned is worth something elsewhere");

  const std::string file = (folder / "t4.tsmodel").string();
  require(ts::save_to_file(teacher, file).has_value(), "a model is a file");

  // The search begins with the source and moves slowly away from it (momentum adaptation).
  ts::TuneTask task = ts::named_task("gemm:384x384x192:f32", *ts::Target::from_name("sim:a100"));
  ts::TuneOptions tuning;
  tuning.budget = {0, 60};
  tuning.round_size = 10;
  tuning.space = "ansor";
  tuning.policy = "pruner";
  tuning.cost_model = "moa";
  tuning.make_model = [&](const ts::ModelContext&) {
    auto student = ts::make_shared_of<ts::ProgramModel>(ts::ProgramModelOptions::moa());
    require(ts::load_from_file(*student, file).has_value(), "moa takes what pam saved");
    return ts::Shared<ts::CostModel>(student);
  };
  const ts::TuneResult result = ts::tune(task, tuning);
  require(result.has_best(), "a program is found");
  std::printf("A100, 60 trials: %.1f us, %.0f s on the board (virtual: nothing was waited for)\n",
              result.summary.best_ns / 1e3, result.summary.virtual_time.count());
  require(result.summary.virtual_time > ts::VirtualSeconds(60), "a trial takes about a second");
}
