// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA text as C++ against tests/support/cuda_shim.hpp and runs it on host arrays.
//
// Test support of this folder. Many programs go into one translation unit, each in a namespace of
// its own; their kernels need different names.
#pragma once

#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "backend/cpp_source_fixture.hpp"
#include "tensorsmith/codegen/cuda_source.hpp"
#include "tensorsmith/ir/host_array.hpp"

namespace tensorsmith::test {

class ShimLibrary {
 public:
  explicit ShimLibrary(std::vector<CudaSource> sources) : sources_(std::move(sources)) {
    std::string text;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const std::string space = "program_" + std::to_string(i);
      text += "namespace " + space + " {\n" + sources_[i].text + "}\n";
      for (const CudaLaunch& launch : sources_[i].launches) {
        text += "extern \"C\" const char* run_" + launch.kernel +
                "(void* const* arguments, const long long* grid, const long long* block, "
                "long long dynamic_bytes, unsigned order) {\n  return cuda_shim::launch(" +
                space + "::" + launch.kernel +
                ", arguments, grid, block, dynamic_bytes, order);\n}\n";
      }
    }
    if (dump_source()) {
      std::cout << text << "\n";
    }
    const auto source = folder_.path() / "kernels.cpp", library = folder_.path() / "kernels.so";
    std::ofstream(source) << text;
    const std::string command = "g++ -std=c++17 -O1 -Wall -Wno-unknown-pragmas "
                                "-Wno-maybe-uninitialized -Wno-uninitialized "
                                "-Wno-unused-but-set-variable -Werror -fPIC -shared "
                                "-include " TENSORSMITH_SOURCE_DIR "/tests/support/cuda_shim.hpp "
                                "-o " +
                                library.string() + " " + source.string();
    INFO(command << "\n" << text);
    REQUIRE(std::system(command.c_str()) == 0);
    library_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_ != nullptr);
  }
  ~ShimLibrary() { ::dlclose(library_); }
  ShimLibrary(const ShimLibrary&) = delete;
  ShimLibrary& operator=(const ShimLibrary&) = delete;

  const CudaSource& source(std::size_t i) const { return sources_[i]; }

  /// Runs program `i` on `arguments`, which receive what it writes. `order`: 0 forward, 1 backward,
  /// else the seed of a random order of the threads. Empty, or what went wrong.
  std::string run(std::size_t i, std::vector<HostArray>& arguments, unsigned order) const {
    const CudaSource& source = sources_[i];
    std::vector<unsigned char> memory;
    std::vector<std::size_t> offsets;
    std::size_t total = 0;
    for (const CudaBuffer& buffer : source.buffers) {
      offsets.push_back(total);
      total += (static_cast<std::size_t>(buffer.num_bytes) + guard + 255) / 256 * 256;
    }
    memory.assign(total + 256, 0x5a);
    unsigned char* const begin =
        memory.data() + (256 - reinterpret_cast<std::uintptr_t>(memory.data()) % 256);
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      std::memcpy(begin + offsets[a], arguments[a].data.data(), arguments[a].data.size());
    }
    for (const CudaLaunch& launch : source.launches) {
      std::vector<void*> pointers;
      for (std::int32_t b : launch.buffers) {
        pointers.push_back(begin + offsets[static_cast<std::size_t>(b)]);
      }
      using Entry =
          const char* (*)(void* const*, const long long*, const long long*, long long, unsigned);
      void* const symbol = ::dlsym(library_, ("run_" + launch.kernel).c_str());
      REQUIRE(symbol != nullptr);
      Entry entry = nullptr;
      std::memcpy(&entry, &symbol, sizeof symbol);
      const long long grid[] = {launch.grid[0], launch.grid[1], launch.grid[2]};
      const long long block[] = {launch.block[0], launch.block[1], launch.block[2]};
      const char* const problem =
          entry(pointers.data(), grid, block, launch.dynamic_shared_bytes, order);
      if (problem != nullptr) {
        return launch.kernel + ": " + problem;
      }
    }
    for (std::size_t b = 0; b < source.buffers.size(); ++b) {
      const auto bytes = static_cast<std::size_t>(source.buffers[b].num_bytes);
      for (std::size_t at = bytes; at < bytes + guard; ++at) {
        if (begin[offsets[b] + at] != 0x5a) {
          return "wrote behind the end of buffer " + source.buffers[b].name;
        }
      }
    }
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      std::memcpy(arguments[a].data.data(), begin + offsets[a], arguments[a].data.size());
    }
    return {};
  }

 private:
  static constexpr std::size_t guard = 64;

  std::vector<CudaSource> sources_;
  TemporaryFolder folder_;
  void* library_ = nullptr;
};

inline std::vector<HostArray> arrays_for(const LoopProgram& program) {
  std::vector<HostArray> arrays;
  for (std::size_t i = 0; i < program.arguments.size(); ++i) {
    const Buffer& buffer = program[program.arguments[i]];
    arrays.emplace_back(buffer.dtype,
                        std::vector<std::int64_t>(buffer.shape.begin(), buffer.shape.end()));
    fill(arrays.back(), static_cast<std::uint32_t>(i));
  }
  return arrays;
}

/// Largest |difference| / max(1, |expected|); infinite where only one is NaN.
inline double worst_difference(const HostArray& actual, const HostArray& expected) {
  double worst = 0.0;
  for (std::int64_t e = 0; e < actual.num_elements(); ++e) {
    const double have = actual.get_real(e), want = expected.get_real(e);
    if (std::isnan(have) != std::isnan(want)) {
      return INFINITY;
    }
    if (have != want && !std::isnan(have)) {
      worst = std::max(worst, std::abs(have - want) / std::max(1.0, std::abs(want)));
    }
  }
  return worst;
}

}  // namespace tensorsmith::test
