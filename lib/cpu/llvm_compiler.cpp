// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/codegen/llvm_compiler.hpp"

#include <functional>
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <memory>

#include "code_passes.hpp"
#include "code_thread.hpp"
#include "kernel_emitter.hpp"

namespace tensorsmith {

using namespace llvm_codegen;

namespace {

std::string take(char* text) {
  std::string result = text != nullptr ? text : "";
  LLVMDisposeMessage(text);
  return result;
}

/// Code for this machine's kind of system if it has such a processor.
std::string target_triple(Architecture architecture) {
  const bool is_arm = architecture == Architecture::aarch64;
  const std::string here = take(LLVMGetDefaultTargetTriple());
  return here.rfind(is_arm ? "aarch64" : "x86_64", 0) == 0 ? here
         : is_arm ? "aarch64-unknown-linux-gnu"
                  : "x86_64-pc-linux-gnu";
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

/// What a fatal error leaves behind as it is, for nobody knows in which state that is.
struct LlvmBackend {
  LLVMTargetMachineRef machine = nullptr;
  LLVMContextRef context = nullptr;
  std::string triple, problem, diagnostics;

  LlvmBackend(const Target& target, const LlvmOptions& options) {
    if (target.kind != TargetKind::cpu || target.llvm_cpu.empty()) {
      problem = "target " + target.name + " is no processor that LLVM makes code for";
      return;
    }
    initialize_llvm(target.architecture);
    triple = target_triple(target.architecture);
    LLVMTargetRef llvm_target = nullptr;
    char* message = nullptr;
    if (LLVMGetTargetFromTriple(triple.c_str(), &llvm_target, &message)) {
      problem = take(message);
      return;
    }
    const auto level = static_cast<LLVMCodeGenOptLevel>(options.code_generation_level);
    machine = LLVMCreateTargetMachine(llvm_target, triple.c_str(), target.llvm_cpu.c_str(),
                                      target.llvm_features.c_str(), level, LLVMRelocPIC,
                                      LLVMCodeModelDefault);
    if (machine == nullptr) {
      problem = "LLVM has no target machine for " + target.name;
    }
    context = LLVMContextCreate();
    // Without a handler an error that is no fatal one ends the process all the same.
    LLVMContextSetDiagnosticHandler(context, &LlvmBackend::note, this);
  }
  ~LlvmBackend() {
    if (machine != nullptr) {
      LLVMDisposeTargetMachine(machine);
    }
    if (context != nullptr) {
      LLVMContextDispose(context);
    }
  }
  LlvmBackend(const LlvmBackend&) = delete;
  LlvmBackend& operator=(const LlvmBackend&) = delete;

 private:
  static void note(LLVMDiagnosticInfoRef info, void* self) {
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError) {
      std::string& all = static_cast<LlvmBackend*>(self)->diagnostics;
      all += (all.empty() ? "" : "; ") + take(LLVMGetDiagInfoDescription(info));
    }
  }
};

class LlvmCompiler::Implementation {
 public:
  Implementation(const Target& target, const LlvmOptions& options)
      : target_(target), options_(options) {}

  CompiledBatch compile(const std::vector<BatchItem>& items) {
    CompiledBatch batch;
    const std::string problem = on_thread([&] { batch = compile_here(items); });
    if (!problem.empty()) {
      batch.object.clear();
      batch.kernels.assign(items.size(), fail(problem));
    }
    return batch;
  }

  Result<std::string, std::string> text(const LoopProgram& program, const std::string& entry,
                                        bool is_assembly) {
    Result<std::string, std::string> result = fail(std::string());
    const std::string problem = on_thread([&] { result = text_here(program, entry, is_assembly); });
    return problem.empty() ? std::move(result) : fail(problem);
  }

  Result<MachineText, std::string> machine_text(const LoopProgram& program,
                                                const std::string& entry) {
    Result<MachineText, std::string> result = fail(std::string());
    const std::string problem = on_thread([&] { result = machine_text_here(program, entry); });
    return problem.empty() ? std::move(result) : fail(problem);
  }

 private:
  /// Empty, or why the job did not come to its end.
  std::string on_thread(const std::function<void()>& job) {
    std::string problem = thread_.run([&] {
      if (backend_ == nullptr) {
        backend_ = std::make_unique<LlvmBackend>(target_, options_);
      }
      backend_->diagnostics.clear();
      job();
    });
    if (!problem.empty()) {
      (void)backend_.release();  // the sleeping thread's
    }
    return problem;
  }

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

  CompiledBatch compile_here(const std::vector<BatchItem>& items) {
    CompiledBatch batch;
    if (!backend_->problem.empty()) {
      batch.kernels.assign(items.size(), fail(backend_->problem));
      return batch;
    }
    const Module module(backend_->context, backend_->triple, backend_->machine);
    ModuleContext m(backend_->context, module.ref, target_);
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

  /// A module with that kernel, while `use(module, kernel)` makes something of it.
  template <class Made, class Use>
  Result<Made, std::string> with_module(const LoopProgram& program, const std::string& entry,
                                        const Use& use) {
    if (!backend_->problem.empty()) {
      return fail(backend_->problem);
    }
    const Module module(backend_->context, backend_->triple, backend_->machine);
    ModuleContext m(backend_->context, module.ref, target_);
    const auto added = add(m, program, entry);
    return added ? use(module.ref, *added) : fail(added.error());
  }

  Result<std::string, std::string> text_here(const LoopProgram& program, const std::string& entry,
                                             bool is_assembly) {
    using Text = Result<std::string, std::string>;
    return with_module<std::string>(
        program, entry, [&](LLVMModuleRef module, const CompiledObject&) -> Text {
          return is_assembly ? generate(module, LLVMAssemblyFile)
                             : Text(take(LLVMPrintModuleToString(module)));
        });
  }

  Result<MachineText, std::string> machine_text_here(const LoopProgram& program,
                                                     const std::string& entry) {
    using Made = Result<MachineText, std::string>;
    return with_module<MachineText>(
        program, entry, [&](LLVMModuleRef module, const CompiledObject& added) -> Made {
          const Result<std::string, std::string> text = generate(module, LLVMAssemblyFile);
          if (!text) {
            return fail(text.error());
          }
          if (text->find("callq\ttensorsmith_tile_") != std::string::npos) {
            return fail(std::string("the code calls functions of this library"));
          }
          if (text->find("\tldtilecfg") != std::string::npos) {
            return fail(
                std::string("the code needs tile registers, which a process has to ask for"));
          }
          MachineText result;
          result.architecture = target_.architecture;
          result.text = embeddable_assembly(*text, entry, target_.architecture);
          result.entry = entry;
          result.shared_bytes = added.shared_bytes;
          result.per_thread_bytes = added.per_thread_bytes;
          result.feature_macros = feature_macros(backend_->machine, target_.architecture);
          return result;
        });
  }

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
    if (!generate_code(backend_->machine, module, type, target_.architecture, bytes)) {
      return fail(std::string("LLVM cannot write such a file for ") + backend_->triple);
    }
    if (!backend_->diagnostics.empty()) {
      return fail("LLVM: " + backend_->diagnostics);
    }
    return bytes;
  }

  Target target_;
  LlvmOptions options_;
  std::unique_ptr<LlvmBackend> backend_;  // made and used on the thread
  CodeThread thread_;
};

LlvmCompiler::LlvmCompiler(const Target& target, const LlvmOptions& options)
    : implementation_(make_owned<Implementation>(target, options)) {}
std::string LlvmCompiler::version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

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

Result<MachineText, std::string> LlvmCompiler::machine_text(const LoopProgram& program,
                                                            std::string_view entry_name) {
  return implementation_->machine_text(program, std::string(entry_name));
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
