// SPDX-License-Identifier: Apache-2.0
#include "graph/fold.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <variant>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/value.hpp"

namespace tensorsmith::graph {
namespace {

constexpr std::size_t block = 256;  // elements at a time
using Lanes = std::array<Scalar, block>;
using Mask = std::array<bool, block>;
using Register = std::size_t;

struct Instruction;
/// Instructions in order; those of an arm of if_then_else run where it is chosen.
struct Code {
  std::vector<Instruction> instructions;
};
struct Instruction {
  const ExprNode* node = nullptr;
  DType type = DType::f32;  ///< of the operands of arithmetic, of what a cast converts
  bool wraps = true;
  std::vector<Register> operands;
  Register result = 0;
  std::vector<Code> arms;  ///< of if_then_else: two
};

class Folder {
 public:
  explicit Folder(const ComputeDag& dag) : dag_(dag), pool_(dag.pool()) {
    tensors_.resize(dag.tensors().size());
  }

  bool set(TensorId id, const HostArray& array) {
    const TensorInfo& info = dag_.tensor(id);
    const bool fits =
        array.dtype == info.dtype &&
        std::equal(array.shape.begin(), array.shape.end(), info.shape.begin(), info.shape.end());
    if (fits) {
      tensors_[id.value] = array;
    }
    return fits;
  }
  bool run() {
    for (const Operation& op : dag_.operations()) {
      if (!op.is_placeholder()) {
        for (const TensorId id : op.outputs) {
          const TensorInfo& info = dag_.tensor(id);
          tensors_[id.value] = HostArray(info.dtype, {info.shape.begin(), info.shape.end()});
        }
        if (!run(op)) {
          return false;
        }
      }
    }
    return true;
  }
  HostArray& tensor(TensorId id) { return tensors_[id.value]; }

 private:
  struct Known {
    Register at = 0;
    bool is_element = false;  ///< decides how whole numbers wrap
  };
  /// What has been computed, by expression; an arm of if_then_else sees what is around it.
  struct Memory {
    const Memory* around = nullptr;
    std::map<std::uint32_t, Known> known;

    const Known* find(ExprId id) const {
      for (const Memory* memory = this; memory != nullptr; memory = memory->around) {
        const auto found = memory->known.find(id.value);
        if (found != memory->known.end()) {
          return &found->second;
        }
      }
      return nullptr;
    }
  };

  // --- taking apart ------------------------------------------------------------------------------
  Register fresh() {
    if (num_used_ == registers_.size()) {
      registers_.emplace_back();
    }
    registers_[num_used_].fill(scalar_of(0));
    return num_used_++;
  }
  Known compile(ExprId id, Code& code, Memory& memory) {
    if (const Known* found = memory.find(id)) {
      return *found;
    }
    const ExprNode& node = pool_[id];
    if (const VarRef* var = std::get_if<VarRef>(&node.op)) {
      return variables_.at(var->var.value);
    }
    Known made{fresh(), false};
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      registers_[made.at].fill(scalar_of(imm->value));
    } else if (const FloatImm* real = std::get_if<FloatImm>(&node.op)) {
      registers_[made.at].fill(scalar_of_real(round_arithmetic(real->value, node.dtype)));
    } else {
      Instruction instruction;
      instruction.node = &node;
      instruction.result = made.at;
      made.is_element = operands(id, instruction, code, memory);
      instruction.wraps = made.is_element || !is_index_type(instruction.type);
      code.instructions.push_back(std::move(instruction));
    }
    memory.known.emplace(id.value, made);
    return made;
  }
  /// Compiles what the node reads; whether an element is in its value.
  bool operands(ExprId id, Instruction& to, Code& code, Memory& memory) {
    const ExprNode& node = pool_[id];
    bool is_element = false;
    const auto add = [&](ExprId operand) {
      const Known known = compile(operand, code, memory);
      to.operands.push_back(known.at);
      is_element = is_element || known.is_element;
    };
    to.type = node.dtype;
    if (const Call* call = std::get_if<Call>(&node.op)) {
      if (call->op == CallOp::if_then_else) {
        to.operands.push_back(compile(call->args[0], code, memory).at);
        for (const std::size_t arm : {1, 2}) {
          Memory inner{&memory, {}};
          Code body;
          const Known known = compile(call->args[arm], body, inner);
          to.operands.push_back(known.at);
          to.arms.push_back(std::move(body));
          is_element = is_element || known.is_element || has_element(call->args[arm]);
        }
        return is_element;
      }
      to.type = arithmetic_type(node.dtype);
    } else if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      to.type = arithmetic_type(pool_.dtype(binary->a));
    } else if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      to.type = pool_.dtype(cast->a);
    } else if (const Select* select = std::get_if<Select>(&node.op)) {
      to.operands.push_back(compile(select->condition, code, memory).at);
      add(select->if_true);
      add(select->if_false);
      return is_element;
    }
    for_each_child(node, add);
    return is_element || std::holds_alternative<TensorRead>(node.op);
  }
  static DType arithmetic_type(DType type) { return is_float(type) ? DType::f64 : type; }
  bool has_element(ExprId id) const {
    return any_node(pool_, id, [&](ExprId node) { return pool_.as<TensorRead>(node) != nullptr; });
  }

  // --- running -----------------------------------------------------------------------------------
  bool run(const Operation& op) {
    num_used_ = 0;
    variables_.clear();
    for (const auto* axes : {&op.axes, &op.reduce_axes}) {
      for (const Axis& axis : *axes) {
        variables_.emplace(axis.var.value, Known{fresh(), false});
      }
    }
    const Reduce* reduce = pool_.as<Reduce>(op.bodies[0]);
    Code code, combine, identity;
    Memory memory;
    std::vector<Register> values, totals, next, first;
    if (reduce != nullptr) {
      const Combiner& combiner = pool_.combiner(reduce->combiner);
      for (std::size_t k = 0; k < combiner.lhs.size(); ++k) {
        totals.push_back(fresh());
        values.push_back(compile(reduce->sources[k], code, memory).at);
        variables_.insert_or_assign(combiner.lhs[k].value, Known{totals[k], true});
        variables_.insert_or_assign(combiner.rhs[k].value, Known{values[k], true});
      }
      Memory of_identity, of_results;
      for (std::size_t k = 0; k < combiner.lhs.size(); ++k) {
        first.push_back(compile(combiner.identity[k], identity, of_identity).at);
        next.push_back(compile(combiner.results[k], combine, of_results).at);
      }
    } else {
      for (const ExprId body : op.bodies) {
        values.push_back(compile(body, code, memory).at);
      }
    }
    const std::int64_t count = tensors_[op.outputs[0].value].num_elements();
    for (std::int64_t start = 0; start < count; start += static_cast<std::int64_t>(block)) {
      size_ = static_cast<std::size_t>(std::min(count - start, static_cast<std::int64_t>(block)));
      place_axes(op.axes, start);
      if (!(reduce == nullptr ? execute(code, nullptr)
                              : execute(identity, nullptr) &&
                                    reduce_block(op, code, combine, first, next, totals))) {
        return false;
      }
      for (std::size_t k = 0; k < op.bodies.size(); ++k) {
        const std::size_t from =
            reduce == nullptr
                ? values[k]
                : totals[static_cast<std::size_t>(pool_.as<Reduce>(op.bodies[k])->value_index)];
        HostArray& to = tensors_[op.outputs[k].value];
        for (std::size_t i = 0; i < size_; ++i) {
          to.set(start + static_cast<std::int64_t>(i), registers_[from][i]);
        }
      }
    }
    return true;
  }
  /// Spatial indices of `size_` elements from one in row-major order on.
  void place_axes(const std::vector<Axis>& axes, std::int64_t start) {
    std::int64_t stride = 1;
    for (std::size_t d = axes.size(); d-- > 0;) {
      Lanes& lanes = registers_[variables_.at(axes[d].var.value).at];
      const std::int64_t extent = axes[d].extent;
      std::int64_t index = start / stride % extent, inside = start % stride;
      for (std::size_t i = 0; i < size_; ++i) {
        lanes[i] = scalar_of(index);
        if (++inside == stride) {
          inside = 0;
          index = index + 1 == extent ? 0 : index + 1;
        }
      }
      stride *= extent;
    }
  }
  bool reduce_block(const Operation& op, const Code& code, const Code& combine,
                    const std::vector<Register>& first, const std::vector<Register>& next,
                    const std::vector<Register>& totals) {
    std::vector<Lanes> taken(totals.size());  // results may name each other's totals
    const auto take = [&](const std::vector<Register>& from) {
      for (std::size_t k = 0; k < totals.size(); ++k) {
        taken[k] = registers_[from[k]];
      }
      for (std::size_t k = 0; k < totals.size(); ++k) {
        registers_[totals[k]] = taken[k];
      }
    };
    take(first);
    std::vector<std::int64_t> at(op.reduce_axes.size(), 0);
    std::int64_t count = 1;
    for (const Axis& axis : op.reduce_axes) {
      registers_[variables_.at(axis.var.value).at].fill(scalar_of(0));
      count *= axis.extent;
    }
    for (std::int64_t round = 0; round < count; ++round) {
      if (!execute(code, nullptr) || !execute(combine, nullptr)) {
        return false;
      }
      take(next);
      for (std::size_t d = at.size(); d-- > 0;) {
        at[d] = at[d] + 1 == op.reduce_axes[d].extent ? 0 : at[d] + 1;
        registers_[variables_.at(op.reduce_axes[d].var.value).at].fill(scalar_of(at[d]));
        if (at[d] != 0) {
          break;
        }
      }
    }
    return true;
  }

  /// `mask`: elements that count, null: all.
  bool execute(const Code& code, const Mask* mask) {
    return std::all_of(code.instructions.begin(), code.instructions.end(),
                       [&](const Instruction& each) { return execute(each, mask); });
  }
  bool execute(const Instruction& to, const Mask* mask) {
    const auto in = [&](std::size_t k) -> const Lanes& { return registers_[to.operands[k]]; };
    Lanes& out = registers_[to.result];
    const auto each = [&](const auto& f) {
      for (std::size_t i = 0; i < size_; ++i) {
        out[i] = f(i);
      }
      return true;
    };
    const DType type = to.node->dtype;
    return std::visit(
        Overloaded{[&](const Unary& n) {
                     return each([&](std::size_t i) {
                       return apply_unary(n.op, type, in(0)[i], to.wraps);
                     });
                   },
                   [&](const Binary& n) { return binary(n.op, to, mask); },
                   [&](const Select&) {
                     return each(
                         [&](std::size_t i) { return (in(0)[i].integer != 0 ? in(1) : in(2))[i]; });
                   },
                   [&](const Cast&) {
                     return each(
                         [&](std::size_t i) { return cast_scalar(in(0)[i], to.type, type); });
                   },
                   [&](const Call& n) {
                     if (n.op == CallOp::if_then_else) {
                       return choose(to, mask);
                     }
                     const Lanes& b = in(n.args.size() > 1 ? 1 : 0);
                     return each([&](std::size_t i) {
                       return apply_call(n.op, to.type, in(0)[i], b[i], to.wraps);
                     });
                   },
                   [&](const TensorRead& n) { return read(tensors_[n.tensor.value], to, mask); },
                   [](const auto&) { return false; }},
        to.node->op);
  }
  /// The operator is known to the loop.
  template <BinaryOp op>
  bool loop(const Instruction& to, const Mask* mask) {
    const Lanes &a = registers_[to.operands[0]], &b = registers_[to.operands[1]];
    Lanes& out = registers_[to.result];
    for (std::size_t i = 0; i < size_; ++i) {
      const auto result = apply_binary(op, to.type, a[i], b[i], to.wraps);
      if (!result && (mask == nullptr || (*mask)[i])) {
        return false;
      }
      out[i] = result.value_or(scalar_of(0));
    }
    return true;
  }
  bool binary(BinaryOp op, const Instruction& to, const Mask* mask) {
    switch (op) {
#define TENSORSMITH_BINARY(name, text, infix)                                                      \
  case BinaryOp::name:                                                                             \
    return loop<BinaryOp::name>(to, mask);
#include "tensorsmith/ir/ops.def"
    }
    return false;
  }
  bool choose(const Instruction& to, const Mask* mask) {
    Mask masks[2] = {};
    bool is_any[2] = {false, false};
    const Lanes& condition = registers_[to.operands[0]];
    for (std::size_t i = 0; i < size_; ++i) {
      if (mask == nullptr || (*mask)[i]) {
        const std::size_t arm = condition[i].integer != 0 ? 0 : 1;
        masks[arm][i] = is_any[arm] = true;
      }
    }
    for (const std::size_t arm : {0, 1}) {
      if (is_any[arm] && !execute(to.arms[arm], &masks[arm])) {
        return false;
      }
    }
    Lanes& out = registers_[to.result];
    for (std::size_t i = 0; i < size_; ++i) {
      out[i] = registers_[to.operands[masks[0][i] ? 1 : 2]][i];
    }
    return true;
  }
  bool read(const HostArray& from, const Instruction& to, const Mask* mask) {
    std::array<std::int64_t, block> at = {};
    std::array<bool, block> is_outside = {};
    for (std::size_t d = 0; d < to.operands.size(); ++d) {
      const Lanes& index = registers_[to.operands[d]];
      const std::int64_t extent = from.shape[d];
      for (std::size_t i = 0; i < size_; ++i) {
        const std::int64_t k = index[i].integer;
        is_outside[i] = is_outside[i] || k < 0 || k >= extent;
        at[i] = at[i] * extent + (k < 0 || k >= extent ? 0 : k);
      }
    }
    Lanes& out = registers_[to.result];
    const auto size = static_cast<std::size_t>(bytes_of(from.dtype));
    for (std::size_t i = 0; i < size_; ++i) {
      if (is_outside[i] && (mask == nullptr || (*mask)[i])) {
        return false;
      }
      out[i] = load_scalar(&from.data[static_cast<std::size_t>(at[i]) * size], from.dtype);
    }
    return true;
  }

  const ComputeDag& dag_;
  const ExprPool& pool_;
  std::vector<HostArray> tensors_;
  std::vector<Lanes> registers_;
  std::size_t num_used_ = 0, size_ = 0;
  std::map<std::uint32_t, Known> variables_;
};

}  // namespace

std::optional<std::vector<HostArray>> fold_dag(const ComputeDag& dag,
                                               const std::vector<HostArray>& inputs) {
  Folder folder(dag);
  std::size_t next = 0;
  for (const TensorId id : dag.arguments()) {
    if (dag.operation(dag.tensor(id).operation).is_placeholder() &&
        (next == inputs.size() || !folder.set(id, inputs[next++]))) {
      return std::nullopt;
    }
  }
  if (!folder.run()) {
    return std::nullopt;
  }
  std::vector<HostArray> outputs;
  for (const TensorId id : dag.arguments()) {
    if (!dag.operation(dag.tensor(id).operation).is_placeholder()) {
      outputs.push_back(std::move(folder.tensor(id)));
    }
  }
  return outputs;
}

}  // namespace tensorsmith::graph
