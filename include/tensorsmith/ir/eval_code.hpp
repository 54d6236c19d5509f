// SPDX-License-Identifier: Apache-2.0
// The instructions of the interpreter: one expression for all lanes.
//
// Floor 1. Part of eval_machine.hpp. An arm of if_then_else runs for the lanes that take it only.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/eval_machine.hpp"

namespace tensorsmith::detail {

inline bool Evaluator::lazy(const EvalInstr& instr, std::uint32_t at, StmtId stmt, Lanes lanes,
                            std::uint32_t count) {
  std::vector<std::uint32_t> arms[2];
  for (std::uint32_t n = 0; n < count; ++n) {
    arms[reg(instr.a)[lanes[n]].integer != 0 ? 0 : 1].push_back(lanes[n]);
  }
  const std::uint32_t begins[2] = {at + 1, instr.b}, ends[2] = {instr.b, instr.d},
                      results[2] = {instr.c, instr.e};
  for (int arm = 0; arm < 2; ++arm) {
    const auto size = static_cast<std::uint32_t>(arms[arm].size());
    if (size > 0 && !run_code(begins[arm], ends[arm], stmt, arms[arm].data(), size)) {
      return false;
    }
    for (std::uint32_t lane : arms[arm]) {
      reg(instr.dst)[lane] = reg(results[arm])[lane];
    }
  }
  return true;
}

inline bool Evaluator::run_code(std::uint32_t begin, std::uint32_t end, StmtId stmt, Lanes lanes,
                                std::uint32_t count) {
  for (std::uint32_t at = begin; at < end; ++at) {
    const EvalInstr& in = p_.code[at];
    Scalar* dst = reg(in.dst);
    const auto each = [&](const auto& f) {
      for (std::uint32_t n = 0; n < count; ++n) {
        dst[lanes[n]] = f(lanes[n]);
      }
    };
    const auto with_operands = [&](const auto& f) {
      const Scalar *a = reg(in.a), *b = reg(in.b);
      each([&](std::uint32_t lane) { return f(a[lane], b[lane]); });
    };
    switch (in.op) {
    case EvalOp::add_int:
      with_operands(
          [](Scalar a, Scalar b) { return scalar_of(wrapping_add(a.integer, b.integer)); });
      break;
    case EvalOp::sub_int:
      with_operands(
          [](Scalar a, Scalar b) { return scalar_of(wrapping_sub(a.integer, b.integer)); });
      break;
    case EvalOp::mul_int:
      with_operands(
          [](Scalar a, Scalar b) { return scalar_of(wrapping_mul(a.integer, b.integer)); });
      break;
    case EvalOp::wrap:
      each([&, a = reg(in.a)](std::uint32_t l) {
        return scalar_of(wrap_integer(a[l].integer, in.type));
      });
      break;
    case EvalOp::add_f32:
      with_operands([](Scalar a, Scalar b) {
        return scalar_of_real(static_cast<float>(a.real) + static_cast<float>(b.real));
      });
      break;
    case EvalOp::sub_f32:
      with_operands([](Scalar a, Scalar b) {
        return scalar_of_real(static_cast<float>(a.real) - static_cast<float>(b.real));
      });
      break;
    case EvalOp::mul_f32:
      with_operands([](Scalar a, Scalar b) {
        return scalar_of_real(static_cast<float>(a.real) * static_cast<float>(b.real));
      });
      break;
    case EvalOp::binary: {
      bool good = true;
      with_operands([&](Scalar a, Scalar b) {
        const auto result = apply_binary(static_cast<BinaryOp>(in.sub), in.type, a, b, in.wraps);
        good = good && result.has_value();
        return result.value_or(scalar_of(0));
      });
      if (!good) {
        return fail({EvalErrorKind::division_by_zero, stmt, {}, -1, 0, 0});
      }
      break;
    }
    case EvalOp::unary:
      with_operands([&](Scalar a, Scalar) {
        return apply_unary(static_cast<UnaryOp>(in.sub), in.type, a, in.wraps);
      });
      break;
    case EvalOp::call:
      with_operands([&](Scalar a, Scalar b) {
        return apply_call(static_cast<CallOp>(in.sub), in.type, a, b, in.wraps);
      });
      break;
    case EvalOp::cast:
      with_operands([&](Scalar a, Scalar) { return cast_scalar(a, in.type, in.to); });
      break;
    case EvalOp::select:
      each([&, a = reg(in.a), b = reg(in.b), c = reg(in.c)](std::uint32_t l) {
        return a[l].integer != 0 ? b[l] : c[l];
      });
      break;
    case EvalOp::var:
      each([&](std::uint32_t) { return scalar_of(vars_[in.a]); });
      break;
    case EvalOp::lane:
      each([](std::uint32_t l) { return scalar_of(static_cast<std::int64_t>(l)); });
      break;
    case EvalOp::load:
      if (!load(in, lanes, count)) {
        return false;
      }
      break;
    case EvalOp::lazy:
      if (!lazy(in, at, stmt, lanes, count)) {
        return false;
      }
      at = in.d - 1;
      break;
    }
  }
  return true;
}

}  // namespace tensorsmith::detail
