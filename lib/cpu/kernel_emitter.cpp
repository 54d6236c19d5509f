// SPDX-License-Identifier: Apache-2.0
#include "kernel_emitter.hpp"

#include <algorithm>

#include "in_place.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

constexpr std::int64_t max_statements = 50'000;  // after unrolling
/// Code generation takes more than twice as long for a function of twice the size, and what does
/// not fit into the instruction cache runs no faster for being inlined. So many functions of values
/// (exp: 20 instructions) and so many outermost loops a function has itself.
constexpr std::int64_t most_inlined = 128, most_nests = 16;

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

bool KernelEmitter::count_nest() { return ++num_nests_ > most_nests; }

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
  const Captures arguments{program.arguments, {}, {}};
  const LLVMValueRef inner = add_part(entry_ + ".body", arguments, {m.ptr});
  FunctionState state(*this, inner);
  FunctionEmitter emitter(state, LLVMGetParam(inner, num_arguments), shared_,
                          is_serial_ ? nullptr : LLVMGetParam(inner, num_arguments + 1));
  bind(emitter, inner, arguments);
  if (is_stream(program, in_place_, m.target, is_serial_)) {
    emitter.emit_in_place(program.body, in_place_);
  } else {
    emitter.emit_in_parts(program.body);
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
  LLVMBuildCall2(b.ref, LLVMGlobalGetValueType(inner), inner, values.data(), num_arguments + 2, "");
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

LLVMValueRef KernelEmitter::add_part(const std::string& name, const Captures& captures,
                                     const std::vector<LLVMTypeRef>& more) {
  const auto num_buffers = static_cast<unsigned>(captures.buffers.size());
  std::vector<LLVMTypeRef> types(num_buffers + 1, m.ptr);
  types.resize(num_buffers + 1 + captures.vars.size(), m.i64);
  types.insert(types.end(), more.begin(), more.end());
  const LLVMTypeRef type =
      LLVMFunctionType(m.void_type, types.data(), static_cast<unsigned>(types.size()), 0);
  const LLVMValueRef part = m.add_function(name, type, false);
  functions_.push_back(part);
  for (unsigned i = 0; i <= num_buffers; ++i) {
    const bool is_workspace = i == num_buffers;
    m.add_parameter_attributes(part, i, is_workspace || is_alone(captures.buffers[i]),
                               is_workspace ? own_alignment : base_alignment(captures.buffers[i]));
  }
  return part;
}

void KernelEmitter::bind(FunctionEmitter& emitter, LLVMValueRef part, const Captures& captures) {
  unsigned next = 0;
  for (const BufferId buffer : captures.buffers) {
    emitter.bind_buffer(buffer, LLVMGetParam(part, next++));
  }
  ++next;  // the workspace
  for (const VarId var : captures.vars) {
    emitter.bind_scalar(var, LLVMGetParam(part, next++));
  }
  for (const auto& [var, value] : captures.constants) {
    emitter.bind_constant(var, value);
  }
}

LLVMValueRef KernelEmitter::outline(const For& loop, const Captures& captures) {
  const std::size_t num_buffers = captures.buffers.size(), num_vars = captures.vars.size();
  const std::string name = entry_ + ".parallel" + std::to_string(bodies_.size());
  LLVMTypeRef wrapper_types[] = {m.ptr, m.i64, m.i64, m.i32};
  const LLVMTypeRef wrapper_type = LLVMFunctionType(m.void_type, wrapper_types, 4, 0);
  const LLVMValueRef wrapper = m.add_function(name, wrapper_type, false);
  functions_.push_back(wrapper);
  const LLVMValueRef inner = add_part(name + ".body", captures, {m.i64, m.i64});
  bodies_.push_back(Body{wrapper, inner, num_buffers, num_vars});

  WorkspaceArea area;
  FunctionState state(*this, inner);
  FunctionEmitter emitter(state, LLVMGetParam(inner, static_cast<unsigned>(num_buffers)), area,
                          nullptr);
  bind(emitter, inner, captures);
  const auto first = static_cast<unsigned>(num_buffers + 1 + num_vars);
  emitter.emit_share(loop, LLVMGetParam(inner, first), LLVMGetParam(inner, first + 1));
  emitter.finish();
  per_thread_.peak = std::max(per_thread_.peak, area.peak);
  return wrapper;
}

KernelEmitter::NestKey KernelEmitter::key_of(StmtId nest) {
  if (!hasher_) {
    hasher_.emplace(program);
  }
  NestKey key;
  key.facts = to_key(hasher_->of(nest));
  key.buffers = hasher_->buffers();
  for (const BufferId buffer : key.buffers) {
    key.facts += facts.is_nan_free(buffer) ? '1' : '0';
  }
  return key;
}

LLVMValueRef KernelEmitter::outline_nest(StmtId nest, const NestKey& key, const Captures& captures,
                                         bool has_runtime, WorkspaceArea& area) {
  if (const auto known = parts_.find(key.facts); known != parts_.end()) {
    return known->second;
  }
  const LLVMValueRef part =
      add_part(entry_ + ".part" + std::to_string(functions_.size()), captures, {m.ptr});
  const auto num_buffers = static_cast<unsigned>(captures.buffers.size());
  const auto num_vars = static_cast<unsigned>(captures.vars.size());
  WorkspaceArea own{area.used, area.used};
  FunctionState state(*this, part);
  FunctionEmitter emitter(state, LLVMGetParam(part, num_buffers), own,
                          has_runtime ? LLVMGetParam(part, num_buffers + 1 + num_vars) : nullptr);
  bind(emitter, part, captures);
  emitter.emit(nest);
  emitter.finish();
  if (own.peak == area.used) {  // else its buffers lie where it stands
    parts_.emplace(key.facts, part);
  }
  area.peak = std::max(area.peak, own.peak);
  return part;
}

LLVMValueRef KernelEmitter::compute(IrBuilder& b, const std::string& name,
                                    std::initializer_list<LLVMValueRef> operands,
                                    const Computation& computation) {
  if (++num_computed_ <= most_inlined) {
    return computation(b, operands.begin());
  }
  std::vector<LLVMTypeRef> types;
  for (const LLVMValueRef operand : operands) {
    types.push_back(LLVMTypeOf(operand));
  }
  const LLVMTypeRef type =
      LLVMFunctionType(types[0], types.data(), static_cast<unsigned>(types.size()), 0);
  LLVMValueRef& function = computed_[{name, types[0]}];
  if (function == nullptr) {
    function = m.add_function(entry_ + ".math" + std::to_string(functions_.size()), type, false);
    functions_.push_back(function);
    IrBuilder body(m);
    body.at_end(LLVMAppendBasicBlockInContext(m.context, function, ""));
    std::vector<LLVMValueRef> parameters(types.size());
    LLVMGetParams(function, parameters.data());
    LLVMBuildRet(body.ref, computation(body, parameters.data()));
  }
  std::vector<LLVMValueRef> arguments(operands);
  return LLVMBuildCall2(b.ref, type, function, arguments.data(),
                        static_cast<unsigned>(arguments.size()), "");
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
