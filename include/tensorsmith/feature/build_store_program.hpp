// build_store_program: from a state to its stores.
//
// Floor 5. Ansor reference, ch. 6.1. Stages are emitted where they are attached, each with its
// loops; what the stages are made of is known before (stage_nests.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/stage_nests.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {
namespace detail {

class StoreProgramBuilder : private StageNests {
 public:
  StoreProgramBuilder(const State& state, ThreadLoops thread_loops)
      : StageNests(state), thread_loops_(thread_loops) {
    program_.dag = &dag_;
  }

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
    return std::move(program_);
  }

 private:
  std::int32_t table_of(std::int32_t loop) {
    if (!is_thread(loop) || thread_loops_ == ThreadLoops::apart) {
      return loop;
    }
    std::size_t depth = 0;
    for (const OpenFeatureLoop& open : open_) {
      depth += is_thread(open.loop) ? 1 : 0;
    }
    if (depth == 0 && thread_loops_ == ThreadLoops::per_kernel) {
      return loop;
    }
    while (depth >= thread_tables_.size()) {
      thread_tables_.push_back(program_.num_tables++);
    }
    return thread_tables_[depth];
  }

  /// A pragma on a loop that is bound to a thread is lost.
  bool has_pragma(std::size_t s) const {
    if (!state_.stage(s).iterators.empty() &&
        is_thread_annotation(state_.stage(s).iterators[0].annotation)) {
      return false;
    }
    for (auto step = state_.steps().rbegin(); step != state_.steps().rend(); ++step) {
      if (const auto* pragma = std::get_if<PragmaStep>(&*step);
          pragma != nullptr && pragma->stage == static_cast<std::int32_t>(s) &&
          !is_own_pragma(pragma->pragma)) {
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
    double outer_prod = 1;
    for (const OpenFeatureLoop& open : open_) {
      outer_prod *= static_cast<double>(program_.loops[static_cast<std::size_t>(open.loop)].extent);
    }
    double elements = 1;
    for (std::size_t d = 0; d < info.box.extent.size(); ++d) {
      // An extent that varies counts as 1 there.
      elements *= info.box.varying[d].is_constant() ? static_cast<double>(info.box.extent[d]) : 1.0;
    }
    for (const FeatureStore& store : info.stores) {
      program_.allocations.push_back({store.tensor, elements, outer_prod});
    }
    if (is_unreachable(info)) {
      return;
    }
    const std::size_t depth = open_.size();
    if (is_reduced_across_threads(info)) {
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
        open_.push_back({info.leaf_loop[leaf], table_of(info.leaf_loop[leaf])});
      }
      emit_attached(s, leaf, auto_unroll);
    }
    for (FeatureStore store : info.stores) {
      store.loops = open_;
      store.auto_unroll_max_step = auto_unroll;
      program_.stores.push_back(std::move(store));
    }
    open_.resize(depth);
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

  bool is_reduced_across_threads(const StageInfo& info) const {
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      if (info.leaf_reduces[leaf] && info.leaf_loop[leaf] >= 0 && is_thread(info.leaf_loop[leaf])) {
        return true;
      }
    }
    return false;
  }
  /// Every thread gathers its part in a buffer of its own, inside the loops over threads and the
  /// spatial ones; what all have together is copied to the stage's tensor.
  void emit_across_threads(std::size_t s, std::int32_t auto_unroll) {
    const StageInfo& info = stages_[s];
    const std::size_t depth = open_.size();
    std::vector<std::int32_t> gathering;
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      const std::int32_t loop = info.leaf_loop[leaf];
      if (loop >= 0 && info.leaf_reduces[leaf] && !is_thread(loop)) {
        gathering.push_back(loop);
      } else if (loop >= 0) {
        open_.push_back({loop, table_of(loop)});
      }
      emit_attached(s, leaf, auto_unroll);
    }
    double outer_prod = 1;
    for (const OpenFeatureLoop& open : open_) {
      outer_prod *= static_cast<double>(program_.loops[static_cast<std::size_t>(open.loop)].extent);
    }
    std::vector<FeatureStore> first, gathered, copied;
    const auto first_temporary =
        static_cast<std::uint32_t>(program_.num_tensors() + program_.buffers.size());
    const auto num_outputs = static_cast<std::uint32_t>(info.stores.size());
    for (std::uint32_t k = 0; k < 2 * num_outputs; ++k) {
      program_.buffers.push_back({dag_.tensor(info.stores[k % num_outputs].tensor).dtype, {1}});
      program_.allocations.push_back({TensorId{first_temporary + k}, 1, outer_prod});
    }
    for (std::uint32_t k = 0; k < num_outputs; ++k) {
      const FeatureStore& store = info.stores[k];
      FeatureStore update = store;
      for (FeatureAccess& access : update.accesses) {
        for (std::uint32_t other = 0; other < num_outputs; ++other) {
          if (access.tensor == info.stores[other].tensor) {
            uncount(access, access.kind != AccessKind::write, update.counts);
            access = element(TensorId{first_temporary + other}, access.kind);
          }
        }
      }
      update.tensor = update.accesses[0].tensor;
      FeatureStore begin;
      begin.stage = store.stage;
      begin.tensor = update.tensor;
      begin.accesses.push_back(element(update.tensor, AccessKind::write));
      FeatureStore copy = begin;
      copy.tensor = store.tensor;
      copy.accesses[0] = store.accesses[0];
      copy.accesses[0].kind = AccessKind::write;
      copy.accesses.push_back(
          element(TensorId{first_temporary + num_outputs + k}, AccessKind::read));
      first.push_back(std::move(begin));
      gathered.push_back(std::move(update));
      copied.push_back(std::move(copy));
    }
    const auto put = [&](std::vector<FeatureStore>& stores) {
      for (FeatureStore& store : stores) {
        store.loops = open_;
        store.auto_unroll_max_step = auto_unroll;
        program_.stores.push_back(std::move(store));
      }
    };
    put(first);
    for (std::int32_t loop : gathering) {
      open_.push_back({loop, loop});
    }
    put(gathered);
    open_.resize(open_.size() - gathering.size());
    put(copied);
    open_.resize(depth);
  }
  static FeatureAccess element(TensorId tensor, AccessKind kind) {
    FeatureAccess access;
    access.tensor = tensor;
    access.kind = kind;
    access.rank = 1;
    access.indices.resize(1);
    return access;
  }
  /// Takes back the operations of the indices of a read.
  void uncount(const FeatureAccess& access, bool is_read, OpCounts& counts) const {
    if (!is_read) {
      return;
    }
    OpCounts indices;
    for (std::size_t d = 0; d < access.rank; ++d) {
      count_form(program_.atoms, access.indices[d], indices);
    }
    for (std::size_t i = 0; i < num_op_classes; ++i) {
      counts.count[i] -= indices.count[i];
    }
  }

  void emit_initialisation(const StageInfo& info, std::size_t first_reduction,
                           std::int32_t auto_unroll) {
    std::vector<OpenFeatureLoop> loops = open_;
    for (std::size_t leaf = first_reduction; leaf < info.leaf_loop.size(); ++leaf) {
      if (!info.leaf_reduces[leaf] && info.leaf_loop[leaf] >= 0) {
        loops.push_back({info.leaf_loop[leaf], program_.num_tables++});
      }
    }
    for (const FeatureStore& store : info.stores) {
      FeatureStore first;
      first.stage = store.stage;
      first.tensor = store.tensor;
      first.loops = loops;
      first.auto_unroll_max_step = auto_unroll;
      first.accesses.push_back(store.accesses[0]);
      first.accesses[0].kind = AccessKind::write;
      program_.stores.push_back(std::move(first));
    }
  }

  ThreadLoops thread_loops_;
  std::vector<OpenFeatureLoop> open_;
  std::vector<std::int32_t> thread_tables_;  ///< by how many thread scopes are around
};

}  // namespace detail

/// Nothing if the state is not concrete or cannot be built. It refers to the state's dag.
inline std::optional<StoreProgram>
build_store_program(const State& state, ThreadLoops thread_loops = ThreadLoops::per_depth) {
  return detail::StoreProgramBuilder(state, thread_loops).run();
}

}  // namespace tensorsmith
