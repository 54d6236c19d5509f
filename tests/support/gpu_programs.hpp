// SPDX-License-Identifier: Apache-2.0
// GPU programs under test: drawn by the search or bound at random, run in every order of threads.
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/dag_results.hpp"
#include "tensorsmith/ir/eval.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"

namespace tensorsmith::test {

inline const Target& gpu_target() {
  static const Target target = Target::cuda(80).value();
  return target;
}

/// Small enough that small workloads have blocks, virtual threads and shared reductions.
inline SearchSpace small_gpu_space(const Shared<const ComputeDag>& dag) {
  const HardwareParams hardware{-1, 16, 64, 49152, 2147483647, 64, 4, 4};
  return SearchSpace(generate_sketches(dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
                     gpu_space_options(hardware));
}

/// A program as the search draws it, a few mutations on; nothing if the draw is illegal.
inline std::optional<State> draw_gpu_state(const SearchSpace& space, CounterRng& rng) {
  std::optional<Candidate> candidate = draw_candidate(space, AnsorGpuPopulation{}, rng);
  for (std::uint32_t i = rng.next_below(4); candidate && i > 0; --i) {
    std::optional<Candidate> mutant =
        GpuTileMutators<NativeDrawing>{}.mutate(space, *candidate, rng);
    if (mutant) {
      candidate = std::move(mutant);
    }
  }
  return candidate ? std::optional(candidate->state) : std::nullopt;
}

/// Binds loops of a random schedule to blocks and threads, whether that makes sense or not.
inline void bind_at_random(CounterRng& rng, State& state) {
  const auto chance = [&](std::uint32_t n) { return rng.next_below(n) == 0; };
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    const auto stage = static_cast<std::int32_t>(s);
    if (state.stage(s).is_placeholder || state.stage(s).compute_at == ComputeAt::inlined) {
      continue;
    }
    const bool is_root = state.stage(s).compute_at == ComputeAt::root;
    bool is_used[11] = {};
    for (std::size_t i = 0; i < state.stage(s).iterators.size(); ++i) {
      const auto& it = state.stage(s).iterators[i];
      if (!chance(is_root ? 2 : 4)) {
        continue;
      }
      const Annotation root[] = {Annotation::block_x,  Annotation::block_y, Annotation::thread_x,
                                 Annotation::thread_y, Annotation::vthread, Annotation::unroll};
      const Annotation inside[] = {Annotation::thread_x, Annotation::thread_y,
                                   Annotation::vectorize};
      const Annotation drawn = it.kind == IteratorKind::reduction ? Annotation::thread_x
                               : is_root                          ? root[rng.next_below(6)]
                                                                  : inside[rng.next_below(3)];
      if (!is_used[static_cast<std::size_t>(drawn)] &&
          !try_apply(state, AnnotationStep{stage, static_cast<std::int32_t>(i), drawn})) {
        is_used[static_cast<std::size_t>(drawn)] = true;
      }
    }
  }
}

/// Inputs and results of a workload whose inputs are small whole numbers. Sums of what is no whole
/// number may be added up in another order: floats may then differ by `relative_error`.
struct KnownResults {
  std::vector<HostArray> arguments, expected;  // `expected`: of the outputs
  std::vector<bool> is_output;
  double relative_error = 0;

  explicit KnownResults(const ComputeDag& dag, double allowed_error = 0)
      : relative_error(allowed_error) {
    const std::vector<HostArray> inputs = whole_number_inputs(dag);
    expected = eval_dag(dag, inputs).value();
    std::size_t next = 0;
    for (TensorId id : dag.arguments()) {
      const TensorInfo& info = dag.tensor(id);
      const bool is_input = dag.operation(info.operation).is_placeholder();
      arguments.push_back(is_input ? inputs[next++]
                                   : HostArray(info.dtype, {info.shape.begin(), info.shape.end()}));
      is_output.push_back(!is_input);
    }
  }

  /// "" if the program is valid and right in this order of its blocks and threads.
  std::string wrong_with(const LoopProgram& program, LoopOrder order,
                         std::uint64_t seed = 1) const {
    std::vector<HostArray> arrays = arguments;
    if (const auto done = eval(program, arrays, {order, seed, is_output}); !done) {
      return explain(done.error(), program);
    }
    std::size_t next = 0;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (is_output[i] && !is_right(arrays[i], expected[next++])) {
        return "argument " + std::to_string(i) + " differs";
      }
    }
    return "";
  }
  bool is_right(const HostArray& got, const HostArray& known) const {
    if (relative_error == 0 || !is_float(known.dtype)) {
      return got == known;
    }
    for (std::int64_t i = 0; i < known.num_elements(); ++i) {
      const double right = known.get_real(i), error = std::abs(got.get_real(i) - right);
      if (!(error <= relative_error * std::abs(right)) && got.get_real(i) != right) {
        return false;
      }
    }
    return got.shape == known.shape;
  }
  std::string wrong_with(const LoopProgram& program) const {
    for (const Violation& violation : verify(program)) {
      if (!is_valid({violation})) {
        return explain(violation, program);
      }
    }
    for (LoopOrder order : {LoopOrder::forward, LoopOrder::reversed, LoopOrder::shuffled}) {
      if (const std::string wrong = wrong_with(program, order); !wrong.empty()) {
        return wrong;
      }
    }
    return "";
  }
};

/// The barriers that can be reached from the program's body.
inline void find_barriers(const LoopProgram& program, StmtId id, std::vector<StmtId>& found) {
  if (!id.valid()) {
    return;
  }
  const Stmt& stmt = program[id];
  if (std::holds_alternative<Barrier>(stmt)) {
    found.push_back(id);
  } else if (const Seq* seq = std::get_if<Seq>(&stmt)) {
    for (StmtId item : seq->items) {
      find_barriers(program, item, found);
    }
  } else if (const For* loop = std::get_if<For>(&stmt)) {
    find_barriers(program, loop->body, found);
  } else if (const Alloc* alloc = std::get_if<Alloc>(&stmt)) {
    find_barriers(program, alloc->body, found);
  } else if (const If* branch = std::get_if<If>(&stmt)) {
    find_barriers(program, branch->then_body, found);
    find_barriers(program, branch->else_body, found);
  }
}

}  // namespace tensorsmith::test
