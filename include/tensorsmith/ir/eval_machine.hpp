// SPDX-License-Identifier: Apache-2.0
// The machine that runs compiled loop programs: buffers, registers, lanes.
//
// Floor 1. Own design. Every cell knows whether it has a value; every access is checked per
// dimension and by flat address. Used through eval.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/eval_buffer.hpp"
#include "tensorsmith/ir/eval_options.hpp"
#include "tensorsmith/ir/eval_program.hpp"
#include "tensorsmith/ir/eval_races.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {

namespace detail {

class Evaluator {
 public:
  Evaluator(const EvalProgram& program, const EvalOptions& options)
      : p_(program), source_(*program.source), order_(options.parallel_order), rng_(options.seed),
        buffers_(source_.buffers.size()),
        registers_(static_cast<std::size_t>(program.num_registers) * program.max_lanes),
        vars_(program.num_slots), flat_(program.max_lanes), all_lanes_(program.max_lanes) {
    for (std::uint32_t lane = 0; lane < program.max_lanes; ++lane) {
      all_lanes_[lane] = lane;
    }
    for (const auto& [reg, value] : p_.constants) {
      for (std::uint32_t lane = 0; lane < p_.max_lanes; ++lane) {
        registers_[static_cast<std::size_t>(reg) * p_.max_lanes + lane] = value;
      }
    }
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const std::int64_t size = source_.buffers[b].num_elements();
      const std::int64_t threads = p_.num_threads[b];
      buffers_[b].resize(threads > 0 ? size * threads : size);
    }
  }

  bool run() { return execute(p_.root, all_lanes_.data(), 1); }
  const EvalError& error() const { return error_; }

  bool set_argument(std::size_t position, const HostArray& array, bool is_output) {
    const BufferId id = source_.arguments[position];
    const Buffer& buffer = source_[id];
    if (array.dtype != buffer.dtype || !equal_items(array.shape, buffer.shape)) {
      return fail(
          {EvalErrorKind::wrong_argument, {}, id, -1, static_cast<std::int64_t>(position), 0});
    }
    if (!is_output) {
      buffers_[id.value].set(buffer, array);
    }
    return true;
  }
  bool get_argument(std::size_t position, HostArray& array, bool is_output) {
    const BufferId id = source_.arguments[position];
    const std::int64_t missing = buffers_[id.value].get(source_[id], array);
    return !is_output || missing < 0 ||
           fail({EvalErrorKind::unwritten_output, {}, id, -1, missing, 0});
  }

 private:
  using Lanes = const std::uint32_t*;

  bool fail(const EvalError& error) {
    error_ = error;
    return false;
  }
  Scalar* reg(std::uint32_t r) { return &registers_[static_cast<std::size_t>(r) * p_.max_lanes]; }

  bool execute(std::uint32_t id, Lanes lanes, std::uint32_t count) {
    const EvalStmt& s = p_.stmts[id];
    switch (s.kind) {
    case EvalStmt::Kind::nothing:
      return true;
    case EvalStmt::Kind::sequence:
      for (std::uint32_t child : s.children) {
        if (!execute(child, lanes, count)) {
          return false;
        }
      }
      return true;
    case EvalStmt::Kind::lanes:
      return s.num_lanes == 0 || execute(s.children[0], all_lanes_.data(), s.num_lanes);
    case EvalStmt::Kind::loop:
      return loop(s, lanes, count);
    case EvalStmt::Kind::store:
      return store(s, lanes, count);
    case EvalStmt::Kind::branch:
      return branch(s, lanes, count);
    case EvalStmt::Kind::alloc:
      buffers_[s.buffer.value].forget();
      return execute(s.children[0], lanes, count);
    case EvalStmt::Kind::threads:
      return threads(s);
    case EvalStmt::Kind::barrier:
      return true;  // outside of threads
    }
    return true;
  }

  bool loop(const EvalStmt& s, Lanes lanes, std::uint32_t count) {
    if (!run_code(s.code_begin, s.code_end, s.origin, lanes, count)) {
      return false;
    }
    const std::int64_t extent = reg(s.value)[lanes[0]].integer;
    for (std::uint32_t n = 1; n < count; ++n) {
      if (reg(s.value)[lanes[n]].integer != extent) {
        return fail({EvalErrorKind::extent_not_constant, s.origin, {}, -1, 0, 0});
      }
    }
    const bool is_free = s.loop_kind == ForKind::parallel || s.loop_kind >= ForKind::vthread;
    const bool is_kernel = s.loop_kind >= ForKind::block_x && !threads_.is_in_blocks;
    if (is_kernel) {
      threads_.begin_kernel();
    }
    const LoopOrder order = is_free ? order_ : LoopOrder::forward;
    std::vector<std::int64_t> shuffled;
    if (order == LoopOrder::shuffled && extent > 0) {
      shuffled.resize(static_cast<std::size_t>(extent));
      for (std::int64_t i = 0; i < extent; ++i) {
        shuffled[static_cast<std::size_t>(i)] = i;
      }
      rng_.shuffle(shuffled);
    }
    for (std::int64_t i = 0; i < extent; ++i) {
      vars_[s.slot] = order == LoopOrder::forward    ? i
                      : order == LoopOrder::reversed ? extent - 1 - i
                                                     : shuffled[static_cast<std::size_t>(i)];
      if (!execute(s.children[0], lanes, count)) {
        return false;
      }
    }
    threads_.is_in_blocks = threads_.is_in_blocks && !is_kernel;
    return true;
  }

  // eval_threads.hpp
  bool threads(const EvalStmt& s);
  bool all_threads(std::uint32_t id);
  template <class F>
  bool each_thread(const F& run);
  bool for_all(const EvalStmt& s, std::int64_t& value);
  bool meets(const EvalAccess& access, Lanes lanes, std::uint32_t count, bool is_write);

  bool branch(const EvalStmt& s, Lanes lanes, std::uint32_t count) {
    if (!run_code(s.code_begin, s.code_end, s.origin, lanes, count)) {
      return false;
    }
    const Scalar* condition = reg(s.value);
    if (count == 1) {
      return execute(s.children[condition[lanes[0]].integer != 0 ? 0 : 1], lanes, 1);
    }
    std::vector<std::uint32_t> arms[2];
    for (std::uint32_t n = 0; n < count; ++n) {
      arms[condition[lanes[n]].integer != 0 ? 0 : 1].push_back(lanes[n]);
    }
    for (int arm = 0; arm < 2; ++arm) {
      const auto size = static_cast<std::uint32_t>(arms[arm].size());
      if (size > 0 && !execute(s.children[static_cast<std::size_t>(arm)], arms[arm].data(), size)) {
        return false;
      }
    }
    return true;
  }

  bool store(const EvalStmt& s, Lanes lanes, std::uint32_t count) {
    if (!run_code(s.code_begin, s.code_end, s.origin, lanes, count) ||
        !addresses(p_.accesses[s.access], lanes, count) ||
        !meets(p_.accesses[s.access], lanes, count, true)) {
      return false;
    }
    const DType type = source_[s.buffer].dtype;
    EvalBuffer& buffer = buffers_[s.buffer.value];
    const Scalar* value = reg(s.value);
    for (std::uint32_t n = 0; n < count; ++n) {
      const auto cell = static_cast<std::size_t>(flat_[lanes[n]]);
      const Scalar v = value[lanes[n]];
      buffer.cells[cell] = is_float(type) ? scalar_of_real(round_real(v.real, type))
                                          : scalar_of(wrap_integer(v.integer, type));
      buffer.epochs[cell] = buffer.epoch;
    }
    return true;
  }

  /// Leaves the flat address of every lane in flat_.
  bool addresses(const EvalAccess& access, Lanes lanes, std::uint32_t count) {
    const Buffer& buffer = source_[access.buffer];
    for (std::uint32_t n = 0; n < count; ++n) {
      flat_[lanes[n]] = 0;
    }
    const std::size_t rank = buffer.shape.size();
    const std::int64_t* shape = buffer.shape.data();
    const std::int64_t* strides = buffer.strides.data();
    for (std::size_t d = 0; d < rank; ++d) {
      const EvalIndex& index = p_.indices[access.first_index + d];
      const Scalar* computed = index.reg != no_register ? reg(index.reg) : nullptr;
      std::int64_t base = index.constant;
      for (std::uint32_t t = index.first; t < index.first + index.count; ++t) {
        base = wrapping_add(base, wrapping_mul(p_.terms[t].coefficient, vars_[p_.terms[t].slot]));
      }
      for (std::uint32_t n = 0; n < count; ++n) {
        const std::uint32_t lane = lanes[n];
        const std::int64_t i = computed != nullptr
                                   ? computed[lane].integer
                                   : wrapping_add(base, wrapping_mul(index.lane_coefficient, lane));
        if (i < 0 || i >= shape[d]) {
          return fail({EvalErrorKind::out_of_bounds, access.stmt, access.buffer,
                       static_cast<std::int32_t>(d), i, shape[d]});
        }
        flat_[lane] += i * strides[d];
      }
    }
    const auto cells = static_cast<std::int64_t>(buffers_[access.buffer.value].cells.size());
    const std::int64_t copies = p_.num_threads[access.buffer.value];
    const std::int64_t size = copies > 0 ? cells / copies : cells;
    for (std::uint32_t n = 0; n < count; ++n) {
      if (flat_[lanes[n]] < 0 || flat_[lanes[n]] >= size) {
        return fail(
            {EvalErrorKind::out_of_bounds, access.stmt, access.buffer, -1, flat_[lanes[n]], size});
      }
      flat_[lanes[n]] += copies > 0 ? size * threads_.current : 0;
    }
    return true;
  }

  bool load(const EvalInstr& instr, Lanes lanes, std::uint32_t count) {
    const EvalAccess& access = p_.accesses[instr.a];
    if (!addresses(access, lanes, count) || !meets(access, lanes, count, false)) {
      return false;
    }
    const EvalBuffer& buffer = buffers_[access.buffer.value];
    Scalar* out = reg(instr.dst);
    for (std::uint32_t n = 0; n < count; ++n) {
      const auto cell = static_cast<std::size_t>(flat_[lanes[n]]);
      if (!buffer.has_value(cell)) {
        return fail({EvalErrorKind::uninitialised_read, access.stmt, access.buffer, -1,
                     flat_[lanes[n]], 0});
      }
      out[lanes[n]] = buffer.cells[cell];
    }
    return true;
  }

  // eval_code.hpp
  bool lazy(const EvalInstr& instr, std::uint32_t at, StmtId stmt, Lanes lanes,
            std::uint32_t count);
  bool run_code(std::uint32_t begin, std::uint32_t end, StmtId stmt, Lanes lanes,
                std::uint32_t count);

  const EvalProgram& p_;
  const LoopProgram& source_;
  LoopOrder order_;
  CounterRng rng_;
  std::vector<EvalBuffer> buffers_;
  std::vector<Scalar> registers_;  // register r, lane l: [r * max_lanes + l]
  std::vector<std::int64_t> vars_, flat_;
  std::vector<std::uint32_t> all_lanes_;
  EvalThreads threads_;
  EvalError error_;
};

}  // namespace detail
}  // namespace tensorsmith

#include "tensorsmith/ir/eval_code.hpp"
#include "tensorsmith/ir/eval_threads.hpp"
