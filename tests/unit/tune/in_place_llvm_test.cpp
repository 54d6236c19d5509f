// SPDX-License-Identifier: Apache-2.0
// A kernel that leaves its result where the residual was.
#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/tune.hpp"
#include "tune/compile.hpp"

using namespace tensorsmith;

TEST_CASE("a kernel with a residual gives the same in its memory, and says that it may") {
  const auto workload = ops::parse_workload("gemm:12x20x8:f32,bias,add,relu");
  REQUIRE(workload);
  State state = State::initial(workload->dag);
  for (std::size_t stage = state.num_stages() - 1; stage-- > 0;) {
    State inlined = state;
    if (!try_apply(inlined, ComputeInlineStep{static_cast<std::int32_t>(stage)})) {
      state = std::move(inlined);
    }
  }
  const auto built = make_candidate_builder(host_target(), 2)->build(state);
  REQUIRE(built);
  const KernelSignature signature = signature_of(*built, *workload->dag);
  REQUIRE(signature.parameters.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(signature.parameters[i].is_overwritable == (i == 3));
  }
  const Kernel kernel(signature, built->object, 2);
  using Floats = AlignedBuffer<float>;
  Floats a(96), b(160), bias(20), residual(240), apart(240);
  float next = -3;
  for (Floats* buffer : {&a, &b, &bias, &residual}) {
    for (float& value : *buffer) {
      value = next;
      next = next > 3 ? -3.5F : next + 0.5F;
    }
  }
  kernel(a, b, bias, residual, apart);
  kernel(a, b, bias, residual, residual);
  for (std::size_t i = 0; i < apart.size(); ++i) {
    CHECK(residual[i] == apart[i]);
  }
  CHECK_THROWS_AS(kernel(a, b, bias, residual, b), Error);  // 160 elements, not 240
}
