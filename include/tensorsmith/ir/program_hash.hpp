// SPDX-License-Identifier: Apache-2.0
// program_hash: 128 bits that stand for a loop program.
//
// Floor 1. Own design. Two programs that differ in nothing but the names of loops and buffers, the
// ids of variables and the way statements are grouped in sequences have the same hash; others have
// different ones, but for an accident of 1 in 2^128. Loops are told apart by how deep they stand,
// buffers by the order in which they are first met. Linear in the size of the program. Not here:
// programs that differ and mean the same.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/support/hash.hpp"

namespace tensorsmith {

struct ProgramHash {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const ProgramHash&) const = default;
};

/// For sets of texts (support/hash_map.hpp).
inline std::string to_key(const ProgramHash& hash) {
  std::string key;
  for (std::uint64_t part : {hash.high, hash.low}) {
    for (int shift = 0; shift < 64; shift += 8) {
      key.push_back(static_cast<char>(part >> shift));
    }
  }
  return key;
}

namespace detail {

/// Two chains of 64 bits with nothing in common but what is added.
class WideHash {
 public:
  WideHash& add(std::uint64_t value) {
    hash_.high = hash_combine(hash_.high, value);
    hash_.low = hash_combine(hash_.low, hash_mix(value ^ 0x5851f42d4c957f2dULL));
    return *this;
  }
  WideHash& add(const ProgramHash& part) { return add(part.high).add(part.low); }
  const ProgramHash& value() const { return hash_; }

 private:
  ProgramHash hash_{0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};  // digits of pi
};

class ProgramHasher {
 public:
  explicit ProgramHasher(const LoopProgram& program)
      : program_(program), depth_of_(program.pool.num_vars(), free_variable),
        numbers_(program.buffers.size(), not_met), memo_(program.pool.num_exprs()),
        stamps_(program.pool.num_exprs(), 0) {}

  ProgramHash run() { return of(program_.body); }

  /// Of one statement of the program. Variables that are bound outside of it count by their ids.
  ProgramHash of(StmtId part) {
    for (const BufferId id : met_) {
      numbers_[id.value] = not_met;
    }
    met_.clear();
    ++stamp_;
    hash_ = WideHash();
    stmt(part);
    for (const BufferId id : met_) {
      add(program_[id]);
    }
    return hash_.value();
  }

  /// The buffers of what was hashed last, in the order in which they are first met.
  const std::vector<BufferId>& buffers() const { return met_; }

 private:
  static constexpr std::uint32_t free_variable = UINT32_MAX, not_met = UINT32_MAX;
  enum Tag : std::uint64_t { end = 64, otherwise, free_name, buffer_facts, intrinsic_name };

  void add(std::uint64_t value) { hash_.add(value); }
  void add(const Buffer& buffer) {
    hash_.add(buffer_facts).add(static_cast<std::uint64_t>(buffer.dtype));
    hash_.add(buffer.shape.size());
    for (std::int64_t extent : buffer.shape) {
      add(static_cast<std::uint64_t>(extent));
    }
    for (std::int64_t stride : buffer.strides) {
      add(static_cast<std::uint64_t>(stride));
    }
    hash_.add(static_cast<std::uint64_t>(buffer.scope));
    hash_.add(static_cast<std::uint64_t>(buffer.alignment));
    hash_.add(static_cast<std::uint64_t>(std::int64_t{buffer.argument}));
    hash_.add((buffer.is_streamed ? 1U : 0U) + (buffer.is_swizzled ? 2U : 0U));
  }

  std::uint64_t number_of(BufferId id) {
    std::uint32_t& number = numbers_[id.value];
    if (number == not_met) {
      number = static_cast<std::uint32_t>(met_.size());
      met_.push_back(id);
    }
    return number;
  }

  void stmt(StmtId id) {
    if (!id.valid()) {
      return;
    }
    const Stmt& node = program_[id];
    if (const Seq* seq = std::get_if<Seq>(&node)) {
      for (StmtId item : seq->items) {
        stmt(item);
      }
      return;
    }
    add(node.index());
    std::visit(Overloaded{[](const Seq&) {}, [&](const For& loop) { this->loop(loop); },
                          [&](const Store& store) {
                            hash_.add(number_of(store.buffer)).add(store.is_async ? 1 : 0);
                            indices(store.indices);
                            hash_.add(expr(store.value));
                          },
                          [&](const If& choice) {
                            hash_.add(expr(choice.condition));
                            stmt(choice.then_body);
                            if (choice.else_body.valid()) {
                              add(otherwise);
                              stmt(choice.else_body);
                            }
                            add(end);
                          },
                          [&](const Alloc& alloc) {
                            add(number_of(alloc.buffer));
                            stmt(alloc.body);
                            add(end);
                          },
                          [&](const Barrier& barrier) {
                            hash_.add(static_cast<std::uint64_t>(barrier.scope));
                            hash_.add(static_cast<std::uint64_t>(barrier.pending));
                          },
                          [&](const Prefetch& prefetch) {
                            hash_.add(number_of(prefetch.buffer));
                            hash_.add(static_cast<std::uint64_t>(prefetch.level));
                            indices(prefetch.indices);
                          }},
               node);
  }

  void loop(const For& loop) {
    hash_.add(static_cast<std::uint64_t>(loop.kind)).add(expr(loop.extent));
    hash_.add(static_cast<std::uint64_t>(loop.load_sets));
    if (loop.intrinsic != nullptr) {
      hash_.add(intrinsic_name).add(hash_text(loop.intrinsic->name));
    }
    std::uint32_t& depth = depth_of_[loop.var.value];
    const std::uint32_t before = depth;
    if (depth != depth_) {
      ++stamp_;  // what was said of this variable was another loop
    }
    depth = depth_++;
    stmt(loop.body);
    --depth_;
    if (before != free_variable && before != depth_of_[loop.var.value]) {
      depth_of_[loop.var.value] = before;
      ++stamp_;
    }
    add(end);
  }

  void indices(const ExprList& list) {
    add(list.size());
    for (ExprId index : list) {
      hash_.add(expr(index));
    }
  }

  ProgramHash expr(ExprId id) {
    if (!id.valid()) {
      return {};
    }
    if (stamps_[id.value] == stamp_) {
      return memo_[id.value];
    }
    const ExprNode& node = program_.pool[id];
    WideHash hash;
    hash.add(node.op.index()).add(static_cast<std::uint64_t>(node.dtype));
    const auto all = [&](const ExprList& list) {
      hash.add(list.size());
      for (ExprId one : list) {
        hash.add(expr(one));
      }
    };
    std::visit(
        Overloaded{
            [&](const IntImm& n) { hash.add(static_cast<std::uint64_t>(n.value)); },
            [&](const FloatImm& n) { hash.add(math::bit_cast<std::uint64_t>(n.value)); },
            [&](const VarRef& n) {
              const std::uint32_t depth = depth_of_[n.var.value];
              if (depth == free_variable) {
                hash.add(free_name).add(n.var.value);
              } else {
                hash.add(depth);
              }
            },
            [&](const Unary& n) { hash.add(static_cast<std::uint64_t>(n.op)).add(expr(n.a)); },
            [&](const Binary& n) {
              hash.add(static_cast<std::uint64_t>(n.op)).add(expr(n.a)).add(expr(n.b));
            },
            [&](const Select& n) {
              all({n.condition, n.if_true, n.if_false});
            },
            [&](const Cast& n) { hash.add(expr(n.a)); },
            [&](const Call& n) {
              hash.add(static_cast<std::uint64_t>(n.op));
              all(n.args);
            },
            [&](const TensorRead& n) {
              hash.add(n.tensor.value);
              all(n.indices);
            },
            [&](const Load& n) {
              hash.add(number_of(n.buffer));
              all(n.indices);
            },
            [&](const Reduce& n) {
              hash.add(n.combiner.value).add(n.value_index).add(n.axes.size());
              for (VarId axis : n.axes) {
                hash.add(axis.value);
              }
              all(n.sources);
            }},
        node.op);
    memo_[id.value] = hash.value();
    stamps_[id.value] = stamp_;
    return hash.value();
  }

  const LoopProgram& program_;
  WideHash hash_;
  std::uint32_t depth_ = 0;
  std::vector<std::uint32_t> depth_of_;  ///< by variable
  std::vector<std::uint32_t> numbers_;   ///< by buffer
  std::vector<BufferId> met_;
  std::uint32_t stamp_ = 1;        ///< what was remembered with another one has changed
  std::vector<ProgramHash> memo_;  ///< by expression
  std::vector<std::uint32_t> stamps_;
};

}  // namespace detail

inline ProgramHash program_hash(const LoopProgram& program) {
  return detail::ProgramHasher(program).run();
}

}  // namespace tensorsmith
