// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/program_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "early_stop.hpp"
#include "program_batch.hpp"
#include "program_losses.hpp"
#include "program_network.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/rng.hpp"
#include "training_set.hpp"

namespace tensorsmith {

namespace program_network {

/// A network that programs can be scored with.
struct Scorer {
  explicit Scorer(const NetworkShape& shape) : network(shape) {}

  ProgramNetwork network;
  InputScale scale;
};

/// How well scores ordered measurements that came after them; old rounds count less and less.
struct OrderSoFar {
  double correct = 0, pairs = 0;

  void add(const RankReport& report) {
    constexpr double kept = 0.7;
    correct = kept * correct + static_cast<double>(report.num_correct);
    pairs = kept * pairs + static_cast<double>(report.num_pairs);
  }
  double accuracy() const { return pairs > 0 ? correct / pairs : 0.5; }
};

}  // namespace program_network

using program_network::Adam;
using program_network::InputScale;
using program_network::NetworkShape;
using program_network::OrderSoFar;
using program_network::ProgramBatch;
using program_network::ProgramInputs;
using program_network::ProgramNetwork;
using program_network::Scorer;
using program_network::Vector;

namespace {

constexpr std::array<std::string_view, 3> all_blocks{statements_block_name, embedding_block_name,
                                                     dataflow_block_name};

NetworkShape shape_of(ProgramNetworkKind kind) {
  return kind == ProgramNetworkKind::pam ? NetworkShape::pam() : NetworkShape::mlp();
}

}  // namespace

struct ProgramModel::Impl {
  explicit Impl(const ProgramModelOptions& chosen)
      : options(chosen), current(shape_of(chosen.network)) {
    TENSORSMITH_ASSERT(chosen.batch_size > 1 && chosen.update_interval > 0,
                       "batches of two or more, updates of one or more");
    current.network.initialize(chosen.seed);
  }

  bool has_flow() const { return current.network.shape().has_flow(); }
  bool is_adaptive() const { return options.momentum > 0; }
  const Scorer& scorer() const { return uses_source ? *source : current; }

  void judge(std::span<const TrainingSample> added);
  void begin();
  void train();
  double train_batch(std::span<const std::uint32_t> chosen, Adam& adam);
  ProgramBatch batch_of(std::span<const std::uint32_t> chosen) const;
  void settle_statistics();
  std::uint32_t epoch_limit() const;

  ProgramModelOptions options;
  Scorer current;                  ///< what is trained and, if it is good, scored with
  std::unique_ptr<Scorer> source;  ///< what was loaded
  std::unique_ptr<Scorer> slow;    ///< where trainings of MoA begin
  std::uint32_t num_updates = 0;
  bool is_trained = false, uses_source = false;
  OrderSoFar current_order, source_order;
  ProgramTrainingReport report;
  TrainingSet<ProgramInputs> samples;
};

// Before the samples are learned from: who orders them better, source or what was trained since?
void ProgramModel::Impl::judge(std::span<const TrainingSample> added) {
  if (!options.falls_back || !source) {
    return;
  }
  std::vector<Features> programs;
  std::vector<std::uint32_t> tasks;
  std::vector<TrainingSample> timed;
  for (const TrainingSample& sample : added) {
    if (sample.throughput > 0 && !sample.features.empty()) {
      programs.push_back(sample.features);
      tasks.push_back(sample.task);
      timed.push_back(sample);
    }
  }
  const std::vector<float> labels = normalized_labels(timed);
  std::vector<float> scores(programs.size());
  const auto order = [&](const Scorer& scorer) {
    program_network::predict(scorer.network, scorer.scale, programs, scores);
    return rank_report(scores, labels, tasks);
  };
  source_order.add(order(*source));
  current_order.add(order(current));
}

// Where the weights stand when a training begins.
void ProgramModel::Impl::begin() {
  constexpr double harmful = 0.5;  // chance
  if (is_adaptive() && slow) {
    const bool is_harmful = options.falls_back && source_order.pairs > 0 &&
                            source_order.accuracy() < harmful && current_order.accuracy() < harmful;
    if (is_harmful) {
      slow->network.initialize(hash_combine(options.seed, num_updates));
    }
    current = *slow;
  } else if (options.starts_over) {
    current = Scorer(current.network.shape());
    current.network.initialize(hash_combine(options.seed, num_updates));
  }
  // Weights and scales belong together: those of a source or of an earlier round stay.
  if (!current.scale.is_set() || options.starts_over || options.refits_scales) {
    std::vector<const ProgramInputs*> inputs;
    for (const auto& sample : samples) {
      inputs.push_back(&sample.inputs);
    }
    current.scale.fit(inputs, has_flow());
  }
}

ProgramBatch ProgramModel::Impl::batch_of(std::span<const std::uint32_t> chosen) const {
  std::vector<const ProgramInputs*> inputs;
  for (const std::uint32_t index : chosen) {
    inputs.push_back(&samples[index].inputs);
  }
  return program_network::make_batch(inputs, current.scale, has_flow());
}

double ProgramModel::Impl::train_batch(std::span<const std::uint32_t> chosen, Adam& adam) {
  const ProgramBatch batch = batch_of(chosen);
  Vector scores;
  current.network.forward(batch, scores);
  Vector slope;
  const double loss = samples.loss_of_lists(
      chosen, options.compares_tasks, scores, slope,
      [](std::span<const float> of_list, std::span<const float> labels, std::span<float> gradient) {
        return program_loss(ProgramLoss::lambda_rank, of_list, labels, gradient);
      });
  current.network.backward(batch, slope);
  const float norm =
      program_network::clip_gradient(current.network.gradient(), options.max_gradient_norm);
  if (std::isfinite(norm)) {
    adam.step(current.network.parameters(), current.network.gradient(), options.learning_rate,
              options.weight_decay);
  }
  return loss;
}

std::uint32_t ProgramModel::Impl::epoch_limit() const {
  if (options.max_visits == 0) {
    return options.num_epochs;
  }
  const auto num_samples = static_cast<std::uint32_t>(samples.size());
  return std::clamp(options.max_visits / num_samples, 1U, options.num_epochs);
}

void ProgramModel::Impl::train() {
  std::vector<std::uint32_t> order(samples.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  Adam adam;
  report = {};
  report.num_samples = static_cast<std::uint32_t>(samples.size());
  EarlyStop stop(options.patience);
  bool goes_on = true;
  for (std::uint32_t epoch = 0; epoch < epoch_limit() && goes_on; ++epoch) {
    CounterRng rng(options.seed, 0x70616dU, num_updates, epoch);
    rng.shuffle(order);
    for (std::size_t first = 0; first < order.size(); first += options.batch_size) {
      const std::size_t count = std::min<std::size_t>(options.batch_size, order.size() - first);
      if (count < 2) {
        break;  // nothing to compare, and no statistics
      }
      stop.add_batch(train_batch(std::span(order).subspan(first, count), adam));
      ++report.num_steps;
    }
    ++report.num_epochs;
    report.last_loss = stop.mean();
    report.first_loss = epoch == 0 ? stop.mean() : report.first_loss;
    goes_on = stop.goes_on_after_epoch();
  }
  settle_statistics();
}

// Running averages lag behind weights that moved fast: those of the latest programs under the final
// weights instead.
void ProgramModel::Impl::settle_statistics() {
  constexpr std::size_t most = 2048;
  if (!has_flow() || !options.settles_norm) {
    return;
  }
  std::vector<std::uint32_t> latest;
  for (std::size_t i = samples.size() - std::min(most, samples.size()); i < samples.size(); ++i) {
    latest.push_back(static_cast<std::uint32_t>(i));
  }
  if (latest.size() > 1) {
    current.network.statistics() = current.network.statistics_of(batch_of(latest));
  }
}

ProgramModel::ProgramModel(const ProgramModelOptions& options) : impl_(new Impl(options)) {}
ProgramModel::~ProgramModel() { delete impl_; }

std::string_view ProgramModel::name() const {
  return !impl_->has_flow() ? "tenset-mlp" : impl_->is_adaptive() ? "moa" : "pam";
}
std::span<const std::string_view> ProgramModel::wanted_blocks() const {
  return std::span<const std::string_view>(all_blocks).first(impl_->has_flow() ? 3 : 2);
}
bool ProgramModel::is_trained() const { return impl_->is_trained; }
std::size_t ProgramModel::num_parameters() const {
  return std::as_const(impl_->current.network).parameters().size();
}
const ProgramModelOptions& ProgramModel::options() const { return impl_->options; }
const ProgramTrainingReport& ProgramModel::last_training() const { return impl_->report; }
bool ProgramModel::uses_source() const { return impl_->uses_source; }

void ProgramModel::update(std::span<const TrainingSample> samples) {
  Impl& model = *impl_;
  ++model.num_updates;
  model.judge(samples);
  const bool is_usable = model.samples.add(samples, model.options.max_samples,
                                           [&](const Features& features, ProgramInputs& inputs) {
                                             return inputs.read(features, model.has_flow());
                                           });
  if (is_usable && model.num_updates % model.options.update_interval == 0 &&
      model.samples.has_pairs()) {
    model.begin();
    model.train();
    model.is_trained = true;
    if (model.is_adaptive()) {
      if (!model.slow) {
        model.slow = std::make_unique<Scorer>(model.current);
      }
      const std::span<float> slow = model.slow->network.parameters();
      const std::span<const float> trained = std::as_const(model.current.network).parameters();
      for (std::size_t i = 0; i < slow.size(); ++i) {
        slow[i] = model.options.momentum * slow[i] + (1 - model.options.momentum) * trained[i];
      }
    }
  }
  constexpr double clearly = 0.02;
  model.uses_source = model.source && model.options.falls_back &&
                      model.source_order.accuracy() > model.current_order.accuracy() + clearly;
}

void ProgramModel::predict(std::span<const Features> programs, std::span<float> scores) const {
  TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
  if (impl_->is_trained) {
    const Scorer& scorer = impl_->scorer();
    program_network::predict(scorer.network, scorer.scale, programs, scores);
    return;
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    ProgramInputs inputs;
    scores[i] = inputs.read(programs[i], impl_->has_flow()) ? 0.0F : invalid_score;
  }
}

namespace {

void write_scorer(ByteWriter& out, const Scorer& scorer) {
  for (const float value : scorer.scale.values()) {
    out.f32(value);
  }
  for (const float value : scorer.network.parameters()) {
    out.f32(value);
  }
  const auto& statistics = scorer.network.statistics();
  for (const Vector* values : {&statistics.mean, &statistics.variance}) {
    for (Eigen::Index i = 0; i < values->size(); ++i) {
      out.f32((*values)[i]);
    }
  }
}

/// False if a number is not finite, or a scale or a variance is not positive.
bool read_scorer(ByteReader& in, bool has_flow, Scorer& scorer) {
  bool is_good = true;
  const auto read = [&](bool is_positive) {
    const float value = in.f32();
    is_good = is_good && std::isfinite(value) && (!is_positive || value > 0);
    return value;
  };
  std::vector<float> scale(InputScale::size(has_flow));
  for (float& value : scale) {
    value = read(true);
  }
  scorer.scale.set(std::move(scale));
  for (float& value : scorer.network.parameters()) {
    value = read(false);
  }
  auto& statistics = scorer.network.statistics();
  for (Vector* values : {&statistics.mean, &statistics.variance}) {
    for (Eigen::Index i = 0; i < values->size(); ++i) {
      (*values)[i] = std::max(read(false), values == &statistics.variance ? 0.0F : -INFINITY);
    }
  }
  return is_good;
}

FeatureSchema schema_of(bool has_flow) {
  FeatureSchema schema{statements_schema(), embedding_schema()};
  if (has_flow) {
    schema.push_back(dataflow_schema());
  }
  return schema;
}

}  // namespace

Result<std::string, CostModelFault> ProgramModel::save() const {
  ByteWriter out;
  const bool has_weights = impl_->is_trained;
  out.u64(impl_->options.seed);
  out.u32(impl_->num_updates);
  out.u32(has_weights ? 1 : 0);
  out.u32(has_weights && impl_->slow ? 1 : 0);
  if (has_weights) {
    write_scorer(out, impl_->scorer());
    if (impl_->slow) {
      write_scorer(out, *impl_->slow);
    }
  }
  // One kind of weights for both ways to train them.
  return frame_model(impl_->has_flow() ? "pam" : "tenset-mlp", schema_version, out.take(),
                     schema_of(impl_->has_flow()));
}

Result<Done, CostModelFault> ProgramModel::load(std::string_view bytes) {
  const bool has_flow = impl_->has_flow();
  const Result<std::string_view, CostModelFault> payload =
      unframe_model(bytes, has_flow ? "pam" : "tenset-mlp", schema_version, schema_of(has_flow));
  if (!payload) {
    return fail(payload.error());
  }
  ByteReader in(*payload);
  ProgramModelOptions options = impl_->options;
  options.seed = in.u64();
  const std::uint32_t num_updates = in.u32(), is_trained = in.u32(), has_slow = in.u32();
  if (!in.ok() || is_trained > 1 || has_slow > is_trained) {
    return refuse(CostModelError::bad_payload);
  }
  auto loaded = std::make_unique<Impl>(options);
  loaded->num_updates = num_updates;
  loaded->is_trained = is_trained == 1;
  bool is_good = true;
  if (is_trained == 1) {
    is_good = read_scorer(in, has_flow, loaded->current);
    loaded->source = std::make_unique<Scorer>(loaded->current);
    loaded->slow = std::make_unique<Scorer>(loaded->current);
    is_good = is_good && (has_slow == 0 || read_scorer(in, has_flow, *loaded->slow));
  }
  if (!in.ok() || !in.rest().empty() || !is_good) {
    return refuse(CostModelError::bad_payload);
  }
  delete std::exchange(impl_, loaded.release());
  return Done{};
}

Result<Done, CostModelFault> ProgramModel::import(std::span<const NamedTensor> tensors) {
  Scorer made(impl_->current.network.shape());
  const auto take = [&](const std::string& name, std::span<float> values) {
    const NamedTensor* found =
        find_item(tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
    const bool is_good = found != nullptr && found->values.size() == values.size() &&
                         std::all_of(found->values.begin(), found->values.end(),
                                     [](float value) { return std::isfinite(value); });
    if (is_good) {
      std::copy(found->values.begin(), found->values.end(), values.begin());
    }
    return is_good;
  };
  std::string missing;
  const auto need = [&](const std::string& name, std::span<float> values) {
    missing = missing.empty() && !take(name, values) ? name : missing;
  };
  std::vector<float> scale(InputScale::size(impl_->has_flow()));
  need("feature_norm_statement", std::span(scale).first(InputScale::size(false)));
  const std::span<float> parameters = made.network.parameters();
  for (const auto& tensor : made.network.tensors()) {
    need(tensor.name, parameters.subspan(tensor.offset, tensor.size()));
  }
  if (impl_->has_flow()) {
    auto& statistics = made.network.statistics();
    const auto values = [](Vector& v) {
      return std::span<float>(v.data(), static_cast<std::size_t>(v.size()));
    };
    need("feature_norm_block", std::span(scale).subspan(InputScale::size(false)));
    need("norm.running_mean", values(statistics.mean));
    need("norm.running_var", values(statistics.variance));
  }
  if (!missing.empty()) {
    return refuse(CostModelError::bad_payload, "no usable tensor " + in_quotes(missing));
  }
  made.scale.set(std::move(scale));
  impl_->source = std::make_unique<Scorer>(made);
  impl_->slow = std::make_unique<Scorer>(made);
  impl_->current = std::move(made);
  impl_->is_trained = true;
  impl_->uses_source = false;
  impl_->samples.clear();
  return Done{};
}

}  // namespace tensorsmith
