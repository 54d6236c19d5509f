// SPDX-License-Identifier: Apache-2.0
// MlpModel: the learned cost model, an MLP over the rows of one block of features that is trained
// while the search runs.
//
// Floor 6; compiled in lib/cost (Eigen). Shape and loss: TenSet (NeurIPS 2021 datasets and
// benchmarks): every row through a two-layer encoder, sum over the rows of a program, two residual
// layers, one score; LambdaRank. Own design: inputs are standardised with statistics that follow
// the data, training continues from the current weights with a budget counted in optimiser steps
// (never in time), and only programs of the same task are compared.
// Not here: GPUs, several threads, pre-training corpora.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"

namespace tensorsmith {

struct MlpOptions {
  std::uint64_t seed = 0;
  std::uint32_t num_hidden = 128;        ///< width of all four hidden layers
  std::uint32_t batch_size = 64;         ///< programs per optimiser step
  std::uint32_t steps_per_update = 240;  ///< budget of one update()
  std::uint32_t max_epochs = 60;         ///< passes over the data in one update(), for few samples
  std::uint32_t max_samples = 16384;     ///< programs kept for training; the oldest are dropped
  float learning_rate = 2e-3F;
  float weight_decay = 1e-4F;      ///< decoupled (AdamW)
  float max_gradient_norm = 5.0F;  ///< global L2 clip
  /// What it reads; any block of any number of rows, the rows of a program are encoded and summed.
  Shared<const BlockSchema> block = ansor_schema();
};

/// What the last update() did.
struct MlpTrainingReport {
  std::uint32_t num_samples = 0;  ///< usable programs in the training set
  std::uint32_t num_steps = 0;    ///< optimiser steps taken
  double first_loss = 0.0;        ///< mean loss per batch in the first and the last epoch
  double last_loss = 0.0;
};

/// Untrained, it scores like RandomModel. The same samples in the same order give the same weights,
/// bit for bit, on any number of threads; scores do not depend on how programs are grouped in
/// calls.
class MlpModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit MlpModel(const MlpOptions& options = {});
  ~MlpModel() override;

  std::string_view name() const override { return "mlp"; }
  std::span<const std::string_view> wanted_blocks() const override { return {&block_name_, 1}; }

  /// Adds the samples and trains. Samples without features, or with numbers that are not finite,
  /// are ignored; failed ones (throughput 0) rank last in their task. A call without usable
  /// samples, or before two programs of a task differ, trains nothing.
  void update(std::span<const TrainingSample> samples) override;

  void predict(std::span<const Features> programs, std::span<float> scores) const override;

  /// Of a trained model and a usable program; 0 along what is farther from the data than is told
  /// apart. Where a rectifier switches, the slope of one side.
  bool gradient(const Features& program, Features& result) const override;

  /// Weights, input statistics, shape, seed and update counter; not the training set.
  Result<std::string, CostModelFault> save() const override;

  /// Takes over the shape and the seed of the saved model; further updates fine-tune it. The
  /// training set of this object is forgotten.
  Result<Done, CostModelFault> load(std::string_view bytes) override;

  bool is_trained() const;
  const MlpOptions& options() const;
  const MlpTrainingReport& last_training() const;

 private:
  struct Impl;
  Impl* impl_;  ///< owned; unique_ptr would cost this header 14k preprocessed lines
  std::string_view block_name_;
};

/// The row of the table of models.
inline ModelFactory mlp_factory() {
  return {"mlp", "a network over the rows of ansor164, trained while the search runs", true,
          [](const ModelContext& context) {
            MlpOptions options;
            options.seed = context.seed;
            return Shared<CostModel>(make_shared_of<MlpModel>(options));
          }};
}

}  // namespace tensorsmith
