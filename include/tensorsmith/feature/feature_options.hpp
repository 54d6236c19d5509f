// SPDX-License-Identifier: Apache-2.0
// What a row of features says: of which reference, for which cache line, in which scale.
//
// Floor 5. Ansor reference, ch. 6. Not here: the rows (extract.hpp, kernel_features.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/feature/intensity.hpp"

namespace tensorsmith {

/// Two extractors of the same columns; models trained with the one know nothing of the other.
enum class FeatureForm : std::uint8_t {
  ansor,   ///< of releases: reuse up to the first loop that does not use the access
  tenset,  ///< of the data set of NeurIPS 2021: up to the next use behind it; buffers by reuse
};

struct FeatureOptions {
  std::int32_t cache_line_bytes = 64;
  /// The curve of the reference's release; models trained with the one know nothing of the other.
  IntensityForm intensity = IntensityForm::linear;
  FeatureForm form = FeatureForm::ansor;
  /// No rows for stages that are computed once, before the first call (sched/prepared.hpp).
  bool leaves_out_prepared = false;
  bool is_log_scaled = true;  ///< off: plain numbers, for people; models are trained on logarithms

  /// Those of models that were trained on TenSet, for the same programs.
  FeatureOptions as_tenset() const {
    FeatureOptions options = *this;
    options.intensity = IntensityForm::logarithmic;
    options.form = FeatureForm::tenset;
    return options;
  }
};

}  // namespace tensorsmith
