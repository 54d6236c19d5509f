// SPDX-License-Identifier: Apache-2.0
// Chains of pointwise operations: binary, eltwise and batch normalization primitives, what follows
// as their post-operations; every way to cut a chain, what does not fit is left out.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

/// The matrix in the library's dimensions; the kernel that it takes depends on which of them are
/// its channels.
struct View {
  Dims full, strides, per_column, per_row;
  Broadcast channels;  ///< operands with one number per channel

  Operand of(Broadcast broadcast, const float* data) const {
    if (broadcast == Broadcast::none) {
      return operand(full, strides, data);
    }
    const Dims& dims = broadcast == Broadcast::per_column ? per_column : per_row;
    return operand(dims, dense_strides(dims), data);
  }
};

bool has(const PointwiseShape& s, Broadcast broadcast) {
  return std::any_of(s.chain.begin(), s.chain.end(), [&](const PointwiseStep& step) {
    return is_binary(step.op) && step.broadcast == broadcast;
  });
}

std::vector<View> views_of(const PointwiseShape& s) {
  const std::int64_t r = s.rows, c = s.columns;
  std::vector<View> views;
  views.push_back({{r, c}, {c, 1}, {1, c}, {r, 1}, Broadcast::per_column});
  if (has(s, Broadcast::per_column)) {
    views.push_back(
        {{1, c, r, 1}, {r * c, 1, c, c}, {1, c, 1, 1}, {1, 1, r, 1}, Broadcast::per_column});
  }
  if (has(s, Broadcast::per_row)) {
    views.push_back({{1, r, c}, {r * c, c, 1}, {1, 1, c}, {1, r, 1}, Broadcast::per_row});
  }
  return views;
}

dnnl::algorithm algorithm_of(PointwiseOp op) {
  switch (op) {
  case PointwiseOp::add:
    return dnnl::algorithm::binary_add;
  case PointwiseOp::sub:
    return dnnl::algorithm::binary_sub;
  case PointwiseOp::mul:
    return dnnl::algorithm::binary_mul;
  case PointwiseOp::div:
    return dnnl::algorithm::binary_div;
  case PointwiseOp::max:
    return dnnl::algorithm::binary_max;
  case PointwiseOp::min:
    return dnnl::algorithm::binary_min;
  case PointwiseOp::relu:
    return dnnl::algorithm::eltwise_relu;
  case PointwiseOp::gelu:
    return dnnl::algorithm::eltwise_gelu_erf;
  case PointwiseOp::sigmoid:
    return dnnl::algorithm::eltwise_logistic;
  case PointwiseOp::tanh:
    return dnnl::algorithm::eltwise_tanh;
  case PointwiseOp::exp:
    return dnnl::algorithm::eltwise_exp;
  }
  return dnnl::algorithm::undef;
}

struct Way {
  std::uint64_t cuts = 0;  ///< bit i: the primitive of step i ends with it
  bool by_norm = false;    ///< the first one is a batch normalization
  bool by_binary = false;  ///< the first one is max(x, x), which takes more behind it than eltwise
  bool in_place = false;   ///< the output holds what the first full operand of an addition does

  bool is_cut_behind(std::size_t step) const {
    return (cuts >> std::min<std::size_t>(step, 63) & 1) != 0;
  }
};

constexpr std::size_t nothing = static_cast<std::size_t>(-1);

/// Builds one plan: groups of steps, each a primitive from the value so far to the output.
class ChainBuilder {
 public:
  ChainBuilder(const Engine& engine, const PointwiseShape& shape, const Buffers& buffers,
               const View& view)
      : engine_(engine), shape_(shape), buffers_(buffers), view_(view), builder_(engine, "") {
    std::size_t next = 0;
    for (const PointwiseStep& step : shape.chain) {
      data_.push_back(is_binary(step.op) ? buffers.operands[next++] : nullptr);
    }
  }

  Plan build(const Way& way) {
    const Operand x = view_.of(Broadcast::none, buffers_.input);
    const Operand y = view_.of(Broadcast::none, buffers_.output);
    value_ = builder_.input(x, x.desc, false);
    for (std::size_t i = shape_.chain.size(); way.in_place && i-- > 0;) {
      const PointwiseStep& step = shape_.chain[i];
      summed_ = step.op == PointwiseOp::add && step.broadcast == Broadcast::none ? i : summed_;
    }
    out_ = way.in_place ? builder_.output_over(step_operand(summed_), y, y.desc)
                        : builder_.output(y, y.desc, false);
    for (std::size_t begin = 0, end = 0; begin < shape_.chain.size(); begin = end) {
      for (end = begin + 1; end < shape_.chain.size() && !way.is_cut_behind(end - 1);) {
        ++end;
      }
      separator_ = begin == 0 ? "" : ", ";
      if (begin == 0 && way.by_norm) {
        add_norm(end);
      } else if (begin == 0 && way.by_binary) {
        add_identity(end);
      } else if (is_binary(shape_.chain[begin].op)) {
        add_binary(begin, end);
      } else {
        add_eltwise(begin, end);
      }
      value_ = out_;
    }
    return builder_.finish();
  }

 private:
  Operand step_operand(std::size_t step) const {
    return view_.of(shape_.chain[step].broadcast, data_[step]);
  }
  dnnl::memory memory_of(const Operand& operand) {
    return builder_.input(operand, operand.desc, false);
  }

  /// Steps begin <= i < end behind a primitive; their memory into `args`.
  dnnl::primitive_attr post_operations(std::size_t begin, std::size_t end, Args& args) {
    dnnl::post_ops after;
    for (std::size_t i = begin; i < end; ++i) {
      const PointwiseStep& step = shape_.chain[i];
      if (i == summed_) {
        after.append_sum();
      } else if (is_binary(step.op)) {
        const Operand operand = step_operand(i);
        after.append_binary(algorithm_of(step.op), operand.desc);
        const int index = static_cast<int>(i - begin);
        args[DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1] = memory_of(operand);
      } else {
        append_eltwise(after, algorithm_of(step.op), 0);
      }
    }
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(after);
    return attributes;
  }

  template <class Primitive, class Description>
  void add(const Description& description, Args args, const std::string& name, std::size_t behind) {
    args[DNNL_ARG_DST] = out_;
    std::string info = separator_ + name + " " + description.impl_info_str();
    info += behind > 0 ? " + " + std::to_string(behind) + " post-operations" : "";
    builder_.add(Primitive(description), std::move(args),
                 info + (summed_ == nothing ? "" : ", residual in place"));
  }

  void add_binary(std::size_t begin, std::size_t end) {
    Args args;
    const dnnl::primitive_attr attributes = post_operations(begin + 1, end, args);
    // The residual as the first operand is the output's own.
    const bool is_over = begin == summed_;
    add_binary(algorithm_of(shape_.chain[begin].op), is_over ? out_ : value_,
               is_over ? value_ : memory_of(step_operand(begin)), attributes, std::move(args),
               end - begin - 1);
  }

  void add_identity(std::size_t end) {
    Args args;
    const dnnl::primitive_attr attributes = post_operations(0, end, args);
    add_binary(dnnl::algorithm::binary_max, value_, value_, attributes, std::move(args), end);
  }

  void add_binary(dnnl::algorithm algorithm, const dnnl::memory& x, const dnnl::memory& y,
                  const dnnl::primitive_attr& attributes, Args args, std::size_t behind) {
    args[DNNL_ARG_SRC_0] = x;
    args[DNNL_ARG_SRC_1] = y;
    const auto pd = describe<dnnl::binary>(engine_, attributes, algorithm, x.get_desc(),
                                           y.get_desc(), out_.get_desc());
    add<dnnl::binary>(pd, std::move(args), "binary", behind);
  }

  void add_eltwise(std::size_t begin, std::size_t end) {
    Args args;
    const dnnl::primitive_attr attributes = post_operations(begin + 1, end, args);
    args[DNNL_ARG_SRC] = value_;
    const auto kind = dnnl::prop_kind::forward_inference;
    const dnnl::algorithm algorithm = algorithm_of(shape_.chain[begin].op);
#if DNNL_VERSION_MAJOR >= 3
    const auto pd = describe<dnnl::eltwise_forward>(engine_, attributes, kind, algorithm,
                                                    value_.get_desc(), out_.get_desc(), 0.0F);
#else
    const auto pd =
        describe<dnnl::eltwise_forward>(engine_, attributes, kind, algorithm, value_.get_desc());
#endif
    add<dnnl::eltwise_forward>(pd, std::move(args), "eltwise", end - begin - 1);
  }

  /// (x - 0) / sqrt(1 + 0) * scale + shift of the channels, relu too if the group has it.
  void add_norm(std::size_t end) {
    const std::int64_t channels =
        view_.channels == Broadcast::per_column ? shape_.columns : shape_.rows;
    const Desc numbers({channels}, dnnl::memory::data_type::f32, Tag::a);
    const auto all = [&](float number) {
      dnnl::memory memory(numbers, engine_.engine);
      auto* data = static_cast<float*>(memory.get_data_handle());
      std::fill(data, data + channels, number);
      return memory;
    };
    const auto given = [&](const float* data) {
      return dnnl::memory(numbers, engine_.engine, const_cast<float*>(data));
    };
    auto flags = dnnl::normalization_flags::use_global_stats |
                 dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
    if (end == 3) {
      flags |= dnnl::normalization_flags::fuse_norm_relu;
    }
    const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR >= 3
    const auto pd = describe<dnnl::batch_normalization_forward>(
        engine_, {}, kind, value_.get_desc(), out_.get_desc(), 0.0F, flags);
#else
    const auto pd = describe<dnnl::batch_normalization_forward>(engine_, {}, kind,
                                                                value_.get_desc(), 0.0F, flags);
#endif
    const Args args{{DNNL_ARG_SRC, value_},
                    {DNNL_ARG_MEAN, all(0)},
                    {DNNL_ARG_VARIANCE, all(1)},
                    {DNNL_ARG_SCALE, given(data_[0])},
                    {DNNL_ARG_SHIFT, given(data_[1])}};
    add<dnnl::batch_normalization_forward>(pd, args, "batch_normalization", 0);
  }

  const Engine& engine_;
  const PointwiseShape& shape_;
  const Buffers& buffers_;
  const View& view_;
  PlanBuilder builder_;
  std::vector<const float*> data_;  ///< of the steps' operands
  dnnl::memory value_, out_;
  std::size_t summed_ = nothing;  ///< step whose operand the output holds
  std::string separator_;
};

/// Whether the steps up to `end` are a scale and a shift of the channels, or these and relu.
bool is_norm(const PointwiseShape& s, std::size_t end, Broadcast channels) {
  const auto is = [&](std::size_t step, PointwiseOp op, Broadcast broadcast) {
    return s.chain[step].op == op && s.chain[step].broadcast == broadcast;
  };
  return (end == 2 || end == 3) && is(0, PointwiseOp::mul, channels) &&
         is(1, PointwiseOp::add, channels) &&
         (end == 2 || is(2, PointwiseOp::relu, Broadcast::none));
}

/// All cuts of up to four steps; one primitive or one per step for more.
std::vector<Way> ways_of(const PointwiseShape& s, Broadcast channels) {
  constexpr std::uint64_t everywhere = ~std::uint64_t{0};
  std::vector<Way> ways;
  const std::size_t steps = s.chain.size();
  std::vector<std::uint64_t> all_cuts{0, everywhere};
  for (std::uint64_t cuts = 1; steps <= 4 && cuts + 1 < std::uint64_t{1} << (steps - 1); ++cuts) {
    all_cuts.push_back(cuts);
  }
  for (const std::uint64_t cuts : all_cuts) {
    Way way{cuts};
    ways.push_back(way);
    std::size_t end = 1;
    while (end < steps && !way.is_cut_behind(end - 1)) {
      ++end;
    }
    way.by_norm = is_norm(s, end, channels);
    way.by_binary = !is_binary(s.chain[0].op) && end > 1;
    if (way.by_norm || way.by_binary) {
      ways.push_back(way);
    }
  }
  const bool has_residual = std::any_of(s.chain.begin(), s.chain.end(), [](const auto& step) {
    return step.op == PointwiseOp::add && step.broadcast == Broadcast::none;
  });
  if (has_residual) {
    ways.push_back({0, false, !is_binary(s.chain[0].op), true});
  }
  return ways;
}

}  // namespace

std::vector<Plan> pointwise_plans(const Engine& engine, const PointwiseShape& shape,
                                  const Buffers& buffers) {
  std::vector<Plan> plans;
  for (const View& view : views_of(shape)) {
    for (const Way& way : ways_of(shape, view.channels)) {
      try_plan(plans, [&] { return ChainBuilder(engine, shape, buffers, view).build(way); });
    }
  }
  // Plain loops, hundreds of times slower, only if there is nothing else.
  const auto is_plain = [](const Plan& plan) {
    return plan.info.find("ref:") != std::string::npos;
  };
  if (!std::all_of(plans.begin(), plans.end(), is_plain)) {
    plans.erase(std::remove_if(plans.begin(), plans.end(), is_plain), plans.end());
  }
  return plans;
}

}  // namespace tensorsmith::bench::onednn
