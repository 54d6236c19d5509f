// SPDX-License-Identifier: Apache-2.0
// What sessions ask about the methods that the options name.
//
// Private to lib/. Own design. Not here: making them (tensorsmith/tune/methods.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

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

/// What sessions know of a search beside its policy.
struct SearchFacts {
  ProgramIdentity identity;  ///< empty: the search is the reference's
  /// The programs one decision away that may be measured.
  Callback<std::vector<State>(const State&)> neighbours;
  /// Programs of the space with the decisions of another task's history, those that may be
  /// measured.
  Callback<std::vector<State>(const std::vector<Step>&)> carry;
  Callback<bool()> is_late;  ///< given, not found: see SearchCallbacks
  bool is_estimate = false;  ///< given: see SearchContext
};
Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index,
                   SearchFacts& facts);

/// The cost model that the options name or make, for tasks of that target. Throws Error for an
/// unknown name, or one that this search cannot use.
Shared<CostModel> make_model(const TuneOptions& options, const Target& target);

/// The draft of that name, or the one that the options name. Throws Error as make_model.
Shared<CostModel> make_draft(const TuneOptions& options, const Target& target,
                             std::string_view otherwise);

/// The blocks that `model` wants of the programs of that context, the options' own blocks included.
/// Throws Error that names the model and the block.
FeaturePlan make_feature_plan(const TuneOptions& options, const CostModel& model,
                              FeatureContext context);

}  // namespace tensorsmith
