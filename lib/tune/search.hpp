// From names and a task to a search policy.
//
// Private to lib/. Own design. One place that knows every policy and space by name; cost models
// have a table (cost/model_factory.hpp).
#pragma once

#include <memory>
#include <string>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

/// A policy with what it stands on.
struct Search {
  Shared<CostModel> model;  ///< none if the options bring one
  std::unique_ptr<SearchPolicy> policy;
};

/// Throws Error that names the option for an unknown name and for sketches that do not fit. `index`
/// tells the tasks of a common cost model apart.
Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index = 0);

/// Whether there is an analytic estimate for the programs of this search.
bool has_draft(const TuneOptions& options, const Target& target);

/// The cost model that the options name or make, for tasks of that target. Throws Error for an
/// unknown name, or one that this search cannot use.
Shared<CostModel> make_model(const TuneOptions& options, const Target& target);

/// The blocks that `model` wants of the programs of that context, the options' own blocks included.
/// Throws Error that names the model and the block.
FeaturePlan make_feature_plan(const TuneOptions& options, const CostModel& model,
                              FeatureContext context);

}  // namespace tensorsmith
