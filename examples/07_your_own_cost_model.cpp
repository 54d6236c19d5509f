// SPDX-License-Identifier: Apache-2.0
// Lesson 7: let a cost model of your own decide what is worth a measurement, by features of your
// own.
//
// A model names the blocks of features that it reads (docs/cost-models.md), returns one score per
// program, and is shown every measurement. This one reads the reference's rows and a block that is
// written here, the size of the lowered program. It has a guess to begin with, the cache lines that
// a program moves, and corrects it by the most similar program that was measured.
// requires: llvm json
#include <atomic>
#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/feature/lowered_part.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/tensorsmith.hpp"

namespace ts = tensorsmith;

/// One row per program: how many loops and stores are left when it is lowered, as logarithms.
ts::FeatureExtractor code_size_block() {
  return {
      ts::make_shared_of<const ts::BlockSchema>("code_size",
                                                std::vector<std::string>{"loops", "stores"}, 1U),
      [](const ts::ProgramView& view, const ts::FeatureContext& context, ts::FeatureBlock& block) {
        const auto& program = view.part<ts::lowered_program_of>(context);  // lowered once
        if (!program) {
          return false;  // it cannot be built
        }
        float loops = 0, stores = 0;
        for (const ts::Stmt& statement : program->stmts) {
          loops += std::holds_alternative<ts::For>(statement) ? 1.0F : 0.0F;
          stores += std::holds_alternative<ts::Store>(statement) ? 1.0F : 0.0F;
        }
        const std::span<float> row = block.add_row();
        row[0] = std::log2(1 + loops);
        row[1] = std::log2(1 + stores);
        return true;
      }};
}

/// Predicts what the nearest measured program reached.
class NearestNeighbour {
 public:
  /// `num_asked` outlives the model; searches ask from several threads at once.
  explicit NearestNeighbour(std::atomic<int>& num_asked) : num_asked_(&num_asked) {}

  std::string_view name() const { return "nearest neighbour"; }
  /// Without this function it would read "ansor164" alone.
  std::span<const std::string_view> wanted_blocks() const {
    static constexpr std::string_view blocks[] = {"ansor164", "code_size"};
    return blocks;
  }

  void update(std::span<const ts::TrainingSample> samples) {
    for (const ts::TrainingSample& sample : samples) {
      if (!sample.features.empty()) {  // empty: the program could not be built
        known_.push_back({summary(sample.features), sample.throughput});
      }
    }
  }
  void predict(std::span<const ts::Features> programs, std::span<float> scores) const {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] = programs[i].empty() ? ts::invalid_score : score(summary(programs[i]));
      ++*num_asked_;
    }
  }
  std::size_t num_known() const { return known_.size(); }

 private:
  struct Measured {
    std::vector<float> at;
    double throughput;
  };
  /// Columns of all stored buffers, added up, and the own ones; they are logarithms already.
  static std::vector<float> summary(const ts::Features& program) {
    const ts::FeatureBlock& rows = program.block("ansor164");
    std::vector<float> sum(3);
    for (std::size_t r = 0; r < rows.num_rows; ++r) {
      const auto row = rows.row(r);
      sum[0] += row[ts::column(0, ts::BufferColumn::lines)];
      sum[1] += row[ts::column(ts::HeadColumn::vec_len)];
      sum[2] += row[ts::column(ts::TailColumn::num_loops)];
    }
    for (const float value : program.block("code_size").row(0)) {
      sum.push_back(value);
    }
    return sum;
  }
  float score(const std::vector<float>& at) const {
    float best = -at[0], least = INFINITY;  // a guess: fewer cache lines are better
    for (const Measured& other : known_) {
      float distance = 0;
      for (std::size_t i = 0; i < at.size(); ++i) {
        distance += (at[i] - other.at[i]) * (at[i] - other.at[i]);
      }
      if (distance < least) {
        least = distance;
        best = static_cast<float>(other.throughput * 1e-9) - 0.01F * distance;
      }
    }
    return best;
  }

  std::vector<Measured> known_;
  std::atomic<int>* num_asked_;
};
static_assert(ts::CostModelLike<NearestNeighbour>);

int main() {
  ts::ops::GemmParams params;
  params.m = 64, params.n = 64, params.k = 64;
  const ts::ops::Workload gemm = ts::ops::gemm(params);

  std::atomic<int> num_asked = 0;
  ts::CostModelAdapter<NearestNeighbour> model{NearestNeighbour(num_asked)};
  ts::TuneOptions options;
  options.budget = {0, 24};
  options.round_size = 8;  // it learns after every eight trials
  options.model = &model;
  options.features = {code_size_block()};
  const ts::TuneResult result = ts::tune({gemm.dag, ts::host_target(), gemm.name}, options);

  std::printf("%lld trials: the model was asked for %d scores and knows %zu programs\n",
              static_cast<long long>(result.summary.trials), num_asked.load(),
              model.model().num_known());
  const bool has_learned = model.model().num_known() > 0 && num_asked > 0;
  return result.has_best() && result.summary.is_verified && has_learned ? 0 : 1;
}
