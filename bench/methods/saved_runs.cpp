// SPDX-License-Identifier: Apache-2.0
// requires: mlp json
#include <algorithm>
#include <cstdio>
#include <utility>

#include "runs.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/file.hpp"

namespace tensorsmith::bench {
namespace {

using Json = nlohmann::ordered_json;

Json curve_json(const std::vector<SpentPoint>& curve) {
  Json json = Json::array();
  for (const SpentPoint& point : curve) {
    json.push_back({point.spent, point.best_ns});
  }
  return json;
}
std::vector<SpentPoint> curve_of(const Json& json) {
  std::vector<SpentPoint> curve;
  for (const Json& point : json) {
    curve.push_back({point.at(0).get<double>(), point.at(1).get<double>()});
  }
  return curve;
}

/// Two runs of the same key are the same search.
Json key_of(const std::string& conditions, const Method& method, const BenchTask& task,
            std::uint64_t seed) {
  return {{"conditions", conditions},  {"method", method.name},     {"policy", method.policy},
          {"draft", method.draft},     {"space", method.space},     {"model", method.cost_model},
          {"weights", method.weights}, {"workload", task.workload}, {"seed", seed}};
}

}  // namespace

nlohmann::ordered_json run_json(const MethodRun& run) {
  return {{"seed", run.seed},
          {"best_ns", run.best_ns},
          {"trials", run.trials},
          {"seconds", run.seconds},
          {"own_seconds", run.own_seconds},
          {"guards", guards_json<Json>(run.guards)},
          {"by_trials", curve_json(run.by_trials)},
          {"by_seconds", curve_json(run.by_seconds)}};
}

SavedRuns::SavedRuns(std::string path, std::string conditions)
    : path_(std::move(path)), conditions_(std::move(conditions)) {
  std::FILE* const file = path_.empty() ? nullptr : std::fopen(path_.c_str(), "r");
  if (file == nullptr) {
    return;  // the first time
  }
  std::fclose(file);
  const Result<std::string, FileError> text = read_file(path_);
  if (!text) {
    throw Error(text.error().message);
  }
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    Json line = Json::parse(text->substr(at, end - at), nullptr, false);
    if (line.is_object()) {  // the last one may be torn
      lines_.push_back(std::move(line));
    }
    at = end + 1;
  }
}

std::optional<MethodRun> SavedRuns::find(const Method& method, const BenchTask& task,
                                         std::uint64_t seed) const {
  const Json key = key_of(conditions_, method, task, seed);
  for (const Json& line : lines_) {
    if (line.at("key") != key) {
      continue;
    }
    const Json& saved = line.at("run");
    MethodRun run;
    run.seed = seed;
    run.best_ns = saved.at("best_ns").get<double>();
    run.trials = saved.at("trials").get<std::int64_t>();
    run.seconds = saved.at("seconds").get<double>();
    run.own_seconds = saved.at("own_seconds").get<double>();
    run.by_trials = curve_of(saved.at("by_trials"));
    run.by_seconds = curve_of(saved.at("by_seconds"));
    for (const Json& guard : saved.at("guards")) {
      run.guards.push_back({guard.at("name") == "draft" ? "draft" : "model",
                            guard.at("trials_with").get<std::int64_t>(),
                            guard.at("trials_without").get<std::int64_t>(),
                            guard.at("advantage").get<double>(), guard.at("given_up").get<bool>(),
                            guard.at("times_given_up").get<std::uint32_t>()});
    }
    return run;
  }
  return std::nullopt;
}

void SavedRuns::add(const Method& method, const BenchTask& task, const MethodRun& run) {
  if (path_.empty()) {
    return;
  }
  lines_.push_back({{"key", key_of(conditions_, method, task, run.seed)}, {"run", run_json(run)}});
  std::string text;
  for (const Json& line : lines_) {
    text += line.dump() + "\n";
  }
  if (const auto written = write_file(path_, text); !written) {
    throw Error(written.error().message);
  }
}

}  // namespace tensorsmith::bench
