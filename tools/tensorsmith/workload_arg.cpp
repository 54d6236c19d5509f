// SPDX-License-Identifier: Apache-2.0
// Workload strings on the command line.
#include <fmt/format.h>

#include "command.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace tensorsmith::cli {
void print_grammar(bool is_json) {
  if (!is_json) {
    for (const ops::GrammarLine& line : ops::workload_grammar) {
      fmt::print("{}\n    e.g. {}\n", line.form, line.example);
    }
    fmt::print("\n{}\n", ops::workload_grammar_notes);
    const auto print_methods = [](const char* title, const auto& methods) {
      fmt::print("\n{}:\n", title);
      for (const auto& method : methods) {
        fmt::print("  {}: {}\n", method.name, method.meaning);
      }
    };
    print_methods("spaces (--space)", space_methods());
    print_methods("policies (--policy)", policy_methods());
    fmt::print("\nparameters of policies (--param NAME=VALUE), with what the reference takes:\n");
    for (const PolicyParamInfo& param : PolicyParams::all()) {
      fmt::print("  {}={}: {}\n", param.name, param.default_value, param.meaning);
    }
    return;
  }
  Json json;
  json["workloads"] = Json::array();
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    json["workloads"].push_back(
        {{"name", line.name}, {"form", line.form}, {"example", line.example}});
  }
  json["notes"] = ops::workload_grammar_notes;
  const auto add_methods = [&json](const char* key, const auto& methods) {
    json[key] = Json::array();
    for (const auto& method : methods) {
      json[key].push_back({{"name", method.name}, {"meaning", method.meaning}});
    }
  };
  add_methods("spaces", space_methods());
  add_methods("policies", policy_methods());
  add_methods("params", PolicyParams::all());
  print_json(json);
}

}  // namespace tensorsmith::cli
