// SPDX-License-Identifier: Apache-2.0
#include "bench/support/onednn/plan.hpp"

namespace tensorsmith::bench::onednn {
namespace {

Plan::Step reorder_step(const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc description(from, to);
  return {dnnl::reorder(description), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

}  // namespace

void SgemmCall::run() const {
  const GemmShape& s = shape;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    dnnl::sgemm(s.transpose_a ? 'T' : 'N', s.transpose_b ? 'T' : 'N', s.m, s.n, s.k, s.scale,
                buffers.input + b * s.m * s.k, s.transpose_a ? s.m : s.k,
                buffers.weights + b * s.k * s.n, s.transpose_b ? s.k : s.n, 0.0F,
                buffers.output + b * s.m * s.n, s.n);
  }
}

void Plan::rewind(const Engine& engine) const {
  for (const Step& step : before)
    step.primitive.execute(engine.stream, step.args);
  for (const Plan& plan : next)
    plan.rewind(engine);
}

void Plan::run(const Engine& engine) const {
  for (const SgemmCall& call : sgemm)
    call.run();
  for (const Step& step : steps)
    step.primitive.execute(engine.stream, step.args);
  for (const Plan& plan : next)
    plan.run(engine);
}

void Plan::write_output(const Engine& engine) const {
  for (const Step& step : after)
    step.primitive.execute(engine.stream, step.args);
  for (const Plan& plan : next)
    plan.write_output(engine);
}

dnnl::memory PlanBuilder::input(const Operand& operand, const Desc& wanted, bool ahead) {
  dnnl::memory plain(operand.desc, engine_.engine, operand.data);
  if (!operand.is_f32()) {
    const dnnl::memory numbers = plain;
    plain = dnnl::memory(operand.typed(), engine_.engine);
    const Plan::Step step = reorder_step(numbers, plain);
    step.primitive.execute(engine_.stream, step.args);
  }
  if (wanted == operand.typed()) {
    return plain;
  }
  dnnl::memory packed(wanted, engine_.engine);
  Plan::Step step = reorder_step(plain, packed);
  if (ahead) {
    step.primitive.execute(engine_.stream, step.args);
  } else {
    plan_.steps.push_back(std::move(step));
    plan_.info += "reorder + ";
  }
  return packed;
}

dnnl::memory PlanBuilder::output(const Operand& operand, const Desc& wanted, bool is_free) {
  dnnl::memory plain(operand.desc, engine_.engine, operand.data);
  if (!operand.is_f32()) {
    const dnnl::memory numbers = plain;
    plain = dnnl::memory(operand.typed(), engine_.engine);
    plan_.after.push_back(reorder_step(plain, numbers));
  }
  if (wanted == operand.typed()) {
    return plain;
  }
  dnnl::memory packed(wanted, engine_.engine);
  if (is_free && !operand.is_f32()) {
    plan_.after.insert(plan_.after.begin(), reorder_step(packed, plain));
    return packed;
  }
  (is_free ? plan_.after : last_).push_back(reorder_step(packed, plain));
  return packed;
}

dnnl::memory PlanBuilder::output_over(const Operand& residual, const Operand& operand,
                                      const Desc& wanted) {
  const dnnl::memory plain(operand.desc, engine_.engine, operand.data);
  const bool is_plain = wanted == operand.desc;
  dnnl::memory result = is_plain ? plain : dnnl::memory(wanted, engine_.engine);
  plan_.before.push_back(
      reorder_step(dnnl::memory(residual.desc, engine_.engine, residual.data), result));
  if (!is_plain) {
    plan_.after.push_back(reorder_step(result, plain));
  }
  plan_.rewind(engine_);
  return result;
}

void PlanBuilder::add(dnnl::primitive primitive, Args args, const std::string& implementation) {
  plan_.info += implementation;
  plan_.steps.push_back({std::move(primitive), std::move(args)});
}

Plan PlanBuilder::finish() {
  for (Plan::Step& step : last_) {
    plan_.steps.push_back(std::move(step));
    plan_.info += " + reorder back";
  }
  return std::move(plan_);
}

std::vector<Residual> ways_to_add(bool has_residual) {
  return has_residual ? std::vector<Residual>{Residual::operand, Residual::in_place}
                      : std::vector<Residual>{Residual::none};
}

const char* name_of(Residual residual) {
  return residual == Residual::none       ? ""
         : residual == Residual::in_place ? " + sum"
                                          : " + binary_add";
}

void add_activation(dnnl::post_ops& after, Activation activation) {
  if (activation != Activation::none) {
    append_eltwise(after,
                   activation == Activation::relu ? dnnl::algorithm::eltwise_relu
                                                  : dnnl::algorithm::eltwise_gelu_erf,
                   0);
  }
}

dnnl::primitive_attr epilogue(Activation activation, Residual residual, const Desc& layout,
                              float scale) {
  dnnl::primitive_attr attributes;
  dnnl::post_ops after;
  if (scale != 1) {
    append_eltwise(after, dnnl::algorithm::eltwise_linear, scale);
  }
  if (residual == Residual::in_place) {
    after.append_sum();
  } else if (residual == Residual::operand) {
    after.append_binary(dnnl::algorithm::binary_add, layout);
  }
  add_activation(after, activation);
  attributes.set_post_ops(after);
  return attributes;
}

void requantize(const Engine& engine, const Buffers& buffers, std::int64_t columns, int column,
                int weights_mask, dnnl::primitive_attr& attributes, Args& args) {
  const auto zero_point = static_cast<std::int32_t>(buffers.zero_point[0]);
#if DNNL_VERSION_MAJOR >= 3
  (void)column;
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask);
  attributes.set_zero_points_mask(DNNL_ARG_DST, 0);
  const dnnl::memory scales(Desc({columns}, dnnl::memory::data_type::f32, Tag::a), engine.engine,
                            const_cast<float*>(buffers.scales));
  dnnl::memory zero(Desc({1}, dnnl::memory::data_type::s32, Tag::a), engine.engine);
  *static_cast<std::int32_t*>(zero.get_data_handle()) = zero_point;
  args[DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS] = scales;
  args[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST] = zero;
#else
  (void)engine, (void)weights_mask, (void)args;
  attributes.set_output_scales(1 << column,
                               std::vector<float>(buffers.scales, buffers.scales + columns));
  attributes.set_zero_points(DNNL_ARG_DST, 0, {zero_point});
#endif
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace tensorsmith::bench::onednn
