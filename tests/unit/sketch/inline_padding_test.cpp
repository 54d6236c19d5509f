// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/inline_padding.hpp"

#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

Shared<const ComputeDag> dag_of_text(const std::string& text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  return workload->dag;
}

/// Sketches in which the stage "Pad" is inlined, among them those whose vectors run along "w", and
/// all; without those that read patches, which the padding is computed into.
struct PaddingCounts {
  std::size_t inlined = 0, along_vector = 0, all = 0;
};
template <class Rules>
PaddingCounts count_padding(const std::string& text, const Rules& rules) {
  SketchOptions options;
  options.hardware.num_cores = 4;
  options.core_cache_bytes = 1 << 20;
  PaddingCounts counts;
  for (const State& sketch : generate_sketches(dag_of_text(text), rules, options)) {
    if (any_item(sketch.dag().operations(),
                 [](const Operation& op) { return op.name == "Pad.patches"; })) {
      continue;
    }
    ++counts.all;
    bool is_inlined = false, is_along = false;
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const auto& stage = sketch.stage(s);
      const bool is_pad = sketch.operation(s).name == "Pad";
      is_inlined = is_inlined || (is_pad && stage.compute_at == ComputeAt::inlined);
      is_along = is_along || (!is_pad && !sketch.operation(s).reduce_axes.empty() &&
                              has_item(original_names(stage.iterators.back().name), "w"));
    }
    counts.inlined += is_inlined ? 1 : 0;
    counts.along_vector += is_inlined && is_along ? 1 : 0;
  }
  return counts;
}

}  // namespace

TEST_CASE("padding of a convolution is computed into memory or left out") {
  const PaddingCounts counts =
      count_padding("conv2d:n=1,h=14,w=14,ci=16,co=16,k=3,s=1,p=1,layout=nhwc", native_cpu_rules());
  CHECK(counts.inlined > 0);
  CHECK(counts.inlined * 2 == counts.all);
}

TEST_CASE(
    "padding along the vector loop stays in memory, and so it does in the reference's space") {
  const PaddingCounts counts =
      count_padding("conv2d:n=1,h=14,w=14,ci=16,co=16,k=3,s=1,p=1,layout=nchw", native_cpu_rules());
  CHECK(counts.inlined > 0);  // with the vectors along the channels
  CHECK(counts.along_vector == 0);
  CHECK(count_padding("conv2d:n=1,h=14,w=14,ci=16,co=16,k=3,s=1,p=1,layout=nhwc", ansor_cpu_rules())
            .inlined == 0);
}

TEST_CASE("padding of a transposed convolution is left out where its phases are loops") {
  const PaddingCounts counts = count_padding(
      "conv2d_transpose:n=1,h=4,w=4,ci=8,co=8,k=4,s=2,p=1,layout=nhwc", native_cpu_rules());
  CHECK(counts.inlined == 1);
  CHECK(counts.all > 2);
}

}  // namespace tensorsmith
