// Workload strings on the command line.
#include "command.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/flop.hpp"

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

std::shared_ptr<const ComputeDag> parse_dag(const std::string& workload) {
  return parse(workload).dag;
}

double workload_flop(const std::string& workload) {
  const ops::Workload parsed = parse(workload);
  return parsed.nominal_flop > 0 ? parsed.nominal_flop : std::max(0.0, te::count_flop(*parsed.dag));
}

std::string workload_grammar() {
  std::string text;
  for (const auto& line : ops::workload_grammar) {
    text += std::string(line.form) + "\n    e.g. " + std::string(line.example) + "\n";
  }
  return text + "\n" + std::string(ops::workload_grammar_notes);
}

}  // namespace tensorsmith::cli
