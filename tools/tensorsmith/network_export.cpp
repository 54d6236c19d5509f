// SPDX-License-Identifier: Apache-2.0
// tensorsmith network export: a network as C++ and weights that need nothing else.
#include <fmt/format.h>

#include "command.hpp"
#include "export_files.hpp"
#include "export_name.hpp"
#include "network.hpp"
#include "tensorsmith/graph/export.hpp"

namespace tensorsmith::cli {

int export_whole_network(const NetworkArguments& arguments) {
  if (const std::string problem = export_name_problem(arguments.name); !problem.empty()) {
    throw Error(problem);
  }
  const Loaded loaded = load(arguments);
  std::size_t num_recorded = 0;
  const std::vector<TuneResult> schedules =
      graph::recorded_schedules(loaded.parts, records_of(arguments), tune_options(arguments),
                                arguments.is_plain, num_recorded);
  graph::NetworkExportOptions options;
  options.name = arguments.name;
  options.comment = arguments.network;
  options.num_threads = arguments.num_threads;
  options.is_portable = arguments.is_portable;
  options.seed = arguments.seed;
  std::vector<ExportedFile> files;
  for (graph::NetworkFile& file :
       graph::export_network(loaded.net, loaded.parts, schedules, options)) {
    files.push_back({std::move(file.name), std::move(file.bytes)});
  }
  const FilesWritten written = write_files(arguments.folder, files, arguments.overwrites,
                                           {journal_of(arguments), arguments.network});
  if (arguments.is_json) {
    print_json({{"network", arguments.network},
                {"tasks", loaded.parts.tasks.size()},
                {"recorded", num_recorded},
                {"made_folders", written.folders},
                {"files", written.files}});
    return exit_ok;
  }
  written.print();
  fmt::print("{} of {} tasks from the journal\n", num_recorded, loaded.parts.tasks.size());
  fmt::print("check: cmake -S {0} -B {0}/build && cmake --build {0}/build && "
             "{0}/build/{1}_check {0}\n",
             arguments.folder, arguments.name);
  return exit_ok;
}

}  // namespace tensorsmith::cli
