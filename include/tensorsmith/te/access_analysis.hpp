// SPDX-License-Identifier: Apache-2.0
// Access analysis: who reads whom, how, and what follows for inlining, tiling and fusion.
//
// Floor 2. Ansor reference, ch. 1.2. A value computed once per dag; stages are named by their index
// in ComputeDag::operations(). Queries that look through inlined stages take a predicate
// `is_inlined(stage)`, so that this floor knows no states.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// All reads between two stages: index vectors in the order of the reader's bodies. A read that
/// occurs twice is listed twice.
struct Access {
  std::uint32_t stage = 0;  ///< the other stage
  std::vector<ExprList> reads;
};

/// Whose data is reused where an axis of the reader does not move it: that of a producer, by all
/// its reads together, as in the reference; or that of every read by itself, so that a matrix times
/// its own transpose is a product like others.
enum class DataReuse { of_producers, of_reads };

struct StageAccess {
  bool is_placeholder = false;
  bool is_simple_access = true;
  bool is_strictly_inlineable = false;
  bool reads_in_order = true;  ///< simple accesses, of axes in their order, none of them twice
  bool needs_multi_level_tiling = false;
  bool is_output = false;       ///< nobody reads it, or the caller gets it all the same
  bool has_branch = false;      ///< if_then_else or select in a body
  bool matches_reader = false;  ///< one step of elementwise_match: it has one reader and matches it
  /// Its formula, with those of the stages that it might be computed from in place, is so long that
  /// readers read it from memory: what repeats an operand grows by a factor with every such stage.
  bool is_too_long_to_inline = false;
  std::vector<Access> read_from;         ///< by ascending producer
  std::vector<Access> read_by;           ///< by ascending reader
  std::vector<std::uint32_t> producers;  ///< of read_from
  std::vector<std::uint32_t> readers;    ///< of read_by
  /// (other stage, n) for every direct producer and reader, by ascending stage.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> num_common_outer;
};

class AccessAnalysis {
 public:
  /// Linear in the size of the bodies, a read counted once per occurrence.
  explicit AccessAnalysis(const ComputeDag& dag, DataReuse reuse = DataReuse::of_producers);

  DataReuse reuse() const { return reuse_; }

  std::size_t num_stages() const { return stages_.size(); }
  const StageAccess& stage(std::uint32_t id) const { return stages_[id]; }
  bool is_placeholder(std::uint32_t id) const { return stages_[id].is_placeholder; }
  bool is_simple_access(std::uint32_t id) const { return stages_[id].is_simple_access; }
  bool is_strictly_inlineable(std::uint32_t id) const { return stages_[id].is_strictly_inlineable; }
  bool needs_multi_level_tiling(std::uint32_t id) const {
    return stages_[id].needs_multi_level_tiling;
  }
  bool is_output(std::uint32_t id) const { return stages_[id].is_output; }
  bool has_branch(std::uint32_t id) const { return stages_[id].has_branch; }
  const std::vector<Access>& read_from(std::uint32_t id) const { return stages_[id].read_from; }
  const std::vector<Access>& read_by(std::uint32_t id) const { return stages_[id].read_by; }
  /// DirectProducers and direct readers, ascending.
  const std::vector<std::uint32_t>& producers(std::uint32_t id) const {
    return stages_[id].producers;
  }
  const std::vector<std::uint32_t>& readers(std::uint32_t id) const { return stages_[id].readers; }
  /// Stage ids in analysis order (Kahn with priorities, Ansor reference ch. 1.1).
  const std::vector<std::uint32_t>& topological_order() const { return topological_order_; }

  /// ElementWiseMatch(from, to): along a chain of single readers every read is elementwise and
  /// every shape is equal. True for from == to.
  bool elementwise_match(std::uint32_t from, std::uint32_t to) const {
    while (from != to) {
      if (!stages_[from].matches_reader) {
        return false;
      }
      from = stages_[from].readers[0];
    }
    return true;
  }
  /// The common-outer number of two directly connected stages, 0 if they are not.
  std::uint32_t num_common_outer_direct(std::uint32_t a, std::uint32_t b) const {
    for (const auto& [other, count] : stages_[a].num_common_outer) {
      if (other == b) {
        return count;
      }
    }
    return 0;
  }
  /// NumCommonOuterIterator(from, to): the minimum over all paths of readers, starting at the rank
  /// of `from`; 0 if there is no path.
  std::uint32_t num_common_outer_iterators(std::uint32_t from, std::uint32_t to) const;

  /// Consumers(stage), ascending: readers, an inlined reader replaced by its own consumers.
  template <class IsInlined>
  std::vector<std::uint32_t> consumers(std::uint32_t id, const IsInlined& is_inlined) const {
    return look_through(id, &StageAccess::readers, is_inlined);
  }
  /// Producers(stage), ascending: what it reads, an inlined producer replaced by its own producers.
  template <class IsInlined>
  std::vector<std::uint32_t> producers(std::uint32_t id, const IsInlined& is_inlined) const {
    return look_through(id, &StageAccess::producers, is_inlined);
  }

 private:
  using Neighbours = std::vector<std::uint32_t> StageAccess::*;

  template <class IsInlined>
  std::vector<std::uint32_t> look_through(std::uint32_t id, Neighbours side,
                                          const IsInlined& is_inlined) const {
    std::vector<bool> visited(stages_.size(), false);
    std::vector<std::uint32_t> stack{id}, found;
    while (!stack.empty()) {
      const std::uint32_t from = stack.back();
      stack.pop_back();
      for (std::uint32_t next : stages_[from].*side) {
        if (!visited[next] && is_inlined(next)) {
          stack.push_back(next);
        }
        visited[next] = true;
      }
    }
    for (std::uint32_t next = 0; next < visited.size(); ++next) {
      if (visited[next] && !is_inlined(next)) {
        found.push_back(next);
      }
    }
    return found;
  }

  DataReuse reuse_;
  std::vector<StageAccess> stages_;
  std::vector<std::uint32_t> ranks_;  // of output 0
  std::vector<std::uint32_t> topological_order_;
};

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/access_analysis_body.hpp"
#endif
