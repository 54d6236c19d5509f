// GpuWorkReader: counts the work of a kernel from its loops.
//
// Floor 6. Own design. A kernel is a nest of block loops around thread loops around the body of one
// thread (docs/gpu.md). One walk gives the instructions of a warp, its accesses with the addresses
// of a real warp, registers, and the longest chain of waiting.
//     unrolled and vectorized loops: iterations that read the same element read it once
//     serial loops:                  every iteration does everything
// Not here: how long that takes (gpu_latency.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/cost/gpu_access.hpp"
#include "tensorsmith/cost/gpu_footprint.hpp"
#include "tensorsmith/cost/gpu_operations.hpp"
#include "tensorsmith/cost/gpu_tensor_tile.hpp"
#include "tensorsmith/cost/gpu_work.hpp"

namespace tensorsmith::detail {

class GpuWorkReader {
 public:
  GpuWorkReader(const LoopProgram& program, const GpuLimits& gpu, const GpuDelays& delays)
      : program_(program), gpu_(gpu), delays_(delays), lanes_(program.pool), footprint_(program) {}

  /// `kernel`: a statement of the top level. To be called once.
  GpuWork read(StmtId kernel) {
    find_threads(kernel);
    mask_ = threads_.set_warp(0, lanes_);
    const Path path = walk(kernel);
    work_.path_clocks = larger_of(path.instructions, path.clocks);
    fit_registers();
    work_.blocks_per_sm =
        gpu_blocks_per_sm(gpu_, work_.num_threads, work_.shared_bytes, work_.registers);
    const std::int64_t at_once =
        larger_of<std::int64_t>(1, work_.blocks_per_sm) * (gpu_.board ? gpu_.board->num_sms : 1);
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      GpuTraffic& traffic = work_.traffic[i];
      traffic.wave_bytes = footprint_.of_blocks(accesses_[i], at_once);
      traffic.grid_bytes = footprint_.of_blocks(accesses_[i], work_.num_blocks);
    }
    return std::move(work_);
  }

 private:
  static constexpr int base_registers = 24;  // addresses, counters: a guess
  static constexpr double unrolled_by_compiler = 4;

  /// Of one execution of a statement by one warp.
  struct Path {
    double instructions = 0;
    double clocks = 0;        ///< if nothing else runs
    bool has_serial = false;  ///< loops that stay loops, so that outer unrolling copies them
    bool has_barrier = false;
  };
  /// A statement under all loops around it.
  struct Place {
    std::size_t first_expanded = 0;  ///< open loops from here on are expanded
    double times = 1;                ///< of the ones before
  };

  static bool is_expanded(ForKind kind) {
    return kind == ForKind::unrolled || kind == ForKind::vectorized;
  }
  std::int64_t extent_of(const For& loop) {
    const auto range = range_of(program_.pool, extents_, loop.extent);
    return range && range->max > 0 ? range->max : 1;
  }

  void find_threads(StmtId id) {
    if (const Seq* seq = program_.as<Seq>(id)) {
      for (const StmtId item : seq->items) {
        find_threads(item);
      }
    } else if (const Alloc* alloc = program_.as<Alloc>(id)) {
      find_threads(alloc->body);
    } else if (const For* loop = program_.as<For>(id)) {
      if (!is_block_loop(loop->kind) && !is_thread_loop(loop->kind)) {
        return;  // no thread loop stands inside a loop of the body
      }
      const GpuLoop found{loop->var, extent_of(*loop), loop->kind};
      extents_.set(loop->var, found.extent);
      threads_.add(found.kind, found.var, found.extent);
      footprint_.add(found);
      (is_thread_loop(loop->kind) ? work_.num_threads : work_.num_blocks) *= found.extent;
      find_threads(loop->body);
    }
  }

  Path walk(StmtId id) {
    return std::visit(Overloaded{[&](const Seq& seq) { return walk_seq(seq); },
                                 [&](const For& loop) { return walk_for(loop); },
                                 [&](const Store& store) { return walk_store(store); },
                                 [&](const If& branch) { return walk_if(branch); },
                                 [&](const Alloc& alloc) { return walk_alloc(alloc); },
                                 [&](const Barrier& barrier) {
                                   if (barrier.scope == Scope::warp) {  // shuffles wait
                                     return Path{0, 0, false, true};
                                   }
                                   work_.instructions += all_times();
                                   return Path{1, delays_.barrier, false, true};
                                 },
                                 [](const Prefetch&) {
                                   return Path{1, 1};
                                 }},
                      program_[id]);
  }

  /// Between two barriers what one statement waits for, the next one need not wait for again.
  Path walk_seq(const Seq& seq) {
    Path sum, phase;
    const auto end_phase = [&] {
      sum.clocks += larger_of(phase.instructions, phase.clocks);
      sum.instructions += phase.instructions;
      phase = Path{};
    };
    for (const StmtId item : seq.items) {
      const Path path = walk(item);
      sum.has_serial = sum.has_serial || path.has_serial;
      sum.has_barrier = sum.has_barrier || path.has_barrier;
      if (path.has_barrier) {
        end_phase();
        sum.clocks += path.clocks;
        sum.instructions += path.instructions;
      } else {
        phase.instructions += path.instructions;
        phase.clocks = larger_of(phase.clocks, path.clocks);
      }
    }
    end_phase();
    return sum;
  }

  Path walk_for(const For& loop) {
    if (is_block_loop(loop.kind) || is_thread_loop(loop.kind)) {
      return walk(loop.body);
    }
    const std::int64_t extent = extent_of(loop);
    if (const auto tile = gpu_tensor_tile(program_, loop)) {
      const double executed = all_times();
      work_.instructions += tile->instructions * executed;
      work_.tensor += tile->products * executed;
      accumulations_ += tile->accumulators * executed;
      work_.shared_passes += tile->shared_passes * executed;
      operands_ = larger_of(operands_, tile->registers);
      return {tile->instructions, delays_.shared + delays_.tensor, true, false};
    }
    const For* inner = loop.load_sets > 1 ? program_.as<For>(loop.body) : nullptr;
    if (const auto tile = inner != nullptr ? gpu_tensor_tile(program_, *inner) : std::nullopt) {
      // Those of one step are counted with the instruction.
      kept_bytes_ +=
          4 * larger_of(0.0, loop.load_sets * tile->fragment_registers - tile->registers);
    }
    const double times = static_cast<double>(extent);
    const bool expands = is_expanded(loop.kind);
    extents_.set(loop.var, extent);
    open_.push_back({loop.var, extent, loop.kind});
    footprint_.add(open_.back());
    Path path = walk(loop.body);
    open_.pop_back();
    if (expands && !path.has_serial) {
      return path;  // counted with what is inside
    }
    const double overlapping = path.has_barrier ? times : math::ceil(times / unrolled_by_compiler);
    if (!expands) {
      work_.instructions += 3 * all_times() * times;  // count, compare, branch
      path.instructions += 3;
    }
    path.instructions *= times;
    // Operands that are loaded ahead are waited for once.
    const double saved = loop.load_sets > 1 ? delays_.shared * (overlapping - 1) : 0;
    path.clocks = larger_of(path.instructions, path.clocks * overlapping - saved);
    path.has_serial = true;
    return path;
  }

  Path walk_alloc(const Alloc& alloc) {
    const Buffer& buffer = program_[alloc.buffer];
    if (buffer.scope == Scope::shared) {
      work_.shared_bytes += buffer.num_bytes();
    } else if (buffer.scope == Scope::warp) {
      kept_bytes_ += static_cast<double>(buffer.num_bytes() / work_.num_threads);
    } else if (buffer.scope != Scope::global) {
      kept_bytes_ += static_cast<double>(buffer.num_bytes());
    }
    return walk(alloc.body);
  }

  Path walk_if(const If& branch);  // gpu_work_branches.hpp
  bool is_uniform(ExprId id) const;

  Place place() const {
    Place place{open_.size(), 1};
    while (place.first_expanded > 0 && is_expanded(open_[place.first_expanded - 1].kind)) {
      --place.first_expanded;
    }
    for (std::size_t i = 0; i < place.first_expanded; ++i) {
      place.times *= static_cast<double>(open_[i].extent);
    }
    return place;
  }
  /// Of a statement at this place, by the average warp.
  double all_times() const {
    const Place here = place();
    return here.times * iterations(here) * weight_;
  }
  /// Of the expanded loops from `place` on.
  double iterations(const Place& place) const {
    double product = 1;
    for (std::size_t i = place.first_expanded; i < open_.size(); ++i) {
      product *= static_cast<double>(open_[i].extent);
    }
    return product;
  }

  Path walk_store(const Store& store) {
    const Place here = place();
    const double copies = iterations(here);
    Path path;
    GpuOperations counts;
    double operands = 0;
    count_operations(program_.pool, store.value, counts);
    const double stretches =
        is_background_copy(store)
            ? larger_of<double>(1, static_cast<double>(program_[store.buffer].shape.front() - 1))
            : 1;
    for (const ExprId id : counts.loads) {
      const Load* load = program_.pool.as<Load>(id);
      operands += access(load->buffer, load->indices, false, here, path, stretches);
    }
    path.instructions += counts.total() * copies;
    access(store.buffer, store.indices, true, here, path);
    operands_ = larger_of(operands_, smaller_of(operands, 32.0));
    const double each = copies * here.times * weight_;
    work_.instructions += counts.total() * each;
    work_.f32 += counts.f32 * each;
    work_.f64 += counts.f64 * each;
    work_.integer += counts.integer * each;
    work_.special += counts.special * each;
    path.clocks += larger_of(path.instructions, counts.total() > 0 ? delays_.arithmetic : 0.0);
    return path;
  }

  bool is_background_copy(const Store& store);  // gpu_work_branches.hpp
  double shuffle(const Buffer& buffer, bool is_store, const Place& here, Path& path);

  /// Returns the registers that take what is loaded.
  /// `stretches` between barriers pass until it is waited for.
  double access(BufferId id, const ExprList& indices, bool is_store, const Place& here, Path& path,
                double stretches = 1) {
    const Buffer& buffer = program_[id];
    if (buffer.scope == Scope::register_) {
      return 0;
    }
    if (buffer.scope == Scope::warp) {
      return shuffle(buffer, is_store, here, path);
    }
    const GpuIndices access{id, &indices, footprint_.dependences(indices)};
    const double times = here.times * weight_;
    if (buffer.scope == Scope::local) {
      bool is_array = false;
      for (std::size_t i = 0; i < here.first_expanded; ++i) {
        is_array = is_array || footprint_.depends(access, open_[i].var);
      }
      if (is_array) {  // indexed by what is no constant: it lies in memory, lane beside lane
        leave_registers(id);
        const double count = iterations(here);
        path.instructions += count;
        path.clocks = larger_of(path.clocks, is_store ? 0 : delays_.shared);
        work_.instructions += count * times;
        work_.global_passes += count * times * larger_of(1.0, bytes_of(buffer.dtype) / 4.0);
      }
      return 0;
    }
    // What the warp does once serves all expanded iterations with the same address.
    double count = 1;
    const GpuLoop* neighbours = nullptr;
    const Lanes addresses = lanes_.addresses(buffer, indices);
    for (std::size_t i = open_.size(); i-- > here.first_expanded;) {
      const GpuLoop& open = open_[i];
      const bool varies = footprint_.depends(access, open.var);
      count *= varies || is_store ? static_cast<double>(open.extent) : 1;
      if (varies && neighbours == nullptr && open.extent % 2 == 0) {
        lanes_.set(open.var, 1);
        const Lanes next = lanes_.addresses(buffer, indices);
        lanes_.set(open.var, 0);
        neighbours = next[0] - addresses[0] == bytes_of(buffer.dtype) ? &open : nullptr;
      }
    }
    std::int64_t width = bytes_of(buffer.dtype);
    if (neighbours != nullptr &&
        (neighbours->kind == ForKind::vectorized || buffer.scope == Scope::shared)) {
      const std::int64_t most = neighbours->extent * width;
      for (const std::int64_t wide : {std::int64_t{16}, std::int64_t{8}, std::int64_t{4}}) {
        if (wide > width && most % wide == 0 && are_aligned(addresses, wide, mask_)) {
          count /= static_cast<double>(wide / width);
          width = wide;
          break;
        }
      }
    }
    const double loaded = count * static_cast<double>(larger_of<std::int64_t>(width, 4)) / 4;
    path.instructions += count;
    work_.instructions += count * times;
    if (buffer.scope == Scope::shared) {
      path.clocks = larger_of(path.clocks, is_store ? 0 : delays_.shared);
      work_.shared_passes += count * times * tensorsmith::shared_passes(addresses, width, mask_);
      return loaded;
    }
    path.clocks = larger_of(path.clocks, is_store ? 0 : delays_.global / stretches);
    const GlobalCost cost = global_cost(addresses, width, mask_);
    work_.global_passes += count * times * larger_of(cost.lines, cost.sectors / 4);
    const double asked = 32 * cost.sectors * count * times * static_cast<double>(work_.num_warps());
    const double kept = is_store ? asked : smaller_of(asked, after_l1(access, here) * weight_);
    work_.traffic.push_back({id, is_store, kept, 0, 0, is_store ? 1 : turns(access)});
    accesses_.push_back(access);
    return loaded;
  }

  /// Bytes that a block loads through L1: what fits there is loaded once, and what is the same for
  /// iterations that are unrolled too.
  double after_l1(const GpuIndices& access, const Place& here) {
    const double share = gpu_l1_share(gpu_, work_);
    GpuFootprint::Running running = footprint_.block(access);
    double inside = running.bytes(), loaded = inside;
    for (std::size_t i = open_.size(); i-- > 0;) {
      double times = static_cast<double>(open_[i].extent);
      if (!footprint_.depends(access, open_[i].var)) {
        loaded *= inside <= share || i >= here.first_expanded ? 1 : times;
        continue;
      }
      // One that goes over several tiles begins anew with each of them.
      GpuLoop tile = open_[i];
      tile.extent = footprint_.period(access, open_[i]);
      const double tiles = times / static_cast<double>(tile.extent);
      times = static_cast<double>(tile.extent);
      running.run(tile);
      const double outside = running.bytes();
      loaded = inside <= share ? larger_of(loaded, outside * (loaded / inside)) : loaded * times;
      loaded *= tiles;
      inside = outside;
    }
    return loaded;
  }
  double turns(const GpuIndices& access) const {
    double product = 1;
    for (const GpuLoop& loop : open_) {
      product *=
          static_cast<double>(loop.extent) / static_cast<double>(footprint_.period(access, loop));
    }
    return product;
  }
  void leave_registers(BufferId id) {
    const bool is_new = !has_item(arrays_, id);
    kept_bytes_ -= is_new ? static_cast<double>(program_[id].num_bytes()) : 0;
    arrays_.push_back(id);
  }

  /// What cannot be kept in registers goes to memory and comes back for every use; operands are
  /// loaded later instead.
  void fit_registers() {
    const double kept = base_registers + larger_of(0.0, kept_bytes_) / 4;
    const double least = kept + smaller_of(operands_, 8.0), wanted = kept + operands_;
    const std::int64_t of_all = gpu_.registers_per_sm / (32 * work_.num_warps()) / 8 * 8;
    const auto most =
        static_cast<double>(smaller_of<std::int64_t>(gpu_.max_registers_per_thread, of_all));
    work_.registers = static_cast<std::int32_t>(smaller_of(wanted, most));
    work_.spilled = least > most ? (least - most) / least : 0;
    const double moves =
        2 * work_.spilled * (work_.f32 + work_.f64 + work_.integer + accumulations_);
    work_.instructions += moves;
    work_.global_passes += moves;
  }

  const LoopProgram& program_;
  const GpuLimits& gpu_;
  GpuDelays delays_;
  LaneEvaluator lanes_;
  VarExtents extents_;
  GpuFootprint footprint_;
  GpuWork work_;
  WarpThreads threads_;
  std::vector<GpuLoop> open_;
  std::vector<GpuIndices> accesses_;  ///< of work_.traffic
  std::vector<BufferId> arrays_;
  LaneMask mask_ = all_lanes;
  double weight_ = 1;  ///< share of the warps that get here
  double kept_bytes_ = 0, operands_ = 0;
  double accumulations_ = 0;  ///< registers that a lane's instructions of tensor cores add to
};

}  // namespace tensorsmith::detail

#include "tensorsmith/cost/gpu_work_branches.hpp"
