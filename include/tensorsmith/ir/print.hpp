// SPDX-License-Identifier: Apache-2.0
// Stable text of expressions and loop programs.
//
// Floor 1. Own design. The same value prints the same way on every run; the text shows the tree as
// it is (parentheses wherever the order of evaluation would be lost), so equal text of two
// expressions of one pool means equal meaning. Not here: reading text back, source code for
// compilers (codegen/).
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/support/text_writer.hpp"

namespace tensorsmith {

constexpr std::string_view name_of(Scope scope) {
  constexpr std::string_view names[] = {"global", "shared", "warp", "local", "register"};
  return names[static_cast<std::size_t>(scope)];
}

constexpr std::string_view name_of(ForKind kind) {
  constexpr std::string_view names[] = {"serial",   "parallel", "unrolled", "vectorized",
                                        "vthread",  "block_x",  "block_y",  "block_z",
                                        "thread_x", "thread_y", "thread_z"};
  return names[static_cast<std::size_t>(kind)];
}

/// Names where nothing better is known: t3, b1, and the pool's names of variables.
struct PlainNames {
  const ExprPool& pool;
  std::string tensor(TensorId id) const { return "t" + std::to_string(id.value); }
  std::string buffer(BufferId id) const { return "b" + std::to_string(id.value); }
  std::string var(VarId id) const { return pool.var_name(id); }
};

/// Writes expressions; Names supplies tensor(id), buffer(id) and var(id).
template <class Names>
class ExprPrinter {
 public:
  ExprPrinter(const ExprPool& pool, const Names& names) : pool_(pool), names_(names) {}

  std::string operator()(ExprId id) const { return id.valid() ? text(id, 0) : "<none>"; }
  std::string list(const ExprList& ids) const {
    return bracketed(ids, [this](ExprId id) { return text(id, 0); });
  }

 private:
  static constexpr int comparison_level = 3, sum_level = 4, product_level = 5, atom_level = 7;

  static int level_of(BinaryOp op) {
    switch (op) {
    case BinaryOp::or_:
      return 1;
    case BinaryOp::and_:
      return 2;
    case BinaryOp::add:
    case BinaryOp::sub:
      return sum_level;
    case BinaryOp::mul:
    case BinaryOp::div:
      return product_level;
    default:
      return is_comparison(op) ? comparison_level : atom_level;
    }
  }
  static std::string suffix(DType type, DType plain) {
    return type == plain ? std::string() : std::string(name_of(type));
  }
  std::string arguments(const ExprList& ids) const {
    const std::string inner = list(ids);
    return "(" + inner.substr(1, inner.size() - 2) + ")";
  }
  std::string binary(const Binary& n, int level) const {
    if (!is_infix(n.op)) {
      return std::string(text_of(n.op)) + arguments({n.a, n.b});
    }
    const int own = level_of(n.op);
    const bool tight = own == product_level;
    // Comparisons do not chain; the other operators group to the left.
    const int left = own == comparison_level ? own + 1 : own;
    std::string result = text(n.a, left);
    result += tight ? std::string(text_of(n.op)) : " " + std::string(text_of(n.op)) + " ";
    result += text(n.b, own + 1);
    return own < level ? "(" + result + ")" : result;
  }
  std::string reduce(const Reduce& n) const {
    const Combiner& combiner = pool_.combiner(n.combiner);
    const auto axes = bracketed(n.axes, [this](VarId var) { return names_.var(var); });
    if (n.sources.size() == 1) {
      const Binary* op = pool_.as<Binary>(combiner.results[0]);
      const VarRef* a = op != nullptr ? pool_.as<VarRef>(op->a) : nullptr;
      const VarRef* b = op != nullptr ? pool_.as<VarRef>(op->b) : nullptr;
      if (a != nullptr && b != nullptr && a->var == combiner.lhs[0] && b->var == combiner.rhs[0]) {
        const std::string_view name = op->op == BinaryOp::add   ? "sum"
                                      : op->op == BinaryOp::mul ? "product"
                                                                : text_of(op->op);
        return std::string(name) + "(" + text(n.sources[0], 0) + ", axes=" + axes + ")";
      }
    }
    const PlainNames plain{pool_};
    const ExprPrinter<PlainNames> inner(pool_, plain);
    return "reduce(" + list(n.sources) + ", axes=" + axes +
           ", combine=" + inner.list(combiner.results) +
           ", identity=" + inner.list(combiner.identity) +
           ", value=" + std::to_string(n.value_index) + ")";
  }
  std::string number(std::string digits, int level) const {
    return digits[0] == '-' && level >= product_level ? "(" + digits + ")" : digits;
  }
  std::string text(ExprId id, int level) const {
    const ExprNode& node = pool_[id];
    return std::visit(
        Overloaded{[&](const IntImm& n) {
                     if (node.dtype == DType::boolean) {
                       return std::string(n.value != 0 ? "true" : "false");
                     }
                     return number(std::to_string(n.value) + suffix(node.dtype, DType::i32), level);
                   },
                   [&](const FloatImm& n) {
                     return number(text_of_real(n.value) + suffix(node.dtype, DType::f32), level);
                   },
                   [&](const VarRef& n) { return names_.var(n.var); },
                   [&](const Unary& n) {
                     if (n.op == UnaryOp::not_) {
                       return "not(" + text(n.a, 0) + ")";
                     }
                     const std::string inner = "-" + text(n.a, atom_level);
                     return level >= product_level ? "(" + inner + ")" : inner;
                   },
                   [&](const Binary& n) { return binary(n, level); },
                   [&](const Select& n) {
                     return "select" + arguments({n.condition, n.if_true, n.if_false});
                   },
                   [&](const Cast& n) {
                     return std::string(name_of(node.dtype)) + "(" + text(n.a, 0) + ")";
                   },
                   [&](const Call& n) { return std::string(name_of(n.op)) + arguments(n.args); },
                   [&](const TensorRead& n) { return names_.tensor(n.tensor) + list(n.indices); },
                   [&](const Load& n) { return names_.buffer(n.buffer) + list(n.indices); },
                   [&](const Reduce& n) { return reduce(n); }},
        node.op);
  }

  const ExprPool& pool_;
  const Names& names_;
};

/// The expression with plain names; for messages and debuggers.
inline std::string debug_string(ExprId id, const ExprPool& pool) {
  const PlainNames names{pool};
  return ExprPrinter<PlainNames>(pool, names)(id);
}

/// One line per buffer: "A: f32[8, 16] global argument 0"; strides only if not row-major.
inline std::string to_text(const Buffer& buffer) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  std::string text = buffer.name + ": " + std::string(name_of(buffer.dtype)) +
                     bracketed(buffer.shape, number) + " " + std::string(name_of(buffer.scope));
  std::int64_t expected = 1;
  bool is_row_major = buffer.strides.size() == buffer.shape.size();
  for (std::size_t d = buffer.shape.size(); is_row_major && d-- > 0;) {
    is_row_major = buffer.strides[d] == expected;
    expected *= buffer.shape[d];
  }
  if (!is_row_major) {
    text += " strides " + bracketed(buffer.strides, number);
  }
  if (buffer.is_streamed) {
    text += " streamed";
  }
  if (buffer.is_swizzled) {
    text += " swizzled";
  }
  if (buffer.alignment != 64) {
    text += " align " + std::to_string(buffer.alignment);
  }
  if (buffer.argument >= 0) {
    text += " argument " + std::to_string(buffer.argument);
  }
  return text;
}

namespace detail {

/// Names inside a loop program. A loop whose name is taken by an enclosing one gets "_2", "_3", ...
struct ProgramNames {
  const LoopProgram& program;
  std::vector<std::pair<VarId, std::string>> scope = {};

  std::string tensor(TensorId id) const { return "t" + std::to_string(id.value); }
  std::string buffer(BufferId id) const {
    return id.value < program.buffers.size() ? program[id].name : "b" + std::to_string(id.value);
  }
  std::string var(VarId id) const {
    for (std::size_t i = scope.size(); i-- > 0;) {
      if (scope[i].first == id) {
        return scope[i].second;
      }
    }
    return program.pool.var_name(id);
  }
  const std::string& enter(VarId id) {
    const std::string& wanted = program.pool.var_name(id);
    std::string name = wanted;
    for (int suffix = 2; taken(name); ++suffix) {
      name = wanted + "_" + std::to_string(suffix);
    }
    scope.emplace_back(id, std::move(name));
    return scope.back().second;
  }
  void leave() { scope.pop_back(); }

 private:
  bool taken(const std::string& name) const {
    for (const auto& entry : scope) {
      if (entry.second == name) {
        return true;
      }
    }
    return false;
  }
};

class ProgramPrinter {
 public:
  explicit ProgramPrinter(const LoopProgram& program)
      : program_(program), names_{program}, expr_(program.pool, names_) {}

  void stmt(StmtId id) {
    if (!id.valid()) {
      writer_.line("pass");
      return;
    }
    std::visit(
        Overloaded{[&](const Seq& s) { sequence(s); }, [&](const For& s) { loop(s); },
                   [&](const Store& s) {
                     writer_.line(names_.buffer(s.buffer) + expr_.list(s.indices) +
                                  (s.is_async ? " =async " : " = ") + expr_(s.value));
                   },
                   [&](const If& s) { condition(s); },
                   [&](const Alloc& s) {
                     writer_.line("alloc " + names_.buffer(s.buffer) + ":");
                     block(s.body);
                   },
                   [&](const Barrier& s) {
                     writer_.line(
                         "barrier " + std::string(name_of(s.scope)) +
                         (s.pending > 0 ? ", but for the last " + std::to_string(s.pending) : ""));
                   },
                   [&](const Prefetch& s) {
                     writer_.line("prefetch " + names_.buffer(s.buffer) + expr_.list(s.indices) +
                                  " into L" + std::to_string(s.level));
                   }},
        program_[id]);
  }
  void buffers() {
    for (const Buffer& buffer : program_.buffers) {
      writer_.line(to_text(buffer));
    }
  }
  std::string finish() { return std::move(writer_).text(); }

 private:
  void block(StmtId id) {
    writer_.indent();
    stmt(id);
    writer_.dedent();
  }
  void sequence(const Seq& s) {
    for (StmtId item : s.items) {
      stmt(item);
    }
    if (s.items.empty()) {
      writer_.line("pass");
    }
  }
  void loop(const For& s) {
    const std::string extent = expr_(s.extent);
    std::string head = "for " + names_.enter(s.var) + " in " + extent;
    if (s.kind != ForKind::serial) {
      head += " " + std::string(name_of(s.kind));
    }
    if (s.intrinsic != nullptr) {
      head += " as " + std::string(s.intrinsic->name);
    }
    if (s.load_sets > 1) {
      head += " with " + std::to_string(s.load_sets) + " sets of operands";
    }
    writer_.line(head + ":");
    block(s.body);
    names_.leave();
  }
  void condition(const If& s) {
    writer_.line("if " + expr_(s.condition) + ":");
    block(s.then_body);
    if (s.else_body.valid()) {
      writer_.line("else:");
      block(s.else_body);
    }
  }

  const LoopProgram& program_;
  ProgramNames names_;
  ExprPrinter<ProgramNames> expr_;
  TextWriter writer_;
};

}  // namespace detail

/// Buffers on top, then the loops.
inline std::string to_text(const LoopProgram& program) {
  detail::ProgramPrinter printer(program);
  printer.buffers();
  printer.stmt(program.body);
  return printer.finish();
}

/// One statement of a program with what it holds.
inline std::string debug_string(StmtId id, const LoopProgram& program) {
  detail::ProgramPrinter printer(program);
  printer.stmt(id);
  return printer.finish();
}

}  // namespace tensorsmith
