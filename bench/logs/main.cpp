// SPDX-License-Identifier: Apache-2.0
// requires: json cli11 mlp
// bench_logs: what the model of a board says of programs that somebody measured on that board.
//
//   bench_logs --target a100 --log a100_pooling.log.gz [--index TASKS.json] [--csv FILE]
//   bench_logs --log JOURNAL [--log ...]
// Reads logs of the Ansor reference and journals, makes the programs of their keys or workloads,
// replays and lowers every record that ran, and compares gpu_latency with the time in the record:
// rank correlation, geometric mean of estimate / measured, quartiles, and how much longer the
// program of the least estimate takes than the fastest one; all programs, then by what bounds them.
// Programs that a compiler refused are counted, and those of them that the estimate puts first.
// --target: a board; without it, the one that the first record of a journal names.
// --index: a JSON object whose values have "workload_key", "definition" and "arg_order" (the form
// of tests/data/golden/ansor/tasks.json), for keys that common_workloads() does not know. --csv:
// one line per record with all parts of the estimate. Beside it the analytic draft of Pruner
// (PSA) in both of its forms, with the board's parameters. --train NAME: trains a model on a random
// half of each log and tests it on the other (--seeds of them), as searches train or, with
// --as-reference, as the reference does. --bands FILE: what the reference's own trainings reached
// on halves of logs (training_on_logs.json, --index beside it); ours learn from the same records
// and are compared with it. --brief: one row per log. Exit code 0; 1: nothing to compare, or a
// training below the reference's.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bands.hpp"
#include "learned.hpp"
#include "support/golden_tasks.hpp"
#include "tensorsmith/codegen/reference_unrolling.hpp"
#include "tensorsmith/cost/estimate_quality.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/cost/psa.hpp"
#include "tensorsmith/cost/psa_fixed.hpp"
#include "tensorsmith/cost/standard_features.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/record_file.hpp"
#include "tensorsmith/record/workload_registry.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/replay.hpp"

namespace tensorsmith::bench {
namespace {

struct Arguments {
  std::string target, index, csv, bands;
  std::vector<std::string> logs, learners;
  std::uint32_t num_seeds = 1;
  bool as_reference = false, is_brief = false;
};

/// Of one log, or of those programs in it that something bounds.
struct Compared {
  std::vector<double> estimates, measured;

  /// Time of the program that is estimated to be the fastest, over that of the fastest.
  double regret() const {
    std::size_t first = 0;
    for (std::size_t i = 1; i < estimates.size(); ++i) {
      first = estimates[i] < estimates[first] ? i : first;
    }
    return estimates.empty()
               ? 0
               : measured[first] / *std::min_element(measured.begin(), measured.end());
  }
};

/// A trial of a log or of a journal.
struct LogTrial {
  const RecordLine& line;

  bool is_measured() const {
    return line.journal ? line.journal->is_ok() : line.ansor.is_measured();
  }
  double ns() const { return line.journal ? line.journal->min_ns : line.ansor.mean_cost() * 1e9; }
  const std::vector<Step>& steps() const {
    return line.journal ? line.journal->steps : line.ansor.steps;
  }
  bool is_refused() const {
    return line.journal && line.journal->status == MeasureStatus::compile_error;
  }
  Shared<const ComputeDag> dag(const WorkloadRegistry& registry) const {
    if (line.journal) {
      if (const auto workload = ops::parse_workload(line.journal->workload)) {
        return workload->dag;
      }
    }
    return registry.find(name());
  }
  const std::string& name() const {
    return line.journal ? line.journal->workload_key : line.ansor.workload_key;
  }
};

WorkloadRegistry registry_of(const std::string& index) {
  WorkloadRegistry registry = common_workloads();
  if (!index.empty()) {
    for (const auto& one : test::Json::parse(test::read_text(index))) {
      registry.add_program(one["workload_key"].get<std::string>(),
                           test::dag_from_definition(one["definition"], one["arg_order"]));
    }
  }
  return registry;
}

void print_row(const std::string& name, const Compared& compared) {
  const EstimateQuality q = estimate_quality(compared.estimates, compared.measured);
  std::printf(
      "  %-40s %5zu programs  spearman %5.2f  estimate / measured %5.2f  quartiles %.2f %.2f "
      "%.2f  first choice / best %.2f\n",
      name.c_str(), q.count, q.spearman, q.mean_factor, q.lower_quartile, q.median,
      q.upper_quartile, compared.regret());
}

/// The blocks of all models that bench_logs trains, and those of PSA.
FeaturePlan feature_plan(const Target& target) {
  const std::vector<std::string_view> blocks{ansor_block_name,     statements_block_name,
                                             embedding_block_name, dataflow_block_name,
                                             psa_block_name,       psa_kernels_block_name};
  return FeaturePlan::make(standard_features(), blocks, {target, 1, {}}).value();
}

void print_learned(const std::string& learner, const std::vector<TrainingSample>& samples,
                   const Arguments& arguments) {
  for (std::uint32_t seed = 1; seed <= arguments.num_seeds; ++seed) {
    const Shared<CostModel> model = make_learner(learner, arguments.as_reference, seed);
    const LearnedQuality q = learned_quality(*model, samples, seed);
    std::printf("    %-10s seed %u, half of the programs: pairs %.2f  spearman %5.2f  best of 1 "
                "%.2f  best of 5 %.2f  (%zu tested)\n",
                learner.c_str(), seed, q.pair_accuracy, q.spearman, q.best_of_1, q.best_of_5,
                q.num_tested);
  }
}

/// All parts, those of several kernels added up.
void print_csv(std::FILE* file, const std::string& log, std::size_t record, double measured,
               const GpuLatency& latency) {
  std::fprintf(file, "%s,%zu,%g,%g,%zu", log.c_str(), record, measured, latency.ns,
               latency.kernels.size());
  GpuKernelTime sum;
  for (const GpuKernelTime& kernel : latency.kernels) {
    if (kernel.ns > sum.ns) {
      sum = kernel;
    }
  }
  const GpuWork& work = sum.work;
  for (const double number : {sum.issue_ns,
                              sum.arithmetic_ns,
                              sum.shared_ns,
                              sum.l1_ns,
                              sum.l2_ns,
                              sum.dram_ns,
                              sum.waiting_ns,
                              sum.dram_bytes,
                              sum.l2_bytes,
                              static_cast<double>(work.num_blocks),
                              static_cast<double>(work.num_threads),
                              static_cast<double>(work.shared_bytes),
                              static_cast<double>(work.registers),
                              work.spilled,
                              static_cast<double>(work.blocks_per_sm),
                              work.instructions,
                              work.f32,
                              work.integer,
                              work.shared_passes,
                              work.global_passes,
                              work.path_clocks,
                              static_cast<double>(sum.num_waves)}) {
    std::fprintf(file, ",%g", number);
  }
  std::fprintf(file, "\n");
}

/// What a log is of: the board that was asked for, or that its first trial names.
Target board_of(const RecordFile& file, const Arguments& arguments) {
  std::string name = arguments.target;
  for (std::size_t i = 0; name.empty() && i < file.lines.size(); ++i) {
    name = file.lines[i].journal ? file.lines[i].journal->target : "";
  }
  const auto target = Target::from_name(name);
  if (!target || !target->gpu || !target->gpu->board) {
    throw Error("\"" + name + "\" is no board; tensorsmith devices lists them (--target)");
  }
  Target board = *target;
  board.intrinsics.push_back(&mma_m16n8k8_tf32);  // searches may have been given it
  return board;
}

/// What takes the most of an estimate.
std::string bound_of(const GpuLatency& latency) {
  std::string kind;
  double most = 0;
  for (const GpuKernelTime& kernel : latency.kernels) {
    if (kernel.ns > most) {
      most = kernel.ns;
      kind = std::string(kernel.bound()) + (kernel.work.spilled > 0 ? ", spills" : "");
    }
  }
  return kind;
}

bool compare_log(const std::string& path, const WorkloadRegistry& registry,
                 const Arguments& arguments, const std::map<std::string, LogBands>& bands,
                 std::FILE* csv) {
  const Result<RecordFile, RecordError> log = read_record_file(path);
  if (!log) {
    std::fprintf(stderr, "bench_logs: %s\n", log.error().message.c_str());
    return false;
  }
  const Target target = board_of(*log, arguments);
  const FeaturePlan plan = feature_plan(target);
  const PsaDevice device = *psa_device(target);
  const PsaFixedDevice fixed_device = *psa_fixed_device(target);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  Compared all, drafted, fixed;
  std::vector<double> not_built;
  std::vector<TrainingSample> samples;
  std::vector<std::size_t> records;  // of the samples
  std::map<std::string, Compared> by_kind;
  std::map<std::string, std::size_t> refused;
  std::map<std::string, State> initial;
  for (std::size_t i = 0; i < log->lines.size(); ++i) {
    const LogTrial trial{log->lines[i]};
    if (!trial.is_measured() && !trial.is_refused()) {
      continue;
    }
    auto found = initial.find(trial.name());
    if (found == initial.end()) {
      const Shared<const ComputeDag> dag = trial.dag(registry);
      if (!dag) {
        ++refused["the program of " + trial.name() + " is not known"];
        continue;
      }
      found = initial.emplace(trial.name(), State::initial(dag)).first;
    }
    Result<State, ScheduleError> state = replay(found->second, trial.steps());
    Result<LoopProgram, LowerError> program = state ? lower(*state, target) : fail(LowerError{});
    if (program && !trial.line.journal) {
      unroll_as_reference(*program, *state);
    }
    if (!program) {
      ++refused[state ? explain(program.error()) : "a step does not apply"];
      continue;
    }
    GpuModelOptions options;
    options.is_own_text = trial.line.journal.has_value();
    options.launch_ns =
        options.is_own_text ? GpuModelOptions::graph_launch_ns : GpuModelOptions::stream_launch_ns;
    const auto latency = gpu_latency(*program, target, options);
    if (!latency) {
      ++refused[explain(latency.error())];
      continue;
    }
    if (csv != nullptr) {
      print_csv(csv, name, i, trial.is_refused() ? 0 : trial.ns(), *latency);
    }
    if (trial.is_refused()) {
      not_built.push_back(latency->ns);
      continue;
    }
    const double measured = trial.ns();
    for (Compared* compared : {&all, &by_kind[bound_of(*latency)]}) {
      compared->estimates.push_back(latency->ns);
      compared->measured.push_back(measured);
    }
    if (arguments.is_brief) {
      continue;
    }
    samples.push_back({plan.extract(*state), 0, 1 / measured});
    records.push_back(i);
    drafted.estimates.push_back(
        1e6 * psa_latency_ms(samples.back().features.block(psa_block_name), device));
    drafted.measured.push_back(measured);
    const double clocks =
        psa_fixed_clocks(samples.back().features.block(psa_kernels_block_name), fixed_device);
    if (clocks < math::infinity) {
      fixed.estimates.push_back(1e3 / target.gpu->board->clock_mhz * clocks);
      fixed.measured.push_back(measured);
    }
  }
  print_row(name + " on " + target.name, all);
  if (!not_built.empty() && !all.estimates.empty()) {
    const double least = *std::min_element(all.estimates.begin(), all.estimates.end());
    std::printf("    %zu that the compiler refused, %td of them estimated below all others\n",
                not_built.size(),
                std::count_if(not_built.begin(), not_built.end(),
                              [&](double estimate) { return estimate < least; }));
  }
  for (const auto& [kind, compared] : by_kind) {
    if (!arguments.is_brief) {
      print_row("  bound by " + kind, compared);
    }
  }
  if (!arguments.is_brief) {
    print_row("  PSA", drafted);
    print_row("  PSA fixed", fixed);
  }
  bool is_good = !all.estimates.empty();
  const auto band = bands.find(name.substr(0, name.find(".json")));
  for (const std::string& learner : arguments.learners) {
    if (band == bands.end()) {
      print_learned(learner, samples, arguments);
    } else {
      is_good = compare_with_bands(band->second, learner, samples, records, arguments.as_reference,
                                   arguments.num_seeds) &&
                is_good;
    }
  }
  for (const auto& [reason, count] : refused) {
    std::printf("    %zu left out: %s\n", count, reason.c_str());
  }
  return is_good;
}

int run(const Arguments& arguments) {
  const WorkloadRegistry registry = registry_of(arguments.index);
  const std::map<std::string, LogBands> bands = arguments.bands.empty()
                                                    ? std::map<std::string, LogBands>()
                                                    : read_bands(arguments.bands, arguments.index);
  std::FILE* csv = arguments.csv.empty() ? nullptr : std::fopen(arguments.csv.c_str(), "w");
  if (csv != nullptr) {
    std::fprintf(csv, "log,record,measured_ns,estimate_ns,kernels,issue_ns,arithmetic_ns,shared_ns,"
                      "l1_ns,l2_ns,dram_ns,waiting_ns,dram_bytes,l2_bytes,blocks,threads,"
                      "shared_bytes,registers,spilled,blocks_per_sm,instructions,f32,integer,"
                      "shared_passes,global_passes,path_clocks,waves\n");
  }
  bool is_good = true;
  for (const std::string& log : arguments.logs) {
    is_good = compare_log(log, registry, arguments, bands, csv) && is_good;
  }
  if (csv != nullptr) {
    std::fclose(csv);
  }
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"What the model of a GPU says of programs that were measured"};
  tensorsmith::bench::Arguments arguments;
  app.add_option("--target", arguments.target, "board that the log is of");
  app.add_option("--log", arguments.logs, "logs of the Ansor reference, and journals")->required();
  app.add_option("--index", arguments.index, "programs of the keys");
  app.add_option("--train", arguments.learners, "models to train: pam, tenset-mlp, mlp");
  app.add_option("--seeds", arguments.num_seeds, "trainings of each, with other halves");
  app.add_option("--bands", arguments.bands,
                 "what the reference's trainings reached; models to train are compared with it");
  app.add_flag("--brief", arguments.is_brief, "one row per log, without PSA and learners");
  app.add_flag("--as-reference", arguments.as_reference, "train as the reference does");
  app.add_option("--csv", arguments.csv, "file to write every estimate to");
  CLI11_PARSE(app, argc, argv);
  try {
    return tensorsmith::bench::run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_logs: %s\n", error.what());
    return 2;
  }
}
