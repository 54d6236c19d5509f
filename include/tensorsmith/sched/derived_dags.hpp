// SPDX-License-Identifier: Apache-2.0
// DagNode: a dag and the dags derived from it by stage-adding steps, each derived once.
//
// Floor 3. Own design. States point at their node, so reading the current dag costs nothing. A
// stage-adding step asks its node for the child of (step) or, for an rfactor, of (fuse, split,
// rfactor); all states that descend from one initial state share the tree. Children are a table
// that only grows: looking up is free of locks, two threads that derive the same child at once make
// equal ones and the later one is dropped. Safe to use from any number of threads.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/sched/steps.hpp"
#include "tensorsmith/support/growing_table.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// The steps that name a child: [fuse,] split, rfactor, or one cache step. Unused places are null.
struct DagStepKey {
  const Step* steps[3] = {};
  const Step* const* begin() const { return steps; }
  const Step* const* end() const { return steps + 3; }
  /// Of the numbers in them, which is what keys differ in.
  std::uint64_t hash() const {
    std::uint64_t hash = 0;
    for (const Step* step : steps) {
      if (step != nullptr) {
        std::visit(
            [&](const auto& s) {
              s.fields()([&](auto... field) { (add_numbers(hash, s.*field), ...); });
            },
            *step);
      }
    }
    return hash;
  }

 private:
  template <class Field>
  static void add_numbers(std::uint64_t& hash, const Field& field) {
    if constexpr (requires { static_cast<std::uint64_t>(field); }) {
      hash = hash_combine(hash, static_cast<std::uint64_t>(field));
    } else if constexpr (requires {
                           field.begin();
                           field.end();
                         }) {
      for (const auto& item : field) {
        add_numbers(hash, item);
      }
    }
  }
};

class DagNode {
 public:
  explicit DagNode(Shared<const ComputeDag> dag) : dag_(std::move(dag)) {}

  const Shared<const ComputeDag>& dag() const { return dag_; }

  /// The child of `key`; `derive(dag) -> Shared<const ComputeDag>` is called if there is none.
  template <class Derive>
  Shared<const DagNode> child(const DagStepKey& key, Derive&& derive) const {
    return children_
        .find_or_add(
            key.hash(), [&](const Child& child) { return child.is_of(key); },
            [&] { return Child(key, make_shared_of<const DagNode>(derive(*dag_))); })
        .node;
  }

  std::size_t num_children() const { return children_.size(); }

 private:
  struct Child {
    Child(const DagStepKey& of, Shared<const DagNode> made) : node(std::move(made)) {
      for (const Step* step : of) {
        if (step != nullptr) {
          key.push_back(*step);
        }
      }
    }
    bool is_of(const DagStepKey& wanted) const {
      auto next = key.begin();
      for (const Step* step : wanted) {
        if (step != nullptr && (next == key.end() || !(*next++ == *step))) {
          return false;
        }
      }
      return next == key.end();
    }

    std::vector<Step> key;
    Shared<const DagNode> node;
  };

  Shared<const ComputeDag> dag_;
  mutable GrowingTable<Child> children_;
};

/// A pool that stands on another dag's pool and keeps that one alive.
class LayeredPool {
 public:
  explicit LayeredPool(const ComputeDag& dag) : holder_(make_shared_of<Holder>(dag.pool_ptr())) {}
  ExprPool& pool() { return holder_->pool; }
  /// The pool for a derived dag; owns the base as well.
  Shared<const ExprPool> share() const { return Shared<const ExprPool>(holder_, &holder_->pool); }

 private:
  struct Holder {
    explicit Holder(Shared<const ExprPool> below) : base(std::move(below)), pool(base.get()) {}
    Shared<const ExprPool> base;
    ExprPool pool;
  };
  Shared<Holder> holder_;
};

}  // namespace tensorsmith
