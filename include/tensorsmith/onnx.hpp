// SPDX-License-Identifier: Apache-2.0
// read_onnx: a network from an ONNX file, as a graph.
//
// Floor 11; compiled in lib/onnx. Own design; docs/onnx.md says which operators are read. Operators
// of the sets 7 to 28 are brought into the form of the newest one, functions of the model are
// expanded, names of extents are bound. Weights are not copied: the file is mapped, and constants
// are views of it. Whatever is wrong with a file is one sentence that names the node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// A name of an extent, or "INPUT:AXIS" of one without a name, and its size.
struct OnnxDim {
  std::string name;
  std::int64_t size = 0;
};

/// An input that becomes a constant: one value for all its elements, or one for each.
struct OnnxInput {
  std::string name;
  std::vector<double> values;
};

struct OnnxOptions {
  std::vector<OnnxDim> dims;
  std::vector<OnnxInput> inputs;
  std::int64_t most_bytes = std::int64_t{1} << 40;  ///< of the model, and of each file of weights
};

/// One sentence that names the file, and the node if there is one.
struct OnnxError {
  std::string message;
};

/// The network in the file at `path`. Its constants keep the file mapped. Nodes are in topological
/// order and in the form of the newest operators; shapes of results are found by graph/resolve.hpp.
Result<graph::Graph, OnnxError> read_onnx(const std::string& path, const OnnxOptions& options = {});

/// The same of a model in memory, which its constants keep. Files of weights that it names are
/// looked for in `folder`; without one they are refused.
Result<graph::Graph, OnnxError> read_onnx_bytes(std::string bytes, const OnnxOptions& options = {},
                                                const std::string& folder = {});

/// A tensor by its name.
struct OnnxTensor {
  std::string name;
  graph::Constant elements;
};
/// The initializers of a model, in their order, whether its nodes read them or not: how values that
/// another implementation computed are recorded in a file.
Result<std::vector<OnnxTensor>, OnnxError> read_onnx_tensors(const std::string& path,
                                                             const OnnxOptions& options = {});

/// What becomes of an operator: a node of the graph; other nodes or none (constants, identities,
/// expansions); a node that must turn out to be constant once extents are bound; nothing.
enum class OnnxStatus : std::uint8_t { node, rewritten, folded, refused };
std::string_view name_of(OnnxStatus status);

struct OnnxOperator {
  std::string_view domain;  ///< empty: ONNX's own
  std::string_view name;
  std::vector<std::int64_t> versions;  ///< that are told apart, ascending
  OnnxStatus status = OnnxStatus::node;
  std::string_view reason;  ///< why it is refused
};

/// All operators that are known, by domain and name.
std::vector<OnnxOperator> onnx_operators();
/// The page of them, docs/onnx.md.
std::string onnx_operator_page();

}  // namespace tensorsmith
