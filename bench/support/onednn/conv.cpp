// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

struct ConvOperands {
  Operand src, weights, bias, residual, dst;
  Dims stride, dilation, pad;
};

/// Activations [n, c, spatial...] in either layout.
Operand activations(const ConvShape& s, std::int64_t channels, const Dims& spatial,
                    const float* data) {
  Dims dims{s.n, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  if (s.layout == ActivationLayout::nchw) {
    return operand(dims, dense_strides(dims), data);
  }
  Dims stored{s.n};
  stored.insert(stored.end(), spatial.begin(), spatial.end());
  stored.push_back(channels);
  const Dims dense = dense_strides(stored);
  Dims strides{dense.front(), 1};
  strides.insert(strides.end(), dense.begin() + 1, dense.end() - 1);
  return operand(dims, strides, data);
}

/// Weights as oneDNN counts them, [g,] o, i, k..., over the plain layout that the shape names.
Operand weights_of(const ConvShape& s, const float* data) {
  const std::int64_t ci = s.ci / s.groups;
  const std::int64_t co = s.co / s.groups;
  Dims kernel(s.kernel.begin(), s.kernel.begin() + s.rank);
  Dims kernel_strides = dense_strides(kernel);
  const std::int64_t taps = kernel.front() * kernel_strides.front();
  std::int64_t group = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;
  switch (s.weights) {
  case WeightLayout::oi_spatial:
    in = taps;
    out = ci * taps;
    group = co * out;
    break;
  case WeightLayout::spatial_io:
    out = 1;
    group = co;
    in = s.co;
    for (auto& stride : kernel_strides)
      stride *= ci * s.co;
    break;
  case WeightLayout::io_spatial:
    out = taps;
    in = co * taps;
    group = ci * in;
    break;
  }
  Dims dims{co, ci};
  Dims strides{out, in};
  if (s.groups > 1) {
    dims.insert(dims.begin(), s.groups);
    strides.insert(strides.begin(), group);
  }
  dims.insert(dims.end(), kernel.begin(), kernel.end());
  strides.insert(strides.end(), kernel_strides.begin(), kernel_strides.end());
  return operand(dims, strides, data);
}

ConvOperands operands_of(const ConvShape& s, const Buffers& buffers) {
  ConvOperands all;
  Dims in;
  Dims out;
  for (int axis = 0; axis < s.rank; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    in.push_back(s.spatial[a]);
    out.push_back(s.out_spatial(axis));
    all.stride.push_back(s.stride[a]);
    all.dilation.push_back(s.dilation[a] - 1);  // oneDNN counts the gaps
    all.pad.push_back(s.pad[a]);
  }
  all.src = activations(s, s.ci, in, buffers.input);
  all.dst = activations(s, s.co, out, buffers.output);
  all.residual = activations(s, s.co, out, buffers.residual);
  all.weights = weights_of(s, buffers.weights);
  all.bias = operand({s.co}, {1}, buffers.bias);
  all.src.type = type_of(s.types.input);
  all.weights.type = type_of(s.types.weights);
  all.dst.type = type_of(s.types.output);
  return all;
}

struct Choice {
  bool any_src, any_weights, any_dst;
  Residual residual;
};

/// Adds what takes the result of a convolution from this memory; empty: nothing does.
using Behind = std::function<void(PlanBuilder&, const dnnl::memory&)>;

/// Forward convolution and deconvolution have descriptors of the same shape.
template <class Primitive>
typename Primitive::primitive_desc
describe_conv(const Engine& engine, const dnnl::primitive_attr& attributes,
              dnnl::algorithm algorithm, const ConvOperands& all, bool has_bias, const Desc& src,
              const Desc& weights, const Desc& dst) {
  const auto kind = dnnl::prop_kind::forward_inference;
  return has_bias
             ? describe<Primitive>(engine, attributes, kind, algorithm, src, weights, all.bias.desc,
                                   dst, all.stride, all.dilation, all.pad, all.pad)
             : describe<Primitive>(engine, attributes, kind, algorithm, src, weights, dst,
                                   all.stride, all.dilation, all.pad, all.pad);
}

/// Weights in the layout that the primitive wants, and the bias; `post_op`: of which they are.
void add_weights(PlanBuilder& builder, const ConvShape& s, const ConvOperands& all,
                 const Desc& layout, PackingClass packing, Args& args, int post_op = 0) {
  args[post_op | DNNL_ARG_WEIGHTS] =
      builder.input(all.weights, layout, packing != PackingClass::plain);
  if (s.bias) {
    args[post_op | DNNL_ARG_BIAS] = builder.input(all.bias, all.bias.desc, true);
  }
}

template <class Primitive>
Plan make_plan(const Engine& engine, const ConvShape& s, const Buffers& buffers,
               const ConvOperands& all, dnnl::algorithm algorithm, Choice choice,
               PackingClass packing, const char* primitive_name, const Behind& behind) {
  const Desc src = choice.any_src ? any_layout(all.src) : all.src.typed();
  const Desc weights = choice.any_weights ? any_layout(all.weights) : all.weights.typed();
  const Desc dst = choice.any_dst ? any_layout(all.dst) : all.dst.typed();
  const auto describe_with = [&](const dnnl::primitive_attr& attributes) {
    return describe_conv<Primitive>(engine, attributes, algorithm, all, s.bias, src, weights, dst);
  };
  // The layout of a residual is that of the result.
  Args args;
  dnnl::primitive_attr attributes = epilogue(s.activation);
  if (is_byte(s.types.output)) {
    requantize(engine, buffers, s.co, 1, s.groups > 1 ? 3 : 1, attributes, args);
  }
  auto pd = describe_with(attributes);
  if (choice.residual != Residual::none) {
    pd = describe_with(epilogue(s.activation, choice.residual, pd.dst_desc()));
  }
  PlanBuilder builder(engine, "");
  const bool is_free = packing == PackingClass::free_layout;
  args[DNNL_ARG_SRC] = builder.input(all.src, pd.src_desc(), is_free);
  add_weights(builder, s, all, pd.weights_desc(), packing, args);
  if (choice.residual == Residual::operand) {
    args[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
        builder.input(all.residual, pd.dst_desc(), is_free);
  }
  if (behind) {  // what lies between is nobody's operand: it stays as it is
    const dnnl::memory between(pd.dst_desc(), engine.engine);
    args[DNNL_ARG_DST] = between;
    builder.add(Primitive(pd), args,
                std::string(primitive_name) + " " + pd.impl_info_str() + name_of(choice.residual) +
                    ", ");
    behind(builder, between);
    return builder.finish();
  }
  args[DNNL_ARG_DST] = choice.residual == Residual::in_place
                           ? builder.output_over(all.residual, all.dst, pd.dst_desc())
                           : builder.output(all.dst, pd.dst_desc(), is_free);
  builder.add(Primitive(pd), args,
              std::string(primitive_name) + " " + pd.impl_info_str() + name_of(choice.residual));
  return builder.finish();
}

std::vector<Plan> plans_of(const Engine& engine, const ConvShape& shape, const Behind& behind,
                           const Buffers& buffers, PackingClass packing) {
  const ConvOperands all = operands_of(shape, buffers);
  std::vector<Plan> plans;
  const auto add = [&](Choice choice) {
    try_plan(plans, [&] {
      return shape.transposed
                 ? make_plan<dnnl::deconvolution_forward>(engine, shape, buffers, all,
                                                          dnnl::algorithm::deconvolution_direct,
                                                          choice, packing, "deconvolution", behind)
                 : make_plan<dnnl::convolution_forward>(engine, shape, buffers, all,
                                                        dnnl::algorithm::convolution_direct, choice,
                                                        packing, "convolution", behind);
    });
    if (shape.rounding > 1) {
      try_plan(plans, [&] {
        return make_plan<dnnl::convolution_forward>(engine, shape, buffers, all,
                                                    dnnl::algorithm::convolution_winograd, choice,
                                                    packing, "convolution", behind);
      });
    }
  };
  // In the classes with plain activations oneDNN's own layouts stay candidates: the reorders are
  // then part of the timed region.
  for (const Residual way : ways_to_add(shape.add)) {
    if (behind && way == Residual::in_place) {
      continue;  // the residual would have to be written anew before every run
    }
    add({false, true, false, way});
    if (behind) {
      add({false, true, true, way});
    }
    // In place only where the residual comes in the layout of the result.
    if (way != Residual::in_place || packing == PackingClass::free_layout) {
      add({true, true, true, way});
    }
    if (packing == PackingClass::plain) {
      add({false, false, false, way});
    }
  }
  return plans;
}

/// Adds a depthwise convolution of `source`.
void add_depthwise(PlanBuilder& builder, const Engine& engine, const ConvShape& s,
                   const ConvOperands& all, const dnnl::memory& source, bool any_dst,
                   PackingClass packing) {
  const auto pd = describe_conv<dnnl::convolution_forward>(
      engine, epilogue(s.activation), dnnl::algorithm::convolution_direct, all, s.bias,
      source.get_desc(), any_layout(all.weights), any_dst ? any_layout(all.dst) : all.dst.typed());
  Args args{{DNNL_ARG_SRC, source}};
  add_weights(builder, s, all, pd.weights_desc(), packing, args);
  args[DNNL_ARG_DST] = builder.output(all.dst, pd.dst_desc(), packing == PackingClass::free_layout);
  builder.add(dnnl::convolution_forward(pd), args, std::string("depthwise ") + pd.impl_info_str());
}

/// A 1 x 1 convolution with the depthwise one as its post-operation; throws where there is none.
Plan fused_plan(const Engine& engine, const ConvDepthwiseShape& shape, const ConvOperands& all,
                const ConvOperands& next, bool any_src, bool any_dst, PackingClass packing) {
  const ConvShape &s = shape.conv, &d = shape.depthwise;
  const auto f32 = dnnl::memory::data_type::f32, none = dnnl::memory::data_type::undef;
  if (d.kernel[0] != d.kernel[1] || d.stride[0] != d.stride[1] || d.pad[0] != d.pad[1]) {
    throw dnnl::error(dnnl_unimplemented, "numbers of two axes differ");
  }
  dnnl::post_ops after;
  add_activation(after, s.activation);
#if DNNL_VERSION_MAJOR >= 3
  after.append_dw(f32, d.bias ? f32 : none, f32, d.kernel[0], d.stride[0], d.pad[0]);
#else
  after.append_dw(f32, d.bias ? f32 : none, f32, d.kernel[0], d.stride[0], d.pad[0], 0, {});
#endif
  add_activation(after, d.activation);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  const auto pd = describe_conv<dnnl::convolution_forward>(
      engine, attributes, dnnl::algorithm::convolution_direct, all, s.bias,
      any_src ? any_layout(all.src) : all.src.typed(), any_layout(all.weights),
      any_dst ? any_layout(all.dst) : all.dst.typed());
  if (dims_of(pd.dst_desc()) != dims_of(next.dst.desc)) {
    throw dnnl::error(dnnl_unimplemented, "padding that the post-operation does not have");
  }
  PlanBuilder builder(engine, "");
  const bool is_free = packing == PackingClass::free_layout;
  constexpr int behind = DNNL_ARG_ATTR_POST_OP_DW;
  Args args{{DNNL_ARG_SRC, builder.input(all.src, pd.src_desc(), is_free)}};
  add_weights(builder, s, all, pd.weights_desc(), packing, args);
  const Desc layout = pd.query_md(dnnl::query::exec_arg_md, behind | DNNL_ARG_WEIGHTS);
  add_weights(builder, d, next, layout, packing, args, behind);
  args[DNNL_ARG_DST] = builder.output(next.dst, pd.dst_desc(), is_free);
  builder.add(dnnl::convolution_forward(pd), args,
              std::string("convolution + depthwise ") + pd.impl_info_str());
  return builder.finish();
}

std::vector<float> result_of(const Engine& engine, const Plan& plan, const Buffers& buffers,
                             const ConvShape& s) {
  const std::int64_t size = s.n * s.co * s.out_spatial(0) * s.out_spatial(1);
  plan.run(engine);
  plan.write_output(engine);
  return {buffers.output, buffers.output + size};
}

/// Whether two ways compute the same. They should; oneDNN 2.6.3 leaves elements out where it fuses
/// the two with channels last (jit_1x1, 96 and 144 channels).
bool agree(const std::vector<float>& result, const std::vector<float>& expected) {
  float largest = 0;
  for (const float value : expected)
    largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!(std::abs(result[i] - expected[i]) <= 1e-3F * largest))
      return false;
  }
  return true;
}

}  // namespace

std::vector<Plan> conv_plans(const Engine& engine, const ConvShape& shape, const Buffers& buffers,
                             PackingClass packing) {
  return plans_of(engine, shape, {}, buffers, packing);
}

std::vector<Plan> conv_pool_plans(const Engine& engine, const ConvPoolShape& shape,
                                  const Buffers& buffers, PackingClass packing) {
  const auto pool = [&](PlanBuilder& builder, const dnnl::memory& between) {
    add_pool(builder, engine, shape.pool, between, buffers.output,
             packing == PackingClass::free_layout);
  };
  return plans_of(engine, shape.conv, pool, buffers, packing);
}

std::vector<Plan> conv_depthwise_plans(const Engine& engine, const ConvDepthwiseShape& shape,
                                       const Buffers& buffers, PackingClass packing) {
  Buffers of_next = buffers;
  of_next.weights = buffers.next_weights;
  of_next.bias = buffers.next_bias;
  const ConvOperands all = operands_of(shape.conv, buffers);
  const ConvOperands next = operands_of(shape.depthwise, of_next);
  std::vector<Plan> plans, fused;
  for (const bool any_dst : {false, true}) {
    const auto depthwise = [&](PlanBuilder& builder, const dnnl::memory& between) {
      add_depthwise(builder, engine, shape.depthwise, next, between, any_dst, packing);
    };
    for (Plan& plan : plans_of(engine, shape.conv, depthwise, buffers, packing)) {
      plans.push_back(std::move(plan));
    }
    for (const bool any_src : {false, true}) {
      try_plan(fused,
               [&] { return fused_plan(engine, shape, all, next, any_src, any_dst, packing); });
    }
  }
  if (!plans.empty()) {
    const std::vector<float> expected = result_of(engine, plans.front(), buffers, shape.depthwise);
    std::erase_if(fused, [&](const Plan& plan) {
      return !agree(result_of(engine, plan, buffers, shape.depthwise), expected);
    });
  }
  plans.insert(plans.end(), fused.begin(), fused.end());
  return plans;
}

}  // namespace tensorsmith::bench::onednn
