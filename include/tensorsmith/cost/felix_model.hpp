// SPDX-License-Identifier: Apache-2.0
// FelixModel: the network of Felix over the 154 features of every stored buffer, trained while a
// search runs or before.
//
// Floor 6; compiled in lib/cost (Eigen). Felix, ch. 5: by default a score is the logarithm of the
// throughput. Gradients are clipped before the step (the released code does it behind), and the
// first training from random weights begins at the mean of its labels. Not here: the features
// (feature/felix_rows.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"

namespace tensorsmith {

enum class FelixLoss : std::uint8_t {
  log_square,  ///< a score is ln(throughput)
  square,      ///< throughput / FelixModelOptions::label_unit
  rank,        ///< pairs of programs of one task; a score has no unit
};

struct FelixModelOptions {
  FelixLoss loss = FelixLoss::log_square;
  std::uint64_t seed = 0;
  double label_unit = 1e5;
  float learning_rate = 7e-4F;         ///< of the first training from random weights
  float online_learning_rate = 2e-4F;  ///< of all others
  float weight_decay = 1e-6F;          ///< added to the gradient
  float max_gradient_norm = 0.5F;
  std::uint32_t batch_size = 32;
  std::uint32_t min_samples = 8;      ///< fewer are not trained with
  std::uint32_t max_visits = 8192;    ///< programs that one training looks at, counted each time
  std::uint32_t max_samples = 16384;  ///< kept for training; the oldest are dropped

  /// As Felix trains between rounds.
  static FelixModelOptions reference() {
    FelixModelOptions options;
    options.learning_rate = options.online_learning_rate = 1e-4F;
    options.min_samples = 256;
    options.max_visits = 30000;
    return options;
  }
  /// Of a training with so many samples; 0: it does not take place.
  std::uint32_t num_epochs(std::uint32_t num_samples) const {
    return num_samples < min_samples || num_samples == 0 ? 0 : max_visits / num_samples;
  }
  /// It ends after so many epochs without a lower loss.
  static std::uint32_t patience(std::uint32_t num_epochs) { return num_epochs / 5; }
};

struct FelixTrainingReport {
  std::uint32_t num_samples = 0, num_epochs = 0, num_steps = 0;
  double first_loss = 0, last_loss = 0;  ///< means of the first and the last epoch
};

/// Untrained, it gives every program that can be built the same score. The same samples in the same
/// order give the same weights; scores do not depend on how programs are grouped in calls.
class FelixModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit FelixModel(const FelixModelOptions& options = {});
  ~FelixModel() override;

  std::string_view name() const override { return "felix-mlp"; }
  std::span<const std::string_view> wanted_blocks() const override;

  /// Adds the samples and trains with all that are kept. Failed ones, and those with features that
  /// are not finite or beyond 100, are ignored.
  void update(std::span<const TrainingSample> samples) override;
  void predict(std::span<const Features> programs, std::span<float> scores) const override;
  bool gradient(const Features& program, Features& result) const override;
  bool gradients(std::span<const Features> programs, std::span<Features> results) const override;

  /// Weights, not the training set.
  Result<std::string, CostModelFault> save() const override;
  Result<Done, CostModelFault> load(std::string_view bytes) override;

  bool is_trained() const;
  std::size_t num_parameters() const;
  const FelixModelOptions& options() const;
  const FelixTrainingReport& last_training() const;

 private:
  struct Impl;
  Impl* impl_;  ///< owned; unique_ptr would cost this header 14k preprocessed lines
};

/// The row of the table of models.
inline ModelFactory felix_mlp_factory() {
  return {"felix-mlp", "Felix's network over the 154 features of every stored buffer", false,
          [](const ModelContext& context) {
            FelixModelOptions options;
            options.seed = context.seed;
            return Shared<CostModel>(make_shared_of<FelixModel>(options));
          }};
}

}  // namespace tensorsmith
