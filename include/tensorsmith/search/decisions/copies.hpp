// SPDX-License-Identifier: Apache-2.0
// How shared copies of a GPU's block are fetched and lie in memory, and whether blocks share out
// the sums of tiles: decisions of a template.
//
// Floor 7. Own design (population/draw_copies.hpp, draw_stream_k.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/search/decisions/hints.hpp"
#include "tensorsmith/search/population/draw_copies.hpp"
#include "tensorsmith/search/population/draw_stream_k.hpp"

namespace tensorsmith {

/// 0: rows as they are; 1: padded; 2: the last two dimensions exchanged, and padded.
class CopyLayout final : public Decision {
 public:
  explicit CopyLayout(std::int32_t copy) : copy_(copy) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    const auto id = static_cast<std::size_t>(copy_);
    if (storage_layouts(at.state)[id] != nullptr) {
      return {};
    }
    std::vector<std::int32_t> found = {0, 1};
    if (at.state.operation(id).axes.size() >= 2) {
      found.push_back(2);
    }
    return found;
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    return value == not_asked ||
           (value >= 0 && value < static_cast<std::int32_t>(detail::num_copy_layouts) &&
            try_step(to.state,
                     detail::copy_layout(to.state, copy_, static_cast<std::uint32_t>(value))));
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const StorageLayoutStep* layout = steps.peek_of<StorageLayoutStep>(copy_);
    for (std::uint32_t which = 0; layout != nullptr && which < detail::num_copy_layouts; ++which) {
      if (*layout == detail::copy_layout(at.state, copy_, which)) {
        return static_cast<std::int32_t>(which);
      }
    }
    return not_asked;
  }

 private:
  std::int32_t copy_;
};

/// Buffers of every shared copy that a stage reads: as many as fit.
class FetchAhead final : public CountHint<hints::FetchAhead> {
 public:
  FetchAhead(std::int32_t reader, const SpaceOptions& options)
      : CountHint(reader, options.fetch_stages, Presence::always), options_(options) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    std::vector<std::int32_t> fitting;
    for (std::int32_t count : options_.fetch_stages) {
      State with = at.state;
      if (try_step(with, step(count)) && fits_block(with, options_)) {
        fitting.push_back(count);
      }
    }
    return fitting.empty() ? std::vector<std::int32_t>{options_.fetch_stages.front()} : fitting;
  }

 private:
  bool is_asked(const BuildState&) const override { return true; }

  SpaceOptions options_;
};

/// Sets of registers for what a tile reads of shared copies.
class LoadAhead final : public CountHint<hints::LoadAhead> {
 public:
  LoadAhead(std::int32_t reader, std::vector<std::int32_t> sets)
      : CountHint(reader, std::move(sets), Presence::always) {}

 private:
  bool is_asked(const BuildState&) const override { return true; }
};

/// 0: a block per tile; else which stage's sums are shared out, and among how many blocks.
class StreamK final : public OneHint {
 public:
  explicit StreamK(const SpaceOptions& options) : options_(options) {}

 private:
  static constexpr std::int32_t blocks_base = hints::StreamK::most + 1;

  std::vector<PragmaStep> possible(const BuildState& at) const override {
    return detail::stream_k_choices(at.state, options_);
  }
  bool is_one(const Step& step) const override { return has_hint<hints::StreamK>(step); }
  std::int32_t value_of(const PragmaStep& step) const override {
    return step.stage * blocks_base +
           step.hint.as<hints::StreamK>().value_or(hints::StreamK{}).blocks;
  }
  PragmaStep step_of(std::int32_t value) const override {
    return {value / blocks_base, 0, hints::StreamK{value % blocks_base}};
  }

  SpaceOptions options_;
};

}  // namespace tensorsmith
