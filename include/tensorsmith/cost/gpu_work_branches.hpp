// SPDX-License-Identifier: Apache-2.0
// Branches of what one thread of a kernel does: how many warps take which arm; copies in the
// background.
//
// Floor 6. Part of gpu_work_reader.hpp. Own design. A condition on a thread's number is evaluated
// for all lanes of all warps, one on iterations of loops for up to 64 of them (4096 where
// all threads agree: stream_k.hpp asks what one iteration in many does).
#pragma once

#include <vector>

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
  std::vector<GpuLoop> over;  // loops whose iterations decide
  std::int64_t points = 1;
  for (GpuLoop open : open_) {
    if (uses_var(program_.pool, branch.condition, open.var)) {
      points *= open.extent;
      if (!over.empty() && over.back().var == open.var) {  // the turns of its straight line
        over.back().extent *= open.extent;
        over.back().step = 1;
      } else {
        over.push_back(open);
      }
    }
  }
  const bool uniform = !over.empty() && is_uniform(branch.condition);
  // Of warps and iterations; `taken`: by which lanes of the first warp.
  const auto share = [&](bool wanted) {
    const std::int64_t num_warps = uniform ? 1 : (work_.num_threads + 31) / 32;
    const std::int64_t most_looked_at = uniform ? 4096 : 64;
    const std::int64_t step = (points + most_looked_at - 1) / most_looked_at;
    std::int64_t count = 0, times = 0;
    Lanes holds;
    for (std::int64_t warp = num_warps - 1; warp >= 0; --warp) {
      const LaneMask present = threads_.set_warp(warp, lanes_);
      taken = 0;
      for (std::int64_t point = 0; point < points; point += step, ++times) {
        std::int64_t rest = point;
        for (std::size_t i = over.size(); i-- > 0;) {
          lanes_.set(over[i].var, rest % over[i].extent * over[i].step);
          rest /= over[i].extent;
        }
        lanes_.eval(branch.condition, holds);
        LaneMask here = 0;
        for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
          here |= LaneMask{holds[lane] != 0} << lane;
        }
        here = (wanted ? here : ~here) & present;
        count += here != 0 ? 1 : 0;
        taken |= here;
      }
    }
    for (const GpuLoop& loop : over) {
      lanes_.set(loop.var, 0);
    }
    return static_cast<double>(count) / static_cast<double>(times);
  };
  GpuUse test;
  test.instructions = 2;
  work_.add(test, all_times());
  Path path;
  path.use.add(test);
  for (const bool wanted : {true, false}) {
    const StmtId body = wanted ? branch.then_body : branch.else_body;
    if (!body.valid()) {
      continue;
    }
    const double taken_share = share(wanted);
    weight_ = weight * taken_share;
    mask_ = (taken & outer) != 0 ? taken & outer : outer;  // the first warp may be left out
    if (weight_ > 0) {
      Path arm = walk(body);
      // What few iterations do counts for these; else as if all did.
      arm.scale(uniform && taken_share < 0.5 ? taken_share : 1);
      path.add(arm);
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
  GpuUse use;
  use.instructions = use.memory = use.shared_passes = words;
  spend(use, iterations(here), here, path);
  path.near = path.nearest = larger_of(path.near, delays_.shuffle);
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
