// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>

#include "code_thread.hpp"
#include "cpu/tile_emulation.hpp"
#include "ir_builder.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/host.hpp"

namespace tensorsmith {
namespace {

std::string take_message(LLVMErrorRef error) {
  char* const text = LLVMGetErrorMessage(error);
  std::string message = text;
  LLVMDisposeErrorMessage(text);
  return message;
}

/// Everything that a linker does: its fatal errors end a job, not the process. One thread for all.
std::string on_linker_thread(const std::function<void()>& job) {
  struct Linking {
    std::mutex mutex;
    llvm_codegen::CodeThread thread{llvm_codegen::CodeThread::shallow};
  };
  static Linking* const linking = new Linking;  // kernels may outlive static destruction
  const std::lock_guard<std::mutex> lock(linking->mutex);
  return linking->thread.run(job);
}

/// Just-in-time linkers that hold no code at the moment. One object at a time lives in each, so
/// that equal symbol names never meet, and making a linker is paid once.
class LinkerPool {
 public:
  static LinkerPool& instance() {
    static LinkerPool* pool = new LinkerPool;  // kernels may outlive static destruction
    return *pool;
  }

  LLVMOrcLLJITRef acquire(std::string& problem) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        const LLVMOrcLLJITRef jit = idle_.back();
        idle_.pop_back();
        return jit;
      }
    }
    LLVMOrcLLJITRef jit = nullptr;
    if (LLVMErrorRef error = LLVMOrcCreateLLJIT(&jit, LLVMOrcCreateLLJITBuilder())) {
      problem = take_message(error);
      return nullptr;
    }
    // Unresolved names are reported by the lookup that needs them.
    LLVMOrcExecutionSessionSetErrorReporter(
        LLVMOrcLLJITGetExecutionSession(jit),
        [](void*, LLVMErrorRef error) { LLVMConsumeError(error); }, nullptr);
    LLVMOrcDefinitionGeneratorRef process = nullptr;
    if (LLVMErrorRef error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
            &process, LLVMOrcLLJITGetGlobalPrefix(jit), nullptr, nullptr)) {
      problem = take_message(error);
      LLVMConsumeError(LLVMOrcDisposeLLJIT(jit));
      return nullptr;
    }
    LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), process);
    if (!define_emulated_tiles(jit, problem)) {
      LLVMConsumeError(LLVMOrcDisposeLLJIT(jit));
      return nullptr;
    }
    return jit;
  }
  void release(LLVMOrcLLJITRef jit) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(jit);
  }

 private:
  LinkerPool() {
    llvm_codegen::initialize_llvm();
    request_tiles();  // kernels may use them
  }

  static bool define_emulated_tiles(LLVMOrcLLJITRef jit, std::string& problem) {
    const tile_emulation::FunctionList functions = tile_emulation::functions();
    std::vector<LLVMOrcCSymbolMapPair> symbols;
    for (std::int64_t i = 0; i < functions.count; ++i) {
      const tile_emulation::Function& function = functions.first[i];
      LLVMJITEvaluatedSymbol symbol{};
      symbol.Address = reinterpret_cast<std::uintptr_t>(function.address);
      symbol.Flags.GenericFlags =
          LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable;
      symbols.push_back({LLVMOrcLLJITMangleAndIntern(jit, function.name), symbol});
    }
    const LLVMOrcMaterializationUnitRef unit =
        LLVMOrcAbsoluteSymbols(symbols.data(), symbols.size());
    if (LLVMErrorRef error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(jit), unit)) {
      LLVMOrcDisposeMaterializationUnit(unit);
      problem = take_message(error);
      return false;
    }
    return true;
  }

  std::mutex mutex_;
  std::vector<LLVMOrcLLJITRef> idle_;
};

class LoadedObject {
 public:
  LoadedObject() = default;
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  ~LoadedObject() {
    if (jit_ == nullptr) {
      return;
    }
    try {
      (void)on_linker_thread([jit = jit_, tracker = tracker_] {
        if (tracker != nullptr) {
          LLVMConsumeError(LLVMOrcResourceTrackerRemove(tracker));
          LLVMOrcReleaseResourceTracker(tracker);
        }
        LinkerPool::instance().release(jit);
      });
    } catch (const std::exception&) {  // out of memory: the linker is lost, no more
    }
  }
  /// A fatal error left the linker as it was: it is the sleeping thread's.
  void leave_behind() {
    jit_ = nullptr;
    tracker_ = nullptr;
  }

  bool load(const std::string& object, std::string& problem) {
    jit_ = LinkerPool::instance().acquire(problem);
    if (jit_ == nullptr) {
      return false;
    }
    tracker_ = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit_));
    const LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(object.data(), object.size(), "kernel.o");
    if (LLVMErrorRef error = LLVMOrcLLJITAddObjectFileWithRT(jit_, tracker_, buffer)) {
      problem = take_message(error);
      return false;
    }
    return true;
  }
  KernelEntry find(const std::string& entry, std::string& problem) {
    LLVMOrcExecutorAddress address = 0;
    if (LLVMErrorRef error = LLVMOrcLLJITLookup(jit_, &address, entry.c_str())) {
      problem = take_message(error);
      return nullptr;
    }
    return reinterpret_cast<KernelEntry>(static_cast<std::uintptr_t>(address));
  }

 private:
  LLVMOrcLLJITRef jit_ = nullptr;
  LLVMOrcResourceTrackerRef tracker_ = nullptr;
};

}  // namespace

Result<JitKernel, std::string> JitKernel::load(const CompiledObject& object) {
  CompiledBatch batch;
  batch.object = object.object;
  CompiledObject header = object;
  header.object.clear();
  batch.kernels.push_back(std::move(header));
  return std::move(load_batch(batch)[0]);
}

std::vector<Result<JitKernel, std::string>> JitKernel::load_batch(const CompiledBatch& batch) {
  /// What a job that does not end may still use, so that nobody frees it.
  struct Links {
    std::string object;
    std::vector<std::string> entries;  // empty: none is asked for
    std::vector<KernelEntry> found;
    std::vector<std::string> problems;
    Shared<LoadedObject> loaded = make_shared_of<LoadedObject>();
  };
  const auto links = std::make_shared<Links>();
  links->object = batch.object;
  for (const Result<CompiledObject, std::string>& kernel : batch.kernels) {
    links->entries.push_back(kernel ? kernel->entry : "");
  }
  links->found.resize(batch.kernels.size(), nullptr);
  links->problems.resize(batch.kernels.size());
  const std::string fatal = on_linker_thread([links] {
    std::string problem;
    const bool is_loaded = links->loaded->load(links->object, problem);
    for (std::size_t i = 0; i < links->entries.size(); ++i) {
      if (!is_loaded) {
        links->problems[i] = problem;
      } else if (!links->entries[i].empty()) {
        links->found[i] = links->loaded->find(links->entries[i], links->problems[i]);
      }
    }
  });
  if (!fatal.empty()) {
    links->loaded->leave_behind();
  }
  std::vector<Result<JitKernel, std::string>> results;
  for (std::size_t i = 0; i < batch.kernels.size(); ++i) {
    const Result<CompiledObject, std::string>& kernel = batch.kernels[i];
    if (!kernel || !fatal.empty() || links->found[i] == nullptr) {
      results.push_back(fail(!kernel         ? kernel.error()
                             : fatal.empty() ? links->problems[i]
                                             : fatal));
      continue;
    }
    JitKernel result;
    result.entry_ = links->found[i];
    result.code_ = links->loaded;
    result.shared_bytes_ = kernel->shared_bytes;
    result.per_thread_bytes_ = kernel->per_thread_bytes;
    results.push_back(result);
  }
  return results;
}

}  // namespace tensorsmith
