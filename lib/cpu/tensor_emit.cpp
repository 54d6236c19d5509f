// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics: loops that one instruction computes for all lanes of a vector.
#include <algorithm>
#include <iterator>
#include <utility>

#include "function_emitter.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith::llvm_codegen {

// The loop's variable is 0 below; stores that fit take all of its iterations at once, others one
// after the other.
void FunctionEmitter::emit_tensor(const For& loop) {
  kernel_.count_statement();
  bind_constant(loop.var, 0);
  const For* const outer = std::exchange(group_, &loop);
  emit(loop.body);
  group_ = outer;
  bindings_[loop.var.value] = Binding{};
}

void FunctionEmitter::write_group(const Store& store) {
  if (write_dot(store)) {
    return;
  }
  const For* const loop = std::exchange(group_, nullptr);
  for (std::int64_t g = 0; g < loop->intrinsic->k; ++g) {
    bind_constant(loop->var, g);
    memo_.clear();
    write(store);
  }
  bind_constant(loop->var, 0);
  memo_.clear();
  group_ = loop;
}

bool FunctionEmitter::write_dot(const Store& store) {
  const TensorIntrinsic& intrinsic = *group_->intrinsic;
  const int lanes = chunk_.lanes;
  const auto form = std::find_if(intrinsic.dots.begin(), intrinsic.dots.end(),
                                 [&](const LlvmDot& dot) { return dot.lanes == lanes; });
  const bool is_whole_group =
      intrinsic.k * bytes_of(intrinsic.a) == bytes_of(intrinsic.accumulator) &&
      bytes_of(intrinsic.a) == bytes_of(intrinsic.b);
  const TensorUpdate update = match_tensor_update(program_, store, intrinsic);
  if (lanes == 1 || form == intrinsic.dots.end() || !is_whole_group || !update ||
      chunk_.mask != nullptr) {
    return false;
  }
  memory_.alive(store.buffer);
  const LinearForm where = values_.flat_form(store.buffer, store.indices);
  const LLVMValueRef a = dot_operand(update.a, intrinsic.a);
  const LLVMValueRef b = a == nullptr ? nullptr : dot_operand(update.b, intrinsic.b);
  if (b == nullptr || where.is_lane_opaque || where.lane == 0) {
    return false;
  }
  const std::string name(form->function);
  const unsigned id = LLVMLookupIntrinsicID(name.data(), name.size());
  if (id == 0) {
    give_up("LLVM has no intrinsic " + name);
  }
  // Those of Arm have a version for each width of vectors: of the sums, of the operands.
  LLVMTypeRef widths[] = {m_.compute_type(intrinsic.accumulator, lanes),
                          m_.compute_type(intrinsic.a, lanes * intrinsic.k)};
  const bool is_overloaded = LLVMIntrinsicIsOverloaded(id) != 0;
  const LLVMValueRef function = LLVMGetIntrinsicDeclaration(
      m_.module, id, is_overloaded ? widths : nullptr, is_overloaded ? std::size(widths) : 0);
  const LLVMTypeRef type = LLVMGlobalGetValueType(function);
  std::vector<LLVMTypeRef> types(LLVMCountParamTypes(type));
  if (types.size() != 2 && types.size() != 3) {
    give_up("intrinsic " + name + " does not take two operands, with an accumulator or without");
  }
  const bool adds = types.size() == 3;
  LLVMGetParamTypes(type, types.data());
  const Value old = values_.eval_as(update.accumulator, lanes);
  std::vector<LLVMValueRef> arguments = {a, b};
  if (adds) {
    arguments.insert(arguments.begin(), old.ref);
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    arguments[i] = b_.bitcast(arguments[i], types[i]);
  }
  const LLVMValueRef result = LLVMBuildCall2(b_.ref, type, function, arguments.data(),
                                             static_cast<unsigned>(arguments.size()), "");
  const LLVMValueRef sum = b_.bitcast(result, LLVMTypeOf(old.ref));
  const Value value{adds                 ? sum
                    : is_float(old.type) ? b_.fadd(old.ref, sum)
                                         : b_.add(old.ref, sum),
                    old.type, lanes};
  kernel_.count_statement();
  memory_.store(store, where, value);
  return true;
}

// Groups of k elements in the lanes of a vector as wide as the accumulators; null if they lie in
// another way than those below. `wanted`: the type of the elements there.
LLVMValueRef FunctionEmitter::dot_operand(const TensorFactor& factor, DType wanted) {
  const int lanes = chunk_.lanes;
  const auto repeated = [&](std::int64_t value) {
    const std::uint32_t bits = bytes_of(wanted) == 1 ? 0x01010101u : 0x00010001u;
    return b_.splat(LLVMConstInt(m_.i32, bits * static_cast<std::uint32_t>(value), 0), lanes);
  };
  if (bytes_of(wanted) * group_->intrinsic->k != 4) {
    return nullptr;
  }
  if (factor.load == nullptr) {
    return repeated(factor.offset);
  }
  const DType type = program_[factor.load->buffer].dtype;
  LLVMValueRef groups = dot_groups(*factor.load, type);
  if (groups != nullptr && type != wanted) {
    if (bytes_of(type) >= bytes_of(wanted)) {
      return nullptr;
    }
    const LLVMTypeRef wide = m_.compute_type(wanted, lanes * group_->intrinsic->k);
    const LLVMValueRef narrow =
        b_.bitcast(groups, m_.compute_type(type, lanes * group_->intrinsic->k));
    groups = type == DType::u8 ? LLVMBuildZExt(b_.ref, narrow, wide, "")
                               : LLVMBuildSExt(b_.ref, narrow, wide, "");
    groups = b_.bitcast(groups, m_.vector_of(m_.i32, lanes));
  }
  if (groups == nullptr || factor.offset == 0) {
    return groups;
  }
  // Bytes from -128: adding 128 turns the sign bit over, whatever it is.
  return type == DType::i8 && factor.offset == 128 ? b_.xor_(groups, repeated(128)) : nullptr;
}

// The same of elements as they are in memory, in lanes of their own width.
LLVMValueRef FunctionEmitter::dot_groups(const Load& load, DType type) {
  const int lanes = chunk_.lanes, k = group_->intrinsic->k;
  const std::int64_t bytes = bytes_of(type);
  const LLVMTypeRef word = LLVMIntTypeInContext(m_.context, static_cast<unsigned>(8 * bytes * k));
  const LinearForm first = values_.flat_form(load.buffer, load.indices);
  bind_constant(group_->var, 1);
  LinearForm step = values_.flat_form(load.buffer, load.indices);
  step.add(first, -1);
  bool is_even = true;  // k/2 and k%2 are not
  for (int g = 2; g < k; ++g) {
    bind_constant(group_->var, g);
    LinearForm at = values_.flat_form(load.buffer, load.indices);
    at.add(first, -1);
    is_even = is_even && at.is_constant() && at.lane == 0 && at.constant == g * step.constant;
  }
  bind_constant(group_->var, 0);
  const Buffer& buffer = program_[load.buffer];
  if (!is_even || first.is_lane_opaque || !step.is_constant() || step.lane != 0 ||
      buffer.scope == Scope::register_) {
    return nullptr;
  }
  const BufferState& state = memory_.alive(load.buffer);
  const LLVMValueRef outer = addresses_.pointer(state.base_id, state.pointer, bytes, first);
  // Not one of the keys of load_memory: lanes there are as many as elements.
  const LoadKey key = {outer, first.constant, first.lane,    step.constant, 0,
                       0,     lanes,          -chunk_.count, type};
  const DType kept = bytes * k == 4 ? DType::i32 : DType::i16;
  const auto keep = [&](LLVMValueRef value, int count) {
    memory_.keep_load(key, load.buffer, Value{value, kept, count});
    return values_.splat(Value{value, kept, count}, lanes).ref;
  };
  if (const Value* known = memory_.known_load(key)) {
    return values_.splat(*known, lanes).ref;
  }
  const LLVMTypeRef element = LLVMIntTypeInContext(m_.context, static_cast<unsigned>(8 * bytes));
  const auto address = [&](std::int64_t g) {
    return b_.offset(outer, (first.constant + g * step.constant) * bytes);
  };
  const LLVMValueRef mask = chunk_.count == lanes ? nullptr : b_.first_lanes(chunk_.count, lanes);
  const auto read = [&](LLVMTypeRef of, LLVMValueRef pointer, unsigned alignment) {
    return mask == nullptr ? b_.load(of, pointer, alignment)
                           : b_.masked_load(of, pointer, alignment, mask);
  };
  if (first.lane == 0 && step.constant == 1) {
    return keep(b_.load(word, address(0), static_cast<unsigned>(bytes)), 1);
  }
  if (first.lane == 0) {
    LLVMValueRef all = nullptr;
    for (int g = 0; g < k; ++g) {
      const LLVMValueRef part = LLVMBuildZExt(
          b_.ref, b_.load(element, address(g), static_cast<unsigned>(bytes)), word, "");
      const LLVMValueRef moved = b_.shl(part, static_cast<int>(8 * bytes) * g);
      all = all == nullptr ? moved : b_.or_(all, moved);
    }
    return keep(all, 1);
  }
  const unsigned alignment = memory_.alignment_of(load.buffer, first);
  if (first.lane == k && step.constant == 1) {
    return keep(read(m_.vector_of(word, lanes), address(0), alignment), lanes);
  }
  if (first.lane != 1) {
    return nullptr;
  }
  // Rows of one element per lane: interleaved, neighbours first.
  std::vector<LLVMValueRef> rows;
  for (int g = 0; g < k; ++g) {
    LinearForm row = first;
    row.constant += g * step.constant;
    rows.push_back(
        read(m_.vector_of(element, lanes), address(g), memory_.alignment_of(load.buffer, row)));
  }
  return keep(b_.bitcast(interleave(b_, rows)[0], m_.vector_of(word, lanes)), lanes);
}

}  // namespace tensorsmith::llvm_codegen
