// SPDX-License-Identifier: Apache-2.0
// DagAnalyses: the AccessAnalysis of every dag that programs of a space have, made once.
//
// Floor 7. Own design. States of one origin share derived dags (sched/derived_dags.hpp), so there
// are few; an analysis costs as much as a tenth of a program. A list that only grows: looking up is
// free of locks. Safe to use from any number of threads.
#pragma once

#include "tensorsmith/support/atomic_pointer.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/access_analysis.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

class DagAnalyses {
 public:
  explicit DagAnalyses(DataReuse reuse) : reuse_(reuse) {}
  DagAnalyses(const DagAnalyses&) = delete;
  DagAnalyses& operator=(const DagAnalyses&) = delete;
  ~DagAnalyses() {
    for (const Link* link = first_.load(); link != nullptr;) {
      const Link* next = link->next;
      delete link;
      link = next;
    }
  }

  Shared<const AccessAnalysis> of(const Shared<const ComputeDag>& dag) const {
    const Link* next = first_.load();
    std::size_t count = 0;
    for (const Link* link = next; link != nullptr; link = link->next, ++count) {
      if (link->dag == dag) {
        return link->analysis;
      }
    }
    auto analysis = make_shared_of<const AccessAnalysis>(*dag, reuse_);
    if (count < most_kept) {
      Link* const link = new Link{dag, analysis, next};
      while (!first_.compare_exchange(link->next, link)) {
      }
    }
    return analysis;
  }

 private:
  /// Of dags of other origins there is no end.
  static constexpr std::size_t most_kept = 256;
  struct Link {
    Shared<const ComputeDag> dag;  ///< kept, so that no other one gets its address
    Shared<const AccessAnalysis> analysis;
    const Link* next;
  };

  DataReuse reuse_;
  mutable AtomicPointer<const Link> first_;
};

}  // namespace tensorsmith
