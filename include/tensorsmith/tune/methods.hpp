// SPDX-License-Identifier: Apache-2.0
// Methods as parts of a run: spaces and policies, the library's by name, the caller's by a factory.
//
// Floor 10; compiled in lib/tune. Own design. A run makes a space, a cost model and a policy per
// task; TuneOptions either names a row of the tables below or brings a factory. Adding a method to
// the library is one file in lib/tune and its line in methods.cpp. Not here: what policies and
// models do (search/policy.hpp, cost/cost_model.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/search/drawing.hpp"
#include "tensorsmith/search/policy.hpp"
#include "tensorsmith/search/policy_params.hpp"
#include "tensorsmith/search/search_space.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/space/template.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

/// What a space is made for. All of it outlives the call only.
struct SpaceContext {
  const TuneTask& task;
  const TuneOptions& options;  ///< threads, seed, budget
  const PolicyParams& params;  ///< those that the options name; the others by default
};

/// What is searched.
struct SpaceParts {
  /// Of the task's dag, with open tile sizes where a search is to choose; at least one.
  std::vector<State> sketches;
  /// Instead of sketches that a search completes by itself: programs with variables, whose first
  /// states are the sketches. None: there are none.
  Shared<const std::vector<Template>> templates = {};
  SpaceOptions options;
  /// Whether a program may be measured; asked from several threads. Empty: every one may.
  Callback<bool(const ProgramView&)> is_valid = {};
  /// As who sketches are completed and changed (search/drawing.hpp).
  DrawingKind drawing = DrawingKind::native;
};

/// What a policy is made for. `space` and `callbacks` may be moved from; `model` outlives the
/// policy, the rest only the call.
struct SearchContext {
  const TuneTask& task;        ///< dag, target, name
  const TuneOptions& options;  ///< seed, budget, threads, policy_params
  const PolicyParams& params;  ///< as in SpaceContext
  std::uint32_t index;         ///< of the task, for training samples: tasks may share the model
  SearchSpace space;
  Shared<const std::vector<Template>> templates;  ///< see SpaceParts::templates
  CostModel& model;
  /// Features for the model, validity, the analytic estimate if there is one, threads.
  SearchCallbacks callbacks;
  DrawingKind drawing = DrawingKind::native;  ///< see SpaceParts::drawing
  bool is_estimate = false;  ///< what the first proposal takes is asked for, not the best program
};

/// A row of a table of methods.
struct SpaceMethod {
  std::string_view name;
  std::string_view meaning;  ///< for lists, a few words
  /// Nothing beyond the reference is used: no analytic estimate, no seeds.
  bool follows_reference;
  SpaceParts (*make)(const SpaceContext& context);
};
struct PolicyMethod {
  std::string_view name;
  std::string_view meaning;
  /// Searches as the reference does, without what this project adds around a policy.
  bool follows_reference;
  Owned<SearchPolicy> (*make)(SearchContext& context);
  /// Drafts by itself, in every space; others do with what searches of the native space prune by.
  bool drafts = false;
};

std::span<const SpaceMethod> space_methods();
std::span<const PolicyMethod> policy_methods();

/// Facts of target and threads, and limits, that the rules of the native space get; a space of the
/// caller's begins with them.
SketchOptions native_sketch_options(const SpaceContext& context);

/// A policy with what it stands on.
struct Search {
  Shared<CostModel> model;  ///< none if TuneOptions::model is used
  Owned<SearchPolicy> policy;
  std::vector<State> complete;  ///< of the caller's sketches, those without anything open
};

/// Space, model and policy of a task, as tune() has them. Throws Error that names the option for an
/// unknown name, and for sketches that do not fit. `index` tells the tasks of a common cost model
/// apart.
Search make_search(const TuneTask& task, const TuneOptions& options, std::uint32_t index = 0);

}  // namespace tensorsmith
