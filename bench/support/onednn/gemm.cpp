#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

struct GemmOperands {
  Operand a, b, bias, c;
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
  const Dims bias_dims = is_batched ? Dims{1, 1, s.n} : Dims{1, s.n};
  all.bias = operand(bias_dims, dense_strides(bias_dims), buffers.bias);
  return all;
}

}  // namespace

std::vector<Plan> gemm_plans(const Engine& engine, const GemmShape& shape, const Buffers& buffers,
                             PackingClass packing) {
  const GemmOperands all = operands_of(shape, buffers);
  std::vector<Plan> plans;
  // a, b, c: whether the layout is oneDNN's choice.
  const auto matmul = [&](bool any_a, bool any_b, bool any_c) {
    const Desc a = any_a ? any_layout(all.a) : all.a.desc;
    const Desc b = any_b ? any_layout(all.b) : all.b.desc;
    const Desc c = any_c ? any_layout(all.c) : all.c.desc;
    const dnnl::primitive_attr attributes = epilogue(shape.activation);
    const auto pd = shape.bias ? describe<dnnl::matmul>(engine, attributes, a, b, all.bias.desc, c)
                               : describe<dnnl::matmul>(engine, attributes, a, b, c);
    PlanBuilder builder(engine, "");
    Args args;
    args[DNNL_ARG_SRC] = builder.input(all.a, pd.src_desc(), packing == PackingClass::free_layout);
    args[DNNL_ARG_WEIGHTS] =
        builder.input(all.b, pd.weights_desc(), packing != PackingClass::plain);
    if (shape.bias) {
      args[DNNL_ARG_BIAS] = builder.input(all.bias, all.bias.desc, true);
    }
    args[DNNL_ARG_DST] = builder.output(all.c, pd.dst_desc(), packing == PackingClass::free_layout);
    builder.add(dnnl::matmul(pd), args, std::string("matmul ") + pd.impl_info_str());
    return builder.finish();
  };
  const bool is_bare = !shape.bias && shape.activation == Activation::none;
  if (is_bare && packing == PackingClass::plain) {
    Plan plan;
    plan.info = shape.batch == 1 ? "dnnl_sgemm" : "dnnl_sgemm in a loop";
    plan.sgemm.push_back({shape, buffers});
    plans.push_back(std::move(plan));
  }
  try_plan(plans, [&] { return matmul(false, false, false); });
  try_plan(plans, [&] { return matmul(false, true, false); });
  if (packing == PackingClass::free_layout) {
    try_plan(plans, [&] { return matmul(true, true, true); });
  }
  return plans;
}

}  // namespace tensorsmith::bench::onednn
