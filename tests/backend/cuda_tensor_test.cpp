// Tensor-core instructions in CUDA text: executed on the shim, against the interpreter and
// the workload.
#include <string>

#include "backend/cuda_shim_fixture.hpp"
#include "backend/warp_products.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("warps' products: interpreter and CUDA text agree with the workload", "[cuda_source]") {
  const Target target = Target::cuda(80).value();
  std::vector<CudaSource> sources;
  std::vector<std::vector<HostArray>> all_arguments;
  std::vector<HostArray> expected;
  for (const WarpProduct& product : warp_products) {
    const auto workload = ops::parse_workload(product.workload);
    REQUIRE(workload);
    const State state = warp_tiled(workload->dag, *product.intrinsic, product.tiles);
    const auto program = lower(state, target);
    REQUIRE(program);
    INFO(product.workload << "\n" << to_text(*program));
    CHECK(is_valid(verify(*program)));
    CHECK(to_text(*program).find(" as " + std::string(product.intrinsic->name)) !=
          std::string::npos);
    const std::vector<HostArray> inputs = whole_number_inputs(*workload->dag);
    const auto results = eval_dag(*workload->dag, inputs);
    REQUIRE(results);
    std::vector<HostArray> arguments = inputs;
    arguments.push_back((*results)[0]);
    std::fill(arguments.back().data.begin(), arguments.back().data.end(), std::byte{0});
    auto interpreted = arguments;
    EvalOptions options;
    options.is_output = {false, false, true};
    const auto evaluated = eval(*program, interpreted, options);
    REQUIRE(evaluated);
    CHECK(interpreted.back() == (*results)[0]);
    CudaSourceOptions named;
    named.name = "product_" + std::to_string(sources.size());
    auto source = cuda_source(*program, target, named);
    REQUIRE(source);
    INFO(source->text);
    CHECK(source->text.find(std::string(product.intrinsic->name) + "(C") != std::string::npos);
    CHECK(source->text.find(product.loads) != std::string::npos);
    sources.push_back(std::move(*source));
    all_arguments.push_back(std::move(arguments));
    expected.push_back((*results)[0]);
  }
  const ShimLibrary library(sources);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    INFO(sources[i].text);
    for (const unsigned order : {0u, 1u, 5u}) {
      auto actual = all_arguments[i];
      REQUIRE(library.run(i, actual, order) == "");
      CHECK(actual.back() == expected[i]);
    }
  }
}

TEST_CASE("loops that no warp computes together are printed as loops", "[cuda_source]") {
  const auto workload = ops::parse_workload("gemm:32x32x32:bf16");
  State state = warp_tiled(workload->dag, mma_m16n8k16_bf16, {1, 1, 2, 2, 1});
  const auto program = lower(state, Target::cuda(75).value());  // has no such instruction
  REQUIRE(program);
  CHECK(to_text(*program).find(" as mma") == std::string::npos);
  auto renamed = lower(state, Target::cuda(80).value());
  REQUIRE(renamed);
  for (Stmt& stmt : renamed->stmts) {  // columns where rows should be
    if (For* loop = std::get_if<For>(&stmt); loop != nullptr && loop->intrinsic != nullptr) {
      loop->intrinsic = &mma_m16n8k32_s8;
    }
  }
  const auto source = cuda_source(*renamed, Target::cuda(80).value());
  REQUIRE(source);
  CHECK(source->text.find("mma_") == std::string::npos);
}
