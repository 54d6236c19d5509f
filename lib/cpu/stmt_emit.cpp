// SPDX-License-Identifier: Apache-2.0
// Statements: loops with their phis, branches, allocations.
#include <algorithm>

#include "function_emitter.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t max_stack_buffer_bytes = 16 * 1024;
constexpr std::int64_t max_stack_bytes = 64 * 1024;

std::int64_t round_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

FunctionState::FunctionState(KernelEmitter& kernel, LLVMValueRef function)
    : kernel(kernel), program(kernel.program), facts(kernel.facts), m(kernel.m), function(function),
      b(kernel.m), addresses(b), bindings(program.pool.num_vars()),
      buffers(program.buffers.size()) {
  b.at_end(new_block());
  addresses.open_function();
}

void FunctionState::bind_constant(VarId var, std::int64_t value) {
  Binding& binding = bindings[var.value];
  binding = Binding{Binding::Kind::scalar, {}};
  binding.value.constant = value;
}

void FunctionEmitter::bind_buffer(BufferId buffer, LLVMValueRef pointer) {
  buffers_[buffer.value] = BufferState{pointer, next_base_id_++, true};
}

void FunctionEmitter::bind_scalar(VarId var, LLVMValueRef value) {
  bind_term(var, addresses_.add_term(value, 0));
}

void FunctionEmitter::bind_term(VarId var, std::uint32_t term, std::int64_t coefficient) {
  Binding& binding = bindings_[var.value];
  binding = Binding{Binding::Kind::scalar, {}};
  binding.value.terms.push_back(LinearTerm{term, coefficient});
}

void FunctionEmitter::finish() {
  if (memory_.has_streamed()) {  // other threads see what was written past the caches
    if (m_.is_arm()) {
      LLVMBuildFence(b_.ref, LLVMAtomicOrderingRelease, 0, "");
    } else {
      b_.intrinsic("llvm.x86.sse.sfence", {}, {});
    }
  }
  tiles_.configure();
  LLVMBuildRetVoid(b_.ref);
  addresses_.close_function();
}

void FunctionEmitter::emit(StmtId id) {
  std::visit(Overloaded{[&](const Seq& s) {
                          for (StmtId item : s.items) {
                            emit(item);
                          }
                        },
                        [&](const For& s) { is_outermost_ ? emit_outermost(id, s) : emit_loop(s); },
                        [&](const Store& s) { emit_store(s); }, [&](const If& s) { emit_if(s); },
                        [&](const Alloc& s) { emit_alloc(s); }, [](const Barrier&) {},
                        [&](const Prefetch& s) { memory_.emit_prefetch(s); }},
             program_[id]);
}

std::int64_t FunctionEmitter::constant_extent(const For& loop) {
  memo_.clear();
  const LinearForm extent = values_.form(loop.extent);
  if (!extent.is_constant()) {
    give_up("the extent of loop " + program_.pool.var_name(loop.var) + " must be constant");
  }
  return extent.constant;
}

void FunctionEmitter::check_unbound(const For& loop) const {
  if (bindings_[loop.var.value].kind != Binding::Kind::none) {
    give_up("loop variable " + program_.pool.var_name(loop.var) + " is already in use");
  }
}

std::optional<Transposition> FunctionEmitter::transposition_of(const For& loop) const {
  if (loop.kind == ForKind::vectorized || chunk_.lanes > 1) {
    return std::nullopt;
  }
  auto plan = find_transposition(program_, facts_, loop, native_lanes(facts_.of(loop.body)));
  return plan && loop.kind == ForKind::parallel && !plan->is_interleaving && !plan->is_joint
             ? std::nullopt
             : plan;
}

void FunctionEmitter::emit_loop(const For& loop) {
  kernel_.count_statement();
  check_unbound(loop);
  if (tiles_.emit_run(loop)) {
    return;
  }
  if (loop.intrinsic != nullptr && !loop.intrinsic->has_tiles() && group_ == nullptr &&
      constant_extent(loop) == loop.intrinsic->k) {
    emit_tensor(loop);
    return;
  }
  if (loop.kind == ForKind::parallel && runtime_ != nullptr && !in_vectorized_) {
    emit_parallel(loop);
    return;
  }
  if (const auto plan = transposition_of(loop)) {
    emit_transposed(loop, *plan);
    return;
  }
  switch (loop.kind) {
  case ForKind::serial:
  case ForKind::parallel:
    break;
  case ForKind::unrolled:
    emit_unrolled(loop, constant_extent(loop));
    return;
  case ForKind::vectorized:
    emit_vectorized(loop);
    return;
  default:
    give_up("loop " + program_.pool.var_name(loop.var) + " is bound to GPU threads");
  }
  memo_.clear();
  const LinearForm extent = values_.form(loop.extent);
  if (!extent.is_uniform() || extent.is_lane_opaque) {
    give_up("the extent of loop " + program_.pool.var_name(loop.var) + " differs between lanes");
  }
  if (extent.is_constant()) {
    emit_counted(loop, extent.constant);
    return;
  }
  emit_range(loop, m_.const_i64(0), addresses_.value(extent), facts_.is_nonempty(loop));
}

void FunctionEmitter::emit_counted(const For& loop, std::int64_t extent) {
  const bool must_expand = loop.kind == ForKind::vectorized && uses_registers(facts_.of(loop.body));
  if (extent <= 1 || must_expand || is_short_run(loop, extent)) {
    emit_unrolled(loop, extent);
    return;
  }
  emit_serial(m_.const_i64(0), m_.const_i64(extent), true, facts_.of(loop.body),
              [&](std::uint32_t term) {
                bind_term(loop.var, term);
                emit(loop.body);
              });
  bindings_[loop.var.value] = Binding{};
}

void FunctionEmitter::emit_range(const For& loop, LLVMValueRef begin, LLVMValueRef end,
                                 bool is_nonempty) {
  emit_serial(begin, end, is_nonempty, facts_.of(loop.body), [&](std::uint32_t term) {
    bind_term(loop.var, term);
    emit(loop.body);
  });
  bindings_[loop.var.value] = Binding{};
}

void FunctionEmitter::emit_share(const For& loop, LLVMValueRef begin, LLVMValueRef end) {
  if (const auto plan = transposition_of(loop)) {
    emit_transposed_range(loop, *plan, begin, end);
  } else {
    emit_range(loop, begin, end);
  }
}

void FunctionEmitter::emit_unrolled(const For& loop, std::int64_t extent) {
  for (std::int64_t i = 0; i < extent; ++i) {
    kernel_.count_statement();
    bind_constant(loop.var, i);
    emit(loop.body);
  }
  bindings_[loop.var.value] = Binding{};
}

void FunctionEmitter::emit_serial(LLVMValueRef begin, LLVMValueRef end, bool is_nonempty,
                                  const StmtFacts& facts, const LoopBody& body) {
  const LLVMBasicBlockRef preheader = b_.block();
  const LLVMBasicBlockRef header = state_.new_block();
  const LLVMBasicBlockRef exit = state_.new_block();
  if (is_nonempty) {
    LLVMBuildBr(b_.ref, header);
  } else {
    LLVMBuildCondBr(b_.ref, b_.icmp(LLVMIntSLT, begin, end), header, exit);
  }
  const RegisterFile before = registers_;
  LoadCache loads_before = std::move(loads_);
  loads_.clear();
  memo_.clear();

  b_.at_end(header);
  const LLVMValueRef variable = LLVMBuildPhi(b_.ref, m_.i64, "");
  LLVMBasicBlockRef from = preheader;
  LLVMAddIncoming(variable, &begin, &from, 1);
  const RegisterFile carried = open_registers(preheader, facts);
  const std::uint32_t term = addresses_.open_loop(preheader, variable, begin);
  body(term);
  const LLVMValueRef is_not_last = addresses_.close_loop(end);
  const LLVMBasicBlockRef latch = b_.block();
  close_registers(carried, latch);
  const LLVMValueRef branch = LLVMBuildCondBr(b_.ref, is_not_last, header, exit);
  if (!facts.has_loop) {
    LLVMSetMetadata(branch, m_.md_loop, m_.loop_metadata());
  }

  b_.at_end(exit);
  if (!is_nonempty) {
    const RegisterFile after = registers_;
    merge_registers(before, preheader, after, latch);
  }
  memo_.clear();
  loads_ = std::move(loads_before);
  memory_.forget_loads(facts);
}

// Every piece of a register buffer that the loop writes becomes a phi.
RegisterFile FunctionEmitter::open_registers(LLVMBasicBlockRef preheader, const StmtFacts& facts) {
  RegisterFile carried;
  for (const auto& [buffer, pieces] : registers_.buffers()) {
    if (!facts.stores(buffer)) {
      continue;
    }
    for (const Piece& piece : pieces) {
      Piece phi = piece;
      phi.value = LLVMBuildPhi(b_.ref, LLVMTypeOf(piece.value), "");
      LLVMValueRef init = piece.value;
      LLVMAddIncoming(phi.value, &init, &preheader, 1);
      carried.pieces(buffer).push_back(phi);
    }
  }
  for (const auto& [buffer, pieces] : carried.buffers()) {
    registers_.pieces(buffer) = pieces;
  }
  return carried;
}

void FunctionEmitter::close_registers(const RegisterFile& carried, LLVMBasicBlockRef latch) {
  std::vector<std::pair<LLVMValueRef, LLVMValueRef>> phis;  // with the value at the latch
  for (const auto& [buffer, pieces] : carried.buffers()) {
    for (const Piece& piece : pieces) {
      phis.emplace_back(piece.value,
                        registers_.read(b_, buffer, program_[buffer].dtype, piece.start,
                                        piece.count, lanes_of(piece.value)));
    }
  }
  for (auto& [phi, value] : phis) {
    if (phi != value) {
      LLVMAddIncoming(phi, &value, &latch, 1);
      continue;
    }
    // Not written after all.
    const LLVMValueRef init = LLVMGetIncomingValue(phi, 0);
    LLVMReplaceAllUsesWith(phi, init);
    registers_.replace_value(phi, init);
    for (auto& [other, other_value] : phis) {
      if (other != phi && other_value == phi) {
        other_value = init;
      }
    }
    LLVMInstructionEraseFromParent(phi);
  }
}

void FunctionEmitter::merge_registers(const RegisterFile& then_state, LLVMBasicBlockRef then_end,
                                      const RegisterFile& else_state, LLVMBasicBlockRef else_end) {
  const LLVMBasicBlockRef join = b_.block();
  RegisterFile merged;
  std::vector<BufferId> all;
  for (const RegisterFile* state : {&then_state, &else_state}) {
    for (const auto& [buffer, pieces] : state->buffers()) {
      all.push_back(buffer);
    }
  }
  IrBuilder side(m_);
  for (BufferId buffer : all) {
    if (merged.contains(buffer)) {
      continue;
    }
    const auto pieces_of = [&](const RegisterFile& state) {
      return state.contains(buffer) ? state.buffers().at(buffer) : Pieces{};
    };
    Pieces& result = merged.pieces(buffer);
    for (Piece piece : united_shape(pieces_of(then_state), pieces_of(else_state))) {
      const int lanes = piece.value == nullptr ? piece.count : lanes_of(piece.value);
      LLVMBasicBlockRef ends[] = {then_end, else_end};
      LLVMValueRef values[2];
      for (int arm = 0; arm < 2; ++arm) {
        side.before(LLVMGetBasicBlockTerminator(ends[arm]));
        values[arm] =
            (arm == 0 ? then_state : else_state)
                .read(side, buffer, program_[buffer].dtype, piece.start, piece.count, lanes);
      }
      piece.value = values[0];
      if (values[0] != values[1]) {
        b_.at_end(join);
        piece.value = LLVMBuildPhi(b_.ref, LLVMTypeOf(values[0]), "");
        LLVMAddIncoming(piece.value, values, ends, 2);
      }
      result.push_back(piece);
    }
  }
  b_.at_end(join);
  registers_ = merged;
}

void FunctionEmitter::emit_if(const If& branch) {
  kernel_.count_statement();
  memo_.clear();
  const LLVMValueRef condition = values_.eval_condition(branch.condition);
  const int known = constant_bool(condition);
  const auto emit_else = [&] {
    if (branch.else_body.valid()) {
      emit(branch.else_body);
    }
  };
  if (known == 1) {
    emit(branch.then_body);
  } else if (known == 0) {
    emit_else();
  } else if (lanes_of(condition) > 1) {
    const LLVMValueRef outer = chunk_.mask;
    chunk_.mask = outer == nullptr ? condition : b_.and_(outer, condition);
    emit(branch.then_body);
    if (branch.else_body.valid()) {
      const LLVMValueRef other = b_.not_(condition);
      chunk_.mask = outer == nullptr ? other : b_.and_(outer, other);
      emit(branch.else_body);
    }
    chunk_.mask = outer;
  } else {
    emit_branch(
        condition, [&] { emit(branch.then_body); }, emit_else);
  }
}

void FunctionEmitter::emit_branch(LLVMValueRef condition, const Body& then_body,
                                  const Body& else_body) {
  const LLVMBasicBlockRef then_begin = state_.new_block();
  const LLVMBasicBlockRef else_begin = state_.new_block();
  const LLVMBasicBlockRef join = state_.new_block();
  LLVMBuildCondBr(b_.ref, condition, then_begin, else_begin);
  const RegisterFile before = registers_;
  const LoadCache loads_before = loads_;
  const auto arm = [&](LLVMBasicBlockRef begin, const Body& body) {
    registers_ = before;
    loads_ = loads_before;
    memo_.clear();
    b_.at_end(begin);
    body();
    LLVMBuildBr(b_.ref, join);
    return b_.block();
  };
  const LLVMBasicBlockRef then_end = arm(then_begin, then_body);
  const RegisterFile then_state = registers_;
  const LoadCache then_loads = loads_;
  const LLVMBasicBlockRef else_end = arm(else_begin, else_body);
  const RegisterFile else_state = registers_;
  // Known before the branch and after both arms.
  LoadCache kept;
  for (const auto& [key, load] : loads_before) {
    if (then_loads.count(key) != 0 && loads_.count(key) != 0 &&
        then_loads.at(key).value.ref == load.value.ref &&
        loads_.at(key).value.ref == load.value.ref) {
      kept.emplace(key, load);
    }
  }
  loads_ = std::move(kept);
  memo_.clear();
  b_.at_end(join);
  merge_registers(then_state, then_end, else_state, else_end);
}

void FunctionEmitter::emit_store(const Store& store) {
  memo_.clear();
  group_ != nullptr ? write_group(store) : write(store);
}

// With what is known of its value in memo_.
void FunctionEmitter::write(const Store& store) {
  kernel_.count_statement();
  memory_.alive(store.buffer);
  if (fetches_ahead_) {
    fetch_ahead(store);
  }
  state_.is_raw_copy = memory_.is_raw_copy(store);
  const Value value = values_.eval_as(store.value, chunk_.lanes);
  state_.is_raw_copy = false;
  const LinearForm where = values_.flat_form(store.buffer, store.indices);
  memory_.store(store, where, value);
}

// Up to 16 KiB on the stack, in slots that later buffers reuse; else from the workspace.
FunctionEmitter::StackSlot FunctionEmitter::allocate(const Buffer& buffer) {
  const std::int64_t bytes = round_up(buffer.num_bytes());
  const auto reusable = std::find_if(free_slots_.begin(), free_slots_.end(),
                                     [&](const StackSlot& slot) { return slot.bytes >= bytes; });
  if (reusable != free_slots_.end() && bytes <= max_stack_buffer_bytes) {
    const StackSlot slot = *reusable;
    free_slots_.erase(reusable);
    return slot;
  }
  IrBuilder& entry = addresses_.at(0);
  if (bytes <= max_stack_buffer_bytes && stack_bytes_ + bytes <= max_stack_bytes) {
    stack_bytes_ += bytes;
    const LLVMTypeRef type = LLVMArrayType2(m_.i8, static_cast<std::uint64_t>(bytes));
    const LLVMValueRef slot = LLVMBuildAlloca(entry.ref, type, "");
    LLVMSetAlignment(slot, 64);
    return {bytes, slot};
  }
  const LLVMValueRef pointer = entry.offset(workspace_, area_.used);
  area_.used += bytes;
  area_.peak = std::max(area_.peak, area_.used);
  return {0, pointer};
}

void FunctionEmitter::emit_alloc(const Alloc& alloc) {
  const Buffer& buffer = program_[alloc.buffer];
  if (buffers_[alloc.buffer.value].is_alive) {
    give_up("buffer " + buffer.name + " is allocated twice");
  }
  if (buffer.scope == Scope::register_) {
    registers_.forget(alloc.buffer);
    bind_buffer(alloc.buffer, nullptr);
    emit(alloc.body);
    registers_.forget(alloc.buffer);
    buffers_[alloc.buffer.value] = BufferState{};
    return;
  }
  const std::int64_t used = area_.used;
  const StackSlot slot = allocate(buffer);
  bind_buffer(alloc.buffer, slot.pointer);
  if (!tiles_.emit_body(alloc)) {
    emit(alloc.body);
  }
  memory_.forget_loads(alloc.buffer);  // its memory may soon be another buffer's
  buffers_[alloc.buffer.value] = BufferState{};
  if (slot.bytes > 0) {
    free_slots_.push_back(slot);
  }
  area_.used = used;
}

}  // namespace tensorsmith::llvm_codegen
