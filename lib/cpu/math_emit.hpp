// SPDX-License-Identifier: Apache-2.0
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

/// Whether that is a handful of instructions (`y`: of pow, constant or not).
bool is_short_call(CallOp op, LLVMValueRef y);

/// max(x, m) k (1 + erf(x l)) of f32 with k, l > 0 and an m beyond which 1 + erf is 0, as in gelu,
/// to an absolute error of 2^-23 k |x|: the sum needs no small numbers of erf.
LLVMValueRef emit_gated_by_erf(IrBuilder& b, LLVMValueRef x, double m, double k, double l);

/// Whether `m` is such a bound.
bool gate_reaches_its_end(double m, double l);

}  // namespace tensorsmith::llvm_codegen
