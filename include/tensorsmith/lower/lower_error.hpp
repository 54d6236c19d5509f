// SPDX-License-Identifier: Apache-2.0
// Why a state cannot be lowered.
//
// Floor 4. Own design. Normal in a search: an enum and a stage id, no strings until `explain`.
// Steps that mean nothing on a CPU (docs/lowering.md) change nothing.
#pragma once

#include <cstdint>
#include <string>

namespace tensorsmith {

enum class LowerErrorCode : std::uint8_t {
  not_concrete,                   ///< a split length is still unknown
  consumer_outside_attach_point,  ///< a stage is computed at a loop that does not cover a reader
  output_not_at_root,             ///< an argument of the kernel must be computed at root
  unsupported_layout,             ///< a storage layout that does not fit its stage
  reduction_without_loops,        ///< a fuse without iterators dropped the loops of a reduction
  illegal_binding                 ///< a loop bound to blocks or threads where that has no meaning
};

struct LowerError {
  LowerErrorCode code;
  std::int32_t stage = -1;
  bool operator==(const LowerError&) const = default;
};

inline std::string explain(const LowerError& error) {
  const std::string where = " (stage " + std::to_string(error.stage) + ")";
  switch (error.code) {
  case LowerErrorCode::not_concrete:
    return "the state has undecided split lengths; fill them in before lowering" + where;
  case LowerErrorCode::consumer_outside_attach_point:
    return "a reader of this stage lies outside of the loop it is computed at" + where;
  case LowerErrorCode::output_not_at_root:
    return "an output of the workload must be computed at root" + where;
  case LowerErrorCode::unsupported_layout:
    return "the storage layout does not fit the stage's dimensions" + where;
  case LowerErrorCode::reduction_without_loops:
    return "a fuse that names no iterators took the loops of a reduction away" + where;
  case LowerErrorCode::illegal_binding:
    return "a loop is bound to blocks or threads that cannot share its work" + where;
  }
  return "unknown lowering error" + where;
}

}  // namespace tensorsmith
