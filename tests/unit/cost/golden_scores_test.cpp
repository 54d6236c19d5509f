// SPDX-License-Identifier: Apache-2.0
// Scores that models gave when features were still one matrix with a draft beside it: the same
// columns give the same scores, whatever block they come in.
#include "support/catch.hpp"
#include "tensorsmith/cost/corrected_draft.hpp"
#if defined(TENSORSMITH_HAS_EIGEN)
#include "tensorsmith/cost/mlp.hpp"
#endif

using namespace tensorsmith;

namespace {

Features drafted_program(std::uint32_t index) {
  CounterRng rng(11, index);
  DraftParts parts;
  parts.total = 1e5 * (1 + 9 * rng.next_double());
  parts.core = parts.total * rng.next_double();
  parts.tiles = parts.total * 0.1 * rng.next_double();
  parts.ahead = parts.total * 0.3 * rng.next_double();
  for (double& level : parts.levels) {
    level = parts.total * rng.next_double();
  }
  const DraftColumns draft = draft_columns(parts);
  FeatureBlock choices{choices_schema(), 0, {}};
  for (float& choice : choices.add_row()) {
    choice = static_cast<float>(rng.next_below(5));
  }
  return Features({FeatureBlock{draft_schema(), 1, {draft.begin(), draft.end()}}, choices});
}

/// Scores of six programs, before and after two updates of forty samples.
void check_scores(CostModel& model, Features (*program)(std::uint32_t),
                  const std::vector<std::vector<float>>& expected, double epsilon) {
  for (std::uint32_t round = 0; round < expected.size(); ++round) {
    std::vector<Features> programs;
    for (std::uint32_t i = 0; i < expected[round].size(); ++i) {
      programs.push_back(program(1000 + i));
    }
    std::vector<float> scores(programs.size());
    model.predict(programs, scores);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      CAPTURE(round, i);
      CHECK(scores[i] == test::Approx(expected[round][i]).epsilon(epsilon));
    }
    std::vector<TrainingSample> samples;
    for (std::uint32_t i = 0; i < 40; ++i) {
      CounterRng rng(5, i, round);
      samples.push_back(
          {program(40 * round + i), i % 2, i % 9 == 8 ? 0.0 : 1e-6 * (1 + 3 * rng.next_double())});
    }
    model.update(samples);
  }
}

}  // namespace

TEST_CASE("golden: the corrected draft scores as before", "[cost]") {
  CorrectedDraft model(3);
  check_scores(
      model, drafted_program,
      {{-19.2035503F, -18.3930702F, -16.8337784F, -17.7667274F, -19.0874119F, -17.0476608F},
       {-19.7108173F, -19.7323742F, -18.6065903F, -18.854023F, -19.6511459F, -18.5474682F},
       {-19.1840935F, -20.0866089F, -18.503746F, -19.889967F, -19.9555454F, -19.0714874F}},
      1e-6);
}

#if defined(TENSORSMITH_HAS_EIGEN)
namespace {

Features rows_program(std::uint32_t index) {
  CounterRng rng(2, index);
  FeatureMatrix rows;
  const std::uint32_t num_rows = 1 + rng.next_below(4);
  for (std::uint32_t r = 0; r < num_rows; ++r) {
    const auto row = rows.add_row();
    for (std::size_t c = 0; c < 40; ++c) {
      row[c] = static_cast<float>(10.0 * rng.next_double());
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("golden: the mlp scores as before, up to the rounding of another machine", "[cost]") {
  MlpOptions options;
  options.seed = 3;
  options.num_hidden = 32;
  options.steps_per_update = 40;
  MlpModel model(options);
  check_scores(
      model, rows_program,
      {{0.593497872F, 0.369399905F, 0.845697045F, 0.953450322F, 0.267125964F, 0.228998423F},
       {-4.28470182F, -2.62597418F, -3.03132296F, -1.63260269F, -5.32724762F, -2.49887443F},
       {-2.30118465F, -1.45452023F, 1.51453209F, -0.615176857F, -2.94891405F, -1.45155287F}},
      2e-2);
}
#endif
