// SPDX-License-Identifier: Apache-2.0
// The reference's definitions of convolutions.
#include <algorithm>

#include "graph/relay_stages.hpp"

namespace tensorsmith::graph {

namespace {

using te::Expr;
using Names = std::vector<std::string>;

struct Steps {
  std::int64_t sh, sw, dh, dw;
  Shape pads;  ///< top, left, bottom, right
};
Steps steps_of(const RelayNode& n) {
  const auto pair = [&](const char* name) {
    std::vector<std::int64_t> list = n.integers(name);
    list.resize(2, list.empty() ? 1 : list[0]);
    return list;
  };
  const auto strides = pair("strides"), dilation = pair("dilation");
  Shape pads = n.integers("padding");
  if (pads.size() == 1) {
    pads.assign(4, pads[0]);
  } else if (pads.size() == 2) {
    pads = {pads[0], pads[1], pads[0], pads[1]};
  }
  pads.resize(4, 0);
  return {strides[0], strides[1], dilation[0], dilation[1], pads};
}
bool has_pads(const Steps& s) {
  return std::any_of(s.pads.begin(), s.pads.end(), [](std::int64_t p) { return p != 0; });
}

OperationAttrs free_layout(const RelayStages& stages, const te::Tensor& weights) {
  OperationAttrs attrs;
  if (stages.name_of(weights).starts_with("p")) {
    attrs.layout_free_placeholders = {stages.name_of(weights)};
  }
  return attrs;
}

te::Tensor nhwc(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor x = s.pad("pad_temp", "injective,pad", c.inputs[0], {0, t.pads[0], t.pads[1], 0},
                             {0, t.pads[2], t.pads[3], 0}, "i", 0);
  const te::Tensor& w = c.inputs[1];
  const auto ry = s.axis("ry", w.extent(0)), rx = s.axis("rx", w.extent(1));
  const auto rc = s.axis("rc", w.extent(2));
  return s.stage(
      "conv2d_nhwc", "conv2d_nhwc", c.result(), Names{"nn", "yy", "xx", "ff"},
      [&](const RelayIndices& at) {
        return te::sum(x(at[0], at[1] * t.sh + ry * t.dh, at[2] * t.sw + rx * t.dw, rc) *
                           w(ry, rx, rc, at[3]),
                       {ry, rx, rc});
      },
      free_layout(s, w));
}

te::Tensor nchw(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor x = s.pad("pad_temp", "injective,pad", c.inputs[0], {0, 0, t.pads[0], t.pads[1]},
                             {0, 0, t.pads[2], t.pads[3]}, "i", 0);
  const te::Tensor& w = c.inputs[1];
  const auto rc = s.axis("rc", w.extent(1));
  const auto ry = s.axis("ry", w.extent(2)), rx = s.axis("rx", w.extent(3));
  return s.stage("conv2d_nchw", "conv2d_nchw", c.result(), Names{"nn", "ff", "yy", "xx"},
                 [&](const RelayIndices& at) {
                   return te::sum(x(at[0], rc, at[2] * t.sh + ry * t.dh, at[3] * t.sw + rx * t.dw) *
                                      w(at[1], rc, ry, rx),
                                  {rc, ry, rx});
                 });
}

te::Tensor depthwise_nhwc(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor x = s.pad("PaddedInput", "injective,pad", c.inputs[0],
                             {0, t.pads[0], t.pads[1], 0}, {0, t.pads[2], t.pads[3], 0}, "i", 0);
  const te::Tensor& w = c.inputs[1];
  const auto di = s.axis("di", w.extent(0)), dj = s.axis("dj", w.extent(1));
  const std::int64_t m = w.extent(3);
  return s.stage("DepthwiseConv2d", "depthwise_conv2d_nhwc", c.result(), Names{"b", "i", "j", "c"},
                 [&](const RelayIndices& at) {
                   const Expr channel = te::floordiv(at[3], m), which = te::floormod(at[3], m);
                   return te::sum(
                       x(at[0], at[1] * t.sh + di * t.dh, at[2] * t.sw + dj * t.dw, channel) *
                           w(di, dj, channel, which),
                       {di, dj});
                 });
}

te::Tensor depthwise_nchw(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor x = s.pad("PaddedInput", "injective,pad", c.inputs[0],
                             {0, 0, t.pads[0], t.pads[1]}, {0, 0, t.pads[2], t.pads[3]}, "i", 0);
  const te::Tensor& w = c.inputs[1];
  const auto di = s.axis("di", w.extent(2)), dj = s.axis("dj", w.extent(3));
  const std::int64_t m = w.extent(1);
  return s.stage("DepthwiseConv2d", "depthwise_conv2d_nchw", c.result(), Names{"b", "c", "i", "j"},
                 [&](const RelayIndices& at) {
                   const Expr channel = te::floordiv(at[1], m), which = te::floormod(at[1], m);
                   return te::sum(
                       x(at[0], channel, at[2] * t.sh + di * t.dh, at[3] * t.sw + dj * t.dw) *
                           w(channel, which, di, dj),
                       {di, dj});
                 });
}

/// Of data and weights that are blocked already.
te::Tensor blocked_sum(RelayStages& s, const te::Tensor& x, const te::Tensor& w,
                       const Shape& result, const Steps& t) {
  const std::int64_t block = x.extent(4);
  const auto ic = s.axis("ic", x.extent(1) * block);
  const auto kh = s.axis("kh", w.extent(2)), kw = s.axis("kw", w.extent(3));
  return s.stage("conv2d_NCHWc", "conv2d_NCHWc", result,
                 Names{"n", "oc_chunk", "oh", "ow", "oc_block"}, [&](const RelayIndices& at) {
                   const Expr outer = te::floordiv(ic, block), inner = te::floormod(ic, block);
                   return te::sum(
                       x(at[0], outer, at[2] * t.sh + kh * t.dh, at[3] * t.sw + kw * t.dw, inner) *
                           w(at[1], outer, kh, kw, inner, at[4]),
                       {ic, kh, kw});
                 });
}

te::Tensor blocked(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor x =
      has_pads(t) ? s.pad("data_pad", "injective,pad", c.inputs[0], {0, 0, t.pads[0], t.pads[1], 0},
                          {0, 0, t.pads[2], t.pads[3], 0}, "i", 0)
                  : c.inputs[0];
  return blocked_sum(s, x, c.inputs[1], c.result(), t);
}

te::Tensor blocked_depthwise(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor x =
      has_pads(t) ? s.pad("PaddedInput", "injective,pad", c.inputs[0],
                          {0, 0, t.pads[0], t.pads[1], 0}, {0, 0, t.pads[2], t.pads[3], 0}, "i", 0)
                  : c.inputs[0];
  const te::Tensor& w = c.inputs[1];
  const std::int64_t block = c.result().back(), in_block = x.extent(4);
  const auto kh = s.axis("kh", w.extent(2)), kw = s.axis("kw", w.extent(3));
  return s.stage("DepthwiseConv2d", "depthwise_conv2d_NCHWc", c.result(),
                 Names{"b", "oco", "oh", "ow", "oci"}, [&](const RelayIndices& at) {
                   const Expr channel = at[1] * block + at[4];
                   return te::sum(x(at[0], te::floordiv(channel, in_block),
                                    at[2] * t.sh + kh * t.dh, at[3] * t.sw + kw * t.dw,
                                    te::floormod(channel, in_block)) *
                                      w(at[1], Expr(0), kh, kw, Expr(0), at[4]),
                                  {kh, kw});
                 });
}

/// The transforms of F(m x m, 3 x 3) at the points 0, -1, 1, 1/2, -2 and infinity.
using Matrix = std::vector<std::vector<double>>;
Matrix input_matrix(std::int64_t m) {
  return m == 2 ? Matrix{{1, 0, 0, 0}, {0, -1, 1, -1}, {-1, 1, 1, 0}, {0, 0, 0, 1}}
                : Matrix{{1, 0, 0, 0, 0, 0},
                         {-1.5, 1, -1, -2, 0.5, 1},
                         {-2, -2.5, 0.5, -1, -1, -1.5},
                         {1.5, 0.5, 2.5, 2, -0.5, -2},
                         {1, 1, 1, 1, 1, 1.5},
                         {0, 0, 0, 0, 0, 1}};
}
Matrix output_matrix(std::int64_t m) {
  return m == 2 ? Matrix{{1, 0}, {1, -1}, {1, 1}, {0, 1}}
                : Matrix{{1, 0, 0, 0},          {1, -1, 1, -1}, {1, 1, 1, 1},
                         {1, 0.5, 0.25, 0.125}, {1, -2, 4, -8}, {0, 0, 0, 1}};
}
te::Tensor constant_matrix(RelayStages& s, const std::string& name, const Matrix& matrix) {
  const auto rows = static_cast<std::int64_t>(matrix.size());
  const auto columns = static_cast<std::int64_t>(matrix[0].size());
  OperationAttrs attrs;
  attrs.const_matrix = true;
  return s.stage(
      name, "", {rows, columns}, Names{"i", "j"},
      [&](const RelayIndices& at) {
        Expr value = s.program().constant(DType::f32, 0.0);
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < columns; ++j) {
            const double element = matrix[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
            value = te::select(te::floormod(at[0], rows) == i && te::floormod(at[1], columns) == j,
                               s.program().constant(DType::f32, element), value);
          }
        }
        return value;
      },
      attrs);
}

te::Tensor winograd(RelayStages& s, const RelayCall& c) {
  const Steps t = steps_of(c.node);
  const te::Tensor& data = c.inputs[0];
  const te::Tensor& w = c.inputs[1];
  const std::int64_t m = c.node.integer("tile_size", 4), alpha = w.extent(0);
  const std::int64_t n = data.extent(0), out_h = c.result()[1], out_w = c.result()[2];
  const std::int64_t rows = (out_h + m - 1) / m, columns = (out_w + m - 1) / m;
  const std::int64_t tiles = n * rows * columns, in = data.extent(3), out = c.result()[3];
  const Shape before{0, t.pads[0], t.pads[1], 0};
  const Shape after{0, rows * m + alpha - m - data.extent(1) - t.pads[0],
                    columns * m + alpha - m - data.extent(2) - t.pads[1], 0};
  const te::Tensor x = s.pad("data_pad", "injective,pad", data, before, after, "i", 0);
  const te::Tensor tile =
      s.stage("input_tile", "", {alpha, alpha, tiles, in}, Names{"eps", "nu", "p", "ci"},
              [&](const RelayIndices& at) {
                return x(te::floordiv(at[2], rows * columns),
                         te::floormod(te::floordiv(at[2], columns), rows) * m + at[0],
                         te::floormod(at[2], columns) * m + at[1], at[3]);
              });
  const te::Tensor b = constant_matrix(s, "B", input_matrix(m));
  const auto ra = s.axis("r_a", alpha), rb = s.axis("r_b", alpha);
  OperationAttrs of_pack, of_inverse;
  of_pack.simplify_const_tensor_indices = {"eps", "nu", "r_a", "r_b"};
  of_inverse.simplify_const_tensor_indices = {"vh", "vw", "r_a", "r_b"};
  const te::Tensor pack = s.stage(
      "data_pack", "", {alpha, alpha, tiles, in}, Names{"eps", "nu", "p", "ci"},
      [&](const RelayIndices& at) {
        return te::sum(tile(ra, rb, at[2], at[3]) * b(ra, at[0]) * b(rb, at[1]), {ra, rb});
      },
      of_pack);
  const auto ci = s.axis("ci", in);
  const te::Tensor product = s.stage(
      "bgemm", "", {alpha, alpha, tiles, out}, Names{"eps", "nu", "p", "co"},
      [&](const RelayIndices& at) {
        return te::sum(pack(at[0], at[1], at[2], ci) * w(at[0], at[1], at[3], ci), {ci});
      },
      free_layout(s, w));
  const te::Tensor a = constant_matrix(s, "A", output_matrix(m));
  const auto qa = s.axis("r_a", alpha), qb = s.axis("r_b", alpha);
  const te::Tensor inverse = s.stage(
      "inverse", "", {m, m, tiles, out}, Names{"vh", "vw", "p", "co"},
      [&](const RelayIndices& at) {
        return te::sum(product(qa, qb, at[2], at[3]) * a(qa, at[0]) * a(qb, at[1]), {qa, qb});
      },
      of_inverse);
  return s.stage("conv2d_winograd", "conv2d_winograd_nhwc", c.result(), Names{"n", "h", "w", "co"},
                 [&](const RelayIndices& at) {
                   return inverse(te::floormod(at[1], m), te::floormod(at[2], m),
                                  at[0] * rows * columns + te::floordiv(at[1], m) * columns +
                                      te::floordiv(at[2], m),
                                  at[3]);
                 });
}

struct Transposed {
  Steps t;
  std::int64_t kh, kw, top, left, bottom, right;
};
Transposed transposed_of(const RelayCall& c) {
  Transposed p{steps_of(c.node), c.shape(1)[2], c.shape(1)[3], 0, 0, 0, 0};
  std::vector<std::int64_t> more = c.node.integers("output_padding");
  more.resize(2, 0);
  p.top = p.kh - 1 - p.t.pads[0];
  p.left = p.kw - 1 - p.t.pads[1];
  p.bottom = p.kh - 1 - p.t.pads[2] + more[0];
  p.right = p.kw - 1 - p.t.pads[3] + more[1];
  return p;
}

/// A convolution of the input with zeros between its elements, in blocks of channels.
te::Tensor transposed_cpu(RelayStages& s, const RelayCall& c) {
  const Transposed p = transposed_of(c);
  const te::Tensor& data = c.inputs[0];
  const te::Tensor& w = c.inputs[1];
  const std::int64_t in = data.extent(1), out = c.result()[1];
  const std::int64_t h = (data.extent(2) - 1) * p.t.sh + 1, v = (data.extent(3) - 1) * p.t.sw + 1;
  const te::Tensor dilated =
      s.stage("data_dilate", "injective,dilate", {data.extent(0), in, h, v}, "i",
              [&](const RelayIndices& at) -> Expr {
                std::vector<Expr> hits;
                if (p.t.sh != 1) {
                  hits.push_back(te::floormod(at[2], p.t.sh) == 0);
                }
                if (p.t.sw != 1) {
                  hits.push_back(te::floormod(at[3], p.t.sw) == 0);
                }
                const Expr value =
                    data(at[0], at[1], te::floordiv(at[2], p.t.sh), te::floordiv(at[3], p.t.sw));
                if (hits.empty()) {
                  return value;
                }
                return te::if_then_else(hits.size() == 1 ? hits[0] : hits[0] && hits[1], value, 0);
              });
  const te::Tensor x = s.pad("data_pad", "injective,pad", dilated, {0, 0, p.top, p.left},
                             {0, 0, p.bottom, p.right}, "i", 0);
  const auto divisor = [](std::int64_t count, std::int64_t most) {
    std::int64_t d = std::min(count, most);
    while (count % d != 0) {
      --d;
    }
    return d;
  };
  const std::int64_t o = divisor(out, 16), i = divisor(in, o);
  const te::Tensor vec =
      s.stage("data_vec", "", {data.extent(0), in / i, x.extent(2), x.extent(3), i},
              Names{"bs", "c", "h", "w", "vc"},
              [&](const RelayIndices& at) { return x(at[0], at[1] * i + at[4], at[2], at[3]); });
  const te::Tensor turned = s.stage("kernel_transform", "", {out, in, p.kh, p.kw},
                                    Names{"o", "i", "h", "w"}, [&](const RelayIndices& at) {
                                      const auto back = [&](std::int64_t k, const Expr& at_k) {
                                        return s.program().constant(DType::i32, k - 1) - at_k;
                                      };
                                      return w(at[1], at[0], back(p.kh, at[2]), back(p.kw, at[3]));
                                    });
  const te::Tensor kernel =
      s.stage("kernel_vec", "", {out / o, in / i, p.kh, p.kw, i, o},
              Names{"occ", "icc", "k_h", "k_w", "icb", "ocb"}, [&](const RelayIndices& at) {
                return turned(at[0] * o + at[5], at[1] * i + at[4], at[2], at[3]);
              });
  Steps plain{1, 1, 1, 1, {0, 0, 0, 0}};
  const te::Tensor sums = blocked_sum(
      s, vec, kernel, {data.extent(0), out / o, c.result()[2], c.result()[3], o}, plain);
  return s.stage("output_unpack", "injective,unpack_nchwc", c.result(), Names{"n", "c", "h", "w"},
                 [&](const RelayIndices& at) {
                   return sums(at[0], te::floordiv(at[1], o), at[2], at[3], te::floormod(at[1], o));
                 });
}

te::Tensor transposed_cuda(RelayStages& s, const RelayCall& c) {
  const Transposed p = transposed_of(c);
  const te::Tensor& data = c.inputs[0];
  const te::Tensor& w = c.inputs[1];
  const std::int64_t in = data.extent(1), groups = c.node.integer("groups", 1);
  const std::int64_t outs = w.extent(1), ins = in / groups;
  const std::int64_t h = (data.extent(2) - 1) * p.t.sh + 1, v = (data.extent(3) - 1) * p.t.sw + 1;
  const te::Tensor x =
      s.stage("data_pad", "", {data.extent(0), in, h + p.top + p.bottom, v + p.left + p.right},
              Names{"n", "c", "y", "x"}, [&](const RelayIndices& at) {
                const Expr y = at[2] - p.top, z = at[3] - p.left;
                const Expr hit = at[3] >= p.left && at[3] < v + p.left &&
                                 te::floormod(z, p.t.sw) == 0 && at[2] >= p.top &&
                                 at[2] < h + p.top && te::floormod(y, p.t.sh) == 0;
                return te::if_then_else(
                    hit, data(at[0], at[1], te::floordiv(y, p.t.sh), te::floordiv(z, p.t.sw)), 0);
              });
  const auto dc = s.axis("dc", ins), dh = s.axis("dh", p.kh), dw = s.axis("dw", p.kw);
  return s.stage("compute", "conv2d_transpose_nchw", c.result(), Names{"b", "c", "h", "w"},
                 [&](const RelayIndices& at) {
                   const Expr channel = te::floordiv(at[1], outs) * ins + dc;
                   const auto back = [&](std::int64_t k, const Expr& tap) {
                     return s.program().constant(DType::i32, k - 1) - tap;
                   };
                   return te::sum(
                       x(at[0], channel, at[2] + dh, at[3] + dw) *
                           w(channel, te::floormod(at[1], outs), back(p.kh, dh), back(p.kw, dw)),
                       {dc, dh, dw});
                 });
}

}  // namespace

std::optional<te::Tensor> relay_convolution(RelayStages& s, const RelayCall& c) {
  const std::string& op = c.node.name;
  const std::string layout = c.node.text("data_layout");
  if (op == "nn.contrib_conv2d_winograd_without_weight_transform") {
    return winograd(s, c);
  }
  if (op == "nn.contrib_conv2d_NCHWc") {
    return blocked(s, c);
  }
  if (op == "nn.contrib_depthwise_conv2d_NCHWc") {
    return blocked_depthwise(s, c);
  }
  if (op == "nn.conv2d_transpose" && layout == "NCHW") {
    if (c.target == RelayTarget::cuda) {
      return transposed_cuda(s, c);
    }
    return c.node.integer("groups", 1) == 1 ? std::optional(transposed_cpu(s, c)) : std::nullopt;
  }
  if (op != "nn.conv2d") {
    return std::nullopt;
  }
  if (is_depthwise(c.node, c.shape(0))) {
    return layout == "NHWC"   ? std::optional(depthwise_nhwc(s, c))
           : layout == "NCHW" ? std::optional(depthwise_nchw(s, c))
                              : std::nullopt;
  }
  if (c.node.integer("groups", 1) != 1) {
    return std::nullopt;
  }
  return layout == "NHWC"   ? std::optional(nhwc(s, c))
         : layout == "NCHW" ? std::optional(nchw(s, c))
                            : std::nullopt;
}

}  // namespace tensorsmith::graph
