// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/corrected_draft.hpp"

#include "support/catch.hpp"

#include <limits>

#include "cost_fixtures.hpp"

using namespace tensorsmith;

namespace {

/// What the draft and the schedule of a program say, as the blocks that the model wants.
Features drafted(const DraftParts& parts, const ScheduleChoices& choices = {}) {
  const DraftColumns columns = draft_columns(parts);
  return Features({FeatureBlock{draft_schema(), 1, {columns.begin(), columns.end()}},
                   FeatureBlock{choices_schema(), 1, {choices.begin(), choices.end()}}});
}

/// A program of so many cycles, `waiting` (a share) of them for the last cache.
Features program(double cycles, double waiting) {
  DraftParts parts;
  parts.total = cycles;
  parts.core = cycles * (1 - waiting);
  parts.levels[2] = cycles * waiting;
  return drafted(parts);
}

/// Of `count` programs: half of them wait for the last cache and take `times` their draft.
std::vector<TrainingSample> samples_where_waiting_takes(double times, std::uint32_t count,
                                                        std::uint32_t task = 0, double unit = 1) {
  std::vector<TrainingSample> samples;
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool waits = i % 2 == 0;
    const double cycles = 1e6 * (1 + 0.01 * i);
    samples.push_back(
        {program(cycles, waits ? 0.8 : 0.0), task, 1 / (unit * cycles * (waits ? times : 1))});
  }
  return samples;
}

float score_of(const CostModel& model, const Features& features) {
  return test::scores_of(model, {features})[0];
}

}  // namespace

TEST_CASE("corrected draft: the draft decides beyond a factor of two, chance within it") {
  CorrectedDraft model(7);
  bool differs = false;
  for (std::uint32_t update = 0; update < 20; ++update) {
    CHECK(score_of(model, program(1e6, 0)) > score_of(model, program(2.1e6, 0)));
    differs = differs || score_of(model, program(1e6, 0)) < score_of(model, program(1.1e6, 0));
    model.update({});
  }
  CHECK(differs);
  CHECK(score_of(CorrectedDraft(7), program(1e6, 0)) ==
        score_of(CorrectedDraft(7), program(1e6, 0)));
  CHECK(score_of(model, {}) == invalid_score);
  CHECK(score_of(model, test::synthetic_features(1, 0)) <= 1);  // rows say nothing to it
}

TEST_CASE("corrected draft: a part that is measured slower than drafted counts for more") {
  CorrectedDraft model(1);
  const Features waits = program(0.5e6, 0.8), computes = program(1.2e6, 0);
  CHECK(score_of(model, waits) > score_of(model, computes));
  model.update(samples_where_waiting_takes(16, 32));
  CHECK(score_of(model, waits) < score_of(model, computes));
}

TEST_CASE("corrected draft: among programs of one draft the choices of their schedules count") {
  const auto with_tile = [](double rows, double columns) {
    DraftParts parts;
    parts.total = parts.core = 1e6;
    ScheduleChoices choices{};
    choices[2] = static_cast<float>(rows);
    choices[5] = static_cast<float>(columns);
    return drafted(parts, choices);
  };
  std::vector<TrainingSample> samples;
  for (std::uint32_t i = 0; i < 24; ++i) {  // the more rows, the slower; four columns are best
    const double rows = i % 4, columns = 2 + i / 4, from_best = columns - 4;
    samples.push_back({with_tile(rows, columns), 0,
                       1 / (1e6 * math::exp(0.5 * rows + 0.5 * from_best * from_best))});
  }
  CorrectedDraft model(1);
  model.update(samples);
  CHECK(score_of(model, with_tile(0, 4)) > score_of(model, with_tile(3, 4)));
  CHECK(score_of(model, with_tile(0, 4)) > score_of(model, with_tile(0, 6)));
  CHECK(score_of(model, with_tile(1, 3.5)) > score_of(model, with_tile(2.5, 6.5)));
}

TEST_CASE("corrected draft: the scale of a task is its own") {
  CorrectedDraft one(1), two(1);
  const auto samples = samples_where_waiting_takes(16, 32);
  one.update(samples);
  two.update(samples);
  one.update({});
  two.update(samples_where_waiting_takes(16, 32, 1, 1e-9));
  for (const double waiting : {0.0, 0.4, 0.8}) {
    CAPTURE(waiting);
    CHECK(score_of(one, program(1e6, waiting)) ==
          test::Approx(score_of(two, program(1e6, waiting))).margin(0.1));
  }
}

TEST_CASE("corrected draft: what nobody measured is believed to be nearly as good as the best") {
  const auto with = [](double waiting, double tiles, double ahead) {
    DraftParts parts;
    parts.total = 1e6;
    parts.core = 1e6 * (1 - waiting);
    parts.tiles = 1e6 * tiles;
    parts.ahead = 1e6 * ahead;
    parts.levels = {1e6 * ahead, 1e6 * tiles, 1e6 * waiting, 0, 0};
    return drafted(parts);
  };
  // Nearly all were taken from a corner where the draft is far too low.
  std::vector<TrainingSample> samples;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const double times = i % 8 == 0 ? 1 : 16;
    samples.push_back(
        {with(i % 8 == 0 ? 0.7 : 0.8, 1e-4 * (i % 3), 1e-4 * (i % 5)), 0, 1 / (1e6 * times)});
  }
  CorrectedDraft model(1);
  model.update(samples);
  CHECK(score_of(model, with(0.1, 0.9, 0.5)) > score_of(model, with(0.8, 1e-4, 2e-4)));
}

TEST_CASE("corrected draft: programs that fail count as slow, alone and beside others") {
  CorrectedDraft model(1);
  std::vector<TrainingSample> samples = samples_where_waiting_takes(1, 32);
  for (std::size_t i = 0; i < samples.size(); i += 2) {
    samples[i].throughput = 0;
  }
  model.update(samples);
  CHECK(score_of(model, program(0.7e6, 0.8)) < score_of(model, program(1.2e6, 0)));
  CorrectedDraft only_failures(1);
  only_failures.update({&samples[0], 1});
  CHECK(score_of(only_failures, program(1e6, 0.8)) < score_of(only_failures, program(0.4e6, 0.8)));
}

TEST_CASE("corrected draft: the latest samples are kept, broken ones ignored") {
  CorrectedDraft model(1), fresh(1);
  std::vector<TrainingSample> broken = samples_where_waiting_takes(2, 4);
  broken[0].features.blocks()[0].values[3] = std::numeric_limits<float>::quiet_NaN();
  broken[1].throughput = std::numeric_limits<double>::infinity();
  broken[2].features.blocks()[1].values.pop_back();
  broken[3].features = {};
  model.update(broken);
  CHECK(model.save()->size() == CorrectedDraft(1).save()->size());
  const auto late = samples_where_waiting_takes(16, CorrectedDraft::max_samples);
  model.update(samples_where_waiting_takes(0.1, 64));
  model.update(late);
  fresh.update({});
  fresh.update({});
  fresh.update(late);
  CHECK(*model.save() == *fresh.save());
}

TEST_CASE("corrected draft: saved and loaded it scores the same, damaged it is refused") {
  CorrectedDraft model(3), other(4);
  model.update(samples_where_waiting_takes(16, 20));
  const std::string bytes = *model.save();
  REQUIRE(other.load(bytes));
  std::vector<Features> programs;
  for (int i = 0; i < 20; ++i) {
    programs.push_back(program(1e5 * (i + 1), 0.05 * i));
  }
  CHECK(test::scores_of(model, programs) == test::scores_of(other, programs));

  const std::vector<float> before = test::scores_of(other, programs);
  CHECK(other.load(RandomModel(1).save().value()).error() == CostModelError::wrong_model);
  CHECK(other.load(bytes.substr(0, bytes.size() - 1)).error() == CostModelError::truncated);
  const auto refused = [&](const std::string& payload) {
    return other
               .load(frame_model("draft", CorrectedDraft::schema_version, payload,
                                 CorrectedDraft::schema()))
               .error() == CostModelError::bad_payload;
  };
  ByteWriter too_many;  // samples than there are
  too_many.u64(1);
  too_many.u32(1);
  too_many.u32(0xFFFFFFFF);
  CHECK(refused(too_many.take()));
  ByteWriter not_finite;
  not_finite.u64(1);
  not_finite.u32(1);
  not_finite.u32(1);
  for (std::size_t c = 0; c < CorrectedDraft::num_columns; ++c) {
    not_finite.f32(std::numeric_limits<float>::infinity());
  }
  not_finite.u32(0);
  not_finite.f64(0);
  not_finite.u32(0);
  CHECK(refused(not_finite.take()));
  CHECK(test::scores_of(other, programs) == before);
}
