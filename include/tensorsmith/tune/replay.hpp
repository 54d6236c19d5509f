// SPDX-License-Identifier: Apache-2.0
// replay_steps: a history of steps becomes a state, or one sentence why not; the best of a journal.
//
// Floor 10; compiled in lib/tune. Own design: records come from files, so their steps may be
// anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Bounds are inferred. Throws Error that names the first step that does not apply.
State replay_steps(const Shared<const ComputeDag>& dag, const std::vector<Step>& steps);

struct ReplayedRecord {
  Record record;
  State state;
};
/// The best record of this computation, by whatever names of tensors and iterators it was recorded
/// (a workload's, a network's), among those whose steps apply to `dag`; `skipped` gets one sentence
/// for each better one whose steps do not.
std::optional<ReplayedRecord> best_replayed(const JournalContents& contents,
                                            const Shared<const ComputeDag>& dag,
                                            std::string_view workload, std::string_view target,
                                            std::int32_t num_threads,
                                            std::vector<std::string>& skipped);

}  // namespace tensorsmith
