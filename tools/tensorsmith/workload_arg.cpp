// Workload strings on the command line.
#include <fmt/format.h>

#include "command.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_grammar.hpp"
#include "tensorsmith/te/flop.hpp"

#include <algorithm>

namespace tensorsmith::cli {
namespace {

ops::Workload parse(const std::string& text) {
  Result<ops::Workload, std::string> workload = ops::parse_workload(text);
  if (!workload) {
    throw Error(workload.error());
  }
  return std::move(workload).value();
}

}  // namespace

Shared<const ComputeDag> parse_dag(const std::string& workload) { return parse(workload).dag; }

double workload_flop(const std::string& workload) {
  const ops::Workload parsed = parse(workload);
  return parsed.nominal_flop > 0 ? parsed.nominal_flop : std::max(0.0, te::count_flop(*parsed.dag));
}

void print_grammar(bool is_json) {
  if (!is_json) {
    for (const ops::GrammarLine& line : ops::workload_grammar) {
      fmt::print("{}\n    e.g. {}\n", line.form, line.example);
    }
    fmt::print("\n{}\n", ops::workload_grammar_notes);
    return;
  }
  Json json;
  json["workloads"] = Json::array();
  for (const ops::GrammarLine& line : ops::workload_grammar) {
    json["workloads"].push_back(
        {{"name", line.name}, {"form", line.form}, {"example", line.example}});
  }
  json["notes"] = ops::workload_grammar_notes;
  print_json(json);
}

}  // namespace tensorsmith::cli
