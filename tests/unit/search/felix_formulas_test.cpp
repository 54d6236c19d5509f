// SPDX-License-Identifier: Apache-2.0
// Formulas joined to the search: they say of the programs of a form what the extractor says, slopes
// are those of differences, and what a descent rounds to can be built.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/feature/felix_rows.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/felix/felix_policy.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

using tensorsmith::test::Approx;

const char* const product = "gemm:64x48x96:f32";
const char* const convolution = "conv2d:n=1,h=14,w=14,ci=16,co=24,k=3,s=1,p=1";

struct Searched {
  SearchSpace space;
  bool is_gpu;
};
Searched searched(const char* workload, bool is_gpu) {
  Shared<const ComputeDag> dag = ops::parse_workload(workload)->dag;
  if (!is_gpu) {
    return {test::space_of(std::move(dag)), false};
  }
  const HardwareParams hardware = hardware_params(*Target::from_name("sim:a100"));
  return {SearchSpace(
              generate_sketches(std::move(dag), ansor_gpu_rules(), gpu_sketch_options(hardware)),
              gpu_space_options(hardware)),
          true};
}
std::vector<Candidate> draws(const Searched& in, std::uint32_t count) {
  std::vector<Candidate> all;
  for (std::uint32_t i = 0; i < 40 * count && all.size() < count; ++i) {
    CounterRng rng(3, 0, 0, i);
    auto drawn = in.is_gpu ? draw_candidate(in.space, AnsorGpuPopulation{}, rng)
                           : draw_candidate(in.space, AnsorCpuPopulation{}, rng);
    if (drawn) {
      all.push_back(std::move(*drawn));
    }
  }
  REQUIRE(all.size() == count);
  return all;
}
std::optional<TileFormulas> formulas_of(const SearchSpace& space, const TilePoint& tiles) {
  const auto typical = space.build(tiles.typical(), tiles.sketch());
  REQUIRE(typical.has_value());
  return TileFormulas::of(space, tiles, typical->state);
}
Features felix_features(const ProgramView& view) {
  const FelixRows& rows = view.part<felix_rows_of>(FeatureContext{});
  if (rows.tensors.empty()) {
    return {};
  }
  return Features(std::vector<FeatureBlock>{
      {felix_schema(), static_cast<std::uint32_t>(rows.tensors.size()), rows.values}});
}

/// A curved score of the 154 features: arbitrary, but with a gradient.
class CurvedModel final : public CostModel {
 public:
  std::string_view name() const override { return "curved"; }
  std::span<const std::string_view> wanted_blocks() const override { return {&block_, 1}; }
  void update(std::span<const TrainingSample> samples) override { num_samples += samples.size(); }
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      double sum = 0;
      if (programs[i].empty()) {
        scores[i] = invalid_score;
        continue;
      }
      const std::vector<float>& values = programs[i].block(felix_block_name).values;
      for (std::size_t k = 0; k < values.size(); ++k) {
        sum += score_of(k, double{values[k]});
      }
      scores[i] = static_cast<float>(sum);
    }
  }
  bool gradient(const Features& program, Features& result) const override {
    result = program;
    std::vector<float>& values = result.blocks().front().values;
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>(weight(k) - 0.02 * double{values[k]});
    }
    return true;
  }
  static double score_of(std::size_t k, double x) { return weight(k) * x - 0.01 * x * x; }
  Result<std::string, CostModelFault> save() const override {
    return refuse(CostModelError::not_supported);
  }
  Result<Done, CostModelFault> load(std::string_view) override {
    return refuse(CostModelError::not_supported);
  }
  std::size_t num_samples = 0;

 private:
  static double weight(std::size_t k) { return static_cast<double>(k * 37 % 23) / 23 - 0.4; }
  std::string_view block_ = felix_block_name;
};

}  // namespace

TEST_CASE("formulas of a form say of its programs what the extractor says", "[search][felix]") {
  for (const char* workload : {product, convolution}) {
    for (const bool is_gpu : {false, true}) {
      INFO(workload << (is_gpu ? " GPU" : " CPU"));
      const Searched in = searched(workload, is_gpu);
      std::size_t num_equal = 0, num_all = 0;
      for (const Candidate& candidate : draws(in, test::scaled(32))) {
        const TilePoint tiles(in.space, candidate);
        const auto formulas = formulas_of(in.space, tiles);
        REQUIRE(formulas.has_value());
        TileFormulas::Workspace work;
        std::vector<double> values;
        formulas->exact(tiles.start(), 1, work, values);
        const ProgramView view(candidate.state);
        const Features features = felix_features(view);
        const FeatureBlock& rows = features.blocks().front();
        REQUIRE(values.size() == rows.values.size());
        for (std::size_t k = 0; k < values.size(); ++k) {
          const std::size_t column = k % felix_length;
          const bool is_of_loops = column == felix_column(TailColumn::outer_prod) ||
                                   column == felix_column(TailColumn::num_loops) ||
                                   column == felix_column(TailColumn::auto_unroll_max_step) ||
                                   column == felix_column(HeadColumn::vec_num) + 2 ||
                                   column == felix_column(HeadColumn::parallel_num) + 1;
          if (is_of_loops) {
            INFO(felix_name(column));
            CHECK(values[k] == Approx(double{rows.values[k]}).epsilon(1e-5).margin(1e-5));
          }
          // Operations on indices are those of the typical program.
          if (column < 7 || column > 13) {
            num_equal += std::abs(values[k] - double{rows.values[k]}) < 1e-3 ? 1 : 0;
            ++num_all;
          }
        }
      }
      CHECK(static_cast<double>(num_equal) > 0.98 * static_cast<double>(num_all));
    }
  }
}

TEST_CASE("formulas depend on the form alone", "[search][felix]") {
  const Searched in = searched(convolution, false);
  const std::vector<Candidate> all = draws(in, 24);
  std::size_t num_pairs = 0;
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      const TilePoint one(in.space, all[a]), other(in.space, all[b]);
      if (one.sketch() != other.sketch() || one.form() != other.form()) {
        continue;
      }
      const auto first = formulas_of(in.space, one), second = formulas_of(in.space, other);
      TileFormulas::Workspace work;
      std::vector<double> x, y;
      first->features(other.start(), 0.3, 1, work, x);
      second->features(other.start(), 0.3, 1, work, y);
      CHECK(x == y);
      ++num_pairs;
    }
  }
  CHECK(num_pairs > 0);
}

TEST_CASE("formulas that the extractor contradicts do not lead", "[search][felix]") {
  const Searched in = searched(product, false);
  const TilePoint tiles(in.space, draws(in, 1).front());
  const auto build = [&](const std::vector<Step>& steps) {
    return in.space.build(steps, tiles.sketch());
  };
  FormulaCache believed, contradicted;
  const TileFormulas* const found = believed.find(in.space, tiles, build, felix_features);
  CHECK(found != nullptr);
  CHECK(believed.find(in.space, tiles, build, felix_features) == found);
  CHECK(believed.size() == 1);
  CHECK(contradicted.find(in.space, tiles, build, [](const ProgramView& view) {
    Features features = felix_features(view);
    for (std::size_t k = 0; k < felix_length; k += 10) {
      features.blocks().front().row(0)[k] += 1;
    }
    return features;
  }) == nullptr);
}

TEST_CASE("slopes of the joined objective are central differences", "[search][felix]") {
  const CurvedModel model;
  std::size_t compared = 0;
  for (const char* workload : {product, convolution}) {
    for (const bool is_gpu : {false, true}) {
      INFO(workload << (is_gpu ? " GPU" : " CPU"));
      const Searched in = searched(workload, is_gpu);
      const Candidate candidate = draws(in, 1).front();
      const auto formulas = formulas_of(in.space, TilePoint(in.space, candidate));
      REQUIRE(formulas.has_value());
      CounterRng rng(8);
      const auto points = formulas->inside().draw(3, rng);
      REQUIRE(points.size() == 3);
      const std::size_t size = formulas->size();
      std::vector<double> batch(3 * size);
      for (std::size_t c = 0; c < size; ++c) {
        for (std::size_t p = 0; p < 3; ++p) {
          batch[c * 3 + p] = points[p][c];
        }
      }
      std::vector<double> slopes;
      FormulaSlopes joined(*formulas, model);
      REQUIRE(joined.find(batch, 0.4, 3, slopes));
      TileFormulas::Workspace work;
      for (std::size_t p = 0; p < 3; ++p) {
        const auto score = [&](std::size_t c, double by) {
          std::vector<double> at = points[p], values;
          at[c] += by;
          formulas->features(at, 0.4, 1, work, values);
          double sum = 0;
          for (std::size_t k = 0; k < values.size(); ++k) {
            sum += CurvedModel::score_of(k, values[k]);
          }
          return sum;
        };
        for (std::size_t c = 0; c < size; ++c) {
          const double step = 1e-4, here = score(c, 0);
          const double ahead = (score(c, step) - here) / step,
                       behind = (here - score(c, -step)) / step;
          if (std::abs(ahead - behind) < 1e-2 * (1 + std::abs(ahead))) {  // no kink
            CHECK(slopes[c * 3 + p] == Approx((ahead + behind) / 2).epsilon(1e-3).margin(1e-3));
            ++compared;
          }
        }
      }
    }
  }
  CHECK(compared > 100);
}

TEST_CASE("what a descent by formulas rounds to can be built, and is better than where it began",
          "[search][felix]") {
  const CurvedModel model;
  FormulaOptions options;
  for (const char* workload : {product, convolution}) {
    for (const bool is_gpu : {false, true}) {
      INFO(workload << (is_gpu ? " GPU" : " CPU"));
      const Searched in = searched(workload, is_gpu);
      const TilePoint tiles(in.space, draws(in, 1).front());
      const auto formulas = formulas_of(in.space, tiles);
      CounterRng rng(8);
      std::vector<double> points;
      const auto drawn = formulas->inside().draw(4, rng);
      for (std::size_t c = 0; c < formulas->size(); ++c) {
        for (const auto& point : drawn) {
          points.push_back(point[c]);
        }
      }
      const auto found = [&](std::uint32_t steps) {
        return descend_by_formulas(*formulas, model, tiles, options, steps, points,
                                   [] { return false; });
      };
      float best = invalid_score, first = invalid_score;
      for (const RoundedValues& one : found(0)) {
        first = std::max(first, one.score);
      }
      for (const RoundedValues& one : found(test::scaled(64))) {
        best = std::max(best, one.score);
        const auto built = in.space.build(tiles.with_values(one.values), tiles.sketch());
        REQUIRE(built.has_value());
        CHECK(TilePoint(in.space, *built).form() == tiles.form());
      }
      CHECK(best > first);
    }
  }
}

TEST_CASE("rounds led by formulas are the same on any number of threads and repeat nothing",
          "[search][felix]") {
  std::vector<std::string> texts[2];
  for (int run = 0; run < 2; ++run) {
    CurvedModel model;
    SearchCallbacks callbacks;
    callbacks.extract = felix_features;
    callbacks.parallel_for = run == 0 ? ParallelFor() : test::threads(3);
    FelixOptions options;
    options.num_drawn = 32;
    options.formulas.num_seeds = 6;
    options.formulas.descent.num_steps = test::scaled(64);
    options.is_trained = true;
    FelixPolicy<AnsorCpuPopulation> policy(searched(product, false).space, model,
                                           std::move(callbacks), options);
    for (int round = 0; round < 2; ++round) {
      std::vector<Observation> results;
      for (const Proposal& proposal : policy.propose(6)) {
        texts[run].push_back(proposal.text);
        results.push_back({proposal.state, 1e3 + static_cast<double>(proposal.score)});
      }
      CHECK(results.size() == 6);
      policy.observe(results);
    }
    CHECK(model.num_samples == 12);
  }
  CHECK(texts[0] == texts[1]);
  CHECK(std::set<std::string>(texts[0].begin(), texts[0].end()).size() == texts[0].size());
}

}  // namespace tensorsmith
