// SPDX-License-Identifier: Apache-2.0
// requires: cli11 fmt json
// tensorsmith network: bench and bisect of a small ONNX file.
#include "error/command_fixture.hpp"
#include "support/onnx_writer.hpp"

using namespace tensorsmith::test;

namespace {

/// y = Relu(x + b), with both values named.
std::string small_model() {
  OnnxGraph graph;
  graph.input("x", {std::int64_t{4}});
  graph.output("y", {std::int64_t{4}});
  graph.weights(onnx_tensor("b", {4}, {1, 1, 1, 1}));
  graph.node("Add", {"x", "b"}, {"sum"}, {}, "shift");
  graph.node("Relu", {"sum"}, {"y"}, {}, "cut");
  return onnx_model(graph, 13);
}

/// What somebody recorded of it.
std::string recorded(const std::vector<float>& sum, const std::vector<float>& y) {
  OnnxGraph graph;
  graph.weights(onnx_tensor("x", {4}, {-3, -1, 0, 2}));
  graph.weights(onnx_tensor("sum", {4}, sum));
  graph.weights(onnx_tensor("y", {4}, y));
  return onnx_model(graph, 13);
}

}  // namespace

TEST_CASE("network bench times the whole and every kernel") {
  CommandFolder folder;
  folder.write("net.onnx", small_model());
  const CommandResult result =
      folder.run({"network", "bench", "net.onnx", "--rounds", "5", "--json"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  const nlohmann::json json = result.json();
  REQUIRE(json.is_object());
  CHECK(json["best_ns"].get<double>() <= json["median_ns"].get<double>());
  CHECK(json["median_ns"].get<double>() <= json["p90_ns"].get<double>());
  REQUIRE(json["kernels"].size() == 1);
  CHECK(json["kernels"][0]["operators"] == "Add+Relu");
  CHECK(json["kernels"][0]["share"].get<double>() == 1);
  CHECK(json["plain"]["ratio"].get<double>() > 0);
  CHECK(json["plain"]["difference"].get<double>() == 0);
  const CommandResult text = folder.run({"network", "bench", "net.onnx", "--rounds", "2"});
  CHECK(text.code == 0);
  CHECK(text.out.find("as written: median") != std::string::npos);
}

TEST_CASE("network tune takes trials, and none gives a network that can be called") {
  CommandFolder folder;
  folder.write("net.onnx", small_model());
  const CommandResult none =
      folder.run({"network", "tune", "net.onnx", "--trials", "0", "--json", "--db", "j"});
  CAPTURE(none.err);
  CHECK(none.code == 0);
  CHECK(none.json()["recorded"] == 0);
  CHECK(none.json()["ns"].get<double>() > 0);
  CHECK_FALSE(std::filesystem::exists(folder.path("j")));
  const CommandResult few =
      folder.run({"network", "tune", "net.onnx", "--trials", "3", "--json", "--db", "j"});
  CAPTURE(few.err);
  CHECK(few.code == 0);
  CHECK(few.json()["trials"] >= 1);  // a small space may have fewer
  CHECK(few.json()["trials"] <= 3);
  CHECK(few.json()["tuned"] == 1);
  check_refusal(folder.run({"network", "tune", "net.onnx", "--trials", "0", "--seconds", "3"}),
                "nothing to spend --seconds on");
}

TEST_CASE("network report writes one page and leaves what it reads alone") {
  CommandFolder folder;
  folder.write("net.onnx", small_model());
  REQUIRE(
      folder.run({"network", "tune", "net.onnx", "--seconds", "1", "--quiet", "--db", "j"}).code ==
      0);
  const CommandResult result =
      folder.run({"network", "report", "net.onnx", "--db", "j", "--output", "n.html", "--json"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.json()["kernels"] == 1);
  CHECK(result.json()["recorded"] == 1);
  const std::string page = folder.read("n.html");
  CHECK(page.find("Add+Relu") != std::string::npos);
  CHECK(page.find("While it was tuned") != std::string::npos);
  const std::string model = folder.read("net.onnx"), journal = folder.read("j");
  check_refusal(folder.run({"network", "report", "net.onnx", "--output", "net.onnx"}), "net.onnx");
  check_refusal(folder.run({"network", "report", "net.onnx", "--db", "j", "--output", "j"}), "j");
  check_refusal(folder.run({"network", "report", "net.onnx", "--output", "no/such/n.html"}), "no");
  CHECK(folder.read("net.onnx") == model);
  CHECK(folder.read("j") == journal);
}

TEST_CASE("network bisect finds nothing, or the recorded value that differs") {
  CommandFolder folder;
  folder.write("net.onnx", small_model());
  folder.write("right.onnx", recorded({-2, 0, 1, 3}, {0, 0, 1, 3}));
  folder.write("wrong.onnx", recorded({-2, 0, 1, 3}, {-2, 0, 1, 3}));
  folder.write("other.onnx", recorded({-2, 0, 1, 4}, {0, 0, 1, 4}));
  const CommandResult alone = folder.run({"network", "bisect", "net.onnx", "--json"});
  CAPTURE(alone.err);
  CHECK(alone.code == 0);
  CHECK(alone.json()["judged"] == 1);
  CHECK(alone.json()["kernel"].is_null());
  const CommandResult right =
      folder.run({"network", "bisect", "net.onnx", "--against", "right.onnx", "--json"});
  CHECK(right.code == 0);
  CHECK(right.json()["recorded_values"] == 2);
  const CommandResult wrong =
      folder.run({"network", "bisect", "net.onnx", "--against", "wrong.onnx", "--json"});
  CHECK(wrong.code == 1);
  CHECK(wrong.json()["kernel"].is_null());
  CHECK(wrong.json()["recorded"]["operator"] == "Relu");
  CHECK(wrong.json()["recorded"]["node"] == "cut");
  CHECK(wrong.json()["recorded"]["wrong"] == 1);
  CHECK(wrong.json()["recorded"]["element"] == 0);
  const CommandResult other =
      folder.run({"network", "bisect", "net.onnx", "--against", "other.onnx", "--quiet"});
  CHECK(other.code == 1);
  CHECK(other.out.find("node \"shift\" (Add): the recorded value \"sum\" is 4 at element 3") == 0);
}

TEST_CASE("network bisect refuses files that say nothing of the network") {
  CommandFolder folder;
  folder.write("net.onnx", small_model());
  OnnxGraph inputs, unrelated;
  inputs.weights(onnx_tensor("x", {4}, {1, 2, 3, 4}));
  unrelated.weights(onnx_tensor("z", {1}, {1}));
  folder.write("inputs.onnx", onnx_model(inputs, 13));
  folder.write("unrelated.onnx", onnx_model(unrelated, 13));
  folder.write("damaged.onnx", "\x07");
  const auto refused = [&](const std::string& file, const std::string& part) {
    check_refusal(folder.run({"network", "bisect", "net.onnx", "--against", file, "--quiet"}),
                  part);
  };
  refused("missing.onnx", "missing.onnx");
  refused("damaged.onnx", "damaged.onnx");
  refused("unrelated.onnx", "for the input \"x\"");
  refused("inputs.onnx", "no value that a node");
}

TEST_CASE("networks that cannot be are refused by one sentence that names the node") {
  CommandFolder folder;
  const auto refused =
      [&](const OnnxGraph& graph, const std::string& part,
          const std::vector<std::string>& command = {"network", "run", "bad.onnx"}) {
        folder.write("bad.onnx", onnx_model(graph, 13));
        CAPTURE(part);
        check_refusal(folder.run(command), part);
      };
  const auto with_input = [](std::int64_t extent) {
    OnnxGraph graph;
    graph.input("x", {extent});
    graph.output("y", {extent});
    return graph;
  };
  OnnxGraph cycle = with_input(4);
  cycle.node("Add", {"x", "b"}, {"a"}, {}, "first");
  cycle.node("Relu", {"a"}, {"b"}, {}, "second");
  cycle.node("Relu", {"b"}, {"y"}, {}, "third");
  refused(cycle, "\"first\"");
  OnnxGraph missing = with_input(4);
  missing.node("Add", {"x", "nowhere"}, {"y"}, {}, "lost");
  refused(missing, "\"lost\"");
  OnnxGraph unknown = with_input(4);
  unknown.node("Frobnicate", {"x"}, {"y"}, {}, "odd");
  refused(unknown, "\"odd\"");
  OnnxGraph shapes = with_input(4);
  shapes.weights(onnx_tensor("w", {3}, {1, 2, 3}));
  shapes.node("Add", {"x", "w"}, {"y"}, {}, "unequal");
  refused(shapes, "\"unequal\"");
  OnnxGraph types = with_input(4);
  types.weights(onnx_integers("w", {4}, {1, 2, 3, 4}));
  types.node("Add", {"x", "w"}, {"y"}, {}, "mixed");
  refused(types, "\"mixed\"");
  // More than an extent may be, and more memory than there is.
  OnnxGraph wide = with_input(std::int64_t{1} << 45);
  wide.node("Relu", {"x"}, {"y"}, {}, "wide");
  refused(wide, "\"wide\"", {"network", "run", "bad.onnx", "--plain"});
  OnnxGraph huge;
  huge.input("x", {std::int64_t{1} << 30, std::int64_t{1} << 14});
  huge.output("y", {std::int64_t{1} << 30, std::int64_t{1} << 14});
  huge.node("Relu", {"x"}, {"y"}, {}, "huge");
  refused(huge, "GiB of memory", {"network", "run", "bad.onnx", "--plain"});
  OnnxGraph spread = with_input(4);
  spread.weights(onnx_integers("to", {2}, {std::int64_t{1} << 43, 4}));
  spread.node("Expand", {"x", "to"}, {"much"}, {}, "spread");
  spread.node("ReduceMax", {"much"}, {"y"}, {{"axes", std::vector<std::int64_t>{0}}}, "back");
  refused(spread, "", {"network", "run", "bad.onnx", "--plain"});
  // A weight that claims 2 GiB in a file of a few bytes.
  OnnxGraph claims = with_input(4);
  claims.weights(WireMessage()
                     .number(1, std::uint64_t{1} << 29)
                     .number(2, 1)
                     .text(8, "w")
                     .text(9, std::string(16, 'x')));
  claims.node("Add", {"x", "w"}, {"y"}, {}, "claims");
  refused(claims, "\"w\"");
  // Cut anywhere: read or refused, and never more than a sentence.
  const std::string whole = small_model();
  for (std::size_t size = 1; size < whole.size(); size += 1 + whole.size() / 12) {
    folder.write("bad.onnx", whole.substr(0, size));
    check_refusal(folder.run({"network", "inspect", "bad.onnx"}), "bad.onnx");
  }
}

TEST_CASE("a journal is shared by networks and single tasks, by whatever names") {
  CommandFolder folder;
  OnnxGraph product;
  product.input("x", {std::int64_t{24}, std::int64_t{20}});
  product.input("z", {std::int64_t{20}, std::int64_t{28}});
  product.output("y", {std::int64_t{24}, std::int64_t{28}});
  product.node("MatMul", {"x", "z"}, {"y"}, {}, "product");
  folder.write("net.onnx", onnx_model(product, 13));
  const std::string named = "gemm:24x28x20:f32";
  const auto recorded = [&](const std::string& journal) {
    return folder.run({"network", "run", "net.onnx", "--plain", "--json", "--db", journal})
        .json()["recorded"];
  };
  CHECK(recorded("single") == 0);
  REQUIRE(folder.run({"tune", named, "--trials", "2", "--quiet", "--db", "single"}).code == 0);
  CHECK(recorded("single") == 1);
  REQUIRE(
      folder.run({"tune", "gemm:24x28x21:f32", "--trials", "2", "--quiet", "--db", "other"}).code ==
      0);
  CHECK(recorded("other") == 0);
  REQUIRE(
      folder.run({"network", "tune", "net.onnx", "--seconds", "1", "--quiet", "--db", "network"})
          .code == 0);
  CHECK(folder.run({"run", named, "--db", "network"}).code == 0);
  CHECK(folder.run({"run", "gemm:24x28x21:f32", "--db", "network"}).code == 2);
}
