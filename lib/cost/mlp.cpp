// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/mlp.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "mlp_network.hpp"
#include "tensorsmith/cost/random_model.hpp"
#include "training_set.hpp"

namespace tensorsmith {

using mlp_detail::Matrix;
using mlp_detail::MlpNetwork;
using mlp_detail::RowBatch;
using mlp_detail::Vector;

namespace {

// Products in predict() always have this many columns, so that a column is computed by the same
// instructions wherever it stands. measured (g++ -O2, EPYC, width 128): 100 programs of 3 rows take
// 1.03, 1.00, 0.88, 0.92, 1.41 ms with 16, 32, 64, 128, 256 columns; 10,000 do not tell them apart.
constexpr Eigen::Index block_columns = 64;
constexpr float input_limit = 3.0F;          // standard deviations; keeps unseen extremes harmless
constexpr double smallest_deviation = 1e-4;  // below it a column counts as constant
constexpr std::uint32_t max_hidden = 4096;

/// What the model reads; null for a program without rows, or with numbers that are not finite.
const FeatureBlock* usable_rows(const Features& features, const BlockSchema& schema) {
  const FeatureBlock* rows = features.find(schema.name());
  if (rows == nullptr) {
    return nullptr;
  }
  TENSORSMITH_ASSERT(rows->num_columns() == schema.num_columns() && rows->is_well_formed(),
                     "a feature block of a wrong size");
  const bool is_finite = std::all_of(rows->values.begin(), rows->values.end(),
                                     [](float value) { return std::isfinite(value); });
  return rows->num_rows > 0 && is_finite ? rows : nullptr;
}

}  // namespace

struct MlpModel::Impl {
  // x -> clamp((x - mean) * scale); a constant column has scale 0.
  struct InputStatistics {
    explicit InputStatistics(std::size_t num_inputs)
        : mean(num_inputs, 0.0F), scale(num_inputs, 0.0F) {}

    std::vector<float> mean, scale;

    void apply(const float* row, float* out) const {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        out[i] = std::clamp((row[i] - mean[i]) * scale[i], -input_limit, input_limit);
      }
    }
    /// d out / d row.
    float slope(const float* row, std::size_t i) const {
      return std::abs((row[i] - mean[i]) * scale[i]) < input_limit ? scale[i] : 0.0F;
    }
  };

  explicit Impl(const MlpOptions& chosen)
      : options(chosen),
        network(chosen.num_hidden, static_cast<std::uint32_t>(chosen.block->num_columns())),
        statistics(chosen.block->num_columns()) {
    TENSORSMITH_ASSERT(chosen.num_hidden > 0 && chosen.num_hidden <= max_hidden,
                       "num_hidden out of range");
    network.initialize(options.seed);
  }

  Eigen::Index num_inputs() const {
    return static_cast<Eigen::Index>(options.block->num_columns());
  }
  void fit_statistics();
  void train();
  double train_batch(std::span<const std::uint32_t> chosen, float learning_rate);

  MlpOptions options;
  MlpNetwork network;
  InputStatistics statistics;
  std::uint32_t num_updates = 0;
  bool is_trained = false;
  MlpTrainingReport report;
  TrainingSet<FeatureBlock> samples;
};

// Standardises over all rows. The first layer changes with the statistics so that the function
// stays the same; a column that varies for the first time starts with weight 0.
void MlpModel::Impl::fit_statistics() {
  const std::size_t num_inputs = options.block->num_columns();
  std::vector<double> sum(num_inputs, 0.0), sum_of_squares(num_inputs, 0.0);
  double num_rows = 0.0;
  for (const auto& sample : samples) {
    for (std::uint32_t r = 0; r < sample.inputs.num_rows; ++r) {
      const auto row = sample.inputs.row(r);
      for (std::size_t i = 0; i < num_inputs; ++i) {
        sum[i] += row[i];
      }
      num_rows += 1.0;
    }
  }
  for (double& value : sum) {
    value /= num_rows;
  }
  for (const auto& sample : samples) {
    for (std::uint32_t r = 0; r < sample.inputs.num_rows; ++r) {
      const auto row = sample.inputs.row(r);
      for (std::size_t i = 0; i < num_inputs; ++i) {
        sum_of_squares[i] += (row[i] - sum[i]) * (row[i] - sum[i]);
      }
    }
  }
  Eigen::Map<Matrix> weights = network.input_weights();
  Eigen::Map<Vector> bias = network.input_bias();
  for (std::size_t i = 0; i < num_inputs; ++i) {
    const double deviation = std::sqrt(sum_of_squares[i] / num_rows);
    const float mean = static_cast<float>(sum[i]);
    const float scale = deviation < smallest_deviation ? 0.0F : static_cast<float>(1.0 / deviation);
    if (is_trained) {
      auto column = weights.col(static_cast<Eigen::Index>(i));
      bias += column * ((mean - statistics.mean[i]) * statistics.scale[i]);
      column *= scale > 0.0F ? statistics.scale[i] / scale : 0.0F;
    }
    statistics.mean[i] = mean;
    statistics.scale[i] = scale;
  }
}

double MlpModel::Impl::train_batch(std::span<const std::uint32_t> chosen, float learning_rate) {
  RowBatch batch;
  batch.first_row.push_back(0);
  for (std::uint32_t index : chosen) {
    batch.first_row.push_back(batch.first_row.back() + samples[index].inputs.num_rows);
  }
  batch.inputs.resize(num_inputs(), batch.first_row.back());
  for (std::uint32_t p = 0; p < chosen.size(); ++p) {
    const FeatureBlock& rows = samples[chosen[p]].inputs;
    for (std::uint32_t r = 0; r < rows.num_rows; ++r) {
      statistics.apply(rows.row(r).data(), batch.inputs.col(batch.first_row[p] + r).data());
    }
  }
  Vector scores, gradient;
  network.forward(batch, scores);
  const double loss = samples.loss_of_lists(
      chosen, false, scores, gradient,
      [](std::span<const float> of_list, std::span<const float> labels, std::span<float> slope) {
        return lambda_rank_loss(of_list, labels, slope);
      });
  network.backward(batch, gradient);
  network.step(learning_rate, options.weight_decay, options.max_gradient_norm);
  return loss;
}

void MlpModel::Impl::train() {
  const std::uint32_t num_samples = static_cast<std::uint32_t>(samples.size());
  const std::uint32_t batch_size = std::max(options.batch_size, 2U);
  const std::uint32_t batches = (num_samples + batch_size - 1) / batch_size;
  const std::uint32_t epoch_limit = options.max_epochs * batches;
  const std::uint32_t num_steps = std::min(options.steps_per_update, epoch_limit);
  std::vector<std::uint32_t> order(num_samples);
  for (std::uint32_t i = 0; i < num_samples; ++i) {
    order[i] = i;
  }
  network.reset_optimizer();
  report = {};
  report.num_samples = num_samples;
  double loss = 0.0;
  std::uint32_t in_epoch = 0;
  for (std::uint32_t step = 0; step < num_steps; ++step) {
    const std::uint32_t epoch = step / batches, batch = step % batches;
    if (batch == 0) {
      CounterRng rng(options.seed, 0x6d6c70U, num_updates, epoch);
      rng.shuffle(order);
      loss = 0.0;
      in_epoch = 0;
    }
    const std::uint64_t begin = static_cast<std::uint64_t>(num_samples) * batch / batches;
    const std::uint64_t end = static_cast<std::uint64_t>(num_samples) * (batch + 1) / batches;
    const float progress = static_cast<float>(step) / static_cast<float>(num_steps);
    loss += train_batch(std::span(order).subspan(begin, end - begin),
                        options.learning_rate * (1.0F - 0.9F * progress));
    ++in_epoch;
    report.last_loss = loss / in_epoch;
    if (epoch == 0) {
      report.first_loss = report.last_loss;
    }
  }
  report.num_steps = num_steps;
}

MlpModel::MlpModel(const MlpOptions& options)
    : impl_(new Impl(options)), block_name_(impl_->options.block->name()) {}
MlpModel::~MlpModel() { delete impl_; }

bool MlpModel::is_trained() const { return impl_->is_trained; }
const MlpOptions& MlpModel::options() const { return impl_->options; }
const MlpTrainingReport& MlpModel::last_training() const { return impl_->report; }

void MlpModel::update(std::span<const TrainingSample> samples) {
  ++impl_->num_updates;
  const bool is_usable = impl_->samples.add(
      samples, impl_->options.max_samples, [&](const Features& features, FeatureBlock& inputs) {
        const FeatureBlock* rows = usable_rows(features, *impl_->options.block);
        if (rows != nullptr) {
          inputs = *rows;
        }
        return rows != nullptr;
      });
  if (is_usable && impl_->samples.has_pairs()) {
    impl_->fit_statistics();
    impl_->train();
    impl_->is_trained = true;
  }
}

void MlpModel::predict(std::span<const Features> programs, std::span<float> scores) const {
  TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
  const Eigen::Index hidden_size = impl_->network.num_hidden();
  Matrix inputs = Matrix::Zero(impl_->num_inputs(), block_columns);
  Matrix sums = Matrix::Zero(hidden_size, block_columns), hidden, encoded, decoded;
  Vector block_scores;
  std::vector<Eigen::Index> slot_of_column(block_columns);  // program slot of an input column
  std::vector<std::size_t> program_of_slot;
  Eigen::Index num_columns = 0;

  const auto flush_rows = [&] {
    impl_->network.encode(inputs, hidden, encoded);
    for (Eigen::Index c = 0; c < num_columns; ++c) {
      sums.col(slot_of_column[c]) += encoded.col(c);
    }
    num_columns = 0;
  };
  const auto flush_programs = [&] {
    flush_rows();
    impl_->network.decode(sums, decoded, block_scores);
    for (std::size_t slot = 0; slot < program_of_slot.size(); ++slot) {
      scores[program_of_slot[slot]] = block_scores[static_cast<Eigen::Index>(slot)];
    }
    program_of_slot.clear();
    sums.setZero();
  };

  for (std::size_t i = 0; i < programs.size(); ++i) {
    const FeatureBlock* rows = usable_rows(programs[i], *impl_->options.block);
    if (rows == nullptr) {
      scores[i] = invalid_score;
    } else if (!impl_->is_trained) {
      scores[i] = random_score(impl_->options.seed, impl_->num_updates, programs[i]);
    } else {
      program_of_slot.push_back(i);
      for (std::uint32_t r = 0; r < rows->num_rows; ++r) {
        impl_->statistics.apply(rows->row(r).data(), inputs.col(num_columns).data());
        slot_of_column[num_columns] = static_cast<Eigen::Index>(program_of_slot.size()) - 1;
        if (++num_columns == block_columns) {
          flush_rows();
        }
      }
      if (program_of_slot.size() == block_columns) {
        flush_programs();
      }
    }
  }
  if (!program_of_slot.empty()) {
    flush_programs();
  }
}

bool MlpModel::gradient(const Features& program, Features& result) const {
  const FeatureBlock* rows = usable_rows(program, *impl_->options.block);
  if (rows == nullptr || !impl_->is_trained) {
    return false;
  }
  Matrix inputs(impl_->num_inputs(), static_cast<Eigen::Index>(rows->num_rows));
  for (std::uint32_t r = 0; r < rows->num_rows; ++r) {
    impl_->statistics.apply(rows->row(r).data(), inputs.col(r).data());
  }
  Matrix slopes;
  impl_->network.input_gradient(inputs, slopes);
  Features made = program;
  for (FeatureBlock& block : made.blocks()) {
    const bool is_read = block.schema->name() == rows->schema->name();
    for (std::uint32_t r = 0; r < block.num_rows; ++r) {
      const std::span<float> row = block.row(r);
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] = !is_read ? 0.0F
                          : slopes(static_cast<Eigen::Index>(c), r) *
                                impl_->statistics.slope(rows->row(r).data(), c);
      }
    }
  }
  result = std::move(made);
  return true;
}

Result<std::string, CostModelFault> MlpModel::save() const {
  ByteWriter out;
  out.u32(impl_->options.num_hidden);
  out.u64(impl_->options.seed);
  out.u32(impl_->num_updates);
  out.u32(impl_->is_trained ? 1 : 0);
  for (float value : impl_->statistics.mean) {
    out.f32(value);
  }
  for (float value : impl_->statistics.scale) {
    out.f32(value);
  }
  for (float value : std::as_const(impl_->network).parameters()) {
    out.f32(value);
  }
  return frame_model(name(), schema_version, out.take(), {impl_->options.block});
}

Result<Done, CostModelFault> MlpModel::load(std::string_view bytes) {
  const Result<std::string_view, CostModelFault> payload =
      unframe_model(bytes, name(), schema_version, {impl_->options.block});
  if (!payload) {
    return fail(payload.error());
  }
  ByteReader in(*payload);
  MlpOptions options = impl_->options;
  options.num_hidden = in.u32();
  options.seed = in.u64();
  const std::uint32_t num_updates = in.u32();
  const std::uint32_t is_trained = in.u32();
  if (!in.ok() || options.num_hidden == 0 || options.num_hidden > max_hidden || is_trained > 1) {
    return refuse(CostModelError::bad_payload);
  }
  auto loaded = std::make_unique<Impl>(options);
  loaded->num_updates = num_updates;
  loaded->is_trained = is_trained == 1;
  bool is_finite = true;
  const auto read = [&](std::span<float> values) {
    for (float& value : values) {
      value = in.f32();
      is_finite = is_finite && std::isfinite(value);
    }
  };
  read(loaded->statistics.mean);
  read(loaded->statistics.scale);
  read(loaded->network.parameters());
  if (!in.ok() || !in.rest().empty() || !is_finite) {
    return refuse(CostModelError::bad_payload);
  }
  delete std::exchange(impl_, loaded.release());
  return Done{};
}

}  // namespace tensorsmith
