// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/packed_dimensions_body.hpp"
#include "tensorsmith/search/schedule_packs_body.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/space/diagram_body.hpp"

namespace tensorsmith {

template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                              const AnsorCpuRules& rules,
                                              const SketchOptions& options);
template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                              const NativeCpuRules& rules,
                                              const SketchOptions& options);
template std::vector<State> choose_sketches(Shared<const ComputeDag> dag,
                                            const NativeCpuRules& rules,
                                            const SketchOptions& options, std::size_t most,
                                            const SketchRating& rate);
template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                              const AnsorGpuRules& rules,
                                              const SketchOptions& options);
template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                              const NativeGpuRules& rules,
                                              const SketchOptions& options);

}  // namespace tensorsmith
