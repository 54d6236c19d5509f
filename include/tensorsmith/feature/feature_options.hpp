// What a row of features says: of which reference, for which cache line, in which scale.
//
// Floor 5. Ansor reference, ch. 6. Not here: the rows (extract.hpp, kernel_features.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/feature/intensity.hpp"

namespace tensorsmith {

struct FeatureOptions {
  std::int32_t cache_line_bytes = 64;
  /// The curve of the reference's release; models trained with the one know nothing of the other.
  IntensityForm intensity = IntensityForm::linear;
  /// No rows for stages that are computed once, before the first call (sched/prepared.hpp).
  bool leaves_out_prepared = false;
  bool is_log_scaled = true;  ///< off: plain numbers, for people; models are trained on logarithms
};

}  // namespace tensorsmith
