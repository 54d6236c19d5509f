// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/pack_patches.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

/// Sketches that read a copy of patches, and all.
struct PatchCounts {
  std::size_t with_patches = 0, with_padding = 0, with_one_loop_of_pixels = 0, all = 0;
};
template <class Rules>
PatchCounts count_packed(const std::string& text, const Rules& rules) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  SketchOptions options;
  options.hardware.num_cores = 4;
  options.core_cache_bytes = 1 << 20;
  options.collapse_axes = true;
  PatchCounts counts;
  for (const State& sketch : generate_sketches(workload->dag, rules, options)) {
    ++counts.all;
    bool has_patches = false, has_padding = false, has_pixels = false;
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const std::string& name = sketch.operation(s).name;
      const auto& stage = sketch.stage(s);
      has_patches = has_patches || name.ends_with(".patches");
      has_padding = has_padding || (name == "Pad" && stage.compute_at != ComputeAt::inlined);
      has_pixels = has_pixels || (!sketch.operation(s).reduce_axes.empty() &&
                                  any_item(stage.iterators, [](const auto& it) {
                                    const std::vector<std::string> names = original_names(it.name);
                                    return (has_item(names, "h") && has_item(names, "w")) ||
                                           (has_item(names, "h_c") && has_item(names, "w_c"));
                                  }));
    }
    CHECK_FALSE((has_patches && has_padding));
    counts.with_patches += has_patches ? 1 : 0;
    counts.with_padding += has_padding ? 1 : 0;
    counts.with_one_loop_of_pixels += has_patches && has_pixels ? 1 : 0;
  }
  return counts;
}
PatchCounts count_native(const std::string& text) { return count_packed(text, native_cpu_rules()); }

}  // namespace

TEST_CASE("a convolution may read packed patches; padding is in them, pixels are one loop") {
  for (const char* layout : {"nhwc", "nchw"}) {
    const PatchCounts counts =
        count_native(std::string("conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,s=1,p=1,layout=") + layout);
    CHECK(counts.with_patches > 0);
    CHECK(counts.with_patches < counts.all / 2);
    CHECK(counts.with_padding > 0);
    CHECK(counts.with_one_loop_of_pixels > 0);
  }
  CHECK(count_native("conv1d:n=1,w=64,ci=16,co=32,k=3,s=2,p=1,dil=2").with_patches > 0);
  CHECK(count_native("conv3d:n=1,d=4,h=8,w=8,ci=4,co=16,k=3,p=1,bias,relu").with_patches > 0);
}

TEST_CASE("patches keep their place among the stages and come after the sketches without") {
  const auto workload = ops::parse_workload("conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,s=1,p=1");
  SketchOptions options;
  options.hardware.num_cores = 4;
  const auto sketches = generate_sketches(workload->dag, native_cpu_rules(), options);
  REQUIRE(sketches.size() > 2);
  CHECK(PackedCopies(sketches.front().steps()).empty());
  const State& last = sketches.back();
  REQUIRE(last.num_stages() > 3);
  CHECK(last.operation(2).name == "Pad.patches");
  CHECK(PackedCopies(last.steps()).contains(2));
  CHECK(last.stage(2).compute_at == ComputeAt::root);  // where it is computed is drawn
}

TEST_CASE(
    "no patches without windows, where few iterations use them, or in the reference's space") {
  for (const char* text :
       {"conv2d:n=1,h=14,w=14,ci=16,co=32,k=1", "depthwise:n=1,h=14,w=14,c=32,k=3,p=1",
        "conv2d:n=1,h=14,w=14,ci=32,co=32,k=3,p=1,groups=4",
        "conv2d:n=1,h=14,w=14,ci=16,co=8,k=3,p=1",
        "conv2d_transpose:n=1,h=4,w=4,ci=8,co=32,k=4,s=2,p=1", "gemm:64x64x64",
        "max_pool:n=1,c=64,h=56,w=56,k=2,s=2"}) {
    INFO(text);
    CHECK(count_native(text).with_patches == 0);
  }
  CHECK(count_packed("conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,p=1", ansor_cpu_rules()).with_patches ==
        0);
}

TEST_CASE("what is dear to compute, or an argument, is not computed anew for every tap") {
  const auto inlined = [](bool is_argument, bool is_dear) {
    te::Program p;
    auto x = p.placeholder("X", {40, 16}), w = p.placeholder("W", {3, 16, 32});
    auto v = p.compute("V", {40, 16}, [&](auto i, auto c) {
      return is_dear ? te::exp(x(i, c)) : te::if_then_else(i < 39, x(i, c), 0);
    });
    auto r = p.reduce_axis("r", 3), c = p.reduce_axis("c", 16);
    auto y = p.compute("Y", {38, 32}, [&](auto i, auto f) {
      return te::sum(v(i + r, c) * w(r, c, f), {r, c});
    });
    const auto dag = is_argument ? p.dag({x, w, v, y}) : p.dag({x, w, y});
    SketchOptions options;
    options.hardware.num_cores = 4;
    std::size_t with_patches = 0, count = 0;
    for (const State& sketch : generate_sketches(dag, native_cpu_rules(), options)) {
      for (std::size_t s = 0; s + 1 < sketch.num_stages(); ++s) {
        if (sketch.operation(s + 1).name == "V.patches") {
          ++with_patches;
          count += sketch.stage(s).compute_at == ComputeAt::inlined ? 1 : 0;
        }
      }
    }
    CHECK(with_patches > 0);
    CHECK((count == 0 || count == with_patches));
    return count > 0;
  };
  CHECK(inlined(false, false));
  CHECK_FALSE(inlined(true, false));
  CHECK_FALSE(inlined(false, true));
}

}  // namespace tensorsmith
