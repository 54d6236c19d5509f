// SPDX-License-Identifier: Apache-2.0
// Networks as the reference describes them, and which functions it makes of them.
//
// Floor 10; compiled in lib/graph. TVM's Relay (Roesch et al., 2018) at optimisation level 3:
// inference forms, scales folded into weights, constants folded, layouts and Winograd's filtering
// chosen, then fuse(). What comes out are the tasks that the Ansor reference tunes, by the same
// workload keys. Values of parameters are not known here and taken to be positive. Not here: graphs
// of our own (graph/graph.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::graph {

struct RelayType {
  Shape shape;
  DType dtype = DType::f32;
  std::vector<RelayType> fields;  ///< of a tuple
  bool is_tuple = false;
  bool operator==(const RelayType&) const = default;
};

enum class RelayKind : std::uint8_t { variable, constant, call, tuple, item };

/// An expression; `inputs` are places before it in the list.
struct RelayNode {
  RelayKind kind = RelayKind::call;
  std::string name;  ///< of a variable; of the operator of a call
  std::vector<std::size_t> inputs;
  std::vector<Attribute> attributes;
  std::int64_t item = 0;
  RelayType type;

  const AttributeValue* find(std::string_view attribute) const {
    return find_attribute(attributes, attribute);
  }
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  double real(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute) const;
  std::vector<std::int64_t> integers(std::string_view attribute) const;
};

/// The last node is the result.
struct RelayGraph {
  std::vector<RelayNode> nodes;
};

/// The form of tests/data/golden/networks: `operators` in post order, `inputs` that a call gives;
/// if there are bound parameters (`n_params`), all other variables are constants. An error says
/// which operator is wrong.
Result<RelayGraph, std::string> read_relay_description(std::string_view json);

enum class RelayTarget : std::uint8_t { cpu, cuda };

/// A fused function.
struct RelayGroup {
  std::vector<std::string> operators;  ///< in post order
  std::vector<RelayType> inputs;       ///< in order of first use
  RelayType output;
  std::vector<std::size_t> nodes;      ///< of RelayPartition::graph, in post order; constants too
  std::vector<std::size_t> arguments;  ///< ... and what it reads
  bool is_complex = false;             ///< a reduction or harder is in it: it is tuned
};

struct RelayTask {
  std::string operators;     ///< joined with "_": what the reference names it by
  std::string workload_key;  ///< empty: it has no definition here
  /// Constants whose values the description lacks have the usual ones of their formulas in the key.
  bool is_assumed = false;
  double weight = 0;
  double flop = -1;  ///< negative: not countable
  Shared<const ComputeDag> dag;
  std::size_t group = 0;  ///< the first that is it
};

struct RelayPartition {
  RelayGraph graph;  ///< after all rewrites
  std::vector<RelayGroup> groups;
  std::vector<RelayTask> tasks;
};

/// Rewrites and fuses. An error names the operator.
Result<RelayPartition, std::string> partition_relay(const RelayGraph& graph, RelayTarget target);

}  // namespace tensorsmith::graph
