// SPDX-License-Identifier: Apache-2.0
// requires: mlp
#include "tensorsmith/cost/mlp.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>

#include "cost_fixtures.hpp"
#include "tensorsmith/cost/random_model.hpp"

using namespace tensorsmith;

namespace {

MlpOptions small(std::uint64_t seed = 0) {
  MlpOptions options;
  options.seed = seed;
  options.num_hidden = 32;
  options.max_epochs = 10;
  return options;
}

const std::vector<Features>& programs() {
  static const std::vector<Features> all = test::features_of(test::synthetic_samples(2, 0, 300));
  return all;
}

}  // namespace

TEST_CASE("mlp: learns a synthetic ranking round by round", "[cost][long]") {
  MlpModel model;
  const std::vector<TrainingSample> held_out = test::synthetic_samples(2, 5000, 200);
  const double untrained = rank_report(model, held_out).pairwise_accuracy();
  for (std::uint32_t round = 0; round < 8; ++round) {
    model.update(test::synthetic_samples(2, 64 * round, 64));
  }
  const RankReport report = rank_report(model, held_out);
  CHECK(untrained < 0.65);
  CHECK(report.pairwise_accuracy() > 0.85);
  CHECK(report.best_of_top > 0.9);
  CHECK(model.last_training().num_samples == 512);
  CHECK(model.last_training().num_steps == model.options().steps_per_update);
  CHECK(model.last_training().last_loss < model.last_training().first_loss);
}

TEST_CASE("mlp: two tasks of different scale share one model", "[cost][long]") {
  MlpModel model;
  std::vector<TrainingSample> both = test::synthetic_samples(2, 0, 256, 0);
  const std::vector<TrainingSample> other = test::synthetic_samples(2, 256, 256, 99);
  both.insert(both.end(), other.begin(), other.end());
  model.update(both);
  CHECK(rank_report(model, test::synthetic_samples(2, 5000, 100, 0)).pairwise_accuracy() > 0.8);
  CHECK(rank_report(model, test::synthetic_samples(2, 6000, 100, 99)).pairwise_accuracy() > 0.8);
}

TEST_CASE("mlp: same seed and samples, same bytes", "[cost]") {
  const auto train = [](std::uint64_t seed) {
    MlpModel model(small(seed));
    model.update(test::synthetic_samples(2, 0, 100));
    model.update(test::synthetic_samples(2, 100, 30));
    return model.save().value();
  };
  CHECK(train(1) == train(1));
  CHECK(train(1) != train(2));
}

TEST_CASE("mlp: a score does not depend on its neighbours", "[cost]") {
  MlpModel model;
  model.update(test::synthetic_samples(2, 0, 64));
  const std::vector<float> together = test::scores_of(model, programs());
  for (std::size_t i = 0; i < programs().size(); i += 7) {
    CHECK(test::scores_of(model, {programs()[i]})[0] == together[i]);
  }
  std::vector<float> in_parts(programs().size());
  for (std::size_t begin = 0; begin < in_parts.size(); begin += 75) {
    model.predict(std::span(programs()).subspan(begin, 75), std::span(in_parts).subspan(begin, 75));
  }
  CHECK(in_parts == together);
}

TEST_CASE("mlp: several threads predict what one predicts", "[cost][threads]") {
  MlpModel model(small());
  model.update(test::synthetic_samples(2, 0, 64));
  const std::vector<float> expected = test::scores_of(model, programs());
  std::vector<std::vector<float>> scores(3, std::vector<float>(programs().size()));
  std::vector<std::thread> threads;
  for (std::vector<float>& out : scores) {
    threads.emplace_back([&model, &out] { model.predict(programs(), out); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<float>& out : scores) {
    CHECK(out == expected);
  }
}

TEST_CASE("mlp: save and load, through bytes and a file", "[cost]") {
  MlpModel model(small(5));
  model.update(test::synthetic_samples(2, 0, 100));
  const std::vector<float> expected = test::scores_of(model, programs());
  const std::string bytes = model.save().value();

  MlpModel from_bytes;  // another width: the file's is taken over
  REQUIRE(from_bytes.load(bytes).has_value());
  CHECK(from_bytes.is_trained());
  CHECK(from_bytes.options().num_hidden == 32);
  CHECK(test::scores_of(from_bytes, programs()) == expected);
  CHECK(from_bytes.save().value() == bytes);

  const std::string path = "mlp_test_" + std::to_string(hash_text(bytes) ^ test::seed()) + ".model";
  REQUIRE(save_to_file(model, path).has_value());
  MlpModel from_file;
  REQUIRE(load_from_file(from_file, path).has_value());
  std::remove(path.c_str());
  CHECK(test::scores_of(from_file, programs()) == expected);
  from_file.update(test::synthetic_samples(2, 100, 100));
  CHECK(test::scores_of(from_file, programs()) != expected);
}

TEST_CASE("mlp: a model that does not fit is an error and changes nothing", "[cost]") {
  MlpModel model(small(5));
  model.update(test::synthetic_samples(2, 0, 100));
  const std::string bytes = model.save().value();
  const FeatureSchema schema{ansor_schema()};
  const auto payload = unframe_model(bytes, "mlp", MlpModel::schema_version, schema);
  const auto error_of = [&model](const std::string& damaged) {
    const auto result = model.load(damaged);
    REQUIRE_FALSE(result.has_value());
    return result.error();
  };
  CHECK(error_of(frame_model("mlp", MlpModel::schema_version + 1, *payload, schema)) ==
        CostModelError::model_schema);
  CHECK(error_of(RandomModel(1).save().value()) == CostModelError::wrong_model);
  std::vector<std::string> tags = ansor_schema()->tags();
  tags[7] = "flops";
  const auto other = make_shared_of<const BlockSchema>("ansor164", tags);
  const auto refused = error_of(frame_model("mlp", MlpModel::schema_version, *payload, {other}));
  CHECK(refused == CostModelError::feature_schema);
  CHECK(refused.message == "trained on another feature schema: block \"ansor164\": no column "
                           "\"flops\" any more, column \"int_mad\" is new");
  CHECK(error_of(bytes.substr(0, bytes.size() / 2)) == CostModelError::truncated);
  const auto reframed = [](std::string_view content) {
    return frame_model("mlp", MlpModel::schema_version, content, {ansor_schema()});
  };
  CHECK(error_of(reframed(payload->substr(0, payload->size() - 4))) == CostModelError::bad_payload);
  CHECK(error_of(reframed(std::string(*payload) + "more")) == CostModelError::bad_payload);
  std::string huge(*payload);
  huge[3] = 0x7F;
  CHECK(error_of(reframed(huge)) == CostModelError::bad_payload);
  ByteWriter not_a_number;
  not_a_number.raw(payload->substr(0, payload->size() - 4));
  not_a_number.f32(std::numeric_limits<float>::quiet_NaN());
  CHECK(error_of(reframed(not_a_number.take())) == CostModelError::bad_payload);
  CHECK(model.save().value() == bytes);
}

TEST_CASE("mlp: untrained it scores like the random model", "[cost]") {
  const MlpModel model(small(9));
  CHECK_FALSE(model.is_trained());
  CHECK(test::scores_of(model, programs()) == test::scores_of(RandomModel(9), programs()));
}

TEST_CASE("mlp: programs without features or with NaN never win", "[cost]") {
  MlpModel model(small());
  Features broken = programs()[0];
  broken.blocks()[0].values[5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Features> all{{}, programs()[1], broken};
  for (int round = 0; round < 2; ++round) {
    const std::vector<float> scores = test::scores_of(model, all);
    CHECK(scores[0] == invalid_score);
    CHECK(std::isfinite(scores[1]));
    CHECK(scores[2] == invalid_score);
    std::vector<TrainingSample> samples = test::synthetic_samples(2, 0, 40);
    samples.push_back({Features{}, 0, 1e30});
    samples.push_back({broken, 0, 1e30});
    model.update(samples);
    CHECK(model.last_training().num_samples == 40U * (static_cast<unsigned>(round) + 1));
  }
  CHECK(test::scores_of(model, {}).empty());
}

TEST_CASE("mlp: a task in which all failed teaches nothing and breaks nothing", "[cost]") {
  MlpModel model(small());
  std::vector<TrainingSample> failed = test::synthetic_samples(2, 0, 40, 7);
  for (TrainingSample& sample : failed) {
    sample.throughput = 0.0;
  }
  model.update(failed);
  CHECK_FALSE(model.is_trained());
  model.update(test::synthetic_samples(2, 100, 200, 8));
  CHECK(model.is_trained());
  for (float score : test::scores_of(model, programs())) {
    REQUIRE(std::isfinite(score));
  }
  const double accuracy =
      rank_report(model, test::synthetic_samples(2, 5000, 100, 8)).pairwise_accuracy();
  CHECK(accuracy > 0.7);
}

TEST_CASE("mlp: failures rank behind what works", "[cost]") {
  const auto samples = [](std::uint32_t first, std::uint32_t count) {
    std::vector<TrainingSample> result = test::synthetic_samples(2, first, count);
    for (TrainingSample& sample : result) {
      sample.throughput = sample.features.blocks()[0].row(0)[10] > 6.0F ? 0.0 : 1e9;
    }
    return result;
  };
  MlpModel model;
  model.update(samples(0, 400));
  CHECK(rank_report(model, samples(5000, 200)).pairwise_accuracy() > 0.72);
}

TEST_CASE("mlp: the training set is bounded", "[cost]") {
  MlpOptions options = small();
  options.max_samples = 50;
  MlpModel model(options);
  model.update(test::synthetic_samples(2, 0, 40));
  model.update(test::synthetic_samples(2, 40, 40));
  CHECK(model.last_training().num_samples == 50);
}

TEST_CASE("mlp: a width out of range is asserted", "[cost]") {
  MlpOptions options;
  options.num_hidden = 0;
  CHECK_THROWS_AS(MlpModel(options), test::AssertionFailed);
}

TEST_CASE("mlp: the gradient is the slope of the score along every number", "[cost]") {
  MlpModel model(small(3));
  Features slopes = programs()[0];
  CHECK_FALSE(model.gradient(programs()[0], slopes));  // untrained: as it was
  CHECK(slopes == programs()[0]);
  model.update(test::synthetic_samples(2, 0, 200));
  CHECK_FALSE(model.gradient({}, slopes));
  std::size_t num_compared = 0, num_kinks = 0;
  for (std::size_t p = 0; p < 6; ++p) {
    const Features& program = programs()[p];
    REQUIRE(model.gradient(program, slopes));
    const FeatureBlock& rows = program.block("ansor164");
    REQUIRE(slopes.block("ansor164").num_rows == rows.num_rows);
    const double here = test::scores_of(model, {program})[0];
    for (std::size_t i = 0; i < rows.values.size(); i += 3) {
      const auto moved = [&](float by) {
        Features other = program;
        other.blocks()[0].values[i] += by;
        return static_cast<double>(test::scores_of(model, {other})[0]);
      };
      constexpr float step = 1.0F / 64;
      const double right = (moved(step) - here) / step, left = (here - moved(-step)) / step;
      if (std::abs(right - left) > 5e-3) {
        ++num_kinks;  // a rectifier switched in between, or the limit of an input
        continue;
      }
      CHECK(slopes.block("ansor164").values[i] == test::Approx(0.5 * (left + right)).margin(5e-3));
      ++num_compared;
    }
  }
  CHECK(num_compared > 3 * num_kinks);
}

TEST_CASE("mlp: a step along the gradient raises the score, other blocks have none", "[cost]") {
  MlpModel model(small(4));
  model.update(test::synthetic_samples(2, 0, 200));
  std::size_t num_raised = 0;
  for (std::size_t p = 0; p < 20; ++p) {
    std::vector<FeatureBlock> blocks = programs()[p].blocks();
    static const auto extra =
        make_shared_of<const BlockSchema>("extra", std::vector<std::string>{"x"}, 1U);
    blocks.push_back({extra, 1, {5}});
    Features program(blocks), slopes;
    REQUIRE(model.gradient(program, slopes));
    CHECK(slopes.block("extra").values[0] == 0);
    double norm = 0;
    for (const float slope : slopes.blocks()[0].values) {
      norm += static_cast<double>(slope) * slope;
    }
    const float before = test::scores_of(model, {program})[0];
    for (std::size_t i = 0; norm > 0 && i < blocks[0].values.size(); ++i) {
      program.blocks()[0].values[i] +=
          static_cast<float>(0.01 / std::sqrt(norm)) * slopes.blocks()[0].values[i];
    }
    num_raised += test::scores_of(model, {program})[0] > before ? 1 : 0;
  }
  CHECK(num_raised >= 18);
}

TEST_CASE("mlp: it learns from a block of a user as from the reference's", "[cost]") {
  const auto mine =
      make_shared_of<const BlockSchema>("mine", std::vector<std::string>{"size", "shape"}, 1U);
  MlpOptions options = small(6);
  options.max_epochs = 60;
  options.block = mine;
  MlpModel model(options);
  REQUIRE(model.wanted_blocks().size() == 1);
  CHECK(model.wanted_blocks()[0] == "mine");
  const auto samples = [&](std::uint32_t first, std::uint32_t count) {
    std::vector<TrainingSample> result;
    for (std::uint32_t i = first; i < first + count; ++i) {
      CounterRng rng(8, i);
      const auto size = static_cast<float>(rng.next_double()),
                 shape = static_cast<float>(rng.next_double());
      const double off = static_cast<double>(shape) - 0.5;
      result.push_back({Features({FeatureBlock{mine, 1, {size, shape}}}), 0,
                        1 / (0.1 + static_cast<double>(size) + 4 * off * off)});
    }
    return result;
  };
  model.update(samples(0, 300));
  const double accuracy = rank_report(model, samples(1000, 100)).pairwise_accuracy();
  INFO(accuracy);
  CHECK(accuracy > 0.85);
  Features slopes;
  REQUIRE(model.gradient(samples(2000, 1)[0].features, slopes));
  CHECK(slopes.block("mine").values[0] < 0);                           // larger is slower
  CHECK(test::scores_of(model, {programs()[0]})[0] == invalid_score);  // without the block

  const std::string bytes = model.save().value();
  MlpModel same(options), other(small(6));
  REQUIRE(same.load(bytes).has_value());
  CHECK(test::scores_of(same, test::features_of(samples(0, 20))) ==
        test::scores_of(model, test::features_of(samples(0, 20))));
  CHECK(same.wanted_blocks()[0] == "mine");
  CHECK(other.load(bytes).error().message ==
        "trained on another feature schema: block \"mine\" is not read any more; block "
        "\"ansor164\" is new");
}
