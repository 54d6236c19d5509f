// SPDX-License-Identifier: Apache-2.0
// Compiles exported C++ with every compiler found, runs it and compares with the interpreter.
//
// Test support of this folder.
#pragma once

#include <algorithm>
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

struct Toolchain {
  std::string command;
  bool openmp = false;
};

inline const std::vector<Toolchain>& toolchains() {
  static const std::vector<Toolchain> found = [] {
    std::vector<Toolchain> list;
    for (const char* compiler : {"g++", "clang++"}) {
      const std::string probe = std::string(compiler) + " --version >/dev/null 2>&1";
      if (std::system(probe.c_str()) != 0) {
        skip(std::string("no ") + compiler);
        continue;
      }
      for (const char* flags : {" -O2 -march=native", " -O1"}) {
        list.push_back({compiler +
                        std::string(" -std=c++17 -Wall -Wextra -Werror "
                                    "-Wno-unknown-pragmas -fPIC -shared") +
                        flags});
      }
    }
    return list;
  }();
  return found;
}

/// Values that floats of any width hold exactly or nearly; integers in the range of the type.
inline void fill(HostArray& array, std::uint32_t stream) {
  CounterRng rng(seed(), stream);
  for (std::int64_t i = 0; i < array.num_elements(); ++i) {
    if (is_float(array.dtype)) {
      array.set_real(i, rng.next_double() * 2.0 - 1.0);
    } else {
      array.set_int(i, static_cast<std::int64_t>(rng.next_u64()));
    }
  }
}

struct Loaded {
  void* library = nullptr;
  void (*entry)(void* const*, void*, const void*) = nullptr;
};

inline Loaded compile(const Toolchain& tool, const KernelSource& kernel,
                      const std::filesystem::path& folder, int number) {
  const auto source = folder / ("kernel" + std::to_string(number) + ".cpp");
  const auto library = folder / ("kernel" + std::to_string(number) + ".so");
  std::ofstream(folder / "kernel.hpp") << kernel.header;
  std::ofstream(source) << "#include \"kernel.hpp\"\n" << kernel.source;
  const std::string command = tool.command + " -o " + library.string() + " " + source.string();
  INFO(command << "\n" << kernel.source);
  REQUIRE(std::system(command.c_str()) == 0);
  Loaded loaded;
  loaded.library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loaded.library != nullptr);
  void* symbol = ::dlsym(loaded.library, kernel.entry_name.c_str());
  REQUIRE(symbol != nullptr);
  std::memcpy(&loaded.entry, &symbol, sizeof symbol);
  return loaded;
}

/// One per compiler. Guards that repeat mislead g++'s flow analysis: it sees a variable without a
/// value where two conditions are the same. A program may ask whether a u8 is below 0.
inline std::vector<Toolchain> quick_toolchains() {
  std::vector<Toolchain> list;
  for (const Toolchain& tool : toolchains()) {
    if (tool.command.find(" -O1") != std::string::npos) {
      list.push_back(tool);
      if (tool.command.rfind("g++", 0) == 0) {
        list.back().command += " -Wno-maybe-uninitialized -Wno-type-limits";
      }
    }
  }
  return list;
}

/// `bound`: largest |difference| / max(1, |expected|); 0 = bit for bit.
inline void compare_with_interpreter(const LoopProgram& program, double bound,
                                     const std::vector<Toolchain>& tools = toolchains()) {
  std::vector<HostArray> inputs;
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    const Buffer& buffer = program[program.arguments[i]];
    inputs.emplace_back(buffer.dtype,
                        std::vector<std::int64_t>(buffer.shape.begin(), buffer.shape.end()));
    fill(inputs.back(), static_cast<std::uint32_t>(i));
  }
  std::vector<HostArray> expected = inputs;
  const auto evaluated = eval(program, expected);
  REQUIRE(evaluated.has_value());

  CppSourceOptions options;
  options.function_name = "kernel";
  options.comment = "test";
  options.abi_entry = true;
  const KernelSource kernel = emit_cpp_source(program, options);
  if (dump_source()) {
    std::cout << kernel.source << "\n";
  }
  const TemporaryFolder folder;
  int number = 0;
  for (const Toolchain& tool : tools) {
    const Loaded loaded = compile(tool, kernel, folder.path(), number++);
    std::vector<void*> pointers;
    std::vector<std::size_t> sizes;
    for (const HostArray& array : inputs) {
      const std::size_t bytes = (array.data.size() + 64 + 63) / 64 * 64;
      void* memory = std::aligned_alloc(64, bytes);
      std::memset(memory, 0x5a, bytes);
      std::memcpy(memory, array.data.data(), array.data.size());
      pointers.push_back(memory);
      sizes.push_back(bytes);
    }
    loaded.entry(pointers.data(), nullptr, nullptr);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      INFO(tool.command << "\nargument " << i << "\n" << kernel.source);
      HostArray actual = inputs[i];
      std::memcpy(actual.data.data(), pointers[i], actual.data.size());
      if (bound == 0.0) {
        CHECK(actual == expected[i]);
      } else {
        double worst = 0.0;
        for (std::int64_t e = 0; e < actual.num_elements(); ++e) {
          const double want = expected[i].get_real(e);
          worst =
              std::max(worst, std::abs(actual.get_real(e) - want) / std::max(1.0, std::abs(want)));
          if (std::isnan(actual.get_real(e)) != std::isnan(want)) {
            worst = INFINITY;
          }
        }
        CHECK(worst <= bound);
      }
      const auto* bytes = static_cast<const unsigned char*>(pointers[i]);
      bool guard_is_whole = true;
      for (std::size_t at = actual.data.size(); at < sizes[i]; ++at) {
        guard_is_whole = guard_is_whole && bytes[at] == 0x5a;
      }
      CHECK(guard_is_whole);
      std::free(pointers[i]);
    }
    ::dlclose(loaded.library);
  }
}

}  // namespace tensorsmith::test
