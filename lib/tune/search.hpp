// From names and a task to a search policy.
//
// Private to lib/. Own design. One place that knows every policy, space and cost model by name.
#pragma once

#include <memory>
#include <string>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

/// A policy with what it stands on.
struct Search {
  std::unique_ptr<CostModel> model;  ///< none if the options bring one
  std::unique_ptr<SearchPolicy> policy;
};

/// Throws Error that names the option for an unknown name and for sketches that do not fit. `index`
/// tells the tasks of a common cost model apart.
Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index = 0);

/// Whether there is an analytic estimate for the programs of this search.
bool has_draft(const TuneOptions& options, const Target& target);

/// The cost model that the options name, for tasks of that target. Throws Error for an unknown
/// name, or one that this search cannot use.
std::unique_ptr<CostModel> make_model(const TuneOptions& options, const Target& target);

}  // namespace tensorsmith
