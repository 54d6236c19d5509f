// SPDX-License-Identifier: Apache-2.0
// The backbone and the configuration of a schedule, and the limits that a program of it must keep.
//
// Floor 5. Felix, ch. 2.1 and 2.4. Schedules of one backbone are points of one space, whose axes
// are the names of the configuration: `sp_g_i` is length i of the g-th split, `ur_s` the unrolling
// of stage s. Kernels are judged one by one, threads and virtual threads apart (the released code
// multiplies all of them). Not here: which points keep the limits while lengths are variables.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/feature/access_stride.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/sched/bounds/stage_scopes.hpp"
#include "tensorsmith/sched/hints.hpp"
#include "tensorsmith/sched/steps.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// The tags of the steps: "SP SP RE AN".
inline std::string felix_backbone(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    text += text.empty() ? "" : " ";
    text += std::visit([](const auto& one) { return std::decay_t<decltype(one)>::tag; }, step);
  }
  return text;
}

/// In the order of the steps.
using FelixConfig = std::vector<std::pair<std::string, std::int64_t>>;

inline FelixConfig felix_config(const std::vector<Step>& steps) {
  FelixConfig config;
  std::int32_t num_splits = 0;
  for (const Step& step : steps) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      const std::string group = "sp_" + std::to_string(num_splits++) + "_";
      for (std::size_t i = 0; i < split->lengths.size(); ++i) {
        config.emplace_back(group + std::to_string(i), split->lengths[i]);
      }
    } else if (const auto* pragma = std::get_if<PragmaStep>(&step)) {
      if (const auto unroll = pragma->hint.as<hints::AutoUnroll>()) {
        config.emplace_back("ur_" + std::to_string(pragma->stage), unroll->limit);
      }
    }
  }
  return config;
}

struct FelixKernel {
  double threads = 1;
  double vthreads = 0;  ///< 0: there are none
  double shared_bytes = 0, local_bytes = 0;
};

/// Of stages that say in which memory they are.
struct FelixLimits {
  std::vector<FelixKernel> kernels;
  std::vector<std::int64_t> vector_lengths;  ///< of vectorised loops, in program order
  std::int64_t widest_bytes = 0;             ///< of what a vectorised loop reads or writes at once

  double shared_bytes() const { return sum_of(&FelixKernel::shared_bytes); }
  double local_bytes() const { return sum_of(&FelixKernel::local_bytes); }
  /// As the verifier of the Ansor reference judges. Equality is allowed; fewer than 16 virtual
  /// threads are unrolled before it looks, so that it does not count them.
  bool keeps(const HardwareParams& hardware) const {
    return widest_bytes <= hardware.vector_unit_bytes &&
           all_items(kernels, [&](const FelixKernel& kernel) {
             return kernel.threads <= hardware.max_threads_per_block &&
                    (kernel.vthreads < 16 || kernel.vthreads <= hardware.max_vthread_extent) &&
                    kernel.shared_bytes <= hardware.max_shared_memory_per_block &&
                    kernel.local_bytes <= hardware.max_local_memory_per_block;
           });
  }

 private:
  double sum_of(double FelixKernel::*bytes) const {
    double sum = 0;
    for (const FelixKernel& kernel : kernels) {
      sum += kernel.*bytes;
    }
    return sum;
  }
};

namespace detail {

class FelixLimitReader {
 public:
  FelixLimitReader(const State& state, const StoreProgram& program)
      : program_(program), scopes_(scopes_of_stages(state)) {}

  FelixLimits run() {
    for (const FeatureStore& store : program_.stores) {
      if (!store.loops.empty() && store.loops[0].loop != outermost_) {
        outermost_ = store.loops[0].loop;
        limits_.kernels.emplace_back();
        seen_.clear();
      }
      if (!limits_.kernels.empty()) {
        read(store, limits_.kernels.back());
      }
    }
    return std::move(limits_);
  }

 private:
  void read(const FeatureStore& store, FelixKernel& kernel) {
    for (const OpenFeatureLoop& open : store.loops) {
      const FeatureLoop& loop = program_.loops[static_cast<std::size_t>(open.loop)];
      const Annotation kind = loop.annotation;
      const auto extent = static_cast<double>(loop.extent);
      if (kind == Annotation::vectorize && !has_item(vectors_, open.loop)) {
        vectors_.push_back(open.loop);
        limits_.vector_lengths.push_back(loop.extent);
      }
      if (kind == Annotation::vectorize) {
        read_width(store, open.loop, loop.extent);
      }
      if (has_item(seen_, kind)) {
        continue;  // a loop over the same threads again
      }
      if (kind == Annotation::vthread) {
        kernel.vthreads = extent;
        seen_.push_back(kind);
      } else if (kind == Annotation::thread_x || kind == Annotation::thread_y ||
                 kind == Annotation::thread_z) {
        kernel.threads *= extent;
        seen_.push_back(kind);
      }
    }
    const FeatureAllocation* allocation = program_.allocation(store.tensor);
    if (allocation == nullptr || has_item(allocated_, store.tensor) ||
        !program_.is_tensor(store.tensor)) {
      return;
    }
    allocated_.push_back(store.tensor);
    const bounds::ScopeRank scope = scopes_[program_.dag->tensor(store.tensor).operation];
    const double bytes = allocation->elements * bytes_of(program_.dtype(store.tensor));
    kernel.shared_bytes += scope == bounds::ScopeRank::shared ? bytes : 0;
    kernel.local_bytes += scope == bounds::ScopeRank::local ? bytes : 0;
  }

  /// What is chosen or guarded anew in every lane is computed lane by lane.
  void read_width(const FeatureStore& store, std::int32_t loop, std::int64_t extent) {
    const bool is_guarded = any_item(
        store.conditions, [&](algebra::Ref condition) { return has_loop(condition, loop); });
    if (!is_guarded && (store.value == algebra::no_ref || !is_chosen_by(store.value, loop))) {
      limits_.widest_bytes = larger_of<std::int64_t>(
          limits_.widest_bytes, extent * bytes_of(program_.dtype(store.tensor)));
    }
  }
  bool is_chosen_by(algebra::Ref ref, std::int32_t loop) const {
    const algebra::Node& node = program_.pool[ref];
    if (node.op == algebra::Op::if_then_else && has_loop(node.a, loop)) {
      return true;
    }
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      if (is_chosen_by(program_.pool.operand(node, i), loop)) {
        return true;
      }
    }
    return false;
  }
  bool has_loop(algebra::Ref ref, std::int32_t loop) const {
    const algebra::Node& node = program_.pool[ref];
    if (is_of_loop(program_, node, loop)) {
      return true;
    }
    for (std::size_t i = 0; i < node.num_operands; ++i) {
      if (has_loop(program_.pool.operand(node, i), loop)) {
        return true;
      }
    }
    return false;
  }

  const StoreProgram& program_;
  std::vector<bounds::ScopeRank> scopes_;
  FelixLimits limits_;
  std::int32_t outermost_ = -1;
  std::vector<Annotation> seen_;  ///< in the kernel
  std::vector<std::int32_t> vectors_;
  std::vector<TensorId> allocated_;
};

}  // namespace detail

inline FelixLimits felix_limits(const State& state, const StoreProgram& program) {
  return detail::FelixLimitReader(state, program).run();
}

}  // namespace tensorsmith
