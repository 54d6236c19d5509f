// SPDX-License-Identifier: Apache-2.0
#include "onnx/model.hpp"

#include <bit>
#include <cstddef>

#include "onnx/wire.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

/// Far more than any network has; a message takes up to two hundred times its bytes in memory.
constexpr std::size_t most_messages = std::size_t{1} << 22;
constexpr std::size_t most_dims = 64;

/// Parses messages into structs; the first thing that is wrong is kept and ends it.
class Parser {
 public:
  const std::string& problem() const { return problem_; }

  void parse(std::string_view bytes, ModelMessage& model) {
    each(bytes, "the model", [&](const WireField& field) {
      switch (field.number) {
      case 1:
        return take(field, model.ir_version);
      case 2:
        return take(field, model.producer);
      case 7:
        // The format would join two graphs; no writer makes them.
        if (model.has_graph) {
          note("the model has two graphs");
        }
        model.has_graph = true;
        return is_bytes(field) && (parse(field.bytes, model.graph), true);
      case 8:
        return is_bytes(field) && (parse(field.bytes, add(model.opsets)), true);
      case 25:
        return is_bytes(field) && (parse(field.bytes, add(model.functions)), true);
      default:
        return true;
      }
    });
  }

  void parse(std::string_view bytes, GraphMessage& graph) {
    each(bytes, "a graph", [&](const WireField& field) {
      switch (field.number) {
      case 1:
        return is_bytes(field) && (parse(field.bytes, add(graph.nodes)), true);
      case 2:
        return take(field, graph.name);
      case 5:
        return is_bytes(field) && (parse(field.bytes, add(graph.initializers)), true);
      case 11:
        return is_bytes(field) && (parse(field.bytes, add(graph.inputs)), true);
      case 12:
        return is_bytes(field) && (parse(field.bytes, add(graph.outputs)), true);
      case 15:
        graph.has_sparse = true;
        return true;
      default:
        return true;
      }
    });
  }

  void parse(std::string_view bytes, TensorMessage& tensor) {
    tensor.message = bytes;
    each(bytes, "a tensor", [&](const WireField& field) {
      std::int64_t location = 0;
      switch (field.number) {
      case 1:
        return append_integers(field, tensor.dims) && tensor.dims.size() <= most_dims;
      case 2:
        return take(field, tensor.type);
      case 8:
        return take(field, tensor.name);
      case 9:
        tensor.has_raw = true;
        return take(field, tensor.raw);
      case 13:
        return is_bytes(field) && (parse_external(field.bytes, tensor), true);
      case 14:
        if (!take(field, location)) {
          return false;
        }
        tensor.is_external = location == 1;
        return location == 0 || location == 1;
      default:
        return true;
      }
    });
  }

 private:
  template <class T>
  T& add(std::vector<T>& list) {
    if (++messages_ > most_messages) {
      note("it has more than " + std::to_string(most_messages) + " messages");
    }
    return list.emplace_back();
  }
  void note(std::string problem) {
    if (problem_.empty()) {
      problem_ = std::move(problem);
    }
  }
  static bool is_bytes(const WireField& field) { return field.type == WireType::bytes; }
  static bool take(const WireField& field, std::string_view& text) {
    text = field.bytes;
    return is_bytes(field);
  }
  static bool take(const WireField& field, std::int64_t& number) {
    number = static_cast<std::int64_t>(field.value);
    return field.type == WireType::varint;
  }
  bool append(const WireField& field, std::vector<std::string_view>& list) {
    return take(field, add(list));
  }

  /// Calls `use` for each field; it says whether the field has the type that belongs there.
  template <class Use>
  void each(std::string_view bytes, const char* what, const Use& use) {
    WireReader reader(bytes);
    WireField field;
    while (problem_.empty() && reader.next(field)) {
      if (!use(field)) {
        note(std::string("field ") + std::to_string(field.number) + " of " + what + " is damaged");
      }
    }
    if (!reader.is_good()) {
      note(std::string(what) + " is damaged or cut short");
    }
  }

  void parse(std::string_view bytes, OpsetMessage& opset) {
    each(bytes, "an operator set", [&](const WireField& field) {
      return field.number == 1   ? take(field, opset.domain)
             : field.number == 2 ? take(field, opset.version)
                                 : true;
    });
  }

  void parse(std::string_view bytes, NodeMessage& node) {
    each(bytes, "a node", [&](const WireField& field) {
      switch (field.number) {
      case 1:
        return append(field, node.inputs);
      case 2:
        return append(field, node.outputs);
      case 3:
        return take(field, node.name);
      case 4:
        return take(field, node.op);
      case 5:
        return is_bytes(field) && (parse(field.bytes, add(node.attributes)), true);
      case 7:
        return take(field, node.domain);
      case 8:
        return take(field, node.overload);
      default:
        return true;
      }
    });
  }

  void parse(std::string_view bytes, AttributeMessage& attribute) {
    std::int64_t type = 0;
    auto seen = AttributeType::undefined;
    each(bytes, "an attribute", [&](const WireField& field) {
      const auto see = [&](AttributeType kind, bool is_good) {
        seen = kind;
        return is_good;
      };
      switch (field.number) {
      case 1:
        return take(field, attribute.name);
      case 2:
        attribute.real = std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
        return see(AttributeType::real, field.type == WireType::fixed32);
      case 3:
        return see(AttributeType::integer, take(field, attribute.integer));
      case 4:
        return see(AttributeType::text, take(field, attribute.text));
      case 5:
        return see(AttributeType::tensor, take(field, attribute.message));
      case 6:
        return see(AttributeType::graph, take(field, attribute.message));
      case 7:
        return see(AttributeType::reals, append_floats(field, attribute.reals));
      case 8:
        return see(AttributeType::integers, append_integers(field, attribute.integers));
      case 9:
        return see(AttributeType::texts, append(field, attribute.texts));
      case 10:
        return see(AttributeType::tensors, is_bytes(field));
      case 11:
        return see(AttributeType::graphs, is_bytes(field));
      case 20:
        return take(field, type);
      case 21:
        return take(field, attribute.reference);
      default:
        return true;
      }
    });
    // Old writers leave the type out; empty lists have nothing but the type.
    const bool is_stated = type > 0 && type <= static_cast<std::int64_t>(AttributeType::graphs);
    attribute.type = is_stated ? static_cast<AttributeType>(type) : seen;
    const bool is_of_stated_type =
        !is_stated || seen == AttributeType::undefined || seen == attribute.type;
    if (!is_of_stated_type) {
      note("attribute " + in_quotes(attribute.name) + " is not of the type that it states");
    }
  }

  void parse_external(std::string_view bytes, TensorMessage& tensor) {
    std::string_view key, value;
    each(bytes, "a tensor's place", [&](const WireField& field) {
      return field.number == 1 ? take(field, key) : field.number == 2 ? take(field, value) : true;
    });
    std::string_view* known = key == "location" ? &tensor.location
                              : key == "offset" ? &tensor.offset
                              : key == "length" ? &tensor.length
                                                : nullptr;
    if (known != nullptr) {
      *known = value;
    }
  }

  void parse(std::string_view bytes, ValueMessage& value) {
    each(bytes, "a value", [&](const WireField& field) {
      if (field.number == 2) {
        return is_bytes(field) && (parse_type(field.bytes, value), true);
      }
      return field.number == 1 ? take(field, value.name) : true;
    });
  }
  void parse_type(std::string_view bytes, ValueMessage& value) {
    each(bytes, "a type", [&](const WireField& field) {
      if (field.number != 1) {
        return true;
      }
      value.is_tensor = true;
      if (!is_bytes(field)) {
        return false;
      }
      each(field.bytes, "a tensor's type", [&](const WireField& inner) {
        if (inner.number == 2) {
          value.has_shape = true;
          return is_bytes(inner) && (parse_shape(inner.bytes, value), true);
        }
        return inner.number == 1 ? take(inner, value.type) : true;
      });
      return true;
    });
  }
  void parse_shape(std::string_view bytes, ValueMessage& value) {
    each(bytes, "a shape", [&](const WireField& field) {
      if (field.number != 1) {
        return true;
      }
      DimMessage& dim = add(value.dims);
      if (!is_bytes(field) || value.dims.size() > most_dims) {
        return false;
      }
      each(field.bytes, "an extent", [&](const WireField& inner) {
        return inner.number == 1   ? take(inner, dim.value)
               : inner.number == 2 ? take(inner, dim.name)
                                   : true;
      });
      return true;
    });
  }

  void parse(std::string_view bytes, FunctionMessage& function) {
    each(bytes, "a function", [&](const WireField& field) {
      switch (field.number) {
      case 1:
        return take(field, function.name);
      case 4:
        return append(field, function.inputs);
      case 5:
        return append(field, function.outputs);
      case 6:
        return append(field, function.attributes);
      case 7:
        return is_bytes(field) && (parse(field.bytes, add(function.nodes)), true);
      case 9:
        return is_bytes(field) && (parse(field.bytes, add(function.opsets)), true);
      case 10:
        return take(field, function.domain);
      case 11:
        return is_bytes(field) && (parse(field.bytes, add(function.defaults)), true);
      case 13:
        return take(field, function.overload);
      default:
        return true;
      }
    });
  }

  std::string problem_;
  std::size_t messages_ = 0;
};

template <class Message>
Result<Message, std::string> parse_as(std::string_view bytes, const std::string& prefix) {
  Message message;
  Parser parser;
  parser.parse(bytes, message);
  if (!parser.problem().empty()) {
    return fail(prefix + parser.problem());
  }
  return message;
}

}  // namespace

Result<ModelMessage, std::string> parse_model(std::string_view bytes) {
  return parse_as<ModelMessage>(bytes, "");
}
Result<GraphMessage, std::string> parse_graph(std::string_view bytes, const std::string& what) {
  return parse_as<GraphMessage>(bytes, what + ": ");
}
Result<TensorMessage, std::string> parse_tensor(std::string_view bytes, const std::string& what) {
  return parse_as<TensorMessage>(bytes, what + ": ");
}

bool is_own_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }
std::string operator_name(std::string_view domain, std::string_view op) {
  return is_own_domain(domain) ? std::string(op) : std::string(domain) + "." + std::string(op);
}

}  // namespace tensorsmith::onnx
