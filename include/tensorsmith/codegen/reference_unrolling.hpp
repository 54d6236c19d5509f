// SPDX-License-Identifier: Apache-2.0
// unroll_as_reference: which loops of a kernel stand written out in the text that the reference
// gives to the compiler of a GPU. What the compiler makes of the others: compiler_unrolling.hpp.
//
// Floor 5. TVM's passes InjectVirtualThread and UnrollLoop, own code. From the inside out, in the
// loops of a stage that has a pragma and in what is attached to them: a loop is written out as long
// as its stores are no more than the pragma's number and no loop inside of it stays one. Virtual
// threads are if they are less than 16. What our own lowering would unroll does not count.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {
namespace detail {

class ReferenceUnrolling {
 public:
  ReferenceUnrolling(LoopProgram& program, const State& state) : program_(program) {
    for (std::size_t s = 0; s < state.num_stages(); ++s) {
      if (state.stage(s).auto_unroll_max_step > 0) {
        pragmas_.push_back({state.operation(s).name, state.stage(s).auto_unroll_max_step});
      }
    }
  }

  /// Below a statement.
  struct Counts {
    std::int64_t stores = 0;
    int unrolled = 0, left = 0;  ///< nested loops that are written out, and that stay loops
  };
  /// `most`: stores, by the pragma around it.
  Counts walk(StmtId id, std::int64_t most) {
    if (For* loop = std::get_if<For>(&program_.stmts[id.value])) {
      return walk_for(*loop, most);
    }
    Counts sum;
    sum.stores = program_.as<Store>(id) != nullptr ? 1 : 0;
    for_each_child(program_[id], [&](StmtId child) {
      const Counts next = walk(child, most);
      sum.stores += next.stores;
      sum.unrolled = larger_of(sum.unrolled, next.unrolled);
      sum.left = larger_of(sum.left, next.left);
    });
    return sum;
  }

 private:
  struct Pragma {
    std::string stage;
    std::int64_t most;
  };

  Counts walk_for(For& loop, std::int64_t most) {
    if (is_block_loop(loop.kind) || is_thread_loop(loop.kind)) {
      return walk(loop.body, most);
    }
    most = larger_of(most, most_inside(loop.body));
    Counts counts = walk(loop.body, most);
    const IntImm* extent = program_.pool.as<IntImm>(loop.extent);
    if (loop.kind == ForKind::vectorized || extent == nullptr) {
      return counts;
    }
    constexpr std::int64_t least_loop = 16;  // of virtual threads
    constexpr int most_nested = 8;
    if (loop.kind == ForKind::unrolled && is_vector(loop)) {
      return counts;
    }
    if (loop.kind == ForKind::unrolled && program_.pool.var_name(loop.var) == "v" &&
        extent->value < least_loop) {
      counts.stores *= extent->value;
      return counts;
    }
    const bool is_written_out =
        counts.left == 0 && counts.unrolled <= most_nested && extent->value * counts.stores <= most;
    loop.kind = is_written_out ? ForKind::unrolled : ForKind::serial;
    counts.stores *= is_written_out ? extent->value : 1;
    ++(is_written_out ? counts.unrolled : counts.left);
    return counts;
  }

  /// Neighbours of a copy that all do the same are one vector of the reference's, whatever their
  /// addresses are; where a condition differs, they are a loop.
  bool is_vector(const For& loop) const {
    const Store* store = program_.as<Store>(loop.body);
    if (store == nullptr || program_[store->buffer].scope != Scope::shared) {
      return false;
    }
    bool differs = false;
    visit_nodes(program_.pool, store->value, [&](ExprId id) {
      const Call* call = program_.pool.as<Call>(id);
      differs = differs || (call != nullptr && call->op == CallOp::if_then_else &&
                            uses_var(program_.pool, call->args[0], loop.var));
    });
    return !differs;
  }

  /// The largest number of the stages that store something there.
  std::int64_t most_inside(StmtId id) const {
    std::int64_t most = 0;
    if (const Store* store = program_.as<Store>(id)) {
      for (const Pragma& pragma : pragmas_) {
        most = pragma.stage == program_[store->buffer].name ? larger_of(most, pragma.most) : most;
      }
    }
    for_each_child(program_[id], [&](StmtId child) { most = larger_of(most, most_inside(child)); });
    return most;
  }

  LoopProgram& program_;
  std::vector<Pragma> pragmas_;
};

}  // namespace detail

/// `program` is what `state` was lowered to, for a GPU.
inline void unroll_as_reference(LoopProgram& program, const State& state) {
  detail::ReferenceUnrolling(program, state).walk(program.body, 0);
}

}  // namespace tensorsmith
