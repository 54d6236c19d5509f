// SPDX-License-Identifier: Apache-2.0
// The table of cost models: how each is made, by name.
//
// Floor 6. Own design. A model is one row, written in the file of the model
// (corrected_draft_factory and its like); known_models() is the list of those that this build has
// (compiled in lib/tune), and whoever shows or takes a name reads it. Not here: models of users,
// which need no name (TuneOptions::model, TuneOptions::make_model).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// What a model is made for.
struct ModelContext {
  std::uint64_t seed = 0;
  Target target;
  bool has_draft = false;  ///< the search has an analytic estimate of its programs
};

struct ModelFactory {
  std::string_view name;
  std::string_view summary;  ///< half a line for people
  bool is_default = false;   ///< taken where nobody names a model, if it can be made
  Shared<CostModel> (*make)(const ModelContext&) = nullptr;
  /// Why it cannot be made, as the end of a sentence that begins with its name; empty: it can. No
  /// function: always.
  std::string_view (*problem)(const ModelContext&) = nullptr;

  std::string_view problem_in(const ModelContext& context) const {
    return problem == nullptr ? std::string_view() : problem(context);
  }
};

/// In the order in which defaults are tried.
std::span<const ModelFactory> known_models();

/// What searches may draft with (TuneOptions::draft): analytic, scores above 0 are in proportion to
/// the speed.
std::span<const ModelFactory> draft_models();

/// The named one of `models`, or the first default that can be made if the name is empty. Fails
/// with a sentence that names the known ones; `kind` is what it calls them.
inline Result<Shared<CostModel>, std::string>
make_cost_model(std::span<const ModelFactory> models, std::string_view name,
                const ModelContext& context, std::string_view kind = "cost model") {
  std::string known, others;
  for (const ModelFactory& row : models) {
    known += (known.empty() ? "" : ", ") + std::string(row.name);
    const bool is_possible = row.problem_in(context).empty();
    if (is_possible && (name.empty() ? row.is_default : name == row.name)) {
      return row.make(context);
    }
    if (is_possible) {
      others += (others.empty() ? "" : ", ") + std::string(row.name);
    }
  }
  for (const ModelFactory& row : models) {
    if (!name.empty() && name == row.name) {
      return fail("the " + std::string(kind) + " " + std::string(name) + " " +
                  std::string(row.problem_in(context)) +
                  (others.empty() ? "" : "; known beside it: " + others));
    }
  }
  return fail("unknown " + std::string(kind) + " " + in_quotes(name) + "; known: " + known);
}

/// `draft, mlp or random`.
inline std::string model_names(std::span<const ModelFactory> models) {
  std::string text;
  for (std::size_t i = 0; i < models.size(); ++i) {
    text += i == 0 ? "" : i + 1 < models.size() ? ", " : " or ";
    text += models[i].name;
  }
  return text;
}

/// The same with what each is: `draft: the analytic estimate ...; random: chance ...`.
inline std::string model_help(std::span<const ModelFactory> models) {
  std::string text;
  for (const ModelFactory& row : models) {
    text += (text.empty() ? "" : "; ") + std::string(row.name) + ": " + std::string(row.summary);
  }
  return text;
}

}  // namespace tensorsmith
