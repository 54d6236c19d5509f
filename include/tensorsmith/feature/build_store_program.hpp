// build_store_program: from a state to its stores.
//
// Floor 5. Ansor reference, ch. 2.5 (ranges) and 6.1. Regions of attached stages are inferred here,
// consumers first, so the state's own bounds need not be filled in. An index that is not affine
// makes its dimension whole.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/read_region.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/feature/value_walk.hpp"
#include "tensorsmith/lower/derivation.hpp"
#include "tensorsmith/lower/nest.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {
namespace detail {

class StoreProgramBuilder {
 public:
  explicit StoreProgramBuilder(const State& state)
      : state_(state), dag_(state.dag()), derivations_(derive(state)) {}

  /// Nothing if a length is unknown or an attached stage is read from outside.
  std::optional<StoreProgram> run() {
    const std::size_t n = state_.num_stages();
    stages_.resize(n);
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
        return std::nullopt;
      }
    }
    program_.num_tables = static_cast<std::int32_t>(program_.loops.size());
    for (std::size_t s = 0; s < n; ++s) {
      if (state_.stage(s).compute_at == ComputeAt::root && !state_.stage(s).is_placeholder) {
        emit(s, 0);
      }
    }
    const std::vector<const StorageLayoutStep*> layouts = storage_layouts(state_);
    for (FeatureStore& store : program_.stores) {
      for (FeatureAccess& access : store.accesses) {
        const std::int32_t stage = stage_of_tensor_[access.tensor.value];
        if (stage >= 0 && layouts[static_cast<std::size_t>(stage)] != nullptr) {
          place(access, *layouts[static_cast<std::size_t>(stage)]);
        }
      }
    }
    return std::move(program_);
  }

 private:
  struct StageInfo {
    RegionBox box;
    std::vector<std::int32_t> enclosing;  ///< loops around, outermost first
    std::vector<std::int32_t> leaf_loop;  ///< -1: extent 1
    std::vector<bool> leaf_reduces;
    std::vector<FeatureStore> stores;  ///< without loops
    std::vector<IndexForm> axes;
  };

  bool is_inlined(std::size_t s) const { return state_.stage(s).compute_at == ComputeAt::inlined; }
  auto full_range() const {
    return [this](std::int32_t loop) {
      return IndexRange{0, program_.loops[static_cast<std::size_t>(loop)].extent - 1};
    };
  }

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
    const std::vector<std::int64_t> extent = node_extents(d, axis_extent);
    const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
    std::vector<IndexForm> value(at(d.num_nodes));
    std::vector<bool> reduces(at(d.num_nodes), false);
    for (std::int32_t a = d.num_spatial; a < d.num_axes; ++a) {
      reduces[at(a)] = true;
    }
    for (const IteratorRelation& r : d.relations) {
      for (std::int32_t part : r.parts) {
        if (r.is_split) {
          reduces[at(part)] = reduces[at(r.parent)];
        } else {
          reduces[at(r.parent)] = reduces[at(r.parent)] || reduces[at(part)];
        }
      }
    }
    for (const LeafIterator& leaf : d.leaves) {
      info.leaf_reduces.push_back(reduces[at(leaf.node)]);
      if (extent[at(leaf.node)] <= 1) {
        info.leaf_loop.push_back(-1);
        continue;
      }
      const auto loop = static_cast<std::int32_t>(program_.loops.size());
      program_.loops.push_back({extent[at(leaf.node)], leaf.annotation});
      info.leaf_loop.push_back(loop);
      value[at(leaf.node)].add_term(1, program_.atoms.loop(loop));
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
      const IndexForm fused = value[at(r.parent)];
      std::int64_t stride = 1;
      for (std::size_t p = r.parts.size(); p-- > 0;) {
        const std::int64_t e = extent[at(r.parts[p])];
        if (e > 1) {
          IndexForm part =
              stride > 1 ? program_.atoms.divide(fused, stride, true, full_range()) : fused;
          if (p > 0) {
            part = program_.atoms.divide(part, e, false, full_range());
          }
          value[at(r.parts[p])] = std::move(part);
        }
        stride *= e;
      }
    }
    for (std::size_t a = 0; a < at(d.num_axes); ++a) {
      IndexForm form;
      if (a < op.axes.size()) {
        form = info.box.low[a];
      }
      form.add(value[a]);
      program_.atoms.recombine(form);
      info.axes.push_back(std::move(form));
    }
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
      ValueWalk walk(dag_, program_.atoms, program_.loops, inlined_, store);
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
    const std::size_t num_vectors = access.rank == 0 ? 1 : access.indices.size() / access.rank;
    for (std::size_t v = 0; v < num_vectors; ++v) {
      merge_region(stages_[producer].box,
                   region_of_read(program_.atoms, access, v, op, outer.enclosing, full_range()),
                   op);
    }
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

  bool has_pragma(std::size_t s) const {
    for (auto step = state_.steps().rbegin(); step != state_.steps().rend(); ++step) {
      if (const auto* pragma = std::get_if<PragmaStep>(&*step);
          pragma != nullptr && pragma->stage == static_cast<std::int32_t>(s) &&
          !pragma->pragma.starts_with(prefetch_pragma)) {
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
    for (std::int64_t extent : info.box.extent) {
      elements *= static_cast<double>(extent);
    }
    for (const FeatureStore& store : info.stores) {
      program_.allocations.push_back({store.tensor, elements, outer_prod});
    }
    const std::size_t depth = open_.size();
    bool is_initialised = dag_.operation(s).reduce_axes.empty();
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      if (info.leaf_reduces[leaf] && !is_initialised) {
        emit_initialisation(info, leaf, auto_unroll);
        is_initialised = true;
      }
      if (info.leaf_loop[leaf] >= 0) {
        open_.push_back({info.leaf_loop[leaf], info.leaf_loop[leaf]});
      }
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
    for (FeatureStore store : info.stores) {
      store.loops = open_;
      store.auto_unroll_max_step = auto_unroll;
      program_.stores.push_back(std::move(store));
    }
    open_.resize(depth);
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

  const State& state_;
  const ComputeDag& dag_;
  std::vector<StageDerivation> derivations_;
  std::vector<std::int32_t> stage_of_tensor_;
  InlinedOperations inlined_;
  std::vector<StageInfo> stages_;
  std::vector<OpenFeatureLoop> open_;
  StoreProgram program_;
};

}  // namespace detail

/// Nothing if the state is not concrete or cannot be built.
inline std::optional<StoreProgram> build_store_program(const State& state) {
  return detail::StoreProgramBuilder(state).run();
}

}  // namespace tensorsmith
