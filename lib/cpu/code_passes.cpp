// SPDX-License-Identifier: Apache-2.0
// LLVM's code generation without the passes that kernels do without.
//
// The C interface has no word for this. Built without type information (CMakeLists.txt), because
// LLVM may have been.
#include "code_passes.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineFunctionPass.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Pass.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace tensorsmith::llvm_codegen {
namespace {

/// By LLVM's names; a name that a version does not have leaves nothing out. None is needed for
/// correct code. measured (candidates of bench_compile, LLVM 19): a fifth of the instructions that
/// code generation executes, half of them by loop strength reduction and what it asks for.
constexpr std::array unwanted = std::to_array<std::string_view>({
    // AddressBuilder did it, and what LLVM makes of it is slower as often as faster. measured
    // (bench_kernels, EPYC 9005, one thread): depthwise 3x3 +15 to 30 % without, GEMM and
    // convolutions within 2 %.
    "Loop Strength Reduction",
    "Canonicalize Freeze Instructions in Loops",
    // Processors that run out of order do it themselves, and the order in which kernels are
    // written keeps few values alive. measured: no kernel slower, 7 % of the time.
    "Machine Instruction Scheduler",
    "Post RA top-down list latency scheduler",
    // They tidy up what kernels do not leave behind. measured (bench_kernels --records, EPYC 9005,
    // products, convolutions, rows, depthwise, 8 and 16 bits): no kernel slower or faster than its
    // spread; together a sixth of the time.
    "BreakFalseDeps",
    "CodeGen Prepare",
    "Expand large div/rem",
    "Expand large fp convert",
    "Live Range Shrink",
    "Machine Copy Propagation Pass",
    "Machine InstCombiner",
    "Machine Late Instructions Cleanup Pass",
    "Machine code sinking",
    "Shrink Wrapping analysis",
    "X86 Execution Dependency Fix",
    // They look for what kernels never contain, and then do nothing.
    "Analyze Machine Code For Garbage Collection",
    "Contiguously Lay Out Funclets",
    "Exception handling preparation",
    "Expand indirectbr instructions",
    "Implement the 'patchable-function' attribute",
    "Insert KCFI indirect call checks",
    "Insert XRay ops",
    "Insert fentry calls",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Live DEBUG_VALUE analysis",
    "Lower Garbage Collection Instructions",
    "Machine Sanitizer Binary Metadata",
    "Prepare callbr",
    "Pseudo Probe Inserter",
    "Remove Redundant DEBUG_VALUE analysis",
    "Safe Stack instrumentation pass",
    "Shadow Stack GC Lowering",
    "Stack Frame Layout Analysis",
    "StackMap Liveness Analysis",
    "TLS Variable Hoist",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "X86 Return Thunks",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Windows Fixup Buffer Security Check",
    "X86 speculative load hardening",
    // Optimizations that changed no byte of 1,500 candidates of all suites (LLVM 19).
    "Constant Hoisting",
    "Early If-Conversion",
    "Expand memcmp() to load/stores",
    "Interleaved Access Pass",
    "Merge contiguous icmps into a memcmp",
    "Merge disjoint stack slots",
    "Optimize machine instruction PHIs",
    "Partially inline calls to library functions",
    "Replace intrinsics with calls to vector library",
    "X86 Atom pad short functions",
    "X86 Avoid Store Forwarding Blocks",
    "X86 Byte/Word Instruction Fixup",
    "X86 Discriminate Memory Operands",
    "X86 Domain Reassignment Pass",
    "X86 Insert Cache Prefetches",
    "X86 LEA Optimize",
    "X86 Partial Reduction",
});

constexpr std::array unwanted_of_arm =
    std::to_array<std::string_view>({"Machine Instruction Scheduler"});

/// Has a product write to the register of the sum that it is added to. LLVM ties the result to a
/// factor where that and the sum are both used for the last time, so that the accumulators of a
/// register tile wander through the registers, and are copied or spilled where a loop begins again.
/// Without masks (AVX2) a factor that is the same in all lanes is always such one: an instruction
/// of its own loads it. measured (EPYC 7003, 3x3 convolution in NCHW, three taps in a row): tiles
/// of 14 vectors 1.4 times as fast, no vector of theirs in memory any more.
class TiedSums final : public llvm::MachineFunctionPass {
 public:
  TiedSums() : MachineFunctionPass(id) {}

  llvm::StringRef getPassName() const override { return "Tied sums"; }
  void getAnalysisUsage(llvm::AnalysisUsage& usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    const llvm::TargetInstrInfo& instructions = *function.getSubtarget().getInstrInfo();
    const llvm::MachineRegisterInfo& registers = function.getRegInfo();
    const std::vector<bool>& is_product = products_of(instructions);
    bool is_changed = false;
    for (llvm::MachineBasicBlock& block : function) {
      for (llvm::MachineInstr& instruction : block) {
        // A value that comes from memory is no sum.
        const auto is_last_use = [&](unsigned operand) {
          const llvm::MachineOperand& used = instruction.getOperand(operand);
          if (!used.isKill() || !used.getReg().isVirtual()) {
            return false;
          }
          const llvm::MachineInstr* const made = registers.getUniqueVRegDef(used.getReg());
          return made == nullptr || !made->mayLoad();
        };
        if (is_product[instruction.getOpcode()] && is_last_use(3) && !is_last_use(1)) {
          is_changed = tie(block, instruction, instructions) || is_changed;
        }
      }
    }
    return is_changed;
  }

 private:
  /// Copies the sum to the result before the product, as LLVM does for every instruction whose
  /// result is tied; the copy goes when registers are assigned.
  static bool tie(llvm::MachineBasicBlock& block, llvm::MachineInstr& product,
                  const llvm::TargetInstrInfo& instructions) {
    if (instructions.commuteInstruction(product, false, 1, 3) == nullptr) {
      return false;
    }
    const llvm::Register result = product.getOperand(0).getReg();
    llvm::MachineOperand& sum = product.getOperand(1);
    llvm::BuildMI(block, product, product.getDebugLoc(), instructions.get(llvm::TargetOpcode::COPY),
                  result)
        .addReg(sum.getReg(), llvm::getKillRegState(sum.isKill()));
    sum.setReg(result);
    sum.setIsKill(false);
    return true;
  }

  /// By opcode of x86: result = +-first * second + third, all in registers, tied to the first.
  static const std::vector<bool>& products_of(const llvm::TargetInstrInfo& instructions) {
    static const std::vector<bool> known = [&] {
      std::vector<bool> found(instructions.getNumOpcodes());
      for (unsigned opcode = 0; opcode < found.size(); ++opcode) {
        const llvm::StringRef text = instructions.getName(opcode);
        const std::string_view name(text.data(), text.size());
        found[opcode] = (name.starts_with("VFMADD213") || name.starts_with("VFNMADD213")) &&
                        name.ends_with("r");
      }
      return found;
    }();
    return known;
  }

  static char id;
};
char TiedSums::id = 0;

class WantedPasses final : public llvm::legacy::PassManager {
 public:
  /// What was measured on x86 says nothing of Arm, but that the order in which kernels are written
  /// keeps few values alive: a register tile that fills the registers stays in them. Its cores that
  /// run in order get theirs from the scheduler behind register allocation.
  explicit WantedPasses(Architecture architecture)
      : is_x86_(architecture == Architecture::x86_64),
        unwanted_(architecture == Architecture::x86_64
                      ? std::span<const std::string_view>(unwanted)
                      : std::span<const std::string_view>(unwanted_of_arm)) {}

  void add(llvm::Pass* pass) override {
    const llvm::StringRef name = pass->getPassName();
    if (std::find(unwanted_.begin(), unwanted_.end(), std::string_view(name.data(), name.size())) !=
        unwanted_.end()) {
      delete pass;
      return;
    }
    if (is_x86_ && name == "Two-Address instruction pass") {
      llvm::legacy::PassManager::add(new TiedSums);
    }
    llvm::legacy::PassManager::add(pass);
  }

 private:
  bool is_x86_;
  std::span<const std::string_view> unwanted_;
};

}  // namespace

bool generate_code(LLVMTargetMachineRef machine, LLVMModuleRef module, LLVMCodeGenFileType type,
                   Architecture architecture, std::string& code) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream out(bytes);
  WantedPasses passes(architecture);
  if (reinterpret_cast<llvm::TargetMachine*>(machine)->addPassesToEmitFile(
          passes, out, nullptr, static_cast<llvm::CodeGenFileType>(type))) {
    return false;
  }
  // Chosen when instructions are selected, not when passes are added. Blocks of products go through
  // the selection of patterns nevertheless, from the first instruction that is not simple on.
  // measured (bench_compile, bench_kernels, EPYC 9005): a fifth less time, no kernel slower.
  if (architecture == Architecture::x86_64) {
    reinterpret_cast<llvm::TargetMachine*>(machine)->setFastISel(true);
  }
  passes.run(*llvm::unwrap(module));
  code.assign(bytes.data(), bytes.size());
  return true;
}

std::vector<std::string> feature_macros(LLVMTargetMachineRef machine, Architecture architecture) {
  // Features of which LLVM makes instructions, and the macros of both compilers. Left out are those
  // that need an intrinsic that kernels never call (encryption, transactions), or that kernels with
  // a text never call (tile registers): compilers that do not know the machine leave such out.
  using Feature = std::pair<const char*, const char*>;
  constexpr Feature of_x86[] = {
      {"+sse4.2", "__SSE4_2__"},
      {"+popcnt", "__POPCNT__"},
      {"+lzcnt", "__LZCNT__"},
      {"+bmi", "__BMI__"},
      {"+bmi2", "__BMI2__"},
      {"+movbe", "__MOVBE__"},
      {"+avx", "__AVX__"},
      {"+avx2", "__AVX2__"},
      {"+fma", "__FMA__"},
      {"+f16c", "__F16C__"},
      {"+avxvnni", "__AVXVNNI__"},
      {"+avx512f", "__AVX512F__"},
      {"+avx512cd", "__AVX512CD__"},
      {"+avx512bw", "__AVX512BW__"},
      {"+avx512dq", "__AVX512DQ__"},
      {"+avx512vl", "__AVX512VL__"},
      {"+avx512ifma", "__AVX512IFMA__"},
      {"+avx512vbmi", "__AVX512VBMI__"},
      {"+avx512vbmi2", "__AVX512VBMI2__"},
      {"+avx512vnni", "__AVX512VNNI__"},
      {"+avx512bf16", "__AVX512BF16__"},
      {"+avx512fp16", "__AVX512FP16__"},
      {"+avx512bitalg", "__AVX512BITALG__"},
      {"+avx512vpopcntdq", "__AVX512VPOPCNTDQ__"},
  };
  constexpr Feature of_arm[] = {
      {"+lse", "__ARM_FEATURE_ATOMICS"},
      {"+rdm", "__ARM_FEATURE_QRDMX"},
      {"+dotprod", "__ARM_FEATURE_DOTPROD"},
      {"+fullfp16", "__ARM_FEATURE_FP16_VECTOR_ARITHMETIC"},
      {"+fp16fml", "__ARM_FEATURE_FP16_FML"},
      {"+bf16", "__ARM_FEATURE_BF16"},
      {"+i8mm", "__ARM_FEATURE_MATMUL_INT8"},
      {"+jsconv", "__ARM_FEATURE_JCVT"},
      {"+complxnum", "__ARM_FEATURE_COMPLEX"},
      {"+sve", "__ARM_FEATURE_SVE"},
      {"+sve2", "__ARM_FEATURE_SVE2"},
  };
  const std::span<const Feature> known =
      architecture == Architecture::aarch64 ? std::span<const Feature>(of_arm) : of_x86;
  const llvm::MCSubtargetInfo* processor =
      reinterpret_cast<llvm::TargetMachine*>(machine)->getMCSubtargetInfo();
  std::vector<std::string> macros;
  for (const auto& [feature, macro] : known) {
    if (processor->checkFeatures(feature)) {
      macros.emplace_back(macro);
    }
  }
  return macros;
}

}  // namespace tensorsmith::llvm_codegen
