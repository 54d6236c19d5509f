#include "tensorsmith/cost/cost_model.hpp"

#include "support/catch.hpp"

#include "cost_fixtures.hpp"

using namespace tensorsmith;

namespace {

/// Not saveable: more rows are worse.
struct FewRows {
  int num_updates = 0;
  std::string_view name() const { return "few_rows"; }
  void update(std::span<const TrainingSample>) { ++num_updates; }
  void predict(std::span<const FeatureMatrix> programs, std::span<float> scores) const {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] = programs[i].empty() ? invalid_score : -static_cast<float>(programs[i].num_rows);
    }
  }
};

struct SaveableFewRows : FewRows {
  std::string save() const { return std::to_string(num_updates); }
  Result<Done, CostModelError> load(std::string_view bytes) {
    num_updates = static_cast<int>(bytes.size());
    return Done{};
  }
};

static_assert(CostModelLike<FewRows> && !SaveableCostModel<FewRows>);
static_assert(SaveableCostModel<SaveableFewRows>);
static_assert(CostModelLike<CostModel>, "the erased form is a cost model, too");
static_assert(!CostModelLike<int>);

TrainingSample sample_with_rows(int num_rows, double throughput, std::uint32_t task) {
  TrainingSample sample;
  for (int i = 0; i < num_rows; ++i) {
    sample.features.add_row();
  }
  sample.throughput = throughput;
  sample.task = task;
  return sample;
}

}  // namespace

TEST_CASE("an adapter makes a user's model a CostModel", "[cost]") {
  CostModelAdapter<FewRows> adapter{FewRows{}};
  CostModel& model = adapter;
  CHECK(model.name() == "few_rows");
  model.update({});
  CHECK(adapter.model().num_updates == 1);
  const std::vector<FeatureMatrix> programs{sample_with_rows(2, 0.0, 0).features, {}};
  CHECK(test::scores_of(model, programs) == std::vector<float>{-2.0F, invalid_score});
}

TEST_CASE("saving is passed on, or refused by a model that cannot", "[cost]") {
  CostModelAdapter<FewRows> plain{FewRows{}};
  REQUIRE_FALSE(plain.save().has_value());
  CHECK(plain.save().error() == CostModelError::not_supported);
  CHECK(plain.load("x").error() == CostModelError::not_supported);
  CHECK(save_to_file(plain, "unused").error() == CostModelError::not_supported);
  CostModelAdapter<SaveableFewRows> saveable{SaveableFewRows{}};
  REQUIRE(saveable.load("123").has_value());
  CHECK(saveable.save().value() == "3");
}

TEST_CASE("labels: per task, failures 0, a task of failures all 0", "[cost]") {
  const std::vector<TrainingSample> samples{
      sample_with_rows(1, 10.0, 1), sample_with_rows(1, 1000.0, 2), sample_with_rows(1, 5.0, 1),
      sample_with_rows(1, 0.0, 1), sample_with_rows(1, 0.0, 3)};
  CHECK(normalized_labels(samples) == std::vector<float>{1.0F, 1.0F, 0.5F, 0.0F, 0.0F});
}

TEST_CASE("the report of a model counts pairs of one task", "[cost]") {
  const CostModelAdapter<FewRows> model{FewRows{}};
  const std::vector<TrainingSample> samples{
      sample_with_rows(1, 10.0, 1), sample_with_rows(2, 5.0, 1), sample_with_rows(3, 7.0, 1),
      sample_with_rows(9, 1e9, 2)};
  const RankReport report = rank_report(model, samples, 1);
  CHECK(report.num_pairs == 3);
  CHECK(report.num_correct == 2);
  CHECK(report.best_of_top == 1.0);
}
