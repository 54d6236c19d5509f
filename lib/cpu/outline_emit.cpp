// SPDX-License-Identifier: Apache-2.0
// Statements that become functions of their own: bodies of parallel loops, loops of long kernels.
#include <algorithm>

#include "function_emitter.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith::llvm_codegen {

struct FunctionEmitter::Captured {
  KernelEmitter::Captures captures;
  std::vector<LLVMValueRef> pointers, values;  ///< of its buffers and variables
};

FunctionEmitter::Captured FunctionEmitter::capture(const StmtFacts& facts,
                                                   const std::vector<BufferId>& buffers) {
  memo_.clear();
  Captured all;
  std::vector<BufferId>& captured = all.captures.buffers;
  for (const BufferId buffer : buffers) {
    const BufferState& state = buffers_[buffer.value];
    if (state.is_alive && std::find(captured.begin(), captured.end(), buffer) == captured.end()) {
      captured.push_back(buffer);
      all.pointers.push_back(state.pointer);
    }
  }
  for (VarId var : facts.vars) {
    const Binding& binding = bindings_[var.value];
    if (binding.kind != Binding::Kind::scalar) {
      continue;
    }
    if (binding.value.is_constant()) {
      all.captures.constants.emplace_back(var, binding.value.constant);
    } else {
      all.captures.vars.push_back(var);
      all.values.push_back(addresses_.value(binding.value));
    }
  }
  return all;
}

void FunctionEmitter::emit_parallel(const For& loop) {
  memo_.clear();
  const LinearForm extent = values_.form(loop.extent);
  const StmtFacts& facts = facts_.of(loop.body);
  std::vector<BufferId> buffers = facts.stored;
  buffers.insert(buffers.end(), facts.loaded.begin(), facts.loaded.end());
  const Captured all = capture(facts, buffers);
  for (const BufferId buffer : all.captures.buffers) {
    if (program_[buffer].scope == Scope::register_) {
      give_up("register buffer " + program_[buffer].name + " is shared by parallel iterations");
    }
  }
  std::vector<LLVMValueRef> slots = {workspace_};
  slots.insert(slots.end(), all.pointers.begin(), all.pointers.end());
  slots.insert(slots.end(), all.values.begin(), all.values.end());
  const LLVMValueRef body = kernel_.outline(loop, all.captures);
  const LLVMTypeRef closure_type = LLVMArrayType2(m_.i64, slots.size());
  const LLVMValueRef closure = LLVMBuildAlloca(addresses_.at(0).ref, closure_type, "");
  LLVMSetAlignment(closure, 64);
  std::int64_t at = 0;
  for (LLVMValueRef slot : slots) {
    b_.store(slot, b_.offset(closure, at), 8);
    at += 8;
  }
  LLVMTypeRef types[] = {m_.ptr, m_.ptr, m_.ptr, m_.i64};
  const LLVMTypeRef type = LLVMFunctionType(m_.void_type, types, 4, 0);
  LLVMValueRef arguments[] = {runtime_, body, closure, addresses_.value(extent)};
  tiles_.add_outside_call(
      LLVMBuildCall2(b_.ref, type, b_.load(m_.ptr, runtime_, 8), arguments, 4, ""));
  memory_.forget_loads(facts);
}

void FunctionEmitter::emit_in_parts(StmtId body) {
  is_outermost_ = true;
  emit(body);
  is_outermost_ = false;
}

void FunctionEmitter::emit_outermost(StmtId id, const For& loop) {
  const bool is_function = loop.kind == ForKind::parallel && runtime_ != nullptr;
  if (is_function || !kernel_.count_nest() || !emit_as_function(id)) {
    is_outermost_ = false;
    emit_loop(loop);
    is_outermost_ = true;
  }
}

bool FunctionEmitter::emit_as_function(StmtId nest) {
  const StmtFacts& facts = facts_.of(nest);
  const KernelEmitter::NestKey key = kernel_.key_of(nest);
  const Captured all = capture(facts, key.buffers);
  const auto is_register = [&](BufferId buffer) {
    return program_[buffer].scope == Scope::register_;
  };
  if (std::any_of(all.captures.buffers.begin(), all.captures.buffers.end(), is_register)) {
    return false;
  }
  const LLVMValueRef part =
      kernel_.outline_nest(nest, key, all.captures, runtime_ != nullptr, area_);
  std::vector<LLVMValueRef> arguments = all.pointers;
  arguments.push_back(workspace_);
  arguments.insert(arguments.end(), all.values.begin(), all.values.end());
  arguments.push_back(runtime_ != nullptr ? runtime_ : LLVMGetUndef(m_.ptr));
  tiles_.add_outside_call(LLVMBuildCall2(b_.ref, LLVMGlobalGetValueType(part), part,
                                         arguments.data(), static_cast<unsigned>(arguments.size()),
                                         ""));
  memory_.forget_loads(facts);
  return true;
}

}  // namespace tensorsmith::llvm_codegen
