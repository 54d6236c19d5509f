// SPDX-License-Identifier: Apache-2.0
// report_of: what a journal holds, workload by workload, for a page (report/report.hpp).
//
// Floor 10; compiled in lib/tune. Own design. Schedules are replayed and lowered, nothing is run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/report/report.hpp"

namespace tensorsmith {

/// `workloads`: those to report; empty: all. `journal`: its name, for the page. Throws Error if
/// there is nothing to report.
Report report_of(const JournalContents& contents, const std::string& journal,
                 const std::vector<std::string>& workloads = {});

/// The machines that records name, each once; numbers of those alone that are this one.
void add_machines(std::span<const Record> records, std::vector<ReportMachine>& machines);

/// "gemm:8x8x8" and "gemm:8x8x8:f32" are one workload; text that is none stays as it is.
std::string canonical_workload(const std::string& workload);

}  // namespace tensorsmith
