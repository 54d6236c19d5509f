// SPDX-License-Identifier: Apache-2.0
// NotationRanges: the extents of all iterators and inputs of parsed index notation.
//
// Floor 2. Own design. An iterator gets its extent from the statement itself, else from the tensors
// that it indexes by itself, else from a statement before. An input that is not declared is as
// large as it is read, or as the text says.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/compute_dag_build.hpp"
#include "tensorsmith/te/notation_index_range.hpp"
#include "tensorsmith/te/notation_parser.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te::detail {

struct TensorRanges {
  std::string name;
  std::vector<std::int64_t> shape;  ///< of an input that is not declared: as far as it is known
  std::vector<bool> is_fixed;       ///< by dimension: said, not inferred
  bool is_inferred = false;         ///< an input that is not declared
};

class NotationRanges {
 public:
  /// Extents that an index gives its iterator are taken out of `program`; those that remain are of
  /// dimensions.
  NotationRanges(std::string_view text, NotationProgram& program)
      : text_(text), program_(program) {}

  void operator()() {
    for (const NotationStatement& statement : program_.statements) {
      StatementRanges ranges;
      if (statement.kind == StatementKind::input) {
        add(statement, split_type(statement.name).name, statement.shape);
      } else if (statement.kind == StatementKind::compute) {
        ranges = ranges_of(statement);
      }
      statements.push_back(std::move(ranges));
    }
  }

  /// The shape of a tensor, by its name without a type; nothing if there is none of that name.
  const TensorRanges* find(const std::string& name) const {
    for (const TensorRanges& tensor : tensors) {
      if (tensor.name == name) {
        return &tensor;
      }
    }
    return nullptr;
  }
  /// What the text of an element names: a tensor of that name, or of that name and type.
  std::string name_of_element(const std::string& text) const {
    return find(text) != nullptr ? text : split_type(text).name;
  }

  std::vector<StatementRanges> statements;
  std::vector<TensorRanges> tensors;
  std::vector<std::string> read;  ///< names of tensors that formulas read

 private:
  [[noreturn]] void failed(std::size_t at, const std::string& expected) const {
    NotationCursor::failed_at(text_, at, expected);
  }
  void add(const NotationStatement& statement, const std::string& name,
           const std::vector<std::int64_t>& shape) {
    if (const TensorRanges* known = find(name)) {
      failed(statement.at, known->is_inferred
                               ? "\"" + name + "\" in front of the formulas that read it"
                               : "a name that is not taken, \"" + name + "\" is");
    }
    tensors.push_back({name, shape, std::vector<bool>(shape.size(), true), false});
  }

  StatementRanges ranges_of(const NotationStatement& statement) {
    StatementRanges ranges;
    const auto bind = [&](const NotationAxis& axis) {
      if (ranges.extent_of(axis.name) > 0 || contains(names_, axis.name)) {
        failed(axis.at, "every index once");
      }
      names_.push_back(axis.name);
      if (axis.extent > 0) {
        ranges.extents.emplace_back(axis.name, axis.extent);
      }
    };
    names_.clear();
    for (const NotationAxis& axis : statement.axes) {
      bind(axis);
    }
    const std::size_t num_spatial = names_.size();
    for (const NotationAxis& axis : statement.listed) {
      bind(axis);
    }
    for (std::uint32_t formula : statement.formulas) {
      meet(formula, statement, ranges);
    }
    ranges.reduced.assign(names_.begin() + static_cast<std::ptrdiff_t>(num_spatial), names_.end());
    for (const std::string& name : names_) {
      if (ranges.extent_of(name) == 0) {
        ranges.extents.emplace_back(name, inferred(name, statement));
      }
    }
    for (const auto& [name, extent] : ranges.extents) {
      remember(name, extent);
    }
    for (std::uint32_t formula : statement.formulas) {
      read_elements(formula, ranges, false);
    }
    const bool has_several = statement.formulas.size() > 1;
    const std::string name = has_several ? statement.name : split_type(statement.name).name;
    std::vector<std::int64_t> shape;
    for (const NotationAxis& axis : statement.axes) {
      shape.push_back(ranges.extent_of(axis.name));
    }
    for (std::size_t i = 0; i < statement.formulas.size(); ++i) {
      add(statement, has_several ? name + ".v" + std::to_string(i) : name, shape);
    }
    return ranges;
  }

  /// Iterators in the order of the text, and the extents that stand behind them.
  void meet(std::uint32_t id, const NotationStatement& statement, StatementRanges& ranges) {
    NotationNode& n = program_.nodes[id];
    if (n.kind == NotationKind::name && !contains(names_, n.name)) {
      if (n.name == "inf" || n.name == "nan") {
        return;
      }
      if (statement.has_list) {
        failed(n.at, "an index of the left side or of its list behind \";\", not " +
                         in_quotes(n.name, 40));
      }
      names_.push_back(n.name);
    }
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      meet(n.operands[i], statement, ranges);
      const NotationNode& index = program_.nodes[n.operands[i]];
      if (n.kind == NotationKind::element && n.extents[i] > 0 && index.kind == NotationKind::name &&
          ranges.extent_of(index.name) == 0) {
        ranges.extents.emplace_back(index.name, n.extents[i]);
        n.extents[i] = 0;
      }
    }
  }

  /// The extent of an iterator of which the statement says none.
  std::int64_t inferred(const std::string& name, const NotationStatement& statement) const {
    std::vector<std::int64_t> found;
    for (std::uint32_t formula : statement.formulas) {
      indexed_extents(formula, name, found);
    }
    for (const auto& [known, extent] : last_extents_) {
      if (known == name) {
        found.push_back(extent);
      }
    }
    if (found.empty()) {
      failed(statement.at, "an extent of index \"" + name + "\", such as " + name +
                               ":512, where it stands by itself");
    }
    for (std::int64_t extent : found) {
      if (extent != found[0]) {
        failed(statement.at, "an extent of index \"" + name + "\", which could be " +
                                 std::to_string(found[0]) + " or " + std::to_string(extent));
      }
    }
    return found[0];
  }
  /// Of the known tensors that it indexes by itself.
  void indexed_extents(std::uint32_t id, const std::string& name,
                       std::vector<std::int64_t>& found) const {
    const NotationNode& n = program_.nodes[id];
    const TensorRanges* tensor =
        n.kind == NotationKind::element ? find(name_of_element(n.name)) : nullptr;
    for (std::size_t d = 0; d < n.operands.size(); ++d) {
      const NotationNode& index = program_.nodes[n.operands[d]];
      if (tensor != nullptr && !tensor->is_inferred && d < tensor->shape.size() &&
          index.kind == NotationKind::name && index.name == name) {
        found.push_back(tensor->shape[d]);
      }
      indexed_extents(n.operands[d], name, found);
    }
  }
  void remember(const std::string& name, std::int64_t extent) {
    for (auto& [known, last] : last_extents_) {
      if (known == name) {
        last = extent;
        return;
      }
    }
    last_extents_.emplace_back(name, extent);
  }

  /// Checks what a formula reads and enlarges inputs that are not declared. `is_guarded`: an
  /// element need not be read.
  void read_elements(std::uint32_t id, const StatementRanges& ranges, bool is_guarded) {
    const NotationNode& n = program_.nodes[id];
    const bool guards =
        n.kind == NotationKind::conditional ||
        (n.kind == NotationKind::call && (n.name == "select" || n.name == "if_then_else"));
    for (std::uint32_t operand : n.operands) {
      read_elements(operand, ranges, is_guarded || guards);
    }
    if (n.kind == NotationKind::element) {
      const std::string name = name_of_element(n.name);
      if (find(name) == nullptr) {
        tensors.push_back({name, std::vector<std::int64_t>(n.operands.size(), 0),
                           std::vector<bool>(n.operands.size(), false), true});
      }
      for (TensorRanges& tensor : tensors) {
        if (tensor.name == name) {
          read_element(n, tensor, ranges, is_guarded);
        }
      }
      if (!contains(read, name)) {
        read.push_back(name);
      }
    }
  }
  void read_element(const NotationNode& n, TensorRanges& tensor, const StatementRanges& ranges,
                    bool is_guarded) const {
    if (tensor.shape.size() != n.operands.size()) {
      failed(n.at, std::to_string(tensor.shape.size()) + " indices of \"" + tensor.name +
                       "\", not " + std::to_string(n.operands.size()));
    }
    for (std::size_t d = 0; d < n.operands.size(); ++d) {
      const NotationNode& index = program_.nodes[n.operands[d]];
      const IndexRange range = ranges.range_of(program_, n.operands[d]);
      const std::string ask = "an extent behind this index, such as " + tensor.name +
                              "[...:512]: outside of it zeros are read, or what changes a "
                              "reduction as little";
      std::int64_t& extent = tensor.shape[d];
      if (n.extents[d] > 0) {
        if (tensor.is_fixed[d] && extent != n.extents[d]) {
          failed(index.at, "the extent " + std::to_string(extent) + " of dimension " +
                               std::to_string(d) + " of \"" + tensor.name + "\", not " +
                               std::to_string(n.extents[d]));
        }
        extent = n.extents[d];
        tensor.is_fixed[d] = true;
      } else if (!tensor.is_fixed[d]) {
        if (!range.is_known || range.low < 0 || range.high >= INT32_MAX) {
          failed(index.at, ask);
        }
        extent = extent > range.high ? extent : range.high + 1;
      } else if (!is_guarded && leaves(n.operands[d], range, extent)) {
        failed(index.at, ask + "; \"" + tensor.name + "\" has " + std::to_string(extent) +
                             " there, the index goes from " + std::to_string(range.low) + " to " +
                             std::to_string(range.high));
      }
    }
  }
  /// Whether both ends of the range are reached for certain and one is outside.
  bool leaves(std::uint32_t id, const IndexRange& range, std::int64_t extent) const {
    std::vector<std::string> met;
    return range.leaves(extent) && is_exact(id, met);
  }
  bool is_exact(std::uint32_t id, std::vector<std::string>& met) const {
    const NotationNode& n = program_.nodes[id];
    if (n.kind == NotationKind::name) {
      const bool is_new = !contains(met, n.name);
      met.push_back(n.name);
      return is_new;
    }
    bool exact = n.kind == NotationKind::integer || n.kind == NotationKind::prefix ||
                 (n.kind == NotationKind::infix && n.name != "%");
    for (std::uint32_t operand : n.operands) {
      exact = exact && is_exact(operand, met);
    }
    return exact;
  }

  std::string_view text_;
  NotationProgram& program_;
  std::vector<std::string> names_;  ///< iterators of the statement
  std::vector<std::pair<std::string, std::int64_t>> last_extents_;
};

}  // namespace tensorsmith::te::detail
