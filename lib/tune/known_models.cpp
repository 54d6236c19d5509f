// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/corrected_draft.hpp"
#include "tensorsmith/cost/estimate_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/cost/psa.hpp"
#include "tensorsmith/cost/psa_fixed.hpp"
#include "tensorsmith/cost/random_model.hpp"
#if defined(TENSORSMITH_HAS_EIGEN)
#include "tensorsmith/cost/felix_model.hpp"
#include "tensorsmith/cost/mlp.hpp"
#include "tensorsmith/cost/program_model.hpp"
#endif
#if defined(TENSORSMITH_HAS_XGB)
#include "tensorsmith/cost/xgb.hpp"
#endif

namespace tensorsmith {

std::span<const ModelFactory> known_models() {
  static const ModelFactory models[] = {
    corrected_draft_factory(),
#if defined(TENSORSMITH_HAS_EIGEN)
    mlp_factory(),
#endif
#if defined(TENSORSMITH_HAS_XGB)
    xgb_factory(),
#endif
#if defined(TENSORSMITH_HAS_EIGEN)
    tenset_mlp_factory(),
    pam_factory(),
    moa_factory(),
    felix_mlp_factory(),
#endif
    psa_factory(),
    psa_fixed_factory(),
    random_model_factory(),
  };
  return models;
}

std::span<const ModelFactory> draft_models() {
  static const ModelFactory models[] = {psa_fixed_factory(), psa_factory(), estimate_factory()};
  return models;
}

}  // namespace tensorsmith
