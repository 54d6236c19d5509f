// SPDX-License-Identifier: Apache-2.0
// What follows from the rest of a program for CPUs: loops and layouts of packed copies, layouts of
// caches of results.
//
// Floor 7. Own design (schedule_packs.hpp). Derived last, from the history alone, as
// SearchSpace::build does. Not here: tensor intrinsics (intrinsic.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/sched/prepared.hpp"
#include "tensorsmith/search/schedule_packs.hpp"
#include "tensorsmith/search/space_options.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {
namespace detail {

/// Whether the copy is made in every run, and can keep the rows of its source.
inline bool can_keep_rows(const State& state, std::int32_t copy, const SpaceOptions& options) {
  const auto id = static_cast<std::size_t>(copy);
  if (!options.keeps_pack_rows || state.stage(id).compute_at == ComputeAt::inlined ||
      prepared_stages(state)[id]) {
    return false;
  }
  const auto dimensions = packed_dimensions(state, derive(state), id, options.intrinsics);
  return dimensions && !dimensions->empty() &&
         can_keep_rows(*dimensions, state.dag().tensor(state.operation(id).outputs[0]),
                       options.hardware);
}

}  // namespace detail

class FitCopies final : public DerivedSteps {
 public:
  explicit FitCopies(const SpaceOptions& options) : options_(options) {}

  bool apply(BuildState& to) const override {
    PackedCopies packs;
    ResultCaches caches;
    for (const Step& step : to.state.steps()) {
      packs.follow(step);
      caches.follow(step);
    }
    const bool has_caches = options_.lay_out_results && !caches.stages().empty();
    if (packs.empty() && !has_caches) {
      return true;
    }
    for (const auto& [copy, value] : to.wishes) {
      packs.follow(StorageLayoutStep{copy, {}, {}, value});
    }
    State state = to.state.restart();
    for (const Step& step : to.state.steps()) {  // extents of attached stages are not known again
      if (!try_step(state, step)) {
        return false;
      }
    }
    to.state = std::move(state);
    return schedule_packs(to.state, packs, options_.hardware, options_.intrinsics) &&
           (!options_.lay_out_results || schedule_result_caches(to.state, caches));
  }

 private:
  SpaceOptions options_;
};

}  // namespace tensorsmith
