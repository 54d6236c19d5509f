// SPDX-License-Identifier: Apache-2.0
// Einsum: sums of products by names of indices, as "bik,bkj->bij" or "...ij->...ji".
#include <algorithm>
#include <cctype>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

/// Indices of one operand: letters, and digits for the axes that an ellipsis stands for, the last
/// one is '0'.
struct Equation {
  std::vector<std::string> operands;
  std::string result, summed;
  std::map<char, std::int64_t> extents;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// "..." becomes `count` digits, the first one of them the greatest.
std::string without_ellipsis(const std::string& term, std::size_t count) {
  const std::size_t at = term.find("...");
  if (at == std::string::npos) {
    return term;
  }
  std::string digits;
  for (std::size_t i = count; i-- > 0;) {
    digits += static_cast<char>('0' + i);
  }
  return term.substr(0, at) + digits + term.substr(at + 3);
}

Equation parse(const std::string& written, const std::vector<Shape>& shapes) {
  std::string text;
  std::copy_if(written.begin(), written.end(), std::back_inserter(text),
               [](char c) { return c != ' '; });
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> terms = split(text.substr(0, arrow), ',');
  const auto wrong = [&] { refuse("has an equation \"" + written + "\" that does not fit"); };
  if (terms.size() != shapes.size()) {
    wrong();
  }
  Equation equation;
  std::size_t most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool has_ellipsis = terms[i].find("...") != std::string::npos;
    const std::size_t letters = terms[i].size() - (has_ellipsis ? 3 : 0);
    if (letters > shapes[i].size() || (!has_ellipsis && letters != shapes[i].size()) ||
        shapes[i].size() - letters > 9) {
      wrong();
    }
    equation.operands.push_back(without_ellipsis(terms[i], shapes[i].size() - letters));
    most = has_ellipsis ? std::max(most, shapes[i].size() - letters) : most;
  }
  std::map<char, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t d = 0; d < shapes[i].size(); ++d) {
      const char c = equation.operands[i][d];
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
        wrong();
      }
      std::int64_t& extent = equation.extents.emplace(c, shapes[i][d]).first->second;
      if (extent != shapes[i][d] && extent != 1 && shapes[i][d] != 1) {
        wrong();
      }
      extent = std::max(extent, shapes[i][d]);
      ++uses[c];
    }
  }
  if (arrow != std::string::npos) {
    equation.result = without_ellipsis(text.substr(arrow + 2), most);
  } else {
    equation.result = without_ellipsis("...", most);
    for (const auto& [c, count] : uses) {
      if (count == 1 && std::isalpha(static_cast<unsigned char>(c)) != 0) {
        equation.result += c;
      }
    }
  }
  for (const char c : equation.result) {
    if (equation.extents.count(c) == 0 ||
        std::count(equation.result.begin(), equation.result.end(), c) != 1) {
      wrong();
    }
  }
  for (const auto& [c, extent] : equation.extents) {
    if (equation.result.find(c) == std::string::npos) {
      equation.summed += c;
    }
  }
  return equation;
}

void infer_einsum(Inference& in) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < in.num_inputs(); ++i) {
    shapes.push_back(in.shape(i));
    if (in.dtype(i) != in.dtype(0)) {
      refuse("has inputs of different types");
    }
  }
  const Equation equation = parse(in.node().text("equation", ""), shapes);
  Shape shape;
  for (const char c : equation.result) {
    shape.push_back(equation.extents.at(c));
  }
  in.set(in.dtype(0), shape);
}

void emit_einsum(Emitter& e) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < e.node().inputs.size(); ++i) {
    shapes.push_back(e.shape(i));
  }
  const Equation equation = parse(e.node().text("equation", ""), shapes);
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  te::ReduceAxes axes;
  std::map<char, Expr> summed;
  for (const char c : equation.summed) {
    axes.push_back(e.axis(std::string(1, c), equation.extents.at(c)));
    summed.emplace(c, axes.back());
  }
  const auto product = [&](const Indices& at) {
    Expr all = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Indices index;
      for (std::size_t d = 0; d < shapes[i].size(); ++d) {
        const char c = equation.operands[i][d];
        const std::size_t place = equation.result.find(c);
        index.push_back(shapes[i][d] == 1            ? Expr(0)
                        : place != std::string::npos ? at[place]
                                                     : summed.at(c));
      }
      const Expr factor = te::cast(wide, e.read(i, index));
      all = i == 0 ? factor : all * factor;
    }
    return all;
  };
  if (axes.empty()) {
    return e.define([&](const Indices& at) { return te::cast(type, product(at)); });
  }
  const te::Tensor total =
      e.stage("", e.result().shape, [&](const Indices& at) { return te::sum(product(at), axes); });
  if (wide == type) {
    return e.define(total);
  }
  e.define([&](const Indices& at) { return te::cast(type, total.at(at)); });
}

}  // namespace

std::vector<OperatorRow> einsum_rows() {
  return {computed_row("Einsum", Pattern::anchor, infer_einsum, emit_einsum)};
}

}  // namespace tensorsmith::graph
