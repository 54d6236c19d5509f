// SPDX-License-Identifier: Apache-2.0
// IrBuilder: a thin typed layer over LLVM's C API builder.
//
// Private to lib/cpu. Own design. ModuleContext is what all functions of one module share; an
// IrBuilder is one insertion position. Element types: f16 and bf16 are computed as float and stored
// as half and i16, boolean is computed as i1 and stored as i8. Not here: expressions, loops.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <llvm-c/Core.h>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith::llvm_codegen {

/// Thrown while a program is translated; caught by LlvmCompiler, never seen by a caller.
struct CompileFailure {
  std::string message;
};
[[noreturn]] inline void give_up(std::string message) { throw CompileFailure{std::move(message)}; }

/// Registers LLVM's back end, if LLVM has it; any number of times, on any thread.
void initialize_llvm(Architecture architecture = Architecture::x86_64);

/// A value of element type `type`: scalar if lanes == 1, else a vector.
struct Value {
  LLVMValueRef ref = nullptr;
  DType type = DType::f32;
  int lanes = 1;
};

struct ModuleContext {
  ModuleContext(LLVMContextRef context, LLVMModuleRef module, const Target& target);
  ModuleContext(const ModuleContext&) = delete;
  ModuleContext& operator=(const ModuleContext&) = delete;

  LLVMTypeRef vector_of(LLVMTypeRef element, int lanes) const {
    return lanes == 1 ? element : LLVMVectorType(element, static_cast<unsigned>(lanes));
  }
  LLVMTypeRef compute_type(DType type, int lanes = 1) const;
  LLVMTypeRef storage_type(DType type, int lanes = 1) const;
  LLVMValueRef const_i64(std::int64_t value) const {
    return LLVMConstInt(i64, static_cast<unsigned long long>(value), 1);
  }
  /// A function of this module with the attributes of generated code.
  LLVMValueRef add_function(const std::string& name, LLVMTypeRef type, bool is_exported);
  /// Alignment in bytes, and noalias unless others may point there.
  void add_parameter_attributes(LLVMValueRef function, unsigned parameter, bool is_alone,
                                std::int64_t alignment);
  /// 64 zero bytes: where loads of inactive lanes go.
  LLVMValueRef zero_bytes();
  /// Metadata for the latch of an innermost loop: start its body on a 64-byte line.
  LLVMValueRef loop_metadata();
  bool is_arm() const { return target.architecture == Architecture::aarch64; }
  bool has_f16_instructions() const { return is_arm() || target.isa >= IsaLevel::x86_64_v3; }

  LLVMContextRef context;
  LLVMModuleRef module;
  const Target& target;
  LLVMTypeRef void_type, i1, i8, i16, i32, i64, half, f32, f64, ptr;
  std::map<std::string, std::pair<LLVMTypeRef, LLVMValueRef>> intrinsics;  // by name + types
  unsigned md_loop = 0;
  unsigned md_nontemporal = 0;

 private:
  LLVMAttributeRef enum_attribute(const char* name, std::uint64_t value = 0) const;
  LLVMValueRef zero_bytes_ = nullptr;
};

inline int lanes_of(LLVMValueRef value) {
  const LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? static_cast<int>(LLVMGetVectorSize(type))
                                                     : 1;
}

/// The constant's bit if `value` is a constant i1 or a vector of equal constant i1s, else -1.
int constant_bool(LLVMValueRef value);

class IrBuilder {
 public:
  using V = LLVMValueRef;

  explicit IrBuilder(ModuleContext& m) : m(m), ref(LLVMCreateBuilderInContext(m.context)) {}
  ~IrBuilder() { LLVMDisposeBuilder(ref); }
  IrBuilder(const IrBuilder&) = delete;
  IrBuilder& operator=(const IrBuilder&) = delete;

  void at_end(LLVMBasicBlockRef block) { LLVMPositionBuilderAtEnd(ref, block); }
  void before(V instruction) { LLVMPositionBuilderBefore(ref, instruction); }
  LLVMBasicBlockRef block() const { return LLVMGetInsertBlock(ref); }

  V add(V a, V b) { return LLVMBuildAdd(ref, a, b, ""); }
  V sub(V a, V b) { return LLVMBuildSub(ref, a, b, ""); }
  V mul(V a, V b) { return LLVMBuildMul(ref, a, b, ""); }
  V and_(V a, V b) { return LLVMBuildAnd(ref, a, b, ""); }
  V or_(V a, V b) { return LLVMBuildOr(ref, a, b, ""); }
  V xor_(V a, V b) { return LLVMBuildXor(ref, a, b, ""); }
  V not_(V a) { return LLVMBuildNot(ref, a, ""); }
  V shl(V a, int bits) { return LLVMBuildShl(ref, a, int_like(a, bits), ""); }
  V lshr(V a, int bits) { return LLVMBuildLShr(ref, a, int_like(a, bits), ""); }
  V ashr(V a, int bits) { return LLVMBuildAShr(ref, a, int_like(a, bits), ""); }
  V fadd(V a, V b) { return LLVMBuildFAdd(ref, a, b, ""); }
  V fsub(V a, V b) { return LLVMBuildFSub(ref, a, b, ""); }
  V fmul(V a, V b) { return LLVMBuildFMul(ref, a, b, ""); }
  V fdiv(V a, V b) { return LLVMBuildFDiv(ref, a, b, ""); }
  V fneg(V a) { return LLVMBuildFNeg(ref, a, ""); }
  /// a * b + c, fused where the target has it.
  V fma(V a, V b, V c) { return intrinsic("llvm.fmuladd", {LLVMTypeOf(a)}, {a, b, c}); }
  V icmp(LLVMIntPredicate p, V a, V b) { return LLVMBuildICmp(ref, p, a, b, ""); }
  V fcmp(LLVMRealPredicate p, V a, V b) { return LLVMBuildFCmp(ref, p, a, b, ""); }
  V select(V c, V a, V b) { return LLVMBuildSelect(ref, c, a, b, ""); }
  V bitcast(V a, LLVMTypeRef type) { return LLVMBuildBitCast(ref, a, type, ""); }
  V unary_intrinsic(const char* name, V a) { return intrinsic(name, {LLVMTypeOf(a)}, {a}); }
  V intrinsic(const char* name, std::initializer_list<LLVMTypeRef> types,
              std::initializer_list<V> args);
  /// A function of the C library on every lane, e.g. "exp" on f64.
  V per_lane_call(const char* name, std::initializer_list<V> args);

  /// Constants of the type of `like` (integer or float, scalar or vector).
  V int_like(V like, std::int64_t value);
  V real_like(V like, double value);
  V const_int(DType type, std::int64_t value, int lanes = 1);
  V const_real(DType type, double value, int lanes = 1);

  V splat(V scalar, int lanes);
  /// Lane i is lane sources[i] of both, one behind the other; below 0: it has no meaning.
  V shuffle(V first, V second, const std::vector<int>& sources);
  V extract(V vector, int lane);
  V insert(V vector, V scalar, int lane);
  V reverse(V vector);
  /// `count` lanes from `first` on, as a vector of `lanes`; the lanes behind them mean nothing.
  V part(V vector, int first, int count, int lanes);
  /// The first lanes of `low`, then those of `high`, which has as many.
  V joined(V low, int num_low, V high, int num_high);
  /// The i1 vector with the first `count` of `lanes` bits set.
  V first_lanes(int count, int lanes);
  V any_lane(V mask) { return lanes_of(mask) == 1 ? mask : reduce_or(mask); }
  V offset(V pointer, V bytes);
  V offset(V pointer, std::int64_t bytes);
  V load(LLVMTypeRef type, V pointer, unsigned alignment);
  void store(V value, V pointer, unsigned alignment);
  /// Whether the address is a multiple of `bytes`, a power of two.
  V is_multiple(V pointer, std::int64_t bytes);
  /// A branch that nearly always goes to `usual`.
  void branch_mostly(V condition, LLVMBasicBlockRef usual, LLVMBasicBlockRef other);
  /// Past the caches; the alignment must be the size of the value.
  void stream(V value, V pointer, unsigned alignment);
  /// No load behind it is taken for the same as one before it. No instruction comes of it.
  void fence_loads();
  V masked_load(LLVMTypeRef type, V pointer, unsigned alignment, V mask);
  void masked_store(V value, V pointer, unsigned alignment, V mask);

  /// Between memory and compute representation (f16, bf16, boolean; others unchanged).
  V from_storage(V stored, DType type);
  V to_storage(V value, DType type);
  /// As expr.hpp's Cast; reals out of an integer's range give an unspecified value.
  V cast(V value, DType from, DType to);

  ModuleContext& m;
  LLVMBuilderRef ref;

 private:
  V reduce_or(V mask) { return intrinsic("llvm.vector.reduce.or", {LLVMTypeOf(mask)}, {mask}); }
  LLVMTypeRef like_lanes(V value, LLVMTypeRef element) const {
    return m.vector_of(element, lanes_of(value));
  }
  V float_from_half(V bits);
  V half_from_float(V value);
  V bf16_from_float(V value);
};

}  // namespace tensorsmith::llvm_codegen
