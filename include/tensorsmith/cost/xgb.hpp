// SPDX-License-Identifier: Apache-2.0
// XgbModel: the reference's cost model, boosted trees whose scores of a program's rows are summed.
//
// Floor 6; compiled in lib/xgb (libxgboost, C interface). Objective, parameters, early stopping and
// the training from scratch on all that was measured: Ansor reference, ch. 7. Another version of
// the library grows other trees: fit and ranking compare, single scores do not.
// Not here: the choice of random scores until enough was measured (search policy).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"

namespace tensorsmith {

/// The reference's values, by its names.
struct XgbOptions {
  std::uint64_t seed = 43;
  std::uint32_t max_depth = 10;
  float gamma = 0.001F;
  float eta = 0.2F;
  std::uint32_t num_rounds = 10000;          ///< trees at most
  std::uint32_t early_stopping_rounds = 50;  ///< without a smaller error of the training set
  std::uint32_t max_samples = 16384;         ///< programs kept for training; the oldest are dropped
};

/// What the last update() did.
struct XgbTrainingReport {
  std::uint32_t num_samples = 0;  ///< programs in the training set
  std::uint32_t num_rows = 0;
  std::uint32_t num_trees = 0;
  std::uint32_t best_round = 0;  ///< the round, from 0, whose error was the smallest
  double best_rmse = 0.0;  ///< "p-rmse": over the rows, of the program's sum against its label
};

/// Untrained, it scores like RandomModel. The same samples in the same order give the same trees:
/// the library is given one thread.
class XgbModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit XgbModel(const XgbOptions& options = {});
  ~XgbModel() override;

  std::string_view name() const override { return "xgb"; }

  /// Adds the samples and trains anew on all. Samples without features, or with numbers that are
  /// not finite, are ignored; failed ones (throughput 0) have label and weight 0.
  void update(std::span<const TrainingSample> samples) override;

  void predict(std::span<const Features> programs, std::span<float> scores) const override;

  /// Trees, seed and update counter; not the training set.
  Result<std::string, CostModelFault> save() const override;

  /// The training set of this object is forgotten: the next update() trains on its samples alone.
  Result<Done, CostModelFault> load(std::string_view bytes) override;

  bool is_trained() const;
  const XgbTrainingReport& last_training() const;

 private:
  struct Impl;
  Impl* impl_;  ///< owned; unique_ptr would cost this header 14k preprocessed lines
};

/// The row of the table of models.
inline ModelFactory xgb_factory() {
  return {"xgb", "the reference's boosted trees over the rows of ansor164", false,
          [](const ModelContext& context) {
            XgbOptions options;
            options.seed = context.seed;
            return Shared<CostModel>(make_shared_of<XgbModel>(options));
          }};
}

}  // namespace tensorsmith
