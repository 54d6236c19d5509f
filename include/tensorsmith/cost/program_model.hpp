// SPDX-License-Identifier: Apache-2.0
// ProgramModel: the cost models of TenSet (MLP), Pruner (PAM) and MoA-Pruner, trained while a
// search runs or before.
//
// Floor 6; compiled in lib/cost (Eigen). Networks, losses and constants: Pruner, ch. 4 to 6. By
// default only programs of one task are compared, training goes on from the weights of the round
// before, and the work of one update has a limit; ProgramModelOptions::reference() takes that back.
// Not here: features (feature/pam_rows.hpp), the search that drafts (search/pruner_policy.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"

namespace tensorsmith {

enum class ProgramNetworkKind : std::uint8_t {
  tenset_mlp,  ///< rows of statements only
  pam,         ///< and the flow of data through shared memory
};

struct ProgramModelOptions {
  ProgramNetworkKind network = ProgramNetworkKind::pam;
  std::uint64_t seed = 0;
  std::uint32_t num_epochs = 50;
  std::uint32_t batch_size = 512;
  std::uint32_t patience = 16;  ///< epochs without a lower mean loss after which training ends
  float learning_rate = 7e-4F;
  float weight_decay = 1e-6F;  ///< added to the gradient
  float max_gradient_norm = 0.5F;
  bool compares_tasks = false;  ///< a batch is one list, whatever its programs compute
  bool starts_over = false;     ///< every training begins at random weights
  bool refits_scales = false;   ///< of inputs, at every training; weights stay as they are
  bool settles_norm = true;     ///< statistics of the norm: of the final weights, not running
  /// Programs that one update may look at, counted as often as it does; 0: no limit.
  std::uint32_t max_visits = 16384;
  std::uint32_t max_samples = 16384;  ///< kept for training; the oldest are dropped

  /// Momentum adaptation (MoA): every training begins at a slow copy of the source's weights, which
  /// moves towards each result by 1 - momentum; 0: no slow copy.
  float momentum = 0;
  std::uint32_t update_interval = 1;  ///< trains at every n-th update
  /// Predicts with the source itself as long as it orders new measurements better.
  bool falls_back = true;

  static ProgramModelOptions tenset_mlp() {
    ProgramModelOptions options;
    options.network = ProgramNetworkKind::tenset_mlp;
    options.patience = 8;
    return options;
  }
  static ProgramModelOptions pam() { return {}; }
  static ProgramModelOptions moa() {
    ProgramModelOptions options;
    options.momentum = 0.99F;
    options.update_interval = 4;
    return options;
  }
  /// As the reference trains.
  ProgramModelOptions reference() const {
    ProgramModelOptions options = *this;
    options.compares_tasks = true;
    options.starts_over = momentum == 0;
    options.refits_scales = true;
    options.settles_norm = false;
    options.max_visits = 0;
    options.falls_back = false;
    return options;
  }
};

/// A tensor of released weights: row by row.
struct NamedTensor {
  std::string name;
  std::vector<float> values;
};

/// What the last update() did.
struct ProgramTrainingReport {
  std::uint32_t num_samples = 0, num_epochs = 0, num_steps = 0;
  double first_loss = 0, last_loss = 0;  ///< moving average, after the first and the last epoch
};

/// Untrained, it gives every program that can be built the same score, so that the order of the
/// draft stays. The same samples in the same order give the same weights on any number of threads;
/// scores do not depend on how programs are grouped in calls.
class ProgramModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit ProgramModel(const ProgramModelOptions& options = {});
  ~ProgramModel() override;

  /// "tenset-mlp", "pam" or "moa".
  std::string_view name() const override;
  std::span<const std::string_view> wanted_blocks() const override;

  /// Adds the samples and trains, if it is the turn of this update and two programs of a task
  /// differ. Samples without features are ignored; failed ones rank last in their task.
  void update(std::span<const TrainingSample> samples) override;
  void predict(std::span<const Features> programs, std::span<float> scores) const override;

  /// Weights, their slow copy, statistics and input scales; not the training set.
  Result<std::string, CostModelFault> save() const override;
  /// Of "pam" and "moa" either takes the other's; what is loaded is the source.
  Result<Done, CostModelFault> load(std::string_view bytes) override;

  /// Released weights become the source; every tensor must be there, with its size, and numbers
  /// must be finite. On an error the model stays as it was.
  Result<Done, CostModelFault> import(std::span<const NamedTensor> tensors);

  bool is_trained() const;
  std::size_t num_parameters() const;
  const ProgramModelOptions& options() const;
  const ProgramTrainingReport& last_training() const;
  /// Whether scores are those of the source, because what was trained orders worse.
  bool uses_source() const;

 private:
  struct Impl;
  Impl* impl_;  ///< owned; unique_ptr would cost this header 14k preprocessed lines
};

/// The rows of the table of models.
inline ModelFactory tenset_mlp_factory() {
  return {"tenset-mlp", "TenSet's network over the rows of a program", false,
          [](const ModelContext& context) {
            ProgramModelOptions options = ProgramModelOptions::tenset_mlp();
            options.seed = context.seed;
            return Shared<CostModel>(make_shared_of<ProgramModel>(options));
          }};
}
inline ModelFactory pam_factory() {
  return {"pam", "Pruner's network: rows, and how data flows through shared memory", false,
          [](const ModelContext& context) {
            ProgramModelOptions options = ProgramModelOptions::pam();
            options.seed = context.seed;
            return Shared<CostModel>(make_shared_of<ProgramModel>(options));
          }};
}
inline ModelFactory moa_factory() {
  return {"moa", "Pruner's network, adapted from another device by momentum (load one)", false,
          [](const ModelContext& context) {
            ProgramModelOptions options = ProgramModelOptions::moa();
            options.seed = context.seed;
            return Shared<CostModel>(make_shared_of<ProgramModel>(options));
          }};
}

}  // namespace tensorsmith
