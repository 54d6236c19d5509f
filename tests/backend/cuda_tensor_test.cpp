// SPDX-License-Identifier: Apache-2.0
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

namespace {

void check_products(const std::vector<WarpProduct>& products) {
  const Target target = Target::cuda(80).value();
  std::vector<CudaSource> sources;
  std::vector<std::vector<HostArray>> all_arguments;
  std::vector<HostArray> expected;
  for (const WarpProduct& product : products) {
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

/// Other sizes, tiles and warps.
std::vector<WarpProduct> drawn_products(std::uint32_t count) {
  constexpr std::pair<const TensorIntrinsic*, const char*> kinds[] = {{&mma_m16n8k16_f16, ":f16"},
                                                                      {&mma_m16n8k16_bf16, ":bf16"},
                                                                      {&mma_m16n8k8_tf32, ":f32"},
                                                                      {&mma_m16n8k32_s8, ":i8"}};
  std::vector<WarpProduct> products;
  for (std::uint32_t n = 0; n < count; ++n) {
    CounterRng rng(seed(), 81, n);
    const auto one_to = [&](std::uint32_t most) { return std::int64_t{1} + rng.next_below(most); };
    const auto& [intrinsic, type] = kinds[n % 4];
    const WarpTiles t{one_to(2), one_to(2), one_to(3), one_to(3), one_to(2)};
    const std::int64_t rows = t.warps_i * t.tiles_i * 16 * one_to(2);
    const std::int64_t columns = t.warps_j * t.tiles_j * 8 * one_to(2);
    const std::int64_t depth = t.steps * intrinsic->k * one_to(3);
    const std::string workload = "gemm:" + std::to_string(rows) + "x" + std::to_string(columns) +
                                 "x" + std::to_string(depth) + type;
    products.push_back({intrinsic, workload + (rng.next_below(2) == 0 ? ",tb" : ""), t,
                        std::string(intrinsic->name) + "(C"});
  }
  return products;
}

}  // namespace

TEST_CASE("warps' products: interpreter and CUDA text agree with the workload", "[cuda_source]") {
  check_products({std::begin(warp_products), std::end(warp_products)});
}

TEST_CASE("warps' products of drawn tiles agree too", "[cuda_source]") {
  check_products(drawn_products(12));
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
