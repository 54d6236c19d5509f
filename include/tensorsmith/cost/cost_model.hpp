// SPDX-License-Identifier: Apache-2.0
// CostModel: orders programs by their features before they are measured, learns from measurements.
//
// Floor 6. Interface after the Ansor reference, ch. 7 (update, predict; higher is better). The
// concept CostModelLike is what a user's own type must offer; CostModel is the erased form that
// search holds, CostModelAdapter leads from the one to the other. A model says by name which blocks
// of features it reads (feature/feature_table.hpp); programs come with these, in that order.
// Not here: feature extraction, choice of candidates, any particular model.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/cost/model_bytes.hpp"
#include "tensorsmith/cost/ranking.hpp"
#include "tensorsmith/feature/features.hpp"
#include "tensorsmith/support/flat_map.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// One measured program.
struct TrainingSample {
  Features features;
  std::uint32_t task = 0;   ///< programs are compared with others of the same task only
  double throughput = 0.0;  ///< flop/s or 1/s, the same unit within a task; 0 = failed
};

/// Score of a program without features: it never wins.
constexpr float invalid_score = -static_cast<float>(math::infinity);

template <class M>
concept CostModelLike = requires(M& model, const M& fixed, std::span<const TrainingSample> samples,
                                 std::span<const Features> programs, std::span<float> scores) {
  { fixed.name() } -> std::convertible_to<std::string_view>;
  model.update(samples);
  fixed.predict(programs, scores);
};

/// Which blocks it reads is optional for a user's model, too; one that does not say reads
/// "ansor164".
template <class M>
concept StatesItsBlocks = requires(const M& fixed) {
  { fixed.wanted_blocks() } -> std::convertible_to<std::span<const std::string_view>>;
};

/// Saving is optional for a user's model: `std::string save() const`,
/// `Result<Done, E> load(std::string_view)` with E CostModelFault or CostModelError.
template <class M>
concept SaveableCostModel = CostModelLike<M> &&
    requires(M& model, const M& fixed, std::string_view bytes) {
  { fixed.save() } -> std::convertible_to<std::string>;
  {CostModelFault(model.load(bytes).error())};
};

/// For searches by gradient, optional: `bool gradient(const Features& program, Features& result)
/// const`, see CostModel::gradient.
template <class M>
concept GradientModel = requires(const M& fixed, const Features& program, Features& result) {
  { fixed.gradient(program, result) } -> std::same_as<bool>;
};

/// What a model that does not say reads.
inline std::span<const std::string_view> default_blocks() {
  static constexpr std::array<std::string_view, 1> blocks{ansor_block_name};
  return blocks;
}

class CostModel {
 public:
  CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  virtual ~CostModel() = default;

  virtual std::string_view name() const = 0;

  /// The names of the blocks of features that it reads, in its order. The same for all its life.
  virtual std::span<const std::string_view> wanted_blocks() const { return default_blocks(); }

  /// Learns from further measurements; earlier ones are kept by the model as it sees fit.
  virtual void update(std::span<const TrainingSample> samples) = 0;

  /// Writes one score per program, higher is better, invalid_score for empty features. A score
  /// depends on the program and the model only, not on its neighbours in the call; concurrent
  /// calls on one model are safe as long as nobody updates it.
  virtual void predict(std::span<const Features> programs, std::span<float> scores) const = 0;

  /// d score / d feature of one program: `result` gets the blocks of the program, each number
  /// replaced by the slope of the score along it. False, and `result` is as it was: the model has
  /// none, not yet, or not for this program.
  virtual bool gradient([[maybe_unused]] const Features& program,
                        [[maybe_unused]] Features& result) const {
    return false;
  }

  /// gradient() of several programs, which may be cheaper at once. False if one of them has none.
  virtual bool gradients(std::span<const Features> programs, std::span<Features> results) const {
    bool are_all = true;
    for (std::size_t i = 0; i < programs.size() && are_all; ++i) {
      are_all = gradient(programs[i], results[i]);
    }
    return are_all;
  }

  /// The whole model as bytes, for load() of the same kind of model.
  virtual Result<std::string, CostModelFault> save() const = 0;

  /// Replaces the model; on an error it stays as it was.
  virtual Result<Done, CostModelFault> load(std::string_view bytes) = 0;
};

/// Makes any CostModelLike a CostModel.
template <CostModelLike M>
class CostModelAdapter final : public CostModel {
 public:
  explicit CostModelAdapter(M model) : model_(std::move(model)) {}

  std::string_view name() const override { return model_.name(); }
  std::span<const std::string_view> wanted_blocks() const override {
    if constexpr (StatesItsBlocks<M>) {
      return model_.wanted_blocks();
    } else {
      return default_blocks();
    }
  }
  void update(std::span<const TrainingSample> samples) override { model_.update(samples); }
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    model_.predict(programs, scores);
  }
  bool gradient([[maybe_unused]] const Features& program,
                [[maybe_unused]] Features& result) const override {
    if constexpr (GradientModel<M>) {
      return model_.gradient(program, result);
    } else {
      return false;
    }
  }
  Result<std::string, CostModelFault> save() const override {
    if constexpr (SaveableCostModel<M>) {
      return std::string(model_.save());
    } else {
      return refuse(CostModelError::not_supported);
    }
  }
  Result<Done, CostModelFault> load([[maybe_unused]] std::string_view bytes) override {
    if constexpr (SaveableCostModel<M>) {
      const auto loaded = model_.load(bytes);
      if (!loaded) {
        return fail(CostModelFault(loaded.error()));
      }
      return Done{};
    } else {
      return refuse(CostModelError::not_supported);
    }
  }

  M& model() { return model_; }
  const M& model() const { return model_; }

 private:
  M model_;
};

inline Result<Done, CostModelFault> save_to_file(const CostModel& model, const std::string& path) {
  const Result<std::string, CostModelFault> bytes = model.save();
  if (!bytes) {
    return fail(bytes.error());
  }
  return write_model_file(path, *bytes);
}

inline Result<Done, CostModelFault> load_from_file(CostModel& model, const std::string& path) {
  const Result<std::string, CostModelFault> bytes = read_model_file(path);
  if (!bytes) {
    return fail(bytes.error());
  }
  return model.load(*bytes);
}

/// Labels of the samples in [0, 1]: throughput / best throughput of the task among `samples`.
/// Failures, and every program of a task in which all failed, have label 0.
inline std::vector<float> normalized_labels(std::span<const TrainingSample> samples) {
  FlatMap<std::uint32_t, double> best;
  for (const TrainingSample& sample : samples) {
    double& entry = best[sample.task];
    entry = sample.throughput > entry ? sample.throughput : entry;
  }
  std::vector<float> labels;
  labels.reserve(samples.size());
  for (const TrainingSample& sample : samples) {
    labels.push_back(normalized_throughput(sample.throughput, best[sample.task]));
  }
  return labels;
}

/// How well the model orders programs whose throughput is known.
inline RankReport rank_report(const CostModel& model, std::span<const TrainingSample> samples,
                              std::uint32_t top_k = 10) {
  std::vector<Features> programs;
  std::vector<std::uint32_t> tasks;
  for (const TrainingSample& sample : samples) {
    programs.push_back(sample.features);
    tasks.push_back(sample.task);
  }
  std::vector<float> scores(samples.size());
  model.predict(programs, scores);
  return rank_report(scores, normalized_labels(samples), tasks, top_k);
}

}  // namespace tensorsmith
