// SPDX-License-Identifier: Apache-2.0
// The definition of emit_cpp_source.
//
// Floor 5. Included by codegen/cpp_source.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/cpp_machine_part.hpp"
#include "tensorsmith/codegen/cpp_prelude.hpp"
#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/codegen/cpp_vector.hpp"
#include "tensorsmith/codegen/kernel_source.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

namespace detail {

class CppEmitter : CppVectorPrinter {
 public:
  CppEmitter(const LoopProgram& program, const CppSourceOptions& options)
      : CppVectorPrinter(program, options.vector_bytes), options_(options) {
    names_.reserve(cpp_math_helpers);
    names_.reserve(cpp_helpers);
    if (options_.machine != nullptr) {
      names_.reserve_word(options_.machine->entry);
    }
  }

  KernelSource run();

 private:
  static constexpr std::int64_t stack_bytes = 8192;  // larger local buffers go to the heap

  /// The statement for one chunk of lanes; `var` is bound to the lane mark.
  void vector_chunk(StmtId id, VarId var, std::int32_t lanes, const LinearText& base) {
    if (const Seq* seq = program_.as<Seq>(id)) {
      for (StmtId item : seq->items) {
        vector_chunk(item, var, lanes, base);
      }
      return;
    }
    const If* branch = program_.as<If>(id);
    if (branch != nullptr && !branch->else_body.valid() && uniform(branch->condition)) {
      open("if (" + value(branch->condition).text + ")");
      vector_chunk(branch->then_body, var, lanes, base);
      return close();
    }
    const Store* store = program_.as<Store>(id);
    if (store != nullptr && vector_store(*store, lanes)) {
      return;
    }
    const std::string lane = names_.unique("lane");
    LinearText at = base;
    at.add_term(lane, 1);
    bind(var, at);
    open("for (int " + lane + " = 0; " + lane + " < " + std::to_string(lanes) + "; ++" + lane +
         ")");
    emit(id);
    close();
    names_.release(lane);
    at.add_term(lane, -1);
    at.add_term(lane_mark, 1);
    bind(var, at);
  }
  bool uniform(ExprId condition) const { return !mentions_lane(value(condition).text); }
  /// Whether every store of the body works on whole vectors. Emits nothing.
  bool can_vectorize(StmtId id, std::int32_t lanes) {
    if (const Seq* seq = program_.as<Seq>(id)) {
      return all_items(seq->items, [&](StmtId item) { return can_vectorize(item, lanes); });
    }
    if (const If* branch = program_.as<If>(id)) {
      return !branch->else_body.valid() && uniform(branch->condition) &&
             can_vectorize(branch->then_body, lanes);
    }
    const Store* store = program_.as<Store>(id);
    const std::size_t start = out_.size();
    const NameTable names = names_;
    const auto types = vector_types_;
    const bool can = store != nullptr && vector_store(*store, lanes);
    out_.resize(start);
    names_ = names;
    vector_types_ = types;
    return can;
  }
  bool touches_variables(StmtId id) const;

  std::string machine_code(const std::string& shapes, const std::string& signature) {
    std::vector<std::string> arguments;
    for (const BufferId argument : program_.arguments) {
      arguments.push_back(name(argument));
    }
    return cpp_machine_part(*options_.machine, arguments, shapes + signature, names_);
  }

  // --- statements ------------------------------------------------------------------------------
  void emit(StmtId id);
  void emit_loop(StmtId id, const For& loop);
  void emit_vectorized(StmtId id, const For& loop, std::int64_t extent);
  void emit_alloc(const Alloc& alloc);

  const CppSourceOptions& options_;
};

inline void CppEmitter::emit(StmtId id) {
  std::visit(Overloaded{[&](const Seq& seq) {
                          for (StmtId item : seq.items) {
                            emit(item);
                          }
                        },
                        [&](const For& loop) { emit_loop(id, loop); },
                        [&](const Store& store) {
                          line(element(store.buffer, store.indices) + assignment(store));
                        },
                        [&](const If& branch) {
                          const auto emit_one = [&](StmtId body) { emit(body); };
                          write_branch(branch, emit_one, emit_one);
                        },
                        [&](const Alloc& alloc) { emit_alloc(alloc); }, [](const Barrier&) {},
                        [&](const Prefetch& prefetch) {
                          line("__builtin_prefetch(" + name(prefetch.buffer) + " + (" +
                               offset(prefetch.buffer, prefetch.indices).print().text + "), 0, " +
                               std::to_string(4 - prefetch.level) + ");");
                        }},
             program_[id]);
}

inline void CppEmitter::emit_loop(StmtId id, const For& loop) {
  TENSORSMITH_ASSERT(loop.kind <= ForKind::vthread, "a loop bound to a GPU in a CPU program");
  const LinearText extent = linear(loop.extent);
  if (extent.is_constant() && (extent.constant <= 1 || plan_.expand[id.value])) {
    for (std::int64_t i = 0; i < extent.constant; ++i) {
      bind(loop.var, LinearText::of(i));
      emit(loop.body);
    }
    return;
  }
  if (loop.kind == ForKind::vectorized && extent.is_constant()) {
    return emit_vectorized(id, loop, extent.constant);
  }
  if (loop.kind == ForKind::parallel && options_.openmp) {
    line("#if defined(_OPENMP)");
    line("#pragma omp parallel for");
    line("#endif");
  }
  const std::string var = names_.unique(program_.pool.var_name(loop.var));
  bind(loop.var, LinearText::of(var));
  open("for (std::int64_t " + var + " = 0; " + var + " < " + extent.print().text + "; ++" + var +
       ")");
  emit(loop.body);
  close();
  names_.release(var);
}

inline bool CppEmitter::touches_variables(StmtId id) const {
  const auto in_expr = [&](ExprId root) {
    bool found = false;
    visit_nodes(program_.pool, root, [&](ExprId e) {
      const Load* node = program_.pool.as<Load>(e);
      found = found || (node != nullptr && plan_.lanes[node->buffer.value] > 1);
    });
    return found;
  };
  return std::visit(
      Overloaded{[&](const Seq& seq) {
                   return any_item(seq.items, [&](StmtId item) { return touches_variables(item); });
                 },
                 [&](const For& loop) { return touches_variables(loop.body); },
                 [&](const Store& store) {
                   return plan_.lanes[store.buffer.value] > 1 || in_expr(store.value);
                 },
                 [&](const If& branch) {
                   return in_expr(branch.condition) || touches_variables(branch.then_body) ||
                          (branch.else_body.valid() && touches_variables(branch.else_body));
                 },
                 [&](const Alloc& alloc) { return touches_variables(alloc.body); },
                 [](const auto&) { return false; }},
      program_[id]);
}

inline void CppEmitter::emit_vectorized(StmtId id, const For& loop, std::int64_t extent) {
  const std::int32_t lanes = plan_.chunk[id.value];
  const bool has_variables = touches_variables(loop.body);
  bind(loop.var, LinearText::of(lane_mark));
  const bool use_vectors = lanes > 1 && (has_variables || can_vectorize(loop.body, lanes));
  const std::string var = has_variables ? "" : names_.unique(program_.pool.var_name(loop.var));
  const bool write_out = use_vectors && (has_variables || extent <= 4 * lanes);
  if (write_out) {
    for (std::int64_t first = 0; first < extent; first += lanes) {
      bind(loop.var, LinearText::of(lane_mark, first));
      vector_chunk(loop.body, loop.var, lanes, LinearText::of(first));
    }
    return;
  }
  const std::string head =
      "for (std::int64_t " + var + " = 0; " + var + " < " + std::to_string(extent) + "; ";
  LinearText at = LinearText::of(var);
  if (use_vectors) {
    open(head + var + " += " + std::to_string(lanes) + ")");
    LinearText with_lane = at;
    with_lane.add_term(lane_mark, 1);
    bind(loop.var, with_lane);
    vector_chunk(loop.body, loop.var, lanes, at);
  } else {
    open(head + "++" + var + ")");
    bind(loop.var, at);
    emit(loop.body);
  }
  close();
  names_.release(var);
}

inline void CppEmitter::emit_alloc(const Alloc& alloc) {
  const Buffer& buffer = program_[alloc.buffer];
  const std::string& id = name(alloc.buffer);
  const std::int32_t lanes = plan_.lanes[alloc.buffer.value];
  const std::string type(c_storage_type(buffer.dtype));
  const std::string count = std::to_string(buffer.num_elements());
  line("{");
  ++indent_;
  const std::size_t begin = out_.size();
  emit(alloc.body);
  const std::string body = out_.substr(begin);
  out_.resize(begin);
  if (lanes > 0) {
    std::string list;  // of those that are used: a tail needs only some of the tile
    bool are_read = true;
    const std::int64_t row = buffer.shape.empty() ? 1 : buffer.shape.back();
    for (std::int64_t i = 0; i < buffer.num_elements();
         i += smaller_of<std::int64_t>(lanes, row - i % row)) {  // each row starts a variable
      const std::string variable = id + "_" + std::to_string(i);
      if (has_word(body, variable)) {
        list += (list.empty() ? " " : ", ") + variable;
        are_read = are_read && is_read(body, variable);
      }
    }
    if (!list.empty()) {
      line((are_read ? "" : "[[maybe_unused]] ") +
           (lanes > 1 ? vector_type(buffer.dtype, lanes) : type) + list + ";");
    }
    out_ += body;
    return close();
  }
  if (buffer.num_bytes() <= stack_bytes) {
    line((is_read(body, id) ? "" : "[[maybe_unused]] ") + ("alignas(64) " + type) + " " + id + "[" +
         count + "];");
  } else {
    line(type + "* const __restrict__ " + id + " = scratch_of<" + type + ", " + count + ", " +
         std::to_string(alloc.buffer.value) + ">();");
  }
  out_ += body;
  close();
}

inline KernelSource CppEmitter::run() {
  KernelSource result;
  result.function_name = names_.unique(options_.function_name);
  result.entry_name = options_.abi_entry ? names_.unique(result.function_name + "_entry") : "";
  result.arguments = kernel_arguments(program_);
  for (const Buffer& buffer : program_.buffers) {
    names_of_.push_back(names_.unique(buffer.name));
  }
  indent_ = 1;
  emit(program_.body);
  std::string parameters, plain_parameters, shapes, casts;
  for (std::size_t i = 0; i < program_.arguments.size(); ++i) {
    const BufferId id = program_.arguments[i];
    const Buffer& buffer = program_[id];
    const std::string type = std::string(result.arguments[i].is_written ? "" : "const ") +
                             std::string(c_storage_type(buffer.dtype)) + "*";
    const std::string comma = i == 0 ? "" : ", ";
    const std::string_view unused = has_word(out_, name(id)) ? "" : "[[maybe_unused]] ";
    parameters += comma + std::string(unused) + type + " __restrict__ " + name(id);
    plain_parameters += comma + type + " " + name(id);
    casts += comma + "static_cast<" + type + ">(args[" + std::to_string(i) + "])";
    shapes += "//   " + name(id) + ": " + std::string(name_of(buffer.dtype)) + " [";
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      shapes += (d == 0 ? "" : ", ") + std::to_string(buffer.shape[d]);
    }
    shapes += std::string("]") + (result.arguments[i].is_written ? ", written" : "") + "\n";
  }
  const std::string note = options_.comment.empty() ? "" : "// " + options_.comment + "\n";
  const std::string entry_signature =
      "void " + result.entry_name + "(void* const* args, void* workspace, const void* runtime)";

  std::string types;
  for (const auto& [type, lanes] : vector_types_) {
    const std::string element(c_type(type)), bytes = std::to_string(lanes * bytes_of(type));
    const std::string id = vector_type(type, lanes);
    types += "typedef " + element + " " + id + " __attribute__((vector_size(" + bytes + ")));\n";
    types += "typedef " + element + " " + id + "u __attribute__((vector_size(" + bytes +
             "), aligned(" + std::to_string(bytes_of(type)) + "), may_alias));\n";
  }
  const std::string helpers = cpp_helpers_for(out_);
  std::string parts;
  if (!types.empty()) {
    parts += "// Vectors are passed inside of this file only, where every caller agrees.\n"
             "#pragma GCC diagnostic ignored \"-Wpsabi\"\n\n";
  }
  if (!helpers.empty() || !types.empty()) {
    parts +=
        "namespace {\n\n" + types + (types.empty() ? "" : "\n") + helpers + "}  // namespace\n\n";
  }
  const std::string signature =
      "extern \"C\" void " + result.function_name + "(" + parameters + ") {\n";
  const std::string loops = shapes + signature + out_ + "}\n";
  // The parts that only the loops need stand on their side of the condition.
  result.source = note + "#include <cmath>\n#include <cstddef>\n#include <cstdint>\n" +
                  "#include <cstring>\n#include <new>\n#include <type_traits>\n\n";
  const std::string portable = parts + loops;
  result.source += options_.machine == nullptr
                       ? portable
                       : machine_code(shapes, signature) + "\n#else\n\n" + portable + "\n#endif\n";
  result.header = note + "#pragma once\n\n#include <cstdint>\n\n" + shapes + "extern \"C\" void " +
                  result.function_name + "(" + plain_parameters + ");\n";
  if (options_.abi_entry) {
    result.source += "\nextern \"C\" " + entry_signature + " {\n  (void)workspace;\n" +
                     "  (void)runtime;\n  " + result.function_name + "(" + casts + ");\n}\n";
    result.header += "extern \"C\" " + entry_signature + ";\n";
  }
  return result;
}

}  // namespace detail

TENSORSMITH_INLINE KernelSource emit_cpp_source(const LoopProgram& program,
                                                const CppSourceOptions& options) {
  return detail::CppEmitter(program, options).run();
}

}  // namespace tensorsmith
