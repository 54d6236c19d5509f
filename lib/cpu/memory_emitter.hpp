// SPDX-License-Identifier: Apache-2.0
// MemoryEmitter: loads and stores of registers and memory; what was loaded and may be used again.
//
// Private to lib/cpu (access_emit.cpp, strided_load.cpp). Own design.
#pragma once

#include <functional>
#include <map>

#include "value_emitter.hpp"

namespace tensorsmith::llvm_codegen {

class MemoryEmitter : PartEmitter {
 public:
  MemoryEmitter(FunctionState& state, ValueEmitter& values) : PartEmitter(state), values_(values) {}

  Value load(const Load& node);
  /// `value`, in the type of its expression, to where the store's indices say.
  void store(const Store& store, const LinearForm& form, Value value);
  /// Numbers as they stand in memory as elements of `type`.
  LLVMValueRef as_stored(Value value, DType type);
  /// Whether numbers of two bytes are moved as they are.
  bool is_raw_copy(const Store& store) const;
  void emit_prefetch(const Prefetch& prefetch);
  void fetch(LLVMValueRef pointer, int level);

  /// What was loaded before, if it is worth a register; null: it is to be loaded (again).
  const Value* known_load(const LoadKey& key);
  void keep_load(const LoadKey& key, BufferId buffer, Value value);
  void forget_loads(BufferId buffer);
  /// Loads stay known across a statement unless it stores to their buffer.
  void forget_loads(const StmtFacts& facts);

  LLVMValueRef pointer_to(BufferId buffer, const LinearForm& form);
  unsigned alignment_of(BufferId buffer, const LinearForm& form) const;
  const BufferState& alive(BufferId buffer) const;
  /// What lanes may touch memory: the chunk's tail and mask together; null = all of them.
  LLVMValueRef memory_mask();
  bool has_streamed() const { return has_streamed_; }  ///< past the caches

 private:
  Value load_register(const Load& node, const LinearForm& form);
  Value load_memory(const Load& node, const LinearForm& form);
  LLVMValueRef load_scalar(LLVMValueRef pointer, DType type, LLVMValueRef guard);
  bool has_whole_groups(BufferId buffer, const LinearForm& form, std::int64_t group) const;
  bool has_known_mask() const;
  bool is_fixed(BufferId buffer, const LinearForm& form) const;
  LLVMValueRef load_strided(const Load& node, const LinearForm& form);
  LLVMValueRef load_pattern(const Load& node, const LinearForm& form);
  LLVMValueRef load_run(LLVMValueRef pointer, DType type, int count);
  LLVMValueRef load_lanes(const Load& node, const LinearForm& form,
                          const std::vector<std::int64_t>& elements);
  void store_memory(const Store& store, const LinearForm& form, Value value);
  void store_register(const Store& store, const LinearForm& form, Value value);
  void store_scalar(LLVMValueRef pointer, LLVMValueRef value, unsigned alignment,
                    LLVMValueRef guard);
  void store_first_lanes(LLVMValueRef value, LLVMValueRef pointer, unsigned element);
  void store_past_caches(BufferId buffer, LLVMValueRef pointer, LLVMValueRef value, unsigned bytes,
                         const LinearForm& form);
  /// The same as alignment_of if the buffer begins at a multiple of `base`.
  unsigned alignment_from(std::int64_t base, BufferId buffer, const LinearForm& form) const;
  void for_each_lane(const std::function<void(int lane)>& compute);  ///< active ones, scalar mode

  ValueEmitter& values_;
  std::map<LoadKey, Value> fixed_;           // loaded in front of all loops
  std::int64_t num_loads_ = 0, fence_ = -1;  // fence_: num_loads_ at the last fence
  bool has_streamed_ = false;
};

}  // namespace tensorsmith::llvm_codegen
