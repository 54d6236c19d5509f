// tensorsmith records show|best|convert|merge: logs of the Ansor reference, and journals.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "command.hpp"
#include "tensorsmith/record/ansor_history.hpp"
#include "tensorsmith/record/convert.hpp"

namespace tensorsmith::cli {
namespace {

struct RecordsArguments {
  std::vector<std::string> files;
  std::string key, target, output, format = "v0.6";
  std::uint64_t count = 10;
  bool takes_compatible = false, only_best = false, overwrites = false, is_json = false;
};

void report_skipped(const std::string& path, const std::vector<SkippedLine>& skipped) {
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < skipped.size() && i < most; ++i) {
    warn(fmt::format("\"{}\", line {}: {}; skipped", path, skipped[i].number, skipped[i].reason));
  }
  if (skipped.size() > most) {
    warn(fmt::format("\"{}\": {} more lines skipped", path, skipped.size() - most));
  }
}

/// A log of the reference, or a journal.
std::vector<AnsorRecord> load_records(const std::string& path) {
  Result<AnsorLog, RecordError> log = read_ansor_log(path);
  if (log) {
    report_skipped(path, log->skipped);
    return std::move(log).value().records;
  }
  const Result<JournalContents, RecordError> journal = read_journal(path);
  if (!journal) {
    throw Error(log.error().message);
  }
  report_skipped(path, journal->skipped);
  std::vector<AnsorRecord> records;
  for (const Record& record : journal->records) {
    records.push_back(record_to_ansor(record));
  }
  return records;
}

std::vector<AnsorRecord> load_all(const RecordsArguments& arguments) {
  if (arguments.files.empty()) {
    throw Error("name a file of records");
  }
  std::vector<AnsorRecord> all;
  for (const std::string& path : arguments.files) {
    for (AnsorRecord& record : load_records(path)) {
      all.push_back(std::move(record));
    }
  }
  return all;
}

Json json_of(const AnsorRecord& record) {
  Json json;
  json["workload"] = record.workload_key;
  json["target"] = record.target;
  json["error"] = record.error;
  json["seconds"] = record.mean_cost();
  json["num_steps"] = record.steps.size();
  json["steps"] = Json::parse(steps_to_text(record.steps));
  return json;
}

int show(const RecordsArguments& arguments) {
  const std::vector<AnsorRecord> all = load_all(arguments);
  const std::vector<AnsorRecord> top = top_records(all, arguments.count);
  std::size_t num_failed = 0;
  for (const AnsorRecord& record : all) {
    num_failed += record.is_ok() ? 0 : 1;
  }
  if (arguments.is_json) {
    Json json;
    json["num_records"] = all.size();
    json["num_failed"] = num_failed;
    json["top"] = Json::array();
    for (const AnsorRecord& record : top) {
      json["top"].push_back(json_of(record));
    }
    print_json(json);
    return exit_ok;
  }
  fmt::print("{} records, {} of them failed\n", all.size(), num_failed);
  std::string last;
  for (const AnsorRecord& record : top) {
    if (const std::string head = record.workload_key + "\n" + record.target; head != last) {
      fmt::print("{}\n  {}\n", one_line(record.workload_key), one_line(record.target));
      last = head;
    }
    fmt::print("    {:>10}  {} steps\n", duration_text(record.mean_cost() * 1e9),
               record.steps.size());
  }
  return exit_ok;
}

int best(const RecordsArguments& arguments) {
  if (arguments.key.empty()) {
    throw Error("--key names the workload, e.g. --key '[\"matmul\", 512, 512, 512]'; "
                "tensorsmith records show lists those of a file");
  }
  const std::vector<AnsorRecord> all = load_all(arguments);
  const AnsorRecord* found =
      arguments.target.empty()
          ? best_ansor_record(all, arguments.key, {}, arguments.takes_compatible)
          : AnsorHistory(all).find(arguments.key, arguments.target, arguments.takes_compatible);
  if (found == nullptr) {
    warn("no successful record of " + arguments.key +
         (arguments.target.empty() ? "" : " for target " + arguments.target));
    return exit_failed;
  }
  if (arguments.is_json) {
    print_json(json_of(*found));
    return exit_ok;
  }
  const Result<std::string, RecordError> line = ansor_record_to_line(*found);
  fmt::print("{}\n", line ? *line : record_to_line(record_from_ansor(*found)));
  return exit_ok;
}

/// Writes all at once, so that what was there stays if a record cannot be written.
int write_records(const RecordsArguments& arguments, const std::vector<AnsorRecord>& records) {
  if (arguments.output.empty()) {
    throw Error("--output names the file to write");
  }
  if (!arguments.overwrites && std::filesystem::exists(arguments.output)) {
    throw Error("\"" + arguments.output + "\" exists; --force replaces it");
  }
  std::string text;
  std::size_t written = 0, left_out = 0;
  for (const AnsorRecord& record : records) {
    if (arguments.format == "journal") {
      text += record_to_line(record_from_ansor(record)) + '\n';
      ++written;
      continue;
    }
    const Result<std::string, RecordError> line = ansor_record_to_line(record);
    if (!line) {
      warn("left out: " + line.error().message);
      ++left_out;
      continue;
    }
    text += *line + '\n';
    ++written;
  }
  std::ofstream out(arguments.output, std::ios::binary);
  if (!(out << text) || !out.flush()) {
    throw Error("cannot write \"" + arguments.output + "\"");
  }
  if (arguments.is_json) {
    Json json;
    json["file"] = arguments.output;
    json["num_records"] = written;
    json["num_left_out"] = left_out;
    print_json(json);
  } else {
    fmt::print("{}: {} records\n", arguments.output, written);
  }
  return written > 0 ? exit_ok : exit_failed;
}

int convert(const RecordsArguments& arguments) {
  if (arguments.format != "v0.6" && arguments.format != "journal") {
    throw Error("--to is v0.6 or journal, is \"" + arguments.format + "\"");
  }
  return write_records(arguments, load_all(arguments));
}

int merge(const RecordsArguments& arguments) {
  std::vector<std::vector<AnsorRecord>> logs;
  for (const std::string& path : arguments.files) {
    logs.push_back(load_records(path));
  }
  const std::vector<AnsorRecord> merged = merge_logs(logs);
  return write_records(arguments, arguments.only_best ? distil(merged) : merged);
}

}  // namespace

void add_records(CLI::App& app, Action& action) {
  CLI::App* group = app.add_subcommand(
      "records", "Look into logs of tuning runs (format v0.2 to v0.6, or journals).\n"
                 "Example: tensorsmith records best log.json --key '[\"matmul\", 512, 512, 512]'");
  group->require_subcommand(1);
  auto arguments = std::make_shared<RecordsArguments>();
  const auto add = [&](const char* name, const char* help, int (*run)(const RecordsArguments&)) {
    CLI::App* command = group->add_subcommand(name, help);
    command->add_option("files", arguments->files, "files of records")->delimiter('\0');
    command->add_flag("--json", arguments->is_json, "one JSON object on standard output");
    command->callback(
        [arguments, &action, run] { action = [arguments, run] { return run(*arguments); }; });
    return command;
  };
  add("show", "How many records there are, and the fastest of every workload.", &show)
      ->add_option("--top", arguments->count, "how many of every workload")
      ->check(whole_number(1, 1'000'000));
  CLI::App* best_command = add("best", "The fastest successful record of a workload.", &best);
  best_command->add_option("--key", arguments->key, "the workload's key");
  best_command->add_option("--target", arguments->target,
                           "only records that serve this target, e.g. \"llvm -keys=cpu\"");
  best_command->add_flag("--compatible", arguments->takes_compatible,
                         "records of smaller workloads that divide it count too");
  const auto add_output = [&](CLI::App* command) {
    command->add_option("--output", arguments->output, "file to write");
    command->add_flag("--force", arguments->overwrites, "replace a file that exists");
  };
  CLI::App* convert_command = add("convert", "Write records in another format.", &convert);
  convert_command->add_option("--to", arguments->format, "v0.6 or journal");
  add_output(convert_command);
  CLI::App* merge_command =
      add("merge", "Several logs as one; of equal programs only the fastest.", &merge);
  merge_command->add_flag("--best", arguments->only_best, "only the best record of every workload");
  add_output(merge_command);
}

}  // namespace tensorsmith::cli
