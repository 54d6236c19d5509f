// SPDX-License-Identifier: Apache-2.0
// DraftTraffic: what an operand touches while some of the loops run, and what the caches must
// fetch.
//
// Floor 6. Own design after Low et al. (TOMS 2016) and MOpt (ASPLOS 2021): an operand is fetched
// anew whenever more than a cache holds was touched since its last use. Rows that lie a multiple of
// a cache's way apart share its sets; pages count like lines of a cache. Not here: where values
// lie (draft_storage.hpp), arithmetic (draft_model.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/cost/draft_nest.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/cost/draft_storage.hpp"
#include "tensorsmith/te/tensor_size.hpp"

namespace tensorsmith::detail {

class DraftTraffic {
 public:
  DraftTraffic(const DraftProgram& program, const Target& target, std::int32_t num_threads)
      : program_(program), state_(program.state()), storage_(program), target_(target),
        rates_(draft_rates(target)) {
    const CacheSizes& caches = target.caches;
    const auto bytes = [](std::optional<std::int64_t> size) {
      return static_cast<double>(size.value_or(0));
    };
    capacity_ = {bytes(caches.l1d_bytes), bytes(caches.l2_bytes),
                 bytes(num_threads > 1 ? caches.l3_share_bytes() : caches.l3_bytes)};
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      double size = 0;
      for (TensorId output : state_.operation(s).outputs) {
        size += bytes_of_tensor(state_.dag().tensor(output));
      }
      const bool is_stored = state_.stage(s).is_placeholder || program_.is_computed(s);
      const bool passes = program_.place(s) || state_.stage(s).hints.has<hints::StreamResult>();
      working_set_ += is_stored && !passes ? size : 0;
    }
  }

  const DraftStorage& storage() const { return storage_; }

  /// Cycles of waiting, by what is waited for.
  struct Waits {
    std::array<double, 5> levels{};  ///< L1, L2, L3, the two translation buffers
    std::array<double, 5> ahead{};   ///< the part of it that a prefetch asks for
    std::array<double, 5> late{};    ///< the part of that which it does not hide
    double tiles = 0;                ///< of runs of a reduction for their accumulators
  };

  /// `tile_lines`: of the accumulators of one register tile; 0 if they are not loaded again.
  /// `core`: cycles of the stage that wait for nothing.
  Waits waits(std::size_t stage, const DraftNest& nest, double tile_lines, double core) const {
    const DraftOperation& op = program_.operation(stage);
    const std::size_t depth = nest.loops.size();
    const std::size_t count = op.accesses.size();
    // touched[i * (depth + 1) + d]: by access i while the loops from d inwards run once.
    std::vector<DraftFootprint> touched(count * (depth + 1));
    std::vector<double> spans(op.num_axes);
    std::vector<std::size_t> met(count);
    for (std::size_t i = 0; i < count; ++i) {
      const DraftAccess& access = op.accesses[i];
      met[i] = access.is_store ? 0 : depth_of_reader_before(stage, nest, access.tensor);
      const std::size_t inside = first_loop_inside(nest, access);
      spans.assign(op.num_axes, 1.0);
      DraftFootprint* const own = touched.data() + i * (depth + 1);
      own[depth] = storage_.footprint(op, access, spans);
      for (std::size_t d = depth; d-- > 0;) {
        const AxisMask moves = d >= inside ? nest.loops[d].moves : 0;
        for (std::size_t a = 0; a < op.num_axes; ++a) {
          if ((moves >> a & 1) != 0) {
            spans[a] = smaller_of(spans[a] * nest.loops[d].extent, op.extents[a]);
          }
        }
        own[d] =
            (moves & access.moved_by) == 0 ? own[d + 1] : storage_.footprint(op, access, spans);
      }
    }
    const double line = static_cast<double>(target_.cache_line_bytes);
    const double room_of_block =
        capacity_[1] > 0 ? capacity_[1] * rates_.usable_share : math::infinity;
    double stored_lines = 0;     // of the output, missed at the level looked at last
    double ahead = 0, late = 0;  // cycles of that level for what is prefetched
    double blocks = 1;
    for (std::size_t d = 0; d < nest.block_begin(); ++d) {
      blocks *= nest.loops[d].extent;
    }
    const auto cycles_of = [&](double room, double granule, double way, double each, double first,
                               std::size_t level) {
      const bool from_memory = level == 2;
      const bool is_in_vain = from_memory && rates_.asked_of_memory > 0;  // to ask for it ahead
      std::size_t fitting = 0;
      for (; fitting < depth; ++fitting) {
        double taken = 0;
        for (std::size_t i = 0; i < count; ++i) {
          taken += op.accesses[i].is_streamed
                       ? 0
                       : touched[i * (depth + 1) + fitting].room(granule, way);
        }
        if (taken <= room) {
          break;
        }
      }
      const std::size_t from = fitting > 0 ? fitting - 1 : 0;
      double outer = 1, cycles = 0;
      ahead = late = 0;
      for (std::size_t d = 0; d < from; ++d) {
        outer *= nest.loops[d].extent;
      }
      for (std::size_t i = 0; i < count; ++i) {
        const DraftFootprint* const own = touched.data() + i * (depth + 1);
        // A buffer of its own inside the loops stays where it is if it fits, and so does what
        // another stage has read in the same iteration of the loops that both are in.
        const bool stays = (own[0].room(granule, way) <= room / 2 &&
                            first_loop_inside(nest, op.accesses[i]) > 0) ||
                           (met[i] > 0 && fitting <= met[i]);
        std::size_t begin = from;  // it may drive out itself, in loops where all would fit
        double times = outer;
        const std::size_t end =
            op.accesses[i].is_store && nest.is_promoted ? nest.run_begin : depth;
        for (std::size_t d = fitting > 1 ? fitting : 1;
             d < end && own[d].room_of_its_sets(granule, way) > room; ++d) {
          times *= nest.loops[d - 1].extent;
          begin = d;
        }
        const double missed = stays ? 0 : own[begin].granules(granule) * times;
        const bool is_prefetched = op.accesses[i].lines_ahead > 0 && !is_in_vain;
        const DraftFootprint& run = own[nest.run_begin];
        // A block that does not fit beside the one in use has gone again when it is wanted; from
        // the second cache on it comes as slowly as if nobody had asked for it.
        const bool is_lost =
            op.accesses[i].is_block_ahead &&
            2 * own[nest.block_begin()].room(granule, way) > smaller_of(room, room_of_block);
        const bool is_tracked =
            !from_memory || run.segments <= rates_.tracked || run.stride <= granule;
        const bool is_swept = from_memory && is_tracked && rates_.stream_start > 0;
        const DraftFootprint& stretch = is_swept ? swept(own, nest) : run;
        const double start = from_memory && stretch.run > granule ? rates_.stream_start : 0;
        // What a prefetch asks for behind the end of a stretch is not wanted before it has gone,
        // and nothing is hidden if all stretches together are asked for too far ahead.
        double in_vain = 0, in_time = 1;
        if (is_prefetched && !op.accesses[i].is_block_ahead && granule > line) {
          // A line ahead is on the next page in time, unless a stretch begins there.
          const double pages = swept(own, nest).run / granule;
          in_time = pages > 1 ? 1 - 1 / (pages + 0.5) : 0;
        } else if (is_prefetched && !op.accesses[i].is_block_ahead) {
          const double lines_ahead = op.accesses[i].lines_ahead;
          const double stretch_lines = larger_of(1.0, swept(own, nest).run / line);
          in_vain = smaller_of(1.0, lines_ahead / stretch_lines);
          in_time = lines_ahead * line * run.segments > room ? 0 : 1 - in_vain;
        }
        double stretches = 0;
        if ((is_prefetched && !is_lost) || stays) {
          stretches = 0;
        } else if (!is_tracked || start > 0) {  // what is not tracked begins anew in every run
          stretches = missed / stretch.granules(granule) * run.segments;
        } else if (own[from].stride > granule) {
          stretches = own[from].segments * outer;
        }
        const int ways = op.accesses[i].is_streamed ? 0 : op.accesses[i].is_store ? 2 : 1;
        if (level == 0) {
          cycles += missed / run.granules(line) * run.segments * ways *
                    spread(own, nest).wait_for_sets(line, way, capacity_[0], rates_.same_set, each);
        }
        double rate = each;
        if (op.accesses[i].is_block_ahead) {
          rate *= is_in_vain ? rates_.asked_of_memory : rates_.in_order;
        }
        if (from_memory && is_tracked && (run.segments > 1 || own[from].segments > 1)) {
          const double times_best = run.segments / rates_.best_streams;
          rate *= 1 + rates_.stream_slope * (larger_of(times_best, 1 / times_best) - 1);
        }
        const double runs =
            op.accesses[i].is_block_ahead ? nest.runs_per_block(op.accesses[i].moved_by) : 1;
        cycles += (missed * rate * (is_lost ? 1 + 1 / runs : 1 + in_vain) +
                   stretches * larger_of(first, start)) *
                  ways;
        if (is_prefetched && !is_lost) {
          ahead += missed * rate * in_time;
          double share_late = (1 - rates_.hidden_ahead) / runs;
          if (op.accesses[i].is_block_ahead && rates_.block_lead > 0 && granule <= line &&
              is_tracked) {
            // It comes while the block before it is worked on, or comes from memory.
            const double lead =
                larger_of(core, own[0].granules(line) * line / rates_.bytes_per_cycle[2]) / blocks;
            share_late = smaller_of(1.0, rates_.block_lead / lead);
          }
          late += missed * rate * in_time * share_late;
        }
        stored_lines = op.accesses[i].is_store ? missed : stored_lines;
      }
      return cycles;
    };
    Waits waits;
    for (std::size_t level = 0; level < 3; ++level) {
      const double room = capacity_[level] * rates_.usable_share;
      if (room > 0 && working_set_ > room) {  // else unknown, or it all stays from call to call
        waits.levels[level] =
            cycles_of(room, line, rates_.way_bytes[level], line / rates_.bytes_per_cycle[level],
                      rates_.latency[level] / rates_.streams, level);
        waits.ahead[level] = ahead;
        waits.late[level] = late;
        // A run of the reduction cannot begin before its accumulators are there.
        waits.tiles += tile_lines > 0 ? stored_lines / tile_lines * rates_.latency[level] : 0;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (op.accesses[i].is_streamed) {  // to memory, and back if the tile is loaded again
        waits.levels[2] += touched[i * (depth + 1)].granules(line) * line /
                           rates_.bytes_per_cycle[2] * (tile_lines > 0 ? 8 : 1);
      }
    }
    for (std::size_t level = 0; level < 2; ++level) {
      const double mapped = rates_.num_pages[level] * rates_.page_bytes;
      if (working_set_ > mapped) {
        waits.levels[3 + level] =
            cycles_of(mapped, rates_.page_bytes, 0, rates_.page_miss[level], 0, 3 + level);
        waits.ahead[3 + level] = ahead;
        waits.late[3 + level] = late;
      }
    }
    return waits;
  }

 private:
  /// What a run touches with as many loops around it as `goes_on(loop, run)` holds for, which are
  /// asked for what they touch; `own`: see waits().
  template <class GoesOn>
  static const DraftFootprint& around_run(const DraftFootprint* own, const DraftNest& nest,
                                          const GoesOn& goes_on) {
    std::size_t d = nest.run_begin;
    while (d > 0 && goes_on(own[d - 1], own[nest.run_begin])) {
      --d;
    }
    return own[d];
  }
  /// What the loops around a run read on in the same stretches.
  static const DraftFootprint& swept(const DraftFootprint* own, const DraftNest& nest) {
    return around_run(own, nest, [](const DraftFootprint& loop, const DraftFootprint& run) {
      return loop.segments <= run.segments;
    });
  }
  /// What they touch before they go on in its stretches.
  static const DraftFootprint& spread(const DraftFootprint* own, const DraftNest& nest) {
    return around_run(own, nest, [](const DraftFootprint& loop, const DraftFootprint& run) {
      return loop.run <= run.run;
    });
  }

  bool reads(std::size_t stage, TensorId tensor) const {
    bool found = false;
    for (const DraftAccess& access : program_.operation(stage).accesses) {
      found = found || (!access.is_store && access.tensor == tensor);
    }
    return found;
  }

  /// How many of the nest's loops `stage` shares with a stage that runs before it in them and reads
  /// the same tensor; 0: there is none.
  std::size_t depth_of_reader_before(std::size_t stage, const DraftNest& nest,
                                     TensorId tensor) const {
    const std::optional<IteratorKey> own = program_.place(stage);
    std::size_t depth = 0;
    for (const auto& [other, at] : state_.attach_map().stage_to_iterator) {
      const auto index = static_cast<std::size_t>(other);
      const bool is_before =
          static_cast<std::size_t>(at.stage) == stage || (own && *own == at && index < stage);
      if (is_before && reads(index, tensor)) {
        depth = larger_of(depth, depth_of(nest, at));
      }
    }
    return depth;
  }

  /// Loops of the nest down to that one; 0: it is not among them.
  static std::size_t depth_of(const DraftNest& nest, const IteratorKey& at) {
    std::size_t depth = 0;
    for (std::size_t d = 0; d < nest.loops.size(); ++d) {
      const DraftLoop& loop = nest.loops[d];
      depth = loop.stage == at.stage && loop.iterator == at.iterator ? d + 1 : depth;
    }
    return depth;
  }

  /// Loops outside of the place where a tensor is computed do not move its buffer.
  std::size_t first_loop_inside(const DraftNest& nest, const DraftAccess& access) const {
    const auto at = program_.place(state_.dag().tensor(access.tensor).operation);
    return at ? depth_of(nest, *at) : 0;
  }

  const DraftProgram& program_;
  const State& state_;
  DraftStorage storage_;
  const Target& target_;
  CoreRates rates_;
  std::array<double, 3> capacity_{};
  double working_set_ = 0;  ///< bytes of all tensors that outlive a call of their loops
};

}  // namespace tensorsmith::detail
