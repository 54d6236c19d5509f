// SPDX-License-Identifier: Apache-2.0
// Values, accesses and whole-vector statements of CUDA text.
//
// Floor 5. Own design. A vectorized loop becomes one access per 16 bytes where its elements are
// neighbours at an aligned address, element by element elsewhere:
//     B[4*i + v] = A[4*j + v] * s, v in 4  -->  const float4 a = *(const float4*)(A + 4 * j);
//                                               *(float4*)(B + 4 * i) = make_float4(a.x * s, ...);
// All lanes read before any of them writes. Not here: loops, kernels (cuda_emitter.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/codegen/c_like_writer.hpp"
#include "tensorsmith/ir/background_copy.hpp"
#include "tensorsmith/ir/lane_access.hpp"
#include "tensorsmith/ir/swizzle.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith::detail {

class CudaVectorPrinter : protected CLikeWriter {
 protected:
  explicit CudaVectorPrinter(const LoopProgram& program) : CLikeWriter(program, CDialect::cuda) {}

  static constexpr const char* lane_mark = "@lane";
  static constexpr std::int32_t vector_bytes = 16;

  // --- scalars ---------------------------------------------------------------------------------
  bool is_private(BufferId id) const { return program_[id].scope >= Scope::warp; }
  /// Of a private buffer, in one thread; of a buffer of a warp what is in front of its last three
  /// dimensions.
  std::int64_t num_private_elements(BufferId id) const {
    const Buffer& buffer = program_[id];
    return buffer.scope == Scope::warp ? buffer.num_elements() / threads_.num_threads()
                                       : buffer.num_elements();
  }
  std::string element(BufferId id, const ExprList& indices) const {
    if (is_private(id) && num_private_elements(id) == 1) {
      return name(id);
    }
    if (program_[id].scope != Scope::warp) {
      return name(id) + "[" + place(id, offset(id, indices)).print().text + "]";
    }
    LinearText at;
    for (std::size_t d = 0; d + num_thread_axes < indices.size(); ++d) {
      at.add(linear(indices[d]), program_[id].strides[d] / threads_.num_threads());
    }
    return name(id) + "[" + at.print().text + "]";
  }
  /// Where the element at an offset is (Buffer::is_swizzled). Whole groups of eight lines do not
  /// matter for the exchange and stay outside of it.
  LinearText place(BufferId id, const LinearText& offset) const {
    const Buffer& buffer = program_[id];
    if (!buffer.is_swizzled) {
      return offset;
    }
    const std::int64_t bytes = bytes_of(buffer.dtype), piece = 16 / bytes, period = 1024 / bytes;
    LinearText inside, outside;
    for (const auto& [text, coefficient] : offset.terms) {
      (coefficient % period == 0 ? outside : inside).add_term(text, coefficient);
    }
    inside.constant = floor_mod(offset.constant, period);
    outside.constant = offset.constant - inside.constant;
    if (inside.is_constant()) {
      outside.constant += swizzled_byte(inside.constant * bytes) / bytes;
    } else {
      const std::string text =
          "swizzled<" + std::to_string(piece) + ">(" + inside.print().text + ")";
      non_negative_.insert(text);
      outside.add_term(text, 1);
    }
    return outside;
  }
  CText load(const Load& node) const override {
    return loaded(element(node.buffer, node.indices), program_[node.buffer].dtype);
  }
  /// Where nothing can be negative, / and % of the language do, and cost less.
  std::string division_text(const LinearText& rest, bool is_div,
                            std::int64_t divisor) const override {
    std::string text;
    if (rest.constant >= 0 && all_items(rest.terms, [&](const auto& term) {
          return term.second > 0 && non_negative_.contains(term.first);
        })) {
      text = "(" + rest.print().within(CText::mul) + (is_div ? " / " : " % ") +
             std::to_string(divisor) + ")";
      non_negative_.insert(text);
    } else {
      text = CLikePrinter::division_text(rest, is_div, divisor);
      if (!is_div) {
        non_negative_.insert(text);
      }
    }
    return text;
  }

  // --- vectors ---------------------------------------------------------------------------------
  static bool is_built_in(DType type, std::int32_t lanes) {
    return lanes == 2 || (lanes == 4 && bytes_of(type) <= 4);
  }
  /// float4 and the like; of what CUDA has no type for, one of our own.
  std::string vector_type(DType type, std::int32_t lanes) {
    const std::string element = type == DType::f64                            ? "double"
                                : type == DType::f32                          ? "float"
                                : type == DType::f16 || type == DType::bf16   ? "ushort"
                                : type == DType::i64                          ? "longlong"
                                : type == DType::i32                          ? "int"
                                : type == DType::i16                          ? "short"
                                : type == DType::u8 || type == DType::boolean ? "uchar"
                                                                              : "char";
    const std::string id = element + std::to_string(lanes);
    const std::pair own{id, std::pair{type, lanes}};
    if (!is_built_in(type, lanes) &&
        !any_item(own_vectors_, [&](const auto& known) { return known.first == id; })) {
      own_vectors_.push_back(own);
    }
    return id;
  }
  std::string lane_of(const std::string& vector, DType type, std::int32_t lanes,
                      std::int32_t lane) const {
    return is_built_in(type, lanes) ? vector + "." + "xyzw"[lane]
                                    : vector + ".lane[" + std::to_string(lane) + "]";
  }
  static bool mentions_lane(const std::string& text) {
    return text.find(lane_mark) != std::string::npos;
  }
  bool is_uniform(ExprId id) const { return !mentions_lane(value(id).text); }

  /// The lanes of an access as one lvalue, if they are neighbours at an aligned address.
  std::optional<std::string> vector_access(BufferId id, const ExprList& indices, std::int32_t lanes,
                                           bool is_const) {
    LinearText at = offset(id, indices);
    if (is_private(id) || at.coefficient_of(lane_mark) != 1) {
      return std::nullopt;
    }
    at.add_term(lane_mark, -1);
    const bool is_aligned = at.constant % lanes == 0 && all_items(at.terms, [&](const auto& term) {
                              return term.second % lanes == 0 && !mentions_lane(term.first);
                            });
    if (!is_aligned) {
      return std::nullopt;
    }
    at = place(id, at);
    const std::string base = at.is_constant() && at.constant == 0 ? "" : " + " + at.print().text;
    return "*reinterpret_cast<" + std::string(is_const ? "const " : "") +
           vector_type(program_[id].dtype, lanes) + "*>(" + name(id) + base + ")";
  }

  /// The lanes of a value that come from memory at once: a load, or a load or constant behind a
  /// condition that is the same in every lane. The type is that of the elements.
  std::optional<std::pair<std::string, DType>> vector_source(ExprId id, std::int32_t lanes) {
    const ExprPool& pool = program_.pool;
    if (const Load* node = pool.as<Load>(id)) {
      const auto text = vector_access(node->buffer, node->indices, lanes, true);
      return text ? std::optional(std::pair{*text, program_[node->buffer].dtype}) : std::nullopt;
    }
    const Call* call = pool.as<Call>(id);
    if (call == nullptr || call->op != CallOp::if_then_else || constant(call->args[0]) ||
        !is_uniform(call->args[0])) {
      return std::nullopt;
    }
    auto yes = vector_source(call->args[1], lanes), no = vector_source(call->args[2], lanes);
    if (!yes && !no) {
      return std::nullopt;
    }
    for (const bool is_yes : {true, false}) {
      auto& arm = is_yes ? yes : no;
      const ExprId other = call->args[is_yes ? 1 : 2];
      const DType type = (is_yes ? no : yes).value_or(std::pair{"", DType::f32}).second;
      if (!arm && (pool.as<IntImm>(other) != nullptr || pool.as<FloatImm>(other) != nullptr)) {
        arm.emplace(made_of({static_cast<std::size_t>(lanes), stored(value(other), type)}, type),
                    type);
      }
    }
    if (!yes || !no || yes->second != no->second) {
      return std::nullopt;
    }
    return std::pair{value(call->args[0]).within(CText::or_) + " ? " + yes->first + " : " +
                         no->first,
                     yes->second};
  }
  std::string made_of(const std::vector<std::string>& lanes, DType type) {
    const auto count = static_cast<std::int32_t>(lanes.size());
    const std::string id = vector_type(type, count);
    std::size_t length = 0;
    for (const std::string& lane : lanes) {
      length += lane.size() + 2;
    }
    const std::string comma = length > 72 ? ",\n" + std::string(2 * indent_ + 8, ' ') : ", ";
    std::string list = length > 72 ? comma.substr(1) : "";
    for (const std::string& lane : lanes) {
      list += (&lane == &lanes.front() ? "" : comma) + lane;
    }
    return is_built_in(type, count) ? "make_" + id + "(" + list + ")" : id + "{{" + list + "}}";
  }

  /// A copy from global to shared memory that the hardware can do in the background.
  std::optional<BackgroundCopy> copies_async(const Store& store, std::int32_t lanes) const {
    const std::int32_t bytes = lanes * bytes_of(program_[store.buffer].dtype);
    const std::optional<BackgroundCopy> copy = background_copy(program_, store);
    const bool fits = copy && (bytes == 4 || bytes == 8 || bytes == 16) &&
                      (!copy->condition.valid() || is_uniform(copy->condition));
    return fits ? copy : std::nullopt;
  }
  /// Both are pointers.
  std::string async_text(const BackgroundCopy& copy, const std::string& to,
                         const std::string& from) const {
    return copy.condition.valid()
               ? "copy_async_or_zero(" + to + ", " + from + ", " + value(copy.condition).text + ");"
               : "copy_async(" + to + ", " + from + ");";
  }

  // --- statements ------------------------------------------------------------------------------
  struct Fetched {
    ExprId id;
    std::string variable;
    DType type;
    CText text;  // of the lane that is printed now
  };
  const CText* replacement(ExprId id) const override {
    for (const Fetched& fetched : fetched_) {
      if (fetched.id == id) {
        return &fetched.text;
      }
    }
    return nullptr;
  }
  /// Fetches what `id` reads for all lanes at once, ahead of the statement.
  void fetch(ExprId id, std::int32_t lanes) {
    if (replacement(id) != nullptr || is_uniform(id)) {
      return;
    }
    if (const auto source = vector_source(id, lanes)) {
      const Load* node = program_.pool.as<Load>(id);
      const std::string variable = names_.unique(node != nullptr ? name(node->buffer) + "_v" : "v");
      line("const " + vector_type(source->second, lanes) + " " + variable + " = " + source->first +
           ";");
      fetched_.push_back({id, variable, source->second, {}});
      return;
    }
    const Call* call = program_.pool.as<Call>(id);
    if (call != nullptr && call->op == CallOp::if_then_else) {
      return;  // the arm that is not taken must not be read
    }
    for_each_child(program_.pool[id], [&](ExprId child) { fetch(child, lanes); });
  }
  /// `var` is bound to base + the lane mark.
  void vector_store(const Store& store, VarId var, const LinearText& base, std::int32_t lanes) {
    const DType type = program_[store.buffer].dtype;
    const auto target = vector_access(store.buffer, store.indices, lanes, false);
    const auto background = target ? copies_async(store, lanes) : std::nullopt;
    const auto from =
        background ? vector_access(background->load->buffer, background->load->indices, lanes, true)
                   : std::nullopt;
    if (from) {  // both are "*reinterpret_cast<...>(...)"
      return line(async_text(*background, target->substr(1), from->substr(1)));
    }
    const auto copied = target ? vector_source(store.value, lanes) : std::nullopt;
    if (copied && copied->second == type) {
      return line(*target + " = " + copied->first + ";");
    }
    open_scope();
    fetch(store.value, lanes);
    const Binary* sum = target ? nullptr : added_to_itself(store);
    std::vector<std::string> targets, values;
    for (std::int32_t lane = 0; lane < lanes; ++lane) {
      LinearText at = base;
      at.constant += lane;
      bind(var, at);
      for (Fetched& fetched : fetched_) {
        fetched.text = loaded(lane_of(fetched.variable, fetched.type, lanes, lane), fetched.type);
      }
      targets.push_back(element(store.buffer, store.indices));
      values.push_back(sum != nullptr ? value(sum->b).text : stored(value(store.value), type));
    }
    LinearText at = base;
    at.add_term(lane_mark, 1);
    bind(var, at);
    if (target) {
      line(*target + " = " + made_of(values, type) + ";");
    } else {
      // A lane may read what another one writes: then the values wait in variables.
      const bool waits = reads_others(store);
      for (std::int32_t lane = 0; waits && lane < lanes; ++lane) {
        const std::string variable = names_.unique("lane_" + std::to_string(lane));
        line("const " + std::string(c_storage_type(type, CDialect::cuda)) + " " + variable + " = " +
             (sum != nullptr ? targets[static_cast<std::size_t>(lane)] + " + " : "") +
             values[static_cast<std::size_t>(lane)] + ";");
        values[static_cast<std::size_t>(lane)] = variable;
      }
      for (std::size_t lane = 0; lane < targets.size(); ++lane) {
        line(targets[lane] + (sum != nullptr && !waits ? " += " : " = ") + values[lane] + ";");
      }
    }
    close_scope();
  }
  bool reads_others(const Store& store) const {
    bool found = false;
    visit_nodes(program_.pool, store.value, [&](ExprId id) {
      const Load* node = program_.pool.as<Load>(id);
      found = found || (node != nullptr && node->buffer == store.buffer &&
                        !(node->indices == store.indices));
    });
    return found;
  }

  ThreadAxes threads_;                         ///< of the kernel
  mutable HashSet<std::string> non_negative_;  ///< terms that are never below 0
  std::vector<std::pair<std::string, std::pair<DType, std::int32_t>>> own_vectors_;

 private:
  // Braces appear only if something is fetched: they are put in afterwards.
  void open_scope() { scope_begin_ = out_.size(); }
  void close_scope() {
    if (!fetched_.empty() || out_.find("const ", scope_begin_) != std::string::npos) {
      std::string body = out_.substr(scope_begin_), indented;
      out_.resize(scope_begin_);
      for (std::size_t at = 0; at < body.size();) {
        const std::size_t end = body.find('\n', at) + 1;
        indented += "  " + body.substr(at, end - at);
        at = end;
      }
      line("{");
      out_ += indented;
      line("}");
    }
    for (const Fetched& fetched : fetched_) {
      names_.release(fetched.variable);
    }
    fetched_.clear();
  }

  std::vector<Fetched> fetched_;
  std::size_t scope_begin_ = 0;
};

}  // namespace tensorsmith::detail
