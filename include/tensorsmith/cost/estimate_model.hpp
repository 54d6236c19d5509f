// SPDX-License-Identifier: Apache-2.0
// estimate: the analytic estimate of programs as a draft: the latency model of boards, the draft of
// CPUs.
//
// Floor 6. Own design. Learns nothing; cost/corrected_draft.hpp is the model that corrects the same
// numbers. Not here: the estimate (draft_block.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/draft_block.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

class EstimateModel final : public CostModel {
 public:
  std::string_view name() const override { return "estimate"; }
  std::span<const std::string_view> wanted_blocks() const override {
    return {&draft_block_name, 1};
  }
  void update(std::span<const TrainingSample>) override {}
  /// 1 / cycles: the share of a parent falls with the time, as that of the other drafts does.
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const FeatureBlock* block = programs[i].find(draft_block_name);
      const bool is_known = block != nullptr && block->values[0] < math::infinity;
      scores[i] =
          is_known ? static_cast<float>(math::exp2(-double{block->values[0]})) : invalid_score;
    }
  }
  Result<std::string, CostModelFault> save() const override {
    return refuse(CostModelError::not_supported);
  }
  Result<Done, CostModelFault> load(std::string_view) override {
    return refuse(CostModelError::not_supported);
  }
};

/// The row of the table of drafts.
inline ModelFactory estimate_factory() {
  return {"estimate",
          "the latency model of boards, the draft of CPUs: what simulated ones answer by", false,
          [](const ModelContext&) { return Shared<CostModel>(make_shared_of<EstimateModel>()); },
          [](const ModelContext& context) -> std::string_view {
            const bool is_board = context.target.gpu && context.target.gpu->board;
            return context.target.kind == TargetKind::cpu || is_board
                       ? ""
                       : "is for boards of GPUs and for CPUs";
          }};
}

}  // namespace tensorsmith
