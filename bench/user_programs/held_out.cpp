// SPDX-License-Identifier: Apache-2.0
#include "families.hpp"

namespace tensorsmith::bench {
namespace {

UserProgram mlp3(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), w = p.placeholder("W", {s[1], s[2]}),
             v = p.placeholder("V", {s[2], s[2]}), u = p.placeholder("U", {s[2], s[3]});
  const auto h = product(p, "H", a, w);
  const auto f = p.compute("F", {s[0], s[2]}, [&](auto i, auto j) { return te::tanh(h(i, j)); });
  const auto k = product(p, "K", f, v);
  const auto g = p.compute("G", {s[0], s[2]}, [&](auto i, auto j) { return te::tanh(k(i, j)); });
  const auto y = product(p, "Y", g, u);
  return {p.dag({a, w, v, u, y})};
}

/// Two results that read one operand.
UserProgram two_heads(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), w = p.placeholder("W", {s[1], s[2]}),
             v = p.placeholder("V", {s[1], s[3]});
  const auto e =
      p.compute("E", {s[0], s[1]}, [&](auto i, auto j) { return te::sigmoid(a(i, j)) * a(i, j); });
  const auto x = product(p, "X", e, w), y = product(p, "Y", e, v);
  return {p.dag({a, w, v, x, y})};
}

/// Five points with coefficients of their own at each point.
UserProgram stencil5_coefficients(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0] + 2, s[1] + 2}), c = p.placeholder("C", {5, s[0], s[1]});
  const auto y = p.compute("Y", {s[0], s[1]}, [&](auto i, auto j) {
    return c(0, i, j) * x(i + 1, j + 1) + c(1, i, j) * x(i, j + 1) + c(2, i, j) * x(i + 2, j + 1) +
           c(3, i, j) * x(i + 1, j) + c(4, i, j) * x(i + 1, j + 2);
  });
  return {p.dag({x, c, y})};
}

/// A convolution of rows, relu and the greatest of every two.
UserProgram conv1d_pool(const Sizes& s) {
  const std::int64_t width = s[0], inputs = s[1], outputs = s[2];
  te::Program p;
  const auto x = p.placeholder("X", {width + 2, inputs}),
             w = p.placeholder("W", {3, inputs, outputs});
  const auto r = p.reduce_axis("r", 3), c = p.reduce_axis("rc", inputs), q = p.reduce_axis("q", 2);
  const auto y = p.compute("C", {width, outputs}, [&](auto i, auto j) {
    return te::sum(x(i + r, c) * w(r, c, j), {r, c});
  });
  const auto e =
      p.compute("E", {width, outputs}, [&](auto i, auto j) { return te::max(y(i, j), 0.0); });
  const auto m = p.compute("M", {width / 2, outputs},
                           [&](auto i, auto j) { return te::max(e(2 * i + q, j), {q}); });
  return {p.dag({x, w, m})};
}

/// Softmax of a product with a bias.
UserProgram classifier(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), w = p.placeholder("W", {s[1], s[2]}),
             b = p.placeholder("B", {s[2]});
  const auto h = product(p, "H", a, w);
  const auto t = p.reduce_axis("t", s[2]), t2 = p.reduce_axis("t2", s[2]);
  const auto z = p.compute("Z", {s[0], s[2]}, [&](auto i, auto j) { return h(i, j) * 0.1 + b(j); });
  const auto most = p.compute("Max", {s[0]}, [&](auto i) { return te::max(z(i, t), {t}); });
  const auto e =
      p.compute("E", {s[0], s[2]}, [&](auto i, auto j) { return te::exp(z(i, j) - most(i)); });
  const auto total = p.compute("Sum", {s[0]}, [&](auto i) { return te::sum(e(i, t2), {t2}); });
  const auto y = p.compute("Y", {s[0], s[2]}, [&](auto i, auto j) { return e(i, j) / total(i); });
  return {p.dag({a, w, b, y})};
}

UserProgram outer_update(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), x = p.placeholder("X", {s[0]}),
             y = p.placeholder("Y", {s[1]}), u = p.placeholder("U", {s[0]}),
             v = p.placeholder("V", {s[1]});
  const auto b = p.compute("B", {s[0], s[1]},
                           [&](auto i, auto j) { return a(i, j) + x(i) * y(j) + u(i) * v(j); });
  return {p.dag({a, x, y, u, v, b})};
}

/// The lower triangle of a product, a row's part of it divided by its length.
UserProgram masked_scores(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), b = p.placeholder("B", {s[0], s[1]});
  const auto k = p.reduce_axis("k", s[1]);
  const auto dots = p.compute("Dots", {s[0], s[0]},
                              [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
  const auto y = p.compute("Y", {s[0], s[0]}, [&](auto i, auto j) {
    return te::select(j <= i, dots(i, j) / te::cast(DType::f32, i + 1), 0.0);
  });
  return {p.dag({a, b, y})};
}

/// Every third column of chosen rows.
UserProgram strided_gather(const Sizes& s) {
  te::Program p;
  const auto table = p.placeholder("Table", {s[0], 3 * s[2]}),
             ids = p.placeholder("Ids", {s[1]}, DType::i32);
  const auto y = p.compute("Y", {s[1], s[2]},
                           [&](auto i, auto j) { return table(ids(i), 3 * j) * 2.0 + 1.0; });
  return {p.dag({table, ids, y})};
}

/// A norm of rows with a product behind it.
UserProgram norm_product(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), g = p.placeholder("G", {s[1]}),
             w = p.placeholder("W", {s[1], s[2]});
  const auto k = p.reduce_axis("k", s[1]);
  const auto squares =
      p.compute("Squares", {s[0]}, [&](auto i) { return te::sum(a(i, k) * a(i, k), {k}); });
  const auto n = p.compute("N", {s[0], s[1]}, [&](auto i, auto j) {
    return a(i, j) * te::rsqrt(squares(i) * (1.0 / static_cast<double>(s[1])) + 1e-5) * g(j);
  });
  const auto y = product(p, "Y", n, w);
  return {p.dag({a, g, w, y})};
}

/// Gradient magnitude and its mean over windows: a stencil behind a stencil.
UserProgram edges(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0] + 4, s[1] + 4});
  const auto m = p.compute("M", {s[0] + 2, s[1] + 2}, [&](auto i, auto j) {
    const te::Expr dx = x(i + 1, j + 2) - x(i + 1, j), dy = x(i + 2, j + 1) - x(i, j + 1);
    return te::sqrt(dx * dx + dy * dy);
  });
  const auto y = p.compute("Y", {s[0], s[1]}, [&](auto i, auto j) {
    return (m(i, j + 1) + m(i + 1, j) + m(i + 1, j + 1) + m(i + 1, j + 2) + m(i + 2, j + 1)) * 0.2;
  });
  return {p.dag({x, y})};
}

/// Sums of squares over the first axis and over the last one, of one operand.
UserProgram both_norms(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0], s[1]});
  const auto r = p.reduce_axis("r", s[0]), q = p.reduce_axis("q", s[1]);
  const auto columns =
      p.compute("Columns", {s[1]}, [&](auto j) { return te::sum(x(r, j) * x(r, j), {r}); });
  const auto rows =
      p.compute("Rows", {s[0]}, [&](auto i) { return te::sum(x(i, q) * x(i, q), {q}); });
  return {p.dag({x, columns, rows})};
}

/// A product of three operands: one sum over two axes.
UserProgram bilinear_form(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0], s[1]}), w = p.placeholder("W", {s[2], s[1], s[3]}),
             z = p.placeholder("Z", {s[0], s[3]});
  const auto j = p.reduce_axis("rj", s[1]), k = p.reduce_axis("rk", s[3]);
  const auto y = p.compute("Y", {s[0], s[2]}, [&](auto i, auto o) {
    return te::sum(x(i, j) * w(o, j, k) * z(i, k), {j, k});
  });
  return {p.dag({x, w, z, y})};
}

}  // namespace

void add_held_out(std::vector<ProgramFamily>& all) {
  const std::string suite = "user_held_out";
  all.push_back({suite, "mlp3", "M,K,H,N", {{33, 96, 160, 48}}, mlp3});
  all.push_back({suite, "two_heads", "M,K,N,P", {{50, 200, 96, 72}}, two_heads});
  all.push_back({suite, "stencil5_coefficients", "H,W", {{301, 257}}, stencil5_coefficients});
  all.push_back({suite, "conv1d_pool", "W,CI,CO", {{500, 40, 96}}, conv1d_pool});
  all.push_back({suite, "classifier", "M,K,N", {{64, 128, 1000}}, classifier});
  all.push_back({suite, "outer_update", "M,N", {{311, 500}}, outer_update});
  all.push_back({suite, "masked_scores", "T,D", {{197, 64}}, masked_scores});
  all.push_back({suite, "strided_gather", "V,B,D", {{5000, 400, 50}}, strided_gather});
  all.push_back({suite, "norm_product", "M,K,N", {{77, 512, 200}}, norm_product});
  all.push_back({suite, "edges", "H,W", {{255, 333}}, edges});
  all.push_back({suite, "both_norms", "M,N", {{300, 700}}, both_norms});
  all.push_back({suite, "bilinear_form", "B,J,O,K", {{32, 40, 24, 48}}, bilinear_form});
}

}  // namespace tensorsmith::bench
