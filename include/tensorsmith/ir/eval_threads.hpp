// SPDX-License-Identifier: Apache-2.0
// The threads of a GPU block in the interpreter: from barrier to barrier, in an order it is told.
//
// Floor 1. Part of eval_machine.hpp. Statements without a barrier run thread by thread; those with
// one run for all threads together, which is what makes a barrier reachable by all: their bounds
// and conditions must be the same in every thread.
#pragma once

#include "tensorsmith/ir/eval_machine.hpp"

namespace tensorsmith::detail {

template <class F>
bool Evaluator::each_thread(const F& run) {
  const std::vector<EvalStmt>& stmts = p_.stmts;
  const EvalStmt& block = stmts[threads_.block];
  if (order_ == LoopOrder::shuffled) {
    rng_.shuffle(threads_.order);
  }
  for (std::int64_t n = 0; n < threads_.count; ++n) {
    const std::int64_t thread = threads_.order[static_cast<std::size_t>(n)];
    threads_.current = thread;
    std::int64_t rest = thread;
    for (std::size_t a = block.axes.size(); a-- > 0;) {
      vars_[block.axes[a].first] = rest % block.axes[a].second;
      rest /= block.axes[a].second;
    }
    if (!run()) {
      return false;
    }
  }
  return true;
}

inline bool Evaluator::threads(const EvalStmt& s) {
  const bool is_kernel = !threads_.is_in_blocks;
  if (is_kernel) {
    threads_.begin_kernel();
  }
  threads_.block = static_cast<std::uint32_t>(&s - p_.stmts.data());
  threads_.begin_block();
  threads_.traces.resize(buffers_.size());
  threads_.count = 1;
  for (const auto& [slot, extent] : s.axes) {
    threads_.count *= extent;
  }
  threads_.order.resize(static_cast<std::size_t>(threads_.count));
  for (std::int64_t t = 0; t < threads_.count; ++t) {
    threads_.order[static_cast<std::size_t>(t)] =
        order_ == LoopOrder::reversed ? threads_.count - 1 - t : t;
  }
  const bool done = all_threads(s.children[0]);
  threads_.is_in_threads = false;
  threads_.is_in_blocks = threads_.is_in_blocks && !is_kernel;
  threads_.current = 0;
  return done;
}

/// The value of the statement's code, which must be the same in all threads.
inline bool Evaluator::for_all(const EvalStmt& s, std::int64_t& value) {
  bool is_first = true;
  return each_thread([&] {
    if (!run_code(s.code_begin, s.code_end, s.origin, all_lanes_.data(), 1)) {
      return false;
    }
    const std::int64_t own = reg(s.value)[0].integer;
    if (!is_first && own != value) {
      return fail({EvalErrorKind::divergence, s.origin, {}, -1, threads_.current, 0});
    }
    is_first = false;
    value = own;
    return true;
  });
}

inline bool Evaluator::all_threads(std::uint32_t id) {
  const EvalStmt& s = p_.stmts[id];
  if (!s.has_barrier) {
    return each_thread([&] { return execute(id, all_lanes_.data(), 1); });
  }
  switch (s.kind) {
  case EvalStmt::Kind::barrier:
    threads_.pass_barrier(source_.as<Barrier>(s.origin)->scope);
    return true;
  case EvalStmt::Kind::alloc:
    buffers_[s.buffer.value].forget();
    return all_threads(s.children[0]);
  case EvalStmt::Kind::sequence:
    for (std::size_t i = 0; i < s.children.size();) {
      std::size_t end = i;
      while (end < s.children.size() && !p_.stmts[s.children[end]].has_barrier) {
        ++end;
      }
      const bool done = end == i ? all_threads(s.children[end++]) : each_thread([&] {
        for (std::size_t k = i; k < end; ++k) {
          if (!execute(s.children[k], all_lanes_.data(), 1)) {
            return false;
          }
        }
        return true;
      });
      if (!done) {
        return false;
      }
      i = end;
    }
    return true;
  case EvalStmt::Kind::loop: {
    std::int64_t extent = 0;
    if (!for_all(s, extent)) {
      return false;
    }
    for (std::int64_t i = 0; i < extent; ++i) {
      vars_[s.slot] = i;
      if (!all_threads(s.children[0])) {
        return false;
      }
    }
    return true;
  }
  case EvalStmt::Kind::branch: {
    std::int64_t condition = 0;
    return for_all(s, condition) && all_threads(s.children[condition != 0 ? 0 : 1]);
  }
  default:
    return fail({EvalErrorKind::unsupported, s.origin, {}, -1, 0, 0});
  }
}

/// Notes accesses to what threads share; the addresses are in flat_.
inline bool Evaluator::meets(const EvalAccess& access, Lanes lanes, std::uint32_t count,
                             bool is_write) {
  const std::size_t b = access.buffer.value;
  if (!threads_.is_in_threads || p_.num_threads[b] > 0) {
    return true;
  }
  std::vector<EvalTrace>& traces = threads_.traces[b];
  if (traces.empty()) {
    traces.resize(buffers_[b].cells.size());
  }
  const Scope scope = source_[access.buffer].scope;
  for (std::uint32_t n = 0; n < count; ++n) {
    const auto cell = static_cast<std::size_t>(flat_[lanes[n]]);
    if (!threads_.note(traces[cell], is_write, scope)) {
      return fail({EvalErrorKind::race, access.stmt, access.buffer, -1, flat_[lanes[n]], 0});
    }
  }
  return true;
}

}  // namespace tensorsmith::detail
