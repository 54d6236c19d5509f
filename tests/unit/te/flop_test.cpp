// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/flop.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"
#include "unit/te/conv_block.hpp"

using namespace tensorsmith;

TEST_CASE("conformance 11.1: matmul 512, relu, pad and attribute", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {512, 512}), b = p.placeholder("B", {512, 512});
  const auto k = p.reduce_axis("k", 512);
  const auto c =
      p.compute("C", {512, 512}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  CHECK(te::count_flop(*p.dag({a, b, c})) == 268435456);
  const auto d = p.compute("D", {512, 512}, [&](auto i, auto j) { return te::max(c(i, j), 0); });
  CHECK(te::count_flop(*p.dag({a, b, d})) == 268435456 + 262144);
  const auto pad = p.compute("Pad", {514, 514}, [&](auto i, auto j) {
    return te::if_then_else(i >= 1 && i < 513 && j >= 1 && j < 513, c(i - 1, j - 1), 0);
  });
  CHECK(te::count_flop(*p.dag({a, b, pad})) == 268435456);
  te::ComputeOptions options;
  options.attrs.flop = 1234;
  const auto e = p.compute(
      "E", {514, 514}, [&](auto i, auto j) { return pad(i, j) * 2; }, options);
  CHECK(te::count_flop(*p.dag({a, b, e})) == 268436690);
}

TEST_CASE("conformance 11.1: a comparison of elements counts, one of indices does not", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {512, 512});
  const auto b = p.compute(
      "B", {512, 512}, [&](auto i, auto j) { return te::if_then_else(a(i, j) > 0, a(i, j), 0); });
  CHECK(te::count_flop(*p.dag({a, b})) == 262144);
  const auto n = p.placeholder("N", {512}, DType::i32);
  const auto m = p.compute("M", {512}, [&](auto i) {
    return te::if_then_else(i >= 3, n(i), 0);  // integer output: index arithmetic counts
  });
  CHECK(te::count_flop(*p.dag({n, m})) == 512);
}

TEST_CASE("conformance 11.1: convolution blocks", "[te]") {
  CHECK(te::count_flop(*test::conv_block(56, 512, 512, 3, 1, 1)) == 14803927040.0);
  CHECK(te::count_flop(*test::conv_block(224, 3, 64, 7, 2, 3)) == 239239168);
}

TEST_CASE("conformance 11.1: softmax and norms", "[te]") {
  for (std::int64_t rows : {1, 2}) {
    te::Program p;
    const auto a = p.placeholder("A", {rows, 1024});
    const auto k1 = p.reduce_axis("k1", 1024), k2 = p.reduce_axis("k2", 1024);
    const auto high = p.compute("max", {rows}, [&](auto i) { return te::max(a(i, k1), {k1}); });
    const auto power =
        p.compute("exp", {rows, 1024}, [&](auto i, auto j) { return te::exp(a(i, j) - high(i)); });
    const auto sum = p.compute("sum", {rows}, [&](auto i) { return te::sum(power(i, k2), {k2}); });
    const auto out =
        p.compute("norm", {rows, 1024}, [&](auto i, auto j) { return power(i, j) / sum(i); });
    CHECK(te::count_flop(*p.dag({a, out})) == 4096 * rows);
  }
  for (std::int64_t batch : {1, 64}) {
    te::Program p;
    const auto a = p.placeholder("A", {batch, 256, 256});
    const auto i = p.reduce_axis("i", 256), j = p.reduce_axis("j", 256);
    const auto c = p.compute("C", {batch}, [&](auto b) {
      return te::sum(a(b, i, j) * a(b, i, j), {i, j});
    });
    const auto d = p.compute("D", {batch}, [&](auto b) { return te::sqrt(c(b)); });
    CHECK(te::count_flop(*p.dag({a, d})) == 131072 * batch);
  }
}

TEST_CASE("conformance 11.1: max-pool and minimum", "[te]") {
  for (std::int64_t pad : {0, 1}) {
    te::Program p;
    const auto x = p.placeholder("X", {1, 512, 56, 56});
    const std::int64_t size = 56 + 2 * pad, out = size - 1;
    const auto padded =
        pad == 0 ? x : p.compute("Pad", {1, 512, size, size}, [&](auto n, auto c, auto h, auto w) {
          return te::if_then_else(h >= 1 && h < 57 && w >= 1 && w < 57, x(n, c, h - 1, w - 1), -1);
        });
    const auto ry = p.reduce_axis("ry", 2), rx = p.reduce_axis("rx", 2);
    const auto y = p.compute("Y", {1, 512, out, out}, [&](auto n, auto c, auto h, auto w) {
      return te::max(padded(n, c, h + ry, w + rx), {ry, rx});
    });
    CHECK(te::count_flop(*p.dag({x, y})) == (pad == 1 ? 6653952 : 6195200));
  }
  te::Program p;
  const auto a = p.placeholder("A", {10, 1024});
  const auto k = p.reduce_axis("k", 1024);
  const auto b = p.compute("B", {10}, [&](auto i) { return te::min(a(i, k), {k}); });
  CHECK(te::count_flop(*p.dag({a, b})) == 10240);
}

TEST_CASE("select takes the dearer arm, casts and calls are free, type codes decide", "[te]") {
  te::Program p;
  const auto x = p.placeholder("X", {8}), y = p.placeholder("Y", {8}, DType::f64);
  const auto n = p.placeholder("N", {8}, DType::i8), u = p.placeholder("U", {8}, DType::u8);
  const auto flop = [&](const te::Tensor& t) { return te::count_flop(*p.dag({t})); };
  CHECK(flop(p.compute("a", {8}, [&](auto i) {
          return te::select(x(i) > 0, x(i) + 1, x(i) * 2 + 3);
        })) == 8 * 3);
  CHECK(flop(p.compute("b", {8}, [&](auto i) {
          return te::cast(DType::f32, y(i) * 2) + x(i);  // f64 and f32 are both float
        })) == 8 * 2);
  CHECK(flop(p.compute("c", {8}, [&](auto i) { return te::cast(DType::f32, n(i) * 2); })) == 0);
  CHECK(flop(p.compute("d", {8}, [&](auto i) { return n(i) * 2; })) == 8);
  CHECK(flop(p.compute("e", {8}, [&](auto i) { return te::cast(DType::i8, u(i) * 2); })) == 0);
  CHECK(flop(p.compute("f", {8}, [&](auto i) { return te::tanh(-x(i)); })) == 8);
}

TEST_CASE("every body of a reduction with several outputs counts it whole", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4, 8});
  const auto k = p.reduce_axis("k", 8);
  const CombinerId both =
      p.combiner({DType::f32, DType::f32}, {0, 0}, [](const auto& x, const auto& y) {
        return std::vector<te::Expr>{x[0] + y[0], x[1] + y[1]};
      });
  const auto out = p.compute_all("S", {4}, [&](auto i) {
    return te::reduce(both, {a(i, k), a(i, k) * a(i, k)}, {k});
  });
  CHECK(te::count_flop(*p.dag({a, out[0], out[1]})) == 4 * 8 * 3 * 2);
}
