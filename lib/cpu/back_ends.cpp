// SPDX-License-Identifier: Apache-2.0
// LLVM's back ends for the processors that kernels are made for, registered when first asked for.
#include "ir_builder.hpp"

#include <mutex>
#include <string_view>

#include <llvm-c/Target.h>

#if defined(__GLIBC__)
#include <execinfo.h>
#endif

namespace tensorsmith::llvm_codegen {

namespace {

#if defined(__GLIBC__)
// What is thrown inside of std::call_once, which LLVM uses in many places, passes through a
// function of glibc, which loads its unwinder when it first needs it: without memory for that, as
// after a failed allocation, it ends the process. backtrace() has it loaded while there is memory.
[[maybe_unused]] const int num_frames = [] {
  void* frame = nullptr;
  return ::backtrace(&frame, 1);
}();
#endif

// LLVM's own lists of what it was built with.
void initialize_back_end(std::string_view wanted) {
#define LLVM_TARGET(Name)                                                                          \
  if (wanted == #Name) {                                                                           \
    LLVMInitialize##Name##TargetInfo();                                                            \
    LLVMInitialize##Name##Target();                                                                \
    LLVMInitialize##Name##TargetMC();                                                              \
  }
#include <llvm/Config/Targets.def>
#undef LLVM_TARGET
#define LLVM_ASM_PRINTER(Name)                                                                     \
  if (wanted == #Name) {                                                                           \
    LLVMInitialize##Name##AsmPrinter();                                                            \
  }
#include <llvm/Config/AsmPrinters.def>
#undef LLVM_ASM_PRINTER
}

}  // namespace

void initialize_llvm(Architecture architecture) {
  static std::once_flag x86, arm;
  if (architecture == Architecture::aarch64) {
    std::call_once(arm, [] { initialize_back_end("AArch64"); });
  } else {
    std::call_once(x86, [] { initialize_back_end("X86"); });
  }
}

}  // namespace tensorsmith::llvm_codegen
