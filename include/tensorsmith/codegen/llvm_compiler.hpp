// SPDX-License-Identifier: Apache-2.0
// LlvmCompiler: loop programs to object code; JitKernel: object code of here to a function.
//
// Floor 5. Own design. Needs the `cpu` library (LLVM through its C API); no LLVM type appears here.
// Register tiles become SSA values, no IR optimisation pipeline runs, so what a schedule says is
// what the machine does. Code of x86-64 and 64-bit Arm. Not here: schedules, threads, measuring.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/codegen/kernel_abi.hpp"
#include "tensorsmith/codegen/machine_text.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// A kernel in a relocatable object file. It may call functions of the C math library.
struct CompiledObject {
  std::string object;  ///< ELF
  std::string entry;   ///< symbol, of type KernelEntry
  std::int64_t shared_bytes = 0;
  std::int64_t per_thread_bytes = 0;
  /// Arguments in whose memory the only result may lie: each element is read where it is written.
  std::vector<std::int32_t> overwritable = {};

  std::int64_t workspace_bytes(std::int32_t num_threads) const {
    return shared_bytes + num_threads * per_thread_bytes;
  }
};

struct BatchItem {
  const LoopProgram* program = nullptr;
  std::string entry;  ///< different for every item
};

/// Several kernels in one object file: one to load, and 5 % fewer instructions to make them.
struct CompiledBatch {
  /// The `object` of the entries is empty: it is this one.
  std::string object;
  /// By item; the reason where a program could not be compiled.
  std::vector<Result<CompiledObject, std::string>> kernels;
};

struct LlvmOptions {
  std::int32_t code_generation_level = 2;  ///< 0 ... 3
  /// Run LLVM's verifier first: what it finds is the reason that is given; code generation would
  /// end in a fatal error, or in code that means something else.
  bool verify_module = true;
  /// Parallel loops run one after the other, whatever runs the kernel: one function, not three for
  /// every loop, which takes less time to compile.
  bool is_serial = false;
};

/// Keeps LLVM's target machine and context; not thread-safe, make one per thread. Fatal errors of
/// LLVM are results like others; what that compiler had open is lost, some memory with it. To this
/// end a handler for them is installed in LLVM; those of other uses of LLVM in the process end it
/// as ever.
class LlvmCompiler {
 public:
  explicit LlvmCompiler(const Target& target, const LlvmOptions& options = {});
  /// Of the library that makes the code, e.g. "19.1.7".
  static std::string version();

  LlvmCompiler(LlvmCompiler&&) noexcept;
  LlvmCompiler& operator=(LlvmCompiler&&) noexcept;
  ~LlvmCompiler();

  Result<CompiledObject, std::string> compile(const LoopProgram& program,
                                              std::string_view entry_name = "kernel");
  CompiledBatch compile_batch(const std::vector<BatchItem>& items);

  /// What compile() makes, as text for an assembler. Code that needs more than a C library (tile
  /// registers, which a process has to ask its system for, or their emulation) is refused.
  Result<MachineText, std::string> machine_text(const LoopProgram& program,
                                                std::string_view entry_name = "kernel");

  /// What compile() would give to LLVM, and what LLVM makes of it, as text.
  Result<std::string, std::string> llvm_ir(const LoopProgram& program,
                                           std::string_view entry_name = "kernel");
  Result<std::string, std::string> assembly(const LoopProgram& program,
                                            std::string_view entry_name = "kernel");

 private:
  class Implementation;
  Owned<Implementation> implementation_;
};

/// A kernel in this process's memory. Copies share the code; it is freed with the last of them.
/// Loading and freeing may happen on any thread.
class JitKernel {
 public:
  static Result<JitKernel, std::string> load(const CompiledObject& object);
  /// The good kernels of a batch; the same index, the reason where there is none.
  static std::vector<Result<JitKernel, std::string>> load_batch(const CompiledBatch& batch);

  KernelEntry entry() const { return entry_; }
  std::int64_t workspace_bytes(std::int32_t num_threads) const {
    return shared_bytes_ + num_threads * per_thread_bytes_;
  }

 private:
  JitKernel() = default;

  Shared<void> code_;
  KernelEntry entry_ = nullptr;
  std::int64_t shared_bytes_ = 0;
  std::int64_t per_thread_bytes_ = 0;
};

}  // namespace tensorsmith
