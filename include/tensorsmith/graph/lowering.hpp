// SPDX-License-Identifier: Apache-2.0
// The lowering table: what every operator is, and nodes as stages of a ComputeDag.
//
// Floor 10; compiled in lib/graph, one row per operator (lib/graph/ops_*.cpp). Own design.
// Operators follow the newest ONNX operator set; Conv, ConvTranspose, the pools and
// BatchNormalization also take the attribute layout = "NHWC", which means X [n, spatial, c] and W
// [kernel, c / groups, o]. Not here: which nodes make a group (graph/partition.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::graph {

/// How an operator's results depend on its inputs, from the easiest to fuse to what is not fused.
enum class Pattern : std::uint8_t {
  elementwise,  ///< element by element
  broadcast,    ///< element by element, inputs may be spread
  injective,    ///< every result element reads single elements of the inputs
  reduction,    ///< of the last stage of a group
  anchor,       ///< elementwise operators may follow it: convolutions, products, pools
  opaque,       ///< alone
};

struct OperatorFacts {
  std::string_view op;
  Pattern pattern = Pattern::opaque;
  bool is_view = false;    ///< the result has the bytes of input 0
  bool is_folded = false;  ///< only of constants: it is never a kernel
};
/// All operators, by name.
std::vector<OperatorFacts> known_operators();
/// Null: not known.
const OperatorFacts* find_operator(std::string_view op);

/// A computation of some nodes, and which values its arguments are.
struct GroupProgram {
  Shared<const ComputeDag> dag;
  std::vector<ValueId> inputs;   ///< arguments of the dag in order ...
  std::vector<ValueId> outputs;  ///< ... and then these
};

struct LoweringOptions {
  bool is_wide = false;  ///< every float is an f64, for the oracle
  /// Scalars of known value are arguments as well, not numbers in formulas.
  bool reads_scalars = false;
  /// Constants do not change between calls: what depends on them alone may be packed beforehand.
  bool packs_constants = true;
};

/// Nodes, in topological order, as one dag; `outputs` are the values of it that others need. Names
/// and order depend on the nodes alone, not on where they stand: equal groups give equal dags.
/// Values must be known (resolve()). An error names the node.
Result<GroupProgram, std::string> lower_nodes(const Graph& graph,
                                              std::span<const std::size_t> nodes,
                                              const std::vector<ValueId>& outputs,
                                              const LoweringOptions& options = {});

/// The whole graph by the interpreter, node by node, all floats in f64: the oracle. `inputs` in the
/// graph's order, of its types; results of float type are f64. An error names the node.
Result<std::vector<HostArray>, std::string> interpret(const Graph& graph,
                                                      const std::vector<HostArray>& inputs);

}  // namespace tensorsmith::graph
