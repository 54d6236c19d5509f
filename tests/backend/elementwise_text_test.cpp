// SPDX-License-Identifier: Apache-2.0
// Elementary functions of exported C++, of CUDA text and of the interpreter, on all numbers of 16
// bits and a dense sample of f32.
#include "backend/cuda_shim_fixture.hpp"
#include "support/elementwise_sweep.hpp"
#include "support/full_count.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Of the C library: its own bounds, which are wider than ours in places.
constexpr double library_slack = 1.0;
/// Of exported C++, whose compiler chooses which products are fused with sums.
constexpr double own_slack = 0.25;

}  // namespace

TEST_CASE("the interpreter computes elementwise functions almost exactly", "[codegen]") {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const ElementwiseJudge& judge = judge_of(type);
    std::vector<HostArray> arrays = judge.arguments();
    REQUIRE(eval(sweep_program(type, {{judge.count(), ForKind::serial}}), arrays).has_value());
    INFO(name_of(type));
    CHECK(judge.problems(arrays[1]) == "");
  }
}

TEST_CASE("elementwise functions keep their bounds in exported C++", "[cpp_source]") {
  struct Form {
    ForKind kind;
    std::int32_t vector_bytes;
  };
  std::uint32_t next = 0;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const ElementwiseJudge& judge = judge_of(type);
    for (const Form form : {Form{ForKind::serial, 64}, Form{ForKind::vectorized, 16},
                            Form{ForKind::vectorized, 32}, Form{ForKind::vectorized, 64}}) {
      CppSourceOptions options;
      options.function_name = "kernel";
      options.abi_entry = true;
      options.vector_bytes = form.vector_bytes;
      const KernelSource kernel = emit_cpp_source(
          sweep_program(type, {{judge.count() / 64, ForKind::serial}, {64, form.kind}}), options);
      CHECK((kernel.source.find("std::exp") == std::string::npos));
      const TemporaryFolder folder;
      int number = 0;
      ++next;  // each form meets the compilers that the one before did not
      for (const Toolchain& tool : toolchains()) {
        if (next++ % full_count(2, 1) != 0) {
          continue;
        }
        const Loaded loaded = compile(tool, kernel, folder.path(), number++);
        std::vector<HostArray> arrays = judge.arguments();
        void* pointers[] = {arrays[0].data.data(), arrays[1].data.data()};
        loaded.entry(pointers, nullptr, nullptr);
        INFO(name_of(type) << " by " << tool.command << ", vectors of " << form.vector_bytes);
        CHECK(judge.problems(arrays[1], own_slack) == "");
        ::dlclose(loaded.library);
      }
    }
  }
}

TEST_CASE("elementwise functions keep their bounds in CUDA text", "[cuda_source]") {
  std::vector<CudaSource> sources;
  std::vector<const ElementwiseJudge*> judges;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    judges.push_back(&judge_of(type));
    CudaSourceOptions options;
    options.name = "kernel_" + std::to_string(sources.size());
    const LoopProgram program =
        sweep_program(type, {{judges.back()->count() / 4096, ForKind::block_x},
                             {32, ForKind::thread_x},
                             {128, ForKind::serial}});
    const auto source = cuda_source(program, Target::cuda(80).value(), options);
    REQUIRE(source.has_value());
    sources.push_back(*source);
  }
  const ShimLibrary library(sources);
  for (std::size_t i = 0; i < judges.size(); ++i) {
    std::vector<HostArray> arrays = judges[i]->arguments();
    REQUIRE(library.run(i, arrays, 0) == "");
    INFO(sources[i].text);
    CHECK(judges[i]->problems(arrays[1], library_slack) == "");
  }
}
