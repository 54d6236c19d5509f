// SPDX-License-Identifier: Apache-2.0
// CLikeWriter: lines, names and assignments of a function body of the C family.
//
// Floor 5. Own design. Shared by exported C++ (cpp_source.hpp) and CUDA (cuda_source.hpp).
// Not here: which loops and vectors there are, declarations.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/codegen/c_like.hpp"

namespace tensorsmith::detail {

class CLikeWriter : protected CLikePrinter {
 protected:
  CLikeWriter(const LoopProgram& program, CDialect dialect)
      : CLikePrinter(program, dialect), names_(dialect) {}

  void line(const std::string& text) {
    out_.append(2 * indent_, ' ');
    out_ += text;
    out_ += '\n';
  }
  void open(const std::string& text) {
    line(text + " {");
    ++indent_;
  }
  void close() {
    --indent_;
    line("}");
  }

  /// The branch that is known to be taken, through `emit`; else both in braces, through
  /// `emit_block`.
  template <class Emit, class EmitBlock>
  void write_branch(const If& branch, const Emit& emit, const EmitBlock& emit_block) {
    if (const auto known = constant(branch.condition)) {
      if (*known != 0 || branch.else_body.valid()) {
        emit(*known != 0 ? branch.then_body : branch.else_body);
      }
      return;
    }
    open("if (" + value(branch.condition).text + ")");
    emit_block(branch.then_body);
    if (branch.else_body.valid()) {
      --indent_;
      open("} else");
      emit_block(branch.else_body);
    }
    close();
  }

  const std::string& name(BufferId id) const { return names_of_[id.value]; }

  /// The value of an element that stands in memory as `text`.
  static CText loaded(const std::string& text, DType type) {
    switch (type) {
    case DType::f16:
      return {"from_f16(" + text + ")"};
    case DType::bf16:
      return {"from_bf16(" + text + ")"};
    case DType::boolean:
      return {text + " != 0", CText::compare};
    default:
      return {text};
    }
  }
  /// What goes to memory for a value.
  static std::string stored(const CText& value, DType type) {
    return type == DType::f16       ? "to_f16(" + value.text + ")"
           : type == DType::bf16    ? "to_bf16(" + value.text + ")"
           : type == DType::boolean ? "(" + value.text + ") ? 1 : 0"
                                    : value.text;
  }
  /// The text after the name of an element, with `=` or `+=`.
  std::string assignment(const Store& store) const {
    if (const Binary* sum = added_to_itself(store)) {
      return " += " + value(sum->b).text + ";";
    }
    return " = " + stored(value(store.value), program_[store.buffer].dtype) + ";";
  }
  /// element = element + b of floats that are stored as they are computed.
  const Binary* added_to_itself(const Store& store) const {
    const DType type = program_[store.buffer].dtype;
    const Binary* sum = program_.pool.as<Binary>(store.value);
    if ((type != DType::f32 && type != DType::f64) || sum == nullptr || sum->op != BinaryOp::add) {
      return nullptr;
    }
    const Load* old = program_.pool.as<Load>(sum->a);
    return old != nullptr && old->buffer == store.buffer && old->indices == store.indices ? sum
                                                                                          : nullptr;
  }

  NameTable names_;
  std::vector<std::string> names_of_;  ///< by buffer
  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace tensorsmith::detail
