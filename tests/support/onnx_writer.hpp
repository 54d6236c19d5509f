// SPDX-License-Identifier: Apache-2.0
// OnnxModel: writes ONNX files, for tests and for the generator of bench/networks.
//
// Own design; after the public message definitions of ONNX. No library: a message is a text to
// which fields are appended. What it writes is checked against nothing, so that tests can write
// nonsense.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tensorsmith::test {

/// A message of the wire format.
class WireMessage {
 public:
  WireMessage& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  WireMessage& text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  WireMessage& message(std::uint32_t field, const WireMessage& value) {
    return text(field, value.bytes());
  }
  WireMessage& real(std::uint32_t field, float value) {
    varint(std::uint64_t{field} << 3 | 5);
    bytes_ += raw(value);
    return *this;
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }
  const std::string& bytes() const { return bytes_; }

  template <class T>
  static std::string raw(const T& value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }

 private:
  std::string bytes_;
};

/// Numbers of TensorProto.DataType.
enum OnnxType : std::int64_t {
  onnx_f32 = 1,
  onnx_u8 = 2,
  onnx_i8 = 3,
  onnx_i16 = 5,
  onnx_i32 = 6,
  onnx_i64 = 7,
  onnx_string = 8,
  onnx_bool = 9,
  onnx_f16 = 10,
  onnx_f64 = 11,
  onnx_bf16 = 16
};

using OnnxShape = std::vector<std::int64_t>;
/// An extent: its size, or its name.
using OnnxExtent = std::variant<std::int64_t, std::string>;

inline std::string raw_bytes_of(const void* from, std::size_t size) {
  std::string bytes(size, '\0');
  if (size > 0) {
    std::memcpy(bytes.data(), from, size);
  }
  return bytes;
}

/// A tensor with its elements as raw bytes.
inline WireMessage onnx_raw_tensor(std::string_view name, std::int64_t type, const OnnxShape& shape,
                                   std::string_view raw) {
  WireMessage tensor;
  for (const std::int64_t extent : shape) {
    tensor.number(1, static_cast<std::uint64_t>(extent));
  }
  tensor.number(2, static_cast<std::uint64_t>(type));
  if (!name.empty()) {
    tensor.text(8, name);
  }
  return tensor.text(9, raw);
}
inline WireMessage onnx_tensor(std::string_view name, const OnnxShape& shape,
                               const std::vector<float>& elements) {
  return onnx_raw_tensor(name, onnx_f32, shape,
                         raw_bytes_of(elements.data(), elements.size() * sizeof(float)));
}
inline WireMessage onnx_integers(std::string_view name, const OnnxShape& shape,
                                 const std::vector<std::int64_t>& elements) {
  return onnx_raw_tensor(name, onnx_i64, shape,
                         raw_bytes_of(elements.data(), elements.size() * sizeof(std::int64_t)));
}

using OnnxValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                               std::vector<float>, WireMessage>;
struct OnnxAttribute {
  std::string name;
  OnnxValue value;
  bool is_graph = false;       ///< of a message: a graph, not a tensor
  std::string reference = {};  ///< the attribute of the function's call
};

inline WireMessage onnx_attribute(const OnnxAttribute& attribute) {
  WireMessage message;
  message.text(1, attribute.name);
  std::uint64_t type = 0;
  const bool is_reference = !attribute.reference.empty();
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    type = 2;
    if (!is_reference) {
      message.number(3, static_cast<std::uint64_t>(*integer));
    }
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    type = 1;
    if (!is_reference) {
      message.real(2, *real);
    }
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    type = 3;
    message.text(4, *text);
  } else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    type = 7;
    for (const std::int64_t element : *list) {
      message.number(8, static_cast<std::uint64_t>(element));
    }
  } else if (const auto* reals = std::get_if<std::vector<float>>(&attribute.value)) {
    type = 6;
    for (const float element : *reals) {
      message.real(7, element);
    }
  } else if (const auto* inner = std::get_if<WireMessage>(&attribute.value)) {
    type = attribute.is_graph ? 5 : 4;
    message.message(attribute.is_graph ? 6 : 5, *inner);
  }
  message.number(20, type);
  if (is_reference) {
    message.text(21, attribute.reference);
  }
  return message;
}

using OnnxNames = std::vector<std::string>;

inline WireMessage onnx_node(std::string_view op, const OnnxNames& inputs, const OnnxNames& outputs,
                             const std::vector<OnnxAttribute>& attributes = {},
                             std::string_view name = {}, std::string_view domain = {}) {
  WireMessage node;
  for (const std::string& input : inputs) {
    node.text(1, input);
  }
  for (const std::string& output : outputs) {
    node.text(2, output);
  }
  if (!name.empty()) {
    node.text(3, name);
  }
  node.text(4, op);
  for (const OnnxAttribute& attribute : attributes) {
    node.message(5, onnx_attribute(attribute));
  }
  return domain.empty() ? node : node.text(7, domain);
}

inline WireMessage onnx_value(std::string_view name, std::int64_t type,
                              const std::vector<OnnxExtent>& shape) {
  WireMessage extents;
  for (const OnnxExtent& extent : shape) {
    WireMessage one;
    if (const auto* size = std::get_if<std::int64_t>(&extent)) {
      one.number(1, static_cast<std::uint64_t>(*size));
    } else if (!std::get<std::string>(extent).empty()) {
      one.text(2, std::get<std::string>(extent));
    }
    extents.message(1, one);
  }
  WireMessage tensor;
  tensor.number(1, static_cast<std::uint64_t>(type)).message(2, extents);
  WireMessage value;
  return value.text(1, name).message(2, WireMessage().message(1, tensor));
}

/// The nodes, weights, inputs and outputs of one graph.
class OnnxGraph {
 public:
  std::string name = "net";

  void input(std::string_view its_name, const std::vector<OnnxExtent>& shape,
             std::int64_t type = onnx_f32) {
    inputs_.push_back(onnx_value(its_name, type, shape));
  }
  void output(std::string_view its_name, const std::vector<OnnxExtent>& shape,
              std::int64_t type = onnx_f32) {
    outputs_.push_back(onnx_value(its_name, type, shape));
  }
  void weights(const WireMessage& tensor) { initializers_.push_back(tensor); }
  void node(const WireMessage& message) { nodes_.push_back(message); }
  void node(std::string_view op, const OnnxNames& inputs, const OnnxNames& outputs,
            const std::vector<OnnxAttribute>& attributes = {}, std::string_view its_name = {},
            std::string_view domain = {}) {
    nodes_.push_back(onnx_node(op, inputs, outputs, attributes, its_name, domain));
  }

  const std::vector<WireMessage>& nodes() const { return nodes_; }
  WireMessage message() const {
    WireMessage graph;
    for (const WireMessage& one : nodes_) {
      graph.message(1, one);
    }
    graph.text(2, name);
    for (const WireMessage& one : initializers_) {
      graph.message(5, one);
    }
    for (const WireMessage& one : inputs_) {
      graph.message(11, one);
    }
    for (const WireMessage& one : outputs_) {
      graph.message(12, one);
    }
    return graph;
  }

 private:
  std::vector<WireMessage> nodes_, initializers_, inputs_, outputs_;
};

inline WireMessage onnx_opset(std::string_view domain, std::int64_t version) {
  return WireMessage().text(1, domain).number(2, static_cast<std::uint64_t>(version));
}

/// A function of the model: `body` gives its nodes.
inline WireMessage onnx_function(std::string_view domain, std::string_view name,
                                 const OnnxNames& inputs, const OnnxNames& outputs,
                                 const OnnxGraph& body, std::int64_t opset,
                                 const OnnxNames& attributes = {},
                                 const std::vector<OnnxAttribute>& defaults = {}) {
  WireMessage function;
  function.text(1, name);
  for (const std::string& input : inputs) {
    function.text(4, input);
  }
  for (const std::string& output : outputs) {
    function.text(5, output);
  }
  for (const std::string& attribute : attributes) {
    function.text(6, attribute);
  }
  for (const WireMessage& node : body.nodes()) {
    function.message(7, node);
  }
  function.message(9, onnx_opset("", opset)).text(10, domain);
  for (const OnnxAttribute& attribute : defaults) {
    function.message(11, onnx_attribute(attribute));
  }
  return function;
}

/// The bytes of a file.
inline std::string onnx_model(const OnnxGraph& graph, std::int64_t opset,
                              const std::vector<WireMessage>& functions = {},
                              const OnnxNames& domains = {}, std::int64_t ir_version = 8) {
  WireMessage model;
  model.number(1, static_cast<std::uint64_t>(ir_version)).text(2, "tensorsmith");
  model.message(7, graph.message()).message(8, onnx_opset("", opset));
  for (const std::string& domain : domains) {
    model.message(8, onnx_opset(domain, 1));
  }
  for (const WireMessage& function : functions) {
    model.message(25, function);
  }
  return model.bytes();
}

}  // namespace tensorsmith::test
