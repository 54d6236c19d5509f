// SPDX-License-Identifier: Apache-2.0
// serial_twin: the same program on one thread.
//
// Floor 7. Own design. Threads cost some microseconds a call and share caches and memory: a small
// workload, or one that memory holds up, may be faster without them.
//     parallel i.0@j.0@ (0,128), i.1  -->  i.0@j.0@ (0,128), i.1
#pragma once

#include <optional>
#include <variant>

#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sketch/grow.hpp"

namespace tensorsmith {

/// Bounds are inferred. Nothing if the program has no parallel loop, so is its own twin.
inline std::optional<State> serial_twin(const State& state) {
  State twin = state.restart();
  bool was_parallel = false;
  for (const Step& step : state.steps()) {
    const AnnotationStep* annotation = std::get_if<AnnotationStep>(&step);
    if (annotation != nullptr && annotation->annotation == Annotation::parallel) {
      was_parallel = true;
    } else if (!try_step(twin, step)) {
      return std::nullopt;
    }
  }
  if (!was_parallel || try_infer_bounds(twin)) {
    return std::nullopt;
  }
  return twin;
}

}  // namespace tensorsmith
