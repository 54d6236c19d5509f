// SPDX-License-Identifier: Apache-2.0
// GpuWorkReader: counts the work of a kernel from its loops.
//
// Floor 6. Own design. A kernel is a nest of block loops around thread loops around the body of one
// thread (docs/gpu.md). One walk gives the instructions of a warp, its accesses with the addresses
// of a real warp, registers, and the longest chain of waiting.
//     unrolled and vectorized loops: iterations that read the same element read it once
//     serial loops:                  the same as far as the compiler unrolls them, else every
//                                    iteration does everything
// Not here: how long that takes (gpu_latency.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/codegen/compiler_unrolling.hpp"
#include "tensorsmith/codegen/serial_unrolling.hpp"
#include "tensorsmith/cost/gpu_access.hpp"
#include "tensorsmith/cost/gpu_footprint.hpp"
#include "tensorsmith/cost/gpu_operations.hpp"
#include "tensorsmith/cost/gpu_tensor_tile.hpp"
#include "tensorsmith/cost/gpu_work.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith::detail {

class GpuWorkReader {
 public:
  /// `missed`: share of global memory that is in DRAM when the kernel begins.
  /// `is_own_text`: see GpuModelOptions.
  GpuWorkReader(const LoopProgram& program, const GpuLimits& gpu, const GpuDelays& delays,
                double missed, bool is_own_text = true)
      : program_(program), gpu_(gpu), delays_(delays), lanes_(program.pool), footprint_(program),
        counted_(program.pool.num_exprs()), missed_(missed), is_own_text_(is_own_text),
        compiler_(program) {}

  /// `kernel`: a statement of the top level. To be called once.
  GpuWork read(StmtId kernel) {
    find_threads(kernel);
    mask_ = threads_.set_warp(0, lanes_);
    Path path = walk(kernel);
    path.use.instructions += start_instructions;
    work_.instructions += start_instructions;
    work_.path_clocks = path.clocks + stretch(path) + delays_.l1;  // arguments are loaded
    fit_registers();
    work_.blocks_per_sm =
        gpu_blocks_per_sm(gpu_, work_.num_threads, work_.shared_bytes, work_.registers);
    place_private();
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
  static constexpr int base_registers = 24;         // addresses, counters: a guess
  static constexpr double start_instructions = 12;  // who am I, where are the arguments

  /// Of one execution of a statement. What is done since the last barrier is that of one warp; what
  /// comes before it takes a block these clocks.
  struct Path {
    GpuUse use;
    double latency = 0;  ///< clocks of waiting for global memory, one wait after the other
    double longest = 0;  ///< the longest one of these waits
    double near = 0;     ///< clocks of waiting for memory of the SM, once in a straight line
    double nearest = 0;  ///< the longest one of these waits
    double chain = 0;    ///< clocks of arithmetic that waits for its own results
    double clocks = 0;
    bool has_serial = false;  ///< loops that stay loops, so that outer unrolling copies them
    bool has_barrier = false;

    void add(const Path& next) {
      use.add(next.use);
      latency += next.latency;
      longest = larger_of(longest, next.longest);
      near += next.near;
      nearest = larger_of(nearest, next.nearest);
      chain += next.chain;
      clocks += next.clocks;
      has_serial = has_serial || next.has_serial;
      has_barrier = has_barrier || next.has_barrier;
    }
    void scale(double share) {
      const GpuUse whole = use;
      use = GpuUse{};
      use.add(whole, share);
      latency *= share;
      near *= share;
      nearest = smaller_of(nearest, near);
      chain *= share;
      clocks *= share;
    }
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

  /// Clocks of a block from one barrier to the next: its warps take turns while others wait, but
  /// all of them wait at the end for what was asked for last.
  double stretch(const Path& path) const {
    const double num_warps = static_cast<double>(work_.num_warps());
    const double alone = larger_of(gpu_unit_clocks(gpu_, path.use, 1).most(), path.chain) +
                         path.latency - path.longest + path.near - path.nearest;
    return larger_of(alone, gpu_unit_clocks(gpu_, path.use, num_warps).most()) + path.longest +
           path.nearest;
  }
  void end_stretch(Path& path) const {
    path.clocks += stretch(path);
    path.use = GpuUse{};
    path.latency = path.longest = path.near = path.nearest = path.chain = 0;
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
      const GpuLoop found{loop->var, extent_of(*loop), loop->kind, 1};
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
                                 [&](const Barrier& barrier) { return walk_barrier(barrier); },
                                 [&](const Prefetch&) {
                                   Path path;
                                   path.use.instructions = 1;
                                   return path;
                                 }},
                      program_[id]);
  }

  Path walk_barrier(const Barrier& barrier) {
    Path path;
    path.has_barrier = true;
    if (barrier.scope != Scope::warp) {  // of a warp: shuffles wait
      work_.instructions += all_times();
      path.clocks = delays_.barrier;
    }
    return path;
  }

  /// Between two barriers what one statement waits for, the next one need not wait for again.
  Path walk_seq(const Seq& seq) {
    Path sum;
    for (const StmtId item : seq.items) {
      const Path path = walk(item);
      if (path.has_barrier) {
        end_stretch(sum);
      }
      sum.add(path);
    }
    return sum;
  }

  Path walk_for(const For& loop);  // gpu_work_loops.hpp
  Path walk_tile(const GpuTensorTile& tile, const TensorIntrinsic& intrinsic);
  bool has_barrier(StmtId id) const {
    const Barrier* barrier = program_.as<Barrier>(id);
    return (barrier != nullptr && barrier->scope != Scope::warp) ||
           any_child(program_[id], [&](StmtId child) { return has_barrier(child); });
  }
  bool copies_to_shared(StmtId id) const {
    const Store* store = program_.as<Store>(id);
    return (store != nullptr && program_[store->buffer].scope == Scope::shared) ||
           any_child(program_[id], [&](StmtId child) { return copies_to_shared(child); });
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

  Path walk_store(const Store& store);  // gpu_work_access.hpp
  void spend(const GpuUse& use, double copies, const Place& here, Path& path);
  double chain_of(const Store& store, const GpuOperations& counts, const Place& here);
  double access(BufferId id, const ExprList& indices, bool is_store, const Place& here, Path& path,
                double stretches = 1, bool is_branch = false);
  double access_array(BufferId id, const GpuIndices& access, const Place& here, Path& path,
                      bool is_store);
  double load_latency(const GpuIndices& access, const Buffer& buffer, const Lanes& addresses);
  double num_places(const GpuIndices& access, const GpuLoop& loop);
  bool is_division(ExprId id) const;
  void count_index(ExprId index, const Place& here, Path& path);
  double index_instructions(ExprId id) const;
  std::uint64_t constant_loops() const;
  bool is_branched(ExprId load, ExprId condition) const;
  void find_quotients(StmtId body, std::uint64_t bit, std::vector<ExprId>& found) const;
  bool is_background_copy(const Store& store);  // gpu_work_branches.hpp
  double shuffle(const Buffer& buffer, bool is_store, const Place& here, Path& path);
  double after_l1(const GpuIndices& access, const Place& here);
  double turns(const GpuIndices& access) const;
  void leave_registers(BufferId id);
  void fit_registers();
  void place_private();

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
  std::vector<bool> counted_;  ///< expressions of indices, each counted once
  LaneMask mask_ = all_lanes;
  double weight_ = 1;  ///< share of the warps that get here
  double copies_ = 1;  ///< by the unrolled loops around
  double missed_;      ///< share of global memory that L2 does not keep from one call to the next
  bool is_own_text_;
  CompilerUnrolling compiler_;  ///< of texts that are not ours
  bool is_background_ = false;  ///< the store that is looked at
  double private_passes_ = 0, spilled_bytes_ = 0;
  double kept_bytes_ = 0, operands_ = 0;
  double accumulations_ = 0;  ///< registers that a lane's instructions of tensor cores add to
};

}  // namespace tensorsmith::detail

#include "tensorsmith/cost/gpu_work_access.hpp"
#include "tensorsmith/cost/gpu_work_branches.hpp"
#include "tensorsmith/cost/gpu_work_index.hpp"
#include "tensorsmith/cost/gpu_work_loops.hpp"
