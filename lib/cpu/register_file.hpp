// SPDX-License-Identifier: Apache-2.0
// RegisterFile: the SSA values that stand for register_ buffers at one point of a function.
//
// Private to lib/cpu. Own design. A buffer is a set of disjoint pieces (first element, number of
// elements, value); a piece is usually one vector register. Access with another granularity takes
// vectors apart and puts them together. What was never written reads as zero.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ir_builder.hpp"
#include "tensorsmith/ir/expr.hpp"

namespace tensorsmith::llvm_codegen {

struct Piece {
  std::int64_t start = 0;
  int count = 0;                 ///< elements; the value may have more lanes, of no meaning
  LLVMValueRef value = nullptr;  ///< compute representation
};
using Pieces = std::vector<Piece>;  ///< by start

class RegisterFile {
 public:
  const std::map<BufferId, Pieces>& buffers() const { return buffers_; }
  Pieces& pieces(BufferId buffer) { return buffers_[buffer]; }
  bool contains(BufferId buffer) const { return buffers_.find(buffer) != buffers_.end(); }
  void forget(BufferId buffer) { buffers_.erase(buffer); }

  /// `count` elements from `start` in a value of `lanes` lanes. New instructions go to `b`.
  LLVMValueRef read(IrBuilder& b, BufferId buffer, DType type, std::int64_t start, int count,
                    int lanes) const;
  void write(IrBuilder& b, BufferId buffer, std::int64_t start, int count, LLVMValueRef value);
  void replace_value(LLVMValueRef old_value, LLVMValueRef new_value);

 private:
  std::map<BufferId, Pieces> buffers_;
};

/// Pieces that cover what `a` or `b` covers, with a's shape where both do.
Pieces united_shape(const Pieces& a, const Pieces& b);

}  // namespace tensorsmith::llvm_codegen
