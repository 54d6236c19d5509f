// SPDX-License-Identifier: Apache-2.0
// What a program's buffers are called does not matter: its text compiles where they are called like
// any word of that text.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "backend/cpp_source_fixture.hpp"
#include "backend/cuda_shim_fixture.hpp"
#include "backend/gpu_programs.hpp"
#include "backend/native_draws.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// The identifiers of a text, those of its comments and strings too.
std::vector<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && is_word(text[end])) {
      ++end;
    }
    if (end > begin && std::isdigit(static_cast<unsigned char>(text[begin])) == 0) {
      words.insert(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return {words.begin(), words.end()};
}

/// The program once for every so many words as it has buffers, which bear them.
std::vector<LoopProgram> renamed(const LoopProgram& program,
                                 const std::vector<std::string>& words) {
  std::vector<LoopProgram> programs;
  for (std::size_t next = 0; next < words.size();) {
    programs.push_back(program);
    for (Buffer& buffer : programs.back().buffers) {
      buffer.name = words[next++ % words.size()];
    }
  }
  return programs;
}

std::vector<LoopProgram> drawn_programs() {
  NativeDraws draws(Target::x86_64_v4(), 1, 23);
  std::vector<LoopProgram> programs;
  for (const char* text :
       {"gemm:9x33x8:f32,bias,gelu", "gemm:8x32x16:bf16", "softmax:7x3700", "gemm:16x64x32:i8",
        "A[40, 33]; B[j:33,i:40] = min(A[i,j], tanh(A[i,j//2]))",
        "B[i:33] = sigmoid(log(A.f64[i])) + erf(sqrt(A[i]))",
        "B[i:33] = truncmod(A.i32[i], 7) + A[i] % 5 + abs(A[i]) // 3"}) {
    std::vector<DrawnProgram> drawn = draws.of(text, 1, 20);
    REQUIRE(drawn.size() == 1);
    programs.push_back(std::move(drawn[0].program));
  }
  return programs;
}

}  // namespace

TEST_CASE("buffers with the names of helpers, types and functions in C++", "[cpp_source]") {
  CppSourceOptions options;
  options.abi_entry = true;
  std::string text = "#include <cmath>\n#include <cstddef>\n#include <cstdint>\n"
                     "#include <cstring>\n#include <new>\n#include <type_traits>\n";
  std::size_t count = 0;
  for (const LoopProgram& program : drawn_programs()) {
    for (const LoopProgram& other : renamed(program, words_of(emit_cpp_source(program).source))) {
      options.function_name = "kernel_" + std::to_string(count);
      text += "namespace p" + std::to_string(count++) + " {\n" +
              emit_cpp_source(other, options).source + "}\n";
    }
  }
  CHECK(count > 100);
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "all.cpp") << text;
  for (const Toolchain& tool : quick_toolchains()) {
    const std::string command = tool.command + " -Wno-unused-command-line-argument -fsyntax-only " +
                                (folder.path() / "all.cpp").string();
    INFO(command << "\n" << text);
    CHECK(std::system(command.c_str()) == 0);
  }
}

TEST_CASE("buffers with the names of helpers, types and functions in CUDA", "[cuda_source]") {
  const Target ampere = Target::cuda(80).value();
  const auto text_of = [&](const LoopProgram& program, const std::string& name) {
    CudaSourceOptions options;
    options.name = name;
    auto source = cuda_source(program, ampere, options);
    INFO((source ? "" : source.error()));
    REQUIRE(source.has_value());
    return std::move(*source);
  };
  std::vector<CudaSource> sources;
  for (const GpuCase& example :
       {elementwise_case(DType::f16, 512, 32, 8), elementwise_case(DType::i64, 512, 32, 2),
        gemm_case(DType::bf16, DType::f32, 37, 41, 19), softmax_case(3, 77, 64),
        reverse_case(DType::f64, 2, 8192, 128), calls_case(DType::f32), calls_case(DType::i32)}) {
    for (const LoopProgram& other :
         renamed(example.program, words_of(text_of(example.program, "kernel").text))) {
      sources.push_back(text_of(other, "kernel_" + std::to_string(sources.size())));
    }
  }
  CHECK(sources.size() > 100);
  const ShimLibrary library(std::move(sources));  // compiles them
}
