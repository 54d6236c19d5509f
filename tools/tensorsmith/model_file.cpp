// SPDX-License-Identifier: Apache-2.0
#include "model_file.hpp"

#include <cstring>
#include <vector>

#include "tensorsmith/support/file.hpp"
#if defined(TENSORSMITH_HAS_EIGEN)
#include "tensorsmith/cost/program_model.hpp"
#endif

namespace tensorsmith::cli {
namespace {

#if defined(TENSORSMITH_HAS_EIGEN)
std::string text_of(const std::string& path, bool may_be_packed) {
  Result<std::string, FileError> text = read_file(path, {most_model_bytes, may_be_packed});
  if (!text) {
    throw Error(text.error().message);
  }
  return std::move(text).value();
}

/// The tensors of an index {"tensors": [{"name", "offset", "count"}, ...]}, offsets in numbers;
/// beside it lie all numbers one after another, f32, little endian (.f32 or .f32.gz).
std::vector<NamedTensor> released_tensors(const std::string& path) {
  const Json index = Json::parse(text_of(path, true), nullptr, false);
  if (!index.is_object() || !index.contains("tensors")) {
    throw Error(path + " is no index of released weights: no list \"tensors\"");
  }
  const std::string stem = path.substr(0, path.size() - std::strlen(".json"));
  const bool is_packed = !read_file(stem + ".f32", {most_model_bytes, false});
  const std::string bytes = text_of(stem + (is_packed ? ".f32.gz" : ".f32"), is_packed);
  std::vector<NamedTensor> tensors;
  try {
    for (const Json& tensor : index.at("tensors")) {
      const auto first = tensor.at("offset").get<std::uint64_t>();
      const auto count = tensor.at("count").get<std::uint64_t>();
      const std::uint64_t all = bytes.size() / sizeof(float);
      if (first > all || count > all - first) {
        throw Error(path + ": the numbers of " + in_quotes(tensor.at("name").get<std::string>()) +
                    " end behind the file's");
      }
      std::vector<float> values(count);
      std::memcpy(values.data(), bytes.data() + first * sizeof(float), count * sizeof(float));
      tensors.push_back({tensor.at("name").get<std::string>(), std::move(values)});
    }
  } catch (const Json::exception&) {
    throw Error(path + ": a tensor needs \"name\", \"offset\" and \"count\"");
  }
  return tensors;
}
#endif

Result<Done, CostModelFault> load_into(CostModel& model, const std::string& path) {
  if (!path.ends_with(".json")) {
    return load_from_file(model, path);
  }
#if defined(TENSORSMITH_HAS_EIGEN)
  if (auto* const network = dynamic_cast<ProgramModel*>(&model)) {
    return network->import(released_tensors(path));
  }
#endif
  throw Error("released weights are for the cost models tenset-mlp, pam and moa, not for " +
              std::string(model.name()));
}

}  // namespace

Shared<CostModel> loaded_model(const std::string& name, const ModelFiles& files,
                               const ModelContext& context) {
  Result<Shared<CostModel>, std::string> made = make_cost_model(known_models(), name, context);
  if (!made) {
    throw Error(made.error());
  }
  if (!files.load.empty()) {
    const Result<Done, CostModelFault> loaded = load_into(**made, files.load);
    if (!loaded) {
      throw Error(files.load + ": " + loaded.error().message);
    }
  }
  return std::move(made).value();
}

void save_model(const CostModel& model, const std::string& path) {
  const Result<Done, CostModelFault> saved = save_to_file(model, path);
  if (!saved) {
    throw Error(path + ": " + saved.error().message);
  }
}

}  // namespace tensorsmith::cli
