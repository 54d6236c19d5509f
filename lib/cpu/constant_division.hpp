// SPDX-License-Identifier: Apache-2.0
// Quotients by constants as products with their reciprocals.
//
// Private to lib/. Own design, after Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication". LLVM does the same where it selects patterns; the quick selection of
// instructions (code_passes.cpp) takes the division, which is several times slower.
#pragma once

#include "ir_builder.hpp"

namespace tensorsmith::llvm_codegen {

struct ConstantDivision {
  std::int64_t divisor;         ///< above 1
  bool floors = false;          ///< towards minus infinity; else towards zero
  bool is_nonnegative = false;  ///< the dividend is never below zero
};

/// Of a signed scalar integer of 8 to 64 bits, in its own type.
LLVMValueRef quotient_of(IrBuilder& builder, LLVMValueRef dividend,
                         const ConstantDivision& division);

/// dividend - quotient * divisor.
LLVMValueRef remainder_of(IrBuilder& builder, LLVMValueRef dividend,
                          const ConstantDivision& division);

}  // namespace tensorsmith::llvm_codegen
