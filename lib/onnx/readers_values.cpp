// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "onnx/readers.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

/// op(op(a, b), c) of all inputs.
ValueId chained(NodeSource& source, std::string_view op) {
  ValueId all = source.input(0);
  for (std::size_t i = 1; i < source.inputs().size(); ++i) {
    all = source.emit(op, {all, source.input(i)});
  }
  return all;
}

/// The same, whose last node has the file's result.
void finish_chained(NodeSource& source, std::string_view op) {
  const std::size_t count = source.inputs().size();
  if (count == 1) {
    source.finish_as(0, source.input(0));
    return;
  }
  ValueId all = source.input(0);
  for (std::size_t i = 1; i + 1 < count; ++i) {
    all = source.emit(op, {all, source.input(i)});
  }
  source.finish(op, {all, source.input(count - 1)});
}

}  // namespace

void read_same(NodeSource& source) {
  auto attributes = source.attributes();
  source.finish(source.op(), source.inputs(), std::move(attributes));
}

void read_one_result(NodeSource& source) {
  auto attributes = source.attributes();
  source.finish(source.op(), source.inputs(), std::move(attributes), 1);
}

// Constant(value | value_float | value_int | value_floats | value_ints) --> a constant.
void read_constant(NodeSource& source) {
  const std::vector<AttributeMessage>& given = source.message().attributes;
  if (given.size() != 1) {
    source.refuse("it has " + std::to_string(given.size()) + " values, one is expected");
    return;
  }
  const AttributeMessage& value = given.front();
  graph::Constant constant;
  switch (value.type) {
  case AttributeType::tensor:
    constant = source.tensor(value.name);
    break;
  case AttributeType::real:
    constant = graph::constant_of<float>(DType::f32, {}, {&value.real, 1});
    break;
  case AttributeType::integer:
    constant = graph::constant_of<std::int64_t>(DType::i64, {}, {&value.integer, 1});
    break;
  case AttributeType::reals:
    constant = graph::constant_of<float>(
        DType::f32, {static_cast<std::int64_t>(value.reals.size())}, value.reals);
    break;
  case AttributeType::integers:
    constant = graph::integer_constant(value.integers);
    break;
  default:
    source.refuse("its value is not a tensor of numbers");
  }
  if (source.problem().empty()) {
    source.finish_as(0, source.constant(std::move(constant)));
  }
}

// Identity(x) --> x.
void read_identity(NodeSource& source) { source.finish_as(0, source.input(0)); }

// The graph has the name of the type. Rounding modes and saturation concern 8-bit floats, which are
// not read.
void read_cast(NodeSource& source) {
  const auto type = element_type(source.integer("to", 0));
  if (!type) {
    source.refuse(type.error());
    return;
  }
  source.finish("Cast", source.inputs(), {{"to", std::string(name_of(*type))}});
}

// EyeLike and what is made of sizes alone: the name of their type in place of its number.
void read_typed(NodeSource& source) {
  const std::string_view attribute = source.op() == "EyeLike" ? "dtype" : "output_datatype";
  auto attributes = source.attributes({attribute});
  if (const std::int64_t number = source.integer(attribute, 0); number != 0) {
    const auto type = element_type(number);
    if (!type) {
      source.refuse(type.error());
      return;
    }
    attributes.push_back({std::string(attribute), std::string(name_of(*type))});
  }
  source.finish(source.op(), source.inputs(), std::move(attributes));
}

// Before 20: attribute axis, 1 if it is left out.
void read_dft(NodeSource& source) {
  if (source.version() >= 20) {
    read_same(source);
    return;
  }
  const ValueId axis = source.integer_list({source.integer("axis", 1)});
  auto attributes = source.attributes({"axis"});
  source.finish("DFT", {source.input(0), source.input(1), axis}, std::move(attributes));
}

// CastLike(x, like) --> Cast(x, to = the type of like).
void read_cast_like(NodeSource& source) {
  const DType type = source.type_of(source.input(1));
  source.finish("Cast", {source.input(0)}, {{"to", std::string(name_of(type))}});
}

// Dropout(x) --> x, as it is when a network runs; its mask is computed by nobody.
void read_dropout(NodeSource& source) {
  const ValueId training = source.input(2);
  if (training.valid()) {
    const graph::Value& value = source.net().value(training);
    if (!value.is_constant || graph::num_elements(value.shape) != 1) {
      source.refuse("its input training_mode is no constant");
      return;
    }
    if (value.constant.integer(0) != 0) {
      source.refuse("it is in training mode");
      return;
    }
  }
  source.finish_as(0, source.input(0));
}

// Sum(a, b, c) --> Add(Add(a, b), c).
void read_sum(NodeSource& source) { finish_chained(source, "Add"); }
void read_max(NodeSource& source) { finish_chained(source, "Max"); }
void read_min(NodeSource& source) { finish_chained(source, "Min"); }

// Mean(a, b, c) --> Div(Add(Add(a, b), c), 3).
void read_mean(NodeSource& source) {
  const ValueId sum = chained(source, "Add");
  if (source.inputs().size() == 1) {
    source.finish_as(0, sum);
    return;
  }
  const auto count = static_cast<double>(source.inputs().size());
  source.finish("Div", {sum, source.scalar(count, sum)});
}

// Clip before 11 has its bounds as attributes; the largest floats, its defaults, bound nothing.
void read_clip(NodeSource& source) {
  if (source.version() >= 11) {
    read_same(source);
    return;
  }
  const ValueId x = source.input(0);
  const ValueId low = source.has("min") ? source.scalar(source.real("min", 0), x) : ValueId{};
  const ValueId high = source.has("max") ? source.scalar(source.real("max", 0), x) : ValueId{};
  source.finish("Clip", {x, low, high});
}

// Statistics of a run with training are not computed. Before 9, spatial = 0 normalised every place
// of a picture on its own.
void read_batch_norm(NodeSource& source) {
  if (source.integer("spatial", 1) == 0) {
    source.refuse("spatial = 0 is not read");
  } else if (source.integer("training_mode", 0) != 0) {
    source.refuse("it is in training mode");
  } else {
    source.finish("BatchNormalization", source.inputs(),
                  {{"epsilon", source.real("epsilon", 1e-5F)}}, 1);
  }
}

// Version 18 had a scale and a bias per group, 21 has them per channel:
// scale --> Reshape(Expand(Reshape(scale, [g, 1]), [g, c / g]), [-1]).
void read_group_norm(NodeSource& source) {
  const std::int64_t groups = source.integer("num_groups", 0);
  if (groups < 1) {
    source.refuse("it has " + std::to_string(groups) + " groups");
    return;
  }
  if (source.version() >= 21) {
    read_same(source);
    return;
  }
  const ValueId x = source.input(0);
  const auto per_channel = [&](ValueId value) {
    const ValueId channels =
        source.emit("Shape", {x}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
    const ValueId each = source.emit("Div", {channels, source.integer_list({groups})});
    const ValueId column = source.emit("Reshape", {value, source.integer_list({groups, 1})});
    const ValueId shape =
        source.emit("Concat", {source.integer_list({groups}), each}, {{"axis", std::int64_t{0}}});
    const ValueId spread = source.emit("Expand", {column, shape});
    return source.emit("Reshape", {spread, source.integer_list({-1})});
  };
  const ValueId scale = per_channel(source.input(1)), bias = per_channel(source.input(2));
  auto attributes = source.attributes();
  source.finish("GroupNormalization", {x, scale, bias}, std::move(attributes));
}

// Places of the largest elements are not computed; without them storage_order says nothing.
void read_max_pool(NodeSource& source) {
  auto attributes = source.attributes({"storage_order"});
  source.finish("MaxPool", source.inputs(), std::move(attributes), 1);
}

}  // namespace tensorsmith::onnx
