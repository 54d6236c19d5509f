// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `tensorsmith` share: arguments, exit codes, output.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/value_names.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/te/compute_dag.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::cli {

using Json = nlohmann::ordered_json;

constexpr int exit_ok = 0;
constexpr int exit_failed = 1;       ///< the work was done, without a usable result
constexpr int exit_wrong_input = 2;  ///< one sentence on standard error says what to change

/// What to do once the command line is understood; returns the exit code.
using Action = std::function<int()>;

void add_tune(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_records(CLI::App& app, Action& action);
void add_devices(CLI::App& app, Action& action);
void add_expand(CLI::App& app, Action& action);
void add_network(CLI::App& app, Action& action);
void add_dataset(CLI::App& app, Action& action);

/// Options that several subcommands take.
struct WorkloadOptions {
  std::string workload;
  std::string target = "host";
  std::string database;
  int num_threads = 1;
  bool is_json = false;
};
/// The workload alone.
void add_workload_argument(CLI::App& command, WorkloadOptions& options);
void add_workload_options(CLI::App& command, WorkloadOptions& options);

/// Checks of option values; what they refuse is one sentence with what was expected.
CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);
CLI::Validator real_number(double low, double high);

/// The value of that name in a list of them (support/value_names.hpp). Throws Error.
template <class Names>
auto choice(const Names& names, const char* what, const std::string& name) {
  const auto value = value_in(names, name);
  if (!value) {
    throw Error(std::string("unknown ") + what + " " + in_quotes(name) +
                "; known: " + names_text(names));
  }
  return *value;
}

/// All of these throw Error with one sentence.
/// Every form of workload string with an example, and the methods that there are.
void print_grammar(bool is_json);
Target parse_target(const std::string& name);
/// As parse_target, and this machine can run its code.
Target parse_runnable_target(const std::string& name);

/// Says so if the threads of a kernel have to share processors.
void warn_of_threads(const Target& target, std::int32_t num_threads);

/// --db, or the workload's file in the cache folder ($XDG_CACHE_HOME or ~/.cache, then
/// tensorsmith/).
std::string journal_path(const WorkloadOptions& options);
/// What is in the journal for these options; reports skipped lines on standard error. `hint`: ends
/// the sentence that there is none.
JournalContents load_journal(const WorkloadOptions& options, const std::string& hint = "");

/// Throws Error if `output` is one of the files that are read, by whatever name.
void refuse_input_as_output(const std::string& output, const std::vector<std::string>& inputs);
/// All of the file at once (write_file). Throws Error.
void write_output(const std::string& path, std::string_view text);
/// Throws Error if it cannot be read as such a file.
std::string read_input(const std::string& path, std::int64_t most_bytes);

/// "1.23 ms"
std::string duration_text(double ns);
std::string percent_text(double fraction);
void print_json(const Json& json);
/// One line on standard error, whatever the sentence quotes, and of bounded length.
void warn(const std::string& sentence);

}  // namespace tensorsmith::cli
