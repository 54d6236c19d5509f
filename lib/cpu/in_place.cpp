// SPDX-License-Identifier: Apache-2.0
#include "in_place.hpp"

#include <algorithm>

#include "function_emitter.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

/// Besides rows that its loops share (lower/hoist_rows.hpp).
bool stores_only(const LoopProgram& program, StmtId id, BufferId result, bool is_serial) {
  constexpr std::int64_t most_row_bytes = 16384;
  if (const Seq* seq = program.as<Seq>(id)) {
    return std::all_of(seq->items.begin(), seq->items.end(),
                       [&](StmtId item) { return stores_only(program, item, result, is_serial); });
  }
  if (const For* loop = program.as<For>(id)) {
    return (is_serial || loop->kind != ForKind::parallel) &&
           stores_only(program, loop->body, result, is_serial);
  }
  if (const Alloc* alloc = program.as<Alloc>(id)) {
    return program[alloc->buffer].num_bytes() <= most_row_bytes &&
           stores_only(program, alloc->body, result, is_serial);
  }
  const Store* store = program.as<Store>(id);
  return store != nullptr && (store->buffer == result || program[store->buffer].argument < 0);
}

class InPlaceCheck {
 public:
  InPlaceCheck(const LoopProgram& program, const ProgramFacts& facts)
      : program_(program), is_read_elsewhere_(program.buffers.size(), false),
        num_stores_with_(program.buffers.size(), 0) {
    for (const BufferId argument : program.arguments) {
      if (facts.of(program.body).stores(argument)) {
        result_ = argument;
        ++num_results_;
      }
    }
  }

  std::vector<std::int32_t> overwritable() {
    std::vector<std::int32_t> found;
    for (std::size_t i = 0; num_results_ == 1 && i < program_.arguments.size(); ++i) {
      if (has_form_of_result(program_.arguments[i])) {
        found.push_back(static_cast<std::int32_t>(i));
      }
    }
    if (found.empty()) {
      return found;
    }
    visit(program_.body);
    std::erase_if(found, [&](std::int32_t place) {
      const std::uint32_t buffer = program_.arguments[static_cast<std::size_t>(place)].value;
      return is_read_elsewhere_[result_.value] || is_read_elsewhere_[buffer] ||
             num_stores_with_[buffer] != num_stores_;
    });
    return found;
  }

 private:
  bool has_form_of_result(BufferId argument) const {
    const Buffer &input = program_[argument], &result = program_[result_];
    return argument != result_ && input.dtype == result.dtype && input.shape == result.shape &&
           input.strides == result.strides;
  }
  void visit(StmtId id) {
    const Store* store = program_.as<Store>(id);
    const bool is_final = store != nullptr && store->buffer == result_;
    std::vector<BufferId> here;  // what this store of the result reads at its own place
    for_each_expr(program_[id], [&](ExprId expr) {
      visit_nodes(program_.pool, expr, [&](ExprId node) {
        const Load* load = program_.pool.as<Load>(node);
        if (load == nullptr) {
          return;
        }
        if (!is_final || load->buffer == result_ || load->indices != store->indices) {
          is_read_elsewhere_[load->buffer.value] = true;
        } else if (std::find(here.begin(), here.end(), load->buffer) == here.end()) {
          here.push_back(load->buffer);
        }
      });
    });
    num_stores_ += is_final ? 1 : 0;
    for (const BufferId buffer : here) {
      num_stores_with_[buffer.value] += is_once(*store) ? 1 : 0;
    }
    const For* loop = program_.as<For>(id);
    if (loop != nullptr) {
      loops_.push_back(loop->var);
    }
    for_each_child(program_[id], [&](StmtId child) { visit(child); });
    if (loop != nullptr) {
      loops_.pop_back();
    }
  }
  /// Whether no loop around the store repeats it at the same place.
  bool is_once(const Store& store) const {
    return std::all_of(loops_.begin(), loops_.end(), [&](VarId var) {
      return std::any_of(store.indices.begin(), store.indices.end(),
                         [&](ExprId index) { return uses_var(program_.pool, index, var); });
    });
  }

  const LoopProgram& program_;
  std::vector<bool> is_read_elsewhere_;        // by buffer
  std::vector<std::int64_t> num_stores_with_;  // stores of the result that read the buffer
  std::vector<VarId> loops_;                   // around the statement that is visited
  BufferId result_;
  int num_results_ = 0;
  std::int64_t num_stores_ = 0;
};

}  // namespace

std::vector<std::int32_t> overwritable_arguments(const LoopProgram& program,
                                                 const ProgramFacts& facts) {
  return InPlaceCheck(program, facts).overwritable();
}

bool is_stream(const LoopProgram& program, const InPlace& in_place, const Target& target,
               bool is_serial) {
  const std::int64_t cache = target.caches.l2_bytes.value_or(std::int64_t{1} << 20);
  return !in_place.inputs.empty() && 2 * program[in_place.result].num_bytes() > cache &&
         stores_only(program, program.body, in_place.result, is_serial);
}

// The same program twice. In place a core writes each line that it has just read, and waits for
// the next to come from the third level cache: there the loops fetch ahead. With memory of its own
// for the result that costs time instead (decisions/0014).
void FunctionEmitter::emit_in_place(StmtId body, const InPlace& in_place) {
  LLVMValueRef is_in_place = nullptr;
  for (const BufferId input : in_place.inputs) {
    const LLVMValueRef is_here =
        b_.icmp(LLVMIntEQ, memory_.alive(in_place.result).pointer, memory_.alive(input).pointer);
    is_in_place = is_in_place == nullptr ? is_here : b_.or_(is_in_place, is_here);
  }
  emit_branch(
      is_in_place,
      [&] {
        fetches_ahead_ = true;
        emit(body);
        fetches_ahead_ = false;
      },
      [&] { emit(body); });
}

// What the store reads of inputs as large as the result, where a vector is a line.
void FunctionEmitter::fetch_ahead(const Store& store) {
  constexpr std::int64_t distance = 32;  // lines
  const std::int64_t line = m_.target.cache_line_bytes;
  const Buffer& result = program_[store.buffer];
  if (result.argument < 0 || chunk_.lanes * bytes_of(result.dtype) < line) {
    return;
  }
  visit_expr(program_.pool, store.value, [&](ExprId id) {
    const Load* load = program_.pool.as<Load>(id);
    if (load == nullptr || program_[load->buffer].num_bytes() < result.num_bytes()) {
      return;
    }
    LinearForm where = values_.flat_form(load->buffer, load->indices);
    if (where.lane == 1 && !where.is_lane_opaque) {
      where.constant += distance * line / bytes_of(program_[load->buffer].dtype);
      memory_.fetch(memory_.pointer_to(load->buffer, where), 1);
    }
  });
}

}  // namespace tensorsmith::llvm_codegen
