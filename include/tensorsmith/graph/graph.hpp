// SPDX-License-Identifier: Apache-2.0
// Graph: a network as nodes with operators, and the values between them.
//
// Floor 10; compiled in lib/graph. Own design. Operators have the names and the semantics of the
// newest ONNX operator set (graph/lowering.hpp lists them); who reads other forms normalises them.
// Shapes are concrete. Constants are views of bytes that somebody owns, a mapped file or a buffer,
// and are never copied. Not here: how a graph is written (graph/builder.hpp), what shapes its
// values have (graph/resolve.hpp), what nodes compute (graph/lowering.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/ir/dtype.hpp"
#include "tensorsmith/support/id.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith::graph {

using ValueId = Id<struct GraphValueTag>;
using Shape = std::vector<std::int64_t>;  ///< empty: a scalar; an extent may be 0

/// Product of the extents, 1 for a scalar; -1 if it leaves 63 bits or an extent is negative.
std::int64_t num_elements(const Shape& shape);
/// "[1, 3, 224, 224]".
std::string shape_text(const Shape& shape);

/// What keeps the bytes of constants: derive from it (a mapped file), or ByteBuffer.
struct ByteOwner {
  ByteOwner() = default;
  ByteOwner(const ByteOwner&) = delete;
  ByteOwner& operator=(const ByteOwner&) = delete;
  virtual ~ByteOwner() = default;
  /// Most of its bytes will hardly be read again: what can get them anew may free their memory.
  virtual void drop() const {}
};
struct ByteBuffer final : ByteOwner {
  explicit ByteBuffer(std::vector<std::byte> its_bytes) : bytes(std::move(its_bytes)) {}
  std::vector<std::byte> bytes;
};

/// Elements of known value: row-major, in the machine's byte order, bool as one byte of 0 or 1. The
/// bytes may lie at any address, however badly aligned.
struct Constant {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
  Shared<const ByteOwner> owner;  ///< null: the bytes outlive the graph

  /// Of an element, widened; i in [0, num_elements).
  double real(std::int64_t i) const;
  std::int64_t integer(std::int64_t i) const;  ///< floats are truncated towards zero
  std::vector<std::int64_t> integers() const;
  std::vector<double> reals() const;
};

/// A constant of its own buffer. `bytes` has as many as the shape needs.
Constant make_constant(DType dtype, Shape shape, std::vector<std::byte> bytes);
template <class T>
Constant constant_of(DType dtype, Shape shape, std::span<const T> elements) {
  std::vector<std::byte> bytes(elements.size_bytes());
  if (!bytes.empty()) {
    std::memcpy(bytes.data(), elements.data(), bytes.size());
  }
  return make_constant(dtype, std::move(shape), std::move(bytes));
}
/// One-dimensional.
Constant integer_constant(const std::vector<std::int64_t>& elements);

using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                                    std::vector<double>, std::vector<std::string>, Constant>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

/// Null if there is none of that name.
const AttributeValue* find_attribute(const std::vector<Attribute>& attributes,
                                     std::string_view name);
/// Null also if it is of another type.
template <class T>
const T* attribute_of(const std::vector<Attribute>& attributes, std::string_view name) {
  const AttributeValue* value = find_attribute(attributes, name);
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

/// A tensor of the graph: an input, a constant, or what a node computes.
struct Value {
  std::string name;  ///< for messages and for the outside; unique among inputs and outputs
  DType dtype = DType::f32;
  Shape shape;
  bool is_known = false;     ///< dtype and shape are; resolve() finds those of nodes' results
  bool is_constant = false;  ///< `constant` holds it, which has its dtype and shape
  Constant constant;
};

struct Node {
  std::string op;    ///< "Conv"; one of another domain than ONNX's own: "com.microsoft.Name"
  std::string name;  ///< for messages; may be empty
  std::vector<Attribute> attributes;
  std::vector<ValueId> inputs;   ///< not valid(): an optional one that is absent
  std::vector<ValueId> outputs;  ///< not valid(): one that nobody reads

  const AttributeValue* find(std::string_view attribute) const {
    return find_attribute(attributes, attribute);
  }
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  /// The attribute, or `otherwise` if there is none or it is of another type. A list of one integer
  /// is not an integer.
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  double real(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view attribute,
                                     std::vector<std::int64_t> otherwise = {}) const;
  void set(std::string_view attribute, AttributeValue value);

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].valid(); }
  bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].valid(); }
};

/// Nodes in topological order: producers first. Plain data; check() says whether it is sound.
struct Graph {
  std::string name;
  std::vector<Value> values;  ///< by ValueId
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;   ///< what a call gives, in order
  std::vector<ValueId> outputs;  ///< what it gets

  ValueId add_value(Value value) {
    values.push_back(std::move(value));
    return ValueId{static_cast<std::uint32_t>(values.size() - 1)};
  }
  ValueId add_input(std::string its_name, DType dtype, Shape shape);
  ValueId add_constant(std::string its_name, Constant constant);
  Value& value(ValueId id) { return values[id.value]; }
  const Value& value(ValueId id) const { return values[id.value]; }
  bool is_constant(ValueId id) const { return id.valid() && value(id).is_constant; }
};

/// How messages call a node: node "conv1" (Conv), or, without a name, node 17 (Conv) with what it
/// computes.
std::string describe_node(const Graph& graph, std::size_t node);

/// Puts the nodes into topological order, each as early as its place in the list allows. An error
/// is one sentence that names a node of a cycle.
Result<Done, std::string> sort_nodes(Graph& graph);

/// Whether every value is defined once and before it is read, ids are in range, constants have as
/// many bytes as their shapes need, names of inputs and outputs are unique. An error is one
/// sentence that names the node.
Result<Done, std::string> check(const Graph& graph);

/// The node that computes a value, or -1: by ValueId.
std::vector<std::int32_t> producers(const Graph& graph);
/// How many inputs of nodes, and outputs of the graph, a value is: by ValueId.
std::vector<std::int32_t> count_uses(const Graph& graph);

/// Takes out nodes whose results nobody needs, and constants that nobody reads. Ids of values that
/// stay change; inputs and outputs of the graph stay.
void remove_unused(Graph& graph);

}  // namespace tensorsmith::graph
