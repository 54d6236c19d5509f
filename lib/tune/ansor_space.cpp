// SPDX-License-Identifier: Apache-2.0
// The space "ansor": the reference's rules, tile sizes that divide the extents.
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tune/gpu.hpp"
#include "tune/methods.hpp"

namespace tensorsmith {
namespace {

SpaceParts ansor_cpu_space(const SpaceContext& context) {
  const PolicyParams& params = context.params;
  const SketchOptions sketch_options = cpu_sketch_options(context);
  SpaceParts space;
  space.sketches = sketches_of(context, ansor_cpu_rules(), sketch_options);
  space.drawing = DrawingKind::reference;
  space.options.max_innermost_split_factor = params.max_innermost_split_factor;
  space.options.max_innermost_reduction_factor = params.max_innermost_split_factor;
  space.options.max_vectorize_size = params.max_vectorize_size;
  space.options.change_compute_location = params.disable_change_compute_location == 0;
  space.options.hardware = sketch_options.hardware;
  space.options.min_prefetch_bytes = sketch_options.core_cache_bytes;
  space.options.intrinsics = sketch_options.intrinsics;
  space.is_valid = [](const State& state) { return !has_nested_parallel(state); };
  return space;
}

SpaceParts ansor_gpu_space(const SpaceContext& context) {
  SpaceParts space;
  space.sketches = sketches_of(context, ansor_gpu_rules(), gpu_sketch_options_for(context));
  space.options = gpu_space_options(hardware_params(context.task.target));
  space.drawing = DrawingKind::reference;
  space.options.max_innermost_split_factor = context.params.max_innermost_split_factor;
  space.options.max_innermost_reduction_factor = context.params.max_innermost_split_factor;
  space.options.max_vectorize_size = context.params.max_vectorize_size;
  // As the reference, which has no features for a program that exceeds the limits of a block.
  space.is_valid = [target = context.task.target,
                    most = space.options.hardware.max_shared_memory_per_block](const State& state) {
    const Result<GpuLatency, MeasureFault> latency = latency_on_board(state, target);
    return latency && std::all_of(latency->kernels.begin(), latency->kernels.end(),
                                  [most](const GpuKernelTime& kernel) {
                                    return kernel.work.shared_bytes <= most;
                                  });
  };
  return space;
}

SpaceParts make_ansor_space(const SpaceContext& context) {
  return context.task.target.kind == TargetKind::cuda ? ansor_gpu_space(context)
                                                      : ansor_cpu_space(context);
}

}  // namespace

SketchOptions cpu_sketch_options(const SpaceContext& context) {
  const Target& target = context.task.target;
  SketchOptions options;
  options.hardware = hardware_params(target);
  options.hardware.num_cores = context.options.num_threads;
  options.core_cache_bytes = target.caches.l2_bytes.value_or(options.core_cache_bytes);
  options.tiling_structure = context.params.cpu_multi_level_tiling_structure;
  return options;
}

SpaceMethod ansor_space_method() {
  return {"ansor", "the Ansor reference's rules, tile sizes that divide", true, make_ansor_space};
}

}  // namespace tensorsmith
