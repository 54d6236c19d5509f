// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/felix_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "block_encoder.hpp"
#include "felix_losses.hpp"
#include "program_network.hpp"
#include "tensorsmith/feature/felix_columns.hpp"
#include "tensorsmith/support/rng.hpp"
#include "training_set.hpp"

namespace tensorsmith {

using program_network::Adam;
using program_network::Matrix;
using program_network::NetworkShape;
using program_network::ProgramBatch;
using program_network::ProgramNetwork;
using program_network::Vector;

namespace {

constexpr std::array<std::string_view, 1> felix_blocks{felix_block_name};

NetworkShape felix_shape() {
  NetworkShape shape;
  shape.num_inputs = static_cast<std::uint32_t>(felix_length);
  return shape;
}

/// Null of a program without features, or with numbers that cannot be.
const FeatureBlock* usable_felix_rows(const Features& program) {
  constexpr float most = 100;
  const FeatureBlock* rows = program.find(felix_block_name);
  const bool is_usable = rows != nullptr && rows->num_rows > 0 &&
                         rows->num_columns() == felix_length &&
                         std::all_of(rows->values.begin(), rows->values.end(),
                                     [](float value) { return std::abs(value) <= most; });
  return is_usable ? rows : nullptr;
}

void copy_row(std::span<const float> row, float* out) { std::copy(row.begin(), row.end(), out); }

}  // namespace

struct FelixModel::Impl {
  explicit Impl(const FelixModelOptions& chosen) : options(chosen), network(felix_shape()) {
    TENSORSMITH_ASSERT(chosen.batch_size > 0, "batches are not empty");
    network.initialize(chosen.seed);
  }

  void train();
  double train_batch(std::span<const std::uint32_t> chosen, float rate, Adam& adam);
  ProgramBatch batch_of(std::span<const std::uint32_t> chosen) const;
  void begin_at_mean();

  FelixModelOptions options;
  ProgramNetwork network;
  std::uint32_t num_updates = 0;
  bool is_trained = false;
  FelixTrainingReport report;
  TrainingSet<std::vector<float>> samples;  ///< rows, one after the other
};

ProgramBatch FelixModel::Impl::batch_of(std::span<const std::uint32_t> chosen) const {
  ProgramBatch batch;
  batch.first_row.push_back(0);
  for (const std::uint32_t index : chosen) {
    const auto num_rows = static_cast<std::uint32_t>(samples[index].inputs.size() / felix_length);
    batch.first_row.push_back(batch.first_row.back() + num_rows);
  }
  batch.inputs.resize(static_cast<Eigen::Index>(felix_length), batch.first_row.back());
  for (std::size_t p = 0; p < chosen.size(); ++p) {
    copy_row(samples[chosen[p]].inputs,
             batch.inputs.col(static_cast<Eigen::Index>(batch.first_row[p])).data());
  }
  return batch;
}

/// Of lists of one task each under FelixLoss::rank, else of one list.
double FelixModel::Impl::train_batch(std::span<const std::uint32_t> chosen, float rate,
                                     Adam& adam) {
  const ProgramBatch batch = batch_of(chosen);
  Vector scores;
  network.forward(batch, scores);
  std::map<std::uint32_t, std::vector<std::uint32_t>> lists;
  for (std::uint32_t p = 0; p < chosen.size(); ++p) {
    lists[options.loss == FelixLoss::rank ? samples[chosen[p]].task : 0].push_back(p);
  }
  Vector slope = Vector::Zero(scores.size());
  double sum = 0;
  for (const auto& [task, members] : lists) {
    std::vector<float> of_list, gradient(members.size());
    std::vector<double> labels;
    for (const std::uint32_t p : members) {
      of_list.push_back(scores[p]);
      labels.push_back(samples[chosen[p]].throughput);
    }
    sum += felix_loss(options.loss, options.label_unit, of_list, labels, gradient);
    for (std::size_t k = 0; k < members.size(); ++k) {
      slope[members[k]] = gradient[k];
    }
  }
  network.backward(batch, slope);
  const float norm = program_network::clip_gradient(network.gradient(), options.max_gradient_norm);
  if (std::isfinite(norm)) {
    adam.step(network.parameters(), network.gradient(), rate, options.weight_decay);
  }
  return sum;
}

/// A network that has seen nothing says 0; labels may be far from there.
void FelixModel::Impl::begin_at_mean() {
  if (options.loss == FelixLoss::rank) {
    return;
  }
  double sum = 0;
  for (const auto& sample : samples) {
    sum += options.loss == FelixLoss::log_square ? std::log(sample.throughput)
                                                 : sample.throughput / options.label_unit;
  }
  network.parameters().back() = static_cast<float>(sum / static_cast<double>(samples.size()));
}

void FelixModel::Impl::train() {
  const auto num_samples = static_cast<std::uint32_t>(samples.size());
  const std::uint32_t num_epochs = std::max(1U, options.num_epochs(num_samples));
  const std::uint32_t patience = std::max(1U, FelixModelOptions::patience(num_epochs));
  const float rate = is_trained ? options.online_learning_rate : options.learning_rate;
  if (!is_trained) {
    begin_at_mean();
  }
  std::vector<std::uint32_t> order(num_samples);
  for (std::uint32_t i = 0; i < num_samples; ++i) {
    order[i] = i;
  }
  Adam adam;
  report = {};
  report.num_samples = num_samples;
  double least = -1;
  std::uint32_t best_epoch = 0;
  for (std::uint32_t epoch = 0; epoch < num_epochs && epoch <= best_epoch + patience; ++epoch) {
    CounterRng rng(options.seed, 0x66656cU, num_updates, epoch);
    rng.shuffle(order);
    double sum = 0;
    for (std::size_t first = 0; first < order.size(); first += options.batch_size) {
      const std::size_t count = std::min<std::size_t>(options.batch_size, order.size() - first);
      sum += static_cast<double>(count) *
             train_batch(std::span(order).subspan(first, count), rate, adam);
      ++report.num_steps;
    }
    ++report.num_epochs;
    report.last_loss = sum / num_samples;
    report.first_loss = epoch == 0 ? report.last_loss : report.first_loss;
    if (least < 0 || report.last_loss < least) {
      least = report.last_loss;
      best_epoch = epoch;
    }
  }
  is_trained = true;
}

FelixModel::FelixModel(const FelixModelOptions& options) : impl_(new Impl(options)) {}
FelixModel::~FelixModel() { delete impl_; }

std::span<const std::string_view> FelixModel::wanted_blocks() const { return felix_blocks; }
bool FelixModel::is_trained() const { return impl_->is_trained; }
std::size_t FelixModel::num_parameters() const {
  return std::as_const(impl_->network).parameters().size();
}
const FelixModelOptions& FelixModel::options() const { return impl_->options; }
const FelixTrainingReport& FelixModel::last_training() const { return impl_->report; }

void FelixModel::update(std::span<const TrainingSample> samples) {
  Impl& model = *impl_;
  ++model.num_updates;
  std::vector<TrainingSample> timed;
  for (const TrainingSample& sample : samples) {
    if (sample.throughput > 0 && std::isfinite(sample.throughput)) {
      timed.push_back(sample);
    }
  }
  const bool is_any_new = model.samples.add(
      timed, model.options.max_samples, [](const Features& features, std::vector<float>& rows) {
        const FeatureBlock* block = usable_felix_rows(features);
        rows = block == nullptr ? std::vector<float>() : block->values;
        return block != nullptr;
      });
  const auto num_samples = static_cast<std::uint32_t>(model.samples.size());
  if (is_any_new && num_samples >= std::max(1U, model.options.min_samples) &&
      model.samples.has_pairs()) {
    model.train();
  }
}

void FelixModel::predict(std::span<const Features> programs, std::span<float> scores) const {
  TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
  program_network::BlockEncoder encoder(impl_->network, scores);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const FeatureBlock* rows = usable_felix_rows(programs[i]);
    scores[i] = rows == nullptr ? invalid_score : 0.0F;
    if (rows != nullptr && impl_->is_trained) {
      encoder.add(i, rows->num_rows, [rows](std::size_t r, float* out) {
        copy_row(rows->row(static_cast<std::uint32_t>(r)), out);
      });
      if (encoder.is_full()) {
        encoder.finish({});
      }
    }
  }
  if (!encoder.is_empty()) {
    encoder.finish({});
  }
}

bool FelixModel::gradient(const Features& program, Features& result) const {
  return gradients({&program, 1}, {&result, 1});
}

bool FelixModel::gradients(std::span<const Features> programs, std::span<Features> results) const {
  if (!impl_->is_trained) {
    return false;
  }
  std::vector<std::uint32_t> first_row = {0};
  for (const Features& program : programs) {
    const FeatureBlock* rows = usable_felix_rows(program);
    if (rows == nullptr) {
      return false;
    }
    first_row.push_back(first_row.back() + rows->num_rows);
  }
  Matrix inputs(static_cast<Eigen::Index>(felix_length), first_row.back());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    copy_row(usable_felix_rows(programs[i])->values, inputs.col(first_row[i]).data());
  }
  const Matrix slopes = impl_->network.input_gradient(inputs, first_row);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    results[i] = programs[i];
    const float* slope = slopes.col(first_row[i]).data();
    for (FeatureBlock& block : results[i].blocks()) {
      const bool is_read = block.schema->name() == felix_block_name;
      for (std::size_t k = 0; k < block.values.size(); ++k) {
        block.values[k] = is_read ? slope[k] : 0.0F;
      }
    }
  }
  return true;
}

Result<std::string, CostModelFault> FelixModel::save() const {
  ByteWriter out;
  out.u64(impl_->options.seed);
  out.u32(impl_->num_updates);
  out.u32(impl_->is_trained ? 1 : 0);
  out.u32(static_cast<std::uint32_t>(impl_->options.loss));
  for (const float value : std::as_const(impl_->network).parameters()) {
    out.f32(value);
  }
  return frame_model(name(), schema_version, out.take(), {felix_schema()});
}

Result<Done, CostModelFault> FelixModel::load(std::string_view bytes) {
  const Result<std::string_view, CostModelFault> payload =
      unframe_model(bytes, name(), schema_version, {felix_schema()});
  if (!payload) {
    return fail(payload.error());
  }
  ByteReader in(*payload);
  FelixModelOptions options = impl_->options;
  options.seed = in.u64();
  const std::uint32_t num_updates = in.u32(), is_trained = in.u32(), loss = in.u32();
  if (!in.ok() || is_trained > 1 || loss > static_cast<std::uint32_t>(FelixLoss::rank)) {
    return refuse(CostModelError::bad_payload);
  }
  options.loss = static_cast<FelixLoss>(loss);
  auto loaded = std::make_unique<Impl>(options);
  loaded->num_updates = num_updates;
  loaded->is_trained = is_trained == 1;
  bool is_good = true;
  for (float& value : loaded->network.parameters()) {
    value = in.f32();
    is_good = is_good && std::isfinite(value);
  }
  if (!in.ok() || !in.rest().empty() || !is_good) {
    return refuse(CostModelError::bad_payload);
  }
  delete std::exchange(impl_, loaded.release());
  return Done{};
}

}  // namespace tensorsmith
