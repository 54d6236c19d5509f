// SPDX-License-Identifier: Apache-2.0
// Tensor cores in the sketches for GPUs: where they are used, and where they are not.
#include "tensorsmith/sketch/native_gpu_rules.hpp"

#include "support/catch.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

std::vector<State> sketches_for_gpu(const Shared<const ComputeDag>& dag, std::int32_t capability) {
  const Target target = Target::cuda(capability).value();
  SketchOptions options = gpu_sketch_options(hardware_params(target));
  options.intrinsics = intrinsics_of(target);
  return generate_sketches(dag, native_gpu_rules(), options);
}

/// The instruction of each sketch, "" for those without one.
std::vector<std::string> instructions(const Shared<const ComputeDag>& dag,
                                      std::int32_t capability = 80) {
  std::vector<std::string> found;
  for (const State& sketch : sketches_for_gpu(dag, capability)) {
    std::string name;
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      name += sketch.stage(s).hints.get<hints::Tensorize>().intrinsic;
    }
    found.push_back(name);
  }
  return found;
}

std::vector<std::string> instructions(const char* workload, std::int32_t capability = 80) {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed.has_value());
  return instructions(parsed->dag, capability);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("sums of products use the instruction of their types, whatever follows them") {
  const Names f16{"mma_m16n8k16_f16"}, bf16{"mma_m16n8k16_bf16"}, s8{"mma_m16n8k32_s8"};
  CHECK(instructions("gemm:128x64x48:f16") == f16);
  CHECK(instructions("gemm:128x64x48:f16,ta") == f16);
  CHECK(instructions("gemm:128x64x48:bf16,tb,bias,relu", 90) == bf16);
  // Four warps together read lines of 128 bytes: 64 terms and 64 columns at least.
  CHECK(instructions("gemm:128x64x64:bf16,tb,bias,relu", 90) ==
        Names{"wgmma_k16_bf16", "mma_m16n8k16_bf16"});
  CHECK(instructions("gemm:128x64x64:i8", 90) == s8);
  CHECK(instructions("gemm:128x64x64:f16", 89) == f16);
  CHECK(instructions("gemm:128x64x32:i8") == s8);
  CHECK(instructions("bmm:3x64x64x16:bf16") == bf16);
  CHECK(instructions("gemm:128x64x48:f32") == Names{"mma_m16n8k8_tf32"});  // if it is offered
}

TEST_CASE("matrices of few tiles may be computed thread by thread as well") {
  const Names names = instructions("gemm:32x64x256:f16");
  CHECK(names.size() == 2);
  CHECK(has_item(names, std::string("mma_m16n8k16_f16")));
  CHECK(has_item(names, std::string()));
}

TEST_CASE("sizes that the tile does not divide use it too") {
  const Names f16{"mma_m16n8k16_f16"}, s8{"mma_m16n8k32_s8"};
  for (const char* workload : {"gemm:120x64x64:f16", "gemm:128x69x64:f16", "gemm:128x64x57:f16,tb",
                               "gemm:127x65x33:f16,ta,bias"}) {
    INFO(workload);
    CHECK(instructions(workload) == f16);
  }
  CHECK(instructions("gemm:128x64x48:i8") == s8);
  CHECK(has_item(instructions("gemm:7x1001x100:f16"), f16.front()));
}

TEST_CASE("copies fetch as many elements at once as divide a row") {
  const auto lanes = [](const char* workload) {
    std::vector<std::int64_t> found;
    const State sketch = sketches_for_gpu(ops::parse_workload(workload)->dag, 80).front();
    for (const Step& step : sketch.steps()) {
      const SplitStep* split = std::get_if<SplitStep>(&step);
      if (split != nullptr && split->lengths.size() == 2 && split->lengths[0] == 32) {
        found.push_back(split->lengths[1]);  // of a warp's lanes
      }
    }
    return found;
  };
  using Lanes = std::vector<std::int64_t>;
  CHECK(lanes("gemm:128x128x128:f16") == Lanes{8, 8});
  CHECK(lanes("gemm:128x1003x1000:f16") == Lanes{1, 8});  // of B, of A
  CHECK(lanes("gemm:128x1004x1002:f16") == Lanes{4, 2});
  CHECK(lanes("gemm:128x1000x1003:i8") == Lanes{8, 1});
}

TEST_CASE("very few rows, matrices that go on behind the sum, and other devices have none") {
  te::Program p;  // a sum over 40 of 64 columns
  auto a = p.placeholder("A", {64, 64}, DType::f16), b = p.placeholder("B", {40, 64}, DType::f16);
  auto k = p.reduce_axis("k", 40);
  auto c = p.compute("C", {64, 64}, [&](auto i, auto j) {
    return te::sum(te::cast(DType::f32, a(i, k)) * te::cast(DType::f32, b(k, j)), {k});
  });
  for (const std::string& name : instructions(p.dag({a, b, c}))) {
    CHECK(name.empty());
  }
  for (const char* workload :
       {"gemm:3x64x64:f16", "gemm:128x7x64:f16", "gemm:128x64x15:f16", "gemm:128x64x64:f64"}) {
    INFO(workload);
    const Names names = instructions(workload);
    CHECK_FALSE(names.empty());
    CHECK(all_items(names, [](const std::string& name) { return name.empty(); }));
  }
  CHECK(all_items(instructions("gemm:128x64x64:f16", 75),
                  [](const std::string& name) { return name.empty(); }));
}

TEST_CASE("a matrix multiplied by itself, and sums that are none of products, have none") {
  te::Program p;
  auto a = p.placeholder("A", {64, 64}, DType::f16);
  auto k = p.reduce_axis("k", 64);
  auto c = p.compute("C", {64, 64}, [&](auto i, auto j) {
    return te::sum(te::cast(DType::f32, a(i, k)) * te::cast(DType::f32, a(j, k)), {k});
  });
  for (const std::string& name : instructions(p.dag({a, c}))) {
    CHECK(name.empty());
  }
  for (const std::string& name : instructions("conv2d:n=1,h=16,w=16,ci=16,co=16,k=3,s=1,p=1")) {
    CHECK(name.empty());
  }
}

TEST_CASE("long sums of few tiles may be computed in parts, on tensor cores as well") {
  const auto num_parts = [](const char* workload) {
    std::vector<std::int64_t> found;
    for (const State& sketch : sketches_for_gpu(ops::parse_workload(workload)->dag, 80)) {
      for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
        if (sketch.operation(s).name == "C.rf") {
          found.push_back(sketch.operation(s).axes[0].extent);
        }
      }
    }
    return found;
  };
  using Parts = std::vector<std::int64_t>;
  CHECK(num_parts("gemm:64x64x512:f16") == Parts{2});
  CHECK(num_parts("gemm:128x128x4096:f16,bias,relu") == Parts{2, 4, 8});
  CHECK(num_parts("gemm:1024x2048x4096:f16").empty());  // tiles for everybody
  CHECK(num_parts("gemm:64x64x256:f16").empty());
  CHECK(num_parts("gemm:64x64x520:f16").empty());
  CHECK(instructions("gemm:64x64x512:f16") == Names{"mma_m16n8k16_f16", "mma_m16n8k16_f16"});
}

TEST_CASE("operands that are computed are computed in their copies") {
  te::Program p;
  auto a = p.placeholder("A", {64, 64}, DType::f32);
  auto b = p.placeholder("B", {64, 64}, DType::f16);
  auto k = p.reduce_axis("k", 64);
  auto half =
      p.compute("H", {64, 64}, [&](auto i, auto j) { return te::cast(DType::f16, a(i, j)); });
  auto c = p.compute("C", {64, 64}, [&](auto i, auto j) {
    return te::sum(te::cast(DType::f32, half(i, k)) * te::cast(DType::f32, b(k, j)), {k});
  });
  const std::vector<State> sketches = sketches_for_gpu(p.dag({a, b, c}), 80);
  REQUIRE(sketches.size() == 1);
  std::size_t num_copies = 0;
  for (std::size_t s = 0; s < sketches[0].num_stages(); ++s) {
    const std::string& name = sketches[0].operation(s).name;
    num_copies += name.ends_with(".shared") ? 1 : 0;
    if (name == "H") {
      CHECK(sketches[0].stage(s).compute_at == ComputeAt::inlined);
    }
  }
  CHECK(num_copies == 2);
}

}  // namespace tensorsmith
