// SPDX-License-Identifier: Apache-2.0
// AnnotationFeatures: how the loops around a store are annotated (feature group 1, annotations).
//
// Floor 5. Ansor reference, ch. 6.3.
#pragma once

#include <array>
#include <span>

#include "tensorsmith/feature/store_program.hpp"

namespace tensorsmith {

struct LoopClass {
  double num = 0, prod = 0, len = 0;  ///< prod: 0 if there is no such loop
};

struct AnnotationFeatures {
  LoopClass vec, unroll, parallel;
  bool is_gpu = false;
  std::array<double, 3> block{1, 1, 1}, thread{1, 1, 1};  ///< x, y, z
  double vthread = 1;
};

inline AnnotationFeatures annotation_features(const StoreProgram& program,
                                              const FeatureStore& store) {
  AnnotationFeatures f;
  const auto add = [](LoopClass& kind, double extent) {
    kind.prod = (kind.num == 0 ? 1 : kind.prod) * extent;
    kind.num += 1;
    kind.len = extent;
  };
  for (const OpenFeatureLoop& open : store.loops) {
    const FeatureLoop& loop = program.loops[static_cast<std::size_t>(open.loop)];
    const double extent = static_cast<double>(loop.extent);
    const auto bind = [&](double& length) {
      length = extent;
      f.is_gpu = true;
    };
    switch (loop.annotation) {
    case Annotation::vectorize:
      add(f.vec, extent);
      break;
    case Annotation::unroll:
      add(f.unroll, extent);
      break;
    case Annotation::parallel:
      add(f.parallel, extent);
      break;
    case Annotation::vthread:
      f.vthread *= extent;
      f.is_gpu = true;
      break;
    case Annotation::block_x:
      bind(f.block[0]);
      break;
    case Annotation::block_y:
      bind(f.block[1]);
      break;
    case Annotation::block_z:
      bind(f.block[2]);
      break;
    case Annotation::thread_x:
      bind(f.thread[0]);
      break;
    case Annotation::thread_y:
      bind(f.thread[1]);
      break;
    case Annotation::thread_z:
      bind(f.thread[2]);
      break;
    case Annotation::none:
    case Annotation::tensorize:
      break;
    }
  }
  return f;
}

}  // namespace tensorsmith
