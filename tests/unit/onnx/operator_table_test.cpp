// SPDX-License-Identifier: Apache-2.0
#include "onnx/operator_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "support/catch.hpp"
#include "support/onnx_writer.hpp"
#include "tensorsmith/support/file.hpp"

namespace tensorsmith::test {
namespace {

const onnx::OperatorRow& row_of(std::string_view name) {
  const onnx::OperatorRow* row = onnx::find_operator("", name);
  REQUIRE(row != nullptr);
  return *row;
}

std::string problem_of_node(std::string_view op, std::int64_t version, const WireMessage& node) {
  OnnxGraph graph;
  graph.node(node);
  const WireMessage written = graph.message();  // what is parsed are views
  const auto message = onnx::parse_graph(written.bytes(), "");
  REQUIRE(message.has_value());
  return onnx::problem_of(row_of(op), version, message->nodes.front());
}

}  // namespace

TEST_CASE("rows of operators are sorted, unique and complete", "[onnx]") {
  std::string last;
  for (const onnx::OperatorRow& row : onnx::operator_rows()) {
    const std::string name = std::string(row.domain) + "/" + std::string(row.name);
    CAPTURE(name);
    CHECK(last < name);
    last = name;
    const std::vector<std::int64_t> versions = onnx::versions_of(row);
    REQUIRE_FALSE(versions.empty());
    CHECK(std::is_sorted(versions.begin(), versions.end()));
    CHECK(versions.back() <= onnx::newest_opset);
    CHECK(onnx::version_in_force(row, onnx::newest_opset) == versions.back());
    CHECK((row.reader == nullptr) == (row.status == OnnxStatus::refused));
    CHECK(row.reason.empty() == (row.status != OnnxStatus::refused));
  }
}

TEST_CASE("the version in force is the newest that is not newer", "[onnx]") {
  const onnx::OperatorRow& clip = row_of("Clip");
  CHECK(onnx::version_in_force(clip, 7) == 6);
  CHECK(onnx::version_in_force(clip, 11) == 11);
  CHECK(onnx::version_in_force(clip, 28) == 13);
  CHECK(onnx::version_in_force(row_of("Gelu"), 19) == 0);
  CHECK(onnx::find_operator("ai.onnx", "Clip") == &clip);
  CHECK(onnx::find_operator("com.example", "Clip") == nullptr);
}

TEST_CASE("numbers of inputs and results follow the version", "[onnx]") {
  const WireMessage clip = onnx_node("Clip", {"x", "low"}, {"y"});
  CHECK(problem_of_node("Clip", 6, clip) == "it has 2 inputs, 1 are expected");
  CHECK(problem_of_node("Clip", 11, clip).empty());
  CHECK(problem_of_node("Clip", 11, onnx_node("Clip", {"x", "", ""}, {"y"})).empty());
  CHECK(problem_of_node("Clip", 13, onnx_node("Clip", {}, {"y"})) ==
        "it has 0 inputs, at least 1 are expected");
  CHECK(problem_of_node("Add", 14, onnx_node("Add", {"", "x"}, {"y"})) == "its input 0 is absent");
  CHECK(problem_of_node("Sum", 13, onnx_node("Sum", {"a", "b", "c"}, {"y"})).empty());
  CHECK(problem_of_node("Relu", 14, onnx_node("Relu", {"x"}, {"y", "z"})) ==
        "it has 2 results, at most 1 are expected");
  CHECK(problem_of_node("Relu", 14, onnx_node("Relu", {"x"}, {})) == "it has 0 results");
}

TEST_CASE("attributes follow the version", "[onnx]") {
  const auto clip = [](OnnxAttribute attribute) {
    return onnx_node("Clip", {"x"}, {"y"}, {std::move(attribute)});
  };
  CHECK(problem_of_node("Clip", 6, clip({"max", 6.0F})).empty());
  CHECK(problem_of_node("Clip", 11, clip({"max", 6.0F})) ==
        "the attribute \"max\" is none of Clip version 11");
  CHECK(problem_of_node("Clip", 6, clip({"max", std::int64_t{6}})) ==
        "its attribute \"max\" is an integer, not a real number");
  CHECK(problem_of_node("Concat", 13, onnx_node("Concat", {"x"}, {"y"})) ==
        "it lacks the attribute \"axis\"");
  CHECK(problem_of_node(
            "Cast", 13,
            onnx_node("Cast", {"x"}, {"y"}, {{"to", std::int64_t{1}}, {"to", std::int64_t{1}}})) ==
        "it has the attribute \"to\" twice");
}

TEST_CASE("the page of operators is that of the table", "[onnx][onnx_page]") {
  const char* path = std::getenv("TENSORSMITH_WRITE_ONNX_PAGE");
  if (path != nullptr) {
    REQUIRE(write_file(path, onnx_operator_page()).has_value());
  }
  const auto page = read_file(TENSORSMITH_SOURCE_DIR "/docs/onnx.md");
  REQUIRE(page.has_value());
  CHECK(*page == onnx_operator_page());
}

}  // namespace tensorsmith::test
