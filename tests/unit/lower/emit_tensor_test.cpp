// SPDX-License-Identifier: Apache-2.0
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
  CHECK(is_golden(checked_text(tiled(dag, "vpdpbusd_signed"), znver4())));
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

TEST_CASE("padding whose terms are left out: the intrinsic computes borders and interior") {
  // Loops y, f, r, c.
  const auto convolution = [](DType type, std::int64_t rows) {
    te::Program p;
    auto X = p.placeholder("X", {rows, 8}, type), W = p.placeholder("W", {3, 8, 16}, DType::i8);
    auto P = p.compute("Pad", {rows + 2, 8}, [&](auto y, auto c) {
      return te::if_then_else(y >= 1 && y < rows + 1, X(y - 1, c), 0);
    });
    auto r = p.reduce_axis("r", 3), c = p.reduce_axis("c", 8);
    auto Y = p.compute("Y", {rows, 16}, [&](auto y, auto f) {
      return te::sum(te::cast(DType::i32, P(y + r, c)) * te::cast(DType::i32, W(r, c, f)), {r, c});
    });
    return p.dag({X, W, Y});
  };
  const auto text_with = [](const DagPtr& dag, const char* name, const IdList& order) {
    ScheduleBuilder s(dag);
    const std::int32_t pad = s.stage("Pad"), sum = s.stage("Y");
    s.reorder(sum, order);
    State state = s.state();
    REQUIRE(!try_apply(state, ComputeInlineStep{pad}));
    REQUIRE(!try_apply(state, PragmaStep{sum, 0, std::string("tensorize$") + name}));
    return checked_text(state, znver4());
  };
  const auto count = [](const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  // Rows in the tile: a copy for the first tap, one for the middle and one for the last.
  const std::string tile = text_with(convolution(DType::u8, 5), "vpdpbusd", {2, 3, 0, 1});
  CHECK(count(tile, "unrolled as vpdpbusd") == 3);
  CHECK(count(tile, "if_then_else") == 0);
  // Rows around the tile: the loop of taps has bounds.
  const std::string bounds = text_with(convolution(DType::u8, 5), "vpdpbusd", {0, 2, 3, 1});
  CHECK(count(bounds, "unrolled as vpdpbusd") == 1);
  CHECK(count(bounds, "if_then_else") == 0);
  // The sums that are taken off for signed operands know of no terms left out.
  CHECK(count(text_with(convolution(DType::i8, 5), "vpdpbusd_signed", {2, 3, 0, 1}), " as ") == 0);
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
