// SPDX-License-Identifier: Apache-2.0
#include "kernel_emitter.hpp"

#include <algorithm>

#include "in_place.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t max_statements = 50'000;  // after unrolling

}  // namespace

KernelEmitter::KernelEmitter(ModuleContext& m, const LoopProgram& program, std::string entry,
                             bool is_serial)
    : m(m), program(program), facts(program), entry_(std::move(entry)), is_serial_(is_serial) {
  overwritable_ = overwritable_arguments(program, facts);
  for (const std::int32_t place : overwritable_) {
    in_place_.inputs.push_back(program.arguments[static_cast<std::size_t>(place)]);
  }
  for (const BufferId argument : program.arguments) {
    if (facts.of(program.body).stores(argument)) {
      in_place_.result = argument;
    }
  }
}

bool KernelEmitter::is_alone(BufferId buffer) const {
  const std::vector<BufferId>& inputs = in_place_.inputs;
  return inputs.empty() || (buffer != in_place_.result &&
                            std::find(inputs.begin(), inputs.end(), buffer) == inputs.end());
}

void KernelEmitter::count_statement() {
  if (++num_statements_ > max_statements) {
    give_up("unrolling makes the program larger than " + std::to_string(max_statements) +
            " statements");
  }
}

void KernelEmitter::discard() {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    LLVMReplaceAllUsesWith(functions_[i], LLVMGetUndef(m.ptr));
  }
  for (LLVMValueRef function : functions_) {
    LLVMDeleteFunction(function);
  }
  functions_.clear();
}

void KernelEmitter::emit() {
  if (LLVMGetNamedFunction(m.module, entry_.c_str()) != nullptr) {
    give_up("two kernels are called " + entry_);
  }
  const auto num_arguments = static_cast<unsigned>(program.arguments.size());
  LLVMTypeRef entry_types[] = {m.ptr, m.ptr, m.ptr};
  const LLVMTypeRef entry_type = LLVMFunctionType(m.void_type, entry_types, 3, 0);
  const LLVMValueRef entry = m.add_function(entry_, entry_type, true);
  functions_.push_back(entry);
  std::vector<LLVMTypeRef> inner_types(num_arguments + 2, m.ptr);  // + workspace, runtime
  const LLVMTypeRef inner_type =
      LLVMFunctionType(m.void_type, inner_types.data(), num_arguments + 2, 0);
  const LLVMValueRef inner = m.add_function(entry_ + ".body", inner_type, false);
  functions_.push_back(inner);
  for (unsigned i = 0; i <= num_arguments; ++i) {
    const bool is_workspace = i == num_arguments;
    m.add_parameter_attributes(inner, i, is_workspace || is_alone(program.arguments[i]),
                               is_workspace ? own_alignment : base_alignment(program.arguments[i]));
  }

  FunctionEmitter emitter(*this, inner, LLVMGetParam(inner, num_arguments), shared_,
                          is_serial_ ? nullptr : LLVMGetParam(inner, num_arguments + 1));
  for (unsigned i = 0; i < num_arguments; ++i) {
    emitter.bind_buffer(program.arguments[i], LLVMGetParam(inner, i));
  }
  if (is_stream(program, in_place_, m.target, is_serial_)) {
    emitter.emit_in_place(program.body, in_place_);
  } else {
    emitter.emit(program.body);
  }
  emitter.finish();

  IrBuilder b(m);
  b.at_end(LLVMAppendBasicBlockInContext(m.context, entry, ""));
  std::vector<LLVMValueRef> values;
  for (unsigned i = 0; i < num_arguments; ++i) {
    values.push_back(b.load(m.ptr, b.offset(LLVMGetParam(entry, 0), std::int64_t{i} * 8), 8));
  }
  values.push_back(LLVMGetParam(entry, 1));
  values.push_back(LLVMGetParam(entry, 2));
  LLVMBuildCall2(b.ref, inner_type, inner, values.data(), num_arguments + 2, "");
  LLVMBuildRetVoid(b.ref);
  for (const Body& body : bodies_) {
    emit_body_wrapper(body);
  }
}

bool KernelEmitter::is_argument(BufferId buffer) const {
  return std::find(program.arguments.begin(), program.arguments.end(), buffer) !=
         program.arguments.end();
}

std::int64_t KernelEmitter::base_alignment(BufferId buffer) const {
  return is_argument(buffer) ? bytes_of(program[buffer].dtype) : own_alignment;
}

LLVMValueRef KernelEmitter::outline(const For& loop, const Captures& captures) {
  // inner(buffers..., workspace, vars..., begin, end); workspace = this worker's part
  const auto num_buffers = static_cast<unsigned>(captures.buffers.size());
  const auto num_vars = static_cast<unsigned>(captures.vars.size());
  std::vector<LLVMTypeRef> types(num_buffers + 1, m.ptr);
  types.resize(num_buffers + 1 + num_vars + 2, m.i64);
  const LLVMTypeRef inner_type =
      LLVMFunctionType(m.void_type, types.data(), static_cast<unsigned>(types.size()), 0);
  const std::string name = entry_ + ".parallel" + std::to_string(bodies_.size());
  LLVMTypeRef wrapper_types[] = {m.ptr, m.i64, m.i64, m.i32};
  const LLVMTypeRef wrapper_type = LLVMFunctionType(m.void_type, wrapper_types, 4, 0);
  const LLVMValueRef wrapper = m.add_function(name, wrapper_type, false);
  functions_.push_back(wrapper);
  const LLVMValueRef inner = m.add_function(name + ".body", inner_type, false);
  functions_.push_back(inner);
  for (unsigned i = 0; i <= num_buffers; ++i) {
    const bool is_workspace = i == num_buffers;
    m.add_parameter_attributes(inner, i, is_workspace || is_alone(captures.buffers[i]),
                               is_workspace ? own_alignment : base_alignment(captures.buffers[i]));
  }
  bodies_.push_back(Body{wrapper, inner, num_buffers, num_vars});

  WorkspaceArea area;
  FunctionEmitter emitter(*this, inner, LLVMGetParam(inner, num_buffers), area, nullptr);
  for (unsigned i = 0; i < num_buffers; ++i) {
    emitter.bind_buffer(captures.buffers[i], LLVMGetParam(inner, i));
  }
  for (unsigned i = 0; i < num_vars; ++i) {
    emitter.bind_scalar(captures.vars[i], LLVMGetParam(inner, num_buffers + 1 + i));
  }
  for (const auto& [var, value] : captures.constants) {
    emitter.bind_constant(var, value);
  }
  const unsigned first = num_buffers + 1 + num_vars;
  emitter.emit_range(loop, LLVMGetParam(inner, first), LLVMGetParam(inner, first + 1));
  emitter.finish();
  per_thread_.peak = std::max(per_thread_.peak, area.peak);
  return wrapper;
}

// Written last: only now the sizes of the workspace's parts are known.
void KernelEmitter::emit_body_wrapper(const Body& body) {
  IrBuilder b(m);
  b.at_end(LLVMAppendBasicBlockInContext(m.context, body.wrapper, ""));
  const LLVMValueRef closure = LLVMGetParam(body.wrapper, 0);
  std::vector<LLVMValueRef> values;
  std::int64_t at = 8;
  for (std::size_t i = 0; i < body.num_buffers; ++i, at += 8) {
    values.push_back(b.load(m.ptr, b.offset(closure, at), 8));
  }
  const LLVMValueRef worker = LLVMBuildSExt(b.ref, LLVMGetParam(body.wrapper, 3), m.i64, "");
  const LLVMValueRef own =
      b.add(b.mul(worker, m.const_i64(per_thread_.peak)), m.const_i64(shared_.peak));
  values.push_back(b.offset(b.load(m.ptr, closure, 8), own));
  for (std::size_t i = 0; i < body.num_vars; ++i, at += 8) {
    values.push_back(b.load(m.i64, b.offset(closure, at), 8));
  }
  values.push_back(LLVMGetParam(body.wrapper, 1));
  values.push_back(LLVMGetParam(body.wrapper, 2));
  LLVMBuildCall2(b.ref, LLVMGlobalGetValueType(body.inner), body.inner, values.data(),
                 static_cast<unsigned>(values.size()), "");
  LLVMBuildRetVoid(b.ref);
}

}  // namespace tensorsmith::llvm_codegen
