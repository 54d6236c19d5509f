// SPDX-License-Identifier: Apache-2.0
// generate_code: LLVM's code generation without the passes that kernels do without.
//
// Private to lib/cpu. Own design.
#pragma once

#include <string>
#include <vector>

#include <llvm-c/TargetMachine.h>

#include "tensorsmith/target.hpp"

namespace tensorsmith::llvm_codegen {

/// An object file or assembly text of the module, for its target's processor; the module is used
/// up. False if LLVM cannot write such a file for the target.
bool generate_code(LLVMTargetMachineRef machine, LLVMModuleRef module, LLVMCodeGenFileType type,
                   Architecture architecture, std::string& code);

/// What g++ and clang define for a processor that has every feature that the machine's code may
/// use (Target::feature strings of LLVM that the code generation of this library knows).
std::vector<std::string> feature_macros(LLVMTargetMachineRef machine, Architecture architecture);

}  // namespace tensorsmith::llvm_codegen
