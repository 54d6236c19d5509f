// SPDX-License-Identifier: Apache-2.0
// DagAnalyses: the AccessAnalysis of every dag that programs of a space have, made once.
//
// Floor 7. Own design. States of one origin share derived dags (sched/derived_dags.hpp); an
// analysis costs as much as a tenth of a program. Safe to use from any number of threads.
#pragma once

#include "tensorsmith/support/growing_table.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/access_analysis.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

class DagAnalyses {
 public:
  explicit DagAnalyses(DataReuse reuse) : reuse_(reuse) {}

  Shared<const AccessAnalysis> of(const Shared<const ComputeDag>& dag) const {
    return all_
        .find_or_add(
            hash_mix(reinterpret_cast<std::uintptr_t>(dag.get())),
            [&](const Entry& entry) { return entry.dag == dag; },
            [&] {
              return Entry{dag, make_shared_of<const AccessAnalysis>(*dag, reuse_)};
            })
        .analysis;
  }

 private:
  struct Entry {
    Shared<const ComputeDag> dag;  ///< kept, so that no other one gets its address
    Shared<const AccessAnalysis> analysis;
  };

  DataReuse reuse_;
  mutable GrowingTable<Entry> all_;
};

}  // namespace tensorsmith
