// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnx/readers.hpp"

namespace tensorsmith::onnx {
namespace {

/// A constant of no elements stands for an absent input where lists are optional.
ValueId without_empty(const NodeSource& source, std::size_t i) {
  const ValueId value = source.input(i);
  const bool is_empty = value.valid() && source.net().value(value).is_constant &&
                        graph::num_elements(source.net().value(value).shape) == 0;
  return is_empty ? ValueId{} : value;
}

ValueId real_list(NodeSource& source, const std::vector<float>& elements) {
  return source.constant(graph::constant_of<float>(
      DType::f32, {static_cast<std::int64_t>(elements.size())}, elements));
}

std::vector<std::int64_t> list_of(const NodeSource& source, std::string_view attribute) {
  return source.integers(attribute);
}

}  // namespace

// Squeeze, Unsqueeze and reductions: the attribute axes became an input. Reductions kept the
// meaning of an absent list (all axes), Squeeze too (all of extent 1).
void read_axes(NodeSource& source) {
  if (!source.has("axes")) {
    read_same(source);
    return;
  }
  auto attributes = source.attributes({"axes"});
  source.finish(source.op(), {source.input(0), source.integer_list(list_of(source, "axes"))},
                std::move(attributes));
}

// Before 13: softmax over the axes from `axis` (default 1) on as if they were one, hence
// Reshape(Softmax(Flatten(x, axis), axis = 1), Shape(x)); that is the newest form for the last
// axis, which is axis -1.
void read_softmax(NodeSource& source) {
  if (source.version() >= 13) {
    read_same(source);
    return;
  }
  const ValueId x = source.input(0);
  const std::int64_t axis = source.integer("axis", 1);
  const graph::Value& value = source.net().value(x);
  const auto rank = static_cast<std::int64_t>(value.shape.size());
  if (axis == -1 || (value.is_known && axis == rank - 1)) {
    source.finish(source.op(), {x}, {{"axis", std::int64_t{-1}}});
    return;
  }
  const ValueId flat = source.emit("Flatten", {x}, {{"axis", axis}});
  const ValueId soft = source.emit(source.op(), {flat}, {{"axis", std::int64_t{1}}});
  source.finish("Reshape", {soft, source.emit("Shape", {x})});
}

// Before 10: attributes starts, ends, axes.
void read_slice(NodeSource& source) {
  if (source.version() >= 10) {
    read_same(source);
    return;
  }
  const auto starts = list_of(source, "starts"), ends = list_of(source, "ends");
  if (starts.size() != ends.size()) {
    source.refuse("it has " + std::to_string(starts.size()) + " starts and " +
                  std::to_string(ends.size()) + " ends");
    return;
  }
  const ValueId axes =
      source.has("axes") ? source.integer_list(list_of(source, "axes")) : ValueId{};
  source.finish("Slice",
                {source.input(0), source.integer_list(starts), source.integer_list(ends), axes});
}

// Before 13: attribute split. Before 18: equal parts, as many as there are results, when there are
// no sizes; since then their number is an attribute.
void read_split(NodeSource& source) {
  std::vector<graph::Attribute> attributes = source.attributes({"split"});
  std::vector<ValueId> inputs = source.inputs();
  if (source.has("split")) {
    inputs = {source.input(0), source.integer_list(list_of(source, "split"))};
  }
  const bool has_sizes = inputs.size() > 1 && inputs[1].valid();
  const auto count = static_cast<std::int64_t>(source.message().outputs.size());
  if (!has_sizes && !source.has("num_outputs")) {
    if (source.version() >= 18) {
      source.refuse("it has neither sizes nor their number");
      return;
    }
    attributes.push_back({"num_outputs", count});
  }
  if (source.has("num_outputs") && source.integer("num_outputs", 0) != count) {
    source.refuse("it has " + std::to_string(count) + " results, but num_outputs is " +
                  std::to_string(source.integer("num_outputs", 0)));
    return;
  }
  source.finish("Split", std::move(inputs), std::move(attributes));
}

// Before 11: attributes pads and value.
void read_pad(NodeSource& source) {
  if (source.version() >= 11) {
    read_same(source);
    return;
  }
  const ValueId x = source.input(0);
  auto attributes = source.attributes({"pads", "value"});
  const ValueId value = source.has("value") ? source.scalar(source.real("value", 0), x) : ValueId{};
  source.finish("Pad", {x, source.integer_list(list_of(source, "pads")), value},
                std::move(attributes));
}

// Version 10 has scales only, asymmetric coordinates and whole places rounded down, or up where it
// makes smaller. Later ones mark absent inputs by an empty name or by a list without elements.
void read_resize(NodeSource& source) {
  if (source.version() == 10) {
    const ValueId scales = source.input(1);
    bool makes_smaller = false;
    if (source.net().value(scales).is_constant) {
      for (const double scale : source.net().value(scales).constant.reals()) {
        makes_smaller = makes_smaller || scale < 1;
      }
    }
    auto attributes = source.attributes();
    attributes.push_back({"coordinate_transformation_mode", std::string("asymmetric")});
    attributes.push_back({"nearest_mode", std::string(makes_smaller ? "ceil" : "floor")});
    source.finish("Resize", {source.input(0), ValueId{}, scales}, std::move(attributes));
    return;
  }
  if (source.text("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn") {
    source.refuse("coordinate_transformation_mode = tf_half_pixel_for_nn was withdrawn");
    return;
  }
  const ValueId scales = without_empty(source, 2), sizes = without_empty(source, 3);
  if (scales.valid() == sizes.valid()) {
    source.refuse(scales.valid() ? "it has both scales and sizes"
                                 : "it has neither scales nor sizes");
    return;
  }
  auto attributes = source.attributes();
  source.finish("Resize", {source.input(0), without_empty(source, 1), scales, sizes},
                std::move(attributes));
}

// Upsample --> Resize. Scales were an attribute before 9.
void read_upsample(NodeSource& source) {
  std::string mode = source.text("mode", "nearest");
  mode = mode == "bilinear" ? "linear" : mode;
  const AttributeMessage* scales = source.find("scales");
  const ValueId factors = scales != nullptr ? real_list(source, scales->reals) : source.input(1);
  source.finish("Resize", {source.input(0), ValueId{}, factors},
                {{"mode", mode},
                 {"coordinate_transformation_mode", std::string("asymmetric")},
                 {"nearest_mode", std::string("floor")}});
}

// Before 10: attribute k.
void read_top_k(NodeSource& source) {
  if (!source.has("k")) {
    read_same(source);
    return;
  }
  auto attributes = source.attributes({"k"});
  source.finish("TopK", {source.input(0), source.integer_list({source.integer("k", 0)})},
                std::move(attributes));
}

// Scatter is the old name of ScatterElements.
void read_scatter(NodeSource& source) {
  auto attributes = source.attributes();
  source.finish("ScatterElements", source.inputs(), std::move(attributes));
}

// Modes got shorter names at 20.
void read_grid_sample(NodeSource& source) {
  auto attributes = source.attributes({"mode"});
  std::string mode = source.text("mode", "linear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  attributes.push_back({"mode", mode});
  source.finish("GridSample", source.inputs(), std::move(attributes));
}

void read_if_constant(NodeSource& source) { source.refuse("its condition is not constant"); }
void read_loop(NodeSource& source) { source.refuse("it is not written out"); }
void read_scan(NodeSource& source) { source.refuse("it is not written out"); }

}  // namespace tensorsmith::onnx
