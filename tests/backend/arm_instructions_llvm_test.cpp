// SPDX-License-Identifier: Apache-2.0
// requires: json llvm
// What the inner loops of products for 64-bit Arm are made of, from their disassembly.
#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/emulated_arm.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

namespace {

struct ArmInstruction {
  std::uint64_t address = 0;
  std::string name, operands;
};

/// Of the kernel, in the order of addresses.
std::vector<ArmInstruction> disassembled(const LoopProgram& program, const Target& target) {
  LlvmCompiler compiler(target, {.is_serial = true});
  const auto object = compiler.compile(program);
  REQUIRE(object);
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "k.o").string();
  std::ofstream(file, std::ios::binary) << object->object;
  REQUIRE(
      std::system(("aarch64-linux-gnu-objdump -d --no-show-raw-insn " + file + " >" + file + ".txt")
                      .c_str()) == 0);
  std::istringstream text(test::whole_file(file + ".txt"));
  std::vector<ArmInstruction> all;
  for (std::string line; std::getline(text, line);) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos) {
      continue;
    }
    ArmInstruction instruction;
    instruction.address = std::stoull(line.substr(0, colon), nullptr, 16);
    std::istringstream rest(line.substr(colon + 2));
    rest >> instruction.name;
    std::getline(rest, instruction.operands);
    all.push_back(std::move(instruction));
  }
  return all;
}

using Instructions = std::vector<ArmInstruction>;

bool is_branch(const ArmInstruction& instruction) {
  return instruction.name.rfind("b.", 0) == 0 || instruction.name == "cbnz" ||
         instruction.name == "cbz" || instruction.name == "tbnz" || instruction.name == "tbz";
}

std::size_t count_named(const Instructions& loop, const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(loop.begin(), loop.end(),
                    [&](const ArmInstruction& instruction) { return instruction.name == name; }));
}

/// The loop without a loop in it that has the most instructions of that name.
Instructions innermost_loop(const Instructions& all, const std::string& name) {
  Instructions best;
  std::uint64_t last_begin = 0;
  for (std::size_t end = 0; end < all.size(); ++end) {
    if (!is_branch(all[end])) {
      continue;
    }
    // "x9, 1c0 <kernel+0x1c0>" or "140 <...>"
    const std::string& operands = all[end].operands;
    const std::size_t angle = operands.find(" <");
    const std::size_t space =
        angle == std::string::npos ? angle : operands.find_last_of("\t ,", angle - 1);
    if (space == std::string::npos) {
      continue;
    }
    const std::uint64_t begin = std::stoull(operands.substr(space + 1), nullptr, 16);
    if (begin > all[end].address || begin <= last_begin) {
      continue;  // forward, or around a loop that ended before
    }
    last_begin = begin;
    Instructions loop;
    for (std::size_t i = 0; i <= end; ++i) {
      if (all[i].address >= begin) {
        loop.push_back(all[i]);
      }
    }
    if (count_named(loop, name) > count_named(best, name)) {
      best = std::move(loop);
    }
  }
  return best;
}

std::string text_of(const Instructions& loop) {
  std::string text;
  for (const ArmInstruction& instruction : loop) {
    text += instruction.name + " " + instruction.operands + "\n";
  }
  return text;
}

/// The fastest program of a short search, by the model; the same every time.
LoopProgram tuned_program(const std::string& workload, const Target& target) {
  const auto built = ops::parse_workload(workload);
  REQUIRE(built);
  TuneOptions options;
  options.budget = {0, 32};
  options.num_threads = 1;
  const TuneResult result =
      tune(TuneTask{built->dag, target, workload, built->nominal_flop}, options);
  REQUIRE(result.has_best());
  auto program = lower(result.state(), target);
  REQUIRE(program);
  return std::move(*program);
}

/// Vectors of the largest register tile.
std::size_t tile_vectors(const LoopProgram& program) {
  std::size_t most = 0;
  for (const Buffer& buffer : program.buffers) {
    if (buffer.scope == Scope::register_) {
      most = std::max(most, static_cast<std::size_t>(buffer.num_bytes() / 16));
    }
  }
  return most;
}

std::size_t count_with(const Instructions& loop, const std::string& name, const std::string& word) {
  return static_cast<std::size_t>(
      std::count_if(loop.begin(), loop.end(), [&](const ArmInstruction& instruction) {
        return instruction.name == name && instruction.operands.find(word) != std::string::npos;
      }));
}

bool can_disassemble() {
  if (std::system("aarch64-linux-gnu-objdump --version >/dev/null 2>&1") == 0) {
    return true;
  }
  test::skip("no aarch64-linux-gnu-objdump");
  return false;
}

}  // namespace

TEST_CASE("products for Arm multiply and add by lane, all that the register tile needs", "[arm]") {
  if (!can_disassemble()) {
    return;
  }
  for (const char* processor : {"sim:neoverse-n1", "sim:cortex-a72", "sim:neoverse-v1"}) {
    const Target target = *Target::from_name(processor);
    for (const char* workload : {"gemm:256x256x256:f32", "gemm:120x192x100:f32,bias,relu",
                                 "conv2d:n=1,h=14,w=14,ci=32,co=64,k=1"}) {
      const LoopProgram program = tuned_program(workload, target);
      const std::size_t needed = tile_vectors(program);
      const Instructions loop = innermost_loop(disassembled(program, target), "fmla");
      INFO(processor << ", " << workload << ", a tile of " << needed << " vectors\n"
                     << text_of(loop));
      CHECK(needed >= 16);  // fills half of the registers at least
      const std::size_t found = count_named(loop, "fmla");
      CHECK(found >= 0.9 * static_cast<double>(needed));
      CHECK(count_named(loop, "fmul") + count_named(loop, "fadd") == 0);
      // Numbers are broadcast by the multiplication, or where they are loaded; none by itself.
      const std::size_t by_lane = count_with(loop, "fmla", ".s[");
      CHECK(by_lane >= 0.75 * static_cast<double>(found));
      CHECK(count_named(loop, "dup") == 0);
      // No accumulator leaves its register.
      CHECK(text_of(loop).find("[sp") == std::string::npos);
      CHECK(static_cast<double>(found) >= 0.5 * static_cast<double>(loop.size()));
    }
  }
}

TEST_CASE("products of bytes for Arm are dot products where the processor has them", "[arm]") {
  if (!can_disassemble()) {
    return;
  }
  struct Case {
    const char *processor, *workload, *instruction;
  };
  for (const Case& c : {Case{"sim:neoverse-n1", "gemm:128x128x128:i8", "sdot"},
                        Case{"sim:cortex-a76", "gemm:96x128x64:i8,tb", "sdot"},
                        Case{"sim:neoverse-n1", "gemm:128x128x128:u8", "udot"},
                        Case{"sim:neoverse-v1", "gemm:128x96x128:u8,weights=i8", "usdot"}}) {
    const Target target = *Target::from_name(c.processor);
    const LoopProgram program = tuned_program(c.workload, target);
    const Instructions loop = innermost_loop(disassembled(program, target), c.instruction);
    INFO(c.processor << ", " << c.workload << ", a tile of " << tile_vectors(program)
                     << " vectors\n"
                     << text_of(loop));
    CHECK(tile_vectors(program) >= 8);
    CHECK(static_cast<double>(count_named(loop, c.instruction)) >=
          0.9 * static_cast<double>(tile_vectors(program)));
  }
  const Target without = *Target::from_name("sim:cortex-a72");
  const Instructions all = disassembled(tuned_program("gemm:64x64x64:i8", without), without);
  CHECK(count_named(all, "sdot") + count_named(all, "udot") == 0);
}
