// What sessions ask about the methods that the options name.
//
// Private to lib/. Own design. Not here: making them (tensorsmith/tune/methods.hpp).
#pragma once

#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/tune/methods.hpp"

namespace tensorsmith {

/// Null for a name that is none of the library's, and where the caller brings a factory.
const SpaceMethod* named_space(const TuneOptions& options);
const PolicyMethod* named_policy(const TuneOptions& options);

/// Whether space or policy is the reference's.
bool follows_reference(const TuneOptions& options);

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
