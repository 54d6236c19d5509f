// SPDX-License-Identifier: Apache-2.0
// EmitContext: the program that is being emitted, and what all parts of the emitter ask for.
//
// Floor 4. The lowest of four classes, each of which uses those below it: what is decided of a nest
// on CPUs (nest_decisions.hpp), of one thread's on GPUs (thread_decisions.hpp), statements
// (emit.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/lower/emission.hpp"

namespace tensorsmith::detail {

class EmitContext {
 protected:
  EmitContext(const State& state, const Target& target, bool has_shuffles)
      : state_(state), target_(target), program_(state.dag().pool_ptr()),
        is_gpu_(target.kind == TargetKind::cuda), has_shuffles_(has_shuffles) {
    if (is_gpu_) {
      extents_.reduce_quotients();
    }
  }

  bool is_inlined(std::int32_t stage) const {
    return state_.stage(static_cast<std::size_t>(stage)).compute_at == ComputeAt::inlined;
  }
  ExprId expr(const Affine& form) { return to_expr(program_.pool, form); }
  Affine affine(ExprId id) { return to_affine(program_.pool, extents_, id); }
  StmtId seq(std::vector<StmtId> items) {
    return items.size() == 1 ? items[0] : program_.add(Seq{std::move(items)});
  }
  void fail(LowerErrorCode code, std::int32_t stage) {
    if (!error_) {
      error_ = LowerError{code, stage};
    }
  }

  // emit_values.hpp: places and values
  void make_home(std::int32_t stage, const std::vector<Affine>& origin,
                 const std::vector<std::int64_t>& extent, Scope scope);
  ExprId value_of(ExprId id, const std::vector<std::pair<VarId, ExprId>>& env);
  ExprId fold(ExprId id);
  std::vector<Affine> forms_of(const Emission& e, const TensorRead& read);
  ExprList place(TensorId tensor, const ExprList& indices);
  // emit_terms.hpp: when terms count
  void take_solved(Emission& e, const std::vector<TermCondition>& conditions);
  Affine form_of(const Nest& nest, const TermCondition& condition);

  std::vector<std::vector<std::uint32_t>> readers_;  ///< of every operation
  std::vector<ShapedNest>* shaped_ = nullptr;
  const State& state_;
  const Target& target_;
  LoopProgram program_;
  VarExtents extents_;
  std::vector<StageDerivation> derivations_;
  std::vector<TensorHome> homes_;
  std::vector<const StorageLayoutStep*> layouts_;  // per stage
  std::vector<Emission*> active_;
  std::vector<PlannedBox> planned_;          // of stages inside of the loops being emitted
  std::vector<PlannedBox>* plan_ = nullptr;  // of the readers of a region that is asked for
  FinishedTensor finished_;
  bool cannot_finish_ = false;                  // the attempt to write a reader's elements failed
  const std::vector<ExprId>* holds_ = nullptr;  // comparisons that are true in this body
  std::int32_t parallel_depth_ = 0;
  bool is_gpu_ = false;
  bool has_shuffles_ = true, has_torn_groups_ = false;
  bool relaxes_threads_ = false;  // regions are those of all threads of a block together
  Kernel kernel_;
  std::optional<LowerError> error_;
};

}  // namespace tensorsmith::detail

#include "tensorsmith/lower/emit_terms.hpp"
#include "tensorsmith/lower/emit_values.hpp"
