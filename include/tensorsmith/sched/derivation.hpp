// SPDX-License-Identifier: Apache-2.0
// How the loops of a stage come from its axes: the splits and fuses of the history, per stage.
//
// Floor 3. Own design. A state keeps only its final iterators; lowering needs the values of the
// axes in terms of them, for any region of the axes. Not here: extents (they depend on where a
// stage is computed).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/sched/copies.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith {

/// parent --> parts (a split, outermost part first) or parts --> parent (a fuse).
struct IteratorRelation {
  bool is_split = true;
  std::int32_t parent = -1;  ///< the node that is split, or the fused node
  IdList parts;
  LengthList lengths;  ///< of a split, as in the step
  bool inner_to_outer = true;
};

struct LeafIterator {
  std::int32_t node = -1;
  std::int32_t iterator = -1;  ///< position in the state's stage, -1 if lowering made it
  Annotation annotation = Annotation::none;
};

/// Nodes 0 .. num_axes-1 are the operation's axes (spatial, then reduction); later nodes are made
/// by the relations in order.
struct StageDerivation {
  std::int32_t num_axes = 0, num_spatial = 0, num_nodes = 0;
  std::vector<IteratorRelation> relations;
  std::vector<LeafIterator> leaves;  ///< outermost first
  std::string scope;                 ///< of a cache, as its step says; "" otherwise

  static StageDerivation initial(std::int32_t num_spatial, std::int32_t num_reduce);
  void split(std::size_t leaf, const LengthList& lengths, bool inner_to_outer);
  void fuse(std::size_t first, std::size_t count);
};

/// Per node: does it run over a reduction axis, wholly or in part?
TENSORSMITH_INLINE std::vector<bool> node_is_reduction(const StageDerivation& d);

/// One derivation per stage of the state, in stage order. Linear in the history.
TENSORSMITH_INLINE std::vector<StageDerivation> derive(const State& state);

namespace detail {

/// Extents of all nodes from the extents of the axes. A part never exceeds what it splits.
TENSORSMITH_INLINE std::vector<std::int64_t>
node_extents(const StageDerivation& d, const std::vector<std::int64_t>& axis_extent);

}  // namespace detail

/// The axis that node `node` is a part of by splits alone, -1 if it was fused.
TENSORSMITH_INLINE std::int32_t axis_of_node(const StageDerivation& d, std::int32_t node);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/sched/derivation_body.hpp"
#endif
