// SPDX-License-Identifier: Apache-2.0
// Inside the oneDNN peer: one way to run a problem, and the makers of all ways worth timing.
//
// Own design. Compiled once for each oneDNN that is a peer: versions 2 and 3 differ in how a
// primitive is described. Not here: choosing among the ways.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/support/aligned_buffer.hpp"
#include "bench/support/peer.hpp"

namespace tensorsmith::bench::onednn {

using Tag = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;
using Args = std::unordered_map<int, dnnl::memory>;

struct Engine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

/// Row-major f32 matrix product through dnnl_sgemm instead of a primitive.
struct SgemmCall {
  GemmShape shape;
  Buffers buffers;
  void run() const;
};

/// Ordered primitives, then the plans behind them. `run` is timed; `before` fills a result that is
/// added to, `after` brings it into the plain output.
struct Plan {
  struct Step {
    dnnl::primitive primitive;
    Args args;
  };
  std::string info;
  std::vector<SgemmCall> sgemm;  ///< none or one, in place of the steps
  std::vector<Step> before;
  std::vector<Step> steps;
  std::vector<Step> after;
  std::vector<Plan> next;
  std::shared_ptr<AlignedBuffer> passed;  ///< what it leaves for the plan behind it

  void rewind(const Engine& engine) const;
  void run(const Engine& engine) const;
  void write_output(const Engine& engine) const;
};

/// Makes plans for one problem. `Operand` keeps what the user gave: plain description and pointer,
/// and the type that the numbers have for the primitive.
struct Operand {
  Desc desc;
  float* data = nullptr;
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;
  Dims strides = {};

  bool is_f32() const { return type == dnnl::memory::data_type::f32; }
  /// Plain, of that type.
  Desc typed() const;
};

class PlanBuilder {
 public:
  PlanBuilder(const Engine& engine, std::string info) : engine_(engine) {
    plan_.info = std::move(info);
  }
  /// Memory of `wanted` with the operand's contents. Same layout: the user's own memory. Otherwise
  /// a reorder: once and now when `ahead`, else as a timed step.
  /// Numbers become another type ahead in any case.
  dnnl::memory input(const Operand& operand, const Desc& wanted, bool ahead);
  /// Memory for a result; the way back to the plain layout is timed unless `is_free`.
  dnnl::memory output(const Operand& operand, const Desc& wanted, bool is_free);
  /// Memory that holds the residual, and after a run the result: the output's own where it has this
  /// layout; neither the copy into it nor the one out of it is timed.
  dnnl::memory output_over(const Operand& residual, const Operand& operand, const Desc& wanted);
  void add(dnnl::primitive primitive, Args args, const std::string& implementation);
  Plan finish();

 private:
  const Engine& engine_;
  Plan plan_;
  std::vector<Plan::Step> last_;
};

/// Candidates; an implementation that oneDNN refuses is left out. dnnl::error escapes only when
/// nothing at all can be built.
std::vector<Plan> gemm_plans(const Engine& engine, const GemmShape& shape, const Buffers& buffers,
                             PackingClass packing);
std::vector<Plan> conv_plans(const Engine& engine, const ConvShape& shape, const Buffers& buffers,
                             PackingClass packing);
std::vector<Plan> softmax_plans(const Engine& engine, const SoftmaxShape& shape,
                                const Buffers& buffers);
std::vector<Plan> layernorm_plans(const Engine& engine, const LayernormShape& shape,
                                  const Buffers& buffers);
std::vector<Plan> reduce_plans(const Engine& engine, const ReduceShape& shape,
                               const Buffers& buffers);
/// Products, softmax and layernorm one after the other, every way of each with every other.
std::vector<Plan> gemm_layernorm_plans(const Engine& engine, const GemmShape& shape,
                                       const Buffers& buffers, PackingClass packing);
std::vector<Plan> attention_plans(const Engine& engine, const AttentionShape& shape,
                                  const Buffers& buffers);
std::vector<Plan> pool_plans(const Engine& engine, const PoolShape& shape, const Buffers& buffers,
                             PackingClass packing);
/// A convolution and the windows over its result, in the layout in which that comes.
std::vector<Plan> conv_pool_plans(const Engine& engine, const ConvPoolShape& shape,
                                  const Buffers& buffers, PackingClass packing);
/// A chain of pointwise operations, in one primitive with post-operations or in several.
std::vector<Plan> pointwise_plans(const Engine& engine, const PointwiseShape& shape,
                                  const Buffers& buffers);
/// A convolution and a depthwise one of its result: two primitives, and one with the other as its
/// post-operation where there is such.
std::vector<Plan> conv_depthwise_plans(const Engine& engine, const ConvDepthwiseShape& shape,
                                       const Buffers& buffers, PackingClass packing);
/// Adds windows over `source`.
void add_pool(PlanBuilder& builder, const Engine& engine, const PoolShape& shape,
              const dnnl::memory& source, float* output, bool is_free);

/// How a residual is added: as an operand of its own, or to what the output holds, which costs no
/// further stream and destroys the residual.
enum class Residual : std::uint8_t { none, operand, in_place };
/// For the report: "", " + binary_add" or " + sum".
const char* name_of(Residual residual);
inline void append_eltwise(dnnl::post_ops& after, dnnl::algorithm algorithm, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(algorithm, alpha, 0.0F);
#else
  after.append_eltwise(1.0F, algorithm, alpha, 0.0F);
#endif
}
/// Post-operations: a factor, the residual, of this layout where it is an operand, the activation.
dnnl::primitive_attr epilogue(Activation activation, Residual residual = Residual::none,
                              const Desc& layout = {}, float scale = 1);
void add_activation(dnnl::post_ops& after, Activation activation);
/// A factor per column or channel, dimension `column` of the result, and a zero point; the
/// memory of both into `args`. `weights_mask`: of the weights' dimensions, the one of the columns.
void requantize(const Engine& engine, const Buffers& buffers, std::int64_t columns, int column,
                int weights_mask, dnnl::primitive_attr& attributes, Args& args);
/// The ways to add a residual, or none where there is none.
std::vector<Residual> ways_to_add(bool has_residual);

inline Dims dims_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}
inline Operand operand(const Dims& dims, const Dims& strides, const float* data) {
  return {Desc(dims, dnnl::memory::data_type::f32, strides), const_cast<float*>(data),
          dnnl::memory::data_type::f32, strides};
}
inline dnnl::memory::data_type type_of(Element element) {
  using Type = dnnl::memory::data_type;
  return element == Element::u8     ? Type::u8
         : element == Element::i8   ? Type::s8
         : element == Element::i32  ? Type::s32
         : element == Element::bf16 ? Type::bf16
                                    : Type::f32;
}
inline Desc Operand::typed() const { return is_f32() ? desc : Desc(dims_of(desc), type, strides); }
inline Desc any_layout(const Operand& operand) {
  return Desc(dims_of(operand.desc), operand.type, Tag::any);
}
/// What a primitive of version 2 or 3 will do; its arguments are those of version 3, without the
/// engine and the attributes.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc describe(const Engine& engine,
                                            const dnnl::primitive_attr& attributes,
                                            const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine.engine, arguments..., attributes);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes,
                                            engine.engine);
#endif
}

/// Strides of a dense row-major tensor.
Dims dense_strides(const Dims& dims);

/// Appends make() to plans unless oneDNN has no such implementation.
template <class Make>
void try_plan(std::vector<Plan>& plans, Make&& make) {
  try {
    plans.push_back(make());
  } catch (const dnnl::error&) {
    // Refused (unimplemented or invalid here): the other candidates decide.
  }
}

}  // namespace tensorsmith::bench::onednn
