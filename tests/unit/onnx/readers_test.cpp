// SPDX-License-Identifier: Apache-2.0
#include "onnx/readers.hpp"

#include <cfloat>

#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {

using Integers = std::vector<std::int64_t>;

TEST_CASE("constants have several forms", "[onnx]") {
  const auto add = [](const OnnxAttribute& value) {
    OneNode model(onnx_node("Add", {"x", "c"}, {"y"}));
    model.graph.node("Constant", {}, {"c"}, {value});
    return model.text(13);
  };
  CHECK(add({"value_float", 2.5F}) == "y = Add(x, 2.5)");
  CHECK(add({"value_int", std::int64_t{3}}) == "y = Add(x, 3)");
  CHECK(add({"value_ints", Integers{3, -1}}) == "y = Add(x, [3, -1])");
  CHECK(add({"value_floats", std::vector<float>{1, 0.5F}}) == "y = Add(x, [1.0, 0.5])");
  CHECK(add({"value", onnx_tensor("", {2}, {1, 2})}) == "y = Add(x, [1.0, 2.0])");
  OneNode text(onnx_node("Constant", {}, {"y"}, {{"value_string", std::string("a")}}));
  CHECK(text.problem(13) ==
        "node 0 (Constant that computes \"y\"): its value is not a tensor of numbers");
}

TEST_CASE("identities vanish, but for outputs that are inputs", "[onnx]") {
  OneNode model(onnx_node("Identity", {"x"}, {"a"}), {}, {"b", "y"});
  model.graph.node("Dropout", {"a"}, {"b", "mask"});
  model.graph.node("Relu", {"b"}, {"y"});
  CHECK(model.text(12) == "y = Relu(x)\nb = Identity(x)");
  OneNode training(onnx_node("Dropout", {"x", "", "t"}, {"y"}));
  training.graph.weights(onnx_raw_tensor("t", onnx_bool, {}, "\x01"));
  CHECK(training.problem(13) == "node 0 (Dropout that computes \"y\"): it is in training mode");
}

TEST_CASE("sums and means of many become chains", "[onnx]") {
  const OnnxNames three = {"x", "x", "x"};
  CHECK(OneNode(onnx_node("Sum", three, {"y"})).text(13) == "%0 = Add(x, x)\ny = Add(%0, x)");
  CHECK(OneNode(onnx_node("Max", three, {"y"})).text(8) == "%0 = Max(x, x)\ny = Max(%0, x)");
  CHECK(OneNode(onnx_node("Min", {"x", "x"}, {"y"})).text(8) == "y = Min(x, x)");
  CHECK(OneNode(onnx_node("Mean", three, {"y"})).text(8) ==
        "%0 = Add(x, x)\n%1 = Add(%0, x)\ny = Div(%1, 3.0)");
  CHECK(OneNode(onnx_node("Sum", {"x"}, {"y"})).text(8) == "y = Identity(x)");
}

TEST_CASE("bounds of Clip were attributes before 11", "[onnx]") {
  CHECK(OneNode(onnx_node("Clip", {"x"}, {"y"}, {{"min", 0.0F}, {"max", 6.0F}})).text(7) ==
        "y = Clip(x, 0.0, 6.0)");
  CHECK(OneNode(onnx_node("Clip", {"x"}, {"y"}, {{"max", 6.0F}})).text(10) ==
        "y = Clip(x, -, 6.0)");
  CHECK(OneNode(onnx_node("Clip", {"x", "", "c"}, {"y"}), {onnx_tensor("c", {}, {6})}).text(11) ==
        "y = Clip(x, -, 6.0)");
}

TEST_CASE("axes became inputs", "[onnx]") {
  const Integers axes = {2, 3};
  const OnnxAttribute attribute = {"axes", axes};
  const std::vector<WireMessage> weights = {onnx_integers("a", {2}, axes)};
  for (const char* op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"}) {
    const std::string newest = std::string("y = ") + op + "(x, [2, 3])";
    CHECK(OneNode(onnx_node(op, {"x"}, {"y"}, {attribute})).text(11) == newest);
    CHECK(OneNode(onnx_node(op, {"x", "a"}, {"y"}), weights).text(18) == newest);
    CHECK(OneNode(onnx_node(op, {"x"}, {"y"})).text(12) == std::string("y = ") + op + "(x)");
  }
  CHECK(OneNode(onnx_node("ReduceMean", {"x"}, {"y"}, {attribute})).text(17) ==
        "y = ReduceMean(x, [2, 3])");
  CHECK(OneNode(onnx_node("ReduceSum", {"x"}, {"y"}, {attribute})).problem(13) ==
        "node 0 (ReduceSum that computes \"y\"): the attribute \"axes\" is none of ReduceSum "
        "version 13");
  CHECK(OneNode(onnx_node("Unsqueeze", {"x"}, {"y"}, {attribute})).text(11) ==
        "y = Unsqueeze(x, [2, 3])");
  CHECK(OneNode(onnx_node("Squeeze", {"x"}, {"y"})).text(11) == "y = Squeeze(x)");
}

TEST_CASE("softmax before 13 flattens", "[onnx]") {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    const std::string name = op;
    CHECK(OneNode(onnx_node(op, {"x"}, {"y"})).text(11) == "%0 = Flatten(x) axis=1\n%1 = " + name +
                                                               "(%0) axis=1\n%2 = Shape(x)\n" +
                                                               "y = Reshape(%1, %2)");
    CHECK(OneNode(onnx_node(op, {"x"}, {"y"}, {{"axis", std::int64_t{3}}})).text(11) ==
          "y = " + name + "(x) axis=-1");
    CHECK(OneNode(onnx_node(op, {"x"}, {"y"}, {{"axis", std::int64_t{1}}})).text(13) ==
          "y = " + name + "(x) axis=1");
  }
}

TEST_CASE("Slice, Split and Pad had attributes", "[onnx]") {
  CHECK(
      OneNode(onnx_node(
                  "Slice", {"x"}, {"y"},
                  {{"starts", Integers{1}}, {"ends", Integers{INT64_MAX}}, {"axes", Integers{2}}}))
          .text(9) == "y = Slice(x, [1], [9223372036854775807], [2])");
  CHECK(
      OneNode(onnx_node("Slice", {"x"}, {"y"}, {{"starts", Integers{1}}, {"ends", Integers{2, 3}}}))
          .problem(9) == "node 0 (Slice that computes \"y\"): it has 1 starts and 2 ends");
  const OnnxAttribute axis = {"axis", std::int64_t{2}};
  CHECK(OneNode(onnx_node("Split", {"x"}, {"y", "z"}, {axis, {"split", Integers{3, 5}}}), {},
                {"y", "z"})
            .text(11) == "y, z = Split(x, [3, 5]) axis=2");
  CHECK(OneNode(onnx_node("Split", {"x"}, {"y", "z"}, {axis}), {}, {"y", "z"}).text(13) ==
        "y, z = Split(x) axis=2 num_outputs=2");
  CHECK(OneNode(onnx_node("Split", {"x"}, {"y", "z"}, {axis}), {}, {"y", "z"}).problem(18) ==
        "node 0 (Split that computes \"y\"): it has neither sizes nor their number");
  CHECK(OneNode(onnx_node("Pad", {"x"}, {"y"},
                          {{"pads", Integers{0, 0, 1, 1, 0, 0, 1, 1}}, {"value", 2.0F}}))
            .text(7) == "y = Pad(x, [0, 0, 1, 1, 0, 0, 1, 1], 2.0)");
}

TEST_CASE("Upsample and the first Resize become the newest one", "[onnx]") {
  const std::vector<float> scales = {1, 1, 2, 2};
  const std::string newest = "y = Resize(x, -, [1.0, 1.0, 2.0, 2.0]) mode=nearest "
                             "coordinate_transformation_mode=asymmetric nearest_mode=floor";
  const std::vector<WireMessage> weights = {onnx_tensor("s", {4}, scales)};
  CHECK(OneNode(onnx_node("Upsample", {"x"}, {"y"}, {{"scales", scales}})).text(7) == newest);
  CHECK(OneNode(onnx_node("Upsample", {"x", "s"}, {"y"}), weights).text(9) == newest);
  CHECK(OneNode(onnx_node("Resize", {"x", "s"}, {"y"}, {{"mode", std::string("nearest")}}), weights)
            .text(10) == newest);
  // Absent inputs are lists without elements in version 11.
  const WireMessage none = onnx_tensor("none", {0}, {});
  CHECK(
      OneNode(onnx_node("Resize", {"x", "none", "s"}, {"y"}), {onnx_tensor("s", {4}, scales), none})
          .text(11) == "y = Resize(x, -, [1.0, 1.0, 2.0, 2.0])");
  CHECK(OneNode(onnx_node("Resize", {"x", "", "", "n"}, {"y"}),
                {onnx_integers("n", {4}, {2, 3, 16, 16})})
            .text(19) == "y = Resize(x, -, -, [2, 3, 16, 16])");
  CHECK(OneNode(onnx_node("Resize", {"x", "none", "none"}, {"y"}), {none}).problem(13) ==
        "node 0 (Resize that computes \"y\"): it has neither scales nor sizes");
}

TEST_CASE("normalisations of old files", "[onnx]") {
  std::vector<WireMessage> weights;
  for (const char* name : {"s", "b", "m", "v"}) {
    weights.push_back(onnx_tensor(name, {3}, {1, 2, 3}));
  }
  const OnnxNames inputs = {"x", "s", "b", "m", "v"};
  const std::string newest =
      "y = BatchNormalization(x, [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], "
      "[1.0, 2.0, 3.0]) epsilon=0.001";
  const OnnxAttribute epsilon = {"epsilon", 0.001F};
  const OnnxAttribute spatial = {"spatial", std::int64_t{1}};
  CHECK(OneNode(onnx_node("BatchNormalization", inputs, {"y"}, {epsilon, spatial}), weights)
            .text(7) == newest);
  CHECK(OneNode(onnx_node("BatchNormalization", inputs, {"y", "m2", "v2", "m3", "v3"}, {epsilon}),
                weights)
            .text(9) == newest);
  CHECK(OneNode(onnx_node("BatchNormalization", inputs, {"y"},
                          {epsilon, {"training_mode", std::int64_t{1}}}),
                weights)
            .problem(14) ==
        "node 0 (BatchNormalization that computes \"y\"): it is in training mode");
  CHECK(OneNode(onnx_node("MaxPool", {"x"}, {"y", "places"},
                          {{"kernel_shape", Integers{2, 2}}, {"storage_order", std::int64_t{0}}}))
            .text(12) == "y = MaxPool(x) kernel_shape=[2, 2]");
}

TEST_CASE("types of casts", "[onnx]") {
  CHECK(OneNode(onnx_node("Cast", {"x"}, {"y"}, {{"to", std::int64_t{7}}})).text(9) ==
        "y = Cast(x) to=i64");
  CHECK(OneNode(onnx_node("Cast", {"x"}, {"y"}, {{"to", std::int64_t{8}}})).problem(9) ==
        "node 0 (Cast that computes \"y\"): elements of type string are not read");
  CHECK(OneNode(onnx_node("CastLike", {"x", "i"}, {"y"}), {onnx_integers("i", {}, {1})}).text(15) ==
        "y = Cast(x) to=i64");
}

TEST_CASE("refused operators say why", "[onnx]") {
  CHECK(OneNode(onnx_node("RandomNormalLike", {"x"}, {"y"}, {}, "noise")).problem(13) ==
        "node \"noise\" (RandomNormalLike) is not read: its result is random");
  CHECK(OneNode(onnx_node("Gelu", {"x"}, {"y"}, {}, "act")).problem(19) ==
        "node \"act\" (Gelu): operator set 19 of the model has no Gelu, which came with 20");
  CHECK(OneNode(onnx_node("Foo", {"x"}, {"y"}, {}, "act")).problem(19) ==
        "node \"act\" (Foo): this operator is not known");
  CHECK(OneNode(onnx_node("Foo", {"x"}, {"y"}, {}, "act", "com.example")).problem(19) ==
        "node \"act\" (com.example.Foo): the model imports no operators of the domain "
        "\"com.example\"");
}

}  // namespace tensorsmith::test
