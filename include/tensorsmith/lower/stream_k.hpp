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
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// A hardware axis of a kernel; extent 0: the kernel has none.
struct KernelAxis {
  VarId var;
  std::int64_t extent = 0;
};

/// What becomes of a kernel.
struct StreamedKernel {
  StmtId body;                  ///< what one thread does; the blocks are to be bound to `block`
  KernelAxis block;             ///< the only axis of blocks
  StmtId fix_up;                ///< the second kernel, whole
  std::vector<BufferId> parts;  ///< in global memory, to be allocated around both
};

namespace detail {

class KernelStreamer {
 public:
  /// `axes`: threads x, y, z, blocks x, y, z.
  KernelStreamer(LoopProgram& program, const KernelAxis* axes) : p_(program) {
    for (std::size_t a = 0; a < 3; ++a) {
      threads_[a] = axes[a];
      blocks_[a] = axes[3 + a];
      num_tiles_ *= larger_of<std::int64_t>(blocks_[a].extent, 1);
    }
  }

  std::optional<StreamedKernel> run(StmtId body, std::int64_t num_blocks) {
    if (num_blocks < 2 || !take_apart(body) || !find_sums()) {
      return std::nullopt;
    }
    const std::int64_t all_steps = num_tiles_ * tile_steps_;
    steps_ = (all_steps + num_blocks - 1) / num_blocks;
    num_blocks_ = (all_steps + steps_ - 1) / steps_;
    if (steps_ <= tile_steps_ || steps_ % tile_steps_ == 0 || num_blocks_ < 2) {
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
  /// More elements of a thread's tile are none that it keeps in registers.
  static constexpr std::int64_t most_elements = 1024;

  static std::int64_t num_points(const Buffer& buffer) {
    std::int64_t points = 1;
    for (const std::int64_t extent : buffer.shape) {
      points *= extent;
    }
    return points;
  }
  bool has_barrier(StmtId id) const {
    return p_.as<Barrier>(id) != nullptr ||
           any_child(p_[id], [&](StmtId child) { return has_barrier(child); });
  }
  template <class F>
  void each_load(StmtId id, F&& f) const {
    for_each_expr(p_[id], [&](ExprId expr) {
      visit_expr(p_.pool, expr, [&](ExprId e) {
        if (const Load* load = p_.pool.as<Load>(e)) {
          f(*load);
        }
      });
    });
    for_each_child(p_[id], [&](StmtId child) { each_load(child, f); });
  }
  template <class F>
  void each_store(StmtId id, F&& f) const {
    if (const Store* store = p_.as<Store>(id)) {
      f(*store);
    }
    for_each_child(p_[id], [&](StmtId child) { each_store(child, f); });
  }

  void flatten(StmtId id, std::vector<StmtId>& items) {
    const Alloc* alloc = p_.as<Alloc>(id);
    if (const Seq* seq = p_.as<Seq>(id)) {
      for (const StmtId item : seq->items) {
        flatten(item, items);
      }
    } else if (alloc != nullptr && p_[alloc->buffer].scope != Scope::shared) {
      private_.push_back(alloc->buffer);
      flatten(alloc->body, items);
    } else {
      items.push_back(id);
    }
  }

  /// In front of the sum, the loops of its steps, behind it.
  bool take_apart(StmtId body) {
    std::vector<StmtId> items;
    flatten(body, items);
    StmtId sum;
    for (const StmtId item : items) {
      if (has_barrier(item)) {
        if (sum.valid()) {
          return false;
        }
        sum = item;
      } else {
        (sum.valid() ? after_ : before_).push_back(item);
      }
    }
    while (const For* loop = sum.valid() ? p_.as<For>(sum) : nullptr) {
      const IntImm* extent = p_.pool.as<IntImm>(loop->extent);
      if (loop->kind != ForKind::serial || extent == nullptr || extent->value < 1) {
        return false;
      }
      loops_.push_back({loop->var, extent->value});
      tile_steps_ *= extent->value;
      sum = loop->body;
    }
    const Seq* seq = sum.valid() ? p_.as<Seq>(sum) : nullptr;
    if (seq == nullptr || loops_.empty() || after_.empty()) {
      return false;
    }
    step_ = seq->items;
    return all_items(
        step_, [&](StmtId item) { return p_.as<Barrier>(item) != nullptr || !has_barrier(item); });
  }

  static bool adds_to(const ExprPool& pool, const Store& store) {
    const Binary* sum = pool.as<Binary>(store.value);
    if (sum == nullptr || sum->op != BinaryOp::add) {
      return false;
    }
    const auto is_old = [&](ExprId id) {
      const Load* load = pool.as<Load>(id);
      return load != nullptr && load->buffer == store.buffer && load->indices == store.indices;
    };
    const auto reads = [&](ExprId id) {
      bool found = false;
      visit_expr(pool, id, [&](ExprId e) {
        const Load* load = pool.as<Load>(e);
        found = found || (load != nullptr && load->buffer == store.buffer);
      });
      return found;
    };
    return (is_old(sum->a) && !reads(sum->b)) || (is_old(sum->b) && !reads(sum->a));
  }
  static bool is_zero(const ExprPool& pool, ExprId id) {
    const IntImm* whole = pool.as<IntImm>(id);
    const FloatImm* real = pool.as<FloatImm>(id);
    return (whole != nullptr && whole->value == 0) || (real != nullptr && real->value == 0);
  }

  /// The private tiles that every step adds to, and that are read behind the sum. False if anything
  /// else outlives a step.
  bool find_sums() {
    const std::size_t count = p_.buffers.size();
    std::vector<bool> begun(count, false), updated(count, false), read(count, false);
    std::vector<bool> is_sum(count, true);
    bool fits = true;
    const auto is_private = [&](BufferId id) {
      return p_[id].scope == Scope::local || p_[id].scope == Scope::register_;
    };
    for (const StmtId item : before_) {
      each_store(item, [&](const Store& store) {
        fits = fits && is_private(store.buffer);
        begun[store.buffer.value] = true;
        is_sum[store.buffer.value] = is_sum[store.buffer.value] && is_zero(p_.pool, store.value);
      });
      each_load(item,
                [&](const Load& load) { fits = fits && p_[load.buffer].scope != Scope::shared; });
    }
    for (const StmtId item : step_) {
      each_store(item, [&](const Store& store) {
        fits = fits && p_[store.buffer].scope != Scope::global;
        updated[store.buffer.value] = true;
        is_sum[store.buffer.value] = is_sum[store.buffer.value] && adds_to(p_.pool, store);
      });
    }
    for (const StmtId item : after_) {
      each_store(item, [&](const Store& store) {
        fits = fits && p_[store.buffer].scope != Scope::shared;
      });
      each_load(item, [&](const Load& load) {
        fits = fits && p_[load.buffer].scope != Scope::shared;
        read[load.buffer.value] = true;
      });
    }
    for (std::uint32_t b = 0; b < count; ++b) {
      if (updated[b] && is_private(BufferId{b}) && (begun[b] || read[b])) {
        fits = fits && begun[b] && read[b] && is_sum[b] &&
               num_points(p_.buffers[b]) <= most_elements && has_item(private_, BufferId{b});
        sums_.push_back(BufferId{b});
      }
    }
    return fits && !sums_.empty();
  }

  /// [part][element of a thread][thread], so that the threads of a warp lie side by side.
  void make_parts(StreamedKernel& streamed) {
    for (const BufferId sum : sums_) {
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
        map_.set(axis.var, axis.extent == 1 ? pool.int_imm(0)
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
    for (std::size_t i = loops_.size(); i-- > 0;) {
      const ExprId extent = pool.int_imm(loops_[i].extent);
      map_.set(loops_[i].var, i == 0 ? step : pool.floormod(step, extent));
      step = i == 0 ? step : pool.floordiv(step, extent);
    }
  }

  StmtId make_body(const StreamedKernel& streamed) {
    ExprPool& pool = p_.pool;
    const VarId var = pool.new_var("step");
    const ExprId at = pool.var(var), last = pool.int_imm(steps_ - 1);
    const ExprId begin = pool.mul(pool.var(streamed.block.var), pool.int_imm(steps_));
    const ExprId all = pool.add(begin, at), of_tile = pool.int_imm(tile_steps_);
    const ExprId step = pool.floormod(all, of_tile);
    set_tile(pool.floordiv(all, of_tile));
    set_step(step);
    const ExprId zero = pool.int_imm(0);
    const ExprId ends = pool.eq(step, pool.int_imm(tile_steps_ - 1));
    const ExprId begins = pool.binary(BinaryOp::or_, pool.eq(step, zero), pool.eq(at, zero));
    const ExprId is_whole = pool.and_(ends, pool.binary(BinaryOp::le, step, at));
    // The last blocks may have less to do.
    const std::int64_t all_steps = num_tiles_ * tile_steps_;
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
    for (std::size_t i = 0; i < step_.size(); ++i) {
      behind_barriers = p_.as<Barrier>(step_[i]) != nullptr ? i + 1 : behind_barriers;
    }
    for (std::size_t i = 0; i <= step_.size(); ++i) {
      if (i == behind_barriers) {
        end_stretch();
        stretch.push_back(p_.add(If{begins, copy(before_), {}}));
      }
      if (i < step_.size() && p_.as<Barrier>(step_[i]) != nullptr) {
        end_stretch();
        items.push_back(copy(step_[i]));
      } else if (i < step_.size()) {
        stretch.push_back(copy(step_[i]));
      }
    }
    const ExprId is_late = pool.lt(at, step);  // the tile began in another block
    const ExprId slot = pool.sub(pool.mul(pool.var(streamed.block.var), pool.int_imm(2)),
                                 pool.select(is_late, pool.int_imm(1), zero));
    const StmtId keep = keep_parts(streamed, slot);
    const StmtId part = p_.add(If{pool.binary(BinaryOp::or_, ends, pool.eq(at, last)), keep, {}});
    stretch.push_back(p_.add(If{is_whole, copy(after_), part}));
    end_stretch();
    StmtId body = p_.add(For{var, pool.int_imm(steps_), ForKind::serial, p_.add(Seq{items})});
    for (std::size_t i = private_.size(); i-- > 0;) {
      body = p_.add(Alloc{private_[i], body});
    }
    return body;
  }

  /// parts[slot] = the sums so far.
  StmtId keep_parts(const StreamedKernel& streamed, ExprId slot) {
    std::vector<StmtId> stores;
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      stores.push_back(for_each_element(sums_[s], [&](const ExprList& element) {
        const ExprId value = p_.pool.load(sums_[s], p_[sums_[s]].dtype, element);
        return p_.add(Store{streamed.parts[s], place(slot, element), value});
      }));
    }
    return p_.add(Seq{std::move(stores)});
  }

  StmtId make_fix_up(const StreamedKernel& streamed) {
    ExprPool& pool = p_.pool;
    const VarId block = pool.new_var("b");
    const ExprId number = pool.var(block), of_tile = pool.int_imm(tile_steps_);
    const ExprId border =
        pool.mul(pool.add(number, pool.int_imm(1)), pool.int_imm(steps_));  // first of the next one
    map_ = {};
    for (KernelAxis& axis : threads_) {
      if (axis.extent > 0) {
        const VarId var = pool.new_var(pool.var_name(axis.var));
        map_.set(axis.var, pool.var(var));
        axis.var = var;
      }
    }
    set_tile(pool.floordiv(border, of_tile));
    renews_buffers_ = true;
    for (BufferId& buffer : private_) {
      const BufferId old = buffer;
      buffer = renew(old);
      for (BufferId& sum : sums_) {
        sum = sum == old ? buffer : sum;
      }
    }
    std::vector<StmtId> items{copy(before_)};
    const ExprId first = pool.mul(number, pool.int_imm(2));
    const ExprId second = pool.add(first, pool.int_imm(1));
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      const DType type = p_[sums_[s]].dtype;
      const BufferId parts = streamed.parts[s];
      items.push_back(for_each_element(sums_[s], [&](const ExprList& element) {
        const ExprId sum = pool.add(pool.load(parts, type, place(first, element)),
                                    pool.load(parts, type, place(second, element)));
        return p_.add(Store{sums_[s], element, sum});
      }));
    }
    items.push_back(copy(after_));
    StmtId body = p_.add(Seq{std::move(items)});
    bool is_always = true;
    for (std::int64_t b = 1; b < num_blocks_; ++b) {
      is_always = is_always && b * steps_ % tile_steps_ != 0;
    }
    if (!is_always) {
      body = p_.add(If{pool.lt(pool.int_imm(0), pool.floormod(border, of_tile)), body, {}});
    }
    for (std::size_t i = private_.size(); i-- > 0;) {
      body = p_.add(Alloc{private_[i], body});
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

  // Copies of statements, with loop variables of their own.
  StmtId copy(const std::vector<StmtId>& items) {
    std::vector<StmtId> copies;
    for (const StmtId item : items) {
      copies.push_back(copy(item));
    }
    return p_.add(Seq{std::move(copies)});
  }
  StmtId copy(StmtId id) {
    if (!id.valid()) {
      return id;
    }
    Stmt stmt = p_[id];
    std::visit(Overloaded{[&](Seq& s) {
                            for (StmtId& item : s.items) {
                              item = copy(item);
                            }
                          },
                          [&](For& s) {
                            const VarId var = p_.pool.new_var(p_.pool.var_name(s.var));
                            map_.set(s.var, p_.pool.var(var));
                            s.var = var;
                            s.extent = expr(s.extent);
                            s.body = copy(s.body);
                          },
                          [&](If& s) {
                            s.condition = expr(s.condition);
                            s.then_body = copy(s.then_body);
                            s.else_body = copy(s.else_body);
                          },
                          [&](Alloc& s) {
                            s.buffer = renews_buffers_ ? renew(s.buffer) : s.buffer;
                            s.body = copy(s.body);
                          },
                          [&](Store& s) {
                            s.value = expr(s.value);
                            s.buffer = renewed(s.buffer);
                            for (ExprId& index : s.indices) {
                              index = expr(index);
                            }
                          },
                          [](Barrier&) {},
                          [&](Prefetch& s) {
                            s.buffer = renewed(s.buffer);
                            for (ExprId& index : s.indices) {
                              index = expr(index);
                            }
                          }},
               stmt);
    return p_.add(std::move(stmt));
  }
  ExprId expr(ExprId id) {
    if (p_.pool.as<VarRef>(id) != nullptr) {
      return map_(p_.pool, id);
    }
    if (const Load* found = p_.pool.as<Load>(id)) {
      Load load = *found;
      const DType type = p_.pool.dtype(id);
      for (ExprId& index : load.indices) {
        index = expr(index);
      }
      return p_.pool.load(renewed(load.buffer), type, load.indices);
    }
    return map_children(p_.pool, id, [&](ExprId child) { return expr(child); });
  }
  BufferId renew(BufferId old) {
    const Buffer buffer = p_[old];
    const BufferId fresh = p_.add(buffer);
    renewed_.emplace_back(old, fresh);
    return fresh;
  }
  BufferId renewed(BufferId id) const {
    for (const auto& [old, fresh] : renewed_) {
      if (old == id) {
        return fresh;
      }
    }
    return id;
  }

  LoopProgram& p_;
  KernelAxis threads_[3], blocks_[3];
  std::int64_t num_tiles_ = 1, tile_steps_ = 1, steps_ = 0, num_blocks_ = 0;
  std::vector<BufferId> private_, sums_;
  std::vector<StmtId> before_, step_, after_;
  std::vector<KernelAxis> loops_;  ///< of the sum, outermost first
  Substitution map_;
  bool renews_buffers_ = false;
  std::vector<std::pair<BufferId, BufferId>> renewed_;
};

}  // namespace detail

/// `body`: what one thread of a kernel does, barriers placed, nothing fetched ahead yet; `axes`:
/// threads x, y, z, blocks x, y, z; `num_blocks`: at most, where they are fewer than the tiles.
/// Nothing if the kernel has another form or its tiles come out even; the program may have grown.
inline std::optional<StreamedKernel> stream_k(LoopProgram& program, StmtId body,
                                              const KernelAxis* axes, std::int64_t num_blocks) {
  return detail::KernelStreamer(program, axes).run(body, num_blocks);
}

}  // namespace tensorsmith
