// The reference's partition of the golden networks: functions, tasks, keys, weights, FLOPs. Other
// files of the same form: TENSORSMITH_GOLDEN_NETWORKS names their folder.
// requires: json
#include "tensorsmith/graph/relay.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "tensorsmith/support/file.hpp"

using namespace tensorsmith;
using Json = nlohmann::json;

namespace {

Json read_network(const std::string& path) {
  const auto text = read_file(path);
  REQUIRE(text.has_value());
  return Json::parse(*text);
}

std::vector<std::string> network_files() {
  const char* given = std::getenv("TENSORSMITH_GOLDEN_NETWORKS");
  const std::string folder =
      given != nullptr ? given : std::string(TENSORSMITH_TEST_DATA_DIR) + "/golden/networks";
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".json.gz")) {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json type_json(const graph::RelayType& type) {
  if (!type.is_tuple) {
    return Json::array({type.shape, std::string(reference_name_of(type.dtype))});
  }
  Json fields = Json::array();
  for (const graph::RelayType& field : type.fields) {
    fields.push_back(type_json(field));
  }
  return Json::array({"tuple", fields});
}

std::string group_text(const graph::RelayGroup& group) {
  Json inputs = Json::array();
  for (const graph::RelayType& type : group.inputs) {
    inputs.push_back(type_json(type));
  }
  return Json::array({group.operators, inputs, type_json(group.output)}).dump();
}

/// Without the number that the reference puts behind functions of one name.
std::string function_name(std::string name) {
  const std::string prefix = "vm_mod_fused_";
  name.erase(0, name.starts_with(prefix) ? prefix.size() : 0);
  const std::size_t end = name.find_last_not_of("0123456789");
  return end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

/// What a description has to say before it is partitioned.
std::string description_of(const Json& network) {
  Json json;
  for (const char* field : {"inputs", "n_params", "operators"}) {
    json[field] = network.at(field);
  }
  return json.dump();
}

}  // namespace

TEST_CASE("fused functions of the golden networks are the reference's", "[graph]") {
  const std::vector<std::string> files = network_files();
  REQUIRE(!files.empty());
  for (const std::string& file : files) {
    INFO(file);
    const Json network = read_network(file);
    const auto read = graph::read_relay_description(description_of(network));
    INFO((read ? "" : read.error()));
    REQUIRE(read.has_value());
    const auto parts = graph::partition_relay(*read, graph::RelayTarget::cpu);
    INFO((parts ? "" : parts.error()));
    REQUIRE(parts.has_value());
    std::vector<std::string> want, got;
    for (const Json& group : network.at("fused_groups_cpu_opt3")) {
      want.push_back(group.dump());
    }
    for (const graph::RelayGroup& group : parts->groups) {
      got.push_back(group_text(group));
    }
    CHECK(got == want);
  }
}

TEST_CASE("tasks of the golden networks are the reference's", "[graph]") {
  for (const std::string& file : network_files()) {
    const Json network = read_network(file);
    const auto read = graph::read_relay_description(description_of(network));
    REQUIRE(read.has_value());
    for (const auto target : {graph::RelayTarget::cpu, graph::RelayTarget::cuda}) {
      const char* const name = target == graph::RelayTarget::cpu ? "cpu" : "cuda";
      INFO(file << " " << name);
      const auto parts = graph::partition_relay(*read, target);
      REQUIRE(parts.has_value());
      std::map<std::string, std::string> want, got;
      for (const Json& task : network.at("tasks").at(name).at("complex")) {
        want[task.at("workload_key").get<std::string>()] =
            function_name(task.at("desc").get<std::string>()) + " x " +
            Json(task.at("weight").get<double>()).dump() + " " +
            Json(task.at("flop_ct").get<double>()).dump();
      }
      for (const graph::RelayTask& task : parts->tasks) {
        got[task.workload_key] = function_name(task.operators) + " x " + Json(task.weight).dump() +
                                 " " + Json(task.flop).dump();
      }
      CHECK(got == want);
    }
  }
}

TEST_CASE("a description that is none is refused with the operator", "[graph]") {
  const auto message = [](const char* text) {
    const auto read = graph::read_relay_description(text);
    return read ? std::string() : read.error();
  };
  CHECK(!message("").empty());
  CHECK(!message("{}").empty());
  const std::string wrong = message(
      R"({"inputs": [], "operators": [{"id": 3, "op": "nn.relu", "inputs": [{"node": 2}],
          "output": [[1], "float32"], "attrs": {}}]})");
  CHECK(wrong == "nn.relu 3: it reads operator 2, which is not before it");
}
