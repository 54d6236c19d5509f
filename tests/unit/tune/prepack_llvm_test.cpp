// SPDX-License-Identifier: Apache-2.0
// From a workload with packed weights to a kernel that is called with them.
#include "tensorsmith/tune.hpp"
#include "tune/compile.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"

using namespace tensorsmith;

namespace {

struct Built {
  ops::Workload workload;
  BuiltCandidate code;
  KernelSignature signature;
};

/// gemm of 5 x 20 x 7 with B in panels of 16 columns, if `has_copy`.
Built build(const std::string& text, bool has_copy) {
  auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  State state = State::initial(workload->dag);
  if (has_copy) {
    REQUIRE(!try_apply(state, CacheReadStep{1, "packed", {2}}));
    REQUIRE(!try_apply(state, StorageLayoutStep{2, {0, 16}, {2, 0, 3}, 0}));
  }
  auto code = make_candidate_builder(host_target(), 2)->build(state);
  REQUIRE(code);
  KernelSignature signature = signature_of(*code, *workload->dag);
  return {*workload, std::move(code).value(), std::move(signature)};
}

template <class T>
T filled(std::size_t size, int modulus) {
  T buffer(size);
  for (std::size_t i = 0; i < size; ++i) {
    buffer[i] = static_cast<float>(static_cast<int>(i) % modulus - modulus / 2);
  }
  return buffer;
}

}  // namespace

TEST_CASE("a kernel with packed weights takes them in the place of the weights") {
  const Built built = build("gemm:5x20x7:f32,packed", true);
  const KernelSignature& signature = built.signature;
  REQUIRE(signature.parameters.size() == 3);
  CHECK(signature.parameters[1].name == "B.packed");
  CHECK_FALSE(signature.parameters[1].is_output);
  REQUIRE(signature.prepack_parameters.size() == 2);
  CHECK(signature.prepack_parameters[0].name == "B");
  CHECK(signature.prepack_parameters[1].is_output);
  CHECK(signature.prepack_parameters[1].num_elements == 2 * 7 * 16);

  const Kernel kernel(signature, built.code.object, 1);
  using Floats = AlignedBuffer<float>;
  const Floats a = filled<Floats>(35, 5), b = filled<Floats>(140, 7);
  Floats c(100);
  const auto packed = kernel.prepack(b);
  REQUIRE(packed.size() == 1);
  CHECK(packed[0].size() == 4 * 2 * 7 * 16);
  kernel(a, packed[0], c);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 20; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < 7; ++k) {
        sum += a[i * 7 + k] * b[k * 20 + j];
      }
      REQUIRE(c[i * 20 + j] == sum);
    }
  }
  CHECK_THROWS_WITH(kernel.prepack(a),
                    "Kernel::prepack: argument 0 'B': expected 140 elements, got 35");
  CHECK_THROWS_WITH(kernel(a, b, c),
                    "Kernel: argument 1 'B.packed': expected 224 elements, got 140");
}

TEST_CASE("a schedule that packs nothing has no second function") {
  for (const bool has_copy : {false, true}) {  // without a constant, a copy is part of every call
    const Built built = build(has_copy ? "gemm:5x20x7:f32" : "gemm:5x20x7:f32,packed", has_copy);
    CHECK(built.signature.prepack_entry.empty());
    CHECK(built.signature.parameters[1].name == "B");
    const Kernel kernel(built.signature, built.code.object, 1);
    const AlignedBuffer<float> b(140);
    CHECK(kernel.prepack(b).empty());
  }
}
