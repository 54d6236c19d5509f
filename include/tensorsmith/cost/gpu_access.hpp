// SPDX-License-Identifier: Apache-2.0
// What one access of a warp costs in the memory system of a GPU: sectors, lines, bank conflicts.
//
// Floor 6. Own design. The addresses of all lanes are computed, whatever the index expressions look
// like, and counted as the hardware does (CUDA C++ Programming Guide, "Performance Guidelines":
// global memory moves in sectors of 32 bytes, shared memory has 32 banks of 4 bytes; an access of 8
// or 16 bytes per lane goes by half and quarter warps).
// Not here: how often an access happens (gpu_work.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/swizzle.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith {

constexpr std::size_t warp_lanes = 32;
using Lanes = std::array<std::int64_t, warp_lanes>;

/// Integer expressions of 32 lanes at once. Variables without a value are 0; what depends on data
/// is scattered.
class LaneEvaluator {
 public:
  explicit LaneEvaluator(const ExprPool& pool) : pool_(pool) {}

  void set(VarId var, std::int64_t value) { set_lanes(var, filled(value)); }
  void set_lanes(VarId var, const Lanes& values) {
    for (Known& known : known_) {
      if (known.var == var) {
        known.values = values;
        return;
      }
    }
    known_.push_back({var, values});
  }

  void eval(ExprId id, Lanes& out) const {
    const ExprNode& node = pool_[id];
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      out = filled(imm->value);
    } else if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      out = value_of(ref->var);
    } else if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      Lanes b;
      eval(binary->a, out);
      eval(binary->b, b);
      combine(binary->op, out, b);
    } else if (const Select* select = std::get_if<Select>(&node.op)) {
      choose(select->condition, select->if_true, select->if_false, out);
    } else if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      eval(cast->a, out);
    } else if (const Unary* unary = std::get_if<Unary>(&node.op)) {
      eval(unary->a, out);
      for (std::int64_t& value : out) {
        value = unary->op == UnaryOp::neg ? -value : value == 0;
      }
    } else if (const Call* call = std::get_if<Call>(&node.op);
               call != nullptr && call->op == CallOp::if_then_else) {
      choose(call->args[0], call->args[1], call->args[2], out);
    } else {
      for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
        out[lane] = static_cast<std::int64_t>(lane * 40503 % 65536);
      }
    }
  }

  /// Byte offsets of an element of `buffer` in every lane.
  Lanes addresses(const Buffer& buffer, const ExprList& indices) const {
    Lanes sum = filled(0), index;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      eval(indices[d], index);
      for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
        sum[lane] += index[lane] * buffer.strides[d];
      }
    }
    for (std::int64_t& offset : sum) {
      offset *= bytes_of(buffer.dtype);
      offset = buffer.is_swizzled ? swizzled_byte(offset) : offset;
    }
    return sum;
  }

 private:
  struct Known {
    VarId var;
    Lanes values;
  };
  static Lanes filled(std::int64_t value) {
    Lanes lanes;
    lanes.fill(value);
    return lanes;
  }
  Lanes value_of(VarId var) const {
    for (const Known& known : known_) {
      if (known.var == var) {
        return known.values;
      }
    }
    return filled(0);
  }
  void choose(ExprId condition, ExprId if_true, ExprId if_false, Lanes& out) const {
    Lanes is_true, other;
    eval(condition, is_true);
    eval(if_true, out);
    eval(if_false, other);
    for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
      out[lane] = is_true[lane] != 0 ? out[lane] : other[lane];
    }
  }
  template <class F>
  static void each(Lanes& a, const Lanes& b, const F& f) {
    for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
      a[lane] = f(a[lane], b[lane]);
    }
  }
  static void combine(BinaryOp op, Lanes& a, const Lanes& b) {
    using Int = std::int64_t;
    switch (op) {
    case BinaryOp::add:
      return each(a, b, [](Int x, Int y) { return x + y; });
    case BinaryOp::sub:
      return each(a, b, [](Int x, Int y) { return x - y; });
    case BinaryOp::mul:
      return each(a, b, [](Int x, Int y) { return x * y; });
    case BinaryOp::floordiv:
      return each(a, b, [](Int x, Int y) { return y != 0 ? floor_div(x, y) : 0; });
    case BinaryOp::floormod:
      return each(a, b, [](Int x, Int y) { return y != 0 ? floor_mod(x, y) : 0; });
    case BinaryOp::div:
      return each(a, b, [](Int x, Int y) { return y != 0 ? x / y : 0; });
    case BinaryOp::truncmod:
      return each(a, b, [](Int x, Int y) { return y != 0 ? x % y : 0; });
    case BinaryOp::min:
      return each(a, b, [](Int x, Int y) { return x < y ? x : y; });
    case BinaryOp::max:
      return each(a, b, [](Int x, Int y) { return x > y ? x : y; });
    case BinaryOp::eq:
      return each(a, b, [](Int x, Int y) { return Int{x == y}; });
    case BinaryOp::ne:
      return each(a, b, [](Int x, Int y) { return Int{x != y}; });
    case BinaryOp::lt:
      return each(a, b, [](Int x, Int y) { return Int{x < y}; });
    case BinaryOp::le:
      return each(a, b, [](Int x, Int y) { return Int{x <= y}; });
    case BinaryOp::gt:
      return each(a, b, [](Int x, Int y) { return Int{x > y}; });
    case BinaryOp::ge:
      return each(a, b, [](Int x, Int y) { return Int{x >= y}; });
    case BinaryOp::and_:
      return each(a, b, [](Int x, Int y) { return Int{x != 0 && y != 0}; });
    case BinaryOp::or_:
      return each(a, b, [](Int x, Int y) { return Int{x != 0 || y != 0}; });
    default:
      return;
    }
  }

  const ExprPool& pool_;
  std::vector<Known> known_;
};

/// One bit per lane.
using LaneMask = std::uint32_t;
constexpr LaneMask all_lanes = 0xFFFFFFFFU;

/// Which threads of a block make up a warp: x varies fastest, then y, then z.
class WarpThreads {
 public:
  /// Thread loops; others are left out.
  void add(ForKind kind, VarId var, std::int64_t extent) {
    const auto axis = static_cast<std::size_t>(kind) - static_cast<std::size_t>(ForKind::thread_x);
    if (kind >= ForKind::thread_x && axis < axes_.size()) {
      axes_[axis] = {var, extent};
    }
  }
  bool has(VarId var) const {
    return axes_[0].var == var || axes_[1].var == var || axes_[2].var == var;
  }
  std::int64_t num_threads() const { return axes_[0].extent * axes_[1].extent * axes_[2].extent; }
  /// Gives the thread variables their values in that warp; the lanes that there are.
  LaneMask set_warp(std::int64_t warp, LaneEvaluator& lanes) const {
    std::int64_t stride = 1;
    for (const Axis& axis : axes_) {
      Lanes values;
      for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
        values[lane] = (32 * warp + static_cast<std::int64_t>(lane)) / stride % axis.extent;
      }
      if (axis.var.valid()) {
        lanes.set_lanes(axis.var, values);
      }
      stride *= axis.extent;
    }
    const std::int64_t left = num_threads() - 32 * warp;
    return left >= 32 ? all_lanes : (LaneMask{1} << left) - 1;
  }

 private:
  struct Axis {
    VarId var;
    std::int64_t extent = 1;
  };
  std::array<Axis, 3> axes_;
};

namespace detail {

/// A few dozen numbers, each kept once.
class DistinctNumbers {
 public:
  void insert(std::int64_t value) {
    for (std::size_t i = count_; i-- > 0;) {  // neighbours come one after the other
      if (values_[i] == value) {
        return;
      }
    }
    values_[count_++] = value;
  }
  std::size_t size() const { return count_; }
  std::int64_t operator[](std::size_t i) const { return values_[i]; }

 private:
  std::array<std::int64_t, 8 * warp_lanes> values_;
  std::size_t count_ = 0;
};

}  // namespace detail

struct GlobalCost {
  double sectors = 0;  ///< of 32 bytes
  double lines = 0;    ///< of 128 bytes
};

/// Of one instruction in which each lane of `mask` moves `width` bytes at its address.
inline GlobalCost global_cost(const Lanes& addresses, std::int64_t width, LaneMask mask) {
  detail::DistinctNumbers sectors, lines;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    if ((mask >> lane & 1U) != 0) {
      const std::int64_t first = addresses[lane], last = first + width - 1;
      sectors.insert(floor_div(first, 32));
      sectors.insert(floor_div(last, 32));
      lines.insert(floor_div(first, 128));
      lines.insert(floor_div(last, 128));
    }
  }
  return {static_cast<double>(sectors.size()), static_cast<double>(lines.size())};
}

/// Passes over the banks of shared memory that one instruction takes: 1 without conflicts and up to
/// 4 bytes per lane, 32 at worst.
inline double shared_passes(const Lanes& addresses, std::int64_t width, LaneMask mask) {
  const std::size_t group = width >= 16 ? 8 : width >= 8 ? 16 : 32;
  const std::int64_t words_per_lane = width <= 4 ? 1 : width / 4;
  std::size_t passes = 0;
  for (std::size_t first = 0; first < warp_lanes; first += group) {
    detail::DistinctNumbers words;
    for (std::size_t lane = first; lane < first + group; ++lane) {
      if ((mask >> lane & 1U) != 0) {
        const std::int64_t word = floor_div(addresses[lane], 4);
        for (std::int64_t i = 0; i < words_per_lane; ++i) {
          words.insert(word + i);
        }
      }
    }
    std::array<std::size_t, 32> in_bank{};
    std::size_t worst = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::size_t& count = in_bank[static_cast<std::size_t>(floor_mod(words[i], 32))];
      worst = ++count > worst ? count : worst;
    }
    passes += worst;
  }
  return static_cast<double>(passes);
}

/// Whether every lane's address is a multiple of `width`.
inline bool are_aligned(const Lanes& addresses, std::int64_t width, LaneMask mask) {
  LaneMask astray = 0;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) {
    astray |= floor_mod(addresses[lane], width) != 0 ? LaneMask{1} << lane : 0U;
  }
  return (astray & mask) == 0;
}

}  // namespace tensorsmith
