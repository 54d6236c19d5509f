// SPDX-License-Identifier: Apache-2.0
// Accesses and whole-vector stores of exported C++.
//
// Floor 5. Own design. A vectorized loop's variable is bound to a mark, so that the text of an
// access says how its address depends on the lane. Not here: loops, allocations (cpp_source.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/c_like_writer.hpp"
#include "tensorsmith/codegen/register_plan.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

class CppVectorPrinter : protected CLikeWriter {
 protected:
  CppVectorPrinter(const LoopProgram& program, std::int32_t vector_bytes)
      : CLikeWriter(program, CDialect::cpp), plan_(plan_registers(program, vector_bytes)) {}

  static constexpr const char* lane_mark = "@lane";

  // --- accesses --------------------------------------------------------------------------------
  /// The variable that holds the element, and its lane ("" = all of it).
  std::pair<std::string, std::string> variable(BufferId id, const ExprList& indices) const {
    const std::int32_t lanes = plan_.lanes[id.value];
    const LinearText at = offset(id, indices);
    std::string lane;
    for (const auto& [text, coefficient] : at.terms) {
      TENSORSMITH_ASSERT(lane.empty() && coefficient == 1, "register index is not constant");
      lane = text;
    }
    std::int64_t first = at.constant;
    if (lanes > 1 && lane.empty()) {
      const std::int64_t last = linear(indices.back()).constant % lanes;
      lane = std::to_string(last);
      first -= last;
    }
    return {name(id) + "_" + std::to_string(first), lane};
  }
  std::string element(BufferId id, const ExprList& indices) const {
    if (plan_.lanes[id.value] > 0) {
      const auto [variable_name, lane] = variable(id, indices);
      return lane.empty() ? variable_name : variable_name + "[" + lane + "]";
    }
    return name(id) + "[" + offset(id, indices).print().text + "]";
  }
  CText load(const Load& node) const override {
    return loaded(element(node.buffer, node.indices), program_[node.buffer].dtype);
  }
  // --- vectors ---------------------------------------------------------------------------------
  struct VectorText {
    CText text;
    bool is_vector = false;
  };
  std::string vector_type(DType type, std::int32_t lanes) {
    if (!has_item(vector_types_, std::pair{type, lanes})) {
      vector_types_.emplace_back(type, lanes);
    }
    return std::string(name_of(type)) + "x" + std::to_string(lanes);
  }
  static bool mentions_lane(const std::string& text) {
    return text.find(lane_mark) != std::string::npos;
  }
  /// The lanes of a buffer access, if they are neighbours in memory or one variable.
  std::optional<std::string> vector_access(BufferId id, const ExprList& indices, std::int32_t lanes,
                                           bool is_const) {
    const DType type = program_[id].dtype;
    if (type != DType::f32 && type != DType::f64) {
      return std::nullopt;
    }
    if (plan_.lanes[id.value] > 0) {
      const auto [variable_name, lane] = variable(id, indices);
      return lane == lane_mark && plan_.lanes[id.value] == lanes
                 ? std::optional<std::string>(variable_name)
                 : std::nullopt;
    }
    LinearText at = offset(id, indices);
    if (at.coefficient_of(lane_mark) != 1) {
      return std::nullopt;
    }
    at.add_term(lane_mark, -1);
    const CText base = at.print();
    if (mentions_lane(base.text)) {
      return std::nullopt;
    }
    const std::string address =
        at.is_constant() && at.constant == 0 ? name(id) : "(" + name(id) + " + " + base.text + ")";
    return "*(" + std::string(is_const ? "const " : "") + vector_type(type, lanes) + "u*)" +
           address;
  }
  std::optional<VectorText> vector_value(ExprId id, DType type, std::int32_t lanes) {
    const CText scalar = value(id);
    if (program_.pool.dtype(id) != type) {
      return std::nullopt;
    }
    if (!mentions_lane(scalar.text)) {
      return VectorText{scalar, false};
    }
    if (const Load* node = program_.pool.as<Load>(id)) {
      const auto text = vector_access(node->buffer, node->indices, lanes, true);
      return text ? std::optional<VectorText>(
                        {{*text, text->front() == '*' ? CText::unary : CText::atom}, true})
                  : std::nullopt;
    }
    if (const Unary* negative = program_.pool.as<Unary>(id)) {
      const auto a =
          negative->op == UnaryOp::neg ? vector_value(negative->a, type, lanes) : std::nullopt;
      return a ? std::optional<VectorText>(
                     {{"-" + a->text.within(CText::atom), CText::unary}, true})
               : std::nullopt;
    }
    if (const Call* call = program_.pool.as<Call>(id)) {
      return vector_call(*call, type, lanes);
    }
    if (const Select* choice = program_.pool.as<Select>(id)) {
      return vector_choice(*choice, type, lanes);
    }
    const Binary* node = program_.pool.as<Binary>(id);
    if (node == nullptr) {
      return std::nullopt;
    }
    auto a = vector_value(node->a, type, lanes), b = vector_value(node->b, type, lanes);
    if (!a || !b) {
      return std::nullopt;
    }
    const auto infix = [&](const char* op, CText::Strength strength) {
      const auto right = static_cast<CText::Strength>(strength + 1);
      return VectorText{{a->text.within(strength) + op + b->text.within(right), strength}, true};
    };
    switch (node->op) {
    case BinaryOp::add:
      return infix(" + ", CText::add);
    case BinaryOp::sub:
      return infix(" - ", CText::add);
    case BinaryOp::mul:
      return infix(" * ", CText::mul);
    case BinaryOp::div:
      return infix(" / ", CText::mul);
    case BinaryOp::min:
    case BinaryOp::max: {
      // v op constant: the comparison is false for NaN, so the constant is taken, as it must.
      if (program_.pool.as<FloatImm>(node->a) != nullptr) {
        std::swap(a, b);
      } else if (program_.pool.as<FloatImm>(node->b) == nullptr) {
        return VectorText{{std::string(node->op == BinaryOp::min ? "min_of<" : "max_of<") +
                           vector_type(type, lanes) + ">(" + broadcast(*a, type, lanes) + ", " +
                           broadcast(*b, type, lanes) + ")"},
                          true};
      }
      const std::string type_name = vector_type(type, lanes);
      std::string v = a->text.text;
      if (a->text.strength != CText::atom) {
        v = names_.unique("v");
        line("const " + type_name + " " + v + " = " + a->text.text + ";");
      }
      const std::string limit = names_.unique("limit");
      line("const " + type_name + " " + limit + " = " + b->text.within(CText::mul) + " - " +
           type_name + "{};");
      return VectorText{
          {v + (node->op == BinaryOp::min ? " < " : " > ") + limit + " ? " + v + " : " + limit,
           CText::ternary},
          true};
    }
    default:
      return std::nullopt;
    }
  }
  /// In every lane the same. x - 0 is x for every x; 0 + x would lose -0.
  std::string broadcast(const VectorText& value, DType type, std::int32_t lanes) {
    return value.is_vector
               ? value.text.text
               : value.text.within(CText::mul) + " - " + vector_type(type, lanes) + "{}";
  }
  std::optional<VectorText> vector_call(const Call& call, DType type, std::int32_t lanes) {
    if (type != DType::f32 || !(is_own_function(call.op) || call.op == CallOp::sqrt)) {
      return std::nullopt;
    }
    const auto a = vector_value(call.args[0], type, lanes);
    return a ? std::optional<VectorText>(
                   {{std::string(name_of(call.op)) + "_of(" + broadcast(*a, type, lanes) + ")"},
                    true})
             : std::nullopt;
  }
  /// A comparison of numbers of `type`, by lanes.
  std::optional<VectorText> vector_choice(const Select& choice, DType type, std::int32_t lanes) {
    const Binary* condition = program_.pool.as<Binary>(choice.condition);
    if (condition == nullptr || !is_comparison(condition->op)) {
      return std::nullopt;
    }
    const auto a = vector_value(condition->a, type, lanes);
    const auto b = vector_value(condition->b, type, lanes);
    const auto yes = vector_value(choice.if_true, type, lanes);
    const auto no = vector_value(choice.if_false, type, lanes);
    if (!a || !b || !yes || !no) {
      return std::nullopt;
    }
    return VectorText{{"(" + broadcast(*a, type, lanes) + ") " +
                           std::string(text_of(condition->op)) + " (" + broadcast(*b, type, lanes) +
                           ") ? (" + broadcast(*yes, type, lanes) + ") : (" +
                           broadcast(*no, type, lanes) + ")",
                       CText::ternary},
                      true};
  }
  /// Emits the store for all lanes at once; false (and nothing emitted) if it cannot be.
  bool vector_store(const Store& store, std::int32_t lanes) {
    const std::size_t start = out_.size();
    const DType type = program_[store.buffer].dtype;
    const auto target = vector_access(store.buffer, store.indices, lanes, false);
    const Binary* sum = added_to_itself(store);
    const auto text =
        target ? vector_value(sum != nullptr ? sum->b : store.value, type, lanes) : std::nullopt;
    if (!text) {
      out_.resize(start);
      return false;
    }
    const std::string value = sum != nullptr ? text->text.text : broadcast(*text, type, lanes);
    line(*target + (sum != nullptr ? " += " : " = ") + value + ";");
    return true;
  }

  RegisterPlan plan_;
  std::vector<std::pair<DType, std::int32_t>> vector_types_;
};

}  // namespace tensorsmith::detail
