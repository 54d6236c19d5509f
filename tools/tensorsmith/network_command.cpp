// SPDX-License-Identifier: Apache-2.0
// tensorsmith network: whole networks. inspect, tasks, tune, run, profile, and what has files of
// its own: bench, bisect, export.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "interrupt.hpp"
#include "network.hpp"
#include "network_callable.hpp"
#include "progress.hpp"
#include "tensorsmith/graph/memory_plan.hpp"

namespace tensorsmith::cli {
namespace {

std::int64_t constant_bytes(const graph::Graph& net) {
  std::int64_t bytes = 0;
  for (const graph::Value& value : net.values) {
    bytes += value.is_constant ? static_cast<std::int64_t>(value.constant.bytes.size()) : 0;
  }
  return bytes;
}
/// Tasks that differ in sizes alone: how many, and what people call them; the most frequent first.
std::vector<std::pair<int, std::string>> task_kinds(const graph::Partition& parts) {
  std::vector<std::string> known;
  std::vector<std::pair<int, std::string>> kinds;
  for (const graph::NetworkTask& task : parts.tasks) {
    const auto found = std::find(known.begin(), known.end(), task.kind);
    const auto place = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(task.kind);
      kinds.emplace_back(0, task.title);
    }
    ++kinds[place].first;
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  return kinds;
}
std::string kinds_text(const graph::Partition& parts) {
  const auto kinds = task_kinds(parts);
  std::string text = fmt::format("{} tasks of {} kinds:", parts.tasks.size(), kinds.size());
  for (const auto& [count, title] : kinds) {
    text += fmt::format("{} {} {}", text.back() == ':' ? "" : ",", count, title);
  }
  return text;
}
double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576; }

int inspect(const NetworkArguments& arguments) {
  const Loaded loaded = load(arguments);
  const graph::MemoryPlan plan = graph::plan_memory(loaded.net, loaded.parts);
  std::map<std::string, int> operators;
  for (const graph::Node& node : loaded.net.nodes) {
    ++operators[node.op];
  }
  const auto values = [&](const std::vector<graph::ValueId>& ids) {
    Json list = Json::array();
    for (const graph::ValueId id : ids) {
      const graph::Value& value = loaded.net.value(id);
      list.push_back({{"name", value.name},
                      {"type", std::string(name_of(value.dtype))},
                      {"shape", value.shape}});
    }
    return list;
  };
  if (arguments.is_json) {
    print_json({{"network", arguments.network},
                {"inputs", values(loaded.net.inputs)},
                {"outputs", values(loaded.net.outputs)},
                {"nodes_read", loaded.num_read},
                {"nodes", loaded.net.nodes.size()},
                {"operators", operators},
                {"groups", loaded.parts.groups.size()},
                {"tasks", loaded.parts.tasks.size()},
                {"kinds", task_kinds(loaded.parts).size()},
                {"windows", loaded.layouts.windows.size()},
                {"windows_channels_last", loaded.layouts.num_last},
                {"gflop", total_flop(loaded.parts) * 1e-9},
                {"constant_bytes", constant_bytes(loaded.net)},
                {"arena_bytes", plan.arena_bytes},
                {"arena_bytes_unshared", plan.sum_bytes}});
    return exit_ok;
  }
  for (const auto& [what, ids] :
       {std::pair{"input", &loaded.net.inputs}, std::pair{"output", &loaded.net.outputs}}) {
    for (const graph::ValueId id : *ids) {
      const graph::Value& value = loaded.net.value(id);
      fmt::print("{} {}: {} {}\n", what, in_quotes(value.name), name_of(value.dtype),
                 graph::shape_text(value.shape));
    }
  }
  fmt::print("{} nodes, {} after folding and patterns, in {} kernels; {}\n", loaded.num_read,
             loaded.net.nodes.size(), loaded.parts.groups.size(), kinds_text(loaded.parts));
  for (const auto& [op, count] : operators) {
    fmt::print("  {} {}\n", op, count);
  }
  if (!loaded.layouts.windows.empty()) {
    fmt::print("{} of {} convolutions and pools with channels last\n", loaded.layouts.num_last,
               loaded.layouts.windows.size());
  }
  fmt::print("{:.3f} GFLOP, {:.1f} MiB of constants, {:.1f} MiB between kernels ({:.1f} MiB if "
             "none was shared)\n",
             total_flop(loaded.parts) * 1e-9, mebibytes(constant_bytes(loaded.net)),
             mebibytes(plan.arena_bytes), mebibytes(plan.sum_bytes));
  return exit_ok;
}

int print_tasks(const NetworkArguments& arguments) {
  const Loaded loaded = load(arguments);
  Json list = Json::array();
  for (const graph::NetworkTask& task : loaded.parts.tasks) {
    if (arguments.is_json) {
      list.push_back({{"title", task.title},
                      {"kind", task.kind},
                      {"weight", task.weight},
                      {"flop", task.flop},
                      {"workload", task.text}});
    } else {
      fmt::print("# {}, {:.3f} GFLOP\n{} {}\n", task.title, task.flop * 1e-9, task.text,
                 task.weight);
    }
  }
  if (arguments.is_json) {
    print_json(list);
  } else {
    fmt::print("# {}\n", kinds_text(loaded.parts));
  }
  return exit_ok;
}

int run_network(const NetworkArguments& arguments) {
  Callable made = callable(arguments);
  double best = 0;
  const double begin = now_seconds();
  for (int call = 0; call < 3 || now_seconds() - begin < 1; ++call) {
    const double start = now_seconds();
    made.network->call(made.operands);
    const double seconds = now_seconds() - start;
    best = call == 0 ? seconds : std::min(best, seconds);
  }
  const double flop = total_flop(made.loaded.parts);
  const double apart = arguments.is_verified ? difference_to_interpreter(made) : 0;
  const bool is_right = !arguments.is_verified || (apart >= 0 && apart < 1e-3);
  if (arguments.is_json) {
    Json json = {{"network", arguments.network},
                 {"threads", arguments.num_threads},
                 {"ns", best * 1e9},
                 {"gflops", flop / best * 1e-9},
                 {"tasks", made.loaded.parts.tasks.size()},
                 {"recorded", made.num_recorded},
                 {"prepare_seconds", made.prepare_seconds},
                 {"arena_bytes", made.network->arena_bytes()},
                 {"packed_bytes", made.network->packed_bytes()}};
    if (arguments.is_verified) {
      json["difference"] = apart;
    }
    print_json(json);
  } else {
    fmt::print("{}: {}, {:.1f} GFLOP/s; {} of {} tasks from the journal; callable after {:.2f} s\n",
               arguments.network, duration_text(best * 1e9), flop / best * 1e-9, made.num_recorded,
               made.loaded.parts.tasks.size(), made.prepare_seconds);
    if (arguments.is_verified) {
      fmt::print("largest difference to the interpreter: {:.2e} of the largest result\n", apart);
    }
  }
  if (!is_right) {
    warn("the network does not compute what the interpreter does");
  }
  return is_right ? exit_ok : exit_failed;
}

int tune_network(const NetworkArguments& arguments) {
  if (arguments.trials == 0) {  // what is known, and else what the analytic model puts first
    if (arguments.seconds) {
      throw Error("--trials 0 measures nothing, so there is nothing to spend --seconds on");
    }
    return run_network(arguments);
  }
  const Loaded loaded = load(arguments);
  TasksOptions options;
  options.tune = tune_options(arguments);
  options.tune.budget.seconds = arguments.seconds.value_or(arguments.trials ? 0 : 60);
  options.tune.budget.trials = arguments.trials.value_or(0);
  options.tune.database = journal_of(arguments);
  watch_interrupts();
  options.tune.is_cancelled = is_interrupted;
  ProgressPrinter printer(arguments.is_quiet);
  std::size_t current = SIZE_MAX;
  options.before_round = [&](const TasksProgress& progress) {
    work_has_begun();
    if (!arguments.is_quiet && progress.task != current) {
      printer.finish();
      fmt::print(stderr, "[{:6.1f} s] task {} of {}: {}\n", progress.seconds, progress.task + 1,
                 loaded.parts.tasks.size(), loaded.parts.tasks[progress.task].title);
    }
    current = progress.task;
  };
  options.tune.on_progress = [&printer](const TuneProgress& progress) { printer(progress); };
  const graph::TunedKernels tuned = graph::tuned_kernels(loaded.parts, options);
  printer.finish();
  std::size_t found = 0;
  for (std::size_t i = 0; i < loaded.parts.tasks.size(); ++i) {
    const TuneResult& result = tuned.result.tasks[i];
    found += result.has_best() ? 1 : 0;
    if (!arguments.is_json) {
      const graph::NetworkTask& task = loaded.parts.tasks[i];
      fmt::print("{:<44} {:>3.0f} x {:>10}  {:8.1f} GFLOP/s  {} trials\n", task.title, task.weight,
                 result.has_best() ? duration_text(result.summary.best_ns) : "no time",
                 result.summary.gflops, result.summary.trials);
    }
  }
  if (arguments.is_json) {
    print_json({{"network", arguments.network},
                {"tasks", loaded.parts.tasks.size()},
                {"tuned", found},
                {"trials", tuned.result.trials},
                {"seconds", tuned.result.seconds},
                {"weighted_ns", tuned.result.weighted_ns},
                {"journal", options.tune.database}});
  } else {
    fmt::print("{} of {} tasks tuned, sum of kernels {}, {} trials in {:.1f} s\njournal: {}\n",
               found, loaded.parts.tasks.size(), duration_text(tuned.result.weighted_ns),
               tuned.result.trials, tuned.result.seconds, options.tune.database);
  }
  if (!tuned.result.message.empty()) {
    warn(tuned.result.message);
  }
  return found > 0 ? exit_ok : is_interrupted() ? exit_of_interrupt() : exit_failed;
}

int profile_network(const NetworkArguments& arguments) {
  Callable made = callable(arguments);
  made.network->call(made.operands);
  std::vector<graph::GroupProfile> profile = made.network->profile(made.operands, 10);
  double sum = 0;
  for (const graph::GroupProfile& each : profile) {
    sum += each.median_ns;
  }
  Json list = Json::array();
  for (const graph::GroupProfile& each : profile) {
    const graph::Group& group = made.loaded.parts.groups[each.group];
    const graph::NetworkTask& task = made.loaded.parts.tasks[group.task];
    const std::string node = graph::describe_node(made.loaded.net, group.nodes.back());
    if (arguments.is_json) {
      list.push_back({{"operators", task.title},
                      {"last", node},
                      {"ns", each.median_ns},
                      {"best_ns", each.best_ns},
                      {"gflops", task.flop / each.median_ns},
                      {"share", each.median_ns / sum}});
    } else {
      fmt::print("{:>10}  {:>6}  {:8.1f} GFLOP/s  {}  {}\n", duration_text(each.median_ns),
                 percent_text(each.median_ns / sum), task.flop / each.median_ns, task.title, node);
    }
  }
  if (arguments.is_json) {
    print_json(list);
  } else {
    fmt::print("{:>10}  all {} kernels\n", duration_text(sum), profile.size());
  }
  return exit_ok;
}

CLI::App* add_command(CLI::App& network, Action& action, const char* name, const char* about,
                      int (*run)(const NetworkArguments&)) {
  auto arguments = std::make_shared<NetworkArguments>();
  CLI::App* command = network.add_subcommand(name, about);
  command
      ->add_option("network", arguments->network,
                   "ONNX file, or example:NAME (cnn, encoder, "
                   "resnet50, mobilenet_v2, bert_layer, dcgan)")
      ->required();
  command->add_option("--dim", arguments->dims, "NAME=SIZE of an open extent; may be repeated")
      ->take_all();
  command
      ->add_option("--input", arguments->inputs,
                   "NAME=VALUE of an input that is constant; may be repeated")
      ->take_all();
  command
      ->add_option("--layout", arguments->layout,
                   "of planes: agreed (channels last where that is estimated to be faster), given, "
                   "or last (wherever it can be); default agreed, with --against given")
      ->check(CLI::IsMember({"agreed", "given", "last"}));
  command->add_flag("--json", arguments->is_json, "machine-readable output");
  const std::string kind = name;
  const bool is_called =
      kind == "run" || kind == "profile" || kind == "bench" || kind == "bisect" || kind == "report";
  if (kind == "tune" || is_called || kind == "export") {
    command->add_option("--db", arguments->database, "journal; default: one in the cache folder");
    command->add_option("--threads", arguments->num_threads, "of the kernels")
        ->check(whole_number(1, 1024));
    command->add_option("--seed", arguments->seed, "of the search, or of random inputs")
        ->check(whole_number(0, UINT64_MAX));
  }
  if (kind == "tune") {
    command
        ->add_option("--seconds", arguments->seconds,
                     "budget of all tasks together; default 60 unless --trials is given")
        ->check(real_number(0.1, 1e7));
    command
        ->add_option("--trials", arguments->trials,
                     "most candidates to measure for all tasks together; 0: the best ones of the "
                     "analytic model, at once")
        ->check(whole_number(0, std::uint64_t{1} << 40));
    command->add_flag("--quiet", arguments->is_quiet, "no progress");
  } else if (is_called || kind == "export") {
    command->add_flag("--plain", arguments->is_plain,
                      "what is not in the journal runs without any schedule");
  }
  if (kind == "export") {
    command->add_option("--output", arguments->folder, "folder for the files")->required();
    command->add_option("--name", arguments->name,
                        "of the files and of the namespace; default net");
    command->add_flag("--force", arguments->overwrites, "replace files that exist");
    command->add_flag("--portable", arguments->is_portable, "C++ only, without the machine code");
  }
  if (kind == "bench") {
    command->add_option("--rounds", arguments->rounds, "calls to time; default 30")
        ->check(whole_number(1, 1000000));
    command->add_option("--seconds", arguments->seconds, "most time for them; default 10")
        ->check(real_number(0.01, 1e7));
    command->add_flag("--race-plain", arguments->races_plain,
                      "in turns with the network as it is written, even if that takes long");
  }
  if (kind == "report") {
    command->add_option("--output", arguments->output, "file to write; default network.html");
  }
  if (kind == "bisect") {
    command->add_option("--against", arguments->against,
                        "ONNX file whose initializers are recorded values: inputs, and what nodes "
                        "gave for them");
    command->add_flag("--quiet", arguments->is_quiet, "no progress");
  }
  if (kind == "run") {
    command->add_flag("--verify", arguments->is_verified,
                      "compare with the interpreter, which takes long for large networks");
  }
  command->callback(
      [arguments, &action, run] { action = [arguments, run] { return run(*arguments); }; });
  return command;
}

}  // namespace

void add_network(CLI::App& app, Action& action) {
  CLI::App* network =
      app.add_subcommand("network", "Whole networks: what is in them, their tasks, "
                                    "tuning all of these, running them.\n"
                                    "Example: tensorsmith network tune example:cnn");
  network->require_subcommand(1);
  add_command(*network, action, "inspect", "Inputs, operators, kernels, memory", inspect);
  add_command(*network, action, "tasks",
              "The tasks, each with its weight, as tune --tasks reads them", print_tasks);
  add_command(*network, action, "tune", "Tune all tasks under one budget", tune_network);
  add_command(*network, action, "run", "Run with the best kernels known so far", run_network);
  add_command(*network, action, "profile", "Time of every kernel in the network", profile_network);
  add_command(*network, action, "bench",
              "Time of the whole and of every kernel, in turns with the network as it is written",
              bench_network);
  add_command(*network, action, "report",
              "Kernels, tasks and the course of tuning as one HTML page", report_network);
  add_command(*network, action, "bisect",
              "The first kernel that does not compute what its nodes say", bisect_network);
  add_command(
      *network, action, "export",
      "Write it as C++ and weights that need nothing else, with the best kernels known so far",
      export_whole_network);
}

}  // namespace tensorsmith::cli
