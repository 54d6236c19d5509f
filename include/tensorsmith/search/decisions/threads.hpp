// SPDX-License-Identifier: Apache-2.0
// How the loops of a stage of a GPU program become blocks and threads: decisions of a template.
//
// Floor 7. Ansor reference, ch. 5.1 (ThreadBind); own: groups of blocks, drawn threads and vectors.
// What there is to decide about a stage follows from the sketch.
//     tiles: in which groups blocks start     copies: elements that a thread copies at once
//     others: threads of a block, and elements that a thread takes at once
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/search/bind_stage.hpp"
#include "tensorsmith/search/space_options.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {

enum class BindKind : std::uint8_t {
  blocks,   ///< of a reduction across threads: nothing to decide
  tiles,    ///< value 64 * loop + length of a group of blocks, 0: none
  warps,    ///< value: threads of a block, 0: one block
  vectors,  ///< value 1024 * threads + elements at once
  copy,     ///< value: elements at once
};

/// How a stage of a sketch is to be bound; nothing: not at all. `roots`: stages with tiles in them.
inline std::optional<BindKind> bind_kind(const State& sketch, std::int32_t stage,
                                         const std::vector<std::int32_t>& roots,
                                         const SpaceOptions& options) {
  const auto id = static_cast<std::size_t>(stage);
  const bool is_root = sketch.stage(id).compute_at == ComputeAt::root;
  if (sketch.stage(id).is_placeholder || sketch.stage(id).compute_at == ComputeAt::inlined) {
    return std::nullopt;
  }
  if (has_cross_thread_reduction(sketch, stage)) {
    return is_root ? std::optional(BindKind::blocks) : std::nullopt;
  }
  if (detail::needs_no_threads(sketch, stage, options.draws_threads)) {
    return std::nullopt;
  }
  if (is_root) {
    return has_item(roots, stage)  ? BindKind::tiles
           : options.draws_threads ? BindKind::vectors
                                   : BindKind::warps;
  }
  return sketch.stage(id).is_shared_copy() ? std::optional(BindKind::copy) : std::nullopt;
}

class BindDecision final : public Decision {
 public:
  BindDecision(std::int32_t stage, BindKind kind, const SpaceOptions& options)
      : stage_(stage), kind_(kind), options_(options) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    std::vector<std::int32_t> found;
    for (std::int32_t value : draws(at)) {
      if (!has_item(found, value)) {
        found.push_back(value);
      }
    }
    return found;
  }
  std::vector<std::int32_t> draws(const BuildState& at) const override {
    switch (kind_) {
    case BindKind::blocks:
      return {0};
    case BindKind::tiles:
      return groups(at.state);
    case BindKind::copy:
      return copy_lanes(at.state);
    default:
      break;
    }
    State fused = at.state;
    if (!detail::fuse_outer(fused, stage_)) {
      return {};
    }
    const std::int64_t extent = detail::extent_of_loop(fused, stage_, 0);
    const std::int32_t warp = options_.hardware.warp_size;
    return kind_ == BindKind::warps ? std::vector<std::int32_t>{extent <= warp ? 0 : warp}
                                    : threads_and_lanes(fused, extent);
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    if (value < 0) {
      return false;
    }
    switch (kind_) {
    case BindKind::blocks:
      return detail::bind_blocks(to.state, stage_);
    case BindKind::tiles:
      return detail::bind_tiles(to.state, stage_, group_of(to.state, value));
    case BindKind::warps:
      return detail::fuse_outer(to.state, stage_) && detail::bind_plain(to.state, stage_, value);
    case BindKind::vectors:
      return detail::fuse_outer(to.state, stage_) &&
             detail::bind_vectors(to.state, stage_, value / lanes_base, value % lanes_base);
    case BindKind::copy:
      return detail::bind_copy(to.state, stage_, value);
    }
    return false;
  }
  std::int32_t read(const BuildState&, const StepCursor& steps) const override {
    const std::size_t first = steps.peek_of<FuseStep>(stage_) != nullptr ? 1 : 0;
    const SplitStep* split = steps.peek_of<SplitStep>(stage_, first);
    if (kind_ == BindKind::blocks) {
      return 0;
    }
    if (kind_ == BindKind::tiles) {
      const bool is_grouped = first == 0 && split != nullptr && split->lengths.size() == 1 &&
                              steps.peek_of<ReorderStep>(stage_, 1) != nullptr;
      return is_grouped ? split->iterator * group_base + narrow(split->lengths[0]) : 0;
    }
    if (split == nullptr) {
      return kind_ == BindKind::warps ? 0 : not_asked;
    }
    const std::int32_t length = narrow(split->lengths[0]);
    return kind_ != BindKind::vectors  ? length
           : split->lengths.size() > 1 ? length * lanes_base + narrow(split->lengths[1])
                                       : length * lanes_base + 1;
  }

 private:
  static constexpr std::int32_t group_base = 64, lanes_base = 1024;

  static std::int32_t narrow(std::int64_t length) {
    return static_cast<std::int32_t>(smaller_of<std::int64_t>(length, 1 << 20));
  }

  /// None as often as any.
  std::vector<std::int32_t> groups(const State& state) const {
    constexpr std::int64_t longest = 32;
    std::vector<std::int32_t> found;
    const IdList loops = detail::loops_of_level(state, stage_, 0);
    if (options_.groups_blocks && options_.gpu) {
      for (std::size_t loop = 0; loop + 1 < loops.size(); ++loop) {
        const std::int64_t extent = detail::extent_of_loop(state, stage_, loop);
        for (std::int64_t length = 2; length <= smaller_of(extent, longest); ++length) {
          if (extent % length == 0) {
            found.push_back(static_cast<std::int32_t>(loop) * group_base +
                            static_cast<std::int32_t>(length));
          }
        }
      }
    }
    found.insert(found.begin(), larger_of<std::size_t>(found.size(), 1), 0);
    return found;
  }
  std::optional<BlockGroup> group_of(const State& state, std::int32_t value) const {
    if (value == 0) {
      return std::nullopt;
    }
    const std::int32_t loop = value / group_base;
    const std::size_t count = state.stage(static_cast<std::size_t>(stage_)).iterators.size();
    return BlockGroup{loop,
                      static_cast<std::size_t>(loop) < count
                          ? detail::extent_of_loop(state, stage_, static_cast<std::size_t>(loop))
                          : 0,
                      value % group_base};
  }

  /// Powers of two that divide `extent`, the widest as often as all others.
  static std::vector<std::int32_t> vector_widths(std::int64_t extent, std::int64_t most) {
    std::vector<std::int32_t> found = {1};
    while (2 * found.back() <= most && extent % (2 * std::int64_t{found.back()}) == 0) {
      found.push_back(2 * found.back());
    }
    const std::int32_t widest = found.back();
    found.insert(found.begin(), larger_of<std::size_t>(found.size() - 1, 1) - 1, widest);
    return found;
  }
  std::vector<std::int32_t> copy_lanes(const State& state) const {
    const std::size_t rank = state.operation(static_cast<std::size_t>(stage_)).axes.size();
    if (options_.fetch_stages.empty() || rank == 0) {
      return {1};
    }
    return vector_widths(detail::extent_of_loop(state, stage_, rank - 1),
                         detail::most_copy_lanes(state, stage_));
  }
  std::vector<std::int32_t> threads_and_lanes(const State& fused, std::int64_t extent) const {
    std::vector<std::int32_t> found;
    const bool has_vectors = detail::is_elementwise_loop(fused, stage_);
    for (std::int32_t lanes : vector_widths(extent, has_vectors ? most_lanes(fused.dag()) : 1)) {
      for (std::int64_t threads : thread_counts(extent / lanes, options_.hardware.warp_size,
                                                options_.hardware.max_threads_per_block)) {
        found.push_back(static_cast<std::int32_t>(threads) * lanes_base + lanes);
      }
    }
    return found;
  }

  std::int32_t stage_;
  BindKind kind_;
  SpaceOptions options_;
};

}  // namespace tensorsmith
