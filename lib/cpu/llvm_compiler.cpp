#include "tensorsmith/codegen/llvm_compiler.hpp"

#include <llvm-c/Analysis.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <memory>

#include "code_passes.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith {

using namespace llvm_codegen;

namespace {

std::string take(char* text) {
  std::string result = text != nullptr ? text : "";
  LLVMDisposeMessage(text);
  return result;
}

/// Code for this machine's kind of system, whatever the processor.
std::string target_triple() {
  const std::string here = take(LLVMGetDefaultTargetTriple());
  return here.rfind("x86_64", 0) == 0 ? here : "x86_64-pc-linux-gnu";
}

struct Module {
  Module(LLVMContextRef context, const std::string& triple, LLVMTargetMachineRef machine)
      : ref(LLVMModuleCreateWithNameInContext("tensorsmith", context)) {
    LLVMSetTarget(ref, triple.c_str());
    const LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(ref, layout);
    LLVMDisposeTargetData(layout);
  }
  ~Module() { LLVMDisposeModule(ref); }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  LLVMModuleRef ref;
};

}  // namespace

class LlvmCompiler::Implementation {
 public:
  Implementation(const Target& target, const LlvmOptions& options)
      : target_(target), options_(options) {
    if (target.kind != TargetKind::cpu || target.llvm_cpu.empty()) {
      problem_ = "target " + target.name + " is no x86-64 processor";
      return;
    }
    initialize_llvm();
    triple_ = target_triple();
    LLVMTargetRef llvm_target = nullptr;
    char* message = nullptr;
    if (LLVMGetTargetFromTriple(triple_.c_str(), &llvm_target, &message)) {
      problem_ = take(message);
      return;
    }
    const auto level = static_cast<LLVMCodeGenOptLevel>(options.code_generation_level);
    machine_ = LLVMCreateTargetMachine(llvm_target, triple_.c_str(), target.llvm_cpu.c_str(),
                                       target.llvm_features.c_str(), level, LLVMRelocPIC,
                                       LLVMCodeModelDefault);
    if (machine_ == nullptr) {
      problem_ = "LLVM has no target machine for " + target.name;
    }
    context_ = LLVMContextCreate();
  }
  ~Implementation() {
    if (machine_ != nullptr) {
      LLVMDisposeTargetMachine(machine_);
    }
    if (context_ != nullptr) {
      LLVMContextDispose(context_);
    }
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;

  const std::string& problem() const { return problem_; }

  /// One kernel per item into the module; where it fails, the module is as before.
  Result<CompiledObject, std::string> add(ModuleContext& m, const LoopProgram& program,
                                          const std::string& entry) {
    std::unique_ptr<KernelEmitter> emitter;
    try {
      emitter = std::make_unique<KernelEmitter>(m, program, entry, options_.is_serial);
      emitter->emit();
    } catch (const CompileFailure& failure) {
      if (emitter != nullptr) {
        emitter->discard();
      }
      return fail(failure.message);
    }
    CompiledObject result;
    result.entry = entry;
    result.shared_bytes = emitter->shared_bytes();
    result.per_thread_bytes = emitter->per_thread_bytes();
    result.overwritable = emitter->overwritable();
    return result;
  }

  CompiledBatch compile(const std::vector<BatchItem>& items) {
    CompiledBatch batch;
    if (!problem_.empty()) {
      batch.kernels.assign(items.size(), fail(problem_));
      return batch;
    }
    const Module module(context_, triple_, machine_);
    ModuleContext m(context_, module.ref, target_);
    for (const BatchItem& item : items) {
      batch.kernels.push_back(add(m, *item.program, item.entry));
    }
    Result<std::string, std::string> object = generate(module.ref, LLVMObjectFile);
    if (object) {
      batch.object = std::move(*object);
      return batch;
    }
    for (Result<CompiledObject, std::string>& kernel : batch.kernels) {
      if (kernel) {
        kernel = fail(object.error());
      }
    }
    return batch;
  }

  Result<std::string, std::string> text(const LoopProgram& program, const std::string& entry,
                                        bool is_assembly) {
    if (!problem_.empty()) {
      return fail(problem_);
    }
    const Module module(context_, triple_, machine_);
    ModuleContext m(context_, module.ref, target_);
    const auto added = add(m, program, entry);
    if (!added) {
      return fail(added.error());
    }
    return is_assembly
               ? generate(module.ref, LLVMAssemblyFile)
               : Result<std::string, std::string>(take(LLVMPrintModuleToString(module.ref)));
  }

 private:
  Result<std::string, std::string> generate(LLVMModuleRef module, LLVMCodeGenFileType type) {
    char* message = nullptr;
    if (options_.verify_module) {
      const bool is_broken = LLVMVerifyModule(module, LLVMReturnStatusAction, &message) != 0;
      const std::string report = take(message);
      message = nullptr;
      if (is_broken) {
        return fail("LLVM's verifier: " + report);
      }
    }
    std::string bytes;
    if (!generate_code(machine_, module, type, bytes)) {
      return fail(std::string("LLVM cannot write such a file for ") + triple_);
    }
    return bytes;
  }

  Target target_;
  LlvmOptions options_;
  std::string problem_, triple_;
  LLVMTargetMachineRef machine_ = nullptr;
  LLVMContextRef context_ = nullptr;
};

LlvmCompiler::LlvmCompiler(const Target& target, const LlvmOptions& options)
    : implementation_(make_owned<Implementation>(target, options)) {}
LlvmCompiler::LlvmCompiler(LlvmCompiler&&) noexcept = default;
LlvmCompiler& LlvmCompiler::operator=(LlvmCompiler&&) noexcept = default;
LlvmCompiler::~LlvmCompiler() = default;

Result<CompiledObject, std::string> LlvmCompiler::compile(const LoopProgram& program,
                                                          std::string_view entry_name) {
  CompiledBatch batch = compile_batch({BatchItem{&program, std::string(entry_name)}});
  if (batch.kernels[0]) {
    batch.kernels[0]->object = std::move(batch.object);
  }
  return std::move(batch.kernels[0]);
}

CompiledBatch LlvmCompiler::compile_batch(const std::vector<BatchItem>& items) {
  return implementation_->compile(items);
}

Result<std::string, std::string> LlvmCompiler::llvm_ir(const LoopProgram& program,
                                                       std::string_view entry_name) {
  return implementation_->text(program, std::string(entry_name), false);
}

Result<std::string, std::string> LlvmCompiler::assembly(const LoopProgram& program,
                                                        std::string_view entry_name) {
  return implementation_->text(program, std::string(entry_name), true);
}

}  // namespace tensorsmith
