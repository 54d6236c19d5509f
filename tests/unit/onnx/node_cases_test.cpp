// SPDX-License-Identifier: Apache-2.0
// The node tests of ONNX itself, where there is a folder of them: TENSORSMITH_ONNX_CASES names it.
// Each folder in it has model.onnx and test_data_set_0 with input_N.pb and output_N.pb. They are no
// part of the repository; bench/networks/write_cases.py writes them.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "onnx/tensor.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {
namespace {

std::string bytes_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct NodeCase {
  std::filesystem::path folder;
  std::vector<std::string> bytes;  // of the tensors, which the constants view
  std::vector<graph::Constant> inputs, outputs;
  std::string problem;

  explicit NodeCase(std::filesystem::path its_folder) : folder(std::move(its_folder)) {
    bytes.reserve(64);
    read("input_", inputs);
    read("output_", outputs);
  }

 private:
  void read(const std::string& prefix, std::vector<graph::Constant>& list) {
    onnx::TensorReader reader(nullptr, "", "", 1 << 20);
    for (int i = 0; i < 30; ++i) {
      const auto path = folder / "test_data_set_0" / (prefix + std::to_string(i) + ".pb");
      if (!std::filesystem::exists(path)) {
        return;
      }
      const std::string& text = bytes.emplace_back(bytes_of_file(path));
      const auto message = onnx::parse_tensor(text, "");
      auto constant = message ? reader.read(*message) : fail(message.error());
      if (!constant) {
        problem = constant.error();
        return;
      }
      list.push_back(*std::move(constant));
    }
  }
};

HostArray array_of(const graph::Constant& constant) {
  HostArray array(constant.dtype, constant.shape);
  std::copy(constant.bytes.begin(), constant.bytes.end(), array.data.begin());
  return array;
}

/// Empty: the results are those that were recorded.
std::string difference(const std::vector<HostArray>& results, const NodeCase& one) {
  for (std::size_t k = 0; k < results.size() && k < one.outputs.size(); ++k) {
    const graph::Constant& wanted = one.outputs[k];
    if (results[k].shape != wanted.shape) {
      return "shape " + graph::shape_text(results[k].shape) + ", not " +
             graph::shape_text(wanted.shape);
    }
    const bool is_narrow = wanted.dtype == DType::f16 || wanted.dtype == DType::bf16;
    const double relative = is_narrow ? 1e-2 : 1e-3, absolute = is_narrow ? 1e-2 : 1e-6;
    for (std::int64_t i = 0; i < results[k].num_elements(); ++i) {
      const double a = results[k].get_real(i), b = wanted.real(i);
      const bool is_same = a == b || (std::isnan(a) && std::isnan(b)) ||
                           std::abs(a - b) <= absolute + relative * std::abs(b);
      if (!is_same) {
        return "element " + std::to_string(i) + " of result " + std::to_string(k) + " is " +
               text_of_real(a, 8) + ", not " + text_of_real(b, 8);
      }
    }
  }
  return {};
}

enum class Outcome : std::uint8_t { same, not_read, not_resolved, different };

/// With the inputs from number `first_bound` on as constants: lists of axes, shapes and bounds are
/// inputs of many models.
Outcome run_bound(const NodeCase& one, const std::string& model, std::size_t first_bound,
                  std::string& why) {
  auto parsed = onnx::parse_model(model);
  OnnxOptions options;
  std::vector<HostArray> given;
  std::size_t next = 0;
  for (const onnx::ValueMessage& input : parsed->graph.inputs) {
    if (next >= one.inputs.size()) {
      break;
    }
    const graph::Constant& value = one.inputs[next++];
    for (std::size_t axis = 0; axis < value.shape.size(); ++axis) {
      const bool is_open = axis < input.dims.size() && input.dims[axis].value < 0;
      if (is_open) {
        options.dims.push_back({std::string(input.name) + ":" + std::to_string(axis),
                                std::max<std::int64_t>(1, value.shape[axis])});
      }
    }
    if (next > first_bound) {
      options.inputs.push_back({std::string(input.name), value.reals()});
    } else {
      given.push_back(array_of(value));
    }
  }
  auto graph = read_onnx_bytes(model, options);
  if (!graph) {
    why = graph.error().message;
    return Outcome::not_read;
  }
  const auto done = graph::resolve(*graph);
  if (!done) {
    why = done.error();
    return Outcome::not_resolved;
  }
  const auto results = graph::interpret(*graph, given);
  if (!results) {
    why = results.error();
    return Outcome::not_resolved;
  }
  why = difference(*results, one);
  return why.empty() ? Outcome::same : Outcome::different;
}

}  // namespace

TEST_CASE("node tests of ONNX", "[.][onnx_cases]") {
  const char* root = std::getenv("TENSORSMITH_ONNX_CASES");
  REQUIRE(root != nullptr);
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  std::map<Outcome, std::size_t> counts;
  for (const auto& folder : folders) {
    const NodeCase one(folder);
    const std::string model = bytes_of_file(folder / "model.onnx");
    std::string why = one.problem;
    Outcome outcome = Outcome::not_read;
    for (const std::size_t first_bound : {std::size_t{99}, std::size_t{1}, std::size_t{0}}) {
      outcome = one.problem.empty() ? run_bound(one, model, first_bound, why) : outcome;
      if (outcome == Outcome::same || outcome == Outcome::different) {
        break;
      }
    }
    ++counts[outcome];
    const char* words[] = {"same", "not read", "not resolved", "DIFFERENT"};
    std::printf("%-12s %s: %s\n", words[static_cast<int>(outcome)],
                folder.filename().string().c_str(), why.c_str());
    CHECK(outcome != Outcome::different);
  }
  std::printf("%zu same, %zu not read, %zu not resolved, %zu different\n", counts[Outcome::same],
              counts[Outcome::not_read], counts[Outcome::not_resolved], counts[Outcome::different]);
}

}  // namespace tensorsmith::test
