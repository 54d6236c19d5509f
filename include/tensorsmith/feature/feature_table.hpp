// SPDX-License-Identifier: Apache-2.0
// FeatureTable: the blocks of features that there are, by name; FeaturePlan: those of one search.
//
// Floor 5. Own design. A block is one row of the table, written in the file of the block
// (ansor_block.hpp, cost/draft_block.hpp): its schema and the function that fills it. A model names
// the blocks that it reads (cost/cost_model.hpp); the plan of a search fills those and no others.
// Users add rows of their own (TuneOptions::features).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/feature/features.hpp"
#include "tensorsmith/feature/program_view.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// Functions are pure and may be called by several threads at once.
struct FeatureExtractor {
  Shared<const BlockSchema> schema;
  /// Fills the block, which has no rows yet. False: the program cannot be built, so it has no
  /// features at all.
  Callback<bool(const ProgramView&, const FeatureContext&, FeatureBlock&)> extract;
  /// Why programs of that context do not have the block, as the end of a sentence; no function or
  /// no text: they have.
  Callback<std::string(const FeatureContext&)> problem = {};
};

class FeatureTable {
 public:
  /// False, and nothing is added, if the name is taken.
  bool add(FeatureExtractor row) {
    if (find(row.schema->name()) != nullptr) {
      return false;
    }
    rows_.push_back(std::move(row));
    return true;
  }
  const std::vector<FeatureExtractor>& rows() const { return rows_; }
  const FeatureExtractor* find(std::string_view name) const {
    return find_item(rows_, [&](const auto& row) { return row.schema->name() == name; });
  }
  /// For messages: "a, b, c".
  std::string names() const {
    std::string text;
    for (const FeatureExtractor& row : rows_) {
      text += (text.empty() ? "" : ", ") + row.schema->name();
    }
    return text;
  }

 private:
  std::vector<FeatureExtractor> rows_;
};

class FeaturePlan {
 public:
  /// The wanted blocks in their order. Fails with a sentence for a name that is not in the table or
  /// stands twice, and for a block that programs of the context do not have.
  static Result<FeaturePlan, std::string> make(const FeatureTable& table,
                                               std::span<const std::string_view> wanted,
                                               FeatureContext context) {
    FeaturePlan plan(std::move(context));
    for (const std::string_view name : wanted) {
      const FeatureExtractor* row = table.find(name);
      if (row == nullptr) {
        return fail("unknown block of features " + in_quotes(name) + "; known: " + table.names());
      }
      if (any_item(plan.rows_, [&](const auto& r) { return r.schema->name() == name; })) {
        return fail("the block of features " + in_quotes(name) + " is wanted twice");
      }
      const std::string problem = row->problem ? row->problem(plan.context_) : std::string();
      if (!problem.empty()) {
        return fail("no block of features " + in_quotes(name) + ": " + problem);
      }
      plan.rows_.push_back(*row);
    }
    if (plan.rows_.empty()) {
      return fail("no block of features is wanted; known: " + table.names());
    }
    return plan;
  }

  const FeatureContext& context() const { return context_; }
  FeatureSchema schema() const {
    FeatureSchema schema;
    for (const FeatureExtractor& row : rows_) {
      schema.push_back(row.schema);
    }
    return schema;
  }

  /// All blocks, or none for a program that cannot be built.
  Features extract(const ProgramView& view) const {
    std::vector<FeatureBlock> blocks;
    for (const FeatureExtractor& row : rows_) {
      FeatureBlock block{row.schema, 0, {}};
      if (!row.extract(view, context_, block)) {
        return {};
      }
      TENSORSMITH_ASSERT(block.schema == row.schema && block.is_well_formed(),
                         "an extractor fills the rows and columns of its schema");
      blocks.push_back(std::move(block));
    }
    return Features(std::move(blocks));
  }

 private:
  explicit FeaturePlan(FeatureContext context) : context_(std::move(context)) {}

  FeatureContext context_;
  std::vector<FeatureExtractor> rows_;
};

}  // namespace tensorsmith
