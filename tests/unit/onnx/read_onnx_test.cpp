// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/onnx.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "onnx/mapped_file.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {
namespace {

namespace fs = std::filesystem;

/// A folder of its own that goes with it.
struct ModelFolder {
  fs::path path = fs::temp_directory_path() / ("onnx_test_" + std::to_string(::getpid()));
  ModelFolder() { fs::create_directories(path); }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;
  ~ModelFolder() { fs::remove_all(path); }
  std::string write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
    return (path / name).string();
  }
};

/// f32 w [4] in a file beside the model.
WireMessage external_tensor(const std::string& location, const std::string& offset = {},
                            const std::string& length = {}) {
  WireMessage tensor;
  tensor.number(1, 4).number(2, onnx_f32).text(8, "w");
  const auto entry = [&](const char* key, const std::string& value) {
    tensor.message(13, WireMessage().text(1, key).text(2, value));
  };
  entry("location", location);
  if (!offset.empty()) {
    entry("offset", offset);
  }
  if (!length.empty()) {
    entry("length", length);
  }
  return tensor.number(14, 1);
}

std::string add_model(const WireMessage& tensor) {
  OnnxGraph graph;
  graph.input("x", {4});
  graph.output("y", {4});
  graph.weights(tensor);
  graph.node("Add", {"x", "w"}, {"y"});
  return onnx_model(graph, 13);
}

OnnxGraph symbolic() {
  OnnxGraph graph;
  graph.input("x", {"batch", "seq", std::int64_t{3}});
  graph.input("z", {"batch", ""});
  graph.input("sr", {}, onnx_i64);
  graph.output("y", {});
  graph.node("Identity", {"x"}, {"a"});
  graph.node("Relu", {"a"}, {"y"});
  return graph;
}

}  // namespace

TEST_CASE("extents and inputs are bound by name", "[onnx]") {
  const std::string model = onnx_model(symbolic(), 13);
  CHECK(problem_with(model) ==
        "the extents \"batch\", \"seq\" and \"z:1\" of its inputs have no size; bind them with "
        "--dim NAME=SIZE");
  OnnxOptions options;
  options.dims = {{"batch", 2}, {"seq", 5}};
  CHECK(problem_with(model, options) ==
        "the extent \"z:1\" of its inputs has no size; bind it with --dim NAME=SIZE");
  options.dims.push_back({"z:1", 7});
  options.inputs = {{"sr", {16000}}};
  const graph::Graph graph = read_good(model, options);
  REQUIRE(graph.inputs.size() == 2);
  CHECK(graph.value(graph.inputs[0]).shape == graph::Shape{2, 5, 3});
  CHECK(graph.value(graph.inputs[1]).shape == graph::Shape{2, 7});
  options.dims.push_back({"width", 7});
  CHECK(problem_with(model, options) == "no input has an open extent \"width\"");
  options.dims.back() = {"seq", 0};
  CHECK(problem_with(model, options) == "the size of \"seq\" is 0, not positive");
  options.dims.pop_back();
  options.inputs.push_back({"rate", {1}});
  CHECK(problem_with(model, options) == "it has no input \"rate\" that could be bound");
  options.inputs = {{"sr", {1, 2}}};
  CHECK(problem_with(model, options) ==
        "the input \"sr\" of shape [] has 1 elements, 2 values are given");
  options.inputs = {{"sr", {1e300}}};
  CHECK(problem_with(model, options) == "the value of input \"sr\" is outside its type i64");
}

TEST_CASE("a branch is taken when its condition is constant", "[onnx]") {
  OnnxGraph yes, no, graph;
  yes.output("p", {});
  yes.node("Relu", {"x"}, {"p"});
  no.output("q", {});
  no.weights(onnx_tensor("two", {}, {2}));
  no.node("Mul", {"x", "two"}, {"q"});
  graph.input("x", {"n", std::int64_t{3}});
  graph.output("y", {});
  graph.weights(onnx_integers("four", {}, {4}));
  graph.weights(onnx_integers("zero", {}, {0}));
  graph.node("Shape", {"x"}, {"shape"});
  graph.node("Gather", {"shape", "zero"}, {"n"});
  graph.node("Less", {"n", "four"}, {"is_short"});
  graph.node("If", {"is_short"}, {"y"},
             {{"then_branch", yes.message(), true}, {"else_branch", no.message(), true}}, "choose");
  OnnxOptions options;
  options.dims = {{"n", 3}};
  CHECK(graph_text(read_good(onnx_model(graph, 13), options)) == "y = Relu(x)\n");
  options.dims = {{"n", 4}};
  CHECK(graph_text(read_good(onnx_model(graph, 13), options)) == "y = Mul(x, 2.0)\n");

  OnnxGraph open = graph;
  open.input("c", {}, onnx_bool);
  open.node("If", {"c"}, {"z"},
            {{"then_branch", yes.message(), true}, {"else_branch", no.message(), true}}, "open");
  CHECK(problem_with(onnx_model(open, 13), options) ==
        "node \"open\" (If): its condition is not constant; bind the extents and inputs that "
        "decide it");
  options.inputs = {{"c", {1}}};
  CHECK(read_good(onnx_model(open, 13), options).nodes.size() == 1);
}

TEST_CASE("functions of the model are expanded", "[onnx]") {
  OnnxGraph body;
  body.node(onnx_node("LeakyRelu", {"a"}, {"t"}, {{"alpha", 0.0F, false, "slope"}}, "leaky"));
  body.node("Clip", {"t", "low"}, {"b"});
  const WireMessage function =
      onnx_function("local", "F", {"a", "low"}, {"b"}, body, 16, {"slope"}, {{"power", 1.0F}});
  OnnxGraph graph;
  graph.input("x", {4});
  graph.output("y", {});
  graph.node("F", {"x"}, {"u"}, {{"slope", 0.25F}}, "first", "local");
  graph.node("F", {"u", "x"}, {"y"}, {}, "second", "local");
  const graph::Graph read = read_good(onnx_model(graph, 16, {function}, {"local"}));
  CHECK(graph_text(read) ==
        "t = LeakyRelu(x) alpha=0.25\nb = Clip(t)\nt = LeakyRelu(b)\ny = Clip(t, x)\n");
  CHECK(read.nodes.front().name == "first/leaky");

  // One that calls itself.
  OnnxGraph loop;
  loop.node("F", {"a"}, {"b"}, {}, "again", "local");
  WireMessage endless = onnx_function("local", "F", {"a"}, {"b"}, loop, 16);
  OnnxGraph one;
  one.input("x", {4});
  one.output("y", {});
  one.node("F", {"x"}, {"y"}, {}, "call", "local");
  CHECK(problem_with(onnx_model(one, 16, {endless}, {"local"})) ==
        "node \"again\" (local.F) in function \"local.F\": functions call each other more than 32 "
        "deep");
}

TEST_CASE("weights are views of the file", "[onnx]") {
  const ModelFolder folder;
  std::vector<float> weights(1000, 0.5F);
  WireMessage raw = onnx_raw_tensor("w", onnx_f32, {1000}, raw_bytes_of(weights.data(), 4000));
  WireMessage packed;
  packed.number(1, 1000)
      .number(2, onnx_f32)
      .text(8, "v")
      .text(4, raw_bytes_of(weights.data(), 4000));
  OnnxGraph graph;
  graph.input("x", {1000});
  graph.output("y", {});
  graph.weights(raw);
  graph.weights(packed);
  graph.node("Add", {"x", "w"}, {"t"});
  graph.node("Add", {"t", "v"}, {"y"});
  const std::string path = folder.write("model.onnx", onnx_model(graph, 13));
  auto read = read_onnx(path);
  REQUIRE(read.has_value());
  const std::byte* base = nullptr;
  int num_constants = 0;
  for (const graph::Value& value : read->values) {
    if (value.is_constant) {
      CHECK(value.constant.real(999) == 0.5);
      REQUIRE(value.constant.owner);
      base = base == nullptr ? value.constant.bytes.data() : base;
      CHECK(value.constant.bytes.data() - base < 9000);  // one mapping
      ++num_constants;
    }
  }
  CHECK(num_constants == 2);
}

TEST_CASE("every type is read from raw bytes and from lists", "[onnx]") {
  const struct {
    std::int64_t type;
    DType dtype;
    std::uint32_t field;  // of the list
    std::vector<std::int64_t> stored;
    std::vector<double> values;
  } cases[] = {{onnx_i64, DType::i64, 7, {-5, 7}, {-5, 7}},
               {onnx_i32, DType::i32, 5, {-5, 7}, {-5, 7}},
               {onnx_i16, DType::i16, 5, {-5, 7}, {-5, 7}},
               {onnx_i8, DType::i8, 5, {-5, 7}, {-5, 7}},
               {onnx_u8, DType::u8, 5, {250, 7}, {250, 7}},
               {onnx_bool, DType::boolean, 5, {1, 0}, {1, 0}},
               {onnx_f16, DType::f16, 5, {0x3C00, 0xC000}, {1, -2}},
               {onnx_bf16, DType::bf16, 5, {0x3F80, 0xC000}, {1, -2}}};
  for (const auto& one : cases) {
    CAPTURE(name_of(one.dtype));
    std::string raw;
    WireMessage list;
    list.number(1, 2).number(2, static_cast<std::uint64_t>(one.type)).text(8, "w");
    for (const std::int64_t stored : one.stored) {
      raw += raw_bytes_of(&stored, static_cast<std::size_t>(bytes_of(one.dtype)));
      list.number(one.field, static_cast<std::uint64_t>(stored));
    }
    for (const WireMessage& tensor : {onnx_raw_tensor("w", one.type, {2}, raw), list}) {
      OnnxGraph graph;
      graph.input("x", {2}, one.type);
      graph.output("y", {});
      graph.weights(tensor);
      graph.node("Add", {"x", "w"}, {"y"});
      const graph::Graph read = read_good(onnx_model(graph, 14));
      for (const graph::Value& value : read.values) {
        if (value.is_constant) {
          CHECK(value.dtype == one.dtype);
          CHECK(value.constant.reals() == one.values);
        }
      }
    }
  }
}

TEST_CASE("files of weights lie below the model's folder", "[onnx]") {
  const ModelFolder folder;
  const std::vector<float> weights = {1, 2, 3, 4, 5};
  folder.write("data/w.bin", raw_bytes_of(weights.data(), 20));
  const auto read = [&](const WireMessage& tensor) {
    return read_onnx(folder.write("model.onnx", add_model(tensor)));
  };
  const auto good = read(external_tensor("data/w.bin", "4", "16"));
  REQUIRE(good.has_value());
  CHECK(graph_text(*good) == "y = Add(x, [2.0, 3.0, 4.0, 5.0])\n");
  const std::string prefix = "\"" + (folder.path / "model.onnx").string() + "\": ";
  const auto problem = [&](const WireMessage& tensor) {
    const auto bad = read(tensor);
    REQUIRE_FALSE(bad.has_value());
    return bad.error().message.substr(std::min(prefix.size(), bad.error().message.size()));
  };
  const std::string w = "initializer \"w\": ";
  for (const char* name : {"../w.bin", "/etc/passwd", "data/../../w", ""}) {
    CHECK(problem(external_tensor(name)) ==
          w + "its file of weights \"" + name +
              "\" is not named by a path below the model's folder");
  }
  CHECK(problem(external_tensor("data/w.bin", "8", "16")) ==
        w + "its elements are 16 bytes from byte 8 of \"data/w.bin\", which has 20");
  CHECK(problem(external_tensor("data/w.bin", "0", "12")) ==
        w + "it has 12 bytes of elements, its shape and type need 16");
  CHECK(problem(external_tensor("data/w.bin", "-4")) ==
        w + "the place of its elements in \"data/w.bin\" is no number of bytes");
  CHECK(problem(external_tensor("none.bin")).find("No such file") != std::string::npos);
  fs::create_symlink("/dev/zero", folder.path / "zero");
  CHECK(problem(external_tensor("zero")) ==
        w + "its file of weights \"zero\" is a link that leaves the model's folder");
  CHECK(problem_with(add_model(external_tensor("data/w.bin"))) ==
        w + "its elements are in the file \"data/w.bin\", and a model in memory has none beside "
            "it");
}

TEST_CASE("what is read resolves", "[onnx]") {
  // Shape arithmetic of exporters: flatten all but the batch.
  OnnxGraph graph;
  graph.input("x", {"batch", std::int64_t{4}, std::int64_t{5}});
  graph.output("y", {});
  graph.node("Shape", {"x"}, {"shape"});
  graph.node("Constant", {}, {"zero"}, {{"value_int", std::int64_t{0}}});
  graph.node("Gather", {"shape", "zero"}, {"n"});
  graph.node("Constant", {}, {"axes"}, {{"value_ints", std::vector<std::int64_t>{0}}});
  graph.node("Unsqueeze", {"n", "axes"}, {"n1"});
  graph.node("Constant", {}, {"rest"}, {{"value_ints", std::vector<std::int64_t>{-1}}});
  graph.node("Concat", {"n1", "rest"}, {"to"}, {{"axis", std::int64_t{0}}});
  graph.node("Reshape", {"x", "to"}, {"y"});
  OnnxOptions options;
  options.dims = {{"batch", 3}};
  graph::Graph read = read_good(onnx_model(graph, 13), options);
  const auto resolved = graph::resolve(read);
  INFO((resolved ? std::string() : resolved.error()));
  REQUIRE(resolved.has_value());
  CHECK(read.nodes.size() == 1);
  CHECK(read.value(read.outputs.front()).shape == graph::Shape{3, 20});
}

TEST_CASE("pages that a mapped file drops are read again", "[onnx]") {
  const ModelFolder folder;
  std::string text;
  for (std::size_t i = 0; i < 40000; ++i) {
    text += static_cast<char>(i * 7 % 251);
  }
  const auto file = onnx::map_file(folder.write("weights.bin", text), 1 << 20);
  REQUIRE(file.has_value());
  for (int i = 0; i < 2; ++i) {
    CHECK((*file)->bytes() == text);
    (*file)->drop();
  }
  CHECK((*file)->bytes() == text);
}

}  // namespace tensorsmith::test
