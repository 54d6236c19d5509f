// SPDX-License-Identifier: Apache-2.0
// SplitReduction: several blocks share the sum of one tile or of few results; for GPUs.
//
// Floor 5. Own design (split-K of CUTLASS; here without atomics: a second kernel adds the parts up,
// in one order). One sketch per number of parts:
//     C[i, j] += A[i, k] * B[k, j]
//         -->  C.rf[p, i, j] += A[i, p*256 + k] * B[p*256 + k, j];  C[i, j] += C.rf[p, i, j]
// Legal for a stage that reduces. Worth it for one reduction with data reuse where tiles are too
// few for the device and the sum is long; and, whatever the reductions, where every term reads
// something of its own and the results are too few for the device: sums of long rows and of
// columns, of all elements, matrix-vector products. Of several reduction axes the longest is cut.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

struct SplitReduction {
  static constexpr std::string_view name() { return "split_reduction"; }

  Applicability applicability(const RuleInput& input) const {
    return cuts_of(input).empty() ? Applicability::skip : Applicability::apply;
  }

  /// An elementwise consumer computes the sum of the parts, so that there are two kernels, not
  /// three; the stage of the parts, which has the id now, is looked at next, and is no candidate
  /// again. Without one, that of their sum is.
  std::vector<Derivation> expand(const RuleInput& input) const {
    const auto consumer = single_elementwise_consumer(input.state, input.analysis, input.stage);
    const auto rank = static_cast<std::int32_t>(
        input.state.operation(static_cast<std::size_t>(input.stage)).axes.size());
    std::vector<Derivation> derived;
    for (const Cut& cut : cuts_of(input)) {
      State state = input.state;
      grow(state, split_of(state, input.stage, rank + cut.axis, {cut.terms}));
      grow(state, RfactorStep{input.stage, rank + cut.axis, 0});
      const bool is_placed = consumer && rank > 0;
      if (is_placed) {
        grow(state, ComputeAtStep{input.stage + 1, *consumer + 1, rank - 1});
      }
      derived.push_back(Derivation{std::move(state), input.stage + (is_placed ? 0 : 1)});
    }
    return derived;
  }

 private:
  /// A part has so many neighbouring iterations of this reduction axis.
  struct Cut {
    std::int32_t axis = 0;
    std::int64_t terms = 0;
  };

  /// Tiles of this side are what a block has at least; with so many of them a device is busy.
  static constexpr std::int64_t tile_side = 64, enough_tiles = 512, most_parts = 8;
  /// Of a part; shorter ones are not worth the way to memory and back.
  static constexpr std::int64_t least_terms = 256, terms_unit = 32;

  /// What keeps a device busy: rows that a block reads together, or sums of a thread.
  static constexpr std::int64_t enough_rows[] = {256, 1024}, enough_sums[] = {32768, 131072};
  static constexpr std::int64_t least_parts = 4;  ///< fewer gain too little for a second kernel
  /// Terms of a part, of a row that many threads read and of what one thread adds up.
  static constexpr std::int64_t least_of_row = 512, least_of_sum = 32;

  static std::vector<Cut> cuts_of(const RuleInput& input) {
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    if (!is_untouched_sum(input.state, input.stage) || input.state.stage(stage).is_partial_sum) {
      return {};
    }
    const auto consumer = single_elementwise_consumer(input.state, input.analysis, input.stage);
    if (consumer && is_tiled(input.state, *consumer)) {
      return {};
    }
    if (!reads_of_own_terms(input.state, input.stage).empty()) {
      return adds_up_parts(input) ? std::vector<Cut>{} : cuts_of_few_results(input);
    }
    const bool has_tiles = op.reduce_axes.size() == 1 && op.bodies.size() == 1 &&
                           needs_tiling(input.analysis, input.stage);
    return has_tiles ? cuts_of_tiles(input) : std::vector<Cut>{};
  }

  static std::vector<Cut> cuts_of_tiles(const RuleInput& input) {
    std::vector<Cut> found;
    const Operation& op = input.state.operation(static_cast<std::size_t>(input.stage));
    const std::int64_t tiles =
        extent_product(input.state, input.stage, IteratorKind::spatial) / (tile_side * tile_side);
    const std::int64_t terms = op.reduce_axes[0].extent;
    for (std::int64_t parts = 2; parts <= most_parts; parts *= 2) {
      if (tiles * parts <= enough_tiles && terms % (parts * terms_unit) == 0 &&
          terms / parts >= least_terms) {
        found.push_back({0, terms / parts});
      }
    }
    return found;
  }

  static bool adds_up_parts(const RuleInput& input) {
    return any_item(input.analysis.producers(static_cast<std::uint32_t>(input.stage)),
                    [&](std::uint32_t id) { return input.state.stage(id).is_partial_sum; });
  }

  static std::vector<Cut> cuts_of_few_results(const RuleInput& input) {
    const Operation& op = input.state.operation(static_cast<std::size_t>(input.stage));
    const std::int64_t results = extent_product(input.state, input.stage, IteratorKind::spatial);
    const std::int64_t terms = extent_product(input.state, input.stage, IteratorKind::reduction);
    std::size_t longest = 0;
    for (std::size_t a = 1; a < op.reduce_axes.size(); ++a) {
      longest = op.reduce_axes[a].extent > op.reduce_axes[longest].extent ? a : longest;
    }
    const std::int64_t extent = op.reduce_axes[longest].extent;
    const bool has_rows = reduction_along_rows(input.state, input.stage).has_value();
    const std::int64_t least = has_rows ? least_of_row : least_of_sum;
    std::vector<Cut> found;
    for (const std::int64_t enough : has_rows ? enough_rows : enough_sums) {
      const std::int64_t parts =
          smaller_of(smaller_of(enough / results, terms / least), extent / 2);
      if (parts < least_parts) {
        continue;
      }
      const std::int64_t length = length_of_part(extent, ceil_div(extent, parts));
      if (found.empty() || found.back().terms != length) {
        found.push_back({static_cast<std::int32_t>(longest), length});
      }
    }
    return found;
  }

  /// About `length`: a divisor, so that parts have no ends of their own, else whole lines of memory
  /// if there are any.
  static std::int64_t length_of_part(std::int64_t extent, std::int64_t length) {
    constexpr std::int64_t line = 32;  // elements of 4 bytes
    for (const std::int64_t divisor : divisors(extent)) {
      const bool is_near = divisor >= length && 2 * divisor <= 3 * length;
      if (is_near && (divisor % 4 == 0 || extent % 4 != 0 || divisor < line)) {
        return divisor;
      }
    }
    return length < line ? length : ceil_div(length, line) * line;
  }
};

}  // namespace tensorsmith
