// SPDX-License-Identifier: Apache-2.0
// DraftTraffic: what an operand touches while some of the loops run, and what the caches must
// fetch.
//
// Floor 6. Own design after Low et al. (TOMS 2016) and MOpt (ASPLOS 2021): an operand is fetched
// anew whenever more than a cache holds was touched since its last use. Rows that lie a multiple of
// a cache's way apart share its sets; pages count like lines of a cache. Aware of storage layouts.
// Not here: arithmetic (draft_model.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/cost/draft_footprint.hpp"
#include "tensorsmith/cost/draft_nest.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/te/tensor_size.hpp"

namespace tensorsmith::detail {

class DraftTraffic {
 public:
  DraftTraffic(const DraftProgram& program, const Target& target, std::int32_t num_threads)
      : program_(program), state_(program.state()), target_(target), rates_(draft_rates(target)) {
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
    layouts_ = storage_layouts(state_);
    std::vector<bool> is_known(state_.dag().tensors().size(), false);
    pieces_.resize(is_known.size());
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      for (const DraftAccess& access : program_.operation(s).accesses) {
        const std::size_t tensor = access.tensor.value;
        if (!is_known[tensor]) {
          is_known[tensor] = true;
          pieces_[tensor] = read_pieces(access.tensor);
        }
      }
    }
  }

  /// Pieces of the tensor's storage. One that is computed inside other loops has only the region
  /// that they need.
  const std::vector<DraftPiece>& pieces_of(const DraftAccess& access) const {
    return pieces_[access.tensor.value];
  }

  /// Elements between neighbours along `axis`; 0: they are the same element.
  double stride(const DraftOperation& op, const DraftAccess& access,
                const std::vector<DraftPiece>& pieces, std::size_t axis) const {
    double sum = 0, below = 1;
    for (std::size_t p = pieces.size(); p-- > 0;) {
      double step = op.row(access, pieces[p].dimension)[axis];
      step = (op.collapsed >> axis & 1) != 0 && step < 1 ? 0 : step;  // its rows follow each other
      const bool is_outer_block = pieces[p].block > 1;                // its inner piece counts
      sum += is_outer_block ? 0 : step * below;
      below *= pieces[p].extent + pieces[p].pad;
    }
    return sum;
  }

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
    for (std::size_t i = 0; i < count; ++i) {
      const DraftAccess& access = op.accesses[i];
      const std::vector<DraftPiece>& pieces = pieces_of(access);
      const std::size_t inside = first_loop_inside(nest, access);
      spans.assign(op.num_axes, 1.0);
      DraftFootprint* const own = touched.data() + i * (depth + 1);
      own[depth] = footprint(op, access, pieces, spans);
      for (std::size_t d = depth; d-- > 0;) {
        const AxisMask moves = d >= inside ? nest.loops[d].moves : 0;
        for (std::size_t a = 0; a < op.num_axes; ++a) {
          if ((moves >> a & 1) != 0) {
            spans[a] = smaller_of(spans[a] * nest.loops[d].extent, op.extents[a]);
          }
        }
        own[d] = (moves & access.moved_by) == 0 ? own[d + 1] : footprint(op, access, pieces, spans);
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
                               bool from_memory) {
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
        // A buffer of its own inside the loops stays where it is if it fits.
        const bool stays =
            own[0].room(granule, way) <= room / 2 && first_loop_inside(nest, op.accesses[i]) > 0;
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
        double stretches = 0;
        if ((is_prefetched && !is_lost) || stays) {
          stretches = 0;
        } else if (!is_tracked || start > 0) {  // what is not tracked begins anew in every run
          stretches = missed / stretch.granules(granule) * run.segments;
        } else if (own[from].stride > granule) {
          stretches = own[from].segments * outer;
        }
        const int ways = op.accesses[i].is_streamed ? 0 : op.accesses[i].is_store ? 2 : 1;
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
        cycles +=
            (missed * rate * (is_lost ? 1 + 1 / runs : 1) + stretches * larger_of(first, start)) *
            ways;
        if (is_prefetched && !is_lost) {
          ahead += missed * rate;
          double share_late = (1 - rates_.hidden_ahead) / runs;
          if (op.accesses[i].is_block_ahead && rates_.block_lead > 0 && granule <= line &&
              is_tracked) {
            // It comes while the block before it is worked on, or comes from memory.
            const double lead =
                larger_of(core, own[0].granules(line) * line / rates_.bytes_per_cycle[2]) / blocks;
            share_late = smaller_of(1.0, rates_.block_lead / lead);
          }
          late += missed * rate * share_late;
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
                      rates_.latency[level] / rates_.streams, level == 2);
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
            cycles_of(mapped, rates_.page_bytes, 0, rates_.page_miss[level], 0, false);
        waits.ahead[3 + level] = ahead;
        waits.late[3 + level] = late;
      }
    }
    return waits;
  }

 private:
  /// What the loops around a run read on in the same stretches; `own`: see waits().
  static const DraftFootprint& swept(const DraftFootprint* own, const DraftNest& nest) {
    std::size_t d = nest.run_begin;
    while (d > 0 && own[d - 1].segments <= own[nest.run_begin].segments) {
      --d;
    }
    return own[d];
  }

  std::vector<DraftPiece> read_pieces(TensorId tensor) const {
    const TensorInfo& info = state_.dag().tensor(tensor);
    std::vector<double> extents(info.shape.begin(), info.shape.end());
    if (program_.place(info.operation)) {
      std::vector<double> region(extents.size(), 1.0);
      for (const DraftLoop& loop : program_.own_loops(info.operation)) {
        const std::size_t axis = DraftProgram::axis_index(loop.moves);
        if (loop.moves != 0 && axis < region.size()) {
          region[axis] *= loop.extent;
        }
      }
      const AxisMask collapsed = program_.operation(info.operation).collapsed;
      for (std::size_t d = extents.size(); d-- > 1;) {  // one loop runs along several dimensions
        if ((collapsed >> d & 1) != 0) {
          for (std::size_t a = d; a > 0 && region[a] > extents[a]; --a) {
            region[a - 1] *= whole(region[a] / extents[a]);
            region[a] = extents[a];
          }
        }
      }
      for (std::size_t d = 0; d < extents.size(); ++d) {
        extents[d] = smaller_of(extents[d], region[d]);
      }
    }
    std::vector<DraftPiece> pieces;
    const StorageLayoutStep* layout = layouts_[info.operation];
    if (layout == nullptr) {
      for (std::size_t d = 0; d < extents.size(); ++d) {
        pieces.push_back({d, extents[d], 1});
      }
      return pieces;
    }
    for (std::int32_t entry : layout->order) {
      const auto d = static_cast<std::size_t>(entry / 2);
      const double block = static_cast<double>(layout->blocks[d]);
      const bool is_inner = entry % 2 == 1;
      pieces.push_back({d,
                        is_inner    ? block
                        : block > 0 ? whole(extents[d] / block)
                                    : extents[d],
                        is_inner || block == 0 ? 1 : block});
    }
    pieces.back().pad = static_cast<double>(layout->pad_elements);
    return pieces;
  }

  /// What an access touches when axis a runs over spans[a] positions.
  DraftFootprint footprint(const DraftOperation& op, const DraftAccess& access,
                           const std::vector<DraftPiece>& pieces,
                           const std::vector<double>& spans) const {
    DraftFootprint result;
    double below = bytes_of(state_.dag().tensor(access.tensor).dtype);
    result.run = below;
    bool is_contiguous = true;
    for (std::size_t p = pieces.size(); p-- > 0;) {
      const DraftPiece& piece = pieces[p];
      const double* row = op.row(access, piece.dimension);
      double width = 1, of_run = 0;
      for (std::size_t a = 0; a < op.num_axes; ++a) {
        // Five pixels in a run through rows of seven are five, not two times five.
        const bool is_outer_of_run = (op.collapsed >> a & 1) != 0 && row[a] < 1;
        (is_outer_of_run ? of_run : width) +=
            is_outer_of_run ? larger_of(0.0, row[a] * spans[a] - 1) : row[a] * (spans[a] - 1);
      }
      width = smaller_of(piece.extent, larger_of(1.0, whole(width / piece.block)) + of_run);
      if (!is_contiguous && result.stride == 0 && width > 1) {
        result.stride = below;
      }
      (is_contiguous ? result.run : result.segments) *= width;
      is_contiguous = is_contiguous && width >= piece.extent + piece.pad;
      below *= piece.extent + piece.pad;
    }
    result.stride = result.stride == 0 ? result.run : result.stride;
    return result;
  }

  /// Loops outside of the place where a tensor is computed do not move its buffer.
  std::size_t first_loop_inside(const DraftNest& nest, const DraftAccess& access) const {
    const auto at = program_.place(state_.dag().tensor(access.tensor).operation);
    std::size_t first = 0;
    for (std::size_t d = 0; at && d < nest.loops.size(); ++d) {
      const DraftLoop& loop = nest.loops[d];
      first = loop.stage == at->stage && loop.iterator == at->iterator ? d + 1 : first;
    }
    return first;
  }

  const DraftProgram& program_;
  const State& state_;
  const Target& target_;
  CoreRates rates_;
  std::array<double, 3> capacity_{};
  double working_set_ = 0;  ///< bytes of all tensors that outlive a call of their loops
  std::vector<const StorageLayoutStep*> layouts_;  ///< per stage; empty: none has one
  std::vector<std::vector<DraftPiece>> pieces_;    ///< per tensor
};

}  // namespace tensorsmith::detail
