// SPDX-License-Identifier: Apache-2.0
// Writes the report page of a journal.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace tensorsmith::cli {

struct ReportRequest {
  std::string journal;
  std::vector<std::string> workloads;  ///< empty: every workload of the journal
  std::string comparison;              ///< JSON that bench_kernels wrote; empty: none
  std::string output;                  ///< file to write
};

/// What went into the page: [{"workload", "target", "threads", "trials", "best_ns"}, ...]. Throws
/// Error if a file cannot be read or written, or there is nothing to report.
Json write_report(const ReportRequest& request);

/// Throws Error if the output is one of the files that are read, or cannot be written; leaves what
/// is in it.
void check_report(const ReportRequest& request);

}  // namespace tensorsmith::cli
