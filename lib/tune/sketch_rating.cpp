// SPDX-License-Identifier: Apache-2.0
// What the best program of a sketch takes by the draft, for workloads with too many sketches.
#include <utility>

#include "support/run_on_threads.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/search/analytic_seeds.hpp"
#include "tensorsmith/search/evolutionary_policy.hpp"
#include "tune/methods.hpp"

namespace tensorsmith {

SketchRating cpu_sketch_rating(const SpaceContext& context, const SpaceOptions& options) {
  SearchCallbacks callbacks;
  callbacks.draft = [target = context.task.target,
                     threads = context.options.num_threads](const ProgramView& view) {
    return draft_cycles(view.state(), target, threads);
  };
  callbacks.parallel_for = run_on_threads;
  return [callbacks, options, target = context.task.target](const std::vector<State>& sketches) {
    if (sketches.empty()) {
      return std::vector<double>();
    }
    return drafts_of_sketches(SearchSpace(sketches, options), NativeCpuPopulation{}, callbacks,
                              target, SeedEffort::rough());
  };
}

}  // namespace tensorsmith
