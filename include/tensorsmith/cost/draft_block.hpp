// SPDX-License-Identifier: Apache-2.0
// draft_block: what the analytic model says of a program, as a block of features.
//
// Floor 6. Own design. One row per program: log2 of the time and log2 of the share of every part of
// it. The estimate is a part of the ProgramView, so the search that prunes by it and the block need
// it once. Not here: the estimate (draft_model.hpp), its correction (corrected_draft.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/gpu_draft.hpp"
#include "tensorsmith/feature/feature_table.hpp"
#include "tensorsmith/feature/lowered_part.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

inline constexpr std::array<std::string_view, 9> draft_tags{
    "total",   "core",    "tiles",          "ahead",          "wait_l1",
    "wait_l2", "wait_l3", "wait_first_tlb", "wait_second_tlb"};
using DraftColumns = std::array<float, draft_tags.size()>;

inline constexpr std::string_view draft_block_name = "draft";

/// Of a candidate for a board, which may not hold it. A part of a ProgramView.
inline std::optional<GpuLatency> gpu_latency_of(const ProgramView& view,
                                                const FeatureContext& context) {
  const Result<LoopProgram, LowerError>& program = view.part<lowered_program_of>(context);
  if (!program) {
    return std::nullopt;
  }
  Result<GpuLatency, GpuLimitExceeded> latency = gpu_latency(*program, context.target);
  return latency ? std::optional<GpuLatency>(std::move(latency).value()) : std::nullopt;
}

/// The estimate of a candidate, infinite for one that the board cannot hold. A part of a
/// ProgramView.
inline DraftParts draft_parts_of(const ProgramView& view, const FeatureContext& context) {
  if (context.target.kind == TargetKind::cpu) {
    return draft_parts(view.state(), context.target, context.num_threads);
  }
  const std::optional<GpuLatency>& latency = view.part<gpu_latency_of>(context);
  if (latency) {
    return gpu_draft_parts(*latency);
  }
  DraftParts parts;
  parts.total = math::infinity;
  return parts;
}

/// log2 of the cycles, log2 of the share of every part.
inline DraftColumns draft_columns(const DraftParts& parts) {
  constexpr double least_share = 0.01;  // smaller ones are alike
  const double total = larger_of(parts.total, 1e-9);
  const auto share = [&](double part) {
    return static_cast<float>(math::log2(part / total + least_share));
  };
  DraftColumns columns{static_cast<float>(math::log2(total)), share(parts.core), share(parts.tiles),
                       share(parts.ahead)};
  for (std::size_t level = 0; level < parts.levels.size(); ++level) {
    columns[4 + level] = share(parts.levels[level]);
  }
  return columns;
}

inline const Shared<const BlockSchema>& draft_schema() {
  static const Shared<const BlockSchema> schema = make_shared_of<const BlockSchema>(
      std::string(draft_block_name), std::vector<std::string>(draft_tags.begin(), draft_tags.end()),
      1U);
  return schema;
}

/// The row of the feature table: for targets with an analytic model.
inline FeatureExtractor draft_block() {
  return {draft_schema(),
          [](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            const DraftColumns columns = draft_columns(view.part<draft_parts_of>(context));
            block.values.assign(columns.begin(), columns.end());
            block.num_rows = 1;
            return true;
          },
          [](const FeatureContext& context) -> std::string {
            const bool has_model =
                context.target.kind == TargetKind::cpu ||
                (context.target.gpu.has_value() && context.target.gpu->board.has_value());
            return has_model ? ""
                             : "there is an analytic estimate for CPUs and boards of GPUs only";
          }};
}

}  // namespace tensorsmith
