// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/lowering.hpp"
#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {
namespace {

std::string text_of(const OnnxGraph& graph) {
  return graph_text(read_good(contributed_model(graph)));
}

WireMessage bytes(std::string_view name, const OnnxShape& shape, const std::string& elements) {
  return onnx_raw_tensor(name, onnx_u8, shape, elements);
}
void add_u8_type(OnnxGraph& graph) {
  graph.weights(onnx_tensor("half", {}, {0.5F}));
  graph.weights(onnx_tensor("quarter", {}, {0.25F}));
  graph.weights(bytes("ten", {}, "\x0a"));
}

}  // namespace

TEST_CASE("fused products are taken apart", "[onnx]") {
  OnnxGraph product;
  product.input("a", {2, 5, 3});
  product.input("b", {2, 5, 4});
  product.output("y", {});
  product.node("FusedMatMul", {"a", "b"}, {"y"}, {{"transA", std::int64_t{1}}, {"alpha", 0.5F}}, "",
               "com.microsoft");
  CHECK(text_of(product) ==
        "%0 = Transpose(a) perm=[0, 2, 1]\n%1 = MatMul(%0, b)\ny = Mul(%1, 0.5)\n");

  OnnxGraph window;
  window.input("x", {1, 2, 4, 4});
  window.input("w", {3, 2, 3, 3});
  window.input("z", {1, 3, 2, 2});
  window.output("y", {});
  window.node(
      "FusedConv", {"x", "w", "", "z"}, {"y"},
      {{"activation", std::string("Clip")}, {"activation_params", std::vector<float>{0, 6}}}, "",
      "com.microsoft");
  CHECK(text_of(window) == "%0 = Conv(x, w)\n%1 = Add(%0, z)\ny = Clip(%1, 0.0, 6.0)\n");
  OnnxGraph odd = window;
  odd.node("FusedConv", {"x", "w"}, {"v"}, {{"activation", std::string("Cubic")}}, "odd",
           "com.microsoft");
  CHECK(problem_with(contributed_model(odd)) ==
        "node \"odd\" (com.microsoft.FusedConv): its activation \"Cubic\" is not read");
}

TEST_CASE("quantised operators compute with what their numbers stand for", "[onnx]") {
  OnnxGraph sum;
  add_u8_type(sum);
  sum.weights(bytes("a", {3}, "\x0a\x0c\x14"));  // 0, 1, 5 in halves
  sum.weights(bytes("b", {3}, std::string("\x04\x00\x08", 3)));
  sum.output("y", {}, onnx_u8);
  // b without a zero point: 1, 0, 2; the sum in quarters from 10.
  sum.node("QLinearAdd", {"a", "half", "ten", "b", "quarter", "", "quarter", "ten"}, {"y"}, {}, "",
           "com.microsoft");
  CHECK(contributed_results(sum) == std::vector<double>{14, 14, 38});

  OnnxGraph joined;
  add_u8_type(joined);
  joined.weights(bytes("a", {2}, "\x0a\x0c"));
  joined.weights(bytes("b", {1}, "\x04"));
  joined.output("y", {}, onnx_u8);
  joined.node("QLinearConcat", {"quarter", "ten", "a", "half", "ten", "b", "quarter", ""}, {"y"},
              {{"axis", std::int64_t{0}}}, "", "com.microsoft");
  CHECK(contributed_results(joined) == std::vector<double>{10, 14, 14});

  OnnxGraph product;
  add_u8_type(product);
  product.weights(bytes("a", {1, 2}, "\x0c\x0e"));  // 1, 2
  product.weights(bytes("b", {1, 2}, "\x04\x08"));  // 1, 2, transposed
  product.weights(onnx_raw_tensor("c", onnx_i32, {1}, std::string("\x08\0\0\0", 4)));  // in eighths
  product.output("y", {});
  product.node("QGemm", {"a", "half", "ten", "b", "quarter", "", "c"}, {"y"},
               {{"transB", std::int64_t{1}}}, "", "com.microsoft");
  CHECK(contributed_results(product) == std::vector<double>{6});
}

TEST_CASE("packed attention sees the keys that its mask shows", "[onnx]") {
  // One head of one element; queries are 0, so that every key that is seen has the same weight.
  OnnxGraph graph;
  graph.weights(onnx_tensor("x", {1, 3, 1}, {1, 2, 6}));
  graph.weights(onnx_tensor("w", {1, 3}, {0, 1, 1}));
  graph.weights(
      onnx_raw_tensor("mask", onnx_i32, {1, 3}, std::string("\x01\0\0\0\x01\0\0\0\0\0\0\0", 12)));
  graph.weights(onnx_raw_tensor("two", onnx_i32, {1}, std::string("\x02\0\0\0", 4)));
  graph.output("y", {});
  const auto with = [&](const std::string& mask, std::int64_t is_causal) {
    OnnxGraph made = graph;
    made.node("Attention", {"x", "w", "", mask}, {"y"},
              {{"num_heads", std::int64_t{1}}, {"unidirectional", is_causal}}, "", "com.microsoft");
    return contributed_results(made);
  };
  CHECK(with("", 0) == std::vector<double>{3, 3, 3});
  CHECK(with("mask", 0) == std::vector<double>{1.5, 1.5, 1.5});
  CHECK(with("two", 0) == std::vector<double>{1.5, 1.5, 1.5});
  CHECK(with("", 1) == std::vector<double>{1, 1.5, 3});
}

}  // namespace tensorsmith::test
