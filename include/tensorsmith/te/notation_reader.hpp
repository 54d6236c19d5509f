// SPDX-License-Identifier: Apache-2.0
// NotationReader: from parsed index notation to a dag (te/notation.hpp).
//
// Floor 2. Own design. Reads outside of an extent that the text gives become reads of a padded
// copy, which holds the neutral element of the reduction there (0 where nothing is reduced).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/notation_attributes.hpp"
#include "tensorsmith/te/notation_formula.hpp"
#include "tensorsmith/te/notation_padding.hpp"
#include "tensorsmith/te/notation_ranges.hpp"

namespace tensorsmith::te::detail {

class NotationReader {
 public:
  explicit NotationReader(std::string_view text)
      : text_(text), parsed_(NotationParser(text)()), ranges_(text, parsed_),
        element_(
            [this](std::uint32_t id, std::vector<Expr> at) { return element(id, std::move(at)); }),
        exists_([this](std::uint32_t id) { return exists(id); }),
        formula_(text, parsed_, program_, element_, exists_) {}
  NotationReader(const NotationReader&) = delete;
  NotationReader& operator=(const NotationReader&) = delete;

  Shared<const ComputeDag> operator()() {
    ranges_();
    check_properties();
    for (std::size_t i = 0; i < parsed_.statements.size(); ++i) {
      const NotationStatement& statement = parsed_.statements[i];
      if (statement.kind == StatementKind::input) {
        if (!statement.attributes.empty()) {
          failed(statement.at, "an input without attributes");
        }
        add_input(split_type(statement.name), statement.shape);
        continue;
      }
      try {
        statement.kind == StatementKind::combiner ? combiner(statement)
                                                  : compute(statement, ranges_.statements[i]);
      } catch (const Error& error) {
        const std::string_view what = error.what();
        throw Error(what.starts_with("notation: ")
                        ? std::string(what)
                        : "notation: \"" + statement.name + "\": " + std::string(what));
      }
    }
    return program_.dag(arguments());
  }

 private:
  using Names = NotationFormula::Names;
  [[noreturn]] void failed(std::size_t at, const std::string& expected) const {
    NotationCursor::failed_at(text_, at, expected);
  }
  const Tensor* find(const std::string& name) const {
    for (const Tensor& tensor : tensors_) {
      if (tensor.name() == name) {
        return &tensor;
      }
    }
    return nullptr;
  }

  void add_input(const NameAndType& type, const Shape& shape) {
    tensors_.push_back(program_.placeholder(type.name, shape, type.type));
    inputs_.push_back(tensors_.back());
  }
  void add_new_inputs(std::uint32_t id) {
    const NotationNode& n = parsed_.nodes[id];
    for (std::uint32_t operand : n.operands) {
      add_new_inputs(operand);
    }
    if (n.kind != NotationKind::element) {
      return;
    }
    const std::string name = ranges_.name_of_element(n.name);
    NameAndType type = name == n.name ? NameAndType{name} : split_type(n.name);
    const Tensor* known = find(name);
    if (known == nullptr) {
      add_input(type, ranges_.find(name)->shape);
    } else if (type.has_type && known->dtype() != type.type) {
      failed(n.at, "\"" + name + "\" of its type, " + text(known->dtype()));
    }
  }

  void combiner(const NotationStatement& statement) {
    const std::size_t count = statement.types.size();
    if (statement.formulas.size() != count) {
      failed(statement.at, "a combiner with one result per type");
    }
    std::vector<Expr> identity;
    for (std::uint32_t formula : statement.identity) {
      identity.push_back(formula_(formula, {}));
    }
    const CombinerId id = program_.combiner(
        statement.types, identity, [&](const std::vector<Expr>& lhs, const std::vector<Expr>& rhs) {
          Names names;
          for (std::size_t i = 0; i < count; ++i) {
            names.emplace_back(combiner_variable('x', i, count), lhs[i]);
            names.emplace_back(combiner_variable('y', i, count), rhs[i]);
          }
          std::vector<Expr> results;
          for (std::uint32_t formula : statement.formulas) {
            results.push_back(formula_(formula, names));
          }
          return results;
        });
    combiners_.emplace_back(statement.name + "=", id);
  }

  void compute(const NotationStatement& statement, const StatementRanges& ranges) {
    const bool has_several = statement.formulas.size() > 1;
    const NameAndType type = has_several ? NameAndType{statement.name} : split_type(statement.name);
    ComputeOptions options;
    Shape shape;
    for (const NotationAxis& axis : statement.axes) {
      options.axes.push_back(axis.name);
      shape.push_back(ranges.extent_of(axis.name));
    }
    padding_.clear_reads();
    ranges_here_ = &ranges;
    std::vector<ReadBox> boxes;
    for (std::uint32_t formula : statement.formulas) {
      add_new_inputs(formula);
      pack_reads(formula, options.attrs);
      collect_reads(formula, ranges, boxes);
    }
    for (std::uint32_t formula : statement.formulas) {
      pad_reads(formula, ranges, boxes, neutral_of(statement.way));
    }
    take_attributes(text_, statement, options);
    ReduceAxes axes;
    for (const std::string& name : ranges.reduced) {
      axes.push_back(program_.reduce_axis(name, ranges.extent_of(name)));
    }
    const std::size_t first = tensors_.size();
    const auto body = [&](const std::vector<Expr>& at) {
      Names names;
      for (std::size_t i = 0; i < at.size(); ++i) {
        names.emplace_back(statement.axes[i].name, at[i]);
      }
      for (std::size_t i = 0; i < axes.size(); ++i) {
        names.emplace_back(ranges.reduced[i], axes[i]);
      }
      std::vector<Expr> values;
      for (std::uint32_t formula : statement.formulas) {
        const Expr value = formula_(formula, names);
        values.push_back(value.is_literal() && !has_several ? program_.constant(type.type, value)
                                                            : value);
      }
      return reduced(statement, std::move(values), axes, ranges);
    };
    for (const Tensor& made : program_.compute_all(type.name, shape, body, std::move(options))) {
      tensors_.push_back(made);
      results_.push_back(made);
    }
    if (type.has_type && tensors_[first].dtype() != type.type) {
      failed(statement.at, "a formula of type " + text(type.type) + ", not " +
                               text(tensors_[first].dtype()) + "; " + text(type.type) +
                               "(...) converts");
    }
  }
  std::vector<Expr> reduced(const NotationStatement& statement, std::vector<Expr> values,
                            const ReduceAxes& axes, const StatementRanges& ranges) const {
    if (statement.way == "=") {
      if (!axes.empty()) {
        failed(statement.at, "a reduction such as += instead of =: the left side has no index \"" +
                                 ranges.reduced[0] + "\"");
      }
      return values;
    }
    if (axes.empty()) {
      failed(statement.at, "an index to reduce over by " + statement.way +
                               ", one that the left side does not have");
    }
    for (const NamedReduction& reduction : named_reductions) {
      if (reduction.text == statement.way && values.size() == 1) {
        return {reduction.make(values[0], axes)};
      }
    }
    for (const auto& [way, id] : combiners_) {
      if (way == statement.way) {
        return te::reduce(id, std::move(values), axes);
      }
    }
    failed(statement.at, "=, +=, *=, min=, max=, minimum=, maximum= with one formula or a combiner "
                         "that is defined before, not " +
                             in_quotes(statement.way, 40));
  }
  static double neutral_of(const std::string& way) {
    return way == "*="                          ? 1
           : way == "max=" || way == "maximum=" ? -math::infinity
           : way == "min=" || way == "minimum=" ? math::infinity
                                                : 0;
  }

  /// Of all reads of a tensor in a statement: the values of indices that have an extent behind
  /// them.
  struct ReadBox {
    std::string source;
    std::vector<IndexRange> at;
  };
  void collect_reads(std::uint32_t id, const StatementRanges& ranges,
                     std::vector<ReadBox>& boxes) const {
    const NotationNode& n = parsed_.nodes[id];
    for (std::uint32_t operand : n.operands) {
      collect_reads(operand, ranges, boxes);
    }
    if (n.kind != NotationKind::element) {
      return;
    }
    const std::string source = ranges_.name_of_element(n.name);
    std::size_t which = 0;
    while (which < boxes.size() && boxes[which].source != source) {
      ++which;
    }
    if (which == boxes.size()) {
      boxes.push_back({source, std::vector<IndexRange>(n.operands.size())});
    }
    for (std::size_t d = 0; d < n.operands.size(); ++d) {
      const IndexRange range = ranges.range_of(parsed_, n.operands[d]);
      if (n.extents[d] > 0 && range.is_known) {
        boxes[which].at[d].include(range);
      }
    }
  }
  void pad_reads(std::uint32_t id, const StatementRanges& ranges, const std::vector<ReadBox>& boxes,
                 double neutral) {
    const NotationNode& n = parsed_.nodes[id];
    for (std::uint32_t operand : n.operands) {
      pad_reads(operand, ranges, boxes, neutral);
    }
    if (n.kind != NotationKind::element) {
      return;
    }
    const Tensor source = *find(ranges_.name_of_element(n.name));
    bool leaves = false;
    for (std::size_t d = 0; d < n.operands.size(); ++d) {
      const IndexRange range = ranges.range_of(parsed_, n.operands[d]);
      leaves = leaves || (n.extents[d] > 0 && range.leaves(source.extent(d)));
    }
    for (const ReadBox& box : boxes) {
      if (!leaves || box.source != source.name()) {
        continue;
      }
      if (std::optional<Tensor> made =
              padding_.pad(id, source, box.at, neutral, [&](const std::string& name) {
                return find(name) != nullptr || ranges_.find(name) != nullptr;
              })) {
        tensors_.push_back(*made);
      }
    }
  }
  Expr element(std::uint32_t id, std::vector<Expr> at) const {
    const NotationNode& n = parsed_.nodes[id];
    if (const std::optional<Expr> padded = padding_.element(id, at)) {
      return *padded;
    }
    const Tensor* tensor = find(ranges_.name_of_element(n.name));
    if (tensor == nullptr) {
      failed(n.at, "formulas of combiners that read no tensor");
    }
    return tensor->at(at);
  }

  /// For certain: a padded copy has all that is read of it.
  bool exists(std::uint32_t id) const {
    const NotationNode& n = parsed_.nodes[id];
    const Tensor* tensor = find(ranges_.name_of_element(n.name));
    if (tensor == nullptr || padding_.is_padded(id)) {
      return true;
    }
    for (std::size_t d = 0; d < n.operands.size(); ++d) {
      const IndexRange range = ranges_here_->range_of(parsed_, n.operands[d]);
      if (!range.is_known || range.leaves(tensor->extent(d))) {
        return false;
      }
    }
    return true;
  }

  // --- properties
  void check_properties() const {
    for (const NotationProperty& property : parsed_.properties) {
      if (property.name != "packed" && property.name != "args") {
        failed(property.at, "a property: packed TENSOR ... or args TENSOR ...");
      }
      for (const std::string& name : property.tensors) {
        const TensorRanges* tensor = ranges_.find(name);
        if (tensor == nullptr || property.tensors.empty()) {
          failed(property.at, "tensors of this text, not " + in_quotes(name, 40));
        }
      }
    }
  }
  /// Packed inputs are constants of whoever reads them.
  void pack_reads(std::uint32_t id, OperationAttrs& attrs) const {
    const NotationNode& n = parsed_.nodes[id];
    for (std::uint32_t operand : n.operands) {
      pack_reads(operand, attrs);
    }
    const std::string name =
        n.kind == NotationKind::element ? ranges_.name_of_element(n.name) : std::string();
    for (const NotationProperty& property : parsed_.properties) {
      if (property.name == "packed" && contains(property.tensors, name) &&
          !contains(attrs.layout_free_placeholders, name)) {
        attrs.layout_free_placeholders.push_back(name);
      }
    }
  }
  std::vector<Tensor> arguments() const {
    std::vector<Tensor> list;
    for (const NotationProperty& property : parsed_.properties) {
      if (property.name == "args") {
        for (const std::string& name : property.tensors) {
          list.push_back(*find(name));
        }
        return list;
      }
    }
    list = inputs_;
    for (const Tensor& result : results_) {
      if (!contains(ranges_.read, result.name())) {
        list.push_back(result);
      }
    }
    return list;
  }

  std::string_view text_;
  NotationProgram parsed_;
  NotationRanges ranges_;
  Program program_;
  std::vector<Tensor> tensors_, inputs_, results_;
  std::vector<std::pair<std::string, CombinerId>> combiners_;
  NotationPadding padding_{program_};
  const StatementRanges* ranges_here_ = nullptr;  ///< of the statement that is read
  Callback<Expr(std::uint32_t, std::vector<Expr>)> element_;
  Callback<bool(std::uint32_t)> exists_;
  NotationFormula formula_;
};

}  // namespace tensorsmith::te::detail
