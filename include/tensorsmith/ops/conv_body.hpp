// SPDX-License-Identifier: Apache-2.0
// The definitions of conv.hpp.
//
// Floor 3. Included by ops/conv.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ops/batch_norm_body.hpp"
#include "tensorsmith/ops/conv.hpp"
#include "tensorsmith/ops/conv_check.hpp"
#include "tensorsmith/ops/pad.hpp"
#include "tensorsmith/ops/pool_body.hpp"
#include "tensorsmith/ops/requantize.hpp"
#include "tensorsmith/ops/winograd.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

/// What the operands, the stages and the taps of a convolution are called.
struct ConvNames {
  std::string weights = "W", bias = "bias", padded = "Pad", result = "Y";
  std::vector<std::string> taps{"rd", "ry", "rx"};
};

/// One convolution being built into a program.
class ConvBuilder {
 public:
  ConvBuilder(te::Program& program, const ConvParams& p, ConvNames names = {})
      : program_(program), p_(p), names_(std::move(names)), rank_(static_cast<std::size_t>(p.rank)),
        type_(accumulator_of(p.dtype)), axes_(activation_axes(p.rank, p.layout)) {
    for (int a = 0; a < p.rank; ++a) {
      out_.push_back(p.out_spatial(a));
    }
  }

  te::Tensor input() {
    const std::vector<std::int64_t> in(p_.spatial.begin(), p_.spatial.end());
    return program_.placeholder("X", activation_shape(p_.rank, p_.layout, p_.n, p_.ci, in),
                                p_.dtype);
  }

  /// Its result, of the epilogue; its operands are added to `arguments`.
  te::Tensor build(const te::Tensor& x, std::vector<te::Tensor>& arguments) {
    std::vector<std::int64_t> before, after;
    for (std::size_t a = 0; a < rank_; ++a) {
      before.push_back(p_.transposed ? transposed_before(a) : p_.pad[a]);
      after.push_back(p_.transposed ? transposed_after(a) : p_.pad_after(a) + tiles_beyond(a));
    }
    const te::Tensor padded = pad_spatial(program_, x, axes_, before, after, 0, names_.padded);
    const te::Tensor w =
        program_.placeholder(names_.weights, weight_shape(), dtype_of(p_.weights, p_.dtype));
    te::Tensor y = p_.winograd != 0 ? convolve_tiles(padded, w) : convolve(padded, w);
    arguments.push_back(w);
    if (p_.bias) {
      const te::Tensor bias = program_.placeholder(names_.bias, {p_.co}, type_);
      arguments.push_back(bias);
      y = pointwise("bias", y, [&](const te::Expr& v, const Indices& at) {
        return v + bias(at[axes_.channel]);
      });
    }
    if (p_.batch_norm) {
      const BatchNorm norm(program_, p_.co, type_, arguments);
      y = pointwise("norm", y, [&](const te::Expr& v, const Indices& at) {
        return norm(v, at[axes_.channel]);
      });
    }
    if (p_.add) {
      const te::Tensor residual = program_.placeholder("R", y.shape(), type_);
      arguments.push_back(residual);
      y = pointwise("add", y,
                    [&](const te::Expr& v, const Indices& at) { return v + residual.at(at); });
    }
    if (p_.activation == Activation::relu) {
      y = pointwise("relu", y, [this](const te::Expr& v, const Indices&) {
        return relu(v, p_.propagates_nan);
      });
    } else if (p_.activation == Activation::gelu) {
      y = pointwise("gelu", y, [](const te::Expr& v, const Indices&) { return gelu(v); });
    }
    if (p_.requant != ByteType::none) {
      const Requantize requantize(program_, p_.co, p_.requant, arguments);
      y = pointwise("requant", y, [&](const te::Expr& v, const Indices& at) {
        return requantize(v, at[axes_.channel]);
      });
    }
    return y;
  }

  double nominal_flop() const {
    double product = 2.0 * static_cast<double>(p_.n) * static_cast<double>(p_.ci) *
                     static_cast<double>(p_.co / p_.groups);
    for (std::size_t a = 0; a < rank_; ++a) {
      product *= static_cast<double>(p_.kernel[a]) *
                 static_cast<double>(p_.transposed ? p_.spatial[a] : out_[a]);
    }
    return product;
  }
  std::int64_t reduction_length() const {
    std::int64_t product = p_.ci / p_.groups;
    for (std::size_t a = 0; a < rank_; ++a) {
      product *= p_.kernel[a];
    }
    return product;
  }

 private:
  using Indices = std::vector<te::Expr>;

  /// The first tap of output 0 of a transposed convolution lies `gap` positions of the stretched
  /// input before its first element; whole input steps of that are padding, the rest an offset.
  std::int64_t gap(std::size_t a) const { return p_.dilation[a] * (p_.kernel[a] - 1) - p_.pad[a]; }
  std::int64_t transposed_before(std::size_t a) const {
    return gap(a) > 0 ? (gap(a) + p_.stride[a] - 1) / p_.stride[a] : 0;
  }
  std::int64_t offset(std::size_t a) const { return transposed_before(a) * p_.stride[a] - gap(a); }
  std::int64_t transposed_after(std::size_t a) const {
    const std::int64_t last =
        (out_[a] - 1 + p_.dilation[a] * (p_.kernel[a] - 1) + offset(a)) / p_.stride[a];
    const std::int64_t have = transposed_before(a) + p_.spatial[a] - 1;
    return last > have ? last - have : 0;
  }

  /// How many outputs the last tile of Winograd's filtering has too many.
  std::int64_t tiles_beyond(std::size_t a) const {
    return p_.winograd == 0 ? 0 : num_tiles(a) * p_.winograd - out_[a];
  }
  std::int64_t num_tiles(std::size_t a) const { return (out_[a] + p_.winograd - 1) / p_.winograd; }

  te::Shape weight_shape() const {
    te::Shape shape(p_.kernel.begin(), p_.kernel.begin() + p_.rank);
    if (p_.depthwise) {
      shape.insert(p_.layout == Layout::nhwc ? shape.end() : shape.begin(), p_.co);
    } else if (p_.layout == Layout::nhwc) {
      shape.push_back(p_.ci / p_.groups);
      shape.push_back(p_.co);
    } else if (p_.transposed) {
      shape.insert(shape.begin(), {p_.ci, p_.co / p_.groups});
    } else {
      shape.insert(shape.begin(), {p_.co, p_.ci / p_.groups});
    }
    return shape;
  }

  /// `name` comes behind that of the result.
  template <class F>
  te::Tensor pointwise(const char* name, const te::Tensor& in, const F& f) {
    return program_.compute(names_.result + name, in.shape(),
                            [&](const Indices& at) { return f(in.at(at), at); },
                            {axes_.names, {}, {}});
  }

  te::ReduceAxes reduce_axes() {
    const std::vector<std::string> names =
        p_.transposed ? std::vector<std::string>{"rd", "rh", "rw"} : names_.taps;
    te::ReduceAxes taps;
    for (std::size_t a = 0; a < rank_; ++a) {
      taps.push_back(program_.reduce_axis(names[a + 3 - rank_], p_.kernel[a]));
    }
    return taps;
  }

  te::Tensor convolve(const te::Tensor& x, const te::Tensor& w) {
    const ActivationAxes axes = activation_axes(p_.rank, p_.layout, p_.depthwise ? "c" : "co");
    te::ComputeOptions options;
    options.axes = axes.names;
    if (p_.packing != PackingClass::plain) {
      options.attrs.layout_free_placeholders = {names_.weights};
    }
    const te::ReduceAxes taps = reduce_axes();
    te::ReduceAxes reduced = taps;
    if (!p_.depthwise) {
      const te::ReduceAxis rc = program_.reduce_axis("rc", p_.ci / p_.groups);
      reduced.insert(p_.layout == Layout::nhwc ? reduced.end() : reduced.begin(), rc);
    }
    if (p_.transposed) {
      options.attrs.always_unroll_inner = unrolled_names(axes, taps);
    }
    const auto body = [&](const std::vector<te::Expr>& at) {
      const te::Expr rc = p_.layout == Layout::nhwc ? reduced.back() : reduced.front();
      return te::sum(p_.transposed ? transposed_term(x, w, at, taps, rc) : term(x, w, at, taps, rc),
                     reduced);
    };
    return program_.compute(names_.result, activation_shape(p_.rank, p_.layout, p_.n, p_.co, out_),
                            body, std::move(options));
  }
  te::Tensor convolve_tiles(const te::Tensor& x, const te::Tensor& w) {
    const std::int64_t rows = num_tiles(0), columns = num_tiles(1);
    WinogradStages stages(program_, p_.winograd, p_.n, rows, columns);
    const te::Tensor weights = stages.weights(
        p_.ci, p_.co, p_.packing == PackingClass::plain ? "" : "W",
        [&](const te::Expr& kh, const te::Expr& kw, const te::Expr& ci, const te::Expr& co) {
          return read_weight(w, co, ci, {kh, kw});
        });
    const te::Tensor inputs = stages.input(
        p_.ci, [&](const te::Expr& n, const te::Expr& h, const te::Expr& v, const te::Expr& c) {
          Indices index(4, c);
          index[0] = n;
          index[axes_.first_spatial] = h;
          index[axes_.first_spatial + 1] = v;
          return x.at(index);
        });
    const te::Tensor tiles = stages.output(stages.product(inputs, weights));
    te::ComputeOptions options;
    options.axes = activation_axes(p_.rank, p_.layout, "co").names;
    options.attrs.rounding = winograd_rounding(p_.winograd);
    return program_.compute(
        "Y", activation_shape(p_.rank, p_.layout, p_.n, p_.co, out_),
        [&](const Indices& at) {
          const te::Expr h = at[axes_.first_spatial];
          const te::Expr v = at[axes_.first_spatial + 1];
          const te::Expr tile = (at[0] * rows + te::floordiv(h, p_.winograd)) * columns +
                                te::floordiv(v, p_.winograd);
          return tiles(te::floormod(h, p_.winograd), te::floormod(v, p_.winograd), tile,
                       at[axes_.channel]);
        },
        std::move(options));
  }
  /// As the reference's operator does: spatial, taps, and the spatial axes of a cache stage.
  static std::vector<std::string> unrolled_names(const ActivationAxes& axes,
                                                 const te::ReduceAxes& taps) {
    std::vector<std::string> names = axes.spatial_names;
    for (const te::ReduceAxis& tap : taps) {
      names.push_back(tap.program()->pool.var_name(tap.var()));
    }
    for (const std::string& name : axes.spatial_names) {
      names.push_back(name + "_c");
    }
    return names;
  }

  /// The input channel of output channel `co` at reduction step `rc`.
  te::Expr input_channel(const te::Expr& co, const te::Expr& rc) const {
    return p_.groups == 1 ? rc : te::floordiv(co, p_.co / p_.groups) * (p_.ci / p_.groups) + rc;
  }
  te::Expr read_weight(const te::Tensor& w, const te::Expr& co, const te::Expr& rc,
                       const std::vector<te::Expr>& taps) const {
    std::vector<te::Expr> index = taps;
    if (p_.depthwise) {
      index.insert(p_.layout == Layout::nhwc ? index.end() : index.begin(), co);
    } else if (p_.layout == Layout::nhwc) {
      index.push_back(rc);
      index.push_back(co);
    } else if (p_.transposed) {
      const te::Expr within = p_.groups == 1 ? co : te::floormod(co, p_.co / p_.groups);
      index.insert(index.begin(), {input_channel(co, rc), within});
    } else {
      index.insert(index.begin(), {co, rc});
    }
    return te::cast(type_, w.at(index));
  }
  te::Expr term(const te::Tensor& x, const te::Tensor& w, const std::vector<te::Expr>& at,
                const te::ReduceAxes& taps, const te::Expr& rc) const {
    const te::Expr co = at[axes_.channel];
    std::vector<te::Expr> index = at;
    for (std::size_t a = 0; a < rank_; ++a) {
      te::Expr& i = index[axes_.first_spatial + a];
      i = i * p_.stride[a] + taps[a] * p_.dilation[a];
    }
    index[axes_.channel] = p_.depthwise ? co : input_channel(co, rc);
    return te::cast(type_, x.at(index)) *
           read_weight(w, co, rc, std::vector<te::Expr>(taps.begin(), taps.end()));
  }
  /// Gathers: the taps whose position in the stretched input is a multiple of the stride.
  te::Expr transposed_term(const te::Tensor& x, const te::Tensor& w,
                           const std::vector<te::Expr>& at, const te::ReduceAxes& taps,
                           const te::Expr& rc) const {
    const te::Expr co = at[axes_.channel];
    std::vector<te::Expr> index = at, mirrored, conditions;
    for (std::size_t a = 0; a < rank_; ++a) {
      te::Expr& i = index[axes_.first_spatial + a];
      const te::Expr position = i + taps[a] * p_.dilation[a] + offset(a);
      if (p_.stride[a] > 1) {
        conditions.push_back(te::floormod(position, p_.stride[a]) == 0);
      }
      i = te::floordiv(position, p_.stride[a]);
      mirrored.push_back(te::Expr(p_.kernel[a] - 1).typed(co.program(), DType::i32, "conv") -
                         taps[a]);
    }
    index[axes_.channel] = input_channel(co, rc);
    const te::Expr product = te::cast(type_, x.at(index)) * read_weight(w, co, rc, mirrored);
    if (conditions.empty()) {
      return product;
    }
    te::Expr hit = conditions[0];
    for (std::size_t i = 1; i < conditions.size(); ++i) {
      hit = hit && conditions[i];
    }
    return te::if_then_else(hit, product, 0);
  }

  te::Program& program_;
  const ConvParams& p_;
  ConvNames names_;
  std::size_t rank_;
  DType type_;
  ActivationAxes axes_;
  std::vector<std::int64_t> out_;
};

}  // namespace detail

TENSORSMITH_INLINE Workload conv(const ConvParams& params) {
  detail::check_conv(params);
  if (params.has_pool) {
    detail::check_pool(detail::pooling_of(params));
  }
  te::Program program;
  detail::ConvBuilder builder(program, params);
  std::vector<te::Tensor> arguments{builder.input()};
  te::Tensor y = builder.build(arguments.front(), arguments);
  Workload workload;
  workload.nominal_flop = builder.nominal_flop();
  workload.reduction_length = builder.reduction_length();
  if (params.has_pool) {
    y = detail::pool_windows(program, y, detail::pooling_of(params),
                             {"Ypad", "Ypoolsum", "Ypool", {"py", "px"}});
  }
  if (params.has_depthwise) {
    const ConvParams behind = detail::depthwise_of(params);
    detail::ConvBuilder next(program, behind, {"V", "Vbias", "Ypad", "D", {"pd", "py", "px"}});
    y = next.build(y, arguments);
    workload.nominal_flop += next.nominal_flop();
    workload.reduction_length += next.reduction_length();
  }
  arguments.push_back(y);
  workload.kind = kind_of(params);
  workload.name = canonical_text(params);
  workload.params = params;
  workload.packing = params.packing;
  workload.dag = program.dag(arguments);
  return workload;
}

}  // namespace tensorsmith::ops
