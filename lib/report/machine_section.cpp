// SPDX-License-Identifier: Apache-2.0
#include "report/machine_section.hpp"

#include <cmath>

#include "report/html_text.hpp"

namespace tensorsmith {
namespace {

std::string machine_html(const ReportMachine& machine) {
  const std::string name = machine.name + ", fingerprint " + machine.fingerprint;
  if (machine.facts.empty()) {
    return paragraph(name + ": not the machine that this page was made on, or what is known of it "
                            "has changed since, so its numbers are not shown.");
  }
  std::string rows = table_head({{"what"}, {"value", CellKind::number}, {"source"}});
  for (const MachineFact& fact : machine.facts) {
    const bool is_whole = fact.value == std::floor(fact.value);
    rows += table_row({{fact.name},
                       {number_text(fact.value, is_whole ? 0 : 2), CellKind::number},
                       {fact.source}});
  }
  return paragraph(name) + table(rows);
}

}  // namespace

std::string machines_html(std::span<const ReportMachine> machines) {
  std::string html = machines.empty() ? "" : "<h2>Machine</h2>\n";
  for (const ReportMachine& machine : machines) {
    html += machine_html(machine);
  }
  return html;
}

}  // namespace tensorsmith
