// SPDX-License-Identifier: Apache-2.0
// match_tensor_update: whether a store is what a tensor intrinsic computes, and its operands.
//
// Floor 1. Own design. What the verifier demands below a loop that carries an intrinsic, and where
// code generation finds the operands, is one question: here is its answer.
#pragma once

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"

namespace tensorsmith {

/// One factor: a load converted to the accumulator's type, with TensorIntrinsic::a_offset added, or
/// nothing but that number.
struct TensorFactor {
  const Load* load = nullptr;  ///< nullptr: the offset alone
  std::int64_t offset = 0;     ///< added to the element
};

/// accumulator = accumulator + a * b
struct TensorUpdate {
  ExprId accumulator;  ///< the load of the stored element; invalid: the store is something else
  TensorFactor a, b;

  explicit operator bool() const { return accumulator.valid(); }
};

namespace detail {

/// Whether `id` is a factor of elements that the intrinsic takes for `wanted`; which one.
inline bool is_tensor_factor(const ExprPool& pool, ExprId id, const TensorIntrinsic& intrinsic,
                             DType wanted, std::int64_t offset, TensorFactor& factor) {
  factor = {};
  if (const IntImm* imm = pool.as<IntImm>(id); imm != nullptr && offset != 0) {
    factor.offset = imm->value;
    return imm->value == offset;
  }
  if (const Binary* sum = pool.as<Binary>(id); sum != nullptr && sum->op == BinaryOp::add) {
    const IntImm* imm = pool.as<IntImm>(sum->b);
    if (imm == nullptr || imm->value != offset) {
      return false;
    }
    factor.offset = offset;
    id = sum->a;
  }
  const Cast* cast = pool.as<Cast>(id);
  const ExprId inner = cast != nullptr ? cast->a : id;
  factor.load = pool.as<Load>(inner);
  return factor.load != nullptr && pool.dtype(id) == intrinsic.accumulator &&
         intrinsic.takes(wanted, pool.dtype(inner)) && factor.offset == offset;
}

}  // namespace detail

/// Where both operands have the same type, they come in the order of the product.
inline TensorUpdate match_tensor_update(const LoopProgram& program, const Store& store,
                                        const TensorIntrinsic& intrinsic) {
  const ExprPool& pool = program.pool;
  const Binary* sum = pool.as<Binary>(store.value);
  const DType type = intrinsic.accumulator;
  if (sum == nullptr || sum->op != BinaryOp::add || program[store.buffer].dtype != type) {
    return {};
  }
  for (const bool is_first : {true, false}) {
    const ExprId old = is_first ? sum->a : sum->b;
    const Load* load = pool.as<Load>(old);
    const Binary* product = pool.as<Binary>(is_first ? sum->b : sum->a);
    if (load == nullptr || load->buffer != store.buffer || load->indices != store.indices ||
        product == nullptr || product->op != BinaryOp::mul) {
      continue;
    }
    for (const bool is_swapped : {false, true}) {
      const ExprId x = is_swapped ? product->b : product->a;
      const ExprId y = is_swapped ? product->a : product->b;
      TensorFactor a, b;
      if (detail::is_tensor_factor(pool, x, intrinsic, intrinsic.a, intrinsic.a_offset, a) &&
          detail::is_tensor_factor(pool, y, intrinsic, intrinsic.b, 0, b)) {
        return {old, a, b};
      }
    }
  }
  return {};
}

/// Whether the statement is a tile of such updates: unrolled and vectorized loops around stores. In
/// tile registers they have addresses, so that other loops may be among them.
inline bool is_tensor_tile(const LoopProgram& program, const TensorIntrinsic& intrinsic,
                           StmtId id) {
  if (const Seq* s = program.as<Seq>(id)) {
    for (StmtId item : s->items) {
      if (!is_tensor_tile(program, intrinsic, item)) {
        return false;
      }
    }
    return true;
  }
  if (const For* s = program.as<For>(id)) {
    const bool is_tile = s->kind == ForKind::unrolled || s->kind == ForKind::vectorized ||
                         (intrinsic.has_tiles() && s->kind == ForKind::serial);
    return is_tile && s->intrinsic == nullptr && is_tensor_tile(program, intrinsic, s->body);
  }
  const Store* store = program.as<Store>(id);
  return program.as<Prefetch>(id) != nullptr ||
         (store != nullptr && match_tensor_update(program, *store, intrinsic));
}

}  // namespace tensorsmith
