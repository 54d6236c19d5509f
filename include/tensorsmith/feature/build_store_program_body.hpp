// SPDX-License-Identifier: Apache-2.0
// The definitions of build_store_program.hpp.
//
// Floor 5. Included by feature/build_store_program.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/feature/stage_nests.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

namespace detail {

class StoreProgramBuilder : private StageNests {
 public:
  explicit StoreProgramBuilder(const State& state) : StageNests(state) { program_.dag = &dag_; }

  /// Nothing if a length is unknown or an attached stage is read from outside.
  std::optional<StoreProgram> run() {
    if (!analyse_stages()) {
      return std::nullopt;
    }
    program_.num_tables = static_cast<std::int32_t>(program_.loops.size());
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      if (state_.stage(s).compute_at == ComputeAt::root && !state_.stage(s).is_placeholder) {
        emit(s, 0);
      }
    }
    const std::vector<const StorageLayoutStep*> layouts = storage_layouts(state_);
    for (FeatureStore& store : program_.stores) {
      for (FeatureAccess& access : store.accesses) {
        const std::int32_t stage =
            program_.is_tensor(access.tensor) ? stage_of_tensor_[access.tensor.value] : -1;
        if (stage >= 0 && layouts[static_cast<std::size_t>(stage)] != nullptr) {
          place(access, *layouts[static_cast<std::size_t>(stage)]);
        }
      }
    }
    program_.pool = std::move(pool_);
    return std::move(program_);
  }

 private:
  /// The indices of a tensor become those of the pieces that its layout cuts it into.
  void place(FeatureAccess& access, const StorageLayoutStep& layout) {
    const auto& shape = dag_.tensor(access.tensor).shape;
    algebra::Analyzer analyzer(pool_, workspace_);
    for (const FeatureLoop& loop : program_.loops) {
      for (std::int32_t var : loop.vars) {
        analyzer.bind(var, number(0), number(loop.extent));
      }
    }
    std::vector<algebra::Ref> indices;
    for (std::size_t first = 0; first < access.indices.size(); first += access.rank) {
      access.pieces.clear();
      for (std::int32_t piece : layout.order) {
        const auto d = static_cast<std::size_t>(piece / 2);
        const std::int64_t block = layout.blocks[d];
        const bool is_outer = piece % 2 == 0;
        const algebra::Ref whole = access.indices[first + d];
        const algebra::Op op = is_outer ? algebra::Op::floordiv : algebra::Op::floormod;
        indices.push_back(
            block == 0 ? whole
                       : analyzer.simplify(pool_.binary(op, whole, pool_.like(whole, block))));
        access.pieces.push_back(block == 0 ? shape[d]
                                           : (is_outer ? ceil_div(shape[d], block) : block));
      }
    }
    access.indices = std::move(indices);
    access.rank = layout.order.size();
  }

  /// A pragma on a loop that is bound to a thread is lost.
  bool has_pragma(std::size_t s) const {
    if (!state_.stage(s).iterators.empty() &&
        is_thread_annotation(state_.stage(s).iterators[0].annotation)) {
      return false;
    }
    for (auto step = state_.steps().rbegin(); step != state_.steps().rend(); ++step) {
      if (const StepTraits traits = traits_of(*step);
          traits.is_hint && traits.is_of_the_reference &&
          stage_of(*step) == static_cast<std::int32_t>(s)) {
        return true;
      }
      if (adds_stage(*step)) {
        break;
      }
    }
    return state_.stage(s).auto_unroll_max_step != 0;
  }

  void emit(std::size_t s, std::int32_t auto_unroll) {
    const StageInfo& info = stages_[s];
    if (has_pragma(s)) {
      auto_unroll = state_.stage(s).auto_unroll_max_step;
    }
    for (TensorId tensor : dag_.operation(s).outputs) {
      program_.allocations.push_back(allocation(tensor, info.elements));
      program_.allocations.back().scope = memory_of(s);
      program_.allocations.back().varying = info.varying;
    }
    const std::size_t depth = open_.size();
    if (info.is_across_threads) {
      emit_across_threads(s, auto_unroll);
      return;
    }
    bool is_initialised = dag_.operation(s).reduce_axes.empty();
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      if (info.leaf_reduces[leaf] && !is_initialised) {
        emit_initialisation(info, leaf, auto_unroll);
        is_initialised = true;
      }
      if (info.leaf_loop[leaf] >= 0) {
        open_.push_back({info.leaf_loop[leaf], info.leaf_loop[leaf]});
      }
      emit_attached(s, leaf, auto_unroll);
    }
    put(info.update.stores, open_, auto_unroll);
    open_.resize(depth);
  }
  FeatureScope memory_of(std::size_t s) const {
    const bounds::ScopeRank scope = scope_of(s);
    return scope == bounds::ScopeRank::shared  ? FeatureScope::shared
           : scope == bounds::ScopeRank::local ? FeatureScope::local
                                               : FeatureScope::global;
  }
  void put(std::vector<FeatureStore> stores, const std::vector<OpenFeatureLoop>& loops,
           std::int32_t auto_unroll) {
    for (FeatureStore& store : stores) {
      store.loops = loops;
      store.auto_unroll_max_step = auto_unroll;
      program_.stores.push_back(std::move(store));
    }
  }
  void emit_attached(std::size_t s, std::size_t leaf, std::int32_t auto_unroll) {
    const auto attached = state_.attach_map().iterator_to_stages.find(
        {static_cast<std::int32_t>(s), static_cast<std::int32_t>(leaf)});
    if (attached != state_.attach_map().iterator_to_stages.end()) {
      std::vector<std::int32_t> order = attached->second;
      sort_items(order);
      for (std::int32_t stage : order) {
        emit(static_cast<std::size_t>(stage), auto_unroll);
      }
    }
  }

  /// Every thread gathers its part in a buffer of its own, inside the loops over threads and the
  /// spatial ones; what all have together is copied to the stage's tensor.
  void emit_across_threads(std::size_t s, std::int32_t auto_unroll) {
    const StageInfo& info = stages_[s];
    const std::size_t depth = open_.size();
    std::vector<std::int32_t> gathering;
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      const std::int32_t loop = info.leaf_loop[leaf];
      if (loop >= 0 && info.leaf_reduces[leaf] && !is_thread_loop(loop)) {
        gathering.push_back(loop);
      } else if (loop >= 0) {
        open_.push_back({loop, loop});
      }
      emit_attached(s, leaf, auto_unroll);
    }
    const std::vector<TensorId>& outputs = dag_.operation(s).outputs;
    // What a thread gathers, if it does, then what all have together.
    const auto make_buffers = [&] {
      const auto first =
          static_cast<std::uint32_t>(program_.num_tensors() + program_.buffers.size());
      for (std::uint32_t k = 0; k < outputs.size(); ++k) {
        program_.buffers.push_back({dag_.tensor(outputs[k]).dtype, {1}});
        program_.allocations.push_back(allocation(TensorId{first + k}, 1));
        program_.allocations.back().is_scratch = true;
      }
      return first;
    };
    if (info.gathers) {
      const std::uint32_t own = make_buffers();
      std::vector<FeatureStore> first, gathered;
      for (std::uint32_t k = 0; k < outputs.size(); ++k) {
        FeatureStore begin;
        begin.stage = static_cast<std::uint32_t>(s);
        begin.tensor = TensorId{own + k};
        begin.accesses.push_back(element(begin.tensor, AccessKind::write));
        if (info.update.is_reachable) {
          gathered.push_back(gathering_store(begin, s, k, own));
        }
        first.push_back(std::move(begin));
      }
      put(first, open_, auto_unroll);
      std::vector<OpenFeatureLoop> inner = open_;
      for (std::int32_t loop : gathering) {
        inner.push_back({loop, loop});
      }
      put(gathered, inner, auto_unroll);
    }
    const std::uint32_t all = make_buffers();
    std::vector<FeatureStore> copied = info.copy.stores;
    for (std::uint32_t k = 0; k < copied.size(); ++k) {
      copied[k].accesses.push_back(element(TensorId{all + k}, AccessKind::read));
    }
    put(copied, open_, auto_unroll);
    open_.resize(depth);
  }
  /// The update of output `k`, in the thread's own buffers.
  FeatureStore gathering_store(const FeatureStore& begin, std::size_t s, std::uint32_t k,
                               std::uint32_t first_buffer) {
    FeatureStore store = stages_[s].update.stores[k];
    const std::vector<TensorId>& outputs = dag_.operation(s).outputs;
    store.tensor = begin.tensor;
    for (FeatureAccess& access : store.accesses) {
      for (std::uint32_t other = 0; other < outputs.size(); ++other) {
        if (access.tensor == outputs[other]) {
          access = element(TensorId{first_buffer + other}, access.kind);
        }
      }
    }
    return store;
  }
  FeatureAccess element(TensorId tensor, AccessKind kind) {
    FeatureAccess access;
    access.tensor = tensor;
    access.kind = kind;
    access.rank = 1;
    access.indices.push_back(number(0));
    return access;
  }

  void emit_initialisation(const StageInfo& info, std::size_t first_reduction,
                           std::int32_t auto_unroll) {
    std::vector<OpenFeatureLoop> loops = open_;
    for (std::size_t leaf = first_reduction; leaf < info.leaf_loop.size(); ++leaf) {
      if (!info.leaf_reduces[leaf] && info.leaf_loop[leaf] >= 0) {
        loops.push_back({info.leaf_loop[leaf], program_.num_tables++});
      }
    }
    put(info.initial.stores, loops, auto_unroll);
  }
  FeatureAllocation allocation(TensorId tensor, double elements) const {
    FeatureAllocation made = allocation_inside(program_, open_);
    made.tensor = tensor;
    made.elements = elements;
    return made;
  }

  std::vector<OpenFeatureLoop> open_;
};

}  // namespace detail

TENSORSMITH_INLINE std::optional<StoreProgram> build_store_program(const State& state) {
  return detail::StoreProgramBuilder(state).run();
}

}  // namespace tensorsmith
