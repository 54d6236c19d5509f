#include "tensorsmith/lower/emit_tensor.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// C[m, n] = sum over k of A * B in type `sum`; stages 0 A, 1 B, 2 C.
DagPtr narrow_product(DType a, DType b, DType sum, std::int64_t m, std::int64_t n,
                      std::int64_t extent) {
  te::Program p;
  auto A = p.placeholder("A", {m, extent}, a), B = p.placeholder("B", {extent, n}, b);
  auto k = p.reduce_axis("k", extent);
  auto C = p.compute("C", {m, n}, [&](auto i, auto j) {
    return te::sum(te::cast(sum, A(i, k)) * te::cast(sum, B(k, j)), {k});
  });
  return p.dag({A, B, C});
}

/// Loops k, i, j with the pragma.
State tiled(const DagPtr& dag, const std::string& name) {
  ScheduleBuilder s(dag);
  s.reorder(2, {2, 0, 1});
  State state = s.state();
  REQUIRE(!try_apply(state, PragmaStep{2, 0, "tensorize$" + name}));
  return state;
}

const Target& znver4() {
  static const Target target = *Target::from_name("znver4");
  return target;
}

}  // namespace

TEST_CASE("the innermost sum is cut into groups that an intrinsic takes") {
  const DagPtr dag = narrow_product(DType::bf16, DType::bf16, DType::f32, 2, 16, 6);
  CHECK(checked_text(tiled(dag, "vdpbf16ps"), znver4()) == R"(
C.acc: f32[2, 16] register
alloc C.acc:
  for i in 2 unrolled:
    for j in 16 vectorized:
      C.acc[i, j] = 0.0
  for k in 3:
    for x in 2 unrolled as vdpbf16ps:
      for i in 2 unrolled:
        for j in 16 vectorized:
          C.acc[i, j] = C.acc[i, j] + f32(A[i, k*2 + x])*f32(B[k*2 + x, j])
  for i in 2 unrolled:
    for j in 16 vectorized:
      C[i, j] = C.acc[i, j]
)");
}

TEST_CASE("signed operands of an unsigned intrinsic: what is too much is taken off") {
  const DagPtr dag = narrow_product(DType::i8, DType::i8, DType::i32, 2, 16, 9);
  CHECK(checked_text(tiled(dag, "vpdpbusd_signed"), znver4()) == R"(
C.acc: i32[2, 16] register
C.sums: i32[1, 16] register
alloc C.sums:
  alloc C.acc:
    for i in 2 unrolled:
      for j in 16 vectorized:
        C.acc[i, j] = 0
    for j in 16 vectorized:
      C.sums[0, j] = 0
    for k in 2:
      for x in 4 unrolled as vpdpbusd_signed:
        for i in 2 unrolled:
          for j in 16 vectorized:
            C.acc[i, j] = C.acc[i, j] + (i32(A[i, k*4 + x]) + 128)*i32(B[k*4 + x, j])
      for x in 4 unrolled as vpdpbusd_signed:
        for j in 16 vectorized:
          C.sums[0, j] = C.sums[0, j] + 128*i32(B[k*4 + x, j])
    for i in 2 unrolled:
      for j in 16 vectorized:
        C.acc[i, j] = C.acc[i, j] + (i32(A[i, 8]) + 128)*i32(B[8, j])
    for j in 16 vectorized:
      C.sums[0, j] = C.sums[0, j] + 128*i32(B[8, j])
    for i in 2 unrolled:
      for j in 16 vectorized:
        C.acc[i, j] = C.acc[i, j] - C.sums[0, j]
    for i in 2 unrolled:
      for j in 16 vectorized:
        C[i, j] = C.acc[i, j]
)");
}

TEST_CASE("without the intrinsic, its types or its loops the loops stay as they are") {
  const DagPtr dag = narrow_product(DType::bf16, DType::bf16, DType::f32, 2, 16, 6);
  const State plain = [&] {
    ScheduleBuilder s(dag);
    s.reorder(2, {2, 0, 1});
    return s.state();
  }();
  CHECK(checked_text(tiled(dag, "vdpbf16ps")) == checked_text(plain));
  CHECK(checked_text(tiled(dag, "vpdpbusd"), znver4()) == checked_text(plain, znver4()));
  CHECK(checked_text(tiled(dag, "unheard"), znver4()) == checked_text(plain, znver4()));
  const DagPtr single = narrow_product(DType::bf16, DType::bf16, DType::f32, 2, 16, 1);
  CHECK(checked_text(tiled(single, "vdpbf16ps"), znver4()).find(" as ") == std::string::npos);
}

TEST_CASE("an intrinsic of the user's own is found by the target that carries it") {
  static constexpr TensorIntrinsic own{
      .name = "pairs_of_i32",
      .a = DType::i32,
      .b = DType::i32,
      .accumulator = DType::i32,
      .k = 2,
      .is_available = [](const Target& target) { return target.kind == TargetKind::cpu; }};
  Target target = small_target();
  const DagPtr dag = narrow_product(DType::i32, DType::i32, DType::i32, 2, 16, 6);
  CHECK(find_intrinsic(target, "pairs_of_i32") == nullptr);
  target.intrinsics.push_back(&own);
  CHECK(find_intrinsic(target, "pairs_of_i32") == &own);
}
