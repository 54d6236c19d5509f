// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/tile_across.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/conv.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

Shared<const ComputeDag> conv_dag(std::int64_t plane, std::int64_t channels, std::int64_t stride,
                                  ops::Layout layout) {
  ops::ConvParams p;
  p.ci = 8;
  p.co = channels;
  p.spatial = {plane, plane, 1};
  p.kernel = {3, 3, 1};
  p.pad = {1, 1, 0};
  p.stride = {stride, stride, 1};
  p.layout = layout;
  return ops::conv(p).dag;
}

/// Names of the innermost loops of the tiled stage, one per sketch.
std::vector<std::string> vector_loops(const Shared<const ComputeDag>& dag) {
  SketchOptions options;
  options.hardware.num_cores = 4;
  std::vector<std::string> names;
  for (const State& sketch : generate_sketches(dag, native_cpu_rules(), options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const bool is_tiled_reduction =
          !sketch.operation(s).reduce_axes.empty() && !sketch.stage(s).iterators.empty();
      if (is_tiled_reduction) {
        names.push_back(sketch.stage(s).iterators.back().name);
      }
    }
  }
  return names;
}

bool has_across(const Shared<const ComputeDag>& dag) {
  return has_item(vector_loops(dag), std::string("co.3")) &&
         has_item(vector_loops(dag), std::string("w.3"));
}

}  // namespace

TEST_CASE("planes that leave lanes empty have vectors along the channels as well") {
  CHECK(has_across(conv_dag(14, 32, 1, ops::Layout::nchw)));
  CHECK(has_across(conv_dag(64, 32, 2, ops::Layout::nchw)));  // read with gaps
}

TEST_CASE("nothing is added where vectors are full already, or would not be") {
  CHECK_FALSE(has_across(conv_dag(32, 32, 1, ops::Layout::nchw)));
  CHECK_FALSE(has_across(conv_dag(14, 8, 1, ops::Layout::nchw)));
  for (const std::string& name : vector_loops(conv_dag(14, 32, 1, ops::Layout::nhwc))) {
    CHECK(name == (name.find("_c") == std::string::npos ? "co.3" : "co_c.3"));
  }
}

TEST_CASE("pixels that run as one are one loop of rows") {
  ops::ConvParams p;
  p.n = 2;
  p.ci = 8;
  p.co = 32;
  p.spatial = {7, 7, 1};
  p.kernel = {1, 1, 1};
  p.layout = ops::Layout::nchw;
  SketchOptions options;
  options.hardware.num_cores = 4;
  options.collapse_axes = true;
  std::size_t num_across = 0;
  for (const State& sketch : generate_sketches(ops::conv(p).dag, native_cpu_rules(), options)) {
    const auto& iterators = sketch.stage(sketch.num_stages() - 1).iterators;
    const std::size_t last = iterators.size() - 1;
    if (last > 0 && iterators[last].name == "co.3") {
      ++num_across;
      CHECK(iterators[last - 1].name == "h@w@.3");
      CHECK(iterators[last - 2].name == "n.3");
    }
  }
  CHECK(num_across > 0);
}

}  // namespace tensorsmith
