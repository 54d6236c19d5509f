// SPDX-License-Identifier: Apache-2.0
// Blocks of a GPU share long sums of few results.
#include "tensorsmith/sketch/rules/split_reduction.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"
#include "tensorsmith/te/notation.hpp"

namespace tensorsmith {
namespace {

std::vector<State> sketches_of(const char* program) {
  const auto dag = te::read_notation(program);
  REQUIRE(dag.has_value());
  const Target target = Target::cuda(90).value();
  SketchOptions options = gpu_sketch_options(hardware_params(target));
  options.intrinsics = intrinsics_of(target);
  return generate_sketches(*dag, native_gpu_rules(), options);
}

/// Parts of the sketches that have some, each once, in the order of the sketches.
std::vector<std::int64_t> parts_of(const char* program) {
  std::vector<std::int64_t> found;
  for (const State& sketch : sketches_of(program)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const Operation& op = sketch.operation(s);
      if (sketch.stage(s).is_partial_sum && !has_item(found, op.axes[0].extent)) {
        found.push_back(op.axes[0].extent);
      }
    }
  }
  return found;
}

using Parts = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("sums of few results are shared out so that a device is busy") {
  CHECK(parts_of("s[] += X[i:1000,j:777]") == Parts{250, 500});
  CHECK(parts_of("s[] += X[i:1048576]") == Parts{256, 1024});
  CHECK(parts_of("s[i:4] += X[i,j:1000003]") == Parts{64, 255});
  CHECK(parts_of("s[j:500] += X[i:6000,j]") == Parts{60, 150});
  CHECK(parts_of("y[j:4097] += x[k:1000]*W[k,j]") == Parts{5, 25});
  CHECK(parts_of("S[c:3] += X[i:200,j:300,c]") == Parts{150});
  CHECK(parts_of("s[i:4] max= X[i,j:100000]; Y[i,j:100000] = X[i,j]-s[i]") == Parts{50, 184});
}

TEST_CASE("sums of many results, short ones, and those that are computed in tiles are not") {
  for (const char* program :
       {"s[i:8192] += X[i,j:4096]", "s[i:4] += X[i,j:500]", "Y[n:64,c:256] += X[n,p:49,c]",
        "C[i:512,j:512] += A[i,k:500]*B[k,j]"}) {
    INFO(program);
    CHECK(parts_of(program).empty());
  }
}

TEST_CASE("parts add up to the same, in whatever order the axes are") {
  for (const char* program :
       {"s[] += X[i:70,j:41]", "s[] += X[j:41,i:70]", "s[i:2] += X[i,j:2003]",
        "s[j:5] += X[i:600,j]; Y[j] = s[j]*2.0", "y[j:9] += x[k:130]*W[k,j]"}) {
    INFO(program);
    for (const State& sketch : sketches_of(program)) {
      CHECK(test::computes_the_same(sketch));
    }
  }
}

TEST_CASE("a matrix that is read once is no tile: rows have threads, columns are a thread's") {
  const auto texts = [](const char* program) {
    std::vector<std::string> found;
    for (const State& sketch : sketches_of(program)) {
      found.push_back(steps_json(sketch.steps()));
    }
    return found;
  };
  const std::string rows = "[\"AN\", 2, 1, 8], [\"AN\", 2, 0, 5]";  // threadIdx.y, blockIdx.x
  CHECK(any_item(texts("y[i:4096] += W[i,k:4096]*x[k]"),
                 [&](const std::string& text) { return text.find(rows) != std::string::npos; }));
  const auto columns = texts("y[j:4096] += W[k:4096,j]*x[k]");
  CHECK(has_item(columns, std::string("[]")));
  CHECK_FALSE(any_item(
      columns, [&](const std::string& text) { return text.find(rows) != std::string::npos; }));
  CHECK_FALSE(has_item(texts("C[i:512,j:512] += A[i,k:512]*B[k,j]"), std::string("[]")));
}

}  // namespace tensorsmith
