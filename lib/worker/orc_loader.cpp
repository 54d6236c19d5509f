// SPDX-License-Identifier: Apache-2.0
// CodeLoader over LLVM ORC (C API): one small LLJIT per slot, so that objects with equal symbol
// names can be loaded side by side.
#include <bit>
#include <cstdint>
#include <vector>

#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include "code_loader.hpp"
#include "cpu/tile_emulation.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/measure/narrow_float.hpp"

namespace tensorsmith {
namespace {

std::string take_message(LLVMErrorRef error) {
  char* const text = LLVMGetErrorMessage(error);
  std::string message = text;
  LLVMDisposeErrorMessage(text);
  return message;
}

#if defined(__x86_64__)
// Conversions that compilers call for f16 and bf16 and that older libgcc lacks. Both types travel
// in the low half of an SSE register, as does a float whose low half holds them.
float low_half(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits}); }
float truncate_f32_to_bf16(float x) { return low_half(bf16_from_float(x)); }
float truncate_f64_to_bf16(double x) { return low_half(bf16_from_float(static_cast<float>(x))); }
float truncate_f32_to_f16(float x) { return low_half(f16_from_float(x)); }
float truncate_f64_to_f16(double x) { return low_half(f16_from_float(static_cast<float>(x))); }
float extend_f16_to_f32(float x) {
  return float_from_f16(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x)));
}
#endif

struct Helper {
  const char* name;
  LLVMOrcExecutorAddress address;
};

std::vector<Helper> helpers() {
  std::vector<Helper> list;
#if defined(__x86_64__)
  list.push_back({"__truncsfbf2", reinterpret_cast<std::uintptr_t>(&truncate_f32_to_bf16)});
  list.push_back({"__truncdfbf2", reinterpret_cast<std::uintptr_t>(&truncate_f64_to_bf16)});
  list.push_back({"__truncsfhf2", reinterpret_cast<std::uintptr_t>(&truncate_f32_to_f16)});
  list.push_back({"__truncdfhf2", reinterpret_cast<std::uintptr_t>(&truncate_f64_to_f16)});
  list.push_back({"__extendhfsf2", reinterpret_cast<std::uintptr_t>(&extend_f16_to_f32)});
#endif
  const tile_emulation::FunctionList tiles = tile_emulation::functions();
  for (std::int64_t i = 0; i < tiles.count; ++i) {
    list.push_back({tiles.first[i].name, reinterpret_cast<std::uintptr_t>(tiles.first[i].address)});
  }
  return list;
}

class OrcLoader final : public CodeLoader {
 public:
  ~OrcLoader() override {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      unload(slot);
      if (LLVMErrorRef error = LLVMOrcDisposeLLJIT(slots_[slot].jit)) {
        LLVMConsumeError(error);
      }
    }
  }

  bool add_slot(std::string& problem) {
    request_tiles();  // kernels may use them
    Slot slot;
    if (LLVMErrorRef error = LLVMOrcCreateLLJIT(&slot.jit, LLVMOrcCreateLLJITBuilder())) {
      problem = take_message(error);
      return false;
    }
    const LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(slot.jit);
    LLVMOrcExecutionSessionSetErrorReporter(
        session,
        [](void* text, LLVMErrorRef error) {
          std::string& report = *static_cast<std::string*>(text);
          report += (report.empty() ? "" : "; ") + take_message(error);
        },
        &report_);
    const LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(slot.jit);
    std::vector<LLVMOrcCSymbolMapPair> symbols;
    for (const Helper& helper : helpers()) {
      LLVMOrcCSymbolMapPair symbol = {};
      symbol.Name = LLVMOrcLLJITMangleAndIntern(slot.jit, helper.name);
      symbol.Sym.Address = helper.address;
      symbol.Sym.Flags.GenericFlags =
          LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsWeak;
      symbols.push_back(symbol);
    }
    if (!symbols.empty()) {
      if (LLVMErrorRef error = LLVMOrcJITDylibDefine(
              library, LLVMOrcAbsoluteSymbols(symbols.data(), symbols.size()))) {
        problem = take_message(error);
        LLVMConsumeError(LLVMOrcDisposeLLJIT(slot.jit));
        return false;
      }
    }
    // memset, expf and the like come from this process.
    LLVMOrcDefinitionGeneratorRef process = nullptr;
    if (LLVMErrorRef error = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
            &process, LLVMOrcLLJITGetGlobalPrefix(slot.jit), nullptr, nullptr)) {
      problem = take_message(error);
      LLVMConsumeError(LLVMOrcDisposeLLJIT(slot.jit));
      return false;
    }
    LLVMOrcJITDylibAddGenerator(library, process);
    slots_.push_back(slot);
    return true;
  }

  std::string name() const override {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    LLVMGetVersion(&major, &minor, &patch);
    return "LLVM ORC " + std::to_string(major) + "." + std::to_string(minor);
  }

  bool load(std::size_t index, std::span<const std::byte> object, std::string& problem) override {
    while (slots_.size() <= index) {
      if (!add_slot(problem)) {
        return false;
      }
    }
    unload(index);
    report_.clear();
    Slot& slot = slots_[index];
    const LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(slot.jit);
    slot.tracker = LLVMOrcJITDylibCreateResourceTracker(library);
    const LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        reinterpret_cast<const char*>(object.data()), object.size(), "candidate.o");
    if (LLVMErrorRef error = LLVMOrcLLJITAddObjectFileWithRT(slot.jit, slot.tracker, buffer)) {
      problem = take_message(error);
      unload(index);
      return false;
    }
    return true;
  }

  KernelEntry find(std::size_t index, const std::string& entry, std::string& problem) override {
    LLVMOrcExecutorAddress address = 0;
    if (LLVMErrorRef error = LLVMOrcLLJITLookup(slots_[index].jit, &address, entry.c_str())) {
      problem = take_message(error);
      if (!report_.empty()) {
        problem += " (" + report_ + ")";
        report_.clear();
      }
      return nullptr;
    }
    return reinterpret_cast<KernelEntry>(static_cast<std::uintptr_t>(address));
  }

  void unload(std::size_t index) override {
    if (index >= slots_.size() || slots_[index].tracker == nullptr) {
      return;
    }
    Slot& slot = slots_[index];
    if (LLVMErrorRef error = LLVMOrcResourceTrackerRemove(slot.tracker)) {
      LLVMConsumeError(error);
    }
    LLVMOrcReleaseResourceTracker(slot.tracker);
    slot.tracker = nullptr;
    const LLVMOrcExecutionSessionRef session = LLVMOrcLLJITGetExecutionSession(slot.jit);
    LLVMOrcSymbolStringPoolClearDeadEntries(LLVMOrcExecutionSessionGetSymbolStringPool(session));
  }

 private:
  struct Slot {
    LLVMOrcLLJITRef jit = nullptr;
    LLVMOrcResourceTrackerRef tracker = nullptr;
  };
  std::vector<Slot> slots_;
  std::string report_;
};

}  // namespace

std::unique_ptr<CodeLoader> make_orc_loader(std::string& problem) {
  LLVMInitializeNativeTarget();
  auto loader = std::make_unique<OrcLoader>();
  if (!loader->add_slot(problem)) {
    return nullptr;
  }
  return loader;
}

}  // namespace tensorsmith
