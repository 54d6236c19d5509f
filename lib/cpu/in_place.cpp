#include "in_place.hpp"

#include <algorithm>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith::llvm_codegen {
namespace {

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
      visit_expr(program_.pool, expr, [&](ExprId node) {
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

}  // namespace tensorsmith::llvm_codegen
