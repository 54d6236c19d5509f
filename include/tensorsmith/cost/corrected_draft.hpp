// CorrectedDraft: the analytic draft, corrected by how far it was off for programs like this one.
//
// Floor 6. Own design: in a search of a minute a model sees a few hundred noisy times, too few to
// learn from nothing what the draft knows already (docs/decisions/0010). What is learned is the
// logarithm of measured time / draft, as a mean over the measured programs weighted by how much
// their drafts are made of the same parts (Nadaraya-Watson); where nothing alike was measured, the
// draft stands as it is. There is no training: an update copies the samples. Within a factor of two
// chance decides, anew after every update: the best by this model alone are variations of one
// program, and a round of those teaches little.
// Not here: the draft itself (draft_model.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// FeatureMatrix::draft of a program: log2 of the cycles, then log2 of the share of every part.
inline std::vector<float> draft_columns(const DraftParts& parts) {
  constexpr double least_share = 0.01;  // smaller ones are alike
  const double total = larger_of(parts.total, 1e-9);
  std::vector<float> columns = {static_cast<float>(math::log2(total))};
  const auto add = [&](double part) {
    columns.push_back(static_cast<float>(math::log2(part / total + least_share)));
  };
  add(parts.core);
  add(parts.tiles);
  add(parts.ahead);
  for (const double level : parts.levels) {
    add(level);
  }
  return columns;
}

class CorrectedDraft final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;
  static constexpr std::size_t num_columns = 9;
  static constexpr std::size_t max_samples = 512;  ///< the latest are kept

  explicit CorrectedDraft(std::uint64_t seed = 0) : seed_(seed) {}

  std::string_view name() const override { return "draft"; }

  /// Programs without a draft are ignored. Failed ones count as much slower than their draft.
  void update(std::span<const TrainingSample> samples) override {
    ++num_updates_;
    for (const TrainingSample& sample : samples) {
      if (sample.features.draft.size() != num_columns) {
        continue;
      }
      Sample kept{{}, sample.task, 0, sample.throughput <= 0};
      for (std::size_t c = 0; c < num_columns; ++c) {
        kept.columns[c] = sample.features.draft[c];
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
  void predict(std::span<const FeatureMatrix> programs, std::span<float> scores) const override {
    TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const std::vector<float>& draft = programs[i].draft;
      const float chance = random_score(seed_, num_updates_, programs[i]);
      scores[i] = programs[i].empty()           ? invalid_score
                  : draft.size() == num_columns ? chance - draft[0] - correction(draft)
                                                : chance;
    }
  }

  Result<std::string, CostModelError> save() const override {
    ByteWriter payload;
    payload.u64(seed_);
    payload.u32(num_updates_);
    payload.u32(static_cast<std::uint32_t>(samples_.size()));
    for (const Sample& sample : samples_) {
      for (const float column : sample.columns) {
        payload.f32(column);
      }
      payload.u32(sample.task);
      payload.f64(sample.error);
      payload.u32(sample.has_failed ? 1 : 0);
    }
    return frame_model(name(), schema_version, payload.take());
  }

  Result<Done, CostModelError> load(std::string_view bytes) override {
    const Result<std::string_view, CostModelError> payload =
        unframe_model(bytes, name(), schema_version);
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
      for (float& column : sample.columns) {
        column = in.f32();
      }
      sample.task = in.u32();
      sample.error = in.f64();
      sample.has_failed = in.u32() != 0;
      if (!is_finite(sample)) {
        return fail(CostModelError::bad_payload);
      }
      samples.push_back(sample);
    }
    if (!in.ok() || !in.rest().empty()) {
      return fail(CostModelError::bad_payload);
    }
    samples_ = std::move(samples);
    seed_ = seed;
    num_updates_ = num_updates;
    settle();
    return Done{};
  }

 private:
  struct Sample {
    std::array<float, num_columns> columns{};
    std::uint32_t task = 0;
    double error = 0;  ///< log2 of time / draft
    bool has_failed = false;
  };
  using Columns = std::array<float, num_columns>;

  // Chosen on journals of ten workloads, see docs/decisions/0010.
  static constexpr double reach = 0.8;         ///< distance at which a sample counts 1/e
  static constexpr double prior = 0.3;         ///< samples that the bare draft counts as
  static constexpr float most_deviations = 4;  ///< a column tells no more than these apart
  static constexpr double failed_error = 3;    ///< log2, above the least of the task

  static bool is_finite(const Sample& sample) {
    bool result = math::fabs(sample.error) < 1e6;
    for (const float column : sample.columns) {
      result = result && math::fabs(static_cast<double>(column)) < 1e6;
    }
    return result;
  }

  /// Errors less the least of their task (a tenth are below it), columns in units of their
  /// deviation. So the less a program is like those measured, the more it is believed to be as good
  /// as its draft and the best of them: a search that the draft has led into a corner leaves it.
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
    for (std::size_t c = 0; c < num_columns; ++c) {
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
    corrections_.clear();
    for (const Sample& sample : samples_) {
      places_.push_back(place(sample.columns));
      corrections_.push_back(sample.has_failed ? failed_error : sample.error - best[sample.task]);
    }
  }

  template <class Values>
  Columns place(const Values& columns) const {
    Columns place{};
    for (std::size_t c = 0; c < num_columns; ++c) {
      const float apart = (columns[c] - mean_[c]) * per_deviation_[c];
      place[c] = apart > most_deviations    ? most_deviations
                 : apart < -most_deviations ? -most_deviations
                                            : apart;
    }
    return place;
  }

  float correction(const std::vector<float>& draft) const {
    const Columns here = place(draft);
    double sum = 0, weights = prior;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      float square = 0;
      for (std::size_t c = 0; c < num_columns; ++c) {
        const float apart = here[c] - places_[i][c];
        square += apart * apart;
      }
      const double distance = math::sqrt(static_cast<double>(square) / num_columns);
      const double weight = math::exp(-distance / reach);
      sum += weight * corrections_[i];
      weights += weight;
    }
    return static_cast<float>(sum / weights);
  }

  std::uint64_t seed_;
  std::uint32_t num_updates_ = 0;
  std::vector<Sample> samples_;
  std::vector<Columns> places_;      ///< of the samples
  std::vector<double> corrections_;  ///< of the samples
  Columns mean_{}, per_deviation_{};
};

}  // namespace tensorsmith
