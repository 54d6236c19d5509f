// SPDX-License-Identifier: Apache-2.0
// Products of matrices: MatMul and Gemm.
#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

/// What numpy's matmul makes of shapes: one-dimensional operands are a row or a column.
struct Product {
  Shape a, b;   ///< of at least two dimensions
  Shape batch;  ///< of the result
  std::int64_t m = 1, n = 1, k = 1;
  bool drops_m = false, drops_n = false;
  Shape result() const {
    Shape shape = batch;
    if (!drops_m) {
      shape.push_back(m);
    }
    if (!drops_n) {
      shape.push_back(n);
    }
    return shape;
  }
};

Product product_of(Shape a, Shape b) {
  Product p;
  if (a.empty() || b.empty()) {
    refuse("multiplies a scalar; MatMul is of vectors and matrices");
  }
  p.drops_m = a.size() == 1;
  p.drops_n = b.size() == 1;
  if (p.drops_m) {
    a.insert(a.begin(), 1);
  }
  if (p.drops_n) {
    b.push_back(1);
  }
  p.m = a[a.size() - 2];
  p.k = a.back();
  p.n = b.back();
  if (b[b.size() - 2] != p.k) {
    refuse("multiplies " + shape_text(a) + " by " + shape_text(b) + ", whose sums have " +
           std::to_string(p.k) + " and " + std::to_string(b[b.size() - 2]) + " terms");
  }
  p.batch = spread_shapes(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  p.a = std::move(a);
  p.b = std::move(b);
  return p;
}

void infer_matmul(Inference& in) {
  if (in.dtype(0) != in.dtype(1)) {
    refuse("multiplies " + std::string(name_of(in.dtype(0))) + " by " +
           std::string(name_of(in.dtype(1))));
  }
  in.set(in.dtype(0), product_of(in.shape(0), in.shape(1)).result());
}

/// The batch part of an index into an operand that may be spread.
Indices batch_index(const Indices& batch, const Shape& operand) {
  Indices at;
  const std::size_t rank = operand.size() - 2;
  for (std::size_t d = 0; d < rank; ++d) {
    at.push_back(operand[d] == 1 ? Expr(0) : batch[batch.size() - rank + d]);
  }
  return at;
}

OperationAttrs packing(Emitter& e, std::initializer_list<std::size_t> inputs) {
  OperationAttrs attrs;
  for (const std::size_t i : inputs) {
    const std::string name = e.constant_name(i);
    if (!name.empty()) {
      attrs.layout_free_placeholders.push_back(name);
    }
  }
  return attrs;
}

std::vector<std::string> batch_axes(std::size_t rank) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < rank; ++d) {
    names.push_back("b" + std::to_string(d));
  }
  return names;
}

void emit_matmul(Emitter& e) {
  const Product p = product_of(e.shape(0), e.shape(1));
  const DType wide = ops::detail::accumulator_of(e.result_type());
  const te::ReduceAxis k = e.axis("k", p.k);
  const te::Tensor a = e.tensor(0), b = e.tensor(1);
  std::vector<std::string> axes = batch_axes(p.batch.size());
  if (!p.drops_m) {
    axes.push_back("i");
  }
  if (!p.drops_n) {
    axes.push_back("j");
  }
  const auto body = [&](const Indices& at) {
    const Indices batch(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(p.batch.size()));
    Indices left = batch_index(batch, p.a), right = batch_index(batch, p.b);
    std::size_t next = p.batch.size();
    if (!p.drops_m) {
      left.push_back(at[next++]);
    }
    left.push_back(k);
    right.push_back(k);
    if (!p.drops_n) {
      right.push_back(at[next]);
    }
    return te::sum(te::cast(wide, a.at(left)) * te::cast(wide, b.at(right)), {k});
  };
  const te::Tensor sum = e.stage("", p.result(), body, packing(e, {0, 1}), axes);
  if (wide == e.result_type()) {
    return e.define(sum);
  }
  e.define([&](const Indices& at) { return te::cast(e.result_type(), sum.at(at)); });
}

struct GemmSizes {
  bool trans_a, trans_b;
  std::int64_t m, n, k;
};
GemmSizes gemm_of(const Node& node, const Shape& a, const Shape& b) {
  if (a.size() != 2 || b.size() != 2) {
    refuse("multiplies " + shape_text(a) + " by " + shape_text(b) + "; Gemm is of matrices");
  }
  GemmSizes g{node.integer("transA", 0) != 0, node.integer("transB", 0) != 0, 0, 0, 0};
  g.m = a[g.trans_a ? 1 : 0];
  g.k = a[g.trans_a ? 0 : 1];
  g.n = b[g.trans_b ? 0 : 1];
  if (b[g.trans_b ? 1 : 0] != g.k) {
    refuse("multiplies " + shape_text(a) + " by " + shape_text(b) + ", whose sums have " +
           std::to_string(g.k) + " and " + std::to_string(b[g.trans_b ? 1 : 0]) + " terms");
  }
  return g;
}

void infer_gemm(Inference& in) {
  const GemmSizes g = gemm_of(in.node(), in.shape(0), in.shape(1));
  if (in.has(2) && spread_shapes(in.shape(2), {g.m, g.n}) != Shape{g.m, g.n}) {
    refuse("adds " + shape_text(in.shape(2)) + " to a product " + shape_text({g.m, g.n}));
  }
  in.set(in.dtype(0), {g.m, g.n});
}

void emit_gemm(Emitter& e) {
  const GemmSizes g = gemm_of(e.node(), e.shape(0), e.shape(1));
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  const double alpha = e.node().real("alpha", 1), beta = e.node().real("beta", 1);
  const te::ReduceAxis k = e.axis("k", g.k);
  const te::Tensor a = e.tensor(0), b = e.tensor(1);
  const auto body = [&](const Indices& at) {
    const Expr left = g.trans_a ? a(k, at[0]) : a(at[0], k);
    const Expr right = g.trans_b ? b(at[1], k) : b(k, at[1]);
    return te::sum(te::cast(wide, left) * te::cast(wide, right), {k});
  };
  const te::Tensor sum = e.stage("", {g.m, g.n}, body, packing(e, {0, 1}), {"i", "j"});
  if (alpha == 1 && (!e.has(2) || beta == 0) && wide == type) {
    return e.define(sum);
  }
  const auto scaled = [&](const Expr& x, double by) {
    return by == 1 ? x : is_float(wide) ? x * by : x * static_cast<std::int64_t>(by);
  };
  e.define([&](const Indices& at) {
    Expr value = scaled(sum.at(at), alpha);
    if (e.has(2) && beta != 0) {
      value = value + scaled(te::cast(wide, e.read_spread(2, at)), beta);
    }
    return te::cast(type, value);
  });
}

}  // namespace

std::vector<OperatorRow> product_rows() {
  return {computed_row("MatMul", Pattern::anchor, infer_matmul, emit_matmul),
          computed_row("Gemm", Pattern::anchor, infer_gemm, emit_gemm)};
}

}  // namespace tensorsmith::graph
