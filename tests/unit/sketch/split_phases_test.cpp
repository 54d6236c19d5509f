// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/split_phases.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

/// Names of the loops of "Y" in the sketches in which it has phases, one string per sketch.
std::vector<std::string> loops_with_phases(const std::string& text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  SketchOptions options;
  options.hardware.num_cores = 4;
  std::vector<std::string> found;
  for (const State& sketch : generate_sketches(workload->dag, native_cpu_rules(), options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      std::string names;
      for (const auto& it : sketch.stage(s).iterators) {
        names += (names.empty() ? "" : " ") + it.name;
      }
      if (sketch.operation(s).name == "Y" && names.find(".0.0") != std::string::npos) {
        found.push_back(names);
      }
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a transposed convolution runs phase by phase as well") {
  const auto loops =
      loops_with_phases("conv1d_transpose:n=1,w=16,ci=8,co=16,k=4,s=2,p=1,layout=nhwc");
  REQUIRE(!loops.empty());
  CHECK(loops[0] == "n.0 w.0.0 co.0 w.1 rw.1 n.1 w.0.1 co.1 rw.0.0 rc.0 n.2 w.0.2 co.2 rw.0.1 "
                    "rc.1 n.3 w.0.3 co.3");
  CHECK(!loops_with_phases("conv2d_transpose:n=1,h=4,w=4,ci=8,co=8,k=5,s=3,p=1").empty());
}

TEST_CASE("phases of a convolution that others read elementwise") {
  CHECK(!loops_with_phases("conv2d_transpose:n=1,h=4,w=4,ci=8,co=8,k=4,s=2,p=1,bias,relu").empty());
}

TEST_CASE("no phases without a stride, with a kernel shorter than it, and in other convolutions") {
  CHECK(loops_with_phases("conv1d_transpose:n=1,w=16,ci=8,co=16,k=4,s=1,p=1").empty());
  CHECK(loops_with_phases("conv1d_transpose:n=1,w=16,ci=8,co=16,k=2,s=3,p=0").empty());
  CHECK(loops_with_phases("conv1d:n=1,w=16,ci=8,co=16,k=4,s=2,p=1").empty());
}

}  // namespace tensorsmith
