// SPDX-License-Identifier: Apache-2.0
// KernelEmitter: one LoopProgram as functions of a module, with the entry point of kernel_abi.hpp.
//
// Private to lib/cpu. Own design. The entry point loads the argument pointers and calls an inner
// function whose parameters are noalias and aligned; so do the bodies of parallel loops, which get
// what they need through a closure.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "function_emitter.hpp"
#include "tensorsmith/ir/program_hash.hpp"

namespace tensorsmith::llvm_codegen {

class KernelEmitter {
 public:
  /// Throws CompileFailure if the program is malformed. `is_serial`: parallel loops are loops of
  /// the inner function, and the runtime is not asked.
  KernelEmitter(ModuleContext& m, const LoopProgram& program, std::string entry, bool is_serial);
  KernelEmitter(const KernelEmitter&) = delete;
  KernelEmitter& operator=(const KernelEmitter&) = delete;

  /// Throws CompileFailure; the functions made so far are removed again by discard().
  void emit();
  void discard();
  std::int64_t shared_bytes() const { return shared_.peak; }
  std::int64_t per_thread_bytes() const { return per_thread_.peak; }
  /// Arguments in whose memory the result may lie (in_place.hpp).
  const std::vector<std::int32_t>& overwritable() const { return overwritable_; }

  // For FunctionEmitter.
  /// Whether no other argument may lie in the buffer's memory.
  bool is_alone(BufferId buffer) const;
  struct Captures {
    std::vector<BufferId> buffers;
    std::vector<VarId> vars;  ///< as 64-bit values
    std::vector<std::pair<VarId, std::int64_t>> constants;
  };
  /// The function to hand to parallel_for. Its closure: workspace, pointers, values; 8 bytes each.
  LLVMValueRef outline(const For& loop, const Captures& captures);
  /// One more outermost loop: whether it should be a function of its own.
  bool count_nest();
  /// Nests with equal keys have the same code, up to what their buffers are.
  struct NestKey {
    std::vector<BufferId> buffers;  ///< of the nest, in the order in which they are first met
    std::string facts;
  };
  NestKey key_of(StmtId nest);
  /// That function: of the buffers, the workspace (as the caller's), the variables, the runtime.
  LLVMValueRef outline_nest(StmtId nest, const NestKey& key, const Captures& captures,
                            bool has_runtime, WorkspaceArea& area);
  using Computation = std::function<LLVMValueRef(IrBuilder& b, const LLVMValueRef* operands)>;
  /// What `computation` makes of operands of one type: here, or, if the kernel has much of that
  /// already, in a function. `name` says which computation it is.
  LLVMValueRef compute(IrBuilder& b, const std::string& name,
                       std::initializer_list<LLVMValueRef> operands,
                       const Computation& computation);
  /// Bytes that the buffer's address is known to be a multiple of: the caller's memory is aligned
  /// to its elements, what the kernel allocates to lines.
  std::int64_t base_alignment(BufferId buffer) const;
  bool is_argument(BufferId buffer) const;
  void count_statement();

  ModuleContext& m;
  const LoopProgram& program;
  const ProgramFacts facts;

 private:
  struct Body {
    LLVMValueRef wrapper, inner;
    std::size_t num_buffers, num_vars;
  };
  static constexpr std::int64_t own_alignment = 64;
  void emit_body_wrapper(const Body& body);
  /// A function of the captured buffers, a workspace, the captured variables and `more`.
  LLVMValueRef add_part(const std::string& name, const Captures& captures,
                        const std::vector<LLVMTypeRef>& more);
  void bind(FunctionEmitter& emitter, LLVMValueRef part, const Captures& captures);

  std::string entry_;
  bool is_serial_;
  WorkspaceArea shared_, per_thread_;
  std::vector<LLVMValueRef> functions_;
  std::vector<Body> bodies_;
  std::int64_t num_statements_ = 0, num_nests_ = 0, num_computed_ = 0;
  std::map<std::pair<std::string, LLVMTypeRef>, LLVMValueRef> computed_;  // by compute
  std::optional<detail::ProgramHasher> hasher_;  // of programs with many loops
  std::map<std::string, LLVMValueRef> parts_;    // by the key of a nest
  std::vector<std::int32_t> overwritable_;
  InPlace in_place_;  ///< what they mean
};

}  // namespace tensorsmith::llvm_codegen
