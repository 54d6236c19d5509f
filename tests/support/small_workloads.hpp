// SPDX-License-Identifier: Apache-2.0
// Small workloads with odd sizes: what the oracle chain runs on.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

struct SmallWorkload {
  std::string name;
  Shared<const ComputeDag> dag;
};

/// Chains of pointwise operations with broadcast operands; f32 is exact in them.
inline std::vector<SmallWorkload> small_chains() {
  std::vector<SmallWorkload> all;
  for (const char* text : {"pointwise:7x35:f32,mul_per_column,add_per_column,add,relu,mul_per_row",
                           "pointwise:3x5x17:f32,sub_per_row,max_per_column,min,add_per_row",
                           "pointwise:67:f32,mul,add_per_column,relu,sub_per_row",
                           "pointwise:12x1:f32,mul_per_row,add"}) {
    all.push_back({text, ops::parse_workload(text)->dag});
  }
  return all;
}

/// `type` i32 checks exactly; f32 with whole numbers small enough to stay exact too.
inline std::vector<SmallWorkload> small_workloads(DType type) {
  std::vector<SmallWorkload> all;
  const auto add = [&](const std::string& name, Shared<const ComputeDag> dag) {
    all.push_back({name, std::move(dag)});
  };
  {
    te::Program p;
    auto A = p.placeholder("A", {7, 5}, type), B = p.placeholder("B", {5, 19}, type);
    auto k = p.reduce_axis("k", 5);
    auto C =
        p.compute("C", {7, 19}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
    add("matmul 7x19x5", p.dag({A, B, C}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {12, 17}, type), B = p.placeholder("B", {17, 35}, type);
    auto bias = p.placeholder("bias", {35}, type);
    auto k = p.reduce_axis("k", 17);
    auto C =
        p.compute("C", {12, 35}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
    auto D = p.compute("D", {12, 35}, [&](auto i, auto j) { return C(i, j) + bias(j); });
    auto E = p.compute("E", {12, 35}, [&](auto i, auto j) { return te::max(D(i, j), 0); });
    add("matmul bias relu", p.dag({A, B, bias, E}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {3, 7, 5}, type), B = p.placeholder("B", {3, 5, 12}, type);
    auto k = p.reduce_axis("k", 5);
    auto C = p.compute("C", {3, 7, 12}, [&](auto b, auto i, auto j) {
      return te::sum(A(b, i, k) * B(b, k, j), {k});
    });
    add("batch matmul", p.dag({A, B, C}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {3, 8, 5}, type), B = p.placeholder("B", {5, 12}, type);
    auto k = p.reduce_axis("k", 5);
    auto C = p.compute("C", {3, 8, 12},
                       [&](auto b, auto i, auto j) { return te::sum(A(b, i, k) * B(k, j), {k}); });
    add("rows of 3 x 8", p.dag({A, B, C}));
  }
  {
    te::Program p;
    auto X = p.placeholder("X", {13, 9}, type);
    auto k = p.reduce_axis("k", 9);
    auto G =
        p.compute("G", {13, 13}, [&](auto i, auto j) { return te::sum(X(i, k) * X(j, k), {k}); });
    add("rows times their transpose", p.dag({X, G}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {10, 7}, type), B = p.placeholder("B", {11, 7}, type);
    auto k = p.reduce_axis("k", 7);
    auto S = p.compute("S", {11, 7}, [&](auto j, auto l) { return B(j, l) * 2 + 1; });
    auto C = p.compute("C", {10, 11}, [&](auto i, auto j) {
      return te::sum((A(i, k) - S(j, k)) * (A(i, k) - S(j, k)), {k});
    });
    add("distances of computed rows", p.dag({A, B, C}));
  }
  {
    te::Program p;
    auto X = p.placeholder("X", {5, 4, 6}, type), B = p.placeholder("B", {4, 9}, type),
         C = p.placeholder("C", {6, 9}, type);
    auto j = p.reduce_axis("j", 4), k = p.reduce_axis("k", 6);
    auto M = p.compute("M", {5, 9}, [&](auto i, auto r) {
      return te::sum(X(i, j, k) * B(j, r) * C(k, r), {j, k});
    });
    add("three factors", p.dag({X, B, C, M}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {19, 13}, type), B = p.placeholder("B", {35, 19}, type);
    auto k = p.reduce_axis("k", 19);
    auto C =
        p.compute("C", {13, 35}, [&](auto i, auto j) { return te::sum(A(k, i) * B(j, k), {k}); });
    add("matmul of transposes", p.dag({A, B, C}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {3, 9, 18}, type), B = p.placeholder("B", {3, 21, 18}, type);
    auto k = p.reduce_axis("k", 18);
    auto C = p.compute("C", {3, 9, 21}, [&](auto b, auto i, auto j) {
      return te::sum(A(b, i, k) * B(b, j, k), {k});
    });
    auto D = p.compute("D", {3, 9, 21}, [&](auto b, auto i, auto j) { return C(b, i, j) + 1; });
    add("batch matmul of a transpose", p.dag({A, B, D}));
  }
  /// Padding, stride and dilation of either axis: {rows, columns}.
  const auto padded_conv = [&](const std::string& name, std::vector<int> plane, int ci, int co,
                               std::vector<int> kernel, std::vector<int> stride,
                               std::vector<int> dilation, std::vector<int> before,
                               std::vector<int> after) {
    te::Program p;
    std::vector<int> padded, out;
    for (std::size_t a = 0; a < 2; ++a) {
      padded.push_back(plane[a] + before[a] + after[a]);
      out.push_back((padded[a] - dilation[a] * (kernel[a] - 1) - 1) / stride[a] + 1);
    }
    auto X = p.placeholder("X", {plane[0], plane[1], ci}, type);
    auto W = p.placeholder("W", {kernel[0], kernel[1], ci, co}, type);
    auto P = p.compute("P", {padded[0], padded[1], ci}, [&](auto y, auto x, auto c) {
      return te::if_then_else(y >= before[0] && y < plane[0] + before[0] && x >= before[1] &&
                                  x < plane[1] + before[1],
                              X(y - before[0], x - before[1], c), 0);
    });
    auto rh = p.reduce_axis("rh", kernel[0]), rw = p.reduce_axis("rw", kernel[1]);
    auto rc = p.reduce_axis("rc", ci);
    auto Y = p.compute("Y", {out[0], out[1], co}, [&](auto y, auto x, auto f) {
      return te::sum(P(y * stride[0] + rh * dilation[0], x * stride[1] + rw * dilation[1], rc) *
                         W(rh, rw, rc, f),
                     {rh, rw, rc});
    });
    add(name, p.dag({X, W, Y}));
  };
  padded_conv("conv 3x5 of two paddings", {6, 9}, 3, 16, {3, 5}, {1, 1}, {1, 1}, {1, 2}, {1, 2});
  padded_conv("conv dilated by 2 and 3", {7, 8}, 2, 9, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {1, 4});
  padded_conv("conv 5x4 of stride 2, 3", {9, 11}, 2, 8, {5, 4}, {2, 3}, {1, 1}, {2, 1}, {2, 3});
  padded_conv("conv on a plane of 1x3", {1, 3}, 4, 8, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2});
  padded_conv("conv on a plane of 2x2", {2, 2}, 3, 7, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3});
  const auto conv = [&](const std::string& name, int h, int ci, int co, int kernel, int stride,
                        int pad) {
    te::Program p;
    const int padded = h + 2 * pad;
    const int out = (padded - kernel) / stride + 1;
    auto X = p.placeholder("X", {h, h, ci}, type);
    auto W = p.placeholder("W", {kernel, kernel, ci, co}, type);
    auto P = p.compute("P", {padded, padded, ci}, [&](auto y, auto x, auto c) {
      return te::if_then_else(y >= pad && y < h + pad && x >= pad && x < h + pad,
                              X(y - pad, x - pad, c), 0);
    });
    auto rh = p.reduce_axis("rh", kernel), rw = p.reduce_axis("rw", kernel);
    auto rc = p.reduce_axis("rc", ci);
    auto Y = p.compute("Y", {out, out, co}, [&](auto y, auto x, auto f) {
      return te::sum(P(y * stride + rh, x * stride + rw, rc) * W(rh, rw, rc, f), {rh, rw, rc});
    });
    add(name, p.dag({X, W, Y}));
  };
  conv("conv 3x3 pad", 7, 3, 17, 3, 1, 1);
  conv("conv 3x3 stride 2", 9, 2, 5, 3, 2, 1);
  conv("conv 1x1", 5, 7, 12, 1, 1, 0);
  const auto transposed = [&](const std::string& name, std::array<std::int64_t, 2> plane,
                              std::int64_t ci, std::int64_t co, std::array<std::int64_t, 2> kernel,
                              std::array<std::int64_t, 2> stride, std::int64_t pad) {
    ops::ConvParams p;
    p.ci = ci;
    p.co = co;
    p.spatial = {plane[0], plane[1], 1};
    p.kernel = {kernel[0], kernel[1], 1};
    p.stride = {stride[0], stride[1], 1};
    p.pad = {pad, pad, 0};
    p.transposed = true;
    p.dtype = type;
    add(name, ops::conv(p).dag);
  };
  transposed("transposed conv 4x4 stride 2", {3, 4}, 3, 17, {4, 4}, {2, 2}, 1);
  transposed("transposed conv 3x5 stride 2, 3", {4, 3}, 2, 9, {3, 5}, {2, 3}, 1);
  transposed("transposed conv to 2 channels", {2, 9}, 3, 2, {4, 4}, {2, 2}, 1);
  padded_conv("conv to 1 channel", {4, 11}, 3, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1});
  {
    te::Program p;
    auto X = p.placeholder("X", {9, 9, 7}, type), W = p.placeholder("W", {3, 3, 7}, type);
    auto rh = p.reduce_axis("rh", 3), rw = p.reduce_axis("rw", 3);
    auto Y = p.compute("Y", {7, 7, 7}, [&](auto y, auto x, auto c) {
      return te::sum(X(y + rh, x + rw, c) * W(rh, rw, c), {rh, rw});
    });
    add("depthwise", p.dag({X, W, Y}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {5, 17}, type);
    auto k = p.reduce_axis("k", 17), k2 = p.reduce_axis("k2", 17);
    auto M = p.compute("M", {5}, [&](auto i) { return te::max(A(i, k), te::ReduceAxes{k}); });
    auto D = p.compute("D", {5, 17}, [&](auto i, auto j) { return A(i, j) - M(i); });
    auto S = p.compute("S", {5}, [&](auto i) { return te::sum(D(i, k2), {k2}); });
    auto N = p.compute("N", {5, 17}, [&](auto i, auto j) { return D(i, j) * 2 + S(i); });
    add("row program", p.dag({A, N}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {3, 150}, type);
    auto k = p.reduce_axis("k", 150), k2 = p.reduce_axis("k2", 150);
    auto M = p.compute("M", {3}, [&](auto i) { return te::max(A(i, k), te::ReduceAxes{k}); });
    auto D = p.compute("D", {3, 150}, [&](auto i, auto j) { return A(i, j) - M(i); });
    auto S = p.compute("S", {3}, [&](auto i) { return te::sum(D(i, k2) * A(i, k2), {k2}); });
    auto N = p.compute("N", {3, 150}, [&](auto i, auto j) { return D(i, j) + S(i) * 2; });
    add("long rows", p.dag({A, N}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {2, 3, 3, 70}, type);
    auto r = p.reduce_axis("r", 3), q = p.reduce_axis("q", 3);
    auto S = p.compute("S", {2, 70}, [&](auto n, auto c) {
      return te::sum(A(n, r, q, c), {r, q});
    });
    auto N = p.compute("N", {2, 70}, [&](auto n, auto c) { return S(n, c) * 2 + 1; });
    add("global pool", p.dag({A, N}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {12, 7}, type);
    auto r = p.reduce_axis("r", 12);
    auto S = p.compute("S", {7}, [&](auto j) { return te::sum(A(r, j), {r}); });
    add("column sum", p.dag({A, S}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {17}, type);
    auto r = p.reduce_axis("r", 17);
    auto S = p.compute("S", {}, [&]() { return te::sum(A(r), {r}); });
    add("rank 0 sum", p.dag({A, S}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {}, type), B = p.placeholder("B", {}, type);
    auto S = p.compute("S", {}, [&]() { return A() * B() + A(); });
    add("rank 0", p.dag({A, B, S}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {5, 12, 7}, type);
    auto T = p.compute("T", {7, 5, 12}, [&](auto i, auto j, auto k) { return A(j, k, i); });
    auto U = p.compute("U", {7, 60}, [&](auto i, auto j) {
      return T(i, te::floordiv(j, 12), te::floormod(j, 12)) + 1;
    });
    add("transpose reshape", p.dag({A, U}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {7, 12}, type), B = p.placeholder("B", {12, 5}, type);
    auto C = p.placeholder("C", {5, 17}, type);
    auto k = p.reduce_axis("k", 12), l = p.reduce_axis("l", 5);
    auto D =
        p.compute("D", {7, 5}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
    auto E =
        p.compute("E", {7, 17}, [&](auto i, auto j) { return te::sum(D(i, l) * C(l, j), {l}); });
    add("two matmuls", p.dag({A, B, C, E}));
  }
  {
    te::Program p;
    auto A = p.placeholder("A", {14, 14, 5}, type);
    auto rh = p.reduce_axis("rh", 2), rw = p.reduce_axis("rw", 2);
    auto Y = p.compute("Y", {7, 7, 5}, [&](auto y, auto x, auto c) {
      return te::max(A(y * 2 + rh, x * 2 + rw, c), {rh, rw});
    });
    add("max pool", p.dag({A, Y}));
  }
  {
    // Two outputs; of equal values the smaller index wins, whatever the order of the reduction.
    te::Program p;
    auto A = p.placeholder("A", {7, 12}, type);
    auto k = p.reduce_axis("k", 12);
    const CombinerId argmax =
        p.combiner({DType::i32, type}, {1000, -1000}, [](const auto& x, const auto& y) {
          const te::Expr keep = x[1] > y[1] || (x[1] == y[1] && x[0] < y[0]);
          return std::vector<te::Expr>{te::select(keep, x[0], y[0]), te::select(keep, x[1], y[1])};
        });
    auto best = p.compute_all("best", {7}, [&](auto i) {
      return te::reduce(argmax, {te::Expr(k), A(i, k)}, {k});
    });
    auto at = p.compute("at", {7},
                        [&](auto i) { return te::cast(DType::i32, best[1](i)) * 16 + best[0](i); });
    add("argmax", p.dag({A, at}));
  }
  for (SmallWorkload& chain : small_chains()) {
    all.push_back(std::move(chain));
  }
  return all;
}

/// Products of narrow types, as tensor intrinsics compute them; odd sizes.
inline std::vector<SmallWorkload> small_tensor_workloads() {
  std::vector<SmallWorkload> all;
  const auto product = [&](const std::string& name, DType a, DType b, DType sum, std::int64_t m,
                           std::int64_t n, std::int64_t k, bool is_transposed, bool has_epilogue) {
    te::Program p;
    auto A = p.placeholder("A", {m, k}, a);
    auto B = p.placeholder("B", is_transposed ? te::Shape{n, k} : te::Shape{k, n}, b);
    auto r = p.reduce_axis("k", k);
    auto C = p.compute("C", {m, n}, [&](auto i, auto j) {
      const te::Expr right = is_transposed ? B(j, r) : B(r, j);
      return te::sum(te::cast(sum, A(i, r)) * te::cast(sum, right), {r});
    });
    if (!has_epilogue) {
      all.push_back({name, p.dag({A, B, C})});
      return;
    }
    auto bias = p.placeholder("bias", {n}, sum);
    auto D = p.compute("D", {m, n}, [&](auto i, auto j) { return te::max(C(i, j) + bias(j), 0); });
    all.push_back({name, p.dag({A, B, bias, D})});
  };
  product("bf16 12x35x16", DType::bf16, DType::bf16, DType::f32, 12, 35, 16, false, false);
  product("bf16 7x64x19, transposed", DType::bf16, DType::bf16, DType::f32, 7, 64, 19, true, false);
  product("bf16 8x48x32, relu", DType::bf16, DType::bf16, DType::f32, 8, 48, 32, false, true);
  product("u8 i8 12x35x16", DType::u8, DType::i8, DType::i32, 12, 35, 16, false, false);
  product("i8 8x64x24", DType::i8, DType::i8, DType::i32, 8, 64, 24, false, false);
  product("i8 13x33x37, transposed, relu", DType::i8, DType::i8, DType::i32, 13, 33, 37, true,
          true);
  for (const char* text :
       {"gemm:7x35x19:u8,weights=i8,bias,requant=u8", "bmm:2x6x33x16:i8,tb,requant=i8",
        "conv2d:h=6,w=5,ci=8,co=35,k=3,p=1,dtype=u8,weights=i8",
        "conv2d:h=5,w=7,ci=16,co=19,k=1,dtype=u8,weights=i8,relu,requant=u8",
        "conv2d:h=7,w=6,ci=5,co=16,k=3,s=2,p=1,layout=free,dtype=u8,weights=i8,bias,requant=i8",
        "conv2d:h=4,w=9,ci=9,co=20,k=3,p=1,dtype=i8,weights=i8"}) {
    all.push_back({text, ops::parse_workload(text)->dag});
  }
  return all;
}

/// These, and products of narrow types that no instruction takes as they are.
inline std::vector<SmallWorkload> narrow_products(std::vector<SmallWorkload> all) {
  for (const char* text : {"gemm:9x34x21:u8", "gemm:6x40x17:f16,tb", "gemm:5x24x40:f16"}) {
    all.push_back({text, ops::parse_workload(text)->dag});
  }
  return all;
}

/// These, and convolutions with windows or a depthwise convolution over their results: exact, means
/// of 4 and 8 numbers too.
inline std::vector<SmallWorkload> with_pooled_convolutions(std::vector<SmallWorkload> all) {
  const auto add = [&](ops::ConvParams p, const ops::PoolWindow& window) {
    p.has_pool = true;
    p.pool = window;
    p.dtype = window.kind == ops::PoolKind::max ? DType::i32 : DType::f32;
    const ops::Workload workload = ops::conv(p);
    all.push_back({workload.name, workload.dag});
  };
  const auto conv = [](std::int64_t n, std::int64_t ci, std::int64_t co, std::int64_t h,
                       std::int64_t w, std::int64_t pad) {
    ops::ConvParams p;
    p.n = n;
    p.ci = ci;
    p.co = co;
    p.spatial = {h, w, 1};
    p.kernel = {3, 3, 1};
    p.pad = {pad, pad, 0};
    return p;
  };
  ops::ConvParams p = conv(2, 3, 20, 9, 7, 1);
  p.bias = true;
  p.activation = ops::Activation::relu;
  add(p, {ops::PoolKind::max, {3, 3}, {2, 2}, {1, 1}});
  add(p, {ops::PoolKind::average, {2, 2}, {2, 2}, {0, 0}});
  p = conv(1, 5, 9, 11, 8, 1);
  p.stride = {2, 2, 1};
  p.packing = ops::PackingClass::free_layout;
  add(p, {ops::PoolKind::max, {2, 2}, {2, 2}, {0, 0}});
  p = conv(1, 4, 7, 8, 9, 0);
  p.layout = ops::Layout::nchw;
  p.activation = ops::Activation::relu;
  add(p, {ops::PoolKind::max, {3, 2}, {1, 1}, {1, 0}});
  add(p, {ops::PoolKind::average, {4, 2}, {2, 2}, {1, 1}});
  p = conv(1, 20, 20, 9, 8, 1);
  p.groups = 20;
  p.depthwise = true;
  add(p, {ops::PoolKind::max, {2, 2}, {1, 1}, {0, 0}});
  for (const char* text :
       {"conv2d:h=9,w=7,ci=5,co=20,k=1,dtype=i32,bias,relu,depthwise=3,dw_p=1",
        "conv2d:n=2,h=9,w=8,ci=3,co=18,k=1,layout=free,dtype=i32,bias,depthwise=3,dw_s=2,dw_p=1",
        "conv2d:h=7,w=8,ci=4,co=9,k=1,layout=nchw,relu,depthwise=3,dw_p=1",
        "conv2d:n=2,h=8,w=7,ci=3,co=17,k=3,p=1,depthwise=2x3,dw_s=1x2,dw_p=0x1"}) {
    all.push_back({text, ops::parse_workload(text)->dag});
  }
  return all;
}

}  // namespace tensorsmith::test
