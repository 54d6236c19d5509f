// StageNests: the loops of every stage of a state, what they access and which part is needed.
//
// Floor 5. Ansor reference, ch. 2.5 (ranges) and 6.1. Regions of attached stages are inferred here,
// consumers first, so the state's own bounds need not be filled in. An index that is not affine
// makes its dimension whole. Not here: the order of the stores (build_store_program.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/fused_parts.hpp"
#include "tensorsmith/feature/loop_extents.hpp"
#include "tensorsmith/feature/loop_values.hpp"
#include "tensorsmith/feature/read_region.hpp"
#include "tensorsmith/feature/stage_scopes.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/feature/value_walk.hpp"
#include "tensorsmith/lower/derivation.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/sched/bounds/loops.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith::detail {

/// The part of build_store_program that knows stages; the program's loops and atoms are filled.
class StageNests {
 protected:
  struct StageInfo {
    RegionBox box;
    std::vector<std::int32_t> enclosing;  ///< loops around, outermost first
    std::vector<std::int32_t> leaf_loop;  ///< -1: extent 1
    std::vector<bool> leaf_reduces;
    std::vector<FeatureStore> stores;  ///< without loops
    std::vector<IndexForm> axes;
    std::vector<GuardBound> bounds;  ///< what the guards around the stores say
  };

  explicit StageNests(const State& state)
      : state_(state), dag_(state.dag()), derivations_(derive(state)) {}

  /// False if a length is unknown or an attached stage is read from outside.
  bool analyse_stages() {
    const std::size_t n = state_.num_stages();
    stages_.resize(n);
    scopes_ = scopes_of_stages(state_);
    stage_of_tensor_.assign(dag_.tensors().size(), -1);
    inlined_.assign(dag_.tensors().size(), nullptr);
    for (std::size_t s = 0; s < n; ++s) {
      for (TensorId tensor : dag_.operation(s).outputs) {
        stage_of_tensor_[tensor.value] = static_cast<std::int32_t>(s);
        inlined_[tensor.value] = is_inlined(s) ? &dag_.operation(s) : nullptr;
      }
    }
    for (std::size_t s = n; s-- > 0;) {
      if (!is_inlined(s) && !state_.stage(s).is_placeholder && !analyse(s)) {
        return false;
      }
    }
    return true;
  }

  bool is_inlined(std::size_t s) const { return state_.stage(s).compute_at == ComputeAt::inlined; }
  /// The guards say that nothing is stored.
  bool is_unreachable(const StageInfo& info) const {
    return any_item(info.bounds, [&](const GuardBound& bound) {
      return program_.atoms.range(bound.form, full_range()).min > bound.max;
    });
  }
  LoopValues full_range() const { return LoopValues(program_.loops); }
  /// Of loops that are taken apart.
  LoopValues fused_range() const { return {program_.loops, has_open_end_}; }

  bool analyse(std::size_t s) {
    const Operation& op = dag_.operation(s);
    const StageDerivation& d = derivations_[s];
    StageInfo& info = stages_[s];
    if (!find_enclosing(s, info)) {
      return false;
    }
    for (const IteratorRelation& r : d.relations) {
      for (std::int64_t length : r.lengths) {
        if (length <= 0) {
          return false;
        }
      }
    }
    if (!info.box.is_known) {
      info.box.low.resize(op.axes.size());
      info.box.varying.resize(op.axes.size());
      for (const Axis& axis : op.axes) {
        info.box.extent.push_back(axis.extent);
      }
    }
    make_loops(s, info);
    make_stores(s, info);
    for (const FeatureStore& store : info.stores) {
      for (const FeatureAccess& access : store.accesses) {
        const std::int32_t producer = stage_of_tensor_[access.tensor.value];
        if (access.tensor != store.tensor && producer >= 0 &&
            !dag_.operation(static_cast<std::size_t>(producer)).is_placeholder()) {
          require(static_cast<std::size_t>(producer), access);
        }
      }
    }
    return true;
  }

  bool find_enclosing(std::size_t s, StageInfo& info) {
    if (state_.stage(s).compute_at != ComputeAt::iterator) {
      return true;
    }
    const auto found = state_.attach_map().stage_to_iterator.find(static_cast<std::int32_t>(s));
    if (found == state_.attach_map().stage_to_iterator.end() ||
        found->second.stage <= static_cast<std::int32_t>(s)) {
      return false;
    }
    const StageInfo& target = stages_[static_cast<std::size_t>(found->second.stage)];
    if (static_cast<std::size_t>(found->second.iterator) >= target.leaf_loop.size()) {
      return false;
    }
    info.enclosing = target.enclosing;
    for (std::int32_t i = 0; i <= found->second.iterator; ++i) {
      const std::int32_t loop = target.leaf_loop[static_cast<std::size_t>(i)];
      if (loop >= 0) {
        info.enclosing.push_back(loop);
      }
    }
    return true;
  }

  void make_loops(std::size_t s, StageInfo& info) {
    const Operation& op = dag_.operation(s);
    const StageDerivation& d = derivations_[s];
    std::vector<std::int64_t> axis_extent = info.box.extent;
    for (const Axis& axis : op.reduce_axes) {
      axis_extent.push_back(axis.extent);
    }
    std::vector<std::int64_t> extent = loop_extents(d, axis_extent);
    const VaryingExtents exact = exact_extents(s, info, axis_extent, extent);
    const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
    std::vector<IndexForm> value(at(d.num_nodes));
    const std::vector<bool> reduces = node_is_reduction(d);
    for (const LeafIterator& leaf : d.leaves) {
      info.leaf_reduces.push_back(reduces[at(leaf.node)]);
      const bool varies = exact.varies(leaf.node);
      // A thread scope of one iteration stays in the program, though no index uses it.
      if (extent[at(leaf.node)] <= 1 && !varies && !is_thread_annotation(leaf.annotation)) {
        info.leaf_loop.push_back(-1);
        continue;
      }
      const auto loop = static_cast<std::int32_t>(program_.loops.size());
      program_.loops.push_back({extent[at(leaf.node)], leaf.annotation});
      has_open_end_.push_back(
          !knows_fused_extents_ && !is_thread_annotation(leaf.annotation) &&
          has_attach_points(state_.attach_map(), static_cast<std::int32_t>(s), leaf.iterator));
      if (varies) {
        program_.loops.back().varying = static_cast<std::int32_t>(program_.varying_extents.size());
        program_.varying_extents.push_back(exact.of_node[at(leaf.node)]);
      }
      info.leaf_loop.push_back(loop);
      if (extent[at(leaf.node)] > 1 || varies) {
        value[at(leaf.node)].add_term(1, program_.atoms.loop(loop));
      }
    }
    for (std::size_t i = d.relations.size(); i-- > 0;) {
      const IteratorRelation& r = d.relations[i];
      if (r.is_split) {
        std::int64_t stride = 1;
        for (std::size_t p = 1; p < r.parts.size(); ++p) {
          stride *= extent[at(r.parts[p])];
        }
        IndexForm sum;
        for (std::size_t p = 0; p < r.parts.size(); ++p) {
          sum.add(value[at(r.parts[p])], stride);
          stride /= p + 1 < r.parts.size() ? extent[at(r.parts[p + 1])] : 1;
        }
        value[at(r.parent)] = std::move(sum);
        continue;
      }
      if (knows_fused_extents_) {
        FusedParts(program_.atoms, program_.loops, extent, exact, info.bounds).take_apart(r, value);
      } else {
        FusedParts(program_.atoms, program_.loops, extent, exact, has_open_end_)
            .take_apart(r, value);
      }
    }
    for (std::size_t a = 0; a < at(d.num_axes); ++a) {
      IndexForm form;
      if (a < op.axes.size()) {
        form = info.box.low[a];
      }
      form.add(value[a]);
      program_.atoms.recombine(form, fused_range());
      info.axes.push_back(std::move(form));
    }
  }

  /// Extents of the nodes of a stage whose region varies, none for all others; `extent` becomes
  /// the largest of each.
  VaryingExtents exact_extents(std::size_t s, const StageInfo& info,
                               const std::vector<std::int64_t>& axis_extent,
                               std::vector<std::int64_t>& extent) {
    if (all_items(info.box.varying, [](const IndexForm& form) { return form.is_constant(); })) {
      return {};
    }
    std::vector<IndexForm> axes = info.box.varying;
    axes.resize(axis_extent.size());
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].is_constant()) {
        axes[a].constant = axis_extent[a];
      }
    }
    VaryingExtents exact =
        varying_extents(derivations_[s], std::move(axes), program_.atoms, full_range());
    for (std::size_t node = 0; node < exact.of_node.size(); ++node) {
      extent[node] = program_.atoms.range(exact.of_node[node], full_range()).max;
    }
    return exact;
  }

  void make_stores(std::size_t s, StageInfo& info) {
    const Operation& op = dag_.operation(s);
    IndexEnvironment environment;
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      environment.emplace_back(op.axes[a].var, info.axes[a]);
    }
    for (std::size_t a = 0; a < op.reduce_axes.size(); ++a) {
      environment.emplace_back(op.reduce_axes[a].var, info.axes[op.axes.size() + a]);
    }
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      FeatureStore store;
      store.stage = static_cast<std::uint32_t>(s);
      store.tensor = op.outputs[k];
      FeatureAccess own;
      own.tensor = store.tensor;
      own.kind = AccessKind::write;
      own.rank = op.axes.size();
      own.indices.assign(info.axes.begin(),
                         info.axes.begin() + static_cast<std::ptrdiff_t>(op.axes.size()));
      store.accesses.push_back(std::move(own));
      ValueWalk walk(dag_.pool(), program_.atoms, {program_.loops, info.bounds}, inlined_, store);
      walk.body(op, k, environment);
      info.stores.push_back(std::move(store));
    }
  }

  /// Widens the producer's box by what `access` reads while the producer's inner loops run.
  void require(std::size_t producer, const FeatureAccess& access) {
    StageInfo outer;
    if (!find_enclosing(producer, outer)) {
      return;
    }
    const Operation& op = dag_.operation(producer);
    const std::vector<std::int32_t> fixed = loops_standing_still(producer, outer.enclosing);
    const std::size_t num_vectors = access.rank == 0 ? 1 : access.indices.size() / access.rank;
    for (std::size_t v = 0; v < num_vectors; ++v) {
      merge_region(stages_[producer].box,
                   region_of_read(program_.atoms, access, v, op, fixed, full_range()), op);
    }
    RegionBox& box = stages_[producer].box;
    for (std::size_t d = 0; !knows_fused_extents_ && d < box.low.size(); ++d) {
      if (box.extent[d] == op.axes[d].extent) {
        box.low[d] = {};  // all of it: that it begins at 0 cannot be seen from the loops
      }
    }
  }

  Annotation annotation_of(std::int32_t loop) const {
    return program_.loops[static_cast<std::size_t>(loop)].annotation;
  }
  bool is_thread(std::int32_t loop) const { return is_thread_annotation(annotation_of(loop)); }

  /// Of the loops around a stage, those that do not run while one region of it is held: threads
  /// that share the memory it is in do run.
  std::vector<std::int32_t> loops_standing_still(std::size_t s,
                                                 const std::vector<std::int32_t>& enclosing) const {
    bounds::ScopeRank scope = scopes_[s];
    if (scope == bounds::ScopeRank::by_threads) {
      scope = bounds::ScopeRank::global;
      for (std::int32_t loop : enclosing) {
        if (is_thread(loop)) {
          const auto own =
              thread_rank(loop) == 0 ? bounds::ScopeRank::shared : bounds::ScopeRank::local;
          scope = larger_of(scope, own);
        }
      }
    }
    std::vector<std::int32_t> fixed;
    for (std::int32_t loop : enclosing) {
      const bool runs = is_thread(loop) && static_cast<int>(scope) <= thread_rank(loop);
      if (!runs) {
        fixed.push_back(loop);
      }
    }
    return fixed;
  }
  int thread_rank(std::int32_t loop) const {
    const Annotation a = annotation_of(loop);
    return a == Annotation::block_x || a == Annotation::block_y || a == Annotation::block_z ? 0 : 1;
  }

  /// The indices of a tensor become those of the pieces that its layout cuts it into.
  void place(FeatureAccess& access, const StorageLayoutStep& layout) {
    const auto& shape = dag_.tensor(access.tensor).shape;
    std::vector<IndexForm> indices;
    for (std::size_t first = 0; first < access.indices.size(); first += access.rank) {
      access.pieces.clear();
      for (std::int32_t piece : layout.order) {
        const auto d = static_cast<std::size_t>(piece / 2);
        const std::int64_t block = layout.blocks[d];
        const bool is_outer = piece % 2 == 0;
        const IndexForm& whole = access.indices[first + d];
        indices.push_back(block == 0 ? whole
                                     : program_.atoms.divide(whole, block, is_outer, full_range()));
        access.pieces.push_back(block == 0 ? shape[d]
                                           : (is_outer ? ceil_div(shape[d], block) : block));
      }
    }
    access.indices = std::move(indices);
    access.rank = layout.order.size();
  }

  const State& state_;
  const ComputeDag& dag_;
  std::vector<StageDerivation> derivations_;
  std::vector<std::int32_t> stage_of_tensor_;
  InlinedOperations inlined_;
  std::vector<bounds::ScopeRank> scopes_;
  std::vector<StageInfo> stages_;
  StoreProgram program_;
  /// Bound inference, unlike what comes after, does not know how far a fused loop runs that stands
  /// still, unless that is a loop over threads: parts keep a modulus that says nothing.
  bool knows_fused_extents_ = true;
  std::vector<bool> has_open_end_;  ///< by loop: it is such a one
};

}  // namespace tensorsmith::detail
