// SPDX-License-Identifier: Apache-2.0
// How a loop program is interpreted: the order of parallel loops, and which arguments are results.
//
// Floor 1. Own design. Not here: the interpreter (eval.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace tensorsmith {

enum class LoopOrder : std::uint8_t { forward, reversed, shuffled };

struct EvalOptions {
  /// Of loops whose iterations are independent by contract: parallel, vthread, block_*, thread_*.
  LoopOrder parallel_order = LoopOrder::forward;
  std::uint64_t seed = 1;  ///< of LoopOrder::shuffled
  /// By argument position: contents count as undefined at first, and every element must have got a
  /// value in the end. Missing entries: false.
  std::vector<bool> is_output = {};
};

}  // namespace tensorsmith
