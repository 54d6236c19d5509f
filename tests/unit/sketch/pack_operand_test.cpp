// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/pack_operand.hpp"

#include <set>
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

std::vector<State> native_sketches(const Shared<const ComputeDag>& dag, std::int64_t cache_bytes) {
  SketchOptions options;
  options.hardware.num_cores = 4;
  options.core_cache_bytes = cache_bytes;
  return generate_sketches(dag, native_cpu_rules(), options);
}

std::vector<State> ansor_sketches(const Shared<const ComputeDag>& dag) {
  SketchOptions options;
  options.hardware.num_cores = 4;
  return generate_sketches(dag, ansor_cpu_rules(), options);
}

/// C[i, j] = sum over k of A[i, k] * B[j, k].
Shared<const ComputeDag> transposed_dag(std::int64_t m, std::int64_t n, std::int64_t k_extent) {
  te::Program p;
  auto a = p.placeholder("A", {m, k_extent}), b = p.placeholder("B", {n, k_extent});
  auto k = p.reduce_axis("k", k_extent);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
  return p.dag({a, b, c});
}

std::size_t num_copies(const State& sketch) { return PackedCopies(sketch.steps()).stages().size(); }

}  // namespace

TEST_CASE("an operand that the vector loop would gather is packed, or not") {
  const auto sketches = native_sketches(transposed_dag(64, 64, 64), 1 << 20);
  REQUIRE(sketches.size() == 6);
  for (std::size_t i = 0; i < sketches.size(); ++i) {
    CHECK(num_copies(sketches[i]) == i % 2);
    if (i % 2 == 1) {
      CHECK(sketches[i].operation(2).name == "B.packed");
      CHECK(PackedCopies(sketches[i].steps()).stages() == std::vector<std::int32_t>{2});
    }
  }
}

TEST_CASE("operands that are converted are copied as they are computed with") {
  const auto copies_of = [](const char* workload, const char* target) {
    SketchOptions options;
    options.hardware.num_cores = 4;
    options.intrinsics = intrinsics_of(*Target::from_name(target));
    std::set<std::string> names;
    for (const State& sketch :
         generate_sketches(ops::parse_workload(workload)->dag, native_cpu_rules(), options)) {
      const PackedCopies copies(sketch.steps());
      for (std::int32_t copy : copies.stages()) {
        const Operation& op = sketch.operation(static_cast<std::size_t>(copy));
        names.insert(op.name + ":" +
                     std::string(name_of(sketch.dag().tensor(op.outputs[0]).dtype)));
      }
    }
    return names;
  };
  using Names = std::set<std::string>;
  CHECK(copies_of("gemm:64x96x128:f16", "znver3") == Names{"A.widened:f32", "B.widened:f32"});
  CHECK(copies_of("gemm:64x96x128:bf16,tb", "znver3") ==
        Names{"A.widened:f32", "B.packed:bf16", "B.widened:f32"});
  CHECK(copies_of("gemm:64x96x128:i8", "znver3") ==
        Names{"A.widened:i16", "B.packed:i8", "B.widened:i16"});
  // Instructions that take them as they are; integers that none takes, wide or not.
  CHECK(copies_of("gemm:64x96x128:bf16", "znver4") == Names{"B.packed:bf16"});
  CHECK(copies_of("gemm:64x96x128:i8", "znver4") == Names{"B.packed:i8"});
  CHECK(copies_of("gemm:64x96x128:i8", "ivybridge") == Names{});
  CHECK(copies_of("gemm:64x96x128:f32", "znver3") == Names{});
}

TEST_CASE("small contiguous operands stay where they are: the reference's sketches") {
  const auto dag = test::matmul_dag(64, 64, 64);
  const auto native = native_sketches(dag, 1 << 20);
  const auto ansor = ansor_sketches(dag);
  REQUIRE(native.size() == ansor.size());
  for (std::size_t i = 0; i < native.size(); ++i) {
    CHECK(native[i].steps() == ansor[i].steps());
  }
}

TEST_CASE("rows of vectors half a set apart may be packed, rows of single elements need not be") {
  const auto names = [](const Shared<const ComputeDag>& dag) {
    std::set<std::string> found;
    for (const State& sketch : native_sketches(dag, 1 << 20)) {
      const PackedCopies copies(sketch.steps());
      for (std::int32_t copy : copies.stages()) {
        found.insert(sketch.operation(static_cast<std::size_t>(copy)).name);
      }
    }
    return found;
  };
  CHECK(names(test::matmul_dag(64, 512, 64)) == std::set<std::string>{"B.packed"});
  CHECK(names(test::matmul_dag(64, 520, 64)).empty());
  CHECK(names(test::matmul_dag(64, 64, 512)).empty());
  CHECK(names(test::matmul_dag(64, 64, 1024)) == std::set<std::string>{"A.packed"});
}

TEST_CASE("operands larger than the cache: each may be packed, the unpacked sketch comes first") {
  const auto sketches = native_sketches(test::matmul_dag(512, 512, 512), (1 << 20) - 1);
  REQUIRE(sketches.size() == 12);
  std::size_t with_both = 0;
  for (const State& sketch : sketches) {
    with_both += num_copies(sketch) == 2 ? 1 : 0;
  }
  CHECK(with_both == 3);
  CHECK(num_copies(sketches[0]) == 0);
}

TEST_CASE("no copy where few iterations use an element, or an index is no axis") {
  // Only of A, 64 uses; one more has its vectors along the sum.
  CHECK(native_sketches(transposed_dag(4, 64, 64), 0).size() == 2 * 3 + 1);  // only A, 64 uses
  te::Program p;
  auto x = p.placeholder("X", {40, 16}), w = p.placeholder("W", {3, 16, 32});
  auto r = p.reduce_axis("r", 3), c = p.reduce_axis("c", 16);
  auto y = p.compute("Y", {38, 32}, [&](auto i, auto f) {
    return te::sum(x(i + r, c) * w(r, c, f), {r, c});
  });
  for (const State& sketch : native_sketches(p.dag({x, w, y}), 0)) {
    const PackedCopies copies(sketch.steps());
    for (std::int32_t copy : copies.stages()) {
      const std::string& name = sketch.operation(static_cast<std::size_t>(copy)).name;
      CHECK((name == "W.packed" || name == "X.patches"));  // the latter: windows, apart
    }
  }
}

/// Of all sketches, sorted, each name once.
std::set<std::string> names_of_copies(const Shared<const ComputeDag>& dag) {
  std::set<std::string> names;
  for (const State& sketch : native_sketches(dag, 1 << 20)) {
    const PackedCopies copies(sketch.steps());
    for (std::int32_t copy : copies.stages()) {
      names.insert(sketch.operation(static_cast<std::size_t>(copy)).name);
    }
  }
  return names;
}

TEST_CASE("every reader that gains by one has a copy of its own") {
  te::Program p;
  auto a = p.placeholder("A", {40, 64}), b = p.placeholder("B", {40, 64}),
       c = p.placeholder("C", {40, 64});
  auto k = p.reduce_axis("k", 64), l = p.reduce_axis("l", 64), m = p.reduce_axis("m", 64);
  auto d =
      p.compute("D", {40, 40}, [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
  auto e =
      p.compute("E", {40, 40}, [&](auto i, auto j) { return te::sum(c(i, l) * b(j, l), {l}); });
  auto n = p.compute("N", {40}, [&](auto j) { return te::sum(b(j, m) * b(j, m), {m}); });
  const auto dag = p.dag({a, b, c, d, e, n});
  const std::set<std::string> names = names_of_copies(dag);
  CHECK(names.count("B.packed") == 1);
  CHECK(names.count("B.d.packed") == 1);
  std::set<std::size_t> numbers;
  for (const State& sketch : native_sketches(dag, 1 << 20)) {
    numbers.insert(num_copies(sketch));
  }
  CHECK(numbers.count(2) == 1);
}

TEST_CASE("of two reads of a tensor that is copied which the vector loop would gather") {
  te::Program p;
  auto x = p.placeholder("X", {40, 64});
  auto k = p.reduce_axis("k", 64);
  auto g =
      p.compute("G", {40, 40}, [&](auto i, auto j) { return te::sum(x(i, k) * x(j, k), {k}); });
  SketchOptions options = native_cpu_sketch_options();
  options.hardware.num_cores = 4;
  std::size_t num_packed = 0;
  for (const State& sketch : generate_sketches(p.dag({x, g}), native_cpu_rules(), options)) {
    const PackedCopies copies(sketch.steps());
    for (std::int32_t copy : copies.stages()) {
      CHECK(sketch.operation(static_cast<std::size_t>(copy)).name == "X.lanes");
      ++num_packed;
    }
  }
  CHECK(num_packed > 0);
  // Twice the same element is one read.
  te::Program q;
  auto a = q.placeholder("A", {40, 64}), b = q.placeholder("B", {40, 64});
  auto l = q.reduce_axis("l", 64);
  auto d = q.compute("D", {40, 40}, [&](auto i, auto j) {
    return te::sum((a(i, l) - b(j, l)) * (a(i, l) - b(j, l)), {l});
  });
  CHECK(names_of_copies(q.dag({a, b, d})).count("B.packed") == 1);
}

TEST_CASE("what another stage computes is packed, or computed into the copy if it is elementwise") {
  for (const bool is_elementwise : {true, false}) {
    te::Program p;
    auto a = p.placeholder("A", {40, 64}), b = p.placeholder("B", {40, 64}),
         c = p.placeholder("C", {64, 64});
    auto k = p.reduce_axis("k", 64), l = p.reduce_axis("l", 64);
    auto s = p.compute("S", {40, 64}, [&](auto i, auto j) {
      return is_elementwise ? te::tanh(b(i, j)) : te::sum(b(i, l) * c(l, j), {l});
    });
    auto d =
        p.compute("D", {40, 40}, [&](auto i, auto j) { return te::sum(a(i, k) * s(j, k), {k}); });
    std::size_t num_plain = 0, num_packed = 0, num_inlined = 0;
    for (const State& sketch : native_sketches(p.dag({a, b, c, d}), 1 << 20)) {
      bool is_packed = false, is_inlined = false;
      for (std::size_t stage = 0; stage < sketch.num_stages(); ++stage) {
        const std::string& name = sketch.operation(stage).name;
        is_packed = is_packed || name == "S.packed";
        is_inlined =
            is_inlined || (name == "S" && sketch.stage(stage).compute_at == ComputeAt::inlined);
      }
      num_plain += is_packed ? 0 : 1;
      num_packed += is_packed && !is_inlined ? 1 : 0;
      num_inlined += is_packed && is_inlined ? 1 : 0;
    }
    CHECK(num_plain > 0);
    CHECK((num_packed > 0) == !is_elementwise);
    CHECK((num_inlined > 0) == is_elementwise);
  }
}

TEST_CASE("an operand that is read backwards may be packed as well") {
  te::Program p;
  auto x = p.placeholder("X", {40, 16}), w = p.placeholder("W", {3, 16, 32});
  auto r = p.reduce_axis("r", 3), c = p.reduce_axis("c", 16);
  auto y = p.compute("Y", {38, 32}, [&](auto i, auto f) {
    return te::sum(x(i + r, c) * w(te::Expr(2).typed(x.program(), DType::i32, "test") - r, c, f),
                   {r, c});
  });
  std::size_t num_packed = 0;
  for (const State& sketch : native_sketches(p.dag({x, w, y}), 0)) {
    num_packed += num_copies(sketch) > 0 ? 1 : 0;
  }
  CHECK(num_packed > 0);
}

TEST_CASE("copies keep their ids while stages come and go, and know what is about them") {
  const std::vector<Step> steps = {CacheReadStep{1, "packed", {2}}, CacheReadStep{0, "packed", {3}},
                                   CacheReadStep{0, "local", {5}}, CacheWriteStep{6, "local"}};
  const PackedCopies copies(steps);
  CHECK(copies.stages() == std::vector<std::int32_t>{4, 2});
  CHECK(copies.is_about_loops(AnnotationStep{4, 0, Annotation::parallel}));
  CHECK(copies.is_about_loops(StorageLayoutStep{2, {0, 0}, {0, 2}, 0}));
  CHECK_FALSE(copies.is_about_loops(ComputeAtStep{4, 6, 0}));
  CHECK_FALSE(copies.is_about_loops(AnnotationStep{6, 0, Annotation::parallel}));
  std::vector<Step> history = steps;
  history.push_back(SplitStep{6, 0, 8, {2}, true});
  history.push_back(SplitStep{4, 0, 8, {2}, true});
  CHECK(num_steps_before_packs(history) == 5);
  CHECK(num_steps_before_packs(steps) == 4);
}

}  // namespace tensorsmith
