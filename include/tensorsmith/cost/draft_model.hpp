// draft_cycles: an estimate of a CPU program's time from its loops alone, before any measurement.
//
// Floor 6. Own design, in the spirit of a draft that prunes before the learned model looks closer
// (Pruner, ASPLOS 2025); traffic after the analytic models of Low et al. (TOMS 2016) and MOpt
// (ASPLOS 2021). Per stage:
//   core     arithmetic, loads and stores of one register tile as lower/shape_nest.hpp makes it,
//            whole tiles and tails apart; the start of every run of the reduction
//   caches   per level the bytes that must come from the next one: an operand is fetched anew
//            whenever more than the level holds was touched since
//   threads  the busiest one's share
// Not here: reading the state (draft_program.hpp), anything that measures or learns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/cost/draft_program.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

namespace detail {

/// What the target's data do not say; measured on AMD Zen 5, close on every large x86 core.
struct DraftRates {
  double loads_per_cycle = 2, stores_per_cycle = 1;
  std::array<double, 3> bytes_per_cycle = {62, 28, 10};   ///< into L1, L2, L3
  std::array<double, 3> way_bytes = {4096, 65536, 0};     ///< apart: same set; 0: spread by a hash
  double page_bytes = 4096, num_pages = 72, page_miss = 7;  ///< first translation buffer; cycles
  double usable_share = 0.8;  ///< of a cache: the rest holds what is just passing
  double hidden = 0.7;        ///< of the shorter of two costs that overlap
  double gather = 1.0;        ///< cycles per gathered or scattered element
  double call = 12;           ///< of one vector of exp, or a division
  double run_start = 24;      ///< filling and draining the pipeline, leaving a loop
  std::array<double, 3> latency = {14, 60, 300};  ///< cycles until a miss of L1, L2, L3 is there
};

/// What an access touches: `segments` stretches of `run` bytes that begin `stride` bytes apart.
struct DraftFootprint {
  double segments = 1, run = 0, stride = 0;

  double granules(double size) const {
    return stride < size ? larger_of(1.0, segments * stride / size)
                         : segments * larger_of(1.0, run / size + (run > size ? 0.5 : 0));
  }
  /// Room taken in a cache whose sets repeat every `way` bytes (a power of two; 0: never).
  double room(double line, double way) const {
    const auto low = [](double x) {
      const auto n = static_cast<std::int64_t>(x);
      return static_cast<double>(n & -n);
    };
    const double apart = way > 0 && stride > 0 && segments > 1 ? smaller_of(low(stride), way) : 0;
    return larger_of(granules(line) * line, segments * smaller_of(apart, stride));
  }
};

/// How the values of a tensor lie in memory: pieces of its dimensions, outermost first.
struct DraftPiece {
  std::size_t dimension = 0;
  double extent = 1;  ///< positions of the piece
  double block = 1;   ///< positions of the dimension that one position of the piece covers
};

class DraftEstimator {
 public:
  DraftEstimator(const State& state, const Target& target, std::int32_t num_threads)
      : state_(state), program_(state), target_(target), num_threads_(num_threads) {
    const CacheSizes& caches = target.caches;
    const auto bytes = [](std::optional<std::int64_t> size) {
      return static_cast<double>(size.value_or(0));
    };
    capacity_ = {bytes(caches.l1d_bytes), bytes(caches.l2_bytes),
                 bytes(num_threads > 1 ? caches.l3_share_bytes() : caches.l3_bytes)};
    for (std::size_t s = 0; s < state.num_stages(); ++s) {
      double size = 0;
      for (TensorId output : state.operation(s).outputs) {
        size += bytes_of_tensor(output);
      }
      const bool is_stored = state.stage(s).is_placeholder || program_.is_computed(s);
      working_set_ += is_stored && !program_.place(s) ? size : 0;
    }
    read_layouts();
  }

  double cycles() {
    double sum = 0;
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      sum += program_.is_computed(s) ? stage_cycles(s) : 0;
    }
    return sum;
  }

 private:
  /// The loops of one stage as they will run: around it, then its own with the register tile last.
  struct Nest {
    std::vector<DraftLoop> loops;
    std::size_t first_own = 0;
    std::size_t run_begin = 0, tile_begin = 0;  ///< innermost reductions; what is behind them
    bool has_vector = false;                    ///< the last loop is one
    bool is_promoted = false;                   ///< accumulators stay in registers
    bool is_scalar = false;                     ///< the vector loop has no constant extent
    double width = 1;                           ///< of the vector loop, at most four vectors
  };

  double bytes_of_tensor(TensorId id) const {
    const TensorInfo& info = state_.dag().tensor(id);
    double size = bytes_of(info.dtype);
    for (std::int64_t extent : info.shape) {
      size *= static_cast<double>(extent);
    }
    return size;
  }

  /// The last layout step of every stage; stages have moved since the step was made.
  void read_layouts() {
    const std::vector<Step>& steps = state_.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const StorageLayoutStep* layout = std::get_if<StorageLayoutStep>(&steps[i]);
      if (layout == nullptr) {
        continue;
      }
      std::int32_t stage = layout->stage;
      for (std::size_t later = i + 1; later < steps.size(); ++later) {
        const bool adds = std::holds_alternative<CacheReadStep>(steps[later]) ||
                          std::holds_alternative<CacheWriteStep>(steps[later]) ||
                          std::holds_alternative<RfactorStep>(steps[later]);
        const bool reads = std::holds_alternative<CacheReadStep>(steps[later]);
        const std::int32_t at = stage_of(steps[later]);
        stage += adds && (reads ? stage > at : stage > at) ? 1 : 0;
      }
      layouts_.resize(state_.num_stages(), nullptr);
      layouts_[static_cast<std::size_t>(stage)] = layout;
    }
  }

  bool has_attached(std::int32_t stage, std::int32_t iterator) const {
    return state_.attach_map().iterator_to_stages.contains(IteratorKey{stage, iterator});
  }

  double lanes_of(std::size_t stage) const {
    double widest = 1;
    for (const DraftAccess& access : program_.operation(stage).accesses) {
      widest =
          larger_of(widest, static_cast<double>(bytes_of(state_.dag().tensor(access.tensor).dtype)));
    }
    return larger_of(1.0, static_cast<double>(target_.vector_bits) / (8 * widest));
  }

  /// As lower/shape_nest.hpp: the last spatial loop becomes the vector loop, at most four vectors
  /// long; loops behind the last reduction that find no registers move in front of its run.
  Nest shape(std::size_t stage) const {
    Nest nest;
    nest.loops = program_.loops_around(stage);
    nest.first_own = nest.loops.size();
    for (const DraftLoop& loop : program_.own_loops(stage)) {
      nest.loops.push_back(loop);
    }
    std::vector<DraftLoop>& loops = nest.loops;
    nest.run_begin = nest.tile_begin = nest.first_own;
    if (loops.size() == nest.first_own) {
      return nest;
    }
    for (std::size_t i = nest.first_own; i < loops.size(); ++i) {
      nest.tile_begin = loops[i].is_reduction ? i + 1 : nest.tile_begin;
    }
    nest.run_begin = nest.tile_begin;
    while (nest.run_begin > nest.first_own && loops[nest.run_begin - 1].is_reduction) {
      --nest.run_begin;
    }
    const double lanes = lanes_of(stage);
    const DraftLoop& last = loops.back();
    nest.has_vector = nest.tile_begin < loops.size() && !last.is_parallel &&
                      !has_attached(last.stage, last.iterator);
    if (nest.has_vector) {
      double extent = 1;
      for (std::size_t i = loops.size(); i-- > nest.tile_begin;) {
        extent *= loops[i].extent;
        if (!loops[i].is_fused_inner) {
          break;
        }
      }
      nest.width = smaller_of(extent, 4 * lanes);
      if (loops.back().extent > nest.width) {
        DraftLoop inner = loops.back();
        inner.extent = nest.width;
        loops.back().extent /= nest.width;
        loops.back().is_cut = true;
        loops.push_back(inner);
      }
    }
    if (nest.run_begin == nest.tile_begin) {
      nest.run_begin = nest.tile_begin = loops.size() - (nest.has_vector ? 1 : 0);
      note_varying_tiles(nest);
      return nest;
    }
    fit_registers(nest, lanes, static_cast<double>(state_.operation(stage).outputs.size()));
    note_varying_tiles(nest);
    return nest;
  }

  /// A fused loop whose last iteration along an axis has less left than the others: unless a loop
  /// of the same stage stands between it and the tile, the extent of the tile varies. Then its
  /// accumulators stay in memory, and a vector loop is none.
  void note_varying_tiles(Nest& nest) const {
    const std::vector<DraftLoop>& loops = nest.loops;
    for (std::size_t d = nest.tile_begin; d < loops.size(); ++d) {
      std::size_t f = d;
      const auto is_ragged = [&](const DraftLoop& loop) {
        return loop.is_fused && (loop.moves & loops[d].moves) != 0 &&
               loop.extent - floor_of(loop.extent + 1e-6) > 1e-3;
      };
      while (f > 0 && !is_ragged(loops[f - 1])) {
        --f;
      }
      if (f == 0) {
        continue;
      }
      bool varies = true;
      for (std::size_t between = f; between < d; ++between) {
        const DraftLoop& loop = loops[between];
        varies = varies && !(loop.stage == loops[f - 1].stage && !loop.is_cut && loop.extent > 1 &&
                             (loop.moves & loops[d].moves) != 0);
      }
      nest.is_promoted = nest.is_promoted && !varies;
      nest.is_scalar = nest.is_scalar || (varies && nest.has_vector && d + 1 == loops.size());
    }
  }

  void fit_registers(Nest& nest, double lanes, double num_outputs) const {
    std::vector<DraftLoop>& loops = nest.loops;
    for (std::size_t i = nest.tile_begin; i < loops.size(); ++i) {
      if (has_attached(loops[i].stage, loops[i].iterator) || loops[i].is_parallel) {
        return;
      }
    }
    nest.is_promoted = true;
    const std::size_t end = loops.size() - (nest.has_vector ? 1 : 0);
    const double vectors = nest.has_vector ? whole(nest.width / lanes) : 1;
    const double registers = static_cast<double>(target_.num_vector_registers);
    const auto fits = [&](double rows) {
      return vectors * num_outputs * rows + vectors + 1 <= registers;
    };
    std::size_t first = end;
    double rows = 1;
    while (first > nest.tile_begin && fits(rows * whole(loops[first - 1].extent))) {
      rows *= whole(loops[--first].extent);
    }
    if (first == nest.tile_begin) {
      return;
    }
    DraftLoop& candidate = loops[first - 1];
    const auto extent = static_cast<std::int64_t>(whole(candidate.extent));
    for (std::int64_t inside = extent - 1; inside > 1; --inside) {
      const double part = static_cast<double>(inside);
      if (extent % inside == 0 && fits(rows * part)) {
        DraftLoop inner = candidate;
        inner.extent = part;
        candidate.extent /= part;
        loops.insert(loops.begin() + static_cast<std::ptrdiff_t>(first), inner);
        break;
      }
    }
    const std::vector<DraftLoop> run(loops.begin() + static_cast<std::ptrdiff_t>(nest.run_begin),
                                     loops.begin() + static_cast<std::ptrdiff_t>(nest.tile_begin));
    const std::size_t moved = first - nest.tile_begin;
    for (std::size_t i = 0; i < moved; ++i) {
      loops[nest.run_begin + i] = loops[nest.tile_begin + i];
    }
    for (std::size_t i = 0; i < run.size(); ++i) {
      loops[nest.run_begin + moved + i] = run[i];
    }
    nest.run_begin += moved;
    nest.tile_begin += moved;
  }

  /// Pieces of the tensor's storage. One that is computed inside other loops has only the region
  /// that they need.
  std::vector<DraftPiece> pieces_of(const DraftAccess& access) const {
    const TensorInfo& info = state_.dag().tensor(access.tensor);
    std::vector<double> extents(info.shape.begin(), info.shape.end());
    if (program_.place(info.operation)) {
      std::vector<double> region(extents.size(), 1.0);
      for (const DraftLoop& loop : program_.own_loops(info.operation)) {
        const std::size_t axis = DraftProgram::axis_index(loop.moves);
        if (loop.moves != 0 && axis < region.size()) {
          region[axis] *= loop.extent;
        }
      }
      for (std::size_t d = 0; d < extents.size(); ++d) {
        extents[d] = smaller_of(extents[d], region[d]);
      }
    }
    std::vector<DraftPiece> pieces;
    const StorageLayoutStep* layout =
        info.operation < layouts_.size() ? layouts_[info.operation] : nullptr;
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
      pieces.push_back({d, is_inner      ? block
                           : block > 0 ? whole(extents[d] / block)
                                         : extents[d],
                        is_inner || block == 0 ? 1 : block});
    }
    return pieces;
  }

  /// Elements between neighbours along `axis`; 0: they are the same element.
  double stride(const DraftOperation& op, const DraftAccess& access,
                const std::vector<DraftPiece>& pieces, std::size_t axis) const {
    double sum = 0, below = 1;
    for (std::size_t p = pieces.size(); p-- > 0;) {
      const double step = op.row(access, pieces[p].dimension)[axis];
      const bool is_outer_block = pieces[p].block > 1;  // its inner piece counts
      sum += is_outer_block ? 0 : step * below;
      below *= pieces[p].extent;
    }
    return sum;
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
      double width = 1;
      for (std::size_t a = 0; a < op.num_axes; ++a) {
        width += row[a] * (spans[a] - 1);
      }
      width = smaller_of(piece.extent, larger_of(1.0, whole(width / piece.block)));
      if (!is_contiguous && result.stride == 0 && width > 1) {
        result.stride = below;
      }
      (is_contiguous ? result.run : result.segments) *= width;
      is_contiguous = is_contiguous && width >= piece.extent;
      below *= piece.extent;
    }
    result.stride = result.stride == 0 ? result.run : result.stride;
    return result;
  }

  /// Whether the accumulators are loaded again for a later part of the reduction.
  static bool revisits_tile(const Nest& nest) {
    bool found = false;
    for (std::size_t d = nest.first_own; d < nest.run_begin; ++d) {
      found = found || (nest.loops[d].is_reduction && nest.loops[d].extent > 1);
    }
    return found && nest.run_begin < nest.tile_begin;
  }
  double lines_of_tile(std::size_t stage, const Nest& nest) const {
    double lines = nest.has_vector ? whole(nest.width / lanes_of(stage)) : 1;
    for (std::size_t d = nest.tile_begin; d + (nest.has_vector ? 1 : 0) < nest.loops.size(); ++d) {
      lines *= whole(nest.loops[d].extent);
    }
    return lines;
  }

  /// Cycles that one level waits for the next one, for each of L1, L2, L3 and the first
  /// translation buffer.
  std::array<double, 4> cache_cycles(std::size_t stage, const Nest& nest, double& waiting) const {
    const DraftOperation& op = program_.operation(stage);
    const std::size_t depth = nest.loops.size();
    const std::size_t count = op.accesses.size();
    // touched[i * (depth + 1) + d]: by access i while the loops from d inwards run once.
    std::vector<DraftFootprint> touched(count * (depth + 1));
    std::vector<double> spans(op.num_axes);
    for (std::size_t i = 0; i < count; ++i) {
      const DraftAccess& access = op.accesses[i];
      const std::vector<DraftPiece> pieces = pieces_of(access);
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
    double stored_lines = 0;  // of the output, missed at the level looked at last
    const auto cycles_of = [&](double room, double granule, double way, double each) {
      std::size_t fitting = 0;
      for (; fitting < depth; ++fitting) {
        double taken = 0;
        for (std::size_t i = 0; i < count; ++i) {
          taken += touched[i * (depth + 1) + fitting].room(granule, way);
        }
        if (taken <= room) {
          break;
        }
      }
      const std::size_t from = fitting > 0 ? fitting - 1 : 0;
      double outer = 1, granules = 0;
      for (std::size_t d = 0; d < from; ++d) {
        outer *= nest.loops[d].extent;
      }
      for (std::size_t i = 0; i < count; ++i) {
        const DraftFootprint* const own = touched.data() + i * (depth + 1);
        // A buffer of its own inside the loops stays where it is if it fits.
        const bool stays = own[0].room(granule, way) <= room / 2 &&
                           first_loop_inside(nest, op.accesses[i]) > 0;
        const double missed = stays ? 0 : own[from].granules(granule) * outer;
        granules += missed * (op.accesses[i].is_store ? 2 : 1);
        stored_lines = op.accesses[i].is_store ? missed : stored_lines;
      }
      return granules * each;
    };
    const bool is_revisited = revisits_tile(nest);
    const double tile_lines = larger_of(1.0, lines_of_tile(stage, nest));
    std::array<double, 4> cycles{};
    for (std::size_t level = 0; level < 3; ++level) {
      const double room = capacity_[level] * rates_.usable_share;
      if (room > 0 && working_set_ > room) {  // else unknown, or it all stays from call to call
        cycles[level] = cycles_of(room, line, rates_.way_bytes[level],
                                  line / rates_.bytes_per_cycle[level]);
        // A run of the reduction cannot begin before its accumulators are there.
        waiting += is_revisited ? stored_lines / tile_lines * rates_.latency[level] : 0;
      }
    }
    const double mapped = rates_.num_pages * rates_.page_bytes;
    if (working_set_ > mapped) {
      cycles[3] = cycles_of(mapped, rates_.page_bytes, 0, rates_.page_miss);
    }
    return cycles;
  }

  /// Loops outside of the place where a tensor is computed do not move its buffer.
  std::size_t first_loop_inside(const Nest& nest, const DraftAccess& access) const {
    const auto at = program_.place(state_.dag().tensor(access.tensor).operation);
    std::size_t first = 0;
    for (std::size_t d = 0; at && d < nest.loops.size(); ++d) {
      const DraftLoop& loop = nest.loops[d];
      first = loop.stage == at->stage && loop.iterator == at->iterator ? d + 1 : first;
    }
    return first;
  }

  struct TileLoop {
    std::size_t axis;
    double extent, whole_count, tail;  ///< tail: extent of the last, shorter one; 0: none
  };

  double core_cycles(std::size_t stage, const Nest& nest) const {
    const DraftOperation& op = program_.operation(stage);
    const double lanes = nest.is_scalar ? 1 : lanes_of(stage);
    const bool reduces = nest.run_begin < nest.tile_begin;
    double outer = 1, run = 1, reductions = 1;
    std::vector<double> region(op.num_axes, 1.0);
    for (std::size_t d = 0; d < nest.loops.size(); ++d) {
      const DraftLoop& loop = nest.loops[d];
      if (d < nest.first_own || loop.moves == 0) {
        outer *= loop.extent;
      } else if (loop.is_reduction) {
        reductions *= loop.extent;
        run *= d >= nest.run_begin && d < nest.tile_begin ? loop.extent : 1;
      } else {
        region[DraftProgram::axis_index(loop.moves)] *= loop.extent;
      }
    }
    std::vector<TileLoop> tile;
    AxisMask in_tile = 0;
    const std::size_t first = nest.is_promoted || !reduces
                                  ? nest.tile_begin
                                  : nest.loops.size() - (nest.has_vector ? 1 : 0);
    for (std::size_t d = first; d < nest.loops.size(); ++d) {
      const DraftLoop& loop = nest.loops[d];
      const std::size_t axis = DraftProgram::axis_index(loop.moves);
      if (loop.moves == 0 || (in_tile & loop.moves) != 0) {
        continue;
      }
      in_tile |= loop.moves;
      const double extent = whole(loop.extent);
      const double count = floor_of(region[axis] / extent + 1e-6);
      const double tail = region[axis] - count * extent;
      tile.push_back({axis, extent, count, tail > 1e-6 * extent ? whole(tail) : 0});
    }
    for (std::size_t a = 0; a < op.num_spatial; ++a) {
      outer *= (in_tile >> a & 1) != 0 ? 1 : region[a];
    }
    const std::size_t vector_axis =
        nest.has_vector ? DraftProgram::axis_index(nest.loops.back().moves) : op.num_axes;
    std::vector<double> strides;
    for (const DraftAccess& access : op.accesses) {
      strides.push_back(
          nest.has_vector ? stride(op, access, pieces_of(access), vector_axis) : 0.0);
    }
    double sum = 0;
    const std::size_t combinations = std::size_t{1} << tile.size();
    std::vector<double> extent(op.num_axes, 1.0);
    for (std::size_t tails = 0; tails < combinations; ++tails) {
      double count = 1, rows = 1;
      for (std::size_t t = 0; t < tile.size(); ++t) {
        const bool is_tail = (tails >> t & 1) != 0;
        extent[tile[t].axis] = is_tail ? tile[t].tail : tile[t].extent;
        count *= is_tail ? (tile[t].tail > 0 ? 1 : 0) : tile[t].whole_count;
        rows *= tile[t].axis == vector_axis ? 1 : extent[tile[t].axis];
      }
      if (count <= 0) {
        continue;
      }
      double width = 1;
      if (nest.has_vector) {
        width = nest.width < extent[vector_axis] ? extent[vector_axis] : nest.width;
        width = extent[vector_axis] < tile.back().extent ? extent[vector_axis] : width;
        count *= extent[vector_axis] / width;
      }
      const double vectors = nest.has_vector ? whole(width / lanes) : 1;
      double loads = 0, gathers = 0, stores = 0;
      for (std::size_t i = 0; i < op.accesses.size(); ++i) {
        double times = 1;
        for (const TileLoop& loop : tile) {
          const bool moves = (op.accesses[i].moved_by >> loop.axis & 1) != 0;
          times *= moves && loop.axis != vector_axis ? extent[loop.axis] : 1;
        }
        const double step = strides[i];
        if (nest.has_vector && step != 0 && step != 1) {
          gathers += times * width;
        } else {
          const double each = step == 0 ? 1 : vectors;
          (op.accesses[i].is_store ? stores : loads) += times * each;
        }
        if (op.accesses[i].is_store && reduces && nest.has_vector && step != 0 && step != 1) {
          gathers -= times * width;
          stores += times * width;
        }
      }
      const double fma = larger_of(1.0, reduces ? op.num_float_ops / 2 : op.num_float_ops);
      double step = rows * vectors *
                    (fma / target_.fma_per_cycle.value_or(2) + op.num_calls * rates_.call +
                     op.num_conditions * 2);
      const double memory = loads / rates_.loads_per_cycle + gathers * rates_.gather;
      if (!reduces) {
        step = larger_of(larger_of(step, memory), stores / rates_.stores_per_cycle) + 1;
        sum += count * step;
        continue;
      }
      step = larger_of(step, memory);
      step = larger_of(step, static_cast<double>(target_.fma_latency.value_or(4)));
      if (!nest.is_promoted) {
        step += rows * vectors * (1 + 1 / rates_.stores_per_cycle);
      }
      const double again = run < reductions ? stores / rates_.loads_per_cycle : 0;
      sum += count * (reductions * step + reductions / run *
                                              (rates_.run_start + again +
                                               stores / rates_.stores_per_cycle));
    }
    return sum * outer;
  }

  /// The busiest thread's share of the work.
  double share_of_busiest(const Nest& nest) const {
    double chunks = 1;
    for (const DraftLoop& loop : nest.loops) {
      chunks *= loop.is_parallel ? loop.extent : 1;
    }
    if (num_threads_ <= 1 || chunks <= 1) {
      return 1;
    }
    const double threads = static_cast<double>(num_threads_);
    return whole(whole(chunks) / threads) / whole(chunks);
  }

  double stage_cycles(std::size_t stage) const {
    const Nest nest = shape(stage);
    const double core = core_cycles(stage, nest);
    double waiting = 0;
    const std::array<double, 4> caches = cache_cycles(stage, nest, waiting);
    double sum = core + waiting, most = core + waiting;
    for (double cycles : caches) {
      sum += cycles;
      most = larger_of(most, cycles);
    }
    return (most + (1 - rates_.hidden) * (sum - most)) * share_of_busiest(nest);
  }

  static double floor_of(double x) { return static_cast<double>(static_cast<std::int64_t>(x)); }
  static double whole(double x) { return floor_of(x + 1 - 1e-6); }

  const State& state_;
  DraftProgram program_;
  const Target& target_;
  std::int32_t num_threads_;
  DraftRates rates_;
  std::array<double, 3> capacity_{};
  double working_set_ = 0;  ///< bytes of all tensors that outlive a call of their loops
  std::vector<const StorageLayoutStep*> layouts_;  ///< per stage; empty: none has one
};

}  // namespace detail

/// Cycles of one run, for comparing programs of one workload; bounds must be inferred.
inline double draft_cycles(const State& state, const Target& target, std::int32_t num_threads = 1) {
  return detail::DraftEstimator(state, target, num_threads).cycles();
}

}  // namespace tensorsmith
