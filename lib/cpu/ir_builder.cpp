// SPDX-License-Identifier: Apache-2.0
#include "ir_builder.hpp"

#include <cmath>

#include <llvm-c/DebugInfo.h>

namespace tensorsmith::llvm_codegen {

ModuleContext::ModuleContext(LLVMContextRef context, LLVMModuleRef module, const Target& target)
    : context(context), module(module), target(target) {
  void_type = LLVMVoidTypeInContext(context);
  i1 = LLVMInt1TypeInContext(context);
  i8 = LLVMInt8TypeInContext(context);
  i16 = LLVMInt16TypeInContext(context);
  i32 = LLVMInt32TypeInContext(context);
  i64 = LLVMInt64TypeInContext(context);
  half = LLVMHalfTypeInContext(context);
  f32 = LLVMFloatTypeInContext(context);
  f64 = LLVMDoubleTypeInContext(context);
  ptr = LLVMPointerTypeInContext(context, 0);
  md_loop = LLVMGetMDKindIDInContext(context, "llvm.loop", 9);
  md_nontemporal = LLVMGetMDKindIDInContext(context, "nontemporal", 11);
}

LLVMTypeRef ModuleContext::compute_type(DType type, int lanes) const {
  switch (type) {
  case DType::f64:
    return vector_of(f64, lanes);
  case DType::f32:
  case DType::f16:
  case DType::bf16:
    return vector_of(f32, lanes);
  case DType::i64:
    return vector_of(i64, lanes);
  case DType::i32:
    return vector_of(i32, lanes);
  case DType::i16:
    return vector_of(i16, lanes);
  case DType::i8:
  case DType::u8:
    return vector_of(i8, lanes);
  case DType::boolean:
    return vector_of(i1, lanes);
  }
  give_up("unknown element type");
}

LLVMTypeRef ModuleContext::storage_type(DType type, int lanes) const {
  if (type == DType::f16 || type == DType::bf16) {
    return vector_of(i16, lanes);
  }
  return type == DType::boolean ? vector_of(i8, lanes) : compute_type(type, lanes);
}

LLVMAttributeRef ModuleContext::enum_attribute(const char* name, std::uint64_t value) const {
  const unsigned kind = LLVMGetEnumAttributeKindForName(name, std::string_view(name).size());
  return LLVMCreateEnumAttribute(context, kind, value);
}

LLVMValueRef ModuleContext::add_function(const std::string& name, LLVMTypeRef type,
                                         bool is_exported) {
  const LLVMValueRef function = LLVMAddFunction(module, name.c_str(), type);
  LLVMSetLinkage(function, is_exported ? LLVMExternalLinkage : LLVMInternalLinkage);
  const auto add_text = [&](std::string_view key, const std::string& value) {
    LLVMAddAttributeAtIndex(
        function, static_cast<unsigned>(LLVMAttributeFunctionIndex),
        LLVMCreateStringAttribute(context, key.data(), static_cast<unsigned>(key.size()),
                                  value.c_str(), static_cast<unsigned>(value.size())));
  };
  LLVMAddAttributeAtIndex(function, static_cast<unsigned>(LLVMAttributeFunctionIndex),
                          enum_attribute("nounwind"));
  add_text("prefer-vector-width", std::to_string(target.vector_bits));
  add_text("target-cpu", target.llvm_cpu);
  if (!target.llvm_features.empty()) {
    add_text("target-features", target.llvm_features);
  }
  if (!target.llvm_tune.empty()) {
    add_text("tune-cpu", target.llvm_tune);
  }
  return function;
}

void ModuleContext::add_parameter_attributes(LLVMValueRef function, unsigned parameter,
                                             bool is_alone, std::int64_t alignment) {
  if (is_alone) {
    LLVMAddAttributeAtIndex(function, parameter + 1, enum_attribute("noalias"));
  }
  LLVMAddAttributeAtIndex(function, parameter + 1,
                          enum_attribute("align", static_cast<std::uint64_t>(alignment)));
}

LLVMValueRef ModuleContext::zero_bytes() {
  if (zero_bytes_ == nullptr) {
    const LLVMTypeRef type = LLVMArrayType2(i8, 64);
    zero_bytes_ = LLVMAddGlobal(module, type, "zero_bytes");
    LLVMSetInitializer(zero_bytes_, LLVMConstNull(type));
    LLVMSetGlobalConstant(zero_bytes_, 1);
    LLVMSetLinkage(zero_bytes_, LLVMPrivateLinkage);
    LLVMSetAlignment(zero_bytes_, 64);
  }
  return zero_bytes_;
}

LLVMValueRef ModuleContext::loop_metadata() {
  // !0 = distinct !{!0, !{!"llvm.loop.align", i32 64}}
  LLVMMetadataRef align[] = {LLVMMDStringInContext2(context, "llvm.loop.align", 15),
                             LLVMValueAsMetadata(LLVMConstInt(i32, 64, 0))};
  const LLVMMetadataRef self = LLVMTemporaryMDNode(context, nullptr, 0);
  LLVMMetadataRef operands[] = {self, LLVMMDNodeInContext2(context, align, 2)};
  const LLVMMetadataRef node = LLVMMDNodeInContext2(context, operands, 2);
  LLVMMetadataReplaceAllUsesWith(self, node);
  return LLVMMetadataAsValue(context, node);
}

int constant_bool(LLVMValueRef value) {
  if (!LLVMIsConstant(value)) {
    return -1;
  }
  if (LLVMIsNull(value)) {
    return 0;
  }
  const int lanes = lanes_of(value);
  for (int lane = 0; lane < lanes; ++lane) {
    const LLVMValueRef bit =
        lanes == 1 ? value : LLVMGetAggregateElement(value, static_cast<unsigned>(lane));
    if (bit == nullptr || LLVMIsAConstantInt(bit) == nullptr ||
        LLVMConstIntGetZExtValue(bit) != 1) {
      return -1;
    }
  }
  return 1;
}

LLVMValueRef IrBuilder::intrinsic(const char* name, std::initializer_list<LLVMTypeRef> types,
                                  std::initializer_list<V> args) {
  std::string key = name;
  std::vector<LLVMTypeRef> overloads(types);
  for (LLVMTypeRef type : overloads) {
    key += '/' + std::to_string(reinterpret_cast<std::uintptr_t>(type));
  }
  auto found = m.intrinsics.find(key);
  if (found == m.intrinsics.end()) {
    const unsigned id = LLVMLookupIntrinsicID(name, std::string_view(name).size());
    if (id == 0) {
      give_up(std::string("LLVM has no intrinsic ") + name);
    }
    const LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(m.module, id, overloads.data(), overloads.size());
    found = m.intrinsics.emplace(key, std::pair(LLVMGlobalGetValueType(function), function)).first;
  }
  std::vector<V> list(args);
  return LLVMBuildCall2(ref, found->second.first, found->second.second, list.data(),
                        static_cast<unsigned>(list.size()), "");
}

LLVMValueRef IrBuilder::per_lane_call(const char* name, std::initializer_list<V> args) {
  const std::vector<V> operands(args);
  const int lanes = lanes_of(operands[0]);
  LLVMTypeRef element = LLVMTypeOf(operands[0]);
  if (lanes > 1) {
    element = LLVMGetElementType(element);
  }
  std::vector<LLVMTypeRef> types(operands.size(), element);
  const LLVMTypeRef type =
      LLVMFunctionType(element, types.data(), static_cast<unsigned>(types.size()), 0);
  LLVMValueRef function = LLVMGetNamedFunction(m.module, name);
  if (function == nullptr) {
    function = LLVMAddFunction(m.module, name, type);
  }
  V result = LLVMGetPoison(LLVMTypeOf(operands[0]));
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<V> scalars;
    for (V operand : operands) {
      scalars.push_back(extract(operand, lane));
    }
    const V one = LLVMBuildCall2(ref, type, function, scalars.data(),
                                 static_cast<unsigned>(scalars.size()), "");
    result = lanes == 1 ? one : insert(result, one, lane);
  }
  return result;
}

LLVMValueRef IrBuilder::int_like(V like, std::int64_t value) {
  const int lanes = lanes_of(like);
  LLVMTypeRef type = LLVMTypeOf(like);
  if (lanes > 1) {
    type = LLVMGetElementType(type);
  }
  return splat(LLVMConstInt(type, static_cast<unsigned long long>(value), 1), lanes);
}

LLVMValueRef IrBuilder::real_like(V like, double value) {
  const int lanes = lanes_of(like);
  LLVMTypeRef type = LLVMTypeOf(like);
  if (lanes > 1) {
    type = LLVMGetElementType(type);
  }
  return splat(LLVMConstReal(type, value), lanes);
}

LLVMValueRef IrBuilder::const_int(DType type, std::int64_t value, int lanes) {
  if (type == DType::boolean) {
    value = value != 0 ? 1 : 0;
  }
  return splat(LLVMConstInt(m.compute_type(type), static_cast<unsigned long long>(value), 1),
               lanes);
}

LLVMValueRef IrBuilder::const_real(DType type, double value, int lanes) {
  return splat(LLVMConstReal(m.compute_type(type), value), lanes);
}

LLVMValueRef IrBuilder::splat(V scalar, int lanes) {
  if (lanes == 1) {
    return scalar;
  }
  if (LLVMIsConstant(scalar)) {
    std::vector<V> items(static_cast<std::size_t>(lanes), scalar);
    return LLVMConstVector(items.data(), static_cast<unsigned>(lanes));
  }
  const LLVMTypeRef type = m.vector_of(LLVMTypeOf(scalar), lanes);
  const V one = LLVMBuildInsertElement(ref, LLVMGetPoison(type), scalar, m.const_i64(0), "");
  return LLVMBuildShuffleVector(ref, one, LLVMGetPoison(type),
                                LLVMConstNull(m.vector_of(m.i32, lanes)), "");
}

LLVMValueRef IrBuilder::shuffle(V first, V second, const std::vector<int>& sources) {
  std::vector<V> mask;
  for (int source : sources) {
    mask.push_back(source < 0 ? LLVMGetPoison(m.i32)
                              : LLVMConstInt(m.i32, static_cast<unsigned long long>(source), 0));
  }
  return LLVMBuildShuffleVector(
      ref, first, second, LLVMConstVector(mask.data(), static_cast<unsigned>(mask.size())), "");
}

LLVMValueRef IrBuilder::extract(V vector, int lane) {
  return lanes_of(vector) == 1 ? vector
                               : LLVMBuildExtractElement(ref, vector, m.const_i64(lane), "");
}

LLVMValueRef IrBuilder::insert(V vector, V scalar, int lane) {
  return LLVMBuildInsertElement(ref, vector, scalar, m.const_i64(lane), "");
}

LLVMValueRef IrBuilder::part(V vector, int first, int count, int lanes) {
  std::vector<V> items;
  for (int lane = 0; lane < lanes; ++lane) {
    const bool is_there = lane < count || first + lane < lanes_of(vector);
    items.push_back(
        LLVMConstInt(m.i32, static_cast<unsigned long long>(is_there ? first + lane : first), 0));
  }
  return LLVMBuildShuffleVector(ref, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                LLVMConstVector(items.data(), static_cast<unsigned>(lanes)), "");
}

LLVMValueRef IrBuilder::joined(V low, int num_low, V high, int num_high) {
  const int lanes = lanes_of(low);
  std::vector<V> items;
  for (int lane = 0; lane < lanes; ++lane) {
    const bool is_high = lane >= num_low && lane < num_low + num_high;
    items.push_back(LLVMConstInt(
        m.i32, static_cast<unsigned long long>(is_high ? lanes + lane - num_low : lane), 0));
  }
  return LLVMBuildShuffleVector(ref, low, high,
                                LLVMConstVector(items.data(), static_cast<unsigned>(lanes)), "");
}

LLVMValueRef IrBuilder::reverse(V vector) {
  std::vector<V> items;
  for (int lane = lanes_of(vector); lane-- > 0;) {
    items.push_back(LLVMConstInt(m.i32, static_cast<unsigned long long>(lane), 0));
  }
  return LLVMBuildShuffleVector(ref, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                LLVMConstVector(items.data(), static_cast<unsigned>(items.size())),
                                "");
}

LLVMValueRef IrBuilder::first_lanes(int count, int lanes) {
  std::vector<V> items;
  for (int lane = 0; lane < lanes; ++lane) {
    items.push_back(LLVMConstInt(m.i1, lane < count ? 1 : 0, 0));
  }
  return lanes == 1 ? items[0] : LLVMConstVector(items.data(), static_cast<unsigned>(lanes));
}

LLVMValueRef IrBuilder::offset(V pointer, V bytes) {
  return LLVMBuildGEP2(ref, m.i8, pointer, &bytes, 1, "");
}

LLVMValueRef IrBuilder::offset(V pointer, std::int64_t bytes) {
  return bytes == 0 ? pointer : offset(pointer, m.const_i64(bytes));
}

LLVMValueRef IrBuilder::load(LLVMTypeRef type, V pointer, unsigned alignment) {
  const V value = LLVMBuildLoad2(ref, type, pointer, "");
  LLVMSetAlignment(value, alignment);
  return value;
}

void IrBuilder::store(V value, V pointer, unsigned alignment) {
  LLVMSetAlignment(LLVMBuildStore(ref, value, pointer), alignment);
}

LLVMValueRef IrBuilder::is_multiple(V pointer, std::int64_t bytes) {
  const V address = LLVMBuildPtrToInt(ref, pointer, m.i64, "");
  const V rest = LLVMBuildAnd(ref, address, m.const_i64(bytes - 1), "");
  return LLVMBuildICmp(ref, LLVMIntEQ, rest, m.const_i64(0), "");
}

void IrBuilder::branch_mostly(V condition, LLVMBasicBlockRef usual, LLVMBasicBlockRef other) {
  const V branch = LLVMBuildCondBr(ref, condition, usual, other);
  LLVMMetadataRef weights[] = {LLVMMDStringInContext2(m.context, "branch_weights", 14),
                               LLVMValueAsMetadata(LLVMConstInt(m.i32, 2000, 0)),
                               LLVMValueAsMetadata(LLVMConstInt(m.i32, 1, 0))};
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(m.context, "prof", 4),
                  LLVMMetadataAsValue(m.context, LLVMMDNodeInContext2(m.context, weights, 3)));
}

void IrBuilder::stream(V value, V pointer, unsigned alignment) {
  const V stored = LLVMBuildStore(ref, value, pointer);
  LLVMSetAlignment(stored, alignment);
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(m.i32, 1, 0));
  LLVMSetMetadata(stored, m.md_nontemporal,
                  LLVMMetadataAsValue(m.context, LLVMMDNodeInContext2(m.context, &one, 1)));
}

void IrBuilder::fence_loads() {
  LLVMBuildFence(ref, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
}

LLVMValueRef IrBuilder::masked_load(LLVMTypeRef type, V pointer, unsigned alignment, V mask) {
  return intrinsic("llvm.masked.load", {type, m.ptr},
                   {pointer, LLVMConstInt(m.i32, alignment, 0), mask, LLVMConstNull(type)});
}

void IrBuilder::masked_store(V value, V pointer, unsigned alignment, V mask) {
  intrinsic("llvm.masked.store", {LLVMTypeOf(value), m.ptr},
            {value, pointer, LLVMConstInt(m.i32, alignment, 0), mask});
}

// Without F16C: the exponent is rebiased by a multiplication that also normalises denormals.
LLVMValueRef IrBuilder::float_from_half(V bits) {
  if (m.has_f16_instructions()) {
    return LLVMBuildFPExt(ref, bitcast(bits, like_lanes(bits, m.half)), like_lanes(bits, m.f32),
                          "");
  }
  const V wide = LLVMBuildZExt(ref, bits, like_lanes(bits, m.i32), "");
  const V magnitude = shl(and_(wide, int_like(wide, 0x7FFF)), 13);
  const LLVMTypeRef f32 = like_lanes(bits, m.f32);
  V scaled = bitcast(magnitude, f32);
  scaled = bitcast(fmul(scaled, real_like(scaled, 0x1p112)), LLVMTypeOf(wide));
  const V is_special = icmp(LLVMIntUGE, magnitude, int_like(wide, 0x7C00 << 13));
  const V special = or_(magnitude, int_like(wide, 0x7F800000));
  const V result = select(is_special, special, scaled);
  return bitcast(or_(result, shl(and_(wide, int_like(wide, 0x8000)), 16)), f32);
}

LLVMValueRef IrBuilder::half_from_float(V value) {
  if (m.has_f16_instructions()) {
    return bitcast(LLVMBuildFPTrunc(ref, value, like_lanes(value, m.half), ""),
                   like_lanes(value, m.i16));
  }
  const LLVMTypeRef i32 = like_lanes(value, m.i32);
  const V bits = bitcast(value, i32);
  const V sign = and_(lshr(bits, 16), int_like(bits, 0x8000));
  const V magnitude = and_(bits, int_like(bits, 0x7FFFFFFF));
  // Below 2^-14: adding 0.5 leaves the rounded denormal in the low bits.
  const V tiny_sum = fadd(bitcast(magnitude, LLVMTypeOf(value)), real_like(value, 0.5));
  const V tiny = sub(bitcast(tiny_sum, i32), int_like(bits, 0x3F000000));
  // Else rebias and round to nearest even; overflow carries into infinity.
  const V odd = and_(lshr(magnitude, 13), int_like(bits, 1));
  const V rebias = int_like(bits, std::int64_t{15 - 127} * (1 << 23) + 0xFFF);
  V normal = lshr(add(add(magnitude, rebias), odd), 13);
  const V is_tiny = icmp(LLVMIntULT, magnitude, int_like(bits, 113 << 23));
  const V is_over = icmp(LLVMIntUGE, magnitude, int_like(bits, (127 + 16) << 23));
  const V is_nan = icmp(LLVMIntUGT, magnitude, int_like(bits, 0x7F800000));
  normal = select(is_over, int_like(bits, 0x7C00), normal);
  normal = select(is_nan, int_like(bits, 0x7E00), normal);
  return LLVMBuildTrunc(ref, or_(select(is_tiny, tiny, normal), sign), like_lanes(value, m.i16),
                        "");
}

LLVMValueRef IrBuilder::bf16_from_float(V value) {
  const V bits = bitcast(value, like_lanes(value, m.i32));
  const V odd = and_(lshr(bits, 16), int_like(bits, 1));
  const V rounded = lshr(add(add(bits, int_like(bits, 0x7FFF)), odd), 16);
  const V quiet = or_(lshr(bits, 16), int_like(bits, 0x40));
  const V is_nan = fcmp(LLVMRealUNO, value, value);
  return LLVMBuildTrunc(ref, select(is_nan, quiet, rounded), like_lanes(value, m.i16), "");
}

LLVMValueRef IrBuilder::from_storage(V stored, DType type) {
  switch (type) {
  case DType::f16:
    return float_from_half(stored);
  case DType::bf16:
    return bitcast(shl(LLVMBuildZExt(ref, stored, like_lanes(stored, m.i32), ""), 16),
                   like_lanes(stored, m.f32));
  case DType::boolean:
    return icmp(LLVMIntNE, stored, int_like(stored, 0));
  default:
    return stored;
  }
}

LLVMValueRef IrBuilder::to_storage(V value, DType type) {
  switch (type) {
  case DType::f16:
    return half_from_float(value);
  case DType::bf16:
    return bf16_from_float(value);
  case DType::boolean:
    return LLVMBuildZExt(ref, value, like_lanes(value, m.i8), "");
  default:
    return value;
  }
}

LLVMValueRef IrBuilder::cast(V value, DType from, DType to) {
  const LLVMTypeRef type = like_lanes(value, m.compute_type(to));
  if (is_float(from) && is_float(to)) {
    if (to == DType::f16 || to == DType::bf16) {
      if (from == DType::f64) {
        // Round to odd, so that the second rounding is right.
        const V near = LLVMBuildFPTrunc(ref, value, like_lanes(value, m.f32), "");
        const V back = LLVMBuildFPExt(ref, near, LLVMTypeOf(value), "");
        const V bits = bitcast(near, like_lanes(value, m.i32));
        const V is_above = fcmp(LLVMRealOGT, unary_intrinsic("llvm.fabs", back),
                                unary_intrinsic("llvm.fabs", value));
        const V step = select(is_above, int_like(bits, -1), int_like(bits, 1));
        const V is_even = icmp(LLVMIntEQ, and_(bits, int_like(bits, 1)), int_like(bits, 0));
        const V is_finite =
            fcmp(LLVMRealONE, unary_intrinsic("llvm.fabs", near), real_like(near, HUGE_VAL));
        const V moves = and_(and_(is_even, is_finite), fcmp(LLVMRealONE, back, value));
        value = bitcast(select(moves, add(bits, step), bits), LLVMTypeOf(near));
      }
      return from_storage(to_storage(value, to), to);
    }
    if (from == DType::f64) {
      return to == DType::f64 ? value : LLVMBuildFPTrunc(ref, value, type, "");
    }
    return to == DType::f64 ? LLVMBuildFPExt(ref, value, type, "") : value;
  }
  if (is_float(from)) {
    if (to == DType::boolean) {
      return fcmp(LLVMRealUNE, value, real_like(value, 0.0));
    }
    if (is_integer(to) && bytes_of(to) < 4) {
      const V wide = LLVMBuildFPToSI(ref, value, like_lanes(value, m.i32), "");
      return LLVMBuildTrunc(ref, wide, type, "");
    }
    return LLVMBuildFPToSI(ref, value, type, "");
  }
  const bool is_unsigned = from == DType::u8 || from == DType::boolean;
  if (is_float(to)) {
    const V result =
        is_unsigned ? LLVMBuildUIToFP(ref, value, type, "") : LLVMBuildSIToFP(ref, value, type, "");
    return to == DType::f16 || to == DType::bf16 ? from_storage(to_storage(result, to), to)
                                                 : result;
  }
  if (to == DType::boolean) {
    return from == DType::boolean ? value : icmp(LLVMIntNE, value, int_like(value, 0));
  }
  const int from_bytes = from == DType::boolean ? 0 : bytes_of(from);
  if (from_bytes == bytes_of(to)) {
    return value;
  }
  if (from_bytes > bytes_of(to)) {
    return LLVMBuildTrunc(ref, value, type, "");
  }
  return is_unsigned ? LLVMBuildZExt(ref, value, type, "") : LLVMBuildSExt(ref, value, type, "");
}

}  // namespace tensorsmith::llvm_codegen
