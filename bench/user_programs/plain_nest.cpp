// SPDX-License-Identifier: Apache-2.0
#include "plain_nest.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "bench/support/peer.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith::bench {
namespace {

const char* type_text(DType type) {
  switch (type) {
  case DType::f64:
    return "double";
  case DType::f32:
    return "float";
  case DType::i64:
    return "long";
  case DType::i32:
    return "int";
  case DType::i16:
    return "short";
  case DType::i8:
    return "signed char";
  case DType::u8:
    return "unsigned char";
  case DType::boolean:
    return "int";
  default:
    throw Error("plain nests have no elements of type " + std::string(name_of(type)));
  }
}

/// A product of matrices, perhaps one for each of the first axes.
struct MatrixProduct {
  TensorId a, b;
  bool transposes_b = false;
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
};

std::optional<MatrixProduct> matrix_product(const ComputeDag& dag, const Operation& op) {
  const ExprPool& pool = dag.pool();
  if (op.bodies.size() != 1 || op.reduce_axes.size() != 1 || op.axes.size() < 2) {
    return std::nullopt;
  }
  const Reduce* reduce = pool.as<Reduce>(op.bodies[0]);
  const Combiner& combiner = pool.combiner(reduce->combiner);
  const Binary* sum = pool.as<Binary>(combiner.results[0]);
  const Binary* term = pool.as<Binary>(reduce->sources[0]);
  if (sum == nullptr || sum->op != BinaryOp::add || term == nullptr || term->op != BinaryOp::mul) {
    return std::nullopt;
  }
  const TensorRead* a = pool.as<TensorRead>(term->a);
  const TensorRead* b = pool.as<TensorRead>(term->b);
  if (a == nullptr || b == nullptr || dag.tensor(op.outputs[0]).dtype != DType::f32) {
    return std::nullopt;
  }
  const auto reads = [&](const TensorRead& read, std::vector<VarId> vars) {
    if (read.indices.size() != vars.size()) {
      return false;
    }
    for (std::size_t d = 0; d < vars.size(); ++d) {
      const VarRef* ref = pool.as<VarRef>(read.indices[d]);
      if (ref == nullptr || ref->var != vars[d]) {
        return false;
      }
    }
    return true;
  };
  std::vector<VarId> outer;
  for (std::size_t d = 0; d + 1 < op.axes.size(); ++d) {
    outer.push_back(op.axes[d].var);
  }
  const VarId j = op.axes.back().var, k = op.reduce_axes[0].var;
  MatrixProduct found{a->tensor, b->tensor};
  found.n = op.axes.back().extent;
  found.k = op.reduce_axes[0].extent;
  const auto with = [](std::vector<VarId> vars, std::initializer_list<VarId> more) {
    vars.insert(vars.end(), more);
    return vars;
  };
  std::vector<VarId> batch(outer.begin(), outer.end() - 1);
  const bool fits = dag.tensor(a->tensor).shape.back() == found.k;
  if (!fits || !reads(*a, with(outer, {k}))) {
    return std::nullopt;
  }
  for (const Axis& axis : op.axes) {
    found.m *= axis.extent;
  }
  found.m /= found.n;
  for (const bool is_transposed : {false, true}) {
    found.transposes_b = is_transposed;
    const auto own = is_transposed ? std::vector<VarId>{j, k} : std::vector<VarId>{k, j};
    if (reads(*b, own)) {
      return found;
    }
    if (!batch.empty() && reads(*b, with(batch, {own[0], own[1]}))) {
      for (std::size_t d = 0; d + 2 < op.axes.size(); ++d) {
        found.batch *= op.axes[d].extent;
      }
      found.m /= found.batch;
      return found;
    }
  }
  return std::nullopt;
}

class Writer {
 public:
  Writer(const ComputeDag& dag, const PlainForm& form)
      : dag_(dag), pool_(dag.pool()), form_(form) {}

  std::string text() {
    out_ << "#include <math.h>\n"
            "typedef void (*Sgemm)(int, int, int, int, int, int, float, const float*, int,\n"
            "                      const float*, int, float, float*, int);\n"
            "static inline long floordiv(long a, long b) {\n"
            "  long q = a / b;\n  return q * b > a ? q - 1 : q;\n}\n"
            "static inline long floormod(long a, long b) { return a - floordiv(a, b) * b; }\n"
            "static inline long imin(long a, long b) { return a < b ? a : b; }\n"
            "static inline long imax(long a, long b) { return a > b ? a : b; }\n"
            "static inline float fminx(float a, float b) { return a < b ? a : b; }\n"
            "static inline float fmaxx(float a, float b) { return a > b ? a : b; }\n";
    for (const Operation& op : dag_.operations()) {
      for (TensorId id : op.outputs) {
        if (!is_argument(id)) {
          out_ << "static " << type_text(dag_.tensor(id).dtype) << " t" << id.value << "["
               << elements(id) << "] __attribute__((aligned(64)));\n";
        }
      }
    }
    for (std::size_t s = 0; s < dag_.operations().size(); ++s) {
      if (!dag_.operation(s).is_placeholder()) {
        write_operation(s, dag_.operation(s));
      }
    }
    out_ << "void plain(void* const* arguments, Sgemm sgemm) {\n  (void)sgemm;\n";
    for (std::size_t s = 0; s < dag_.operations().size(); ++s) {
      const Operation& op = dag_.operation(s);
      if (op.is_placeholder()) {
        continue;
      }
      out_ << "  stage" << s << "(";
      for (TensorId id : tensors_of(op)) {
        out_ << place_of(id) << ", ";
      }
      out_ << "sgemm);\n";
    }
    out_ << "}\n";
    return out_.str();
  }

 private:
  bool is_argument(TensorId id) const { return has_item(dag_.arguments(), id); }
  std::int64_t elements(TensorId id) const {
    std::int64_t count = 1;
    for (std::int64_t extent : dag_.tensor(id).shape) {
      count *= extent;
    }
    return count;
  }
  std::string place_of(TensorId id) const {
    for (std::size_t i = 0; i < dag_.arguments().size(); ++i) {
      if (dag_.arguments()[i] == id) {
        return "arguments[" + std::to_string(i) + "]";
      }
    }
    return "t" + std::to_string(id.value);
  }
  /// Results first, then what is read.
  std::vector<TensorId> tensors_of(const Operation& op) const {
    std::vector<TensorId> found(op.outputs.begin(), op.outputs.end());
    for (ExprId body : op.bodies) {
      visit_nodes(pool_, body, [&](ExprId id) {
        const TensorRead* read = pool_.as<TensorRead>(id);
        if (read != nullptr && !has_item(found, read->tensor)) {
          found.push_back(read->tensor);
        }
      });
    }
    return found;
  }

  void write_operation(std::size_t stage, const Operation& op) {
    out_ << "static void stage" << stage << "(";
    const std::vector<TensorId> tensors = tensors_of(op);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      out_ << (i < op.outputs.size() ? "" : "const ") << type_text(dag_.tensor(tensors[i]).dtype)
           << "* restrict p" << tensors[i].value << ", ";
    }
    out_ << "Sgemm sgemm) {\n  (void)sgemm;\n";
    const auto product = form_.uses_library ? matrix_product(dag_, op) : std::nullopt;
    if (product) {
      out_ << "  for (long b = 0; b < " << product->batch << "; ++b)\n    sgemm(101, 111, "
           << (product->transposes_b ? 112 : 111) << ", " << product->m << ", " << product->n
           << ", " << product->k << ", 1, p" << product->a.value << " + b * "
           << product->m * product->k << ", " << product->k << ", p" << product->b.value
           << " + b * " << product->k * product->n << ", "
           << (product->transposes_b ? product->k : product->n) << ", 0, p" << op.outputs[0].value
           << " + b * " << product->m * product->n << ", " << product->n << ");\n}\n";
      return;
    }
    const bool by_rows = form_.sums == PlainSums::rows && op.bodies.size() == 1 &&
                         !op.reduce_axes.empty() && !op.axes.empty();
    const std::size_t num_outer = op.axes.size() - (by_rows ? 1 : 0);
    std::string indent = "  ";
    const auto loop = [&](const Axis& axis) {
      out_ << indent << "for (long v" << axis.var.value << " = 0; v" << axis.var.value << " < "
           << axis.extent << "; ++v" << axis.var.value << ") {\n";
      indent += "  ";
    };
    const auto close = [&] {
      indent.resize(indent.size() - 2);
      out_ << indent << "}\n";
    };
    for (std::size_t a = 0; a < num_outer; ++a) {
      loop(op.axes[a]);
    }
    if (op.reduce_axes.empty()) {
      for (std::size_t i = 0; i < op.bodies.size(); ++i) {
        out_ << indent << element(op, i) << " = " << value(op.bodies[i]) << ";\n";
      }
    } else {
      write_reduction(op, by_rows, indent, loop, close);
    }
    for (std::size_t a = 0; a < num_outer; ++a) {
      close();
    }
    out_ << "}\n";
  }

  template <class Loop, class Close>
  void write_reduction(const Operation& op, bool by_rows, std::string& indent, const Loop& loop,
                       const Close& close) {
    const Reduce& first = *pool_.as<Reduce>(op.bodies[0]);
    const Combiner& combiner = pool_.combiner(first.combiner);
    if (by_rows) {
      loop(op.axes.back());
      out_ << indent << element(op, 0) << " = " << value(combiner.identity[0]) << ";\n";
      close();
    }
    for (std::size_t i = 0; !by_rows && i < op.bodies.size(); ++i) {
      out_ << indent << type_text(pool_.dtype(op.bodies[i])) << " acc" << i << " = "
           << value(combiner.identity[i]) << ";\n";
    }
    for (const Axis& axis : op.reduce_axes) {
      loop(axis);
    }
    if (by_rows) {
      loop(op.axes.back());
    }
    for (std::size_t i = 0; i < op.bodies.size(); ++i) {
      const std::string n = std::to_string(i);
      names_[combiner.lhs[i].value] = by_rows ? element(op, 0) : "acc" + n;
      names_[combiner.rhs[i].value] = "term" + n;
      out_ << indent << "const " << type_text(pool_.dtype(first.sources[i])) << " term" << n
           << " = " << value(first.sources[i]) << ";\n";
    }
    for (std::size_t i = 0; i < op.bodies.size(); ++i) {
      out_ << indent << "const " << type_text(pool_.dtype(op.bodies[i])) << " next" << i << " = "
           << value(combiner.results[i]) << ";\n";
    }
    for (std::size_t i = 0; i < op.bodies.size(); ++i) {
      out_ << indent << (by_rows ? element(op, 0) : "acc" + std::to_string(i)) << " = next" << i
           << ";\n";
    }
    for (std::size_t a = 0; a < op.reduce_axes.size() + (by_rows ? 1 : 0); ++a) {
      close();
    }
    for (std::size_t i = 0; !by_rows && i < op.bodies.size(); ++i) {
      out_ << indent << element(op, i) << " = acc" << i << ";\n";
    }
  }

  std::string element(const Operation& op, std::size_t output) const {
    ExprList indices;
    std::string at = "0";
    for (const Axis& axis : op.axes) {
      at =
          "(" + at + ") * " + std::to_string(axis.extent) + " + v" + std::to_string(axis.var.value);
    }
    return "p" + std::to_string(op.outputs[output].value) + "[" + at + "]";
  }

  /// Whether an index is never negative: then / and % are what floordiv and floormod mean.
  bool is_natural(ExprId id) const {
    if (const IntImm* imm = pool_.as<IntImm>(id)) {
      return imm->value >= 0;
    }
    const Binary* b = pool_.as<Binary>(id);
    return pool_.as<VarRef>(id) != nullptr ||
           (b != nullptr && b->op == BinaryOp::max && (is_natural(b->a) || is_natural(b->b))) ||
           (b != nullptr && b->op != BinaryOp::sub && is_natural(b->a) && is_natural(b->b));
  }

  std::string value(ExprId id) {
    const DType type = pool_.dtype(id);
    if (const IntImm* imm = pool_.as<IntImm>(id)) {
      return std::to_string(imm->value);
    }
    if (const FloatImm* imm = pool_.as<FloatImm>(id)) {
      if (std::isinf(imm->value)) {
        return imm->value < 0 ? "(-INFINITY)" : "INFINITY";
      }
      char text[48];
      std::snprintf(text, sizeof text, "(%.17g)", imm->value);
      return std::string("(") + type_text(type) + ")" + text;
    }
    if (const VarRef* ref = pool_.as<VarRef>(id)) {
      const auto known = names_.find(ref->var.value);
      return known != names_.end() ? known->second : "v" + std::to_string(ref->var.value);
    }
    if (const Unary* unary = pool_.as<Unary>(id)) {
      return (unary->op == UnaryOp::neg ? "(-" : "(!") + value(unary->a) + ")";
    }
    if (const Cast* cast = pool_.as<Cast>(id)) {
      return std::string("((") + type_text(type) + ")" + value(cast->a) + ")";
    }
    if (const Select* select = pool_.as<Select>(id)) {
      return choice(select->condition, select->if_true, select->if_false);
    }
    if (const Binary* binary = pool_.as<Binary>(id)) {
      return binary_text(*binary, type);
    }
    if (const Call* call = pool_.as<Call>(id)) {
      return call_text(*call, type);
    }
    const TensorRead* read = pool_.as<TensorRead>(id);
    if (read == nullptr) {
      throw Error("plain nests: an expression that te programs do not have");
    }
    const auto& shape = dag_.tensor(read->tensor).shape;
    std::string at = "0";
    for (std::size_t d = 0; d < shape.size(); ++d) {
      at = "(" + at + ") * " + std::to_string(shape[d]) + " + " + value(read->indices[d]);
    }
    return "p" + std::to_string(read->tensor.value) + "[" + at + "]";
  }
  std::string choice(ExprId condition, ExprId if_true, ExprId if_false) {
    return "(" + value(condition) + " ? " + value(if_true) + " : " + value(if_false) + ")";
  }
  std::string binary_text(const Binary& binary, DType type) {
    const std::string a = value(binary.a), b = value(binary.b);
    const bool is_natural_division = is_natural(binary.a) && is_natural(binary.b);
    switch (binary.op) {
    case BinaryOp::min:
      return std::string(is_float(type) ? "fminx(" : "imin(") + a + ", " + b + ")";
    case BinaryOp::max:
      return std::string(is_float(type) ? "fmaxx(" : "imax(") + a + ", " + b + ")";
    case BinaryOp::and_:
      return "(" + a + " && " + b + ")";
    case BinaryOp::or_:
      return "(" + a + " || " + b + ")";
    case BinaryOp::truncmod:
      return "(" + a + " % " + b + ")";
    case BinaryOp::floordiv:
      return is_natural_division ? "(" + a + " / " + b + ")" : "floordiv(" + a + ", " + b + ")";
    case BinaryOp::floormod:
      return is_natural_division ? "(" + a + " % " + b + ")" : "floormod(" + a + ", " + b + ")";
    default:
      return "(" + a + " " + std::string(text_of(binary.op)) + " " + b + ")";
    }
  }
  std::string call_text(const Call& call, DType type) {
    if (call.op == CallOp::if_then_else) {
      return choice(call.args[0], call.args[1], call.args[2]);
    }
    const std::string f = type == DType::f32 ? "f" : "";
    const std::string a = value(call.args[0]);
    switch (call.op) {
    case CallOp::rsqrt:
      return "(1 / sqrt" + f + "(" + a + "))";
    case CallOp::sigmoid:
      return "(1 / (1 + exp" + f + "(-" + a + ")))";
    case CallOp::abs:
      return (is_float(type) ? "fabs" + f : std::string("labs")) + "(" + a + ")";
    case CallOp::round:
      return "nearbyint" + f + "(" + a + ")";
    case CallOp::pow:
      return "pow" + f + "(" + a + ", " + value(call.args[1]) + ")";
    default:
      return std::string(name_of(call.op)) + f + "(" + a + ")";
    }
  }

  const ComputeDag& dag_;
  const ExprPool& pool_;
  const PlainForm form_;
  std::ostringstream out_;
  std::map<std::uint32_t, std::string> names_;  ///< of a combiner's variables
};

}  // namespace

std::string plain_source(const ComputeDag& dag, const PlainForm& form) {
  return Writer(dag, form).text();
}

int num_library_calls(const ComputeDag& dag) {
  int count = 0;
  for (const Operation& op : dag.operations()) {
    count += !op.is_placeholder() && matrix_product(dag, op) ? 1 : 0;
  }
  return count;
}

Sgemm find_sgemm(const std::string& library) {
  // Whoever makes the peer chooses the kernels of this machine before the library is loaded.
  const FoundPeer peer = library == "openblas" ? make_openblas_peer() : make_blis_peer();
  if (!peer.peer) {
    return nullptr;
  }
  std::vector<std::string> files{"lib" + library + ".so", "lib" + library + ".so.0",
                                 "lib" + library + ".so.4"};
#if defined(TENSORSMITH_OPENBLAS_LIBRARY)
  if (library == "openblas") {
    files.insert(files.begin(), TENSORSMITH_OPENBLAS_LIBRARY);
  }
#endif
  void* handle = nullptr;
  for (const std::string& file : files) {
    handle = handle != nullptr ? handle : dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (handle == nullptr) {
    return nullptr;
  }
  if (void* set = dlsym(handle, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(set)(1);
  }
  if (void* set = dlsym(handle, "bli_thread_set_num_threads")) {
    reinterpret_cast<void (*)(long)>(set)(1);
  }
  return reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
}

PlainKernel::PlainKernel(const std::string& source, const std::string& compiler)
    : library_({{"plain.c", source}}, compiler,
               "-x c -O3 -march=native -fno-math-errno -fno-trapping-math -w plain.c -lm",
               "the plain nests"),
      run_(reinterpret_cast<void (*)(void* const*, Sgemm)>(library_.symbol("plain"))) {}

}  // namespace tensorsmith::bench
