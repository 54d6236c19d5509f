// SPDX-License-Identifier: Apache-2.0
// requires: xgb
#include "tensorsmith/cost/xgb.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <xgboost/c_api.h>

#include "tensorsmith/cost/random_model.hpp"

namespace tensorsmith {

namespace xgb_detail {

struct FreeMatrix {
  void operator()(void* handle) const { XGDMatrixFree(handle); }
};
struct FreeBooster {
  void operator()(void* handle) const { XGBoosterFree(handle); }
};
/// A program of the training set.
struct XgbSample {
  FeatureBlock rows;
  std::uint32_t task = 0;
  double throughput = 0.0;
};
using MatrixHandle = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

}  // namespace xgb_detail

using xgb_detail::Booster;
using xgb_detail::MatrixHandle;
using xgb_detail::XgbSample;

namespace {

constexpr const char* predict_sums = R"({"type": 1, "training": false, "iteration_begin": 0,)"
                                     R"( "iteration_end": 0, "strict_shape": false})";

/// What the model reads; null for a program without rows, or with numbers that are not finite.
const FeatureBlock* usable_rows(const Features& features) {
  const FeatureBlock* rows = features.find(ansor_block_name);
  if (rows == nullptr) {
    return nullptr;
  }
  TENSORSMITH_ASSERT(rows->num_columns() == feature_length && rows->is_well_formed(),
                     "a feature block of a wrong size");
  const bool is_finite = std::all_of(rows->values.begin(), rows->values.end(),
                                     [](float value) { return std::isfinite(value); });
  return rows->num_rows > 0 && is_finite ? rows : nullptr;
}

/// A call of the library; what fails in it was asked for wrongly here.
void must(int code) {
  if (code != 0) {
    TENSORSMITH_ASSERT(false, XGBGetLastError());
  }
}

/// All rows below each other; `values` need not outlive it.
MatrixHandle make_matrix(const std::vector<float>& values) {
  DMatrixHandle handle = nullptr;
  must(XGDMatrixCreateFromMat(values.data(), values.size() / feature_length, feature_length,
                              std::nanf(""), &handle));
  return MatrixHandle(handle);
}

Booster make_booster(void* matrix) {
  BoosterHandle handle = nullptr;
  must(XGBoosterCreate(&matrix, matrix != nullptr ? 1 : 0, &handle));
  Booster booster(handle);
  must(XGBoosterSetParam(handle, "verbosity", "0"));
  must(XGBoosterSetParam(handle, "nthread", "1"));
  return booster;
}

/// One value per row: base score plus all trees.
std::span<const float> row_scores(void* booster, void* matrix) {
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  must(XGBoosterPredictFromDMatrix(booster, matrix, predict_sums, &shape, &dimensions, &values));
  bst_ulong count = 1;
  for (bst_ulong d = 0; d < dimensions; ++d) {
    count *= shape[d];
  }
  return {values, count};
}

}  // namespace

struct XgbModel::Impl {
  explicit Impl(const XgbOptions& chosen) : options(chosen) {}

  void set_parameters(void* booster) const;
  void train();

  XgbOptions options;
  Booster booster;             // null: untrained
  mutable std::mutex library;  // the library keeps what it predicted last in the booster
  std::uint32_t num_updates = 0;
  XgbTrainingReport report;
  std::vector<XgbSample> samples;
  std::map<std::uint32_t, double> best_of_task;
};

void XgbModel::Impl::set_parameters(void* booster) const {
  const auto set = [&](const char* name, const std::string& value) {
    must(XGBoosterSetParam(booster, name, value.c_str()));
  };
  set("max_depth", std::to_string(options.max_depth));
  set("gamma", std::to_string(options.gamma));
  set("min_child_weight", "0");
  set("eta", std::to_string(options.eta));
  set("seed", std::to_string(options.seed & 0x7fffffffU));  // the library reads an int
  set("base_score", "0.5");
  set("tree_method", "hist");  // the default of the library the reference was used with last
  set("disable_default_eval_metric", "1");
}

void XgbModel::Impl::train() {
  std::vector<float> values, labels;
  std::vector<std::size_t> first_row{0};
  for (const XgbSample& sample : samples) {
    values.insert(values.end(), sample.rows.values.begin(), sample.rows.values.end());
    first_row.push_back(first_row.back() + sample.rows.num_rows);
    labels.push_back(normalized_throughput(sample.throughput, best_of_task[sample.task]));
  }
  const std::size_t num_rows = first_row.back();
  const MatrixHandle matrix = make_matrix(values);
  // The weights decide where the library cuts the columns; the objective has its own.
  std::vector<float> weights;
  for (std::size_t p = 0; p < samples.size(); ++p) {
    weights.insert(weights.end(), samples[p].rows.num_rows, labels[p]);
  }
  must(XGDMatrixSetFloatInfo(matrix.get(), "weight", weights.data(), num_rows));
  Booster trees = make_booster(matrix.get());
  set_parameters(trees.get());
  report = {};
  report.num_samples = static_cast<std::uint32_t>(samples.size());
  report.num_rows = static_cast<std::uint32_t>(num_rows);
  std::vector<float> gradient(num_rows), curvature(num_rows);
  bool is_first = true;
  // The sums of round r are those of r trees: they give both the error after round r - 1 and the
  // gradient of round r.
  for (std::uint32_t round = 0;; ++round) {
    const std::span<const float> scores = row_scores(trees.get(), matrix.get());
    double squares = 0.0;
    for (std::size_t p = 0; p < samples.size(); ++p) {
      float sum = 0.0F;
      for (std::size_t r = first_row[p]; r < first_row[p + 1]; ++r) {
        sum += scores[r];
      }
      const float error = sum - labels[p];
      squares +=
          static_cast<double>(error) * error * static_cast<double>(first_row[p + 1] - first_row[p]);
      for (std::size_t r = first_row[p]; r < first_row[p + 1]; ++r) {
        gradient[r] = error * labels[p];
        curvature[r] = labels[p];
      }
    }
    // The reference compares the error as it prints it, with six decimals: what is gained behind
    // them does not keep the training going. It looks after rounds 0, 2, 4, ...
    const double rmse = std::round(1e6 * std::sqrt(squares / static_cast<double>(num_rows))) / 1e6;
    if (round % 2 == 1) {
      if (is_first || rmse < report.best_rmse) {
        report.best_rmse = rmse;
        report.best_round = round - 1;
        is_first = false;
      } else if (round - 1 - report.best_round >= options.early_stopping_rounds) {
        break;
      }
    }
    if (round == options.num_rounds) {
      break;
    }
    must(XGBoosterBoostOneIter(trees.get(), matrix.get(), gradient.data(), curvature.data(),
                               num_rows));
    report.num_trees = round + 1;
  }
  booster = std::move(trees);
}

XgbModel::XgbModel(const XgbOptions& options) : impl_(new Impl(options)) {}
XgbModel::~XgbModel() { delete impl_; }

bool XgbModel::is_trained() const { return impl_->booster != nullptr; }
const XgbTrainingReport& XgbModel::last_training() const { return impl_->report; }

void XgbModel::update(std::span<const TrainingSample> added) {
  ++impl_->num_updates;
  bool is_any_usable = false;
  for (const TrainingSample& sample : added) {
    const FeatureBlock* rows = usable_rows(sample.features);
    if (rows == nullptr) {
      continue;
    }
    is_any_usable = true;
    impl_->samples.push_back({*rows, sample.task, sample.throughput});
    double& throughput = impl_->samples.back().throughput;
    throughput = std::isfinite(throughput) ? throughput : 0.0;
    double& best = impl_->best_of_task[sample.task];
    best = std::max(best, throughput);
  }
  if (impl_->samples.size() > impl_->options.max_samples) {
    impl_->samples.erase(impl_->samples.begin(), impl_->samples.end() - impl_->options.max_samples);
  }
  if (is_any_usable) {
    impl_->train();
  }
}

void XgbModel::predict(std::span<const Features> programs, std::span<float> scores) const {
  TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
  std::vector<float> values;
  std::vector<std::pair<std::size_t, std::uint32_t>> chosen;  // and how many rows
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const FeatureBlock* usable = usable_rows(programs[i]);
    if (usable == nullptr) {
      scores[i] = invalid_score;
    } else if (!is_trained()) {
      scores[i] = random_score(impl_->options.seed, impl_->num_updates, programs[i]);
    } else {
      chosen.emplace_back(i, usable->num_rows);
      values.insert(values.end(), usable->values.begin(), usable->values.end());
    }
  }
  if (chosen.empty()) {
    return;
  }
  const std::lock_guard lock(impl_->library);
  const MatrixHandle matrix = make_matrix(values);
  const std::span<const float> rows = row_scores(impl_->booster.get(), matrix.get());
  std::size_t row = 0;
  for (const auto& [i, num_rows] : chosen) {
    float sum = 0.0F;
    for (std::uint32_t r = 0; r < num_rows; ++r) {
      sum += rows[row++];
    }
    scores[i] = sum;
  }
}

Result<std::string, CostModelFault> XgbModel::save() const {
  ByteWriter out;
  out.u64(impl_->options.seed);
  out.u32(impl_->num_updates);
  out.u32(is_trained() ? 1 : 0);
  if (is_trained()) {
    const std::lock_guard lock(impl_->library);
    bst_ulong length = 0;
    const char* bytes = nullptr;
    must(
        XGBoosterSaveModelToBuffer(impl_->booster.get(), R"({"format": "json"})", &length, &bytes));
    out.raw({bytes, length});
  }
  return frame_model(name(), schema_version, out.take(), {ansor_schema()});
}

Result<Done, CostModelFault> XgbModel::load(std::string_view bytes) {
  const Result<std::string_view, CostModelFault> payload =
      unframe_model(bytes, name(), schema_version, {ansor_schema()});
  if (!payload) {
    return fail(payload.error());
  }
  ByteReader in(*payload);
  auto loaded = std::make_unique<Impl>(impl_->options);
  loaded->options.seed = in.u64();
  loaded->num_updates = in.u32();
  const std::uint32_t is_trained = in.u32();
  if (!in.ok() || is_trained > 1 || (is_trained == 0 && !in.rest().empty())) {
    return refuse(CostModelError::bad_payload);
  }
  if (is_trained == 1) {
    Booster trees = make_booster(nullptr);
    if (XGBoosterLoadModelFromBuffer(trees.get(), in.rest().data(), in.rest().size()) != 0) {
      return refuse(CostModelError::bad_payload);
    }
    must(XGBoosterSetParam(trees.get(), "nthread", "1"));
    loaded->booster = std::move(trees);
  }
  delete std::exchange(impl_, loaded.release());
  return Done{};
}

}  // namespace tensorsmith
