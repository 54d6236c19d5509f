// SPDX-License-Identifier: Apache-2.0
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
  void predict(std::span<const Features> programs, std::span<float> scores) const {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] = programs[i].empty()
                      ? invalid_score
                      : -static_cast<float>(programs[i].block(ansor_block_name).num_rows);
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

/// States its blocks and has gradients; its own fault of loading says why.
struct Steep : FewRows {
  static constexpr std::string_view blocks[] = {"draft", "mine"};
  std::span<const std::string_view> wanted_blocks() const { return blocks; }
  bool gradient(const Features& program, Features& result) const {
    result = program;
    return true;
  }
  std::string save() const { return ""; }
  Result<Done, CostModelFault> load(std::string_view) {
    return refuse(CostModelError::bad_payload, "always");
  }
};

static_assert(CostModelLike<FewRows> && !SaveableCostModel<FewRows>);
static_assert(!StatesItsBlocks<FewRows> && !GradientModel<FewRows>);
static_assert(SaveableCostModel<SaveableFewRows>);
static_assert(StatesItsBlocks<Steep> && GradientModel<Steep> && SaveableCostModel<Steep>);
static_assert(StatesItsBlocks<CostModel> && GradientModel<CostModel>);
static_assert(CostModelLike<CostModel>, "the erased form is a cost model, too");
static_assert(!CostModelLike<int>);

TrainingSample sample_with_rows(int num_rows, double throughput, std::uint32_t task) {
  TrainingSample sample;
  FeatureMatrix rows;
  for (int i = 0; i < num_rows; ++i) {
    rows.add_row();
  }
  sample.features = rows;
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
  const std::vector<Features> programs{sample_with_rows(2, 0.0, 0).features, {}};
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

TEST_CASE("a model reads ansor164 unless it says which blocks it reads", "[cost]") {
  const CostModelAdapter<FewRows> plain{FewRows{}};
  REQUIRE(plain.wanted_blocks().size() == 1);
  CHECK(plain.wanted_blocks()[0] == "ansor164");
  const CostModelAdapter<Steep> steep{Steep{}};
  REQUIRE(steep.wanted_blocks().size() == 2);
  CHECK(steep.wanted_blocks()[1] == "mine");
}

TEST_CASE("gradients and reasons of refusal are passed on; without them there are none", "[cost]") {
  const CostModelAdapter<FewRows> plain{FewRows{}};
  CostModelAdapter<Steep> steep{Steep{}};
  const Features program = sample_with_rows(2, 0.0, 0).features;
  Features slopes;
  CHECK_FALSE(plain.gradient(program, slopes));
  CHECK(slopes.empty());
  CHECK(steep.gradient(program, slopes));
  CHECK(slopes == program);
  CHECK(steep.load("").error().message == "the saved model contradicts itself: always");
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
