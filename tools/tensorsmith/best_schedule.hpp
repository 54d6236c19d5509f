// SPDX-License-Identifier: Apache-2.0
// The schedule that run, export and explain work on: the journal's best, or the program as written.
#pragma once

#include <memory>
#include <optional>

#include "command.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::cli {

struct BestSchedule {
  TuneTask task;
  std::optional<Record> record;  ///< nothing: the unscheduled program
  State state;
  KernelPrograms programs;
};

struct ScheduleUse {
  bool allows_plain = false;  ///< without a journal: the program as written, on a GPU a drawn one
  const char* without_journal = "";  ///< what else can be done if there is none
  bool is_run = false;               ///< here: the target must be one of this machine
};

/// "1.23 ms (median; least 1.20 ms)": of the final ranking if the record won one, else of its
/// trial.
std::string recorded_text(const Record& record);

/// Throws Error.
BestSchedule load_schedule(const WorkloadOptions& options, const ScheduleUse& use);

}  // namespace tensorsmith::cli
