// SPDX-License-Identifier: Apache-2.0
// FunctionState: what the emitters of one LLVM function share.
//
// Private to lib/cpu. Own design: SSA is built directly (register_ buffers become values, carried
// by phis; no alloca + mem2reg). ValueEmitter makes values and addresses, MemoryEmitter loads and
// stores, TileEmitter what is computed in tiles, FunctionEmitter everything else of statements.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "address_builder.hpp"
#include "ir_builder.hpp"
#include "program_facts.hpp"
#include "register_file.hpp"
#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith::llvm_codegen {

class KernelEmitter;

struct Binding {
  enum class Kind : std::uint8_t { none, scalar, lane, inner_lane } kind = Kind::none;
  LinearForm value;  ///< of a scalar; without lanes
};

struct BufferState {
  LLVMValueRef pointer = nullptr;
  std::uint32_t base_id = 0;
  bool is_alive = false;
  LLVMValueRef is_on_line = nullptr;  ///< whether it begins at a 64-byte line; made when asked
};

/// Consecutive iterations of a loop that are translated together.
struct Strip {
  VarId var;
  LinearForm first;  ///< the loop variable in the first one
  int lanes = 1;     ///< a power of two
  int count = 1;     ///< active lanes; < lanes in a masked tail
};

/// The strip of a vectorized loop that is being translated. lanes == 1: none, or a scalar strip.
/// Its lanes may be the iterations of two loops, the whole inner one for each of the outer one:
/// lane l is iteration first + (phase + l) / inner of `var`, (phase + l) % inner of `inner_var`.
struct Chunk : Strip {
  LLVMValueRef mask = nullptr;  ///< varying part of the condition; null = all lanes
  VarId inner_var;
  int inner = 1;  ///< iterations of the inner loop; 1: there is none
  int phase = 0;

  std::int64_t outer_at(int lane) const { return (phase + lane) / inner; }
  std::int64_t inner_at(int lane) const { return (phase + lane) % inner; }
};

struct CachedLoad {
  BufferId buffer;
  Value value;
  std::int64_t loaded = 0, used = 0;  ///< the last time each, counted in loads
};
/// Pointer, constant, lane, outer, inner and phase of the address; lanes, count and type of the
/// value.
using LoadKey = std::tuple<LLVMValueRef, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                           int, int, int, DType>;
using LoadCache = std::map<LoadKey, CachedLoad>;
using Memo = std::unordered_map<std::uint32_t, Value>;

struct FunctionState {
  FunctionState(KernelEmitter& kernel, LLVMValueRef function);
  FunctionState(const FunctionState&) = delete;
  FunctionState& operator=(const FunctionState&) = delete;

  LLVMBasicBlockRef new_block() { return LLVMAppendBasicBlockInContext(m.context, function, ""); }
  void bind_constant(VarId var, std::int64_t value);

  KernelEmitter& kernel;
  const LoopProgram& program;
  const ProgramFacts& facts;
  ModuleContext& m;
  LLVMValueRef function;
  IrBuilder b;
  AddressBuilder addresses;
  std::vector<Binding> bindings;     // by VarId
  std::vector<BufferState> buffers;  // by BufferId
  RegisterFile registers;
  Chunk chunk;
  LLVMValueRef guard = nullptr;  // scalar mode under a mask: is this lane active?
  Memo memo;
  LoadCache loads;
  bool is_raw_copy = false;  // loads of f16 and bf16 give the bits that will be stored
  bool is_dry_run = false;   // forms are wanted for their shape only
};

/// An emitter of a part: the shared state by short names.
class PartEmitter {
 protected:
  explicit PartEmitter(FunctionState& state)
      : state_(state), kernel_(state.kernel), program_(state.program), facts_(state.facts),
        m_(state.m), b_(state.b), addresses_(state.addresses), bindings_(state.bindings),
        buffers_(state.buffers), registers_(state.registers), chunk_(state.chunk),
        guard_(state.guard), memo_(state.memo), loads_(state.loads) {}
  ~PartEmitter() = default;
  PartEmitter(const PartEmitter&) = delete;
  PartEmitter& operator=(const PartEmitter&) = delete;

  FunctionState& state_;
  KernelEmitter& kernel_;
  const LoopProgram& program_;
  const ProgramFacts& facts_;
  ModuleContext& m_;
  IrBuilder& b_;
  AddressBuilder& addresses_;
  std::vector<Binding>& bindings_;
  std::vector<BufferState>& buffers_;
  RegisterFile& registers_;
  Chunk& chunk_;
  LLVMValueRef& guard_;
  Memo& memo_;
  LoadCache& loads_;
};

}  // namespace tensorsmith::llvm_codegen
