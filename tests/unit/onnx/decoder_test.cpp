// SPDX-License-Identifier: Apache-2.0
// Operators of decoders: what is refused, and weights of a few bits. What they compute is recorded
// in tests/data/onnx (quantized_decoder); bench/networks/write_decoder_cases.py has more cases.
#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {
namespace {

/// MatMulNBits of the unit matrix: the weights themselves, by columns.
std::vector<double> weights_of(std::int64_t bits, const std::string& packed,
                               const std::string& zeros) {
  OnnxGraph graph;
  graph.weights(onnx_tensor("x", {2, 2}, {1, 0, 0, 1}));
  graph.weights(
      onnx_raw_tensor("w", onnx_u8, {1, 1, static_cast<std::int64_t>(packed.size())}, packed));
  graph.weights(onnx_tensor("scale", {1}, {0.5F}));
  OnnxNames inputs = {"x", "w", "scale"};
  if (!zeros.empty()) {
    graph.weights(onnx_raw_tensor("zero", onnx_u8, {1}, zeros));
    inputs.emplace_back("zero");
  }
  graph.output("y", {});
  const auto block = static_cast<std::int64_t>(packed.size()) * 8 / bits;
  graph.node(
      "MatMulNBits", inputs, {"y"},
      {{"K", std::int64_t{2}}, {"N", std::int64_t{1}}, {"bits", bits}, {"block_size", block}}, "",
      "com.microsoft");
  return contributed_results(graph);
}

}  // namespace

TEST_CASE("weights of a few bits lie in bytes, the first in the lowest bits", "[onnx]") {
  CHECK(weights_of(4, "\xa5", "") == std::vector<double>{-1.5, 1});
  CHECK(weights_of(4, "\xa5", "\x05") == std::vector<double>{0, 2.5});
  CHECK(weights_of(2, "\x0d", "") == std::vector<double>{-0.5, 0.5});
  CHECK(weights_of(8, "\x82\xff", "") == std::vector<double>{1, 63.5});
  CHECK(weights_of(8, "\x82\xff", "\x82") == std::vector<double>{0, 62.5});
}

TEST_CASE("forms of decoders that are not read are refused", "[onnx]") {
  const auto problem_of = [](std::string_view op, const OnnxNames& inputs, std::size_t results,
                             const std::vector<OnnxAttribute>& attributes) {
    OnnxGraph graph;
    graph.input("q", {1, 2, 8});
    graph.input("past", {1, 1, 3, 2});
    graph.input("packed", {1, 2, 2, 3, 4});
    graph.weights(onnx_tensor("order", {2}, {0, 1}));
    graph.weights(onnx_raw_tensor("w", onnx_u8, {1, 1, 1}, "\x01"));
    graph.weights(onnx_raw_tensor("places", onnx_i32, {1}, std::string("\x01\0\0\0", 4)));
    graph.input("length", {1}, onnx_i32);
    OnnxNames names = {"y", "k", "v", "scores"};
    names.resize(results);
    for (const std::string& name : names) {
      graph.output(name, {});
    }
    graph.node(op, inputs, names, attributes, "n", "com.microsoft");
    return problem_with(contributed_model(graph));
  };
  const std::vector<OnnxAttribute> heads = {{"num_heads", std::int64_t{2}}};
  const std::vector<OnnxAttribute> groups = {{"num_heads", std::int64_t{2}},
                                             {"kv_num_heads", std::int64_t{1}}};
  const std::string mha = "node \"n\" (com.microsoft.MultiHeadAttention): ";
  const std::string gqa = "node \"n\" (com.microsoft.GroupQueryAttention): ";
  CHECK(problem_of("MultiHeadAttention", {"packed"}, 1, heads) ==
        mha + "packed queries, keys and values are not read");
  CHECK(problem_of("MultiHeadAttention", {"q", "q", "q"}, 4, heads) ==
        mha + "lengths of past keys, beams and its result of scores are not read");
  CHECK(problem_of("MultiHeadAttention", {"q", "q", "q"}, 1, {{"num_heads", std::int64_t{0}}}) ==
        mha + "it has no heads");
  CHECK(problem_of("GroupQueryAttention", {"q", "", "", "", "", "places", "length"}, 1, groups) ==
        gqa + "its number of places is no constant that is at least its number of queries");
  CHECK(problem_of("GroupQueryAttention", {"q", "", "", "", "", "places", "places"}, 1,
                   {{"num_heads", std::int64_t{3}}, {"kv_num_heads", std::int64_t{2}}}) ==
        gqa + "it has no heads, or queries of another form");
  CHECK(problem_of("GroupQueryAttention", {"q", "", "", "past", "past", "places", "places"}, 1,
                   groups) == gqa + "past keys without results for all keys are not read");
  const auto bits = [](std::int64_t number, std::int64_t block) {
    return std::vector<OnnxAttribute>{
        {"K", std::int64_t{8}}, {"N", std::int64_t{1}}, {"bits", number}, {"block_size", block}};
  };
  const std::string product = "node \"n\" (com.microsoft.MatMulNBits): ";
  CHECK(problem_of("MatMulNBits", {"q", "w", "order"}, 1, bits(3, 8)) ==
        product + "its weights have 3 bits, not 2, 4 or 8");
  CHECK(problem_of("MatMulNBits", {"q", "w", "order"}, 1, bits(4, 1)) ==
        product + "its extents are not positive, or its blocks are no bytes");
  CHECK(problem_of("MatMulNBits", {"q", "w", "order", "", "order"}, 1, bits(4, 2)) ==
        product + "an order of columns is not read");
}

}  // namespace tensorsmith::test
