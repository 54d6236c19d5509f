// SPDX-License-Identifier: Apache-2.0
// tensorsmith dataset: measured programs of many tasks. collect, info, split, train, evaluate.
#include <filesystem>

#include <fmt/format.h>

#include "dataset_networks.hpp"
#include "interrupt.hpp"
#include "model_file.hpp"
#include "tensorsmith/tune/dataset.hpp"
#include "tensorsmith/tune/methods.hpp"
#if defined(TENSORSMITH_HAS_EIGEN)
#include "tensorsmith/cost/program_model.hpp"
#endif

namespace tensorsmith::cli {
namespace {

struct DatasetArguments {
  std::string dataset;  ///< a folder, or an index in one
  std::vector<std::string> networks, lists;
  std::string target = "sim:a100";
  std::string model = "pam";
  ModelFiles model_files;
  CollectOptions collect;
  std::string split = "within";
  double train_share = 0.9;
  std::uint64_t seed = 1;
  std::uint32_t num_epochs = 50;
  int num_threads = 1;
  bool is_json = false, is_quiet = false;
};

std::string index_path(const std::string& folder, const char* name = "index.json") {
  return (std::filesystem::path(folder) / name).string();
}

/// What the folder holds and what the options add.
DatasetIndex index_to_collect(const DatasetArguments& arguments) {
  DatasetIndex index;
  const bool is_known = std::filesystem::exists(index_path(arguments.dataset));
  if (is_known) {
    index = read_dataset_index(arguments.dataset);
    if (index.target != arguments.target || index.num_threads != arguments.num_threads) {
      throw Error(in_quotes(arguments.dataset) + " is of " + index.target + " with " +
                  std::to_string(index.num_threads) +
                  " thread(s); a dataset is of one target, so take another folder");
    }
  }
  index.target = arguments.target;
  index.num_threads = arguments.num_threads;
  const Target target = parse_runnable_target(arguments.target);
  for (const std::string& network : arguments.networks) {
    add_network(index, network_name(network), network_tasks(network, target));
  }
  for (const std::string& list : arguments.lists) {
    add_network(index, network_name(list), listed_tasks(list, target));
  }
  if (index.files.empty()) {
    throw Error("there is nothing to collect: name a --network or --tasks");
  }
  std::filesystem::create_directories(arguments.dataset);
  write_output(index_path(arguments.dataset), dataset_index_text(index));
  return index;
}

int collect(const DatasetArguments& arguments) {
  const DatasetIndex index = index_to_collect(arguments);
  CollectOptions options = arguments.collect;
  options.tune.seed = arguments.seed;
  watch_interrupts();
  options.tune.is_cancelled = is_interrupted;
  options.on_file = [&](std::size_t file, std::int64_t trials) {
    work_has_begun();  // whatever is measured from here on is kept
    if (!arguments.is_quiet) {
      fmt::print(stderr, "task {} of {}, {} known: {:.100}\n", file + 1, index.files.size(), trials,
                 index.files[file].workload);
    }
  };
  const CollectResult result = collect_dataset(index, arguments.dataset, options);
  if (arguments.is_json) {
    print_json({{"dataset", arguments.dataset},
                {"tasks", index.files.size()},
                {"trials", result.trials},
                {"seconds", result.seconds},
                {"tasks_short", result.num_short},
                {"cancelled", result.is_cancelled}});
  } else {
    fmt::print("{} programs of {} tasks in {:.1f} s\n", result.trials, index.files.size(),
               result.seconds);
    if (result.num_short > 0) {
      fmt::print("{} tasks have fewer than their share: the time was over, or the space has no "
                 "more; the same command goes on\n",
                 result.num_short);
    }
  }
  if (!result.message.empty()) {
    warn(result.message);
  }
  return result.trials > 0 ? exit_ok : result.is_cancelled ? exit_of_interrupt() : exit_failed;
}

Shared<CostModel> model_for(const DatasetArguments& arguments, const DatasetIndex& index) {
  return loaded_model(arguments.model, arguments.model_files,
                      {arguments.seed, parse_target(index.target), false});
}

int info(const DatasetArguments& arguments) {
  const DatasetIndex index = read_dataset_index(arguments.dataset);
  const Shared<CostModel> model = model_for(arguments, index);
  const Dataset dataset = read_dataset(index, dataset_folder(arguments.dataset), *model);
  std::size_t num_failed = 0, num_left_out = 0;
  Json files = Json::array();
  for (const MeasuredTask& task : dataset.tasks) {
    num_failed += task.num_failed;
    num_left_out += task.num_left_out;
    files.push_back({{"workload", task.workload},
                     {"programs", task.samples.size()},
                     {"failed", task.num_failed},
                     {"left_out", task.num_left_out},
                     {"best_ns", task.best_ns > 0 ? Json(task.best_ns) : Json(nullptr)}});
  }
  if (arguments.is_json) {
    Json networks = Json::array();
    for (const DatasetNetwork& network : dataset.networks) {
      networks.push_back({{"name", network.name}, {"tasks", network.tasks.size()}});
    }
    print_json({{"target", index.target},
                {"programs", dataset.num_samples()},
                {"failed", num_failed},
                {"left_out", num_left_out},
                {"networks", networks},
                {"tasks", files}});
    return exit_ok;
  }
  for (const Json& file : files) {
    fmt::print("{:>7} programs, {:>5} failed, best {:>10}  {:.90}\n",
               file["programs"].get<std::size_t>(), file["failed"].get<std::size_t>(),
               file["best_ns"].is_null() ? std::string("-")
                                         : duration_text(file["best_ns"].get<double>()),
               file["workload"].get<std::string>());
  }
  for (const DatasetNetwork& network : dataset.networks) {
    fmt::print("network {}: {} tasks\n", network.name, network.tasks.size());
  }
  fmt::print("{} programs of {} tasks on {}, {} failed, {} left out\n", dataset.num_samples(),
             dataset.tasks.size(), index.target, num_failed, num_left_out);
  return exit_ok;
}

int split(const DatasetArguments& arguments) {
  const DatasetIndex index = read_dataset_index(arguments.dataset);
  const std::string folder = dataset_folder(arguments.dataset);
  const std::vector<std::size_t> counts = count_records(index, folder);
  const DatasetSplit parts =
      arguments.split == "within"
          ? split_within_tasks(index, counts, arguments.train_share)
          : split_by_task(index, counts, arguments.train_share, arguments.seed);
  for (const auto& [name, part] :
       {std::pair{"train.json", &parts.train}, std::pair{"test.json", &parts.test}}) {
    const std::string path = index_path(folder, name);
    write_output(path, dataset_index_text(*part));
    std::size_t num_records = 0, num_tasks = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::size_t count = part->files[i].num_records(counts[i]);
      num_records += count;
      num_tasks += count > 0 ? 1 : 0;
    }
    fmt::print("{}: {} records of {} tasks\n", path, num_records, num_tasks);
  }
  return exit_ok;
}

Json quality_json(const DatasetQuality& quality) {
  const MetricsReport& metrics = quality.metrics;
  Json json{{"tasks", metrics.num_tasks},
            {"programs", metrics.num_programs},
            {"rmse", metrics.rmse},
            {"r_squared", metrics.r_squared},
            {"pair_accuracy", metrics.pair_accuracy}};
  for (std::size_t i = 0; i < MetricsReport::tops.size(); ++i) {
    json["recall"][std::to_string(MetricsReport::tops[i])] = metrics.recall[i];
    json["peak"][std::to_string(MetricsReport::tops[i])] = metrics.peak[i];
  }
  json["networks"] = Json::array();
  for (const NetworkQuality& network : quality.networks) {
    json["networks"].push_back({{"name", network.name},
                                {"tasks", network.num_tasks},
                                {"top_1", network.top_1},
                                {"top_5", network.top_5}});
  }
  return json;
}

void print_quality(const DatasetQuality& quality) {
  const MetricsReport& metrics = quality.metrics;
  fmt::print("{} programs of {} tasks: pairs right {:.4f}, RMSE {:.4f}, R2 {:.4f}\n",
             metrics.num_programs, metrics.num_tasks, metrics.pair_accuracy, metrics.rmse,
             metrics.r_squared);
  for (std::size_t i = 0; i < MetricsReport::tops.size(); ++i) {
    fmt::print("best {:>2} by score: peak {:.4f}, recall {:.4f}\n", MetricsReport::tops[i],
               metrics.peak[i], metrics.recall[i]);
  }
  for (const NetworkQuality& network : quality.networks) {
    fmt::print("network {}, {} tasks: top-1 {:.4f}, top-5 {:.4f}\n", network.name,
               network.num_tasks, network.top_1, network.top_5);
  }
}

void print_or_dump(const DatasetArguments& arguments, const DatasetQuality& quality) {
  if (arguments.is_json) {
    print_json(quality_json(quality));
  } else {
    print_quality(quality);
  }
}

/// A model that may look at all samples as often as its epochs say.
Shared<CostModel> learner(const DatasetArguments& arguments, const DatasetIndex& index) {
#if defined(TENSORSMITH_HAS_EIGEN)
  if (arguments.model_files.load.empty() &&
      (arguments.model == "pam" || arguments.model == "tenset-mlp")) {
    ProgramModelOptions options =
        arguments.model == "pam" ? ProgramModelOptions::pam() : ProgramModelOptions::tenset_mlp();
    options.seed = arguments.seed;
    options.num_epochs = arguments.num_epochs;
    options.max_visits = 0;
    options.max_samples = UINT32_MAX;
    return make_shared_of<ProgramModel>(options);
  }
#endif
  return model_for(arguments, index);
}

int train(const DatasetArguments& arguments) {
  const DatasetIndex index = read_dataset_index(arguments.dataset);
  const Shared<CostModel> model = learner(arguments, index);
  const Dataset dataset = read_dataset(index, dataset_folder(arguments.dataset), *model);
  if (dataset.num_samples() == 0) {
    throw Error(in_quotes(arguments.dataset) + " holds no measured program");
  }
  model->update(dataset.samples());
  save_model(*model, arguments.model_files.save);
  print_or_dump(arguments, dataset_quality(*model, dataset));
  return exit_ok;
}

int evaluate(const DatasetArguments& arguments) {
  const DatasetIndex index = read_dataset_index(arguments.dataset);
  const Shared<CostModel> model = model_for(arguments, index);
  const Dataset dataset = read_dataset(index, dataset_folder(arguments.dataset), *model);
  const DatasetQuality quality = dataset_quality(*model, dataset);
  if (quality.metrics.num_programs == 0) {
    throw Error(in_quotes(arguments.dataset) + " holds no program that ran");
  }
  print_or_dump(arguments, quality);
  return exit_ok;
}

CLI::App* add_part(CLI::App& parent, Action& action, const char* name, const char* about,
                   const std::shared_ptr<DatasetArguments>& arguments,
                   int (*run)(const DatasetArguments&)) {
  CLI::App* command = parent.add_subcommand(name, about);
  command->add_option("dataset", arguments->dataset, "folder of the dataset, or an index in one")
      ->required();
  command->add_flag("--json", arguments->is_json, "machine-readable output");
  command->add_option("--seed", arguments->seed, "of every random choice")
      ->check(whole_number(0, UINT64_MAX));
  command->callback(
      [arguments, &action, run] { action = [arguments, run] { return run(*arguments); }; });
  return command;
}

void add_model_options(CLI::App* command, const std::shared_ptr<DatasetArguments>& arguments,
                       bool is_needed) {
  command->add_option("--cost-model", arguments->model,
                      "whose features are read: " + model_names(known_models()));
  CLI::Option* load = command->add_option("--load-model", arguments->model_files.load,
                                          "file of a trained model, or released weights (.json)");
  if (is_needed) {
    load->required();
  }
}

void add_collect(CLI::App& dataset, Action& action) {
  const auto arguments = std::make_shared<DatasetArguments>();
  TuneOptions& tune = arguments->collect.tune;
  CLI::App* command =
      add_part(dataset, action, "collect",
               "Measure programs of all tasks of networks. A call that was ended, however that "
               "was, goes on when it is repeated",
               arguments, collect);
  command
      ->add_option("--network", arguments->networks,
                   "ONNX file, example:NAME, or description of a network of the reference (.json, "
                   ".json.gz); may be repeated")
      ->take_all();
  command
      ->add_option("--tasks", arguments->lists,
                   "file with a workload and its weight per line; may be repeated")
      ->take_all();
  command->add_option("--target", arguments->target, "as for tune; default sim:a100");
  command->add_option("--trials", arguments->collect.trials, "of all tasks together; default 1000")
      ->check(whole_number(1, std::uint64_t{1} << 40));
  command
      ->add_option("--seconds", arguments->collect.seconds,
                   "of this call; default: as long as it takes")
      ->check(real_number(0.1, 1e7));
  command->add_option("--threads", arguments->num_threads, "of the kernels")
      ->check(whole_number(1, 1024));
  command->add_option("--space", tune.space, "what is searched: " + names_text(space_methods()));
  command->add_option("--policy", tune.policy,
                      "how programs are drawn: " + names_text(policy_methods()));
  command->add_option("--cost-model", tune.cost_model,
                      "that the policy has: " + model_names(known_models()));
  command->add_flag("--quiet", arguments->is_quiet, "no progress");
}

}  // namespace

void add_dataset(CLI::App& app, Action& action) {
  CLI::App* dataset = app.add_subcommand(
      "dataset", "Measured programs of many tasks, to train cost models on.\n"
                 "Example: tensorsmith dataset collect data --network example:resnet50");
  dataset->require_subcommand(1);
  add_collect(*dataset, action);
  auto arguments = std::make_shared<DatasetArguments>();
  add_model_options(
      add_part(*dataset, action, "info", "Tasks, programs, failures, best times", arguments, info),
      arguments, false);
  arguments = std::make_shared<DatasetArguments>();
  CLI::App* command =
      add_part(*dataset, action, "split",
               "Write train.json and test.json, indices over parts of it", arguments, split);
  command->add_option("--by", arguments->split, "within (of each task the earliest), or task")
      ->check(CLI::IsMember({"within", "task"}));
  command->add_option("--train", arguments->train_share, "share of the records; default 0.9")
      ->check(real_number(0.01, 0.99));
  arguments = std::make_shared<DatasetArguments>();
  command = add_part(*dataset, action, "train", "Train a cost model and save it", arguments, train);
  add_model_options(command, arguments, false);
  command->add_option("--save-model", arguments->model_files.save, "file to write")->required();
  command->add_option("--epochs", arguments->num_epochs, "of pam and tenset-mlp; default 50")
      ->check(whole_number(1, 100000));
  arguments = std::make_shared<DatasetArguments>();
  add_model_options(add_part(*dataset, action, "evaluate",
                             "How well a trained cost model orders the programs", arguments,
                             evaluate),
                    arguments, true);
}

}  // namespace tensorsmith::cli
