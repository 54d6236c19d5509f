// Branches of what one thread of a kernel does: how many warps take which arm; copies in the
// background.
//
// Floor 6. Part of gpu_work_reader.hpp. Own design. A condition on a thread's number is evaluated
// for all lanes of all warps, one on the iteration of a serial loop for up to 64 of its iterations
// (4096 where all threads agree: stream_k.hpp asks what one iteration in many does).
#pragma once

#include <optional>

#include "tensorsmith/cost/gpu_work_reader.hpp"
#include "tensorsmith/ir/background_copy.hpp"
#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith::detail {

/// Whether all threads of a kernel agree about it.
inline bool GpuWorkReader::is_uniform(ExprId id) const {
  bool uniform = true;
  visit_nodes(program_.pool, id, [&](ExprId e) {
    const VarRef* ref = program_.pool.as<VarRef>(e);
    uniform = uniform && program_.pool.as<Load>(e) == nullptr &&
              (ref == nullptr || !threads_.has(ref->var));
  });
  return uniform;
}

/// Warps of which no lane takes an arm leave it out.
inline GpuWorkReader::Path GpuWorkReader::walk_if(const If& branch) {
  const LaneMask outer = mask_;
  const double weight = weight_;
  LaneMask taken = 0;
  std::optional<GpuLoop> over;  // a serial loop whose iterations decide
  for (const GpuLoop& open : open_) {
    if (!is_expanded(open.kind) && uses_var(program_.pool, branch.condition, open.var)) {
      over = open;
    }
  }
  const bool uniform = over && is_uniform(branch.condition);
  const auto share_of_warps = [&](bool wanted) {
    std::int64_t count = 0;
    const std::int64_t num_warps = uniform ? 1 : (work_.num_threads + 31) / 32;
    Lanes holds;
    for (std::int64_t warp = num_warps - 1; warp >= 0; --warp) {
      const LaneMask present = threads_.set_warp(warp, lanes_);
      lanes_.eval(branch.condition, holds);
      LaneMask here = 0;
      for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
        here |= (holds[lane] != 0) == wanted ? LaneMask{1} << lane : 0U;
      }
      taken = here & present;
      count += taken != 0 ? 1 : 0;
    }
    return static_cast<double>(count) / static_cast<double>(num_warps);
  };
  const auto share = [&](bool wanted) {
    if (!over) {
      return share_of_warps(wanted);
    }
    const std::int64_t most_looked_at = uniform ? 4096 : 64;
    const std::int64_t step = (over->extent + most_looked_at - 1) / most_looked_at;
    double sum = 0, times = 0;
    LaneMask some = 0;
    for (std::int64_t t = 0; t < over->extent; t += step) {
      lanes_.set(over->var, t);
      sum += share_of_warps(wanted);
      some |= taken;
      ++times;
    }
    lanes_.set(over->var, 0);
    taken = some;
    return sum / times;
  };
  work_.instructions += 2 * all_times();
  Path path{2, 2, false, false};
  for (const bool wanted : {true, false}) {
    const StmtId body = wanted ? branch.then_body : branch.else_body;
    if (!body.valid()) {
      continue;
    }
    const double taken_share = share(wanted);
    weight_ = weight * taken_share;
    mask_ = (taken & outer) != 0 ? taken & outer : outer;  // the first warp may be left out
    if (weight_ > 0) {
      const Path arm = walk(body);
      // What few iterations do counts for these; else as if all did.
      const double part = uniform && taken_share < 0.5 ? taken_share : 1;
      path.instructions += part * arm.instructions;
      path.clocks += part * arm.clocks;
      path.has_serial = path.has_serial || arm.has_serial;
      path.has_barrier = path.has_barrier || arm.has_barrier;
    }
  }
  mask_ = outer;
  weight_ = weight;
  return path;
}

/// An element of a warp's buffer: the thread's own is a register, that of another lane goes through
/// the paths of shared memory, 4 bytes at a time.
inline double GpuWorkReader::shuffle(const Buffer& buffer, bool is_store, const Place& here,
                                     Path& path) {
  if (is_store) {
    return 0;
  }
  const double words = larger_of(1.0, bytes_of(buffer.dtype) / 4.0);
  const double count = words * iterations(here);
  path.instructions += count;
  path.clocks = larger_of(path.clocks, delays_.shuffle);
  work_.instructions += count * here.times * weight_;
  work_.shared_passes += count * here.times * weight_;
  return words;
}

/// Whether the hardware copies by itself, as codegen/cuda_vector.hpp has it: 4, 8 or 16 bytes that
/// lie together, from global memory as they are or zeros. Any other marked store waits for what it
/// loads.
inline bool GpuWorkReader::is_background_copy(const Store& store) {
  if (!background_copy(program_, store)) {
    return false;
  }
  std::int64_t bytes = bytes_of(program_[store.buffer].dtype);
  if (!open_.empty() && open_.back().kind == ForKind::vectorized) {
    const Buffer& buffer = program_[store.buffer];
    const Lanes first = lanes_.addresses(buffer, store.indices);
    lanes_.set(open_.back().var, 1);
    const bool is_scattered = lanes_.addresses(buffer, store.indices)[0] - first[0] != bytes;
    lanes_.set(open_.back().var, 0);
    if (is_scattered) {
      return false;
    }
    for (std::int64_t n = open_.back().extent; n % 2 == 0 && bytes < 16; n /= 2) {
      bytes *= 2;
    }
  }
  return bytes >= 4;
}

}  // namespace tensorsmith::detail
