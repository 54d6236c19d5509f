// SPDX-License-Identifier: Apache-2.0
// Which loops run in parallel: a decision of a template.
//
// Floor 7. Ansor reference, ch. 5.1 (Parallel). What is drawn at first is what the reference draws
// (population/parallelize.hpp); mutations fuse other numbers of loops.
//     FU C [0, 1], AN C 0 parallel  -->  0 if that is usual, else place 1, two loops
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/search/population/parallelize.hpp"
#include "tensorsmith/space/decision.hpp"

namespace tensorsmith {

/// The parallel loops of a stage at root and of what is computed in it. 0: all as usual. Else three
/// words of ten bits, each about a place where a loop could be parallel, in the order in which they
/// are made so: its number from 1 on, how many loops are fused (14: one alone, 15: none), and where
/// they begin (0: where usual, 1: one further in, 2: one further out, 3: two further in). Bit 30:
/// only the outermost loops are parallel, and with bit 29 all that could be, unless one of two
/// words says otherwise.
class ParallelDecision final : public Decision {
 public:
  /// `packs`: stages whose loops are derived.
  ParallelDecision(std::int32_t stage, const ParallelCores& cores, std::vector<std::int32_t> packs)
      : stage_(stage), cores_(cores), packs_(std::move(packs)) {}

  std::vector<std::int32_t> choices(const BuildState& at) const override {
    std::vector<std::int32_t> found;
    if (!is_asked(at.state)) {
      return found;
    }
    found.push_back(0);
    State state = at.state;
    std::int32_t number = 0;
    const bool is_legal = run(state, [&](const ParallelPlace& place) {
      ++number;
      const auto most = static_cast<std::int32_t>(place.most);
      for (std::int32_t count = 1; place.is_usual && count <= most; ++count) {
        const std::int32_t word =
            word_of(number, place, {place.usual.front(), count, false}, Mode::usual);
        if (word > 0 && number < most_places) {
          found.push_back(word);
        }
      }
      return ParallelLoops::usual(place);
    });
    return is_legal ? found : std::vector<std::int32_t>{};
  }
  std::vector<std::int32_t> draws(const BuildState& at) const override {
    return choices(at).empty() ? std::vector<std::int32_t>{} : std::vector<std::int32_t>{0};
  }
  bool apply(BuildState& to, std::int32_t value) const override {
    if (value < 0 || !is_asked(to.state)) {
      return value == not_asked;
    }
    const Mode mode = mode_of(value);
    value -= bits_of(mode);
    std::int32_t number = 0;
    const bool is_legal = run(to.state, [&](const ParallelPlace& place) {
      if (++number != (value & word_mask) >> number_shift) {
        return usual_loops(place, mode);
      }
      const std::int32_t word = value & word_mask;
      value >>= word_bits;
      return loops_of(word, place);
    });
    return is_legal && value == 0;
  }
  std::int32_t read(const BuildState& at, const StepCursor& steps) const override {
    if (!is_asked(at.state)) {
      return not_asked;
    }
    // Loops at a place where nobody would look for them only if that explains more steps.
    std::vector<std::pair<ParallelPlace, ParallelLoops>> found;
    std::size_t most_steps = 0;
    for (const bool is_exact : {true, false}) {
      State state = at.state;
      std::size_t next = 0;
      std::vector<std::pair<ParallelPlace, ParallelLoops>> places;
      const bool is_legal = run(state, [&](const ParallelPlace& place) {
        const ParallelLoops loops = read_loops(steps, place, is_exact, next);
        places.emplace_back(place, loops);
        return loops;
      });
      if (is_legal && (found.empty() || next > most_steps)) {
        found = std::move(places);
        most_steps = next;
      }
    }
    for (const Mode mode : {Mode::usual, Mode::outermost, Mode::everywhere}) {
      const std::int32_t room = mode == Mode::usual ? 3 * word_bits : 2 * word_bits;
      std::int32_t value = bits_of(mode), shift = 0, number = 0;
      for (const auto& [place, loops] : found) {
        const std::int32_t word = word_of(++number, place, loops, mode);
        value += word > 0 && shift < room ? word << shift : 0;
        shift += word > 0 ? word_bits : 0;
      }
      if (shift <= room && number < most_places) {
        return value;
      }
    }
    return 0;
  }

 private:
  enum class Mode : std::uint8_t { usual, outermost, everywhere };
  static constexpr std::int32_t alone = 14, absent = 15, most_places = 16;
  static constexpr std::int32_t word_bits = 10, word_mask = (1 << word_bits) - 1;
  static constexpr std::int32_t count_shift = 2, number_shift = 6;
  static constexpr std::int32_t outermost_bit = 1 << 30, everywhere_bit = 1 << 29;
  static constexpr std::int32_t offsets[4] = {0, 1, -1, 2};

  bool is_asked(const State& state) const {
    const auto& stage = state.stage(static_cast<std::size_t>(stage_));
    return stage.compute_at == ComputeAt::root && !stage.is_placeholder;
  }
  template <class Decide>
  bool run(State& state, const Decide& decide) const {
    return parallelize(state, stage_, cores_, [&](const ParallelPlace& place) {
      return has_item(packs_, place.stage) ? ParallelLoops{} : decide(place);
    });
  }

  static Mode mode_of(std::int32_t value) {
    return (value & outermost_bit) == 0    ? Mode::usual
           : (value & everywhere_bit) == 0 ? Mode::outermost
                                           : Mode::everywhere;
  }
  static std::int32_t bits_of(Mode mode) {
    return mode == Mode::usual       ? 0
           : mode == Mode::outermost ? outermost_bit
                                     : outermost_bit + everywhere_bit;
  }
  ParallelLoops usual_loops(ParallelPlace place, Mode mode) const {
    const bool is_outermost = place.stage == stage_ && place.usual.front() == 0;
    place.is_usual = mode == Mode::usual       ? place.is_usual
                     : mode == Mode::outermost ? is_outermost
                                               : true;
    return ParallelLoops::usual(place);
  }
  /// 0: the loops are the usual ones, or cannot be said.
  std::int32_t word_of(std::int32_t number, const ParallelPlace& place, const ParallelLoops& loops,
                       Mode mode) const {
    const ParallelLoops usual = usual_loops(place, mode);
    if (loops.count == usual.count && !loops.is_alone &&
        (loops.count == 0 || loops.first == usual.first)) {
      return 0;
    }
    const std::int32_t count = loops.count == 0 ? absent : loops.is_alone ? alone : loops.count;
    for (std::int32_t offset = 0; offset < 4; ++offset) {
      if (loops.count == 0 || usual.first + offsets[offset] == loops.first) {
        return (loops.count < alone) ? number << number_shift | count << count_shift | offset : 0;
      }
    }
    return 0;
  }
  static ParallelLoops loops_of(std::int32_t word, const ParallelPlace& place) {
    const std::int32_t count = word >> count_shift & 15;
    return {place.usual.front() + offsets[word & 3],
            count == absent  ? 0
            : count == alone ? 1
                             : count,
            count == alone};
  }

  /// The loops that the steps from `next` on make parallel at a place, if they are about it.
  static ParallelLoops read_loops(const StepCursor& steps, const ParallelPlace& place,
                                  bool is_exact, std::size_t& next) {
    const FuseStep* fuse = steps.peek_of<FuseStep>(place.stage, next);
    const std::size_t behind = next + (fuse != nullptr ? 1 : 0);
    const AnnotationStep* annotation = steps.peek_of<AnnotationStep>(place.stage, behind);
    const bool is_outermost = place.usual.front() == 0;
    if (annotation == nullptr || annotation->annotation != Annotation::parallel ||
        (annotation->iterator == 0) != is_outermost ||
        (is_exact && annotation->iterator != place.usual.front()) ||
        (fuse != nullptr &&
         (fuse->iterators.empty() || fuse->iterators.front() != annotation->iterator))) {
      return {};
    }
    next = behind + 1;
    const auto count =
        fuse != nullptr ? static_cast<std::int32_t>(fuse->iterators.size()) : std::int32_t{1};
    return {annotation->iterator, count, fuse != nullptr && count == 1};
  }

  std::int32_t stage_;
  ParallelCores cores_;
  std::vector<std::int32_t> packs_;
};

}  // namespace tensorsmith
