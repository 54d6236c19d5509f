// SPDX-License-Identifier: Apache-2.0
// Normalizations: of batches with known statistics, of layers, instances and groups.
#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

std::size_t channel_axis(const Node& node, const Shape& x) {
  const bool is_last = node.text("layout", "NCHW") == "NHWC";
  return x.size() < 2 || !is_last ? (x.size() < 2 ? 0 : 1) : x.size() - 1;
}

void infer_batch_norm(Inference& in) {
  if (in.node().integer("training_mode", 0) != 0) {
    refuse("is in training mode, which is not supported");
  }
  const Shape channels{in.shape(0)[channel_axis(in.node(), in.shape(0))]};
  for (std::size_t i = 1; i < 5; ++i) {
    if (!in.has(i) || in.shape(i) != channels) {
      refuse("has scale, bias, mean or variance that do not fit " + shape_text(in.shape(0)));
    }
  }
  in.set(in.dtype(0), in.shape(0));
}

void emit_batch_norm(Emitter& e) {
  const std::size_t c = channel_axis(e.node(), e.shape(0));
  const double epsilon = e.node().real("epsilon", 1e-5);
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  e.define([&](const Indices& at) {
    const auto of_channel = [&](std::size_t i) { return te::cast(wide, e.read(i, {at[c]})); };
    const Expr scale = of_channel(1) * te::rsqrt(of_channel(4) + epsilon);
    return te::cast(type, (te::cast(wide, e.read(0, at)) - of_channel(3)) * scale + of_channel(2));
  });
}

/// Statistics of the elements of x that share a row: x is seen as [rows..., inner...].
struct RowStatistics {
  te::Tensor mean, variance;
};

/// Mean and variance over the axes from `first` on. Elements are seen from the first of their row,
/// so that a mean that is large against the deviation costs no digits.
RowStatistics statistics_of(Emitter& e, const Shape& shape, std::size_t first,
                            const Emitter::Body& x) {
  const Shape rows(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  te::ReduceAxes k1, k2;
  double count = 1;
  for (std::size_t d = first; d < shape.size(); ++d) {
    k1.push_back(e.axis("k" + std::to_string(d), shape[d]));
    k2.push_back(e.axis("q" + std::to_string(d), shape[d]));
    count *= static_cast<double>(shape[d]);
  }
  const auto with = [&](const Indices& row, const te::ReduceAxes& k) {
    Indices at = row;
    at.insert(at.end(), k.begin(), k.end());
    return at;
  };
  const auto origin = [&](const Indices& row) {
    Indices at = row;
    at.insert(at.end(), shape.size() - first, Expr(0));
    return x(at);
  };
  const te::Tensor sum = e.stage(
      "sum", rows, [&](const Indices& row) { return te::sum(x(with(row, k1)) - origin(row), k1); });
  const te::Tensor mean = e.stage(
      "mean", rows, [&](const Indices& row) { return sum.at(row) * (1.0 / count) + origin(row); });
  const te::Tensor squares = e.stage("squares", rows, [&](const Indices& row) {
    const Expr distance = x(with(row, k2)) - mean.at(row);
    return te::sum(distance * distance, k2);
  });
  return {mean, e.stage("var", rows,
                        [&](const Indices& row) { return squares.at(row) * (1.0 / count); })};
}

void infer_layer_norm(Inference& in) {
  const std::size_t first = normalized_axis(in.node().integer("axis", -1), in.rank(0));
  const Shape inner(in.shape(0).begin() + static_cast<std::ptrdiff_t>(first), in.shape(0).end());
  for (std::size_t i = 1; i < in.num_inputs(); ++i) {
    if (in.has(i) && spread_shapes(in.shape(i), inner) != inner) {
      refuse("has a scale or bias " + shape_text(in.shape(i)) + " that does not fit " +
             shape_text(inner));
    }
  }
  if (in.node().has_output(1) || in.node().has_output(2)) {
    refuse("has a second result, which is not supported");
  }
  in.set(in.dtype(0), in.shape(0));
}

Indices from(const Indices& at, std::size_t first) {
  return Indices(at.begin() + static_cast<std::ptrdiff_t>(first), at.end());
}
Indices before(const Indices& at, std::size_t first) {
  return Indices(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(first));
}

void emit_layer_norm(Emitter& e) {
  const Shape& shape = e.shape(0);
  const std::size_t first = normalized_axis(e.node().integer("axis", -1), shape.size());
  const double epsilon = e.node().real("epsilon", 1e-5);
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const te::Tensor input = e.tensor(0);
  const auto x = [&](const Indices& at) { return te::cast(wide, input.at(at)); };
  const RowStatistics s = statistics_of(e, shape, first, x);
  e.define([&](const Indices& at) {
    const Indices row = before(at, first);
    Expr value = (x(at) - s.mean.at(row)) * te::rsqrt(s.variance.at(row) + epsilon);
    if (e.has(1)) {
      value = value * te::cast(wide, e.read_spread(1, from(at, first)));
    }
    return te::cast(type,
                    e.has(2) ? value + te::cast(wide, e.read_spread(2, from(at, first))) : value);
  });
}

void emit_rms_norm(Emitter& e) {
  const Shape& shape = e.shape(0);
  const std::size_t first = normalized_axis(e.node().integer("axis", -1), shape.size());
  const double epsilon = e.node().real("epsilon", 1e-5);
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const te::Tensor input = e.tensor(0);
  te::ReduceAxes k;
  double count = 1;
  for (std::size_t d = first; d < shape.size(); ++d) {
    k.push_back(e.axis("k" + std::to_string(d), shape[d]));
    count *= static_cast<double>(shape[d]);
  }
  const Shape rows(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  const te::Tensor squares = e.stage("squares", rows, [&](const Indices& row) {
    Indices at = row;
    at.insert(at.end(), k.begin(), k.end());
    const Expr x = te::cast(wide, input.at(at));
    return te::sum(x * x, k);
  });
  e.define([&](const Indices& at) {
    const Expr root = te::rsqrt(squares.at(before(at, first)) * (1.0 / count) + epsilon);
    const Expr value = te::cast(wide, input.at(at)) * root;
    return te::cast(type,
                    e.has(1) ? value * te::cast(wide, e.read_spread(1, from(at, first))) : value);
  });
}

/// Channels in groups: x [n, c, ...] seen as [n, groups, c / groups, ...].
void emit_groups(Emitter& e, std::int64_t groups) {
  const Shape& shape = e.shape(0);
  const std::int64_t channels = shape[1], per_group = channels / groups;
  const double epsilon = e.node().real("epsilon", 1e-5);
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const te::Tensor input = e.tensor(0);
  Shape seen{shape[0], groups, per_group};
  seen.insert(seen.end(), shape.begin() + 2, shape.end());
  const auto x = [&](const Indices& at) {
    Indices index{at[0], per_group == 1 ? at[1] : groups == 1 ? at[2] : at[1] * per_group + at[2]};
    index.insert(index.end(), at.begin() + 3, at.end());
    return te::cast(wide, input.at(index));
  };
  const RowStatistics s = statistics_of(e, seen, 2, x);
  e.define([&](const Indices& at) {
    const Indices row{at[0], groups == 1      ? Expr(0)
                             : per_group == 1 ? at[1]
                                              : te::floordiv(at[1], per_group)};
    const Expr value =
        (te::cast(wide, input.at(at)) - s.mean.at(row)) * te::rsqrt(s.variance.at(row) + epsilon);
    return te::cast(type, value * te::cast(wide, e.read(1, {at[1]})) +
                              te::cast(wide, e.read(2, {at[1]})));
  });
}

void check_channels(const Inference& in) {
  if (in.rank(0) < 2) {
    refuse("has an input " + shape_text(in.shape(0)) + " without channels");
  }
  const Shape channels{in.shape(0)[1]};
  if (!in.has(1) || !in.has(2) || in.shape(1) != channels || in.shape(2) != channels) {
    refuse("has a scale or bias that does not fit " + shape_text(in.shape(0)));
  }
}
void infer_instance_norm(Inference& in) {
  check_channels(in);
  in.set(in.dtype(0), in.shape(0));
}
void emit_instance_norm(Emitter& e) { emit_groups(e, e.shape(0)[1]); }
void infer_group_norm(Inference& in) {
  check_channels(in);
  const std::int64_t groups = in.node().integer("num_groups", 1);
  if (groups < 1 || in.shape(0)[1] % groups != 0) {
    refuse("has " + std::to_string(groups) + " groups for " + std::to_string(in.shape(0)[1]) +
           " channels");
  }
  in.set(in.dtype(0), in.shape(0));
}
void emit_group_norm(Emitter& e) { emit_groups(e, e.node().integer("num_groups", 1)); }

void infer_lrn(Inference& in) {
  if (in.rank(0) < 2 || in.node().integer("size", 0) < 1) {
    refuse("has no channels or no size");
  }
  in.set(in.dtype(0), in.shape(0));
}
/// x / (bias + alpha / size * sum of squares of the neighbouring channels) ^ beta.
void emit_lrn(Emitter& e) {
  const Shape& shape = e.shape(0);
  const std::int64_t size = e.node().integer("size", 1), low = (size - 1) / 2;
  const double scale = e.node().real("alpha", 1e-4) / static_cast<double>(size);
  const double beta = e.node().real("beta", 0.75), bias = e.node().real("bias", 1);
  const te::Tensor x = e.tensor(0);
  const te::ReduceAxis k = e.axis("k", size);
  const te::Tensor squares = e.stage("squares", shape, [&](const Indices& at) {
    Indices index = at;
    const Expr c = at[1] + k - low;
    index[1] = c;
    const Expr value = te::if_then_else(c >= 0 && c < shape[1], x.at(index), 0);
    return te::sum(value * value, {k});
  });
  e.define([&](const Indices& at) {
    const Expr base = squares.at(at) * scale + bias;
    return x.at(at) * te::exp(te::log(base) * -beta);
  });
}

}  // namespace

std::vector<OperatorRow> norm_rows() {
  return {computed_row("BatchNormalization", Pattern::broadcast, infer_batch_norm, emit_batch_norm),
          computed_row("LayerNormalization", Pattern::reduction, infer_layer_norm, emit_layer_norm),
          computed_row("RMSNormalization", Pattern::reduction, infer_layer_norm, emit_rms_norm),
          computed_row("InstanceNormalization", Pattern::reduction, infer_instance_norm,
                       emit_instance_norm),
          computed_row("GroupNormalization", Pattern::reduction, infer_group_norm, emit_group_norm),
          computed_row("LRN", Pattern::reduction, infer_lrn, emit_lrn)};
}

}  // namespace tensorsmith::graph
