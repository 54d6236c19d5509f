// SPDX-License-Identifier: Apache-2.0
// NotationParser: index notation as a list of statements (te/notation.hpp); nothing is resolved.
//
// Floor 2. Own design; grammar in docs/notation.md. Throws Error that says where in the text what
// was expected. Not here: what names mean (te/notation_reader.hpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/te/notation_formula_parser.hpp"

namespace tensorsmith::te::detail {

class NotationParser {
 public:
  explicit NotationParser(std::string_view text) : size_(text.size()), in_(text) {}
  NotationParser(const NotationParser&) = delete;
  NotationParser& operator=(const NotationParser&) = delete;

  NotationProgram operator()() {
    if (size_ > longest_notation) {
      throw Error("notation: expected at most " + std::to_string(longest_notation) +
                  " bytes, got " + std::to_string(size_));
    }
    if (in_.at_end()) {
      throw Error("notation: expected a statement such as C[i:512,j:512] += A[i,k:512]*B[k,j], got "
                  "nothing");
    }
    statement();
    while (in_.take(";")) {
      if (!in_.at_end() && in_.next() != '|') {  // the last statement may end with it too
        statement();
      }
    }
    if (in_.take("|")) {
      do {
        property();
      } while (in_.take(","));
    }
    if (!in_.at_end()) {
      in_.failed("an operator, \";\" or the end");
    }
    return std::move(program_);
  }

 private:
  static constexpr std::size_t most_axes = 64;

  void statement() {
    NotationStatement made;
    made.at = in_.at();
    made.name = in_.name("the name of a tensor");
    if (made.name == "combine" && in_.at_name()) {
      combiner(made);
    } else {
      in_.expect("[");
      if (in_.at_digit()) {
        made.kind = StatementKind::input;
        do {
          made.shape.push_back(in_.extent());
        } while (in_.take(","));
        in_.expect("]");
      } else {
        made.axes = axes("]");
        if (in_.take(";")) {
          made.has_list = true;
          made.listed = axes("]");
        }
        in_.expect("]");
        if (made.axes.empty() && !made.has_list &&
            (in_.at_end() || in_.next() == ';' || in_.next() == '|' || in_.next() == '{')) {
          made.kind = StatementKind::input;  // one number
        } else {
          compute(made);
        }
      }
    }
    if (in_.take("{")) {
      do {
        made.attributes.push_back(attribute());
      } while (in_.take(","));
      in_.expect("}");
    }
    program_.statements.push_back(std::move(made));
  }
  std::vector<NotationAxis> axes(std::string_view end) {
    std::vector<NotationAxis> list;
    while (in_.at_name()) {
      NotationAxis axis;
      axis.at = in_.at();
      axis.name = in_.name("an index");
      if (in_.take(":")) {
        axis.extent = in_.extent();
      }
      list.push_back(std::move(axis));
      if (list.size() > most_axes) {
        in_.failed("at most " + std::to_string(most_axes) + " indices");
      }
      if (!in_.take(",")) {
        break;
      }
      if (!in_.at_name()) {
        in_.failed("an index: a name by itself");
      }
    }
    if (!in_.next_is(end) && !in_.next_is(";")) {
      in_.failed("an index: on the left of \"=\" names by themselves, such as [i:512,j:512]");
    }
    return list;
  }
  void compute(NotationStatement& made) {
    for (std::string_view symbol : {"+=", "*=", "="}) {
      if (made.way.empty() && in_.next_is(symbol) && !in_.next_is("==")) {
        made.way = symbol;
        in_.take(symbol);
      }
    }
    if (made.way.empty()) {
      const std::size_t begin = in_.at();
      made.way = in_.at_name() ? in_.name("") + "=" : "";
      if (made.way.empty() || in_.next_is("==") || !in_.take("=")) {
        in_.failed_at(begin, "\"=\", \"+=\", \"*=\", \"max=\", \"min=\" or \"NAME=\"");
      }
    }
    // Several formulas stand in parentheses, as one may.
    const std::size_t begin = in_.at();
    const std::size_t num_nodes = program_.nodes.size();
    if (in_.take("(")) {
      made.formulas = {formula_()};
      while (in_.take(",")) {
        made.formulas.push_back(formula_());
      }
      if (made.formulas.size() > 1) {
        in_.expect(")");
        return;
      }
      in_.return_to(begin);
      program_.nodes.resize(num_nodes);
    }
    made.formulas = {formula_()};
  }
  /// combine NAME(TYPE = IDENTITY, ...) = (RESULT, ...)
  void combiner(NotationStatement& made) {
    made.kind = StatementKind::combiner;
    made.name = in_.name("the name of a combiner");
    in_.expect("(");
    do {
      const std::size_t begin = in_.at();
      const NameAndType type = split_type("x." + in_.name("a type"));
      if (!type.has_type) {
        in_.failed_at(begin, "a type such as f32");
      }
      made.types.push_back(type.type);
      in_.expect("=");
      made.identity.push_back(formula_());
    } while (in_.take(","));
    in_.expect(")");
    in_.expect("=");
    in_.expect("(");
    do {
      made.formulas.push_back(formula_());
    } while (in_.take(","));
    in_.expect(")");
  }
  NotationAttribute attribute() {
    NotationAttribute made;
    made.at = in_.at();
    made.name = in_.name("the name of an attribute");
    if (!in_.take(":")) {
      return made;
    }
    if (in_.take("[")) {
      made.has_list = true;
      do {
        made.texts.push_back(in_.quotation());
      } while (in_.take(","));
      in_.expect("]");
    } else if (in_.next_is("\"")) {
      made.texts.push_back(in_.quotation());
    } else {
      const NotationNode value = in_.number();
      made.number =
          value.kind == NotationKind::real ? value.real : static_cast<double>(value.integer);
      made.has_number = true;
    }
    return made;
  }
  void property() {
    NotationProperty made;
    made.at = in_.at();
    made.name = in_.name("a property: packed TENSOR ... or args TENSOR ...");
    while (in_.at_name()) {
      made.tensors.push_back(in_.name("a tensor"));
    }
    program_.properties.push_back(std::move(made));
  }

  std::size_t size_;
  NotationCursor in_;
  NotationProgram program_;
  NotationFormulaParser formula_{in_, program_.nodes};
};

}  // namespace tensorsmith::te::detail
