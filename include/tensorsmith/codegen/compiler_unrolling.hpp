// SPDX-License-Identifier: Apache-2.0
// CompilerUnrolling: how far the compiler of a GPU writes out loops of a text that says nothing
// about them, such as what the reference leaves (reference_unrolling.hpp).
//
// Floor 5. Own design, by what NVRTC 11.8 to 13.0 make of such texts (decision 0047). Loops that
// number the elements of an array of the thread are written out further than others, because only
// then the array is registers. Any other loop stays one if a loop inside of it does.
//     copies into shared memory   96 turns, or 64 of them at once
//     sums of global memory       128 terms, or 32 of them at once
//     other sums                  512 terms
//     over arrays of the thread   1700 instructions; 3500 if one turn is a straight line of 500
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

class CompilerUnrolling {
 public:
  explicit CompilerUnrolling(const LoopProgram& program) : program_(program) {}

  /// Turns of a serial loop that one straight line has: 1, all, or a part that divides them.
  std::int64_t factor(const For& loop) {
    for (const Known& known : known_) {
      if (known.var == loop.var) {
        return known.factor;
      }
    }
    const std::int64_t found = find_factor(loop);
    known_.push_back({loop.var, found});
    return found;
  }

 private:
  struct Known {
    VarId var;
    std::int64_t factor;
  };
  /// What stands in a loop, with what is written out of it.
  struct Inside {
    double stores = 0;
    bool has_loop = false;    ///< that the text does not write out
    bool keeps_loop = false;  ///< nor does the compiler
    bool has_barrier = false, is_copy = false, reads_global = false;
  };

  std::int64_t find_factor(const For& loop) {
    const IntImm* extent = program_.pool.as<IntImm>(loop.extent);
    Inside inside;
    look(loop.body, inside, 1);
    if (extent == nullptr || inside.has_barrier) {
      return 1;
    }
    const auto turns = static_cast<double>(extent->value);
    if (numbers_array(loop.body, loop.var)) {
      constexpr double most = 1700, most_straight = 3500, most_of_turn = 500;
      std::vector<const For*> around{&loop};
      const double size = instructions(loop.body, around);
      const bool is_straight = !inside.has_loop && size <= most_of_turn * turns;
      return size <= (is_straight ? most_straight : most) ? extent->value : 1;
    }
    if (inside.keeps_loop) {
      return 1;
    }
    const double most = inside.is_copy ? 96 : inside.reads_global ? 128 : 512;
    if (turns * inside.stores <= most) {
      return extent->value;
    }
    const double most_at_once = inside.is_copy ? 64 : 32;
    std::int64_t part = 1;
    for (std::int64_t n = 1; static_cast<double>(n) * larger_of(inside.stores, 1.0) <= most_at_once;
         ++n) {
      part = extent->value % n == 0 ? n : part;
    }
    return part;
  }

  double turns_of(const For& loop) {
    const IntImm* extent = program_.pool.as<IntImm>(loop.extent);
    if (extent == nullptr || loop.kind == ForKind::vectorized) {
      return 1;
    }
    return static_cast<double>(loop.kind == ForKind::serial ? factor(loop) : extent->value);
  }

  void look(StmtId id, Inside& inside, double copies) {
    if (const For* loop = program_.as<For>(id)) {
      const IntImm* extent = program_.pool.as<IntImm>(loop->extent);
      const double turns = turns_of(*loop);
      const bool is_left = loop->kind == ForKind::serial;
      inside.has_loop = inside.has_loop || is_left;
      inside.keeps_loop =
          inside.keeps_loop ||
          (is_left && (extent == nullptr || turns < static_cast<double>(extent->value)));
      return look(loop->body, inside, copies * turns);
    }
    if (const Store* store = program_.as<Store>(id)) {
      inside.stores += copies;
      inside.is_copy = inside.is_copy || program_[store->buffer].scope == Scope::shared;
      visit_loads(store->value, [&](const Load& load) {
        inside.reads_global = inside.reads_global || program_[load.buffer].scope == Scope::global;
      });
    }
    inside.has_barrier = inside.has_barrier || program_.as<Barrier>(id) != nullptr;
    for_each_child(program_[id], [&](StmtId child) { look(child, inside, copies); });
  }

  template <class F>
  void visit_loads(ExprId value, const F& f) const {
    visit_nodes(program_.pool, value, [&](ExprId id) {
      if (const Load* load = program_.pool.as<Load>(id)) {
        f(*load);
      }
    });
  }
  bool depends(const ExprList& indices, VarId var) const {
    bool found = false;
    for (const ExprId index : indices) {
      found = found || uses_var(program_.pool, index, var);
    }
    return found;
  }

  /// Whether an array of the thread is indexed by it.
  bool numbers_array(StmtId id, VarId var) const {
    bool found = false;
    const auto look_at = [&](BufferId buffer, const ExprList& indices) {
      found = found || (program_[buffer].scope == Scope::local && depends(indices, var));
    };
    if (const Store* store = program_.as<Store>(id)) {
      look_at(store->buffer, store->indices);
      visit_loads(store->value, [&](const Load& load) { look_at(load.buffer, load.indices); });
    }
    return found ||
           any_child(program_[id], [&](StmtId child) { return numbers_array(child, var); });
  }

  /// Of a loop once it is written out, before the compiler finds out what is the same in several
  /// turns: every operation, and loads and stores as often as a loop that they depend on runs, or
  /// one around that. `around`: from the loop that is asked about.
  double instructions(StmtId id, std::vector<const For*>& around) {
    double sum = 0;
    if (const For* loop = program_.as<For>(id)) {
      around.push_back(loop);
      sum = instructions(loop->body, around);
      around.pop_back();
      return sum;
    }
    if (const Store* store = program_.as<Store>(id)) {
      sum += accesses(store->indices, around);
      double runs = 1;
      for (const For* loop : around) {
        runs *= written_out(*loop, around);
      }
      visit_nodes(program_.pool, store->value, [&](ExprId e) {
        if (const Load* load = program_.pool.as<Load>(e)) {
          sum += accesses(load->indices, around);
        } else if (program_.pool.as<Binary>(e) != nullptr && is_float(program_.pool.dtype(e))) {
          sum += runs;
        }
      });
    }
    for_each_child(program_[id], [&](StmtId child) { sum += instructions(child, around); });
    return sum;
  }
  /// Turns of one of these loops, the first of which is taken as written out.
  double written_out(const For& loop, const std::vector<const For*>& around) {
    const IntImm* extent = program_.pool.as<IntImm>(loop.extent);
    return &loop == around.front() ? static_cast<double>(extent->value) : turns_of(loop);
  }
  double accesses(const ExprList& indices, const std::vector<const For*>& around) {
    double product = 1;
    bool stays_inside = false;  // of a loop of the text, from which it cannot be taken out
    for (std::size_t i = around.size(); i-- > 0;) {
      const bool is_left = around[i]->kind == ForKind::serial;
      const bool is_needed = depends(indices, around[i]->var);
      stays_inside = stays_inside || (is_needed && is_left);
      product *= is_needed || (stays_inside && is_left) ? written_out(*around[i], around) : 1;
    }
    return product;
  }

  const LoopProgram& program_;
  std::vector<Known> known_;
};

}  // namespace tensorsmith
