// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// A cost model that the library does not know, made by a factory: public headers only.
#include <atomic>

#include "methods/methods_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/cost/model_factory.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Counts {
  std::atomic<int> num_made = 0, num_asked = 0, num_samples = 0;
};

/// Prefers programs with fewer rows of features.
class FewRows {
 public:
  explicit FewRows(Counts& counts) : counts_(&counts) {}
  std::string_view name() const { return "few rows"; }
  void update(std::span<const TrainingSample> samples) {
    counts_->num_samples += static_cast<int>(samples.size());
  }
  void predict(std::span<const Features> programs, std::span<float> scores) const {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] = programs[i].empty() ? invalid_score
                                      : -static_cast<float>(programs[i].block("ansor164").num_rows);
    }
    counts_->num_asked += static_cast<int>(programs.size());
  }

 private:
  Counts* counts_;
};

TuneOptions few_rows(Measurer& measurer, Counts& counts, std::int64_t trials) {
  TuneOptions options = quick_options(measurer, trials);
  options.cost_model.clear();
  options.make_model = [&counts](const ModelContext& context) -> Shared<CostModel> {
    counts.num_made += context.target.kind == TargetKind::cpu ? 1 : 0;
    return make_shared_of<CostModelAdapter<FewRows>>(FewRows(counts));
  };
  return options;
}

}  // namespace

TEST_CASE("a cost model of the caller's is asked and learns") {
  SimulatedMeasurer measurer = clock_by_id();
  Counts counts;
  const TuneResult result = tune(product_task(), few_rows(measurer, counts, 12));
  CHECK(result.has_best());
  CHECK(counts.num_made == 1);
  CHECK(counts.num_asked > 0);
  CHECK(counts.num_samples == 12);
}

TEST_CASE("tasks share the model that the factory makes") {
  SimulatedMeasurer measurer = clock_by_id();
  Counts counts;
  TasksOptions options;
  options.tune = few_rows(measurer, counts, 8);
  CHECK(tune_tasks({{product_task(16), 1}, {product_task(24), 1}}, options).has_all());
  CHECK(counts.num_made == 1);
  CHECK(counts.num_samples == 8);
}

TEST_CASE("a factory of models must return one") {
  SimulatedMeasurer measurer = clock_by_id();
  TuneOptions options = quick_options(measurer, 4);
  options.make_model = [](const ModelContext&) { return Shared<CostModel>(); };
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions::make_model: expected a cost model, got none");
}
