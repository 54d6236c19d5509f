// SPDX-License-Identifier: Apache-2.0
// tensorsmith records show|best|convert|merge: logs of the Ansor reference, and journals.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "command.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/ansor_history.hpp"
#include "tensorsmith/record/convert.hpp"
#include "tensorsmith/record/record_file.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith::cli {
namespace {

struct RecordsArguments {
  std::vector<std::string> files;
  std::string key, target, output, format;  // empty: of the files
  std::uint64_t count = 10;
  bool takes_compatible = false, only_best = false, overwrites = false, is_json = false;
};

constexpr std::size_t longest_shown = 1000;  // bytes of a key

void report_skipped(const std::string& path, const std::vector<SkippedLine>& skipped) {
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < skipped.size() && i < most; ++i) {
    warn(fmt::format("{}, line {}: {}; skipped", in_quotes(path), skipped[i].number,
                     skipped[i].reason));
  }
  if (skipped.size() > most) {
    warn(fmt::format("{}: {} more lines skipped", in_quotes(path), skipped.size() - most));
  }
}

RecordFile load_file(const std::string& path) {
  Result<RecordFile, RecordError> file = read_record_file(path);
  if (!file) {
    throw Error(file.error().message);
  }
  report_skipped(path, file->skipped);
  return std::move(file).value();
}

/// All files, one behind the other.
RecordFile load_all(const RecordsArguments& arguments) {
  if (arguments.files.empty()) {
    throw Error("name a file of records");
  }
  RecordFile all;
  for (const std::string& path : arguments.files) {
    RecordFile file = load_file(path);
    for (Winner& winner : file.winners) {
      winner.num_before += all.lines.size();
      all.winners.push_back(std::move(winner));
    }
    for (RecordLine& line : file.lines) {
      all.lines.push_back(std::move(line));
    }
  }
  return all;
}

std::vector<AnsorRecord> log_records(const RecordFile& file) {
  std::vector<AnsorRecord> records;
  for (const RecordLine& line : file.lines) {
    records.push_back(line.ansor);
  }
  return records;
}

Json json_of(const AnsorRecord& record) {
  Json json;
  json["workload"] = record.workload_key;
  json["target"] = record.target;
  if (record.hardware) {
    json["cores"] = (*record.hardware)[0];
  }
  json["error"] = record.error;
  json["seconds"] = record.mean_cost();
  json["num_steps"] = record.steps.size();
  json["steps"] = Json::parse(steps_to_text(record.steps));
  return json;
}

int show(const RecordsArguments& arguments) {
  const std::vector<AnsorRecord> all = log_records(load_all(arguments));
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
    if (const std::string head = task_name(record); head != last) {
      const std::int64_t cores = record.hardware ? (*record.hardware)[0] : -1;
      fmt::print("{}\n  {}{}\n", one_line(record.workload_key, longest_shown),
                 one_line(record.target, longest_shown),
                 cores < 1    ? std::string()
                 : cores == 1 ? ", 1 core"
                              : fmt::format(", {} cores", cores));
      last = head;
    }
    fmt::print("    {:>10}  {} steps\n", duration_text(record.mean_cost() * 1e9),
               record.steps.size());
  }
  return exit_ok;
}

/// What --key takes for that record.
std::string name_of(const RecordLine& line) {
  return line.journal && !line.journal->workload.empty() ? line.journal->workload
                                                         : line.ansor.workload_key;
}

/// Times of other processors, or estimates, were compared with this record's.
void warn_of_other_targets(const std::vector<AnsorRecord>& all, const AnsorRecord& found,
                           bool takes_compatible) {
  std::vector<std::string> others;
  const DecodedKey key = decode_workload_key(found.workload_key);
  for (const AnsorRecord& record : all) {
    const bool is_same =
        takes_compatible || workload_distance(key, decode_workload_key(record.workload_key)) == 1;
    if (is_same && record.is_measured() && record.target != found.target &&
        std::find(others.begin(), others.end(), record.target) == others.end()) {
      others.push_back(record.target);
    }
  }
  if (!others.empty()) {
    warn(fmt::format("this record is of target {}; there {} of {}, which --target asks for",
                     in_quotes(found.target), others.size() == 1 ? "is one" : "are some",
                     others.size() == 1 ? in_quotes(others[0])
                                        : fmt::format("{} other targets", others.size())));
  }
}

/// The keys that a workload string may have in the files, or the key itself; nothing said: that of
/// all records. Throws Error if they are of several.
std::vector<std::string> wanted_keys(const RecordFile& file, const std::string& wanted) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(key);
    }
  };
  if (wanted.empty()) {
    for (const RecordLine& line : file.lines) {
      add(line.ansor.workload_key);
    }
    if (keys.size() > 1) {
      throw Error(fmt::format("the records are of {} workloads; --key names one of them, by its "
                              "workload string or key, e.g. --key '{}'",
                              keys.size(), one_line(name_of(file.lines.front()), 200)));
    }
    return keys;
  }
  add(wanted);
  std::string name = wanted;
  if (const auto workload = ops::parse_workload(wanted)) {
    name = workload->name;
    add(te::workload_key(*workload->dag));
  }
  for (const RecordLine& line : file.lines) {
    if (line.journal && line.journal->workload == name) {
      add(line.ansor.workload_key);
    }
  }
  return keys;
}

int best(const RecordsArguments& arguments) {
  const RecordFile file = load_all(arguments);
  const std::vector<AnsorRecord> all = log_records(file);
  const std::vector<std::string> keys = wanted_keys(file, arguments.key);
  const AnsorRecord* found = nullptr;
  for (std::size_t i = 0; i < keys.size() && found == nullptr; ++i) {
    found = arguments.target.empty()
                ? best_ansor_record(all, keys[i], {}, arguments.takes_compatible)
                : AnsorHistory(all).find(keys[i], arguments.target, arguments.takes_compatible);
  }
  if (found == nullptr) {
    warn("no successful record of " +
         (arguments.key.empty() ? "the workload" : one_line(arguments.key, 200)) +
         (arguments.target.empty() ? "" : " for target " + one_line(arguments.target, 200)));
    return exit_failed;
  }
  if (arguments.target.empty()) {
    warn_of_other_targets(all, *found, arguments.takes_compatible);
  }
  if (arguments.is_json) {
    print_json(json_of(*found));
    return exit_ok;
  }
  const Result<std::string, RecordError> line = ansor_record_to_line(*found);
  fmt::print("{}\n", line ? *line : record_to_line(record_from_ansor(*found)));
  return exit_ok;
}

/// What could not be written, by reason.
class LeftOut {
 public:
  void add(const std::string& reason) {
    const auto known = std::find_if(reasons_.begin(), reasons_.end(),
                                    [&](const auto& one) { return one.first == reason; });
    ++total_;
    if (known != reasons_.end()) {
      ++known->second;
    } else {
      reasons_.emplace_back(reason, 1);
    }
  }
  std::size_t total() const { return total_; }
  /// One sentence per reason, of those that are most frequent.
  void report(std::size_t of) const {
    constexpr std::size_t most = 5;
    auto sorted = reasons_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::size_t told = 0;
    for (std::size_t i = 0; i < sorted.size() && i < most; ++i) {
      warn(fmt::format("left out {} of {} records: {}", sorted[i].second, of, sorted[i].first));
      told += sorted[i].second;
    }
    if (told < total_) {
      warn(fmt::format("left out {} more for {} other reasons", total_ - told,
                       sorted.size() - most));
    }
  }

 private:
  std::vector<std::pair<std::string, std::size_t>> reasons_;
  std::size_t total_ = 0;
};

/// "step 12 "FOO" is ..." --> "step "FOO" is ...", which many records share.
std::string without_number(std::string reason) {
  constexpr std::string_view start = "step ";
  if (reason.starts_with(start)) {
    const std::size_t end = reason.find_first_not_of("0123456789", start.size());
    reason.erase(start.size(),
                 end == std::string::npos || reason[end] != ' ' ? 0 : end + 1 - start.size());
  }
  return reason;
}

/// The trials at `positions`, in that order. Writes all at once, so that what was there stays if
/// something cannot be written.
int write_records(const RecordsArguments& arguments, const RecordFile& file,
                  const std::vector<std::size_t>& positions) {
  if (arguments.output.empty()) {
    throw Error("--output names the file to write");
  }
  refuse_input_as_output(arguments.output, arguments.files);
  if (!arguments.overwrites && std::filesystem::exists(arguments.output)) {
    throw Error(in_quotes(arguments.output) + " exists; --force replaces it");
  }
  const bool is_journal =
      arguments.format == "journal" || (arguments.format.empty() && file.is_journal());
  std::string text;
  std::size_t written = 0;
  LeftOut left_out;
  std::vector<bool> is_winner_written(file.winners.size(), false);
  const auto write_winners = [&](std::size_t before) {
    for (std::size_t i = 0; is_journal && !arguments.only_best && i < file.winners.size(); ++i) {
      if (!is_winner_written[i] && file.winners[i].num_before <= before) {
        text += record_to_line(file.winners[i].record, RecordKind::winner) + '\n';
        is_winner_written[i] = true;
      }
    }
  };
  for (const std::size_t position : positions) {
    write_winners(position);
    const RecordLine& line = file.lines[position];
    if (is_journal) {
      text += record_to_line(journal_record(line)) + '\n';
      ++written;
    } else if (const Result<std::string, RecordError> made = ansor_record_to_line(line.ansor)) {
      text += *made + '\n';
      ++written;
    } else {
      left_out.add(without_number(made.error().message));
    }
  }
  write_winners(file.lines.size());
  left_out.report(positions.size());
  write_output(arguments.output, text);
  if (arguments.is_json) {
    Json json;
    json["file"] = arguments.output;
    json["format"] = is_journal ? "journal" : "v0.6";
    json["num_records"] = written;
    json["num_left_out"] = left_out.total();
    print_json(json);
  } else {
    fmt::print("{}: {} records\n", arguments.output, written);
  }
  return written > 0 ? exit_ok : exit_failed;
}

void check_format(const RecordsArguments& arguments) {
  if (!arguments.format.empty() && arguments.format != "v0.6" && arguments.format != "journal") {
    throw Error("--to is v0.6 or journal, is " + in_quotes(arguments.format));
  }
}

int convert(const RecordsArguments& arguments) {
  RecordsArguments with_format = arguments;
  with_format.format = arguments.format.empty() ? "v0.6" : arguments.format;
  check_format(with_format);
  const RecordFile all = load_all(arguments);
  std::vector<std::size_t> positions(all.lines.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  return write_records(with_format, all, positions);
}

int merge(const RecordsArguments& arguments) {
  check_format(arguments);
  const RecordFile all = load_all(arguments);
  std::vector<AnsorRecord> records = log_records(all);
  std::vector<std::size_t> positions = merged_positions(records);
  if (arguments.only_best) {
    std::vector<AnsorRecord> merged;
    for (const std::size_t position : positions) {
      merged.push_back(std::move(records[position]));
    }
    std::vector<std::size_t> best;
    for (const std::size_t position : top_positions(merged, 1)) {
      best.push_back(position);
    }
    std::sort(best.begin(), best.end());  // in the order of the input
    for (std::size_t& position : best) {
      position = positions[position];
    }
    positions = std::move(best);
  }
  return write_records(arguments, all, positions);
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
  best_command->add_option("--key", arguments->key,
                           "the workload: a string such as gemm:512x512x512:f32, or the key of a "
                           "log; not needed if all records are of one workload");
  best_command->add_option("--target", arguments->target,
                           "only records that serve this target, e.g. \"llvm -keys=cpu\"");
  best_command->add_flag("--compatible", arguments->takes_compatible,
                         "records of smaller workloads that divide it count too");
  const auto add_output = [&](CLI::App* command) {
    command->add_option("--output", arguments->output, "file to write");
    command->add_flag("--force", arguments->overwrites, "replace a file that exists");
  };
  CLI::App* convert_command = add("convert", "Write records in another format.", &convert);
  convert_command->add_option("--to", arguments->format, "v0.6 or journal; default: v0.6");
  add_output(convert_command);
  CLI::App* merge_command =
      add("merge", "Several logs as one; of equal programs only the fastest.", &merge);
  merge_command->add_flag("--best", arguments->only_best,
                          "only the best record of every workload, target and number of cores");
  merge_command->add_option("--to", arguments->format,
                            "v0.6 or journal; default: journal if all files are journals");
  add_output(merge_command);
}

}  // namespace tensorsmith::cli
