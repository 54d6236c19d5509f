// SPDX-License-Identifier: Apache-2.0
// Runs many programs for 64-bit Arm in one process under qemu-aarch64.
//
// Test support. The code is LLVM's, linked by the cross compiler, or exported C++ that this one
// compiles. Arguments begin anywhere, among known bytes; parallel loops run backwards on two
// workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tensorsmith/codegen/llvm_compiler.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/tune/export.hpp"

namespace tensorsmith::test {

constexpr const char* arm_compiler = "aarch64-linux-gnu-g++";
constexpr const char* arm_emulator = "qemu-aarch64";

/// Empty, or which program is missing here (scripts/setup.sh installs both).
inline std::string missing_for_arm() {
  for (const std::string tool : {arm_compiler, arm_emulator}) {
    if (std::system((tool + " --version >/dev/null 2>&1").c_str()) != 0) {
      return "no " + tool;
    }
  }
  return "";
}

inline std::string whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// That processor where the emulator has it, so that no instruction is one it does not have; else
/// one with every instruction.
inline std::string emulated_processor(const Target& target) {
  const std::string probe =
      std::string(arm_emulator) + " -cpu help | grep -qw -- " + target.llvm_cpu;
  return std::system(probe.c_str()) == 0 ? target.llvm_cpu : "max";
}

using ArgumentBytes = std::vector<std::vector<std::byte>>;

enum class ArmCode {
  machine,         ///< an object file
  exported,        ///< C++ with the machine code as text, for the target's processor
  exported_loops,  ///< the loops of it
};

class EmulatedArm {
 public:
  EmulatedArm(const Target& target, ArmCode code)
      : target_(target), code_(code), compiler_(target) {}

  /// The number of the program.
  std::size_t add(LoopProgram program, std::string title, ArgumentBytes arguments) {
    programs_.push_back({std::move(program), std::move(title), std::move(arguments), 0});
    return programs_.size() - 1;
  }
  std::size_t size() const { return programs_.size(); }
  const std::string& title(std::size_t number) const { return programs_[number].title; }
  /// After run(): what the program left in its arguments.
  const ArgumentBytes& arguments(std::size_t number) const { return programs_[number].arguments; }

  /// Compiles, links and runs all of them. Empty, or what went wrong.
  std::string run() {
    if (programs_.empty()) {
      return "there are no programs";
    }
    std::string problem = code_ == ArmCode::machine ? write_objects() : write_sources();
    if (problem.empty()) {
      write_main();
      problem = command(std::string(arm_compiler) + " -std=c++17 -O1 -c main.cpp");
    }
    if (problem.empty()) {
      problem = command(std::string(arm_compiler) + " -static -o all *.o");
    }
    if (!problem.empty()) {
      return problem;
    }
    write_arguments();
    problem = command(std::string("timeout 900 ") + arm_emulator + " -cpu " +
                      emulated_processor(target_) + " ./all in out");
    const std::string read = read_arguments();
    return problem.empty() ? read : problem + "\n" + read;
  }

 private:
  struct Program {
    LoopProgram loops;
    std::string title;
    ArgumentBytes arguments;
    std::int64_t workspace_bytes;
  };

  static constexpr std::size_t batch_size = 16;

  std::string entry_of(std::size_t number) const {
    return "k" + std::to_string(number) + (code_ == ArmCode::machine ? "" : "_entry");
  }

  std::string write_objects() {
    for (std::size_t first = 0; first < programs_.size(); first += batch_size) {
      std::vector<BatchItem> items;
      for (std::size_t i = first; i < programs_.size() && i < first + batch_size; ++i) {
        items.push_back({&programs_[i].loops, entry_of(i)});
      }
      const CompiledBatch batch = compiler_.compile_batch(items);
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (!batch.kernels[i]) {
          return title(first + i) + ": " + batch.kernels[i].error();
        }
        programs_[first + i].workspace_bytes = batch.kernels[i]->workspace_bytes(num_workers);
      }
      write("k" + std::to_string(first) + ".o", batch.object);
    }
    return "";
  }

  /// Without a warning. gcc sees variables without a value where two guards are the same.
  std::string write_sources() {
    const bool is_plain = code_ == ArmCode::exported_loops;
    std::string files;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const std::string name = "k" + std::to_string(i);
      const KernelSource kernel = export_cpp(
          programs_[i].loops, target_, {.name = name, .is_portable = is_plain, .abi_entry = true});
      if (!is_plain && kernel.source.find("asm(") == std::string::npos) {
        return title(i) + ": there is no machine code as text";
      }
      write(name + ".hpp", kernel.header);
      write(name + ".cpp", "#include \"" + name + ".hpp\"\n" + kernel.source);
      files += " " + name + ".cpp";
    }
    return command(std::string(arm_compiler) +
                   " -std=c++17 -O1 -Wall -Wextra -Werror -Wno-unknown-pragmas "
                   "-Wno-maybe-uninitialized " +
                   (is_plain ? "" : "-mcpu=" + target_.llvm_cpu) + " -c" + files);
  }

  void write_main() {
    std::string declared, listed;
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      declared += "extern \"C\" void " + entry_of(i) + "(void* const*, void*, const Runtime*);\n";
      listed +=
          "    {" + entry_of(i) + ", " + std::to_string(programs_[i].workspace_bytes) + "},\n";
    }
    write("main.cpp", std::string(main_begin) + declared + "const Program programs[] = {\n" +
                          listed + "};\n" + main_end);
  }

  void write_arguments() {
    std::ofstream file(folder_.path() / "in", std::ios::binary);
    const auto put = [&](std::uint64_t value) {
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    };
    constexpr std::uint64_t places[] = {0, 16, 8, 32, 4, 48};
    std::size_t turn = 0;
    for (const Program& program : programs_) {
      put(program.arguments.size());
      for (std::size_t i = 0; i < program.arguments.size(); ++i) {
        const Buffer& buffer = program.loops[program.loops.arguments[i]];
        const auto element = static_cast<std::uint64_t>(bytes_of(buffer.dtype));
        const std::uint64_t place = places[turn++ % std::size(places)];
        put(program.arguments[i].size());
        put(place % element == 0 ? place : 0);
        file.write(reinterpret_cast<const char*>(program.arguments[i].data()),
                   static_cast<std::streamsize>(program.arguments[i].size()));
      }
    }
  }

  std::string read_arguments() {
    const std::string out = whole_file(folder_.path() / "out");
    std::size_t at = 0;
    for (Program& program : programs_) {
      for (std::vector<std::byte>& argument : program.arguments) {
        if (out.size() - at < argument.size() + 1) {
          return program.title + ": did not end";
        }
        std::memcpy(argument.data(), out.data() + at, argument.size());
        at += argument.size();
        if (out[at++] != 1) {
          return program.title + ": wrote outside of an argument or the workspace";
        }
      }
    }
    return at == out.size() ? "" : "there are more results than programs";
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  /// In the folder. Empty, or what it said.
  std::string command(const std::string& line) const {
    const std::string in_folder = "cd " + folder_.path().string() + " && (" + line + ") >log 2>&1";
    if (std::system(in_folder.c_str()) == 0) {
      return "";
    }
    return line.substr(0, 200) + " failed: " + whole_file(folder_.path() / "log").substr(0, 4000);
  }

  static constexpr std::int32_t num_workers = 2;
  static constexpr const char* main_begin = R"(#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
struct Runtime {
  void (*parallel_for)(const Runtime*, void (*)(void*, std::int64_t, std::int64_t, std::int32_t),
                       void*, std::int64_t);
  void* pool;
  std::int32_t num_threads;
};
struct Program {
  void (*entry)(void* const*, void*, const Runtime*);
  std::uint64_t workspace_bytes;
};
)";
  static constexpr const char* main_end = R"(
constexpr std::uint64_t margin = 256;
static void backwards(const Runtime*, void (*body)(void*, std::int64_t, std::int64_t, std::int32_t),
                      void* closure, std::int64_t count) {
  for (std::int64_t i = count; i-- > 0;) {
    body(closure, i, i + 1, static_cast<std::int32_t>(i % 2));
  }
}
struct Placed {
  explicit Placed(std::uint64_t bytes, std::uint64_t offset)
      : size(bytes), total((bytes / 64 + 2) * 64 + 2 * margin),
        whole(static_cast<unsigned char*>(std::aligned_alloc(64, total))),
        data(whole + margin + offset) {
    std::memset(whole, 0xA5, total);
  }
  bool is_intact() const {
    for (const unsigned char* at = whole; at != whole + total; ++at) {
      if ((at < data || at >= data + size) && *at != 0xA5) return false;
    }
    return true;
  }
  std::uint64_t size, total;
  unsigned char *whole, *data;
};
static std::uint64_t number(std::FILE* file) {
  std::uint64_t value = 0;
  if (std::fread(&value, sizeof value, 1, file) != 1) std::abort();
  return value;
}
int main(int, char** names) {
  std::FILE* in = std::fopen(names[1], "rb");
  std::FILE* out = std::fopen(names[2], "wb");
  for (const Program& program : programs) {
    std::vector<Placed> placed;
    std::vector<void*> pointers;
    for (std::uint64_t left = number(in); left > 0; --left) {
      const std::uint64_t bytes = number(in), offset = number(in);
      placed.emplace_back(bytes, offset);
      if (std::fread(placed.back().data, 1, bytes, in) != bytes) std::abort();
      pointers.push_back(placed.back().data);
    }
    const Placed workspace(program.workspace_bytes, 0);
    const Runtime runtime{&backwards, nullptr, 2};
    program.entry(pointers.data(), workspace.data, &runtime);
    for (const Placed& argument : placed) {
      std::fwrite(argument.data, 1, argument.size, out);
      std::fputc(argument.is_intact() && workspace.is_intact(), out);
      std::free(argument.whole);
    }
    std::free(workspace.whole);
    std::fflush(out);
  }
  return std::fclose(out);
}
)";

  Target target_;
  ArmCode code_;
  LlvmCompiler compiler_;
  TemporaryFolder folder_;
  std::vector<Program> programs_;
};

}  // namespace tensorsmith::test
