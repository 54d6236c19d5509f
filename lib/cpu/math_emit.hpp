// Inline elementary functions for f32, any number of lanes; f64 goes to the C library lane by lane.
//
// Private to lib/cpu. Polynomials after Cephes (S. Moshier) and N. Juffa's erff. Largest errors on
// f32 in units of the last place, over all special values, denormals and a dense sample (tested;
// with and without FMA): exp 1.0, log 1.0, tanh 1.5, erf 1.2, sigmoid 3.0; sqrt is correctly
// rounded, rsqrt is 1 / sqrt (1.5); pow calls powf except for the exponents 0.5, 1, 2 and 3.
#pragma once

#include "ir_builder.hpp"
#include "tensorsmith/ir/expr.hpp"

namespace tensorsmith::llvm_codegen {

/// `op` of floating-point operands (f16 and bf16 already as float).
LLVMValueRef emit_call(IrBuilder& b, CallOp op, DType type, LLVMValueRef x, LLVMValueRef y);

/// a (1 + erf(x)) of f32 where a and x have the same sign, to an absolute error of 2^-24 |a|: the
/// sum needs no small numbers of erf. Null where that is no shorter.
LLVMValueRef emit_times_one_plus_erf(IrBuilder& b, LLVMValueRef a, LLVMValueRef x);

}  // namespace tensorsmith::llvm_codegen
