// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// Templates of the caller's: by hand and of sketches, for processors and boards that are not there.
// Public headers only.
#include <vector>

#include "methods/methods_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/template_of.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/space/template_builder.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

TuneTask product_on(const char* target, std::int64_t size = 96) {
  TuneTask task = product_task(size);
  const auto found = Target::from_name(target);
  REQUIRE(found.has_value());
  task.target = *found;
  return task;
}

/// A block of threads per tile, a rectangle of elements per thread; nothing is copied.
///     blockIdx.x i.0@j.0@: threadIdx.x i.1@j.1@: k.0: i.2 j.2 k.1
Template product_of_threads(const Shared<const ComputeDag>& dag) {
  TemplateBuilder t(dag);
  const std::int32_t c = t.stage("C");
  const auto i = t.split(c, 0, "i", 2);
  const auto j = t.split(c, 3, "j", 2);
  t.split(c, 6, "k", 1, 16);
  t.reorder(c, {0, 3, 1, 4, 6, 2, 5, 7});
  t.fuse(c, {0, 1});
  t.annotate(c, 0, Annotation::block_x);
  t.fuse(c, {1, 2});
  t.annotate(c, 1, Annotation::thread_x);
  t.hint<hints::AutoUnroll>(c, "unroll", {0, 16, 64});
  VariableSpace& space = t.space();
  const ExprId threads = space.product({space.expr(i[0]), space.expr(j[0])});
  space.require(space.at_least(threads, 32), ConstraintKind::legality, "a block has a warp");
  space.require(space.at_most(threads, 256), ConstraintKind::capacity, "a block has few threads");
  space.require(space.at_most(space.product({space.expr(i[1]), space.expr(j[1])}), 32),
                ConstraintKind::capacity, "a thread keeps its elements in registers");
  return t.finish();
}

TuneOptions by_hand(std::int64_t trials) {
  TuneOptions options;
  options.budget = {0, trials};
  options.cost_model = "random";
  options.round_size = 8;
  options.space = "by hand";
  options.policy_params = {{"evolutionary_search_population", "32"},
                           {"sample_init_min_population", "16"}};
  options.templates = [](const Shared<const ComputeDag>& dag, const SketchOptions&) {
    return std::vector<Template>{product_of_threads(dag)};
  };
  return options;
}

}  // namespace

TEST_CASE("templates by hand are tuned for boards that are not there") {
  for (const char* board : {"sim:a100", "sim:h200"}) {
    INFO(board);
    const MethodsJournal journal;
    TuneOptions options = by_hand(24);
    options.database = journal.path;
    const TuneTask task = product_on(board);
    const Template of = product_of_threads(task.dag);
    const TuneResult result = tune(task, options);
    REQUIRE(result.has_best());
    CHECK(result.summary.trials == 24);
    CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::ok)] == 24);
    const auto contents = read_journal(journal.path);
    REQUIRE(contents.has_value());
    REQUIRE(contents->records.size() == 24);
    for (const Record& record : contents->records) {
      CHECK(record.space == "by hand");
      const auto values = of.read(record.steps);
      REQUIRE(values.has_value());
      CHECK(of.sampler().is_legal(*values));
    }
    // The draft is asked first: no trial is needed for a program that is near the best of 24.
    options = by_hand(0);
    const TuneResult instant = tune(task, options);
    REQUIRE_FALSE(instant.steps.empty());
    REQUIRE(of.read(instant.steps).has_value());
    options = by_hand(24);
    CHECK(tune(task, options).steps == result.steps);
  }
}

TEST_CASE("templates of sketches are tuned as templates by hand are") {
  const TuneTask task = product_on("sim:a100", 256);
  TuneOptions options = by_hand(16);
  std::vector<Template> given;
  options.templates = [&](const Shared<const ComputeDag>& dag, const SketchOptions& facts) {
    const SearchSpace space(generate_sketches(dag, native_gpu_rules(), facts),
                            native_gpu_space_options(task.target));
    for (std::uint32_t i = 0; i < space.sketches().size(); ++i) {
      if (std::optional<Template> of = gpu_template_of(space, i)) {
        given.push_back(std::move(*of));
      }
    }
    return given;
  };
  const TuneResult result = tune(task, options);
  REQUIRE(result.has_best());
  CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::ok)] == 16);
  CHECK(any_item(given, [&](const Template& of) { return of.read(result.steps).has_value(); }));
}

TEST_CASE("a template whose blocks are too large for the board has no program, and that is said") {
  TuneOptions options = by_hand(8);
  options.templates = [](const Shared<const ComputeDag>& dag, const SketchOptions&) {
    TemplateBuilder t(dag);
    const std::int32_t c = t.stage("C");
    t.step(SplitStep{c, 0, 96, {48}, true});
    t.step(SplitStep{c, 2, 96, {48}, true});
    t.reorder(c, {0, 2, 1, 3, 4});
    t.fuse(c, {0, 1});
    t.annotate(c, 0, Annotation::block_x);
    t.fuse(c, {1, 2});
    t.annotate(c, 1, Annotation::thread_x);  // 2304 of them
    t.hint<hints::AutoUnroll>(c, "unroll", {0, 16, 64});
    return std::vector<Template>{t.finish()};
  };
  const TuneResult none = tune(product_on("sim:a100"), options);
  CHECK(none.summary.trials == 0);
  CHECK(none.summary.message.find("the search proposed no program") == 0);
  for (const char* policy : {"felix", "pruner"}) {
    options.policy = policy;
    CHECK(refusal_of(product_on("sim:a100"), options) ==
          std::string("the policy ") + policy +
              " searches sketches, not templates; take another "
              "one");
  }
}

TEST_CASE("templates by hand are tuned for processors that are not there") {
  TuneOptions options = by_hand(12);
  options.templates = [](const Shared<const ComputeDag>& dag, const SketchOptions&) {
    TemplateBuilder t(dag);
    const std::int32_t c = t.stage("C");
    t.split(c, 0, "i", 1, 16);
    t.split(c, 2, "j", 1, 64);
    t.reorder(c, {0, 2, 4, 1, 3});
    t.vectorize(c, 4);
    return std::vector<Template>{t.finish()};
  };
  const TuneResult result = tune(product_on("sim:neoverse-n1"), options);
  REQUIRE(result.has_best());
  CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::ok)] == 12);
}
