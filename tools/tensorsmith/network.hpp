// SPDX-License-Identifier: Apache-2.0
// What the commands of networks have in common: their options, and a network ready for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/graph/layouts.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/graph/simplify.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::cli {

struct NetworkArguments {
  std::string network;
  std::vector<std::string> dims, inputs;  ///< NAME=VALUE
  std::string database;
  int num_threads = 1;
  std::optional<double> seconds;       ///< none: the command's default
  std::optional<std::int64_t> trials;  ///< of all tasks together
  int rounds = 30;
  bool races_plain = false;
  std::string output = "network.html";  ///< of a report
  std::string against;                  ///< file of recorded values
  std::uint64_t seed = 1;
  std::string layout;  ///< empty: agreed; as given where values were recorded by name
  bool is_json = false, is_plain = false, is_verified = false, is_quiet = false;
  std::string folder, name = "net";  ///< of an export
  bool is_portable = false, overwrites = false;
};

struct Loaded {
  graph::Graph net;
  std::size_t num_read = 0;  ///< nodes before they were simplified
  graph::Simplified simplified;
  graph::LayoutAgreement layouts;
  graph::Partition parts;
};
/// Throws Error.
Loaded load(const NetworkArguments& arguments);

std::string journal_of(const NetworkArguments& arguments);
TuneOptions tune_options(const NetworkArguments& arguments);
/// Of the journal, none if there is no such file.
JournalContents records_of(const NetworkArguments& arguments);

int export_whole_network(const NetworkArguments& arguments);
int bench_network(const NetworkArguments& arguments);
int report_network(const NetworkArguments& arguments);
int bisect_network(const NetworkArguments& arguments);

}  // namespace tensorsmith::cli
