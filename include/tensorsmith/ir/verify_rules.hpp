// SPDX-License-Identifier: Apache-2.0
// Names of the rules of loop programs, and their texts.
//
// Floor 1. Own design. Not here: what they mean exactly (verify.hpp).
#pragma once

#include <cstdint>
#include <string_view>

namespace tensorsmith {

enum class VerifyRule : std::uint8_t {
  missing_body,            ///< no statement where one is needed
  extent_not_constant,     ///< of an unrolled, vectorized, vthread, block or thread loop
  extent_not_integer,      ///< or negative
  loop_inside_vectorized,  ///< only unrolled loops, stores, conditions and hints may be
  alloc_inside_vectorized,
  barrier_inside_vectorized,
  parallel_inside_parallel,
  variable_out_of_scope,
  variable_defined_twice,
  buffer_out_of_scope,  ///< neither an argument nor inside its Alloc
  buffer_allocated_twice,
  argument_allocated,
  argument_order,  ///< arguments[n] must be a global buffer with argument n
  buffer_layout,   ///< shape, strides or alignment make no sense
  register_index,  ///< of other than constants and unrolled or vectorized variables
  index_count,     ///< differs from the rank
  index_not_integer,
  store_type,         ///< value and buffer differ
  load_type,          ///< node and buffer differ
  operand_type,       ///< operands of one operator differ, or a condition is not boolean
  tensor_in_program,  ///< TensorRead or Reduce
  axis_place,     ///< block loops are outermost, thread loops directly in them or in shared Allocs
  axis_twice,     ///< a hardware axis belongs to two loops around each other
  shared_place,   ///< a shared buffer is allocated between the blocks and the threads of a kernel
  barrier_place,  ///< a barrier stands in thread loops, under nothing that differs among threads
  lane_access,    ///< of a buffer of a warp: not as ir/lane_access.hpp says, by all threads alike
  guard_in_tile,  ///< speed: If or if_then_else on a tile's variable
  extremum_in_tile,  ///< speed: min or max of indices on a tile's variable
  intrinsic_form     ///< speed: a loop carries a tensor intrinsic that computes something else
};

constexpr bool is_about_speed(VerifyRule rule) { return rule >= VerifyRule::guard_in_tile; }

constexpr std::string_view text_of(VerifyRule rule) {
  constexpr std::string_view texts[] = {
      "a statement is missing",
      "the extent must be a constant",
      "the extent must be a natural number",
      "only unrolled loops may be inside a vectorized loop",
      "no buffer may be allocated inside a vectorized loop",
      "no barrier may be inside a vectorized loop",
      "a parallel loop is inside another",
      "a variable is used outside its loop",
      "a variable belongs to two loops",
      "a buffer is used outside its allocation",
      "a buffer is allocated twice",
      "an argument is allocated",
      "arguments must be global buffers in order",
      "shape, strides and alignment do not fit together",
      "registers are indexed by constants, unrolled and vectorized variables only",
      "the number of indices is not the rank",
      "an index must be an integer",
      "the stored value has another type than the buffer",
      "the loaded value has another type than the buffer",
      "the types of the operands differ",
      "tensors and reductions must have been lowered",
      "a block or thread loop is not at the head of its kernel",
      "a block or thread axis belongs to two loops",
      "a shared buffer is not allocated between the blocks and the threads of a kernel",
      "a barrier is not reached by all threads of a block together",
      "a warp's buffer is not accessed lane by lane, by all threads of a block together",
      "a condition inside an unrolled or vectorized loop depends on its variable",
      "a minimum or maximum inside an unrolled or vectorized loop depends on its variable",
      "a tensor intrinsic does not compute what the loop does"};
  return texts[static_cast<std::size_t>(rule)];
}

}  // namespace tensorsmith
