// SPDX-License-Identifier: Apache-2.0
// The reference's partition of the golden networks: functions, tasks, keys, weights, FLOPs.
// requires: json
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/golden_data.hpp"
#include "tensorsmith/graph/relay.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/unique_names.hpp"

using namespace tensorsmith;
using test::ComparedRows;
using test::GoldenFile;
using test::Json;

namespace {

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
graph::RelayGraph described(const Json& network) {
  Json json;
  for (const char* field : {"inputs", "n_params", "operators"}) {
    json[field] = network.at(field);
  }
  auto read = graph::read_relay_description(json.dump());
  INFO((read ? "" : read.error()));
  REQUIRE(read.has_value());
  return std::move(read).value();
}

}  // namespace

TEST_CASE("fused functions of the golden networks are the reference's", "[graph]") {
  for (const GoldenFile& file : test::golden_networks()) {
    const Json network = Json::parse(test::read_text(file.path));
    if (!network.contains("fused_groups_cpu_opt3")) {
      continue;
    }
    CAPTURE(file.name);
    ComparedRows rows(file.name);
    rows.of("fused functions");
    const auto parts = graph::partition_relay(described(network), graph::RelayTarget::cpu);
    INFO((parts ? "" : parts.error()));
    REQUIRE(parts.has_value());
    std::vector<std::string> want, got;
    for (const Json& group : network.at("fused_groups_cpu_opt3")) {
      want.push_back(group.dump());
      ++rows;
    }
    for (const graph::RelayGroup& group : parts->groups) {
      got.push_back(group_text(group));
    }
    CHECK(got == want);
  }
}

TEST_CASE("tasks of the golden networks are the reference's", "[graph]") {
  for (const GoldenFile& file : test::golden_networks()) {
    const Json network = Json::parse(test::read_text(file.path));
    for (const auto target : {graph::RelayTarget::cpu, graph::RelayTarget::cuda}) {
      const char* const name = target == graph::RelayTarget::cpu ? "cpu" : "cuda";
      if (!network.at("tasks").contains(name)) {
        continue;
      }
      CAPTURE(file.name, name);
      ComparedRows rows(file.name);
      rows.of(std::string("tasks for ") + name);
      const auto parts = graph::partition_relay(described(network), target);
      INFO((parts ? "" : parts.error()));
      REQUIRE(parts.has_value());
      std::map<std::string, std::string> want, got;
      for (const Json& task : network.at("tasks").at(name).at("complex")) {
        want[task.at("workload_key").get<std::string>()] =
            function_name(task.at("desc").get<std::string>()) + " x " +
            Json(task.at("weight").get<double>()).dump() + " " +
            Json(task.at("flop_ct").get<double>()).dump();
        ++rows;
      }
      for (const graph::RelayTask& task : parts->tasks) {
        got[task.workload_key] = function_name(task.operators) + " x " + Json(task.weight).dump() +
                                 " " + Json(task.flop).dump();
      }
      CHECK(got == want);
    }
  }
}

TEST_CASE("tasks of the golden networks as notation", "[graph]") {
  for (const GoldenFile& file : test::golden_networks()) {
    CAPTURE(file.name);
    ComparedRows tasks(file.name);
    tasks.of("tasks' notations");
    const auto parts = graph::partition_relay(described(Json::parse(test::read_text(file.path))),
                                              graph::RelayTarget::cuda);
    REQUIRE(parts.has_value());
    for (const graph::RelayTask& task : parts->tasks) {
      if (!task.dag) {
        continue;
      }
      INFO(task.operators);
      const auto named = te::with_unique_names(task.dag);
      CHECK(named->operations().size() == task.dag->operations().size());
      const auto text = te::write_notation(*named);
      REQUIRE(text.has_value());
      const auto back = te::read_notation(*text);
      INFO((back ? "" : back.error()));
      REQUIRE(back.has_value());
      CHECK(te::is_same_computation(**back, *named));
      ++tasks;
    }
  }
}
