// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "onnx/importer.hpp"
#include "onnx/mapped_file.hpp"
#include "onnx/model.hpp"
#include "onnx/tensor.hpp"
#include "tensorsmith/onnx.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace {

Result<graph::Graph, std::string> read_model(std::string_view bytes, const OnnxOptions& options,
                                             onnx::TensorReader tensors) {
  const auto model = onnx::parse_model(bytes);
  if (!model) {
    return fail("it cannot be read as an ONNX model: " + model.error());
  }
  return onnx::Importer(*model, options, std::move(tensors)).run();
}

struct ModelBytes final : graph::ByteOwner {
  explicit ModelBytes(std::string its_bytes) : bytes(std::move(its_bytes)) {}
  std::string bytes;
};

/// The folder of a file, "." for one without.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<graph::Graph, OnnxError> read_onnx(const std::string& path, const OnnxOptions& options) {
  const auto file = onnx::map_file(path, options.most_bytes);
  if (!file) {
    return fail(OnnxError{file.error().message});
  }
  auto graph = read_model((*file)->bytes(), options,
                          onnx::TensorReader(*file, folder_of(path), path, options.most_bytes));
  if (!graph) {
    return fail(OnnxError{in_quotes(path, 1000) + ": " + with_short_words(graph.error())});
  }
  return *std::move(graph);
}

Result<graph::Graph, OnnxError> read_onnx_bytes(std::string bytes, const OnnxOptions& options,
                                                const std::string& folder) {
  const Shared<const ModelBytes> owner = make_shared_of<ModelBytes>(std::move(bytes));
  auto graph =
      read_model(owner->bytes, options, onnx::TensorReader(owner, folder, "", options.most_bytes));
  if (!graph) {
    return fail(OnnxError{with_short_words(graph.error())});
  }
  return *std::move(graph);
}

Result<std::vector<OnnxTensor>, OnnxError> read_onnx_tensors(const std::string& path,
                                                             const OnnxOptions& options) {
  const auto file = onnx::map_file(path, options.most_bytes);
  if (!file) {
    return fail(OnnxError{file.error().message});
  }
  const auto refused = [&](const std::string& why) {
    return fail(OnnxError{in_quotes(path, 1000) + ": " + with_short_words(why)});
  };
  const auto model = onnx::parse_model((*file)->bytes());
  if (!model) {
    return refused("it cannot be read as an ONNX model: " + model.error());
  }
  onnx::TensorReader tensors(*file, folder_of(path), path, options.most_bytes);
  std::vector<OnnxTensor> all;
  for (const onnx::TensorMessage& message : model->graph.initializers) {
    auto elements = tensors.read(message);
    if (!elements) {
      return refused("tensor " + in_quotes(message.name) + " " + elements.error());
    }
    all.push_back({std::string(message.name), std::move(*elements)});
  }
  return all;
}

}  // namespace tensorsmith
