// SPDX-License-Identifier: Apache-2.0
// The space "native": this project's rules, any split factor, packing, tensor intrinsics.
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/search/population/fit_block.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tune/gpu.hpp"
#include "tune/methods.hpp"

namespace tensorsmith {
namespace {

/// What a search gets to know in a minute.
constexpr std::size_t most_sketches = 400;

/// Those of the target whose operands have the type of some tensor.
std::vector<const TensorIntrinsic*> usable_intrinsics(const ComputeDag& dag, const Target& target) {
  std::vector<const TensorIntrinsic*> usable = intrinsics_of(target);
  std::erase_if(usable, [&](const TensorIntrinsic* intrinsic) {
    const auto has_tensor_for = [&](DType operand) {
      return std::any_of(dag.tensors().begin(), dag.tensors().end(), [&](const TensorInfo& tensor) {
        return intrinsic->takes(operand, tensor.dtype);
      });
    };
    return !has_tensor_for(intrinsic->a) || !has_tensor_for(intrinsic->b);
  });
  return usable;
}

SpaceParts native_cpu_space(const SpaceContext& context) {
  const Target& target = context.task.target;
  const PolicyParams& params = context.params;
  const SketchOptions sketch_options = native_sketch_options(context);
  SpaceParts space;
  SpaceOptions& options = space.options;
  options = native_space_options();
  options.max_innermost_split_factor = params.max_innermost_split_factor;
  if (params.max_innermost_split_factor != SpaceOptions{}.max_innermost_split_factor) {
    options.max_innermost_reduction_factor = params.max_innermost_split_factor;
  }
  options.max_vectorize_size = params.max_vectorize_size;
  options.change_compute_location = params.disable_change_compute_location == 0;
  options.hardware = sketch_options.hardware;
  options.min_prefetch_bytes = sketch_options.core_cache_bytes;
  // What is written last would have left the caches before its next use.
  options.min_streamed_bytes = target.caches.l3_bytes.value_or(16 << 20) / 2;
  options.intrinsics = sketch_options.intrinsics;
  space.sketches = sketches_of(context, native_cpu_rules(), sketch_options, most_sketches,
                               cpu_sketch_rating(context, options));
  space.is_valid = [](const State& state) { return !has_nested_parallel(state); };
  return space;
}

SpaceParts native_gpu_space(const SpaceContext& context) {
  SpaceParts space;
  space.sketches = sketches_of(context, native_gpu_rules(), native_sketch_options(context));
  space.options = native_gpu_space_options(context.task.target);
  space.options.max_innermost_split_factor = context.params.max_innermost_split_factor;
  space.options.max_innermost_reduction_factor = context.params.max_innermost_split_factor;
  space.options.max_vectorize_size = context.params.max_vectorize_size;
  // Parts of two programs that fit need not fit together.
  space.is_valid = [context = FeatureContext{context.task.target, 1, {}},
                    hardware = space.options.hardware,
                    most = space.options.max_buffered_bytes](const ProgramView& view) {
    return fits_block(view.state(), hardware, most) && is_worth_compiling(view, context);
  };
  return space;
}

SpaceParts make_native_space(const SpaceContext& context) {
  return context.task.target.kind == TargetKind::cuda ? native_gpu_space(context)
                                                      : native_cpu_space(context);
}

}  // namespace

SketchOptions native_sketch_options(const SpaceContext& context) {
  const Target& target = context.task.target;
  if (target.kind == TargetKind::cuda) {
    return gpu_sketch_options_for(context);
  }
  SketchOptions options = native_cpu_sketch_options(cpu_sketch_options(context));
  options.hardware.vector_unit_bytes = target.vector_bits / 8;
  options.intrinsics = usable_intrinsics(*context.task.dag, target);
  return options;
}

SpaceMethod native_space_method() {
  return {"native", "own rules: packing, any tile size, tensor instructions", false,
          make_native_space};
}

}  // namespace tensorsmith
