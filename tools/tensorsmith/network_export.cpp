// SPDX-License-Identifier: Apache-2.0
// tensorsmith network export: a network as C++ and weights that need nothing else.
#include <filesystem>

#include <fmt/format.h>

#include "command.hpp"
#include "export_files.hpp"
#include "export_name.hpp"
#include "network.hpp"
#include "tensorsmith/graph/export.hpp"
#include "tensorsmith/record/journal.hpp"

namespace tensorsmith::cli {

int export_whole_network(const NetworkArguments& arguments) {
  if (const std::string problem = export_name_problem(arguments.name); !problem.empty()) {
    throw Error(problem);
  }
  const Loaded loaded = load(arguments);
  JournalContents records;
  if (auto read = read_journal(journal_of(arguments))) {
    records = std::move(*read);
  }
  std::size_t num_recorded = 0;
  const std::vector<TuneResult> schedules = graph::recorded_schedules(
      loaded.parts, records, tune_options(arguments), arguments.is_plain, num_recorded);
  graph::NetworkExportOptions options;
  options.name = arguments.name;
  options.comment = arguments.network;
  options.num_threads = arguments.num_threads;
  options.is_portable = arguments.is_portable;
  options.seed = arguments.seed;
  const std::vector<graph::ExportedFile> files =
      graph::export_network(loaded.net, loaded.parts, schedules, options);
  const std::vector<std::string> made = make_folders(arguments.folder);
  const std::filesystem::path folder = arguments.folder;
  for (const graph::ExportedFile& file : files) {
    const std::string path = (folder / file.name).string();
    if (!arguments.overwrites && std::filesystem::exists(path)) {
      throw Error(in_quotes(path) + " exists; --force replaces it");
    }
  }
  Json written = Json::array();
  for (const graph::ExportedFile& file : files) {
    const std::string path = (folder / file.name).string();
    write_output(path, file.bytes);
    written.push_back(path);
  }
  if (arguments.is_json) {
    print_json({{"network", arguments.network},
                {"tasks", loaded.parts.tasks.size()},
                {"recorded", num_recorded},
                {"folders_made", made},
                {"files", written}});
    return exit_ok;
  }
  for (const std::string& path : made) {
    fmt::print("made the folder {}\n", path);
  }
  for (const Json& path : written) {
    fmt::print("{}\n", path.get<std::string>());
  }
  fmt::print("{} of {} tasks from the journal\n", num_recorded, loaded.parts.tasks.size());
  fmt::print("check: cmake -S {0} -B {0}/build && cmake --build {0}/build && "
             "{0}/build/{1}_check {0}\n",
             arguments.folder, arguments.name);
  return exit_ok;
}

}  // namespace tensorsmith::cli
