// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/model_factory.hpp"

#include "support/catch.hpp"
#include "tensorsmith/cost/corrected_draft.hpp"
#include "tensorsmith/cost/random_model.hpp"

using namespace tensorsmith;

namespace {

const ModelFactory some_models[] = {corrected_draft_factory(), random_model_factory()};

std::string made(std::string_view name, bool has_draft) {
  ModelContext context;
  context.has_draft = has_draft;
  const auto model = make_cost_model(some_models, name, context);
  return model ? std::string((*model)->name()) : model.error();
}

}  // namespace

TEST_CASE("models are made by name, or the first default that can be", "[cost]") {
  CHECK(made("random", true) == "random");
  CHECK(made("draft", true) == "draft");
  CHECK(made("", true) == "draft");
  CHECK(made("", false) == "random");
  CHECK(made("draft", false) == "the cost model draft is there for CPUs and boards with the native "
                                "space and the policy evolution; "
                                "known beside it: random");
  CHECK(made("oracle", true) == "unknown cost model \"oracle\"; known: draft, random");
}

TEST_CASE("the table of this build: every row makes a model of its name that states its blocks",
          "[cost]") {
  ModelContext context;
  context.has_draft = true;
  CHECK(known_models().size() >= 2);
  for (const ModelFactory& row : known_models()) {
    CAPTURE(row.name);
    CHECK_FALSE(row.summary.empty());
    const Shared<CostModel> model = row.make(context);
    CHECK(model->name() == row.name);
    CHECK_FALSE(model->wanted_blocks().empty());
    CHECK(model->save().has_value());
  }
  CHECK(known_models().front().name == "draft");
  CHECK(known_models().back().name == "random");
  CHECK(model_names(some_models) == "draft or random");
  CHECK(model_help(some_models).find("draft: the analytic estimate") == 0);
}

TEST_CASE("a model that reads a draft reads that and the choices", "[cost]") {
  const CorrectedDraft model;
  REQUIRE(model.wanted_blocks().size() == 2);
  CHECK(model.wanted_blocks()[0] == "draft");
  CHECK(model.wanted_blocks()[1] == "choices");
  CHECK(RandomModel(1).wanted_blocks().size() == 1);
  CHECK(RandomModel(1).wanted_blocks()[0] == "ansor164");
}
