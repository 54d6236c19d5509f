// SPDX-License-Identifier: Apache-2.0
// Damaged ONNX files: cut, changed, with parts of others. A file is read, and then it is a graph
// that can be checked, resolved and cut into kernels, or it is refused by one sentence.
#include "tensorsmith/onnx.hpp"

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "onnx/wire.hpp"
#include "support/catch.hpp"
#include "support/onnx_writer.hpp"
#include "support/text_mutator.hpp"
#include "tensorsmith/graph/memory_plan.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/graph/simplify.hpp"

namespace tensorsmith::test {
namespace {

/// A model with every kind of message: weights of several forms, a function, a branch, shape
/// arithmetic, nodes of several versions.
std::string varied_model(std::int64_t opset) {
  OnnxGraph yes, no, body, graph;
  yes.output("p", {});
  yes.node("Relu", {"c"}, {"p"});
  no.output("q", {});
  no.weights(onnx_tensor("two", {}, {2}));
  no.node("Mul", {"c", "two"}, {"q"});
  body.node(onnx_node("LeakyRelu", {"a"}, {"b"}, {{"alpha", 0.0F, false, "slope"}}, "leaky"));
  graph.input("x", {"n", std::int64_t{2}, std::int64_t{4}, std::int64_t{4}});
  graph.output("y", {"n", std::int64_t{6}});
  graph.weights(onnx_tensor("w", {3, 2, 1, 1}, {1, 2, 3, 4, 5, 6}));
  graph.weights(
      WireMessage().number(1, 2).number(2, onnx_i32).text(8, "i").number(5, 7).number(5, 300));
  graph.weights(onnx_integers("zero", {}, {0}));
  graph.node("Conv", {"x", "w"}, {"conv"}, {{"kernel_shape", std::vector<std::int64_t>{1, 1}}});
  graph.node("F", {"conv"}, {"c"}, {{"slope", 0.25F}}, "call", "local");
  graph.node("Shape", {"x"}, {"shape"});
  graph.node("Gather", {"shape", "zero"}, {"n"});
  graph.node("Equal", {"n", "zero"}, {"is_empty"});
  graph.node("If", {"is_empty"}, {"r"},
             {{"then_branch", yes.message(), true}, {"else_branch", no.message(), true}}, "choose");
  graph.node("MaxPool", {"r"}, {"m"}, {{"kernel_shape", std::vector<std::int64_t>{4, 4}}});
  graph.node("Softmax", {"m"}, {"s"}, {{"axis", std::int64_t{1}}});
  graph.node("Constant", {}, {"to"}, {{"value", onnx_integers("", {2}, {0, -1})}});
  graph.node("Reshape", {"s", "to"}, {"y"});
  return onnx_model(
      graph, opset,
      {onnx_function("local", "F", {"a"}, {"b"}, body, opset, {"slope"}, {{"slope", 1.0F}})},
      {"local"});
}

struct Field {
  std::uint32_t number = 0;
  onnx::WireType type = onnx::WireType::varint;
  std::uint64_t value = 0;
  std::string bytes;
};

bool split(std::string_view message, std::vector<Field>& fields) {
  onnx::WireReader reader(message);
  onnx::WireField field;
  while (reader.next(field)) {
    fields.push_back({field.number, field.type, field.value, std::string(field.bytes)});
  }
  return reader.is_good() && !fields.empty();
}

std::string joined(const std::vector<Field>& fields) {
  WireMessage message;
  for (const Field& field : fields) {
    if (field.type == onnx::WireType::bytes) {
      message.text(field.number, field.bytes);
    } else if (field.type == onnx::WireType::fixed32) {
      message.real(field.number, std::bit_cast<float>(static_cast<std::uint32_t>(field.value)));
    } else {
      message.number(field.number, field.value);
    }
  }
  return message.bytes();
}

/// Changes one field somewhere inside; the rest stays whole, so that what is read goes further than
/// through damaged bytes.
std::string with_changed_field(TextMutator& random, const std::string& message) {
  std::vector<Field> fields;
  if (!split(message, fields)) {
    return random.mutate(message, message);
  }
  const std::size_t at = random.below(fields.size());
  Field& field = fields[at];
  std::vector<Field> inner;
  if (field.type == onnx::WireType::bytes && random.below(8) != 0 && split(field.bytes, inner)) {
    field.bytes = with_changed_field(random, field.bytes);
    return joined(fields);
  }
  const std::uint64_t numbers[] = {
      0, 1, 2, 7, UINT64_MAX, std::uint64_t{1} << 62, 1U << 31, random.below(64)};
  switch (random.below(5)) {
  case 0:
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
    break;
  case 1:
    fields.push_back(field);
    break;
  case 2:
    std::swap(field, fields[random.below(fields.size())]);
    break;
  case 3:
    field.number = static_cast<std::uint32_t>(1 + random.below(25));
    break;
  default:
    field.value = numbers[random.below(8)];
    field.bytes = field.type != onnx::WireType::bytes ? field.bytes
                  : random.below(2) == 0              ? fields[random.below(fields.size())].bytes
                                                      : random.mutate(field.bytes, message);
  }
  return joined(fields);
}

void require_sentence(const std::string& text) {
  REQUIRE_FALSE(text.empty());
  REQUIRE(text.find('\n') == std::string::npos);
}

/// Whether what was resolved can be cut into kernels: if not, a sentence says why.
bool is_partitioned(graph::Graph& graph) {
  // Larger ones are sound as well, but simplifying evaluates constants of them.
  constexpr std::int64_t most_elements = 1 << 16;
  for (const graph::Value& value : graph.values) {
    if (graph::num_elements(value.shape) < 0 || graph::num_elements(value.shape) > most_elements) {
      return false;
    }
  }
  const auto simplified = graph::simplify(graph);
  if (!simplified) {
    require_sentence(simplified.error());
    return false;
  }
  const auto parts = graph::partition(graph);
  if (!parts) {
    require_sentence(parts.error());
    return false;
  }
  const graph::MemoryPlan plan = graph::plan_memory(graph, *parts);
  REQUIRE(plan.arena_bytes >= 0);
  double weights = 0;
  for (const graph::NetworkTask& task : parts->tasks) {
    weights += task.weight;
  }
  REQUIRE(weights == static_cast<double>(parts->groups.size()));
  return true;
}

}  // namespace

TEST_CASE("the reader of ONNX files takes damage", "[fuzz]") {
  std::vector<std::string> models = {varied_model(11), varied_model(18)};
  const std::filesystem::path folder = TENSORSMITH_TEST_DATA_DIR "/onnx";
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".onnx") {
        std::ifstream file(entry.path(), std::ios::binary);
        models.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      }
    }
  }
  OnnxOptions options;
  options.dims = {{"n", 2}};
  REQUIRE(read_onnx_bytes(models[0], options).has_value());
  REQUIRE(read_onnx_bytes(models[1], options).has_value());
  TextMutator mutator(seed(), {std::string(8, '\0'), std::string(9, '\xff') + "\x01", "x", "Relu",
                               "\x08\x01", "\x12", "\x3a\x00", "\x0a\x7f", "Shape", "w"});
  graph::ResolveOptions small;
  small.most_elements = 1 << 12;
  std::size_t refused = 0, resolved = 0, partitioned = 0;
  const std::size_t rounds = fuzz(4000, [&] {
    std::string damaged;
    if (mutator.below(4) == 0) {
      damaged = mutator.mutate_one(models);
    } else {
      damaged = models[mutator.below(models.size())];
      for (std::size_t i = mutator.below(3) + 1; i > 0; --i) {
        damaged = with_changed_field(mutator, damaged);
      }
    }
    auto graph = read_onnx_bytes(damaged, options);
    if (!graph) {
      ++refused;
      require_sentence(graph.error().message);
      return;
    }
    REQUIRE(graph::check(*graph).has_value());
    const auto done = graph::resolve(*graph, small);
    if (!done) {
      require_sentence(done.error());
      return;
    }
    ++resolved;
    partitioned += is_partitioned(*graph) ? 1U : 0U;
  });
  CHECK(partitioned > 0);
  CHECK(refused > 0);
  CHECK(resolved > 0);
  CHECK(refused < rounds);
}

TEST_CASE("a model that is cut anywhere is refused or read", "[fuzz]") {
  const std::string model = varied_model(13);
  OnnxOptions options;
  options.dims = {{"n", 2}};
  std::size_t read = 0;
  for (std::size_t size = 0; size < model.size(); ++size) {
    read += read_onnx_bytes(model.substr(0, size), options).has_value() ? 1 : 0;
  }
  CHECK(read < 4);  // between two messages of the model, what is left may be whole
}

}  // namespace tensorsmith::test
