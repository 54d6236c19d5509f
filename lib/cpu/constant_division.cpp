// SPDX-License-Identifier: Apache-2.0
#include "constant_division.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace tensorsmith::llvm_codegen {
namespace {

/// 2^exponent / divisor, rounded up: exponent below 127, the quotient below 2^64.
std::uint64_t scaled_reciprocal(unsigned exponent, std::uint64_t divisor) {
  std::uint64_t quotient = 0, rest = 0;  // of the leading bits so far, one bit at a time
  for (unsigned bit = exponent + 1; bit-- > 0;) {
    rest = rest * 2 + (bit == exponent ? 1 : 0);
    const bool fits = rest >= divisor;
    rest -= fits ? divisor : 0;
    quotient = quotient * 2 + (fits ? 1 : 0);
  }
  return quotient + (rest > 0 ? 1 : 0);
}

}  // namespace

LLVMValueRef quotient_of(IrBuilder& builder, LLVMValueRef dividend,
                         const ConstantDivision& division) {
  const LLVMTypeRef type = LLVMTypeOf(dividend);
  const unsigned bits = LLVMGetIntTypeWidth(type);
  // Nonnegative numbers below 2^(bits - 1), and that one, have the right quotient: the error of the
  // reciprocal, less than 2^log, times them stays below 2^(bits - 1 + log).
  const auto divisor = static_cast<std::uint64_t>(division.divisor);
  const auto log = static_cast<unsigned>(std::bit_width(divisor - 1));
  const unsigned exponent = bits - 1 + log;
  const LLVMContextRef context = LLVMGetTypeContext(type);
  const LLVMTypeRef wide = LLVMIntTypeInContext(context, 2 * bits);
  const std::array<std::uint64_t, 2> reciprocal = {scaled_reciprocal(exponent, divisor), 0};
  LLVMValueRef sign = nullptr, size = dividend;
  if (!division.is_nonnegative) {  // ~x is -x - 1: floor(x / d) = ~floor(~x / d) below zero
    sign = builder.ashr(dividend, static_cast<int>(bits) - 1);
    size = builder.xor_(dividend, sign);
    size = division.floors ? size : builder.sub(size, sign);
  }
  const LLVMValueRef product =
      builder.mul(LLVMBuildZExt(builder.ref, size, wide, ""),
                  LLVMConstIntOfArbitraryPrecision(wide, 2, reciprocal.data()));
  LLVMValueRef quotient =
      LLVMBuildTrunc(builder.ref, builder.lshr(product, static_cast<int>(exponent)), type, "");
  if (sign != nullptr) {
    quotient = builder.xor_(quotient, sign);
    quotient = division.floors ? quotient : builder.sub(quotient, sign);
  }
  return quotient;
}

LLVMValueRef remainder_of(IrBuilder& builder, LLVMValueRef dividend,
                          const ConstantDivision& division) {
  const LLVMValueRef whole = builder.mul(quotient_of(builder, dividend, division),
                                         builder.int_like(dividend, division.divisor));
  return builder.sub(dividend, whole);
}

}  // namespace tensorsmith::llvm_codegen
