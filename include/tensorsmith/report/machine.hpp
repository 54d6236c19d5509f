// SPDX-License-Identifier: Apache-2.0
// ReportMachine: what a page says about a machine that records are of. Plain data.
//
// Floor 7. Not here: finding it (tune/machine_facts.hpp, tune/journal_report.hpp).
#pragma once

#include <string>
#include <vector>

namespace tensorsmith {

struct MachineFact {
  std::string name;
  double value = 0;
  std::string source;  ///< "CPUID", "of znver4", "fitted to programs timed here", ...
};

struct ReportMachine {
  std::string name;                ///< of the processor
  std::string fingerprint;         ///< Record::machine
  std::vector<MachineFact> facts;  ///< empty: it is not the machine that the page is made on
};

}  // namespace tensorsmith
