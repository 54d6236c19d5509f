// SPDX-License-Identifier: Apache-2.0
// State: a schedule as a value. Stages + the history of steps that made them.
//
// Floor 3. Ansor reference, ch. 2.1. Copying shares the stages (copy on write); copy + one step
// costs about a microsecond. Applying steps: sched/apply.hpp. Text: sched/print_state.hpp. Ranges
// of attached stages: sched/bounds.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sched/derived_dags.hpp"
#include "tensorsmith/sched/stage.hpp"
#include "tensorsmith/support/flat_map.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct IteratorKey {
  std::int32_t stage = -1, iterator = -1;
  auto operator<=>(const IteratorKey&) const = default;
};

/// Which stage is computed at which iterator (Ansor reference, ch. 2.1 AttachMap).
struct AttachMap {
  FlatMap<std::int32_t, IteratorKey> stage_to_iterator;
  FlatMap<IteratorKey, std::vector<std::int32_t>> iterator_to_stages;

  void set_compute_at(std::int32_t stage, IteratorKey target) {
    erase(stage);
    stage_to_iterator[stage] = target;
    iterator_to_stages[target].push_back(stage);
  }
  void erase(std::int32_t stage) {
    const auto found = stage_to_iterator.find(stage);
    if (found == stage_to_iterator.end()) {
      return;
    }
    auto& list = iterator_to_stages[found->second];
    std::erase(list, stage);
    if (list.empty()) {
      iterator_to_stages.erase(found->second);
    }
    stage_to_iterator.erase(found);
  }
  /// Re-keys all (old, new) pairs at once.
  void update_iterators(const std::vector<std::pair<IteratorKey, IteratorKey>>& renames) {
    std::vector<std::pair<IteratorKey, std::vector<std::int32_t>>> moved;
    for (const auto& [from, to] : renames) {
      const auto found = iterator_to_stages.find(from);
      if (found != iterator_to_stages.end()) {
        moved.emplace_back(to, std::move(found->second));
        iterator_to_stages.erase(found);
      }
    }
    for (auto& [to, stages] : moved) {
      for (std::int32_t stage : stages) {
        stage_to_iterator[stage] = to;
      }
      auto& list = iterator_to_stages[to];
      list.insert(list.end(), stages.begin(), stages.end());
    }
  }
  /// Every stage id >= first, as key, target or member, grows by `count`.
  void shift_stages(std::int32_t first, std::int32_t count = 1) {
    AttachMap shifted;
    const auto move = [&](std::int32_t id) { return id >= first ? id + count : id; };
    for (const auto& [stage, key] : stage_to_iterator) {
      shifted.stage_to_iterator[move(stage)] = {move(key.stage), key.iterator};
    }
    for (const auto& [key, stages] : iterator_to_stages) {
      auto& list = shifted.iterator_to_stages[{move(key.stage), key.iterator}];
      for (std::int32_t stage : stages) {
        list.push_back(move(stage));
      }
    }
    *this = std::move(shifted);
  }
};

template <class Extent>
class BasicState {
 public:
  using Stage = BasicStage<Extent>;
  using Iterator = BasicIterator<Extent>;

  /// The program as written: every stage at root, one iterator per axis, no steps.
  static BasicState initial(Shared<const ComputeDag> dag);

  std::size_t num_stages() const { return stages_.size(); }
  const Stage& stage(std::size_t id) const { return *stages_[id]; }
  /// For sched/apply and bounds only: un-shares the stage.
  Stage& mutable_stage(std::size_t id) {
    has_bounds_ = false;
    return unshare(stages_[id]);
  }
  /// The same for what no range depends on: bounds that were inferred stay.
  Stage& mutable_stage_in_bounds(std::size_t id) { return unshare(stages_[id]); }
  std::vector<Shared<const Stage>>& mutable_stages() {
    has_bounds_ = false;
    return stages_;
  }

  /// The dag whose operations the stages are; differs from the workload's after a stage-adding
  /// step.
  const ComputeDag& dag() const { return *node_->dag(); }
  const Shared<const ComputeDag>& dag_ptr() const { return node_->dag(); }
  const Operation& operation(std::size_t stage_id) const { return dag().operation(stage_id); }
  /// The current dag's place in the tree of derived dags (sched/derived_dags.hpp).
  const Shared<const DagNode>& dag_node() const { return node_; }
  void set_dag_node(Shared<const DagNode> node) { node_ = std::move(node); }
  /// The dag before any step: where replay starts.
  const Shared<const ComputeDag>& initial_dag() const { return origin_->node->dag(); }
  /// The state before any step. Shares the derived dags with this one, so replaying from here
  /// derives nothing twice; prefer it to initial(initial_dag()).
  BasicState restart() const {
    BasicState state;
    state.stages_ = origin_->stages;
    state.attach_ = origin_->attach;
    state.node_ = origin_->node;
    state.origin_ = origin_;
    return state;
  }

  const std::vector<Step>& steps() const { return steps_; }
  std::vector<Step>& mutable_steps() { return steps_; }
  const AttachMap& attach_map() const { return *attach_; }
  AttachMap& mutable_attach_map() {
    has_bounds_ = false;
    return unshare(attach_);
  }
  /// False while any split length is unknown.
  bool is_concrete() const { return concrete_; }
  void set_concrete(bool concrete) { concrete_ = concrete; }
  /// Whether infer_bounds has been here and nothing has changed since.
  bool has_bounds() const { return has_bounds_; }
  void set_has_bounds() { has_bounds_ = true; }

 private:
  /// What every state of one workload starts from.
  struct Origin {
    std::vector<Shared<const Stage>> stages;
    Shared<const AttachMap> attach;
    Shared<const DagNode> node;
  };

  /// The object, after copying it unless this state is its only owner.
  template <class T>
  static T& unshare(Shared<const T>& shared) {
    if (shared.use_count() != 1) {
      shared = make_shared_of<T>(*shared);
    }
    return const_cast<T&>(*shared);  // made by make_shared_of<T>, never const itself
  }

  std::vector<Shared<const Stage>> stages_;
  std::vector<Step> steps_;
  Shared<const AttachMap> attach_;
  Shared<const DagNode> node_;
  Shared<const Origin> origin_;
  bool concrete_ = true;
  bool has_bounds_ = false;
};

using State = BasicState<std::int64_t>;

/// Initial iterator names: '.' and '@' become '_', "outer" becomes "o", "inner" becomes "i"
/// (Ansor reference, ch. 2.1).
inline std::string clean_name(std::string name) {
  for (char& c : name) {
    c = (c == '.' || c == '@') ? '_' : c;
  }
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = name.find(from); at != std::string::npos; at = name.find(from)) {
      name.replace(at, from.size(), to);
    }
  };
  replace("outer", "o");
  replace("inner", "i");
  return name;
}

template <class Extent>
BasicStage<Extent> initial_stage(const ComputeDag& dag, std::uint32_t id) {
  const Operation& op = dag.operation(id);
  BasicStage<Extent> stage;
  stage.is_placeholder = op.is_placeholder();
  if (!stage.is_placeholder) {
    const auto add = [&](const std::vector<Axis>& axes, IteratorKind kind) {
      for (const Axis& axis : axes) {
        BasicIterator<Extent> it;
        it.name = clean_name(dag.pool().var_name(axis.var));
        it.extent = Extent(axis.extent);
        it.kind = kind;
        stage.iterators.push_back(std::move(it));
      }
    };
    add(op.axes, IteratorKind::spatial);
    add(op.reduce_axes, IteratorKind::reduction);
  }
  return stage;
}

template <class Extent>
BasicState<Extent> BasicState<Extent>::initial(Shared<const ComputeDag> dag) {
  auto origin = make_shared_of<Origin>();
  for (std::uint32_t i = 0; i < dag->operations().size(); ++i) {
    origin->stages.push_back(make_shared_of<Stage>(initial_stage<Extent>(*dag, i)));
  }
  origin->attach = make_shared_of<AttachMap>();
  origin->node = make_shared_of<const DagNode>(std::move(dag));
  BasicState state;
  state.origin_ = std::move(origin);
  return state.restart();
}

}  // namespace tensorsmith
