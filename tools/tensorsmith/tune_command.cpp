// SPDX-License-Identifier: Apache-2.0
// tensorsmith tune WORKLOAD: search, measure, verify, journal.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "command.hpp"
#include "interrupt.hpp"
#include "model_file.hpp"
#include "progress.hpp"
#include "report_file.hpp"
#include "row_range.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/methods.hpp"
#include "tune_tasks_command.hpp"

namespace tensorsmith::cli {
namespace {

struct TuneArguments {
  WorkloadOptions common;
  std::optional<double> seconds;
  std::optional<std::int64_t> trials;
  TuneOptions tune;
  std::string report;  ///< page to write afterwards; empty: none
  std::string tasks;   ///< file of many workloads; empty: there is one
  std::string strategy = "gradient", timing = "racing", random_numbers = "counter";
  std::int64_t task_early_stopping = 0;
  ModelFiles model_files;
  std::vector<std::string> params;  ///< NAME=VALUE
  std::vector<std::string> faults;  ///< NAME=PROBABILITY
  bool is_list = false;
  bool is_quiet = false;
  bool is_unverified = false;
};

/// "verified", with the share if it is not all of the result.
std::string verified_text(const TuneSummary& summary) {
  return summary.verified_share < 1
             ? fmt::format("verified ({} of the result)", percent_text(summary.verified_share))
             : "verified";
}

Json failed_json(const TuneSummary& summary) {
  Json failed = Json::object();
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    const MeasureStatus status = static_cast<MeasureStatus>(i);
    if (status != MeasureStatus::ok && summary.statuses[i] > 0) {
      failed[std::string(name_of(status))] = summary.statuses[i];
    }
  }
  return failed;
}

Json result_json(const TuneArguments& arguments, const TuneResult& result) {
  const TuneSummary& summary = result.summary;
  Json json;
  json["workload"] = arguments.common.workload;
  json["target"] = arguments.common.target;
  json["threads"] = arguments.common.num_threads;
  json["space"] = arguments.tune.space;
  json["policy"] = arguments.tune.policy;
  json["seed"] = arguments.tune.seed;
  json["best_ns"] = result.has_best() ? Json(summary.best_ns) : Json(nullptr);
  json["best_interval_ns"] = summary.best_high_ns > 0
                                 ? Json::array({summary.best_low_ns, summary.best_high_ns})
                                 : Json(nullptr);
  json["ties"] = summary.num_ties;
  json["gflops"] = result.has_best() ? Json(summary.gflops) : Json(nullptr);
  json["peak_fraction"] =
      result.has_best() && summary.peak_fraction > 0 ? Json(summary.peak_fraction) : Json(nullptr);
  json["trials"] = summary.trials;
  json["failed"] = failed_json(summary);
  json["seconds"] = summary.seconds;
  json["verified"] = summary.is_verified;
  json["verified_share"] = summary.verified_share;
  if (!summary.not_judged.empty()) {
    json["not_judged"] = summary.not_judged;
  }
  json["simulated"] = result.task.target.is_simulated;
  json["repeated"] = summary.num_repeated;
  json["compiled"] = summary.num_compiled;
  json["journal"] = arguments.tune.database;
  if (!arguments.report.empty()) {
    json["report"] = arguments.report;
  }
  json["curve"] = Json::array();
  for (const CurvePoint& point : summary.curve) {
    json["curve"].push_back(Json::array({point.seconds, point.trial, point.best_ns}));
  }
  if (result.task.target.is_simulated) {
    json["virtual_seconds"] = summary.virtual_time.count();
    json["virtual_curve"] = Json::array();
    for (const CurvePoint& point : summary.curve) {
      json["virtual_curve"].push_back(
          Json::array({point.virtual_time.count(), point.trial, point.best_ns}));
    }
  }
  json["rounds"] = summary.rounds;
  json["cancelled"] = summary.is_cancelled;
  json["phases"] = {{"prepare_seconds", summary.prepare_seconds},
                    {"propose_seconds", summary.propose_seconds},
                    {"build_seconds", summary.build_seconds},
                    {"measure_seconds", summary.measure_seconds},
                    {"train_seconds", summary.train_seconds}};
  json["equal_programs"] = summary.num_equal_programs;
  json["polish"] = {{"trials", summary.polish.trials},
                    {"before_ns", summary.polish.before_ns},
                    {"after_ns", summary.polish.after_ns}};
  json["prior"] = {{"trials", summary.prior.trials},
                   {"best_ns", summary.prior.best_ns},
                   {"others_ns", summary.prior.others_ns},
                   {"dropped", summary.prior.is_dropped}};
  json["guards"] = guards_json<Json>(summary.guards);
  json["rank_correlation"] =
      summary.num_ranked_pairs > 0 ? Json(summary.rank_correlation) : Json(nullptr);
  json["ranked_pairs"] = summary.num_ranked_pairs;
  if (!summary.message.empty()) {
    json["message"] = summary.message;
  }
  return json;
}

/// What polishing and other tasks' decisions were worth.
void print_parts(const TuneSummary& summary) {
  if (summary.prior.trials > 0) {
    fmt::print(
        "prior: {} programs of similar tasks, {}\n", summary.prior.trials,
        summary.prior.best_ns <= 0
            ? std::string("none ran")
            : fmt::format("the best {} beside {} of the search's own{}",
                          duration_text(summary.prior.best_ns),
                          duration_text(summary.prior.others_ns),
                          summary.prior.is_dropped ? ", so no more of them were tried" : ""));
  }
  if (summary.polish.trials > 0) {
    fmt::print("polish: {} neighbours of the best, {} -> {}\n", summary.polish.trials,
               duration_text(summary.polish.before_ns), duration_text(summary.polish.after_ns));
  }
}

/// Progress and curve show least times of trials, the result is a median: said where they differ.
void print_fastest_trial(const TuneSummary& summary) {
  double least = 0;
  for (std::size_t i = 0; i + 1 < summary.curve.size(); ++i) {  // the last point is the result
    least = summary.curve[i].best_ns;
  }
  constexpr double noticed = 1.02;
  if (summary.best_high_ns > 0 && least > 0 &&
      std::max(least, summary.best_ns) > noticed * std::min(least, summary.best_ns)) {
    fmt::print("fastest trial: {}, the least of its calls; the median above is of the final "
               "ranking\n",
               duration_text(least));
  }
}

void print_result(const TuneArguments& arguments, const TuneResult& result) {
  const TuneSummary& summary = result.summary;
  if (result.has_best()) {
    fmt::print("{}: {}", arguments.common.workload, duration_text(summary.best_ns));
    if (summary.best_high_ns > 0) {
      fmt::print(" (median; 95 %: {} .. {})", duration_text(summary.best_low_ns),
                 duration_text(summary.best_high_ns));
    }
    if (summary.gflops > 0) {
      fmt::print(", {:.1f} GFLOP/s", summary.gflops);
    }
    if (summary.peak_fraction > 0) {
      fmt::print(", {} of peak", percent_text(summary.peak_fraction));
    }
    fmt::print(", {}\n", summary.is_verified               ? verified_text(summary)
                         : result.task.target.is_simulated ? "simulated, nothing was run"
                                                           : "not verified");
    print_fastest_trial(summary);
    if (summary.num_ties > 0) {
      fmt::print("final ranking: {} as fast within the noise; the simplest one was taken\n",
                 summary.num_ties == 1 ? std::string("another program is")
                                       : std::to_string(summary.num_ties) + " other programs are");
    }
  }
  const std::string failures = failures_text(summary.statuses);
  const char* const separator = failures.empty() ? "" : "; failed: ";
  if (arguments.trials == 0) {
    fmt::print("instant: {:.0f} ms to choose and compile, {:.0f} ms in all{}{}\n",
               1e3 * (summary.propose_seconds + summary.build_seconds), 1e3 * summary.seconds,
               separator, failures);
  } else {
    fmt::print("{} trials in {:.1f} s ({:.1f} per second){}{}\n", summary.trials, summary.seconds,
               static_cast<double>(summary.trials) / std::max(summary.seconds, 1e-9), separator,
               failures);
  }
  print_parts(summary);
  if (result.task.target.is_simulated && arguments.trials != 0) {
    fmt::print(
        "virtual time: {:.1f} s, the search's own ({:.1f} s, less waiting for a core) and what the "
        "trials would cost on the device\n",
        summary.virtual_time.count(), summary.propose_seconds + summary.train_seconds);
  }
  for (const GuardReport& guard : summary.guards) {
    if (guard.num_without > 0) {
      fmt::print("{}: {} trials with it, {} without; with it ahead by {:+.0f} % of the pairs of a "
                 "batch{}\n",
                 guard.name, guard.num_with, guard.num_without, 100 * guard.advantage,
                 guard.is_given_up ? "; it is given up" : "");
    }
  }
  if (summary.num_ranked_pairs > 0) {
    fmt::print(
        "cost model: ordered new programs by speed with rank correlation {:.2f} (1: all in the "
        "right order; {} pairs)\n",
        summary.rank_correlation, summary.num_ranked_pairs);
  }
  fmt::print("journal: {}\n", arguments.tune.database);
  if (!arguments.report.empty()) {
    fmt::print("report: {}\n", arguments.report);
  }
}

std::pair<std::string, std::string> split_pair(const char* option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos) {
    throw Error(std::string(option) + ": expected NAME=VALUE, got \"" + text + "\"");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

void split_params(TuneArguments& arguments) {
  for (const std::string& param : arguments.params) {
    arguments.tune.policy_params.push_back(split_pair("--param", param));
  }
  double all = 0;
  for (const std::string& text : arguments.faults) {
    const std::pair<std::string, std::string> pair = split_pair("--fault", text);
    const std::string &name = pair.first, &value = pair.second;
    const auto fault = std::find_if(simulated_faults.begin(), simulated_faults.end(),
                                    [&](const SimulatedFault& one) { return one.name == name; });
    if (fault == simulated_faults.end()) {
      std::string known;
      for (const SimulatedFault& one : simulated_faults) {
        known.append(known.empty() ? "" : ", ").append(one.name);
      }
      throw Error("--fault: unknown fault \"" + name + "\"; known: " + known);
    }
    if (const std::string problem = real_number(0, 1)(value); !problem.empty()) {
      throw Error("--fault " + name + ": " + problem);
    }
    arguments.tune.simulated.faults.*fault->probability = std::stod(value);
    all += std::stod(value);
  }
  if (all > 1) {
    throw Error("--fault: the probabilities add up to more than 1");
  }
}

int tune_file(const TuneArguments& arguments) {
  if (!arguments.model_files.save.empty()) {
    throw Error("--save-model is for one workload; leave it or --tasks out");
  }
  if (!arguments.common.workload.empty() || !arguments.report.empty()) {
    throw Error("--tasks names the workloads; leave the workload argument and --report out");
  }
  TaskFileArguments file;
  file.file = arguments.tasks;
  file.strategy = choice(task_strategy_names, "strategy", arguments.strategy);
  file.task_early_stopping = arguments.task_early_stopping;
  file.common = arguments.common;
  file.common.workload = arguments.tasks;  // names the journal
  file.tune = arguments.tune;
  file.tune.database = journal_path(file.common);
  file.is_quiet = arguments.is_quiet;
  return tune_task_file(file);
}

int tune_workload(TuneArguments& arguments) {
  if (arguments.is_list) {
    print_grammar(arguments.common.is_json);
    return exit_ok;
  }
  split_params(arguments);
  if (!arguments.faults.empty() && !arguments.common.target.starts_with("sim:")) {
    throw Error("--fault is for simulated targets such as sim:a100, not for " +
                arguments.common.target);
  }
  TuneOptions& options = arguments.tune;
  const auto model = std::make_shared<Shared<CostModel>>();
  if (!arguments.model_files.load.empty() || !arguments.model_files.save.empty()) {
    options.make_model = [model, name = options.cost_model,
                          files = arguments.model_files](const ModelContext& context) {
      return *model = loaded_model(name, files, context);
    };
  }
  options.budget.trials = arguments.trials.value_or(0);
  options.budget.seconds = arguments.seconds.value_or(arguments.trials ? 0 : 20);
  options.num_threads = arguments.common.num_threads;
  options.verifies = !arguments.is_unverified;
  options.timing = choice(trial_timing_names, "timing", arguments.timing);
  options.random_numbers = choice(random_source_names, "random numbers", arguments.random_numbers);
  if (!arguments.tasks.empty()) {
    return tune_file(arguments);
  }
  if (arguments.common.workload.empty()) {
    throw Error("tune needs a workload, e.g. gemm:512x512x512:f32; --list shows all kinds");
  }
  if (const auto range = row_range(arguments.common.workload)) {
    if (!arguments.report.empty() || !arguments.model_files.save.empty()) {
      throw Error("--report and --save-model are for one workload, not for a range of rows");
    }
    options.database = journal_path(arguments.common);
    return tune_row_range({arguments.common, options, arguments.is_quiet}, *range);
  }
  TuneTask task = named_task(arguments.common.workload, Target());
  task.target = parse_runnable_target(arguments.common.target);
  if (arguments.trials == 0 && arguments.seconds) {
    throw Error("--trials 0 measures no population, so there is nothing to spend --seconds on; "
                "leave one of them out");
  }
  options.database = journal_path(arguments.common);
  if (!arguments.report.empty()) {
    check_report({options.database, {}, "", arguments.report});
  }
  warn_of_threads(task.target, options.num_threads);
  watch_interrupts();
  options.is_cancelled = is_interrupted;
  ProgressPrinter printer(arguments.is_quiet, task.target.is_simulated);
  options.on_progress = [&printer](const TuneProgress& progress) {
    if (progress.trials > 0) {
      work_has_begun();  // before, there is nothing to be kept
    }
    printer(progress);
  };
  const TuneResult result = tune(task, options);
  printer.finish();
  if (arguments.common.is_json) {
    print_json(result_json(arguments, result));
  } else {
    print_result(arguments, result);
  }
  if (!arguments.report.empty() && result.summary.trials > 0) {
    write_report({options.database, {arguments.common.workload}, "", arguments.report});
  }
  if (*model && !arguments.model_files.save.empty()) {
    save_model(**model, arguments.model_files.save);
  }
  if (!result.summary.message.empty()) {
    warn(result.summary.message);
  }
  if (result.summary.is_cancelled && result.has_best()) {
    warn(stopped_early(result.summary.trials));
  }
  if (result.has_best()) {
    return result.summary.is_journal_broken ? exit_failed : exit_ok;
  }
  if (!result.summary.first_failure.empty()) {
    warn("the first failure was " + result.summary.first_failure);
  }
  warn(result.summary.is_cancelled ? "interrupted before any candidate succeeded"
                                   : "no candidate succeeded");
  return result.summary.is_cancelled ? exit_of_interrupt() : exit_failed;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<TuneArguments>();
  CLI::App* command = app.add_subcommand(
      "tune", "Find a fast schedule for a workload.\n"
              "Example: tensorsmith tune gemm:512x512x512:f32 --seconds 20 --json");
  add_workload_options(*command, arguments->common);
  command
      ->add_option("--seconds", arguments->seconds,
                   "wall-clock budget, compilation included; default 20 unless --trials is given")
      ->check(real_number(0.01, 1e7));
  command
      ->add_option("--trials", arguments->trials,
                   "most candidates to measure; 0: the best one of the analytic model, at once")
      ->check(whole_number(0, std::uint64_t{1} << 40));
  command->add_option("--seed", arguments->tune.seed, "of every random choice")
      ->check(whole_number(0, UINT64_MAX));
  command->add_option("--policy", arguments->tune.policy,
                      "search: " + names_text(policy_methods()) + "; --list says what they are");
  command
      ->add_option("--param", arguments->params,
                   "NAME=VALUE of the search, by the reference's names, e.g. eps_greedy=0.1; may "
                   "be repeated; --list names all")
      ->take_all();
  command->add_option("--timing", arguments->timing,
                      "of trials: racing, or reference (100 ms of calls for every program)");
  command->add_option("--random", arguments->random_numbers,
                      "initial population: counter, or reference (its generators)");
  command
      ->add_option("--fault", arguments->faults,
                   "NAME=PROBABILITY per trial on a simulated target, e.g. hang=0.05; may be "
                   "repeated. Names: load_error, hang, crash, out_of_bounds, wrong_result, "
                   "nan_result, sticky_error, out_of_memory, worker_lost, throttling")
      ->take_all();
  command
      ->add_option("--early-stopping", arguments->tune.early_stopping,
                   "trials without a better one that end the search; 0: no limit")
      ->check(whole_number(0, std::uint64_t{1} << 40));
  command
      ->add_option("--polish", arguments->tune.polish,
                   "share of the budget, its last part, that measures all programs one decision "
                   "away from the best; default 0.1, 0 in the reference's space or search")
      ->check(real_number(0, 0.9));
  command
      ->add_option("--prior", arguments->tune.prior,
                   "most of an early batch that programs of similar tasks in the journal may take, "
                   "as long as they are ahead; 0: none")
      ->check(real_number(0, 0.9));
  command
      ->add_option("--diversity", arguments->tune.diversity,
                   "how many decisions programs of one batch differ by at least, if there are as "
                   "many such programs")
      ->check(real_number(0, 1e6));
  command->add_option("--tasks", arguments->tasks,
                      "file with one workload, and its weight if it is not 1, per line; the budget "
                      "is that of all");
  command
      ->add_option("--task-early-stopping", arguments->task_early_stopping,
                   "with --tasks: trials of one task without a better one that end it; 0: no limit")
      ->check(whole_number(0, std::uint64_t{1} << 40));
  command->add_option(
      "--strategy", arguments->strategy,
      "whose turn it is with --tasks: gradient, round-robin, or fastest, where the tasks "
      "are ways to compute the same and only the fastest counts");
  command->add_option("--space", arguments->tune.space,
                      "space of programs: " + names_text(space_methods()));
  command->add_option("--cost-model,--model", arguments->tune.cost_model,
                      "cost model; default: the first of draft, mlp and random that fits. " +
                          model_help(known_models()));
  command->add_option("--draft", arguments->tune.draft,
                      "analytic model that chooses what the cost model ranks; default: the "
                      "policy's own. " +
                          model_help(draft_models()));
  command->add_option("--load-model", arguments->model_files.load,
                      "file that --save-model wrote, or index (.json) of released weights, for "
                      "the cost model");
  command->add_option("--save-model", arguments->model_files.save,
                      "file to write the cost model to afterwards; not with --tasks");
  command->add_option("--report", arguments->report,
                      "HTML page to write from the journal afterwards");
  command->add_flag("--resume", arguments->tune.resumes,
                    "go on with the run of the same options that was ended: its trials are taken "
                    "from the journal, not measured again, and its time is spent");
  command->add_flag("--list", arguments->is_list,
                    "print the grammar of workloads, spaces, policies and their parameters");
  command->add_flag("--unverified", arguments->is_unverified,
                    "measure without a reference result, which takes long for large workloads");
  command->add_flag("--quiet", arguments->is_quiet, "no progress");
  command->callback(
      [arguments, &action] { action = [arguments] { return tune_workload(*arguments); }; });
}

}  // namespace tensorsmith::cli
