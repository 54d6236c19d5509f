// The schedule that run, export and explain work on: the journal's best, or the program as written.
#pragma once

#include <memory>
#include <optional>

#include "command.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::cli {

struct BestSchedule {
  Shared<const ComputeDag> dag;
  Target target;
  std::optional<Record> record;  ///< nothing: the unscheduled program
  State state;
  KernelPrograms programs;
};

/// Throws Error. `allows_plain`: without a journal, the program as written.
BestSchedule load_schedule(const WorkloadOptions& options, bool allows_plain);

}  // namespace tensorsmith::cli
