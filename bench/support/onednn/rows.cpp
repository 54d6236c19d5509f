// SPDX-License-Identifier: Apache-2.0
#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

constexpr auto inference = dnnl::prop_kind::forward_inference;

Operand matrix(std::int64_t rows, std::int64_t columns, const float* data) {
  return operand({rows, columns}, {columns, 1}, data);
}

/// Row sums as a product with a constant vector: often faster than the reduction primitive.
Plan sum_by_matmul(const Engine& engine, std::int64_t rows, std::int64_t columns, float factor,
                   const Buffers& buffers) {
  const Operand x = matrix(rows, columns, buffers.input);
  const Operand y = matrix(rows, 1, buffers.output);
  const Desc vector({columns, 1}, dnnl::memory::data_type::f32, Tag::ab);
  const auto pd = describe<dnnl::matmul>(engine, {}, x.desc, vector, y.desc);
  dnnl::memory factors(pd.weights_desc(), engine.engine);
  auto* data = static_cast<float*>(factors.get_data_handle());
  for (std::int64_t i = 0; i < columns; ++i)
    data[i] = factor;
  PlanBuilder builder(engine, "");
  const Args args{{DNNL_ARG_SRC, builder.input(x, x.desc, false)},
                  {DNNL_ARG_WEIGHTS, factors},
                  {DNNL_ARG_DST, builder.output(y, y.desc, false)}};
  builder.add(dnnl::matmul(pd), args,
              std::string("matmul with a constant vector ") + pd.impl_info_str());
  return builder.finish();
}

Operand activations(const PoolShape& s, std::int64_t h, std::int64_t w, const float* data) {
  const std::int64_t image = h * w * s.c;
  const Dims strides =
      s.layout == ActivationLayout::nhwc ? Dims{image, 1, w * s.c, s.c} : Dims{image, h * w, w, 1};
  return operand({s.n, s.c, h, w}, strides, data);
}

template <class Primitive, class Description>
void add_softmax(PlanBuilder& builder, const Description& pd, const Operand& x, const Operand& y) {
  const Args args{{DNNL_ARG_SRC, builder.input(x, x.desc, false)},
                  {DNNL_ARG_DST, builder.output(y, y.desc, false)}};
  builder.add(Primitive(pd), args, std::string("softmax ") + pd.impl_info_str());
}

}  // namespace

std::vector<Plan> softmax_plans(const Engine& engine, const SoftmaxShape& shape,
                                const Buffers& buffers) {
  std::vector<Plan> plans;
  try_plan(plans, [&] {
    const Operand x = matrix(shape.rows, shape.columns, buffers.input);
    const Operand y = matrix(shape.rows, shape.columns, buffers.output);
    PlanBuilder builder(engine, "");
#if DNNL_VERSION_MAJOR >= 3
    const auto pd = describe<dnnl::softmax_forward>(
        engine, {}, inference,
        shape.is_log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate, x.desc,
        y.desc, 1);
    add_softmax<dnnl::softmax_forward>(builder, pd, x, y);
#else
    if (shape.is_log) {
      const auto pd = describe<dnnl::logsoftmax_forward>(engine, {}, inference, x.desc, 1);
      add_softmax<dnnl::logsoftmax_forward>(builder, pd, x, y);
    } else {
      const auto pd = describe<dnnl::softmax_forward>(engine, {}, inference, x.desc, 1);
      add_softmax<dnnl::softmax_forward>(builder, pd, x, y);
    }
#endif
    return builder.finish();
  });
  return plans;
}

std::vector<Plan> layernorm_plans(const Engine& engine, const LayernormShape& shape,
                                  const Buffers& buffers) {
  std::vector<Plan> plans;
  try_plan(plans, [&] {
    const Operand x = matrix(shape.rows, shape.columns, buffers.input);
    const Operand y = matrix(shape.rows, shape.columns, buffers.output);
    const Operand gamma = operand({shape.columns}, {1}, buffers.weights);
    const Operand beta = operand({shape.columns}, {1}, buffers.bias);
    const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
    const auto pd = describe<dnnl::layer_normalization_forward>(engine, {}, inference, x.desc,
                                                                y.desc, shape.epsilon, flags);
#else
    const auto pd = describe<dnnl::layer_normalization_forward>(engine, {}, inference, x.desc,
                                                                shape.epsilon, flags);
#endif
    PlanBuilder builder(engine, "");
    const Args args{{DNNL_ARG_SRC, builder.input(x, x.desc, false)},
                    {DNNL_ARG_SCALE, builder.input(gamma, gamma.desc, false)},
                    {DNNL_ARG_SHIFT, builder.input(beta, beta.desc, false)},
                    {DNNL_ARG_DST, builder.output(y, y.desc, false)}};
    builder.add(dnnl::layer_normalization_forward(pd), args,
                std::string("layer_normalization ") + pd.impl_info_str());
    return builder.finish();
  });
  return plans;
}

std::vector<Plan> reduce_plans(const Engine& engine, const ReduceShape& shape,
                               const Buffers& buffers) {
  std::vector<Plan> plans;
  const auto algorithm = shape.kind == ReduceKind::sum   ? dnnl::algorithm::reduction_sum
                         : shape.kind == ReduceKind::max ? dnnl::algorithm::reduction_max
                                                         : dnnl::algorithm::reduction_mean;
  try_plan(plans, [&] {
    const Operand x = matrix(shape.rows, shape.columns, buffers.input);
    const Operand y = matrix(shape.rows, 1, buffers.output);
    const auto pd = describe<dnnl::reduction>(engine, {}, algorithm, x.desc, y.desc, 0.0F, 0.0F);
    PlanBuilder builder(engine, "");
    const Args args{{DNNL_ARG_SRC, builder.input(x, x.desc, false)},
                    {DNNL_ARG_DST, builder.output(y, y.desc, false)}};
    builder.add(dnnl::reduction(pd), args, std::string("reduction ") + pd.impl_info_str());
    return builder.finish();
  });
  if (shape.kind != ReduceKind::max) {
    const float factor =
        shape.kind == ReduceKind::mean ? 1.0F / static_cast<float>(shape.columns) : 1.0F;
    try_plan(plans,
             [&] { return sum_by_matmul(engine, shape.rows, shape.columns, factor, buffers); });
  }
  return plans;
}

void add_pool(PlanBuilder& builder, const Engine& engine, const PoolShape& shape,
              const dnnl::memory& source, float* output, bool is_free) {
  const Operand y = activations(shape, shape.out_spatial(0), shape.out_spatial(1), output);
  const auto algorithm = shape.kind == PoolKind::max ? dnnl::algorithm::pooling_max
                                                     : dnnl::algorithm::pooling_avg_include_padding;
  const Dims stride(shape.stride.begin(), shape.stride.end());
  const Dims kernel(shape.kernel.begin(), shape.kernel.end());
  const Dims pad(shape.pad.begin(), shape.pad.end());
#if DNNL_VERSION_MAJOR >= 3
  const Dims gaps(kernel.size(), 0);
  const auto pd =
      describe<dnnl::pooling_forward>(engine, {}, inference, algorithm, source.get_desc(),
                                      any_layout(y), stride, kernel, gaps, pad, pad);
#else
  const auto pd = describe<dnnl::pooling_forward>(
      engine, {}, inference, algorithm, source.get_desc(), any_layout(y), stride, kernel, pad, pad);
#endif
  const Args args{{DNNL_ARG_SRC, source},
                  {DNNL_ARG_DST, builder.output(y, pd.dst_desc(), is_free)}};
  builder.add(dnnl::pooling_forward(pd), args, std::string("pooling ") + pd.impl_info_str());
}

std::vector<Plan> pool_plans(const Engine& engine, const PoolShape& shape, const Buffers& buffers,
                             PackingClass packing) {
  const bool last = shape.layout == ActivationLayout::nhwc;
  const Operand x = activations(shape, shape.spatial[0], shape.spatial[1], buffers.input);
  std::vector<Plan> plans;
  const auto add = [&](const Desc& source) {
    try_plan(plans, [&] {
      const bool is_free = packing == PackingClass::free_layout;
      PlanBuilder builder(engine, "");
      add_pool(builder, engine, shape, builder.input(x, source, is_free), buffers.output, is_free);
      return builder.finish();
    });
  };
  add(x.desc);
  if (packing == PackingClass::free_layout) {
    add(Desc(dims_of(x.desc), dnnl::memory::data_type::f32, Tag::nChw16c));
    add(Desc(dims_of(x.desc), dnnl::memory::data_type::f32, Tag::nhwc));
  }
  const bool is_global = shape.kind == PoolKind::average && !last &&
                         shape.kernel == shape.spatial && shape.pad[0] == 0 && shape.pad[1] == 0;
  if (is_global && packing != PackingClass::free_layout) {
    const std::int64_t points = shape.spatial[0] * shape.spatial[1];
    try_plan(plans, [&] {
      return sum_by_matmul(engine, shape.n * shape.c, points, 1.0F / static_cast<float>(points),
                           buffers);
    });
  }
  return plans;
}

}  // namespace tensorsmith::bench::onednn
