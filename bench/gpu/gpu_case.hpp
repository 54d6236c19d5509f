// SPDX-License-Identifier: Apache-2.0
// What is tuned and compared under one name: a workload, or several that make one computation.
//
// Own design. Attention is no workload of the grammar: it is three, each tuned for itself.
//     attention:BxMxD   S = Q K^T (B x M x M), P = softmax(S), O = P V (B x M x D), all f32;
//                       unscaled, without a mask
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith::bench {

struct GpuPart {
  std::string text;
  ops::Workload workload;
  std::vector<std::size_t> arguments;  ///< its arguments as numbers of buffers of the whole case
};

struct GpuCase {
  std::string name;
  std::vector<GpuPart> parts;  ///< in the order of their calls
  std::size_t num_buffers = 0;
  bool is_tf32 = false;

  double flop() const;
};

/// Throws Error for a wrong text, and for TF32 where there is no product of f32.
GpuCase parse_case(const std::string& text, bool is_tf32);

/// The native space with the instruction that takes 10 bits of the fraction of f32 factors.
std::vector<State> tf32_sketches(const Shared<const ComputeDag>& dag, const SketchOptions& options);

/// What a sum of `length` products of factors so rounded may differ from the exact one. Cutting
/// off bits takes up to 2^-10 of a factor, 2^-9 of a product and (all to one side) of the sum;
/// what differs from product to product is less than that, and adds up like rounding errors.
OutputTolerance tf32_tolerance(std::int64_t length);

/// Measures what it is given with another measurer, to the tolerance of sums in TF32, with friendly
/// inputs only.
class Tf32Measurer final : public Measurer {
 public:
  Tf32Measurer(Measurer& measurer, std::int64_t length) : measurer_(measurer), length_(length) {}

  Result<Done, MeasureFault> prepare(const MeasureTask& task) override;
  std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                     const MeasureContext& context) override {
    return measurer_.measure(candidates, context);
  }
  RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                              const RankingPolicy& policy) override {
    return measurer_.final_ranking(candidates, policy);
  }
  Result<Calibration, MeasureFault> calibrate() override { return measurer_.calibrate(); }

 private:
  Measurer& measurer_;
  std::int64_t length_;
};

}  // namespace tensorsmith::bench
