// SPDX-License-Identifier: Apache-2.0
#include "families.hpp"

namespace tensorsmith::bench {
namespace {

/// gelu(A W + b) V + c
UserProgram mlp(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[1]}), w = p.placeholder("W", {s[1], s[2]}),
             b = p.placeholder("B", {s[2]}), v = p.placeholder("V", {s[2], s[3]}),
             c = p.placeholder("C", {s[3]});
  const auto h = product(p, "H", a, w);
  const auto g = p.compute("G", {s[0], s[2]}, [&](auto i, auto j) { return gelu(h(i, j) + b(j)); });
  const auto y = product(p, "P", g, v);
  const auto out = p.compute("Y", {s[0], s[3]}, [&](auto i, auto j) { return y(i, j) + c(j); });
  return {p.dag({a, w, b, v, c, out})};
}

/// (silu(X W) * (X U)) V
UserProgram gated_mlp(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0], s[1]}), w = p.placeholder("W", {s[1], s[2]}),
             u = p.placeholder("U", {s[1], s[2]}), v = p.placeholder("V", {s[2], s[1]});
  const auto gate = product(p, "Gate", x, w), up = product(p, "Up", x, u);
  const auto h = p.compute("H", {s[0], s[2]}, [&](auto i, auto j) {
    return gate(i, j) * te::sigmoid(gate(i, j)) * up(i, j);
  });
  const auto y = product(p, "Y", h, v);
  return {p.dag({x, w, u, v, y})};
}

UserProgram lstm_cell(const Sizes& s) {
  const std::int64_t batch = s[0], inputs = s[1], hidden = s[2];
  te::Program p;
  const auto x = p.placeholder("X", {batch, inputs}), h = p.placeholder("H", {batch, hidden}),
             c = p.placeholder("C", {batch, hidden}), w = p.placeholder("W", {inputs, 4 * hidden}),
             u = p.placeholder("U", {hidden, 4 * hidden}), b = p.placeholder("B", {4 * hidden});
  const auto wx = product(p, "WX", x, w), uh = product(p, "UH", h, u);
  const auto gates = p.compute("Gates", {batch, 4 * hidden},
                               [&](auto i, auto j) { return wx(i, j) + uh(i, j) + b(j); });
  const auto next_c = p.compute("NextC", {batch, hidden}, [&](auto i, auto j) {
    return te::sigmoid(gates(i, j + hidden)) * c(i, j) +
           te::sigmoid(gates(i, j)) * te::tanh(gates(i, j + 2 * hidden));
  });
  const auto next_h = p.compute("NextH", {batch, hidden}, [&](auto i, auto j) {
    return te::sigmoid(gates(i, j + 3 * hidden)) * te::tanh(next_c(i, j));
  });
  return {p.dag({x, h, c, w, u, b, next_c, next_h})};
}

/// Matricized tensor times the Khatri-Rao product; as two products it is a library call.
UserProgram mttkrp(const Sizes& s) {
  const auto make = [&](bool with_product) {
    te::Program p;
    const auto x = p.placeholder("X", {s[0], s[1], s[2]}), b = p.placeholder("B", {s[1], s[3]}),
               c = p.placeholder("C", {s[2], s[3]});
    const auto j = p.reduce_axis("rj", s[1]), k = p.reduce_axis("rk", s[2]);
    if (!with_product) {
      const auto m = p.compute("M", {s[0], s[3]}, [&](auto i, auto r) {
        return te::sum(x(i, j, k) * b(j, r) * c(k, r), {j, k});
      });
      return p.dag({x, b, c, m});
    }
    const auto t = p.compute("T", {s[0], s[1], s[3]}, [&](auto i, auto q, auto r) {
      return te::sum(x(i, q, k) * c(k, r), {k});
    });
    const auto m = p.compute("M", {s[0], s[3]},
                             [&](auto i, auto r) { return te::sum(t(i, j, r) * b(j, r), {j}); });
    return p.dag({x, b, c, m});
  };
  return {make(false), {make(true)}};
}

/// Squared distances of all pairs; the alternative is by one product.
UserProgram distances(const Sizes& s) {
  const auto make = [&](bool with_product) {
    te::Program p;
    const auto a = p.placeholder("A", {s[0], s[2]}), b = p.placeholder("B", {s[1], s[2]});
    const auto k = p.reduce_axis("k", s[2]);
    if (!with_product) {
      const auto d = p.compute("D", {s[0], s[1]}, [&](auto i, auto j) {
        return te::sum((a(i, k) - b(j, k)) * (a(i, k) - b(j, k)), {k});
      });
      return p.dag({a, b, d});
    }
    const auto dots = p.compute("Dots", {s[0], s[1]},
                                [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
    const auto na =
        p.compute("NA", {s[0]}, [&](auto i) { return te::sum(a(i, k) * a(i, k), {k}); });
    const auto nb =
        p.compute("NB", {s[1]}, [&](auto i) { return te::sum(b(i, k) * b(i, k), {k}); });
    const auto d = p.compute("D", {s[0], s[1]},
                             [&](auto i, auto j) { return na(i) + nb(j) - 2.0 * dots(i, j); });
    return p.dag({a, b, d});
  };
  return {make(false), {make(true)}};
}

UserProgram cosine(const Sizes& s) {
  te::Program p;
  const auto a = p.placeholder("A", {s[0], s[2]}), b = p.placeholder("B", {s[1], s[2]});
  const auto k = p.reduce_axis("k", s[2]);
  const auto dots = p.compute("Dots", {s[0], s[1]},
                              [&](auto i, auto j) { return te::sum(a(i, k) * b(j, k), {k}); });
  const auto na = p.compute("NA", {s[0]}, [&](auto i) { return te::sum(a(i, k) * a(i, k), {k}); });
  const auto nb = p.compute("NB", {s[1]}, [&](auto i) { return te::sum(b(i, k) * b(i, k), {k}); });
  const auto c = p.compute("Cosine", {s[0], s[1]}, [&](auto i, auto j) {
    return dots(i, j) / (te::sqrt(na(i)) * te::sqrt(nb(j)) + 1e-6);
  });
  return {p.dag({a, b, c})};
}

/// Rotary embedding of queries and keys, halves of a head rotated against each other, and scores.
UserProgram rotary_scores(const Sizes& s) {
  const std::int64_t heads = s[0], length = s[1], width = s[2], half = width / 2;
  te::Program p;
  const auto q = p.placeholder("Q", {heads, length, width}),
             k = p.placeholder("K", {heads, length, width}),
             cosines = p.placeholder("Cosines", {length, half}),
             sines = p.placeholder("Sines", {length, half});
  const auto rotate = [&](const std::string& name, const te::Tensor& x) {
    return p.compute(name, {heads, length, width}, [&](auto h, auto t, auto d) {
      return x(h, t, d) * cosines(t, te::floormod(d, half)) +
             te::if_then_else(d < half, -x(h, t, te::min(d + half, width - 1)),
                              x(h, t, te::max(d - half, 0))) *
                 sines(t, te::floormod(d, half));
    });
  };
  const auto rq = rotate("RQ", q), rk = rotate("RK", k);
  const auto r = p.reduce_axis("r", width);
  const auto scores = p.compute("S", {heads, length, length}, [&](auto h, auto i, auto j) {
    return te::sum(rq(h, i, r) * rk(h, j, r), {r});
  });
  return {p.dag({q, k, cosines, sines, scores})};
}

/// A 3 x 3 filter for every channel, relu, a product of the channels.
UserProgram depthwise_pointwise(const Sizes& s) {
  const std::int64_t h = s[0], w = s[1], c = s[2], f = s[3];
  te::Program p;
  const auto x = p.placeholder("X", {h + 2, w + 2, c}), v = p.placeholder("V", {3, 3, c}),
             u = p.placeholder("U", {c, f});
  const auto r = p.reduce_axis("r", 3), q = p.reduce_axis("q", 3), k = p.reduce_axis("rc", c);
  const auto d = p.compute("D", {h, w, c}, [&](auto i, auto j, auto l) {
    return te::sum(x(i + r, j + q, l) * v(r, q, l), {r, q});
  });
  const auto e =
      p.compute("E", {h, w, c}, [&](auto i, auto j, auto l) { return te::max(d(i, j, l), 0.0); });
  const auto y = p.compute(
      "Y", {h, w, f}, [&](auto i, auto j, auto l) { return te::sum(e(i, j, k) * u(k, l), {k}); });
  return {p.dag({x, v, u, y})};
}

}  // namespace

void add_products(std::vector<ProgramFamily>& all) {
  const std::string suite = "user_programs";
  all.push_back({suite, "mlp", "M,K,H,N", {{64, 128, 256, 64}}, mlp});
  all.push_back({suite, "gated_mlp", "M,D,F", {{64, 256, 512}}, gated_mlp});
  all.push_back({suite, "lstm_cell", "B,I,H", {{32, 256, 256}}, lstm_cell});
  all.push_back({suite, "mttkrp", "I,J,K,R", {{64, 64, 64, 32}}, mttkrp});
  all.push_back({suite, "distances", "M,N,D", {{256, 256, 64}}, distances});
  all.push_back({suite, "cosine", "M,N,D", {{256, 256, 128}}, cosine});
  all.push_back({suite, "rotary_scores", "H,T,D", {{4, 128, 64}}, rotary_scores});
  all.push_back(
      {suite, "depthwise_pointwise", "H,W,C,F", {{28, 28, 128, 128}}, depthwise_pointwise});
}

}  // namespace tensorsmith::bench
