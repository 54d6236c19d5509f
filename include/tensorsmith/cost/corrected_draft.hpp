// SPDX-License-Identifier: Apache-2.0
// CorrectedDraft: the analytic draft, corrected by how far it was off for programs like this one.
//
// Floor 6. Own design: in a search of a minute a model sees a few hundred noisy times, too few to
// learn from nothing what the draft knows already (docs/decisions/0010). What is learned is the
// logarithm of measured time / draft, by Gaussian process regression (Rasmussen and Williams 2006,
// algorithm 2.1) with an exponential kernel over what the drafts are made of and what the schedules
// chose (docs/decisions/0015); where nothing alike was measured, the draft stands as it is. Chance
// decides among programs that are nearly as good, anew after every update: the best by this model
// alone are variations of one program, and a round of those teaches little.
// Not here: the draft itself (draft_model.hpp), the blocks that are read (draft_block.hpp,
// schedule_choices.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/draft_block.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "tensorsmith/cost/schedule_choices.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

class CorrectedDraft final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 3;
  static constexpr std::size_t num_parts = draft_tags.size();
  static constexpr std::size_t num_columns = num_parts + num_schedule_choices;
  static constexpr std::size_t max_samples = 384;  ///< the latest are kept

  explicit CorrectedDraft(std::uint64_t seed = 0) : seed_(seed) {}

  std::string_view name() const override { return "draft"; }

  std::span<const std::string_view> wanted_blocks() const override {
    static constexpr std::array<std::string_view, 2> blocks{draft_block_name, choices_block_name};
    return blocks;
  }
  static FeatureSchema schema() { return {draft_schema(), choices_schema()}; }

  /// Programs without a draft are ignored. Failed ones count as much slower than their draft.
  void update(std::span<const TrainingSample> samples) override {
    ++num_updates_;
    for (const TrainingSample& sample : samples) {
      Sample kept{{}, sample.task, 0, sample.throughput <= 0};
      if (!read(sample.features, kept.columns)) {
        continue;
      }
      kept.error = kept.has_failed
                       ? 0
                       : -math::log2(sample.throughput) - static_cast<double>(kept.columns[0]);
      if (is_finite(kept)) {
        samples_.push_back(kept);
      }
    }
    if (samples_.size() > max_samples) {
      samples_.erase(samples_.begin(), samples_.end() - static_cast<std::ptrdiff_t>(max_samples));
    }
    settle();
  }

  /// -log2 of the corrected time, up to chance and a constant of the task; chance for features
  /// without a draft.
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
    Columns columns{};
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const float chance = random_score(seed_, num_updates_, programs[i]);
      scores[i] = programs[i].empty()          ? invalid_score
                  : read(programs[i], columns) ? chance - columns[0] - correction(columns)
                                               : chance;
    }
  }

  Result<std::string, CostModelFault> save() const override {
    ByteWriter payload;
    payload.u64(seed_);
    payload.u32(num_updates_);
    payload.u32(static_cast<std::uint32_t>(samples_.size()));
    for (const Sample& sample : samples_) {
      for (std::size_t c = 0; c < num_columns; ++c) {
        payload.f32(sample.columns[c]);
      }
      payload.u32(sample.task);
      payload.f64(sample.error);
      payload.u32(sample.has_failed ? 1 : 0);
    }
    return frame_model(name(), schema_version, payload.take(), schema());
  }

  Result<Done, CostModelFault> load(std::string_view bytes) override {
    const Result<std::string_view, CostModelFault> payload =
        unframe_model(bytes, name(), schema_version, schema());
    if (!payload) {
      return fail(payload.error());
    }
    ByteReader in(*payload);
    const std::uint64_t seed = in.u64();
    const std::uint32_t num_updates = in.u32();
    const std::uint32_t count = in.u32();
    std::vector<Sample> samples;
    for (std::uint32_t i = 0; in.ok() && i < count && i < max_samples; ++i) {
      Sample sample;
      for (std::size_t c = 0; c < num_columns; ++c) {
        sample.columns[c] = in.f32();
      }
      sample.task = in.u32();
      sample.error = in.f64();
      sample.has_failed = in.u32() != 0;
      if (!is_finite(sample)) {
        return refuse(CostModelError::bad_payload);
      }
      samples.push_back(sample);
    }
    if (!in.ok() || !in.rest().empty()) {
      return refuse(CostModelError::bad_payload);
    }
    samples_ = std::move(samples);
    seed_ = seed;
    num_updates_ = num_updates;
    settle();
    return Done{};
  }

 private:
  static constexpr std::size_t lanes = 8;  ///< sums side by side, for vector instructions
  /// Those of the draft, those of the choices, and zeros up to a multiple of the lanes.
  using Columns = std::array<float, (num_columns + lanes - 1) / lanes * lanes>;
  struct Sample {
    Columns columns{};
    std::uint32_t task = 0;
    double error = 0;  ///< log2 of time / draft
    bool has_failed = false;
  };

  /// False for features without a draft.
  static bool read(const Features& features, Columns& columns) {
    std::size_t at = 0;
    for (const BlockSchema* schema : {draft_schema().get(), choices_schema().get()}) {
      const FeatureBlock* block = features.find(schema->name());
      if (block == nullptr || block->values.size() != schema->num_columns()) {
        return false;
      }
      for (const float value : block->values) {
        columns[at++] = value;
      }
    }
    return true;
  }

  // Chosen on journals of thirteen workloads, see docs/decisions/0015.
  static constexpr double reach = 4;           ///< distance at which two errors share 1/e
  static constexpr double noise = 0.1;         ///< variance of a measurement, where errors have 1
  static constexpr float choice_weight = 0.2;  ///< of a choice, where all parts together have 1
  static constexpr float most_deviations = 4;  ///< a part tells no more than these apart
  static constexpr double worst_error = 2.5;   ///< log2, above the least of the task
  static constexpr double failed_error = 3;

  static bool is_finite(const Sample& sample) {
    bool result = math::fabs(sample.error) < 1e6;
    for (const float column : sample.columns) {
      result = result && math::fabs(static_cast<double>(column)) < 1e6;
    }
    return result;
  }

  /// Errors less the least of their task (a tenth are below it), parts in units of their deviation.
  /// So the less a program is like those measured, the more it is believed to be as good as its
  /// draft and the best of them: a search that the draft has led into a corner leaves it.
  void settle() {
    FlatMap<std::uint32_t, std::vector<double>> errors;
    for (const Sample& sample : samples_) {
      if (!sample.has_failed) {
        errors[sample.task].push_back(sample.error);
      }
    }
    FlatMap<std::uint32_t, double> best;
    for (auto& [task, list] : errors) {
      sort_items(list, [](double a, double b) { return a < b; });
      best[task] = list[list.size() / 10];
    }
    const double count = static_cast<double>(samples_.size());
    for (std::size_t c = 0; c < num_parts; ++c) {
      double mean = 0, square = 0;
      for (const Sample& sample : samples_) {
        mean += static_cast<double>(sample.columns[c]) / count;
      }
      for (const Sample& sample : samples_) {
        const double apart = static_cast<double>(sample.columns[c]) - mean;
        square += apart * apart / count;
      }
      mean_[c] = static_cast<float>(mean);
      per_deviation_[c] = square > 1e-12 ? static_cast<float>(1 / math::sqrt(square)) : 0;
    }
    places_.clear();
    weights_.clear();
    for (const Sample& sample : samples_) {
      places_.push_back(place(sample.columns));
      weights_.push_back(static_cast<float>(
          sample.has_failed ? failed_error
                            : smaller_of(sample.error - best[sample.task], worst_error)));
    }
    solve();
  }

  /// weights_ as what the kernel makes the errors of: (K + noise I) weights = errors, by Cholesky
  /// factors. Columns are kept one behind the other.
  void solve() {
    const std::size_t n = places_.size();
    std::vector<float> factor(n * n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j; i < n; ++i) {
        factor[j * n + i] = alike(places_[i], places_[j]);
      }
      factor[j * n + j] += static_cast<float>(noise);
    }
    for (std::size_t k = 0; k < n; ++k) {
      float* const column = &factor[k * n];
      const float scale = 1 / static_cast<float>(math::sqrt(static_cast<double>(column[k])));
      for (std::size_t i = k; i < n; ++i) {
        column[i] *= scale;
      }
      for (std::size_t j = k + 1; j < n; ++j) {
        float* const other = &factor[j * n];
        const float times = column[j];
        for (std::size_t i = j; i < n; ++i) {
          other[i] -= times * column[i];
        }
      }
      weights_[k] /= column[k];
      for (std::size_t i = k + 1; i < n; ++i) {
        weights_[i] -= column[i] * weights_[k];
      }
    }
    for (std::size_t k = n; k-- > 0;) {
      const float* const column = &factor[k * n];
      for (std::size_t i = k + 1; i < n; ++i) {
        weights_[k] -= column[i] * weights_[i];
      }
      weights_[k] /= column[k];
    }
  }

  Columns place(const Columns& columns) const {
    Columns place{};
    for (std::size_t c = 0; c < num_parts; ++c) {
      const float apart = (columns[c] - mean_[c]) * per_deviation_[c];
      const float bounded = larger_of(-most_deviations, smaller_of(apart, most_deviations));
      place[c] = bounded / 3;  // the square root of num_parts
    }
    for (std::size_t c = num_parts; c < num_columns; ++c) {
      place[c] = choice_weight * columns[c];
    }
    return place;
  }

  static float alike(const Columns& a, const Columns& b) {
    std::array<float, lanes> squares{};
    for (std::size_t c = 0; c < a.size(); c += lanes) {
      for (std::size_t l = 0; l < lanes; ++l) {
        squares[l] += (a[c + l] - b[c + l]) * (a[c + l] - b[c + l]);
      }
    }
    double square = 0;
    for (const float part : squares) {
      square += static_cast<double>(part);
    }
    return static_cast<float>(math::exp(-math::sqrt(square) / reach));
  }

  float correction(const Columns& columns) const {
    const Columns here = place(columns);
    float sum = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      sum += weights_[i] * alike(here, places_[i]);
    }
    return sum;
  }

  std::uint64_t seed_;
  std::uint32_t num_updates_ = 0;
  std::vector<Sample> samples_;
  std::vector<Columns> places_;  ///< of the samples
  std::vector<float> weights_;   ///< of the samples
  std::array<float, num_parts> mean_{}, per_deviation_{};
};

/// The row of the table of models.
inline ModelFactory corrected_draft_factory() {
  return {
      "draft", "the analytic estimate, corrected by what was measured", true,
      [](const ModelContext& context) {
        return Shared<CostModel>(make_shared_of<CorrectedDraft>(context.seed));
      },
      [](const ModelContext& context) -> std::string_view {
        return context.has_draft
                   ? ""
                   : "is there for CPUs and boards with the native space and the policy evolution";
      }};
}

}  // namespace tensorsmith
