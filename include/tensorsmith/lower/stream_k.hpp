// SPDX-License-Identifier: Apache-2.0
// stream_k: a given number of blocks share all steps of all tiles' sums out evenly.
//
// Floor 4. After Stream-K (Osama et al., PPoPP 2023), without its atomics and flags: what a block
// has of a tile that it does not finish goes to memory, and a second kernel adds it up. With T
// tiles of K steps, G blocks and n = ceil(T*K / G) steps for each of them, n >= K:
//     for bx in T: acc = 0; for k in K: { barrier; fetch; barrier; acc += .. }; C = acc
//         -->  for b in G: for s in n:     g = b*n + s is step g % K of tile g / K
//                barrier; fetch; barrier
//                if g % K == 0 or s == 0: acc = 0
//                acc += ..
//                if the tile began here and ends now: C = acc
//                else if g % K == K - 1 or s == n - 1: parts[2*b, or 2*b - 1 of a tile begun
//                before]
//              for b in G - 1: if a tile lies in blocks b and b + 1:
//                acc = parts[2*b] + parts[2*b + 1]; C = acc
// A tile lies in two blocks at most, and its two parts are added in one order. The loop stays one
// of constant extent, so copies ahead (fetch_ahead.hpp) go on across tiles. A kernel of another
// form stays as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/lower/copy_stmts.hpp"
#include "tensorsmith/lower/tile_sum.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// What becomes of a kernel.
struct StreamedKernel {
  StmtId body;                  ///< what one thread does; the blocks are to be bound to `block`
  detail::KernelAxis block;     ///< the only axis of blocks
  StmtId fix_up;                ///< the second kernel, whole
  std::vector<BufferId> parts;  ///< in global memory, to be allocated around both
};

namespace detail {

class KernelStreamer {
 public:
  /// `axes`: threads x, y, z, blocks x, y, z.
  KernelStreamer(LoopProgram& program, const KernelAxis* axes) : p_(program), copier_(program) {
    for (std::size_t a = 0; a < 3; ++a) {
      threads_[a] = axes[a];
      blocks_[a] = axes[3 + a];
      num_tiles_ *= larger_of<std::int64_t>(blocks_[a].extent, 1);
    }
  }

  std::optional<StreamedKernel> run(StmtId body, std::int64_t num_blocks) {
    std::optional<TileSum> sum = TileSumFinder(p_).run(body);
    if (num_blocks < 2 || !sum) {
      return std::nullopt;
    }
    tile_ = std::move(*sum);
    const std::int64_t all_steps = num_tiles_ * tile_.steps;
    steps_ = (all_steps + num_blocks - 1) / num_blocks;
    num_blocks_ = (all_steps + steps_ - 1) / steps_;
    if (steps_ <= tile_.steps || steps_ % tile_.steps == 0 || num_blocks_ < 2) {
      return std::nullopt;
    }
    StreamedKernel streamed;
    make_parts(streamed);
    streamed.block = {p_.pool.new_var("b"), num_blocks_};
    streamed.body = make_body(streamed);
    streamed.fix_up = make_fix_up(streamed);
    return streamed;
  }

 private:
  /// [part][element of a thread][thread], so that the threads of a warp lie side by side.
  void make_parts(StreamedKernel& streamed) {
    for (const BufferId sum : tile_.sums) {
      Buffer parts;
      parts.name = p_[sum].name + ".parts";
      parts.dtype = p_[sum].dtype;
      parts.shape.push_back(2 * (num_blocks_ - 1));
      for (const std::int64_t extent : p_[sum].shape) {
        parts.shape.push_back(extent);
      }
      for (std::size_t a = 3; a-- > 0;) {
        if (threads_[a].extent > 1) {
          parts.shape.push_back(threads_[a].extent);
        }
      }
      streamed.parts.push_back(p_.add(std::move(parts)));
    }
  }

  /// The values of the old axes of blocks in a tile; x is the fastest.
  void set_tile(ExprId tile) {
    ExprPool& pool = p_.pool;
    std::int64_t left = num_tiles_;
    for (const KernelAxis& axis : blocks_) {
      if (axis.extent > 0) {
        const ExprId extent = pool.int_imm(axis.extent);
        const bool is_last = left == axis.extent;
        copier_.map.set(axis.var, axis.extent == 1 ? pool.int_imm(0)
                                  : is_last        ? tile
                                                   : pool.floormod(tile, extent));
        tile = is_last ? tile : pool.floordiv(tile, extent);
        left /= axis.extent;
      }
    }
  }
  /// The values of the loops in a step of a tile.
  void set_step(ExprId step) {
    ExprPool& pool = p_.pool;
    for (std::size_t i = tile_.loops.size(); i-- > 0;) {
      const ExprId extent = pool.int_imm(tile_.loops[i].extent);
      copier_.map.set(tile_.loops[i].var, i == 0 ? step : pool.floormod(step, extent));
      step = i == 0 ? step : pool.floordiv(step, extent);
    }
  }

  StmtId make_body(const StreamedKernel& streamed) {
    ExprPool& pool = p_.pool;
    const VarId var = pool.new_var("step");
    const ExprId at = pool.var(var), last = pool.int_imm(steps_ - 1);
    const ExprId begin = pool.mul(pool.var(streamed.block.var), pool.int_imm(steps_));
    const ExprId all = pool.add(begin, at), of_tile = pool.int_imm(tile_.steps);
    const ExprId step = pool.floormod(all, of_tile);
    set_tile(pool.floordiv(all, of_tile));
    set_step(step);
    const ExprId zero = pool.int_imm(0);
    const ExprId ends = pool.eq(step, pool.int_imm(tile_.steps - 1));
    const ExprId begins = pool.binary(BinaryOp::or_, pool.eq(step, zero), pool.eq(at, zero));
    const ExprId is_whole = pool.and_(ends, pool.binary(BinaryOp::le, step, at));
    // The last blocks may have less to do.
    const std::int64_t all_steps = num_tiles_ * tile_.steps;
    const bool is_even = num_blocks_ * steps_ == all_steps;
    std::vector<StmtId> items, stretch;
    const auto end_stretch = [&] {
      if (!stretch.empty() && is_even) {
        items.insert(items.end(), stretch.begin(), stretch.end());
      } else if (!stretch.empty()) {
        items.push_back(
            p_.add(If{pool.lt(all, pool.int_imm(all_steps)), p_.add(Seq{stretch}), {}}));
      }
      stretch.clear();
    };
    std::size_t behind_barriers = 0;
    for (std::size_t i = 0; i < tile_.step.size(); ++i) {
      behind_barriers = p_.as<Barrier>(tile_.step[i]) != nullptr ? i + 1 : behind_barriers;
    }
    for (std::size_t i = 0; i <= tile_.step.size(); ++i) {
      if (i == behind_barriers) {
        end_stretch();
        stretch.push_back(p_.add(If{begins, copier_.copy(tile_.before), {}}));
      }
      if (i < tile_.step.size() && p_.as<Barrier>(tile_.step[i]) != nullptr) {
        end_stretch();
        items.push_back(copier_.copy(tile_.step[i]));
      } else if (i < tile_.step.size()) {
        stretch.push_back(copier_.copy(tile_.step[i]));
      }
    }
    const ExprId is_late = pool.lt(at, step);  // the tile began in another block
    const ExprId slot = pool.sub(pool.mul(pool.var(streamed.block.var), pool.int_imm(2)),
                                 pool.select(is_late, pool.int_imm(1), zero));
    const StmtId keep = keep_parts(streamed, slot);
    const StmtId part = p_.add(If{pool.binary(BinaryOp::or_, ends, pool.eq(at, last)), keep, {}});
    stretch.push_back(p_.add(If{is_whole, copier_.copy(tile_.after), part}));
    end_stretch();
    StmtId body = p_.add(For{var, pool.int_imm(steps_), ForKind::serial, p_.add(Seq{items})});
    for (std::size_t i = tile_.buffers.size(); i-- > 0;) {
      body = p_.add(Alloc{tile_.buffers[i], body});
    }
    return body;
  }

  /// parts[slot] = the sums so far.
  StmtId keep_parts(const StreamedKernel& streamed, ExprId slot) {
    std::vector<StmtId> stores;
    for (std::size_t s = 0; s < tile_.sums.size(); ++s) {
      stores.push_back(for_each_element(tile_.sums[s], [&](const ExprList& element) {
        const ExprId value = p_.pool.load(tile_.sums[s], p_[tile_.sums[s]].dtype, element);
        return p_.add(Store{streamed.parts[s], place(slot, element), value});
      }));
    }
    return p_.add(Seq{std::move(stores)});
  }

  StmtId make_fix_up(const StreamedKernel& streamed) {
    ExprPool& pool = p_.pool;
    const VarId block = pool.new_var("b");
    const ExprId number = pool.var(block), of_tile = pool.int_imm(tile_.steps);
    const ExprId border =
        pool.mul(pool.add(number, pool.int_imm(1)), pool.int_imm(steps_));  // first of the next one
    copier_.map = {};
    for (KernelAxis& axis : threads_) {
      if (axis.extent > 0) {
        const VarId var = pool.new_var(pool.var_name(axis.var));
        copier_.map.set(axis.var, pool.var(var));
        axis.var = var;
      }
    }
    set_tile(pool.floordiv(border, of_tile));
    copier_.renews_buffers = true;
    for (BufferId& buffer : tile_.buffers) {
      const BufferId old = buffer;
      buffer = copier_.renew(old);
      for (BufferId& sum : tile_.sums) {
        sum = sum == old ? buffer : sum;
      }
    }
    std::vector<StmtId> items{copier_.copy(tile_.before)};
    const ExprId first = pool.mul(number, pool.int_imm(2));
    const ExprId second = pool.add(first, pool.int_imm(1));
    for (std::size_t s = 0; s < tile_.sums.size(); ++s) {
      const DType type = p_[tile_.sums[s]].dtype;
      const BufferId parts = streamed.parts[s];
      items.push_back(for_each_element(tile_.sums[s], [&](const ExprList& element) {
        const ExprId sum = pool.add(pool.load(parts, type, place(first, element)),
                                    pool.load(parts, type, place(second, element)));
        return p_.add(Store{tile_.sums[s], element, sum});
      }));
    }
    items.push_back(copier_.copy(tile_.after));
    StmtId body = p_.add(Seq{std::move(items)});
    bool is_always = true;
    for (std::int64_t b = 1; b < num_blocks_; ++b) {
      is_always = is_always && b * steps_ % tile_.steps != 0;
    }
    if (!is_always) {
      body = p_.add(If{pool.lt(pool.int_imm(0), pool.floormod(border, of_tile)), body, {}});
    }
    for (std::size_t i = tile_.buffers.size(); i-- > 0;) {
      body = p_.add(Alloc{tile_.buffers[i], body});
    }
    constexpr ForKind kinds[] = {ForKind::thread_x, ForKind::thread_y, ForKind::thread_z};
    for (std::size_t a = 0; a < 3; ++a) {
      if (threads_[a].extent > 0) {
        body = p_.add(For{threads_[a].var, pool.int_imm(threads_[a].extent), kinds[a], body});
      }
    }
    return p_.add(For{block, pool.int_imm(num_blocks_ - 1), ForKind::block_x, body});
  }

  ExprList place(ExprId slot, const ExprList& element) {
    ExprList indices{slot};
    for (const ExprId index : element) {
      indices.push_back(index);
    }
    for (std::size_t a = 3; a-- > 0;) {
      if (threads_[a].extent > 1) {
        indices.push_back(p_.pool.var(threads_[a].var));
      }
    }
    return indices;
  }
  template <class F>
  StmtId for_each_element(BufferId buffer, F&& body_of) {
    const auto shape = p_[buffer].shape;  // a copy: the program grows
    std::vector<VarId> vars;
    ExprList element;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      vars.push_back(p_.pool.new_var("e"));
      element.push_back(shape[d] == 1 ? p_.pool.int_imm(0) : p_.pool.var(vars.back()));
    }
    StmtId body = body_of(element);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (shape[d] > 1) {
        body = p_.add(For{vars[d], p_.pool.int_imm(shape[d]), ForKind::unrolled, body});
      }
    }
    return body;
  }

  LoopProgram& p_;
  KernelAxis threads_[3], blocks_[3];
  std::int64_t num_tiles_ = 1, steps_ = 0, num_blocks_ = 0;
  TileSum tile_;
  StmtCopier copier_;
};

}  // namespace detail

/// `body`: what one thread of a kernel does, barriers placed, nothing fetched ahead yet; `axes`:
/// threads x, y, z, blocks x, y, z; `num_blocks`: at most, where they are fewer than the tiles.
/// Nothing if the kernel has another form or its tiles come out even; the program may have grown.
inline std::optional<StreamedKernel> stream_k(LoopProgram& program, StmtId body,
                                              const detail::KernelAxis* axes,
                                              std::int64_t num_blocks) {
  return detail::KernelStreamer(program, axes).run(body, num_blocks);
}

}  // namespace tensorsmith
