// SPDX-License-Identifier: Apache-2.0
#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

struct GemmOperands {
  Operand a, b, bias, residual, c;
};

GemmOperands operands_of(const GemmShape& s, const Buffers& buffers) {
  const bool is_batched = s.batch > 1;
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool is_transposed,
                          const float* data) {
    Dims dims{rows, columns};
    Dims strides = is_transposed ? Dims{1, rows} : Dims{columns, 1};
    if (is_batched) {
      dims.insert(dims.begin(), s.batch);
      strides.insert(strides.begin(), rows * columns);
    }
    return operand(dims, strides, data);
  };
  GemmOperands all;
  all.a = matrix(s.m, s.k, s.transpose_a, buffers.input);
  all.b = matrix(s.k, s.n, s.transpose_b, buffers.weights);
  all.c = matrix(s.m, s.n, false, buffers.output);
  all.residual = matrix(s.m, s.n, false, buffers.residual);
  const Dims bias_dims = is_batched ? Dims{1, 1, s.n} : Dims{1, s.n};
  all.a.type = type_of(s.types.input);
  all.b.type = type_of(s.types.weights);
  all.c.type = type_of(s.types.output);
  all.bias = operand(bias_dims, dense_strides(bias_dims), buffers.bias);
  return all;
}

}  // namespace

std::vector<Plan> gemm_plans(const Engine& engine, const GemmShape& shape, const Buffers& buffers,
                             PackingClass packing) {
  const GemmOperands all = operands_of(shape, buffers);
  std::vector<Plan> plans;
  // a, b, c: whether the layout is oneDNN's choice.
  const auto matmul = [&](bool any_a, bool any_b, bool any_c, Residual way) {
    const Desc a = any_a ? any_layout(all.a) : all.a.typed();
    const Desc b = any_b ? any_layout(all.b) : all.b.typed();
    const Desc c = any_c ? any_layout(all.c) : all.c.typed();
    const auto describe_with = [&](const dnnl::primitive_attr& attributes) {
      return shape.bias ? describe<dnnl::matmul>(engine, attributes, a, b, all.bias.desc, c)
                        : describe<dnnl::matmul>(engine, attributes, a, b, c);
    };
    // The layout of a residual is that of the result.
    Args args;
    dnnl::primitive_attr attributes = epilogue(shape.activation, Residual::none, {}, shape.scale);
    if (is_byte(shape.types.output)) {
      const int column = shape.batch > 1 ? 2 : 1;
      requantize(engine, buffers, shape.n, column, 1 << column, attributes, args);
    }
    auto pd = describe_with(attributes);
    if (way != Residual::none) {
      pd = describe_with(epilogue(shape.activation, way, pd.dst_desc(), shape.scale));
    }
    PlanBuilder builder(engine, "");
    args[DNNL_ARG_SRC] = builder.input(all.a, pd.src_desc(), packing == PackingClass::free_layout);
    args[DNNL_ARG_WEIGHTS] =
        builder.input(all.b, pd.weights_desc(), packing != PackingClass::plain);
    if (shape.bias) {
      args[DNNL_ARG_BIAS] = builder.input(all.bias, all.bias.desc, true);
    }
    const bool is_free = packing == PackingClass::free_layout;
    if (way == Residual::operand) {
      args[DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1] =
          builder.input(all.residual, pd.dst_desc(), is_free);
    }
    args[DNNL_ARG_DST] = way == Residual::in_place
                             ? builder.output_over(all.residual, all.c, pd.dst_desc())
                             : builder.output(all.c, pd.dst_desc(), is_free);
    builder.add(dnnl::matmul(pd), args, std::string("matmul ") + pd.impl_info_str() + name_of(way));
    return builder.finish();
  };
  const bool is_bare = !shape.bias && !shape.add && shape.activation == Activation::none &&
                       shape.types.input == Element::f32;
  if (is_bare && packing == PackingClass::plain) {
    Plan plan;
    plan.info = shape.batch == 1 ? "dnnl_sgemm" : "dnnl_sgemm in a loop";
    plan.sgemm.push_back({shape, buffers});
    plans.push_back(std::move(plan));
  }
  for (const Residual way : ways_to_add(shape.add)) {
    try_plan(plans, [&] { return matmul(false, false, false, way); });
    try_plan(plans, [&] { return matmul(false, true, false, way); });
    if (packing == PackingClass::free_layout) {
      try_plan(plans, [&] { return matmul(true, true, true, way); });
    }
  }
  return plans;
}

}  // namespace tensorsmith::bench::onednn
