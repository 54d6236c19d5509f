// SPDX-License-Identifier: Apache-2.0
// The messages of an ONNX file, as far as they are read: texts and data are views of the file.
//
// Private to lib/. After the public message definitions of ONNX (IR version 3 to 13). Unknown
// fields are skipped, as the format asks. Sizes are bounded, so that a file of a few bytes per
// message cannot take a hundred times its size of memory. Not here: what operators mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/support/result.hpp"

namespace tensorsmith::onnx {

struct TensorMessage {
  std::string_view name;
  std::vector<std::int64_t> dims;
  std::int64_t type = 0;     ///< TensorProto.DataType
  std::string_view message;  ///< the whole, for lists of typed numbers
  std::string_view raw;      ///< raw_data
  bool has_raw = false;
  bool is_external = false;         ///< the elements lie in a file of their own
  std::string_view location;        ///< that file, beside the model
  std::string_view offset, length;  ///< decimal numbers in it; empty: from its beginning, all of it
};

enum class AttributeType : std::uint8_t {
  undefined,
  real,
  integer,
  text,
  tensor,
  graph,
  reals,
  integers,
  texts,
  tensors,
  graphs
};

struct AttributeMessage {
  std::string_view name;
  std::string_view reference;  ///< inside a function: the attribute of the call
  AttributeType type = AttributeType::undefined;
  float real = 0;
  std::int64_t integer = 0;
  std::string_view text;
  std::string_view message;  ///< of a tensor or graph
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  std::vector<std::string_view> texts;
};

struct NodeMessage {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;  ///< empty: an absent one
  std::vector<AttributeMessage> attributes;
};

/// -1: the extent has a name or is not given.
struct DimMessage {
  std::int64_t value = -1;
  std::string_view name;
};

struct ValueMessage {
  std::string_view name;
  bool is_tensor = false;
  bool has_shape = false;
  std::int64_t type = 0;
  std::vector<DimMessage> dims;
};

struct GraphMessage {
  std::string_view name;
  std::vector<NodeMessage> nodes;
  std::vector<TensorMessage> initializers;
  std::vector<ValueMessage> inputs, outputs;
  bool has_sparse = false;
};

struct OpsetMessage {
  std::string_view domain;
  std::int64_t version = 0;
};

struct FunctionMessage {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<AttributeMessage> defaults;
  std::vector<NodeMessage> nodes;
  std::vector<OpsetMessage> opsets;
};

struct ModelMessage {
  std::int64_t ir_version = 0;
  std::string_view producer;
  bool has_graph = false;
  GraphMessage graph;
  std::vector<OpsetMessage> opsets;
  std::vector<FunctionMessage> functions;
};

/// An error says which message is damaged. `what`: how the message is called in it.
Result<ModelMessage, std::string> parse_model(std::string_view bytes);
Result<GraphMessage, std::string> parse_graph(std::string_view bytes, const std::string& what);
Result<TensorMessage, std::string> parse_tensor(std::string_view bytes, const std::string& what);

/// "domain.Name", without a domain for ONNX's own ("" and "ai.onnx").
std::string operator_name(std::string_view domain, std::string_view op);
bool is_own_domain(std::string_view domain);

}  // namespace tensorsmith::onnx
