// DagNode: a dag and the dags derived from it by stage-adding steps, each derived once.
//
// Floor 3. Own design. States point at their node, so reading the current dag costs nothing. A
// stage-adding step asks its node for the child of (step) or, for an rfactor, of (fuse, split,
// rfactor); all states that descend from one initial state share the tree. Children are a list that
// only grows: looking up is free of locks, two threads that derive the same child at once make
// equal ones and the later one is dropped. Safe to use from any number of threads.
#pragma once

#include <array>
#include <atomic>  // the list of children grows without locks
#include <memory>  // nodes and pools are shared between states
#include <utility>
#include <vector>

#include "tensorsmith/sched/steps.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// The steps that name a child: [fuse,] split, rfactor, or one cache step. Unused places are null.
using DagStepKey = std::array<const Step*, 3>;

class DagNode {
 public:
  explicit DagNode(std::shared_ptr<const ComputeDag> dag) : dag_(std::move(dag)) {}
  DagNode(const DagNode&) = delete;
  DagNode& operator=(const DagNode&) = delete;
  ~DagNode() {
    for (const Link* link = first_.load(std::memory_order_acquire); link != nullptr;) {
      const Link* next = link->next;
      delete link;
      link = next;
    }
  }

  const std::shared_ptr<const ComputeDag>& dag() const { return dag_; }

  /// The child of `key`; `derive(dag) -> shared_ptr<const ComputeDag>` is called if there is none.
  template <class Derive>
  std::shared_ptr<const DagNode> child(const DagStepKey& key, Derive&& derive) const {
    const Link* seen = first_.load(std::memory_order_acquire);
    if (const Link* found = find(seen, nullptr, key)) {
      return found->node;
    }
    Link* link = new Link{{}, std::make_shared<const DagNode>(derive(*dag_)), seen};
    for (const Step* step : key) {
      if (step != nullptr) {
        link->key.push_back(*step);
      }
    }
    const Link* checked = seen;
    while (!first_.compare_exchange_weak(link->next, link, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      if (const Link* found = find(link->next, checked, key)) {
        delete link;
        return found->node;
      }
      checked = link->next;
    }
    return link->node;
  }

  std::size_t num_children() const {
    std::size_t count = 0;
    for (const Link* link = first_.load(std::memory_order_acquire); link != nullptr;
         link = link->next) {
      ++count;
    }
    return count;
  }

 private:
  struct Link {
    std::vector<Step> key;
    std::shared_ptr<const DagNode> node;
    const Link* next;
  };
  static const Link* find(const Link* from, const Link* end, const DagStepKey& key) {
    for (const Link* link = from; link != end; link = link->next) {
      std::size_t used = 0;
      bool equal = true;
      for (const Step* step : key) {
        if (step != nullptr) {
          equal = equal && used < link->key.size() && link->key[used] == *step;
          ++used;
        }
      }
      if (equal && used == link->key.size()) {
        return link;
      }
    }
    return nullptr;
  }

  std::shared_ptr<const ComputeDag> dag_;
  mutable std::atomic<const Link*> first_{nullptr};
};

/// A pool that stands on another dag's pool and keeps that one alive.
class LayeredPool {
 public:
  explicit LayeredPool(const ComputeDag& dag) : holder_(std::make_shared<Holder>(dag.pool_ptr())) {}
  ExprPool& pool() { return holder_->pool; }
  /// The pool for a derived dag; owns the base as well.
  std::shared_ptr<const ExprPool> share() const {
    return std::shared_ptr<const ExprPool>(holder_, &holder_->pool);
  }

 private:
  struct Holder {
    explicit Holder(std::shared_ptr<const ExprPool> below)
        : base(std::move(below)), pool(base.get()) {}
    std::shared_ptr<const ExprPool> base;
    ExprPool pool;
  };
  std::shared_ptr<Holder> holder_;
};

}  // namespace tensorsmith
