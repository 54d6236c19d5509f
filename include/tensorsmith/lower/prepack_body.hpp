// SPDX-License-Identifier: Apache-2.0
// The definitions of prepack.hpp.
//
// Floor 4. Included by lower/prepack.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/te/constant_arguments.hpp"

namespace tensorsmith {

namespace detail {

class PrepackSplitter {
 public:
  PrepackSplitter(const LoopProgram& program, const std::vector<bool>& is_constant)
      : program_(program), varies_(program.buffers.size(), false),
        origin_(program.buffers.size(), no_origin), use_(program.buffers.size()) {
    for (std::size_t i = 0; i < program.arguments.size(); ++i) {
      const BufferId argument = program.arguments[i];
      const bool is_fixed = i < is_constant.size() && is_constant[i];
      varies_[argument.value] = !is_fixed;
      origin_[argument.value] = is_fixed ? i : no_origin;
    }
    StmtId body = program.body;
    const Alloc* alloc = program.as<Alloc>(body);
    while (alloc != nullptr && program[alloc->buffer].scope == Scope::global) {
      allocated_.push_back(alloc->buffer);
      body = alloc->body;
      alloc = program.as<Alloc>(body);
    }
    add_parts(body);
  }

  std::optional<KernelPrograms> run() {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (Part& part : parts_) {
        bool depends = part.is_main;
        for (BufferId buffer : part.touched) {
          depends = depends || varies_[buffer.value];
        }
        has_changed = has_changed || depends != part.is_main;
        part.is_main = depends;
        for (BufferId buffer : part.written) {
          varies_[buffer.value] = varies_[buffer.value] || depends;
        }
      }
    }
    for (const Part& part : parts_) {
      std::size_t first = no_origin;
      for (BufferId buffer : part.touched) {
        Use& use = use_[buffer.value];
        (part.is_main ? use.in_main : use.in_prepack) = true;
        first = origin_[buffer.value] < first ? origin_[buffer.value] : first;
      }
      for (BufferId buffer : part.written) {
        origin_[buffer.value] = part.is_main ? no_origin : first;
      }
    }
    std::vector<BufferId> packed;
    for (BufferId buffer : allocated_) {
      if (use_[buffer.value].in_prepack && use_[buffer.value].in_main) {
        packed.push_back(buffer);
      }
    }
    if (packed.empty()) {
      return std::nullopt;
    }
    std::vector<BufferId> inputs, arguments;
    const auto add_packed = [&](std::size_t origin) {
      for (BufferId buffer : packed) {
        if (origin_[buffer.value] == origin) {
          arguments.push_back(buffer);
        }
      }
    };
    for (std::size_t i = 0; i < program_.arguments.size(); ++i) {
      const BufferId argument = program_.arguments[i];
      const Use& use = use_[argument.value];
      if (use.in_prepack) {
        inputs.push_back(argument);
      }
      if (use.in_main || !use.in_prepack) {
        arguments.push_back(argument);
      }
      add_packed(i);
    }
    add_packed(no_origin);  // made of nothing
    inputs.insert(inputs.end(), packed.begin(), packed.end());
    return KernelPrograms{part_of_program(true, arguments), part_of_program(false, inputs),
                          program_.arguments};
  }

 private:
  static constexpr std::size_t no_origin = SIZE_MAX;
  struct Part {
    StmtId stmt;
    std::vector<BufferId> touched, written;
    bool is_main = false;
  };
  struct Use {
    bool in_main = false, in_prepack = false;
  };

  void add_parts(StmtId id) {
    if (const Seq* seq = program_.as<Seq>(id)) {
      for (StmtId item : seq->items) {
        add_parts(item);
      }
      return;
    }
    Part part;
    part.stmt = id;
    visit(id, part);
    parts_.push_back(std::move(part));
  }

  void visit(StmtId id, Part& part) {
    for_each_expr(program_[id], [&](ExprId own) {
      visit_nodes(program_.pool, own, [&](ExprId e) {
        if (const Load* load = program_.pool.as<Load>(e)) {
          part.touched.push_back(load->buffer);
        }
      });
    });
    if (const Store* store = program_.as<Store>(id)) {
      part.touched.push_back(store->buffer);
      part.written.push_back(store->buffer);
    } else if (const Prefetch* hint = program_.as<Prefetch>(id)) {
      part.touched.push_back(hint->buffer);
    }
    for_each_child(program_[id], [&](StmtId child) { visit(child, part); });
  }

  LoopProgram part_of_program(bool is_main, const std::vector<BufferId>& arguments) const {
    LoopProgram result(program_.base_pool);
    result.pool = program_.pool;
    result.buffers = program_.buffers;
    for (Buffer& buffer : result.buffers) {
      buffer.argument = -1;
    }
    for (BufferId argument : arguments) {
      result[argument].argument = static_cast<std::int32_t>(result.arguments.size());
      result.arguments.push_back(argument);
    }
    Seq seq;
    for (const Part& part : parts_) {
      if (part.is_main == is_main) {
        seq.items.push_back(copy(part.stmt, result));
      }
    }
    result.body = seq.items.size() == 1 ? seq.items[0] : result.add(std::move(seq));
    for (std::size_t i = allocated_.size(); i-- > 0;) {
      const Use& use = use_[allocated_[i].value];
      if (use.in_main != use.in_prepack && use.in_main == is_main) {
        result.body = result.add(Alloc{allocated_[i], result.body});
      }
    }
    return result;
  }

  StmtId copy(StmtId id, LoopProgram& to) const {
    if (!id.valid()) {
      return id;
    }
    Stmt stmt = program_[id];
    std::visit(Overloaded{[&](Seq& s) {
                            for (StmtId& item : s.items) {
                              item = copy(item, to);
                            }
                          },
                          [&](For& f) { f.body = copy(f.body, to); }, [](Store&) {},
                          [&](If& i) {
                            i.then_body = copy(i.then_body, to);
                            i.else_body = copy(i.else_body, to);
                          },
                          [&](Alloc& a) { a.body = copy(a.body, to); }, [](Barrier&) {},
                          [](Prefetch&) {}},
               stmt);
    return to.add(std::move(stmt));
  }

  const LoopProgram& program_;
  std::vector<BufferId> allocated_;  ///< around all parts, outermost first
  std::vector<Part> parts_;
  std::vector<bool> varies_;         ///< by buffer: from call to call
  std::vector<std::size_t> origin_;  ///< by buffer: the first constant that it depends on
  std::vector<Use> use_;             ///< by buffer
};

}  // namespace detail

TENSORSMITH_INLINE KernelPrograms split_prepack(LoopProgram program,
                                                const std::vector<bool>& is_constant) {
  std::optional<KernelPrograms> two = detail::PrepackSplitter(program, is_constant).run();
  if (two) {
    return std::move(*two);
  }
  std::vector<BufferId> arguments = program.arguments;
  return KernelPrograms{std::move(program), std::nullopt, std::move(arguments)};
}

TENSORSMITH_INLINE Result<KernelPrograms, LowerError> lower_kernel(const State& state,
                                                                   const Target& target) {
  Result<LoopProgram, LowerError> program = lower(state, target);
  if (!program) {
    return fail(program.error());
  }
  return split_prepack(std::move(program).value(), constant_arguments(*state.initial_dag()));
}

}  // namespace tensorsmith
