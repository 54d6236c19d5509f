// SPDX-License-Identifier: Apache-2.0
#include "families.hpp"

namespace tensorsmith::bench {
namespace {

/// One query of every head attends to the keys up to its position.
UserProgram causal_row(const Sizes& s) {
  const std::int64_t heads = s[0], length = s[1], width = s[2], position = length * 3 / 4;
  te::Program p;
  const auto q = p.placeholder("Q", {heads, width}), k = p.placeholder("K", {heads, length, width}),
             v = p.placeholder("V", {heads, length, width});
  const auto d = p.reduce_axis("rd", width), t = p.reduce_axis("rt", length),
             t2 = p.reduce_axis("rt2", length), t3 = p.reduce_axis("rt3", length);
  const auto dots = p.compute("Dots", {heads, length},
                              [&](auto h, auto i) { return te::sum(q(h, d) * k(h, i, d), {d}); });
  const auto scores = p.compute("S", {heads, length}, [&](auto h, auto i) {
    return te::select(i <= position, dots(h, i) * 0.125, -1e30);
  });
  const auto most = p.compute("Max", {heads}, [&](auto h) { return te::max(scores(h, t), {t}); });
  const auto e = p.compute("E", {heads, length},
                           [&](auto h, auto i) { return te::exp(scores(h, i) - most(h)); });
  const auto total = p.compute("Sum", {heads}, [&](auto h) { return te::sum(e(h, t2), {t2}); });
  const auto mixed = p.compute("Mixed", {heads, width}, [&](auto h, auto i) {
    return te::sum(e(h, t3) * v(h, t3, i), {t3});
  });
  const auto o =
      p.compute("O", {heads, width}, [&](auto h, auto i) { return mixed(h, i) / total(h); });
  return {p.dag({q, k, v, o})};
}

/// Sums of rows of a table, chosen by number.
UserProgram embedding_bag(const Sizes& s) {
  te::Program p;
  const auto table = p.placeholder("Table", {s[0], s[3]}),
             ids = p.placeholder("Ids", {s[1], s[2]}, DType::i32);
  const auto l = p.reduce_axis("l", s[2]);
  const auto bag = p.compute("Bag", {s[1], s[3]},
                             [&](auto i, auto j) { return te::sum(table(ids(i, l), j), {l}); });
  return {p.dag({table, ids, bag})};
}

/// Mean and variance of every channel over images and pixels.
UserProgram batch_statistics(const Sizes& s) {
  const std::int64_t n = s[0], c = s[1], h = s[2], w = s[3];
  te::Program p;
  const auto x = p.placeholder("X", {n, c, h, w});
  const auto rn = p.reduce_axis("rn", n), rh = p.reduce_axis("rh", h), rw = p.reduce_axis("rw", w),
             qn = p.reduce_axis("qn", n), qh = p.reduce_axis("qh", h), qw = p.reduce_axis("qw", w);
  const double scale = 1.0 / static_cast<double>(n * h * w);
  const auto sum = p.compute("Sum", {c}, [&](auto i) {
    return te::sum(x(rn, i, rh, rw), {rn, rh, rw});
  });
  const auto mean = p.compute("Mean", {c}, [&](auto i) { return sum(i) * scale; });
  const auto squares = p.compute("Squares", {c}, [&](auto i) {
    return te::sum((x(qn, i, qh, qw) - mean(i)) * (x(qn, i, qh, qw) - mean(i)), {qn, qh, qw});
  });
  const auto variance = p.compute("Variance", {c}, [&](auto i) { return squares(i) * scale; });
  return {p.dag({x, mean, variance})};
}

/// The same with channels last.
UserProgram batch_statistics_last(const Sizes& s) {
  const std::int64_t n = s[0], h = s[1], c = s[2];
  te::Program p;
  const auto x = p.placeholder("X", {n, h, c});
  const auto rn = p.reduce_axis("rn", n), rh = p.reduce_axis("rh", h), qn = p.reduce_axis("qn", n),
             qh = p.reduce_axis("qh", h);
  const double scale = 1.0 / static_cast<double>(n * h);
  const auto sum = p.compute("Sum", {c}, [&](auto i) { return te::sum(x(rn, rh, i), {rn, rh}); });
  const auto mean = p.compute("Mean", {c}, [&](auto i) { return sum(i) * scale; });
  const auto squares = p.compute("Squares", {c}, [&](auto i) {
    return te::sum((x(qn, qh, i) - mean(i)) * (x(qn, qh, i) - mean(i)), {qn, qh});
  });
  const auto variance = p.compute("Variance", {c}, [&](auto i) { return squares(i) * scale; });
  return {p.dag({x, mean, variance})};
}

/// Sums of all elements up to each, over a short axis.
UserProgram prefix_sums(const Sizes& s) {
  te::Program p;
  const auto x = p.placeholder("X", {s[0], s[1]});
  const auto k = p.reduce_axis("k", s[1]);
  const auto y = p.compute("Y", {s[0], s[1]}, [&](auto i, auto j) {
    return te::sum(te::select(k <= j, x(i, k), 0.0), {k});
  });
  return {p.dag({x, y})};
}

}  // namespace

void add_rows(std::vector<ProgramFamily>& all) {
  const std::string suite = "user_programs";
  all.push_back({suite, "causal_row", "H,T,D", {{12, 512, 64}}, causal_row});
  all.push_back({suite, "embedding_bag", "V,B,L,D", {{10000, 256, 16, 64}}, embedding_bag});
  all.push_back({suite, "batch_statistics", "N,C,H,W", {{8, 64, 28, 28}}, batch_statistics});
  all.push_back({suite, "batch_statistics_last", "N,H,C", {{8, 784, 64}}, batch_statistics_last});
  all.push_back({suite, "prefix_sums", "R,N", {{4096, 16}}, prefix_sums});
}

}  // namespace tensorsmith::bench
