// SPDX-License-Identifier: Apache-2.0
// Exported C++ that carries its machine code: the same bytes as the kernel in memory, with every
// compiler, and the loops where the code does not fit.
#include <cstring>
#include <string>
#include <vector>

#include "backend/cpp_source_fixture.hpp"
#include "backend/native_draws.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/codegen/machine_text.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/export.hpp"

using namespace tensorsmith;

namespace {

using Memory = std::vector<std::vector<unsigned char>>;

/// Argument values of a program, 64-byte aligned within their memory.
class Arguments {
 public:
  explicit Arguments(const LoopProgram& program) {
    for (std::size_t i = 0; i < program.arguments.size(); ++i) {
      const Buffer& buffer = program[program.arguments[i]];
      HostArray array(buffer.dtype,
                      std::vector<std::int64_t>(buffer.shape.begin(), buffer.shape.end()));
      test::fill(array, static_cast<std::uint32_t>(i));
      memory_.emplace_back(array.data.size() + 64);
      sizes_.push_back(array.data.size());
      std::memcpy(at(i), array.data.data(), array.data.size());
    }
  }
  /// What all arguments hold after the run; the arguments stay as they are.
  Memory after(KernelEntry entry, void* workspace, const KernelRuntime* runtime) const {
    Arguments copy = *this;
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      pointers.push_back(copy.at(i));
      std::memcpy(copy.at(i), const_cast<Arguments*>(this)->at(i), sizes_[i]);
    }
    entry(pointers.data(), workspace, runtime);
    Memory result;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(pointers[i]);
      result.emplace_back(bytes, bytes + sizes_[i]);
    }
    return result;
  }

 private:
  void* at(std::size_t i) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_[i].data());
    return memory_[i].data() + (64 - address % 64) % 64;
  }

  Memory memory_;
  std::vector<std::size_t> sizes_;
};

void one_after_the_other(const KernelRuntime*, ParallelBody body, void* closure,
                         std::int64_t count) {
  body(closure, 0, count, 0);
}

/// The kernel in memory.
Memory run_in_memory(const LoopProgram& program, std::int32_t num_threads,
                     const Arguments& arguments) {
  LlvmCompiler compiler(host_target(), {.is_serial = num_threads <= 1});
  const auto object = compiler.compile(program);
  REQUIRE(object);
  const auto kernel = JitKernel::load(*object);
  REQUIRE(kernel);
  std::vector<unsigned char> workspace(
      static_cast<std::size_t>(kernel->workspace_bytes(num_threads)) + 64);
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
  const KernelRuntime runtime{&one_after_the_other, nullptr, num_threads};
  return arguments.after(kernel->entry(), workspace.data() + (64 - address % 64) % 64, &runtime);
}

/// More loops and more functions of values than one function has: in parts. One argument is called
/// as the exported text calls the machine code.
LoopProgram long_program() {
  std::string steps;
  for (int i = 0; i < 150; ++i) {
    steps += i % 2 == 0 ? ",exp" : ",tanh";
  }
  const auto chain = ops::parse_workload("pointwise:3x50" + steps);
  REQUIRE(chain);
  auto program = lower(State::initial(chain->dag), host_target());
  REQUIRE(program);
  program->buffers[0].name = machine_code_name("kernel");
  return std::move(*program);
}

std::vector<LoopProgram> drawn_programs(std::int32_t num_threads) {
  test::NativeDraws draws(host_target(), num_threads, 21);
  std::vector<LoopProgram> programs;
  for (const char* text :
       {"gemm:9x33x8:f32,bias,gelu", "gemm:16x64x32:i8", "gemm:8x32x16:bf16", "softmax:7x37",
        "layernorm:5x130", "conv2d:n=1,h=5,w=9,ci=3,co=19,k=3,s=1,p=1,layout=nhwc",
        "max_pool:n=1,h=9,w=9,c=20,k=3,s=2,p=1", "B[j:33,i:40] = A[i,j]"}) {
    for (test::DrawnProgram& drawn : draws.of(text, 2, 20)) {
      programs.push_back(std::move(drawn.program));
    }
  }
  return programs;
}

/// The flags that the exported text asks for, with and without threads.
std::vector<test::Toolchain> toolchains_for_this_machine(bool has_threads) {
  std::vector<test::Toolchain> list;
  for (const test::Toolchain& tool : test::toolchains()) {
    if (tool.command.find("-march=native") != std::string::npos) {
      list.push_back(tool);
      const bool is_gcc = tool.command.rfind("g++", 0) == 0;  // clang's OpenMP may be missing
      if (has_threads && is_gcc) {
        list.push_back({tool.command + " -fopenmp", true});
      }
    }
  }
  return list;
}

std::size_t check_programs(std::int32_t num_threads, std::size_t most) {
  const auto tools = toolchains_for_this_machine(num_threads > 1);
  std::size_t checked = 0;
  std::vector<LoopProgram> programs = drawn_programs(num_threads);
  programs.insert(programs.begin(), long_program());
  for (const LoopProgram& program : programs) {
    if (checked == most) {
      break;
    }
    const KernelSource kernel =
        export_cpp(program, host_target(), {.num_threads = num_threads, .abi_entry = true});
    INFO(kernel.source);
    REQUIRE(kernel.source.find("asm(") != std::string::npos);
    const Arguments arguments(program);
    const Memory expected = run_in_memory(program, num_threads, arguments);
    const test::TemporaryFolder folder;
    int number = 0;
    for (const test::Toolchain& tool : tools) {
      const test::Loaded loaded = test::compile(tool, kernel, folder.path(), number++);
      const auto entry = reinterpret_cast<KernelEntry>(loaded.entry);
      CHECK(arguments.after(entry, nullptr, nullptr) == expected);
      ::dlclose(loaded.library);
    }
    ++checked;
  }
  return checked;
}

}  // namespace

TEST_CASE("exported machine code gives the bytes of the kernel in memory", "[cpp_source]") {
  CHECK(check_programs(1, 17) == 17);
}

TEST_CASE("exported machine code for two threads gives the same bytes", "[cpp_source]") {
  CHECK(check_programs(2, 9) == 9);
}

TEST_CASE("exported loops are there where the machine code does not fit", "[cpp_source]") {
  const auto programs = drawn_programs(1);
  REQUIRE(!programs.empty());
  const KernelSource both = export_cpp(programs[0], host_target(), {.abi_entry = true});
  const KernelSource loops =
      export_cpp(programs[0], host_target(), {.is_portable = true, .abi_entry = true});
  CHECK(loops.source.find("asm(") == std::string::npos);
  CHECK(both.source.find("PORTABLE_KERNEL") != std::string::npos);
  const Arguments arguments(programs[0]);
  const test::TemporaryFolder folder;
  int number = 0;
  for (test::Toolchain tool : test::quick_toolchains()) {
    const test::Loaded plain = test::compile(tool, loops, folder.path(), number++);
    tool.command += " -DPORTABLE_KERNEL";
    const test::Loaded chosen = test::compile(tool, both, folder.path(), number++);
    CHECK(arguments.after(reinterpret_cast<KernelEntry>(plain.entry), nullptr, nullptr) ==
          arguments.after(reinterpret_cast<KernelEntry>(chosen.entry), nullptr, nullptr));
    ::dlclose(plain.library);
    ::dlclose(chosen.library);
  }
}

TEST_CASE("several exported kernels with machine code link together", "[cpp_source]") {
  const auto programs = drawn_programs(1);
  REQUIRE(programs.size() >= 3);
  const test::TemporaryFolder folder;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "kernel_" + std::to_string(i);
    const KernelSource kernel =
        export_cpp(programs[static_cast<std::size_t>(i)], host_target(), {.name = name});
    std::ofstream(folder.path() / (name + ".cpp")) << kernel.source;
  }
  for (const test::Toolchain& tool : toolchains_for_this_machine(false)) {
    const std::string command = "cd " + folder.path().string() + " && " + tool.command +
                                " -o all.so kernel_0.cpp kernel_1.cpp kernel_2.cpp";
    CHECK(std::system(command.c_str()) == 0);
  }
}

TEST_CASE("assembly that stands inside of another file", "[cpp_source]") {
  const std::string text = "\t.text\n"
                           "\t.file\t\"tensorsmith\"\n"
                           "k:\n"
                           "# %bb.0:\n"
                           "\tvmovaps\t.LCPI0_0(%rip), %zmm0 # zmm0 = [1,2]\n"
                           "\tjmp\t.LBB0_1\n"
                           ".LBB0_1:\n"
                           "\n"
                           "\t.section\t\"a#b.Lc\",\"a\",@progbits\n"
                           "\t.ident\t\"LLVM\"\n";
  CHECK(embeddable_assembly(text, "k") == "\t.pushsection .text\n"
                                          "\t.hidden k\n"
                                          "\t.text\n"
                                          "k:\n"
                                          "\tvmovaps\t.Lk_CPI0_0(%rip), %zmm0\n"
                                          "\tjmp\t.Lk_BB0_1\n"
                                          ".Lk_BB0_1:\n"
                                          "\t.section\t\"a#b.Lc\",\"a\",@progbits\n"
                                          "\t.popsection\n");
}
