// SPDX-License-Identifier: Apache-2.0
// RegisterPlan: which loops exported C++ expands so that register buffers become variables.
//
// Floor 5. Own design.
//     acc[i][j] (+)= ..., i unrolled in 2, j vectorized in 32  -->  f32x16 acc_0_0, acc_0_16, ...
// A buffer whose indices do not become constants that way stays an array; that is always right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/codegen/c_like.hpp"
#include "tensorsmith/codegen/widest_element.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct RegisterPlan {
  /// Per buffer: 0 = array, 1 = one variable per element, else lanes of one variable.
  std::vector<std::int32_t> lanes;
  std::vector<bool> expand;         ///< per statement: a loop to be written out
  std::vector<std::int32_t> chunk;  ///< per statement: lanes of a vectorized loop, else 0
};

namespace detail {

class RegisterPlanner : CLikePrinter {
 public:
  RegisterPlanner(const LoopProgram& program, std::int32_t vector_bytes)
      : CLikePrinter(program), vector_bytes_(vector_bytes) {
    plan_.lanes.assign(program.buffers.size(), -1);
    plan_.expand.assign(program.stmts.size(), false);
    plan_.chunk.assign(program.stmts.size(), 0);
    loops_of_.resize(program.buffers.size());
  }
  RegisterPlan run() {
    walk(program_.body);
    for (std::size_t b = 0; b < plan_.lanes.size(); ++b) {
      if (program_.buffers[b].scope != Scope::register_) {
        plan_.lanes[b] = 0;
        continue;
      }
      plan_.lanes[b] = plan_.lanes[b] < 0 ? 1 : plan_.lanes[b];
      for (StmtId loop : plan_.lanes[b] > 0 ? loops_of_[b] : std::vector<StmtId>{}) {
        plan_.expand[loop.value] = true;
      }
    }
    return plan_;
  }

 private:
  struct OpenLoop {
    VarId var;
    StmtId stmt;
    std::int64_t extent;  // 0 = not constant
    std::int32_t chunk;   // 0 = not vectorized
  };

  CText load(const Load&) const override { return {"@load"}; }

  void walk(StmtId id) {
    if (const For* loop = program_.as<For>(id)) {
      return walk_loop(id, *loop);
    }
    if (const Store* store = program_.as<Store>(id)) {
      access(store->buffer, store->indices);
    }
    if (program_.as<Prefetch>(id) == nullptr) {
      for_each_expr(program_[id], [&](ExprId expr) { loads(expr); });
    }
    for_each_child(program_[id], [&](StmtId child) { walk(child); });
  }
  void walk_loop(StmtId id, const For& loop) {
    const IntImm* extent = program_.pool.as<IntImm>(loop.extent);
    OpenLoop open{loop.var, id, extent != nullptr ? extent->value : 0, 0};
    if (loop.kind == ForKind::vectorized && extent != nullptr) {
      std::int32_t limit = vector_bytes_ / widest_element_bytes(program_, loop.body);
      while (open.extent % limit != 0) {
        limit /= 2;
      }
      open.chunk = limit;
      plan_.chunk[id.value] = limit;
    }
    bind(loop.var, open.extent == 1 ? LinearText::of(std::int64_t{0})
                                    : LinearText::of("@" + std::to_string(loop.var.value)));
    loops_.push_back(open);
    walk(loop.body);
    loops_.pop_back();
  }
  void loads(ExprId root) {
    visit_nodes(program_.pool, root, [&](ExprId e) {
      if (const Load* node = program_.pool.as<Load>(e)) {
        access(node->buffer, node->indices);
      }
    });
  }
  void access(BufferId buffer, const ExprList& indices) {
    if (program_[buffer].scope != Scope::register_ || plan_.lanes[buffer.value] == 0) {
      return;
    }
    std::int32_t& lanes = plan_.lanes[buffer.value];
    std::int64_t copies = 1;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const LinearText index = linear(indices[d]);
      std::int32_t chunk = 0;
      for (const OpenLoop& loop : loops_) {
        if (!uses_var(program_.pool, indices[d], loop.var)) {
          continue;
        }
        const DType type = program_[buffer].dtype;
        const bool has_vectors = type == DType::f32 || type == DType::f64;
        if (loop.chunk > 1 && has_vectors && d + 1 == indices.size() &&
            index.coefficient_of("@" + std::to_string(loop.var.value)) == 1) {
          chunk = loop.chunk;
          continue;
        }
        copies *= larger_of<std::int64_t>(loop.extent, 1);
        if (loop.extent == 0 || loop.chunk > 1 || copies > 1024) {
          lanes = 0;
          return;
        }
        loops_of_[buffer.value].push_back(loop.stmt);
      }
      bool fits = chunk == 0 || index.constant % chunk == 0;
      std::int32_t steps_of_one = 0;  // the vectorized loop's own, no other's
      for (const auto& [text, coefficient] : index.terms) {
        steps_of_one += coefficient == 1;
        fits = fits && text.find("@load") == std::string::npos &&
               (chunk == 0 || coefficient % chunk == 0 || (coefficient == 1 && steps_of_one == 1));
      }
      if (!fits || (chunk != 0 && lanes > 0 && lanes != chunk)) {
        lanes = 0;
        return;
      }
      lanes = chunk != 0 ? chunk : lanes;
    }
  }

  std::int32_t vector_bytes_;
  RegisterPlan plan_;
  std::vector<OpenLoop> loops_;
  std::vector<std::vector<StmtId>> loops_of_;
};

}  // namespace detail

/// `vector_bytes`: of the largest vector of the text, a power of two from 8 on. Compilers take
/// wider ones than the processor has apart through memory.
inline RegisterPlan plan_registers(const LoopProgram& program, std::int32_t vector_bytes) {
  return detail::RegisterPlanner(program, vector_bytes).run();
}

}  // namespace tensorsmith
