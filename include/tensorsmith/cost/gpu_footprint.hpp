// SPDX-License-Identifier: Apache-2.0
// GpuFootprint: how many distinct bytes of global memory the loops of a kernel touch.
//
// Floor 6. Own design. Interval analysis per dimension, so indices may hold the quotients and
// remainders that fused loops leave; an upper bound where dimensions depend on each other.
// Not here: how often bytes are asked for (gpu_work_reader.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/ir/affine.hpp"
#include "tensorsmith/ir/division.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

namespace detail {

/// A loop, or a part of one: as many iterations as the compiler makes a straight line of, or the
/// turns of that line.
struct GpuLoop {
  VarId var;
  std::int64_t extent = 1;
  ForKind kind = ForKind::serial;
  std::int64_t step = 1;  ///< of the variable
};

/// An element of a buffer under loops.
struct GpuIndices {
  BufferId buffer;
  const ExprList* indices;
  std::uint64_t loops;  ///< GpuFootprint::dependences
};

/// Distinct bytes that an access touches while every variable runs over its range in `extents` (1:
/// stands still), in sectors of 32 bytes, or in lines of 128. `most_points`: so many iterations
/// there are at most.
inline double touched_bytes(const LoopProgram& program, const VarExtents& extents, BufferId id,
                            const ExprList& indices, double most_points, double sector = 32) {
  const Buffer& buffer = program[id];
  const double size = bytes_of(buffer.dtype);
  double points = 1, row_bytes = size;
  for (std::size_t d = indices.size(); d-- > 0;) {
    const auto range = range_of(program.pool, extents, indices[d]);
    double extent = static_cast<double>(buffer.shape[d]);
    extent = range ? smaller_of(extent, range->width()) : extent;
    if (d + 1 == indices.size() && buffer.strides[d] == 1) {
      row_bytes = math::ceil(extent * size / sector) * sector;
    } else {
      points *= extent;
    }
  }
  const double whole = math::ceil(static_cast<double>(buffer.num_bytes()) / sector) * sector;
  const double bytes = smaller_of(points * larger_of(sector, row_bytes), most_points * sector);
  return smaller_of(bytes, whole);
}

/// Of one kernel. Loops are added as they are met.
class GpuFootprint {
 public:
  explicit GpuFootprint(const LoopProgram& program) : program_(program) {}

  void add(const GpuLoop& loop) {
    still_.set(loop.var, 1);
    loops_.push_back(loop);
  }

  /// Bit i: the indices depend on the i-th loop that was added (the first 64).
  std::uint64_t dependences(const ExprList& indices) const {
    std::uint64_t bits = 0;
    for (const ExprId index : indices) {
      visit_nodes(program_.pool, index, [&](ExprId id) {
        if (const VarRef* ref = program_.pool.as<VarRef>(id)) {
          for (std::size_t i = 0; i < loops_.size() && i < 64; ++i) {
            bits |= loops_[i].var == ref->var ? std::uint64_t{1} << i : 0U;
          }
        }
      });
    }
    return bits;
  }
  bool depends(const GpuIndices& access, VarId var) const {
    const std::uint64_t bit = bit_of(var);
    return bit == 0 || (access.loops & bit) != 0;
  }
  /// Of that loop in dependences(); 0 if it is none of the first 64.
  std::uint64_t bit_of(VarId var) const {
    for (std::size_t i = 0; i < loops_.size() && i < 64; ++i) {
      if (loops_[i].var == var) {
        return std::uint64_t{1} << i;
      }
    }
    return 0;
  }

  /// After so many iterations of a serial loop the same rows may come again: the least n of
  /// remainders by n of what moves by one per iteration. The loop's extent where there is none.
  std::int64_t period(const GpuIndices& access, const GpuLoop& loop) const {
    std::int64_t least = loop.extent;
    for (const ExprId index : *access.indices) {
      if (loop.kind != ForKind::serial || loop.step > 1) {
        break;
      }
      visit_nodes(program_.pool, index, [&](ExprId id) {
        const auto rest = division(program_.pool, BinaryOp::floormod, id);
        if (rest && moves_by_one(rest->dividend, loop.var)) {
          least = smaller_of(least, rest->divisor);
        }
      });
    }
    return least;
  }

  /// Some loops run, the others stand still.
  class Running {
   public:
    Running(const GpuFootprint& all, const GpuIndices& access)
        : all_(all), access_(access), extents_(all.still_) {}
    void run(const GpuLoop& loop) {
      extents_.set(loop.var, loop.extent * loop.step);
      points_ *= all_.depends(access_, loop.var) ? static_cast<double>(loop.extent) : 1;
    }
    /// Different elements, at most.
    double elements() const {
      const Buffer& buffer = all_.program_[access_.buffer];
      double product = 1;
      for (std::size_t d = 0; d < access_.indices->size(); ++d) {
        const auto range = range_of(all_.program_.pool, extents_, (*access_.indices)[d]);
        product *= range ? range->width() : static_cast<double>(buffer.shape[d]);
      }
      return smaller_of(product, points_);
    }
    double bytes(double sector = 32) const {
      return touched_bytes(all_.program_, extents_, access_.buffer, *access_.indices, points_,
                           sector);
    }
    double line_bytes() const { return bytes(128); }  ///< that a cache keeps for them

   private:
    const GpuFootprint& all_;
    const GpuIndices& access_;
    VarExtents extents_;
    double points_ = 1;
  };

  /// All threads of one block run.
  Running block(const GpuIndices& access) const {
    Running running(*this, access);
    for (const GpuLoop& loop : loops_) {
      if (is_thread_loop(loop.kind)) {
        running.run(loop);
      }
    }
    return running;
  }

  /// Distinct bytes of the first `count` blocks, x first, with all their loops.
  double of_blocks(const GpuIndices& access, std::int64_t count) const {
    Running running(*this, access);
    for (const ForKind kind : {ForKind::block_x, ForKind::block_y, ForKind::block_z}) {
      for (GpuLoop loop : loops_) {
        if (loop.kind == kind) {
          const std::int64_t whole = loop.extent;
          loop.extent = smaller_of(count, whole);
          running.run(loop);
          count = larger_of<std::int64_t>(1, count / whole);
        }
      }
    }
    for (const GpuLoop& loop : loops_) {
      if (!is_block_loop(loop.kind)) {
        running.run(loop);
      }
    }
    return running.bytes();
  }

 private:
  /// A sum that has the variable once, as it is.
  bool moves_by_one(ExprId id, VarId var) const {
    if (const VarRef* ref = program_.pool.as<VarRef>(id)) {
      return ref->var == var;
    }
    const Binary* sum = program_.pool.as<Binary>(id);
    return sum != nullptr && (sum->op == BinaryOp::add || sum->op == BinaryOp::sub) &&
           (moves_by_one(sum->a, var) || (sum->op == BinaryOp::add && moves_by_one(sum->b, var)));
  }

  const LoopProgram& program_;
  VarExtents still_;
  std::vector<GpuLoop> loops_;
};

}  // namespace detail
}  // namespace tensorsmith
