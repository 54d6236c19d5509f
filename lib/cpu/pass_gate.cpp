// Passes of LLVM's code generation that kernels do without.
#include "ir_builder.hpp"

// The C interface has no word for this. Built without type information (CMakeLists.txt), because
// LLVM may have been.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/OptBisect.h>

namespace tensorsmith::llvm_codegen {
namespace {

/// Loop strength reduction: AddressBuilder did it, and what LLVM makes of it is slower as often as
/// faster. measured (bench_kernels, EPYC 9005, one thread): depthwise 3x3 +15 to 30 % without,
/// GEMM and convolutions within 2 %; bench_compile: a quarter to a third of the time.
/// Scheduling after register allocation: processors that run out of order do it themselves.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Winconsistent-missing-override"
#endif
class Gate final : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  // Declared const from one version of LLVM on: one of the two overrides.
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) { return wants(name); }
  bool shouldRunPass(llvm::StringRef name, llvm::StringRef) const { return wants(name); }

 private:
  static bool wants(llvm::StringRef name) {
    return name != "Loop Strength Reduction" &&
           name != "Canonicalize Freeze Instructions in Loops" &&
           name != "Post RA top-down list latency scheduler";
  }
};

}  // namespace

void leave_out_passes(LLVMContextRef context) {
  static Gate gate;
  llvm::unwrap(context)->setOptPassGate(gate);
}

}  // namespace tensorsmith::llvm_codegen
