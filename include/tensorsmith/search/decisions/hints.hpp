// SPDX-License-Identifier: Apache-2.0
// Remarks for lowering, as decisions of a template: rows at a time, steps of a reduction that are
// written out, a hint to memory, and whether a packed copy keeps rows.
//
// Floor 7. Own design. What is drawn at first is what the native population draws
// (population/draw_row_block.hpp, memory_hints.hpp); the rest is for mutations.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/search/decisions/fit_copies.hpp"
#include "tensorsmith/search/population/draw_row_block.hpp"
#include "tensorsmith/search/population/memory_hints.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {

/// The one number of a hint of one stage. If the hint need not be there, 1 says that it is not.
template <HintType Kind>
class CountHint : public Decision {
 public:
  enum class Presence : std::uint8_t { optional, always };

  CountHint(std::int32_t stage, std::vector<std::int32_t> counts, Presence presence)
      : stage_(stage), counts_(std::move(counts)), presence_(presence) {
    if (presence_ == Presence::optional) {
      counts_.insert(counts_.begin(), 1);
    }
  }

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    return is_asked(at) ? counts_ : std::vector<std::int32_t>{};
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    return value == not_asked || (value == 1 && presence_ == Presence::optional) ||
           try_step(to.state, step(value));
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const Step* found = steps.find([&](const Step& step) {
      return stage_of(step) == stage_ && hint_in<Kind>(step).has_value();
    });
    const bool is_none = presence_ == Presence::optional && is_asked(at);
    return found != nullptr ? *std::get<PragmaStep>(*found).hint.number(0)
           : is_none        ? 1
                            : not_asked;
  }

 protected:
  std::int32_t stage() const { return stage_; }
  PragmaStep step(std::int32_t value) const { return {stage_, 0, Kind{value}}; }

 private:
  virtual bool is_asked(const BuildState& at) const = 0;

  std::int32_t stage_;
  std::vector<std::int32_t> counts_;
  Presence presence_;
};

/// Steps of the innermost loop of a reduction that are written out. Drawn at first: one.
class ReductionUnroll final : public CountHint<hints::UnrollReduction> {
 public:
  ReductionUnroll(std::int32_t stage, std::vector<std::int32_t> counts)
      : CountHint(stage, std::move(counts), Presence::optional) {}

  std::vector<std::int32_t> draws(const BuildState& at) const override {
    return choices(at).empty() ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{1};
  }

 private:
  bool is_asked(const BuildState& at) const override {
    const auto& own = at.state.stage(static_cast<std::size_t>(stage()));
    return own.compute_at != ComputeAt::inlined && has_non_spatial_iterator(at.state, stage());
  }
};

/// Rows that a reduction along long rows computes at a time.
class RowBlock final : public CountHint<hints::RowBlock> {
 public:
  RowBlock(std::int32_t stage, std::vector<std::int32_t> counts)
      : CountHint(stage, std::move(counts), Presence::optional) {}

 private:
  bool is_asked(const BuildState& at) const override {
    return has_item(detail::stages_of_rows(at.state), stage());
  }
};

/// A hint that a program has once, on whatever stage, or not at all: 0.
class OneHint : public Decision {
 public:
  std::vector<std::int32_t> choices(const BuildState& at) const override {
    std::vector<std::int32_t> found;
    for (const PragmaStep& step : possible(at)) {
      found.push_back(value_of(step));
    }
    found.insert(found.begin(), found.empty() ? 0 : 1, 0);
    return found;
  }
  std::vector<std::int32_t> draws(const BuildState& at) const override {
    std::vector<std::int32_t> found = choices(at);
    found.insert(found.end(), found.empty() ? 0 : found.size() - 2, 0);  // half of them none
    return found;
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    return value <= 0 ? value == 0 || value == not_asked : try_step(to.state, step_of(value));
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const Step* found = steps.find([&](const Step& step) { return is_one(step); });
    return found != nullptr      ? value_of(std::get<PragmaStep>(*found))
           : choices(at).empty() ? not_asked
                                 : 0;
  }

 private:
  virtual std::vector<PragmaStep> possible(const BuildState& at) const = 0;
  virtual bool is_one(const Step& step) const = 0;
  /// A number above 0, from which step_of() makes the step again.
  virtual std::int32_t value_of(const PragmaStep& step) const = 0;
  virtual PragmaStep step_of(std::int32_t value) const = 0;
};

/// The one hint to memory of a program.
class MemoryHint final : public OneHint {
 public:
  /// `packs`: stages whose hints nobody reads.
  MemoryHint(const SpaceOptions& options, std::vector<std::int32_t> packs)
      : options_(options), packs_(std::move(packs)) {}

 private:
  std::vector<PragmaStep> possible(const BuildState& at) const override {
    std::vector<PragmaStep> found =
        detail::possible_memory_hints(options_, at.state, at.analysis());
    std::erase_if(found, [&](const PragmaStep& hint) { return has_item(packs_, hint.stage); });
    return found;
  }
  bool is_one(const Step& step) const override { return detail::is_memory_hint(step); }

  // stage : operand 6 bits : kind 2 : level 2 : lines 11
  static constexpr std::int32_t operand_bits = 6, kind_bits = 2, level_bits = 2, lines_bits = 11;
  enum Kind : std::int32_t { stream = 1, ahead = 2, block = 3 };

  std::int32_t value_of(const PragmaStep& step) const override {
    const auto lines = step.hint.as<hints::Prefetch>();
    const auto next_block = step.hint.as<hints::PrefetchBlock>();
    const hints::Prefetch ahead_of =
        lines        ? *lines
        : next_block ? hints::Prefetch{next_block->operand, 0, next_block->level}
                     : hints::Prefetch{0, 0, 0};
    const Kind kind = lines ? ahead : next_block ? block : stream;
    const std::int32_t which = (step.stage << operand_bits | ahead_of.operand) << kind_bits | kind;
    return (which << level_bits | ahead_of.level) << lines_bits | ahead_of.lines;
  }
  PragmaStep step_of(std::int32_t value) const override {
    const auto take = [&](std::int32_t bits) {
      const std::int32_t low = value & ((1 << bits) - 1);
      value >>= bits;
      return low;
    };
    const std::int32_t lines = take(lines_bits), level = take(level_bits), kind = take(kind_bits),
                       operand = take(operand_bits);
    return {value, 0,
            kind == stream  ? Hint(hints::StreamResult{})
            : kind == block ? Hint(hints::PrefetchBlock{operand, level})
                            : Hint(hints::Prefetch{operand, lines, level})};
  }

  SpaceOptions options_;
  std::vector<std::int32_t> packs_;
};

/// Whether a packed copy keeps the rows of its source. Drawn at first: panels.
class PackRows final : public Decision {
 public:
  PackRows(std::int32_t copy, const SpaceOptions& options) : copy_(copy), options_(options) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    return detail::can_keep_rows(at.state, copy_, options_) ? std::vector<std::int32_t>{0, 1}
                                                            : std::vector<std::int32_t>{};
  }
  std::vector<std::int32_t> draws(const BuildState& at) const override {
    return choices(at).empty() ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{0};
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    if (value == 1) {
      to.wishes.emplace_back(copy_, value);
    }
    return value <= 1;
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    const bool has_rows = steps.find([&](const Step& step) {
      const StorageLayoutStep* layout = std::get_if<StorageLayoutStep>(&step);
      return layout != nullptr && layout->stage == copy_ && layout->pad_elements > 0;
    }) != nullptr;
    return has_rows ? 1 : choices(at).empty() ? not_asked : 0;
  }

 private:
  std::int32_t copy_;
  SpaceOptions options_;
};

}  // namespace tensorsmith
