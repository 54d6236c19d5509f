// SPDX-License-Identifier: Apache-2.0
// requires: json
// PSA: the latencies that the reference's formula gives, of programs and of made-up numbers, on all
// devices of its table.
#include "tensorsmith/cost/psa.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/pruner_programs.hpp"

namespace tensorsmith::test {
namespace {

/// Counts what was compared, by device.
void compare_latencies(const FeatureBlock& rows, const Json& expected, ComparedRows& compared) {
  for (const auto& [key, latency] : expected.items()) {
    INFO(key);
    const std::optional<PsaDevice> device = psa_device(key);
    REQUIRE(device.has_value());
    CHECK(psa_latency_ms(rows, *device) == Approx(latency.get<double>()).epsilon(1e-6));
    ++compared;
  }
}

}  // namespace

TEST_CASE("PSA latencies of the reference's programs", "[golden][cost]") {
  for (const char* kind : {"cuda", "cpu"}) {
    for (const GoldenFile& file : pruner_files(std::string("features_") + kind + ".jsonl")) {
      ComparedRows latencies(file.name);
      latencies.of("latencies");
      const PrunerPrograms known(std::string("samples_") + kind + ".jsonl");
      for (const Json& line : read_json_lines(file.path)) {
        if (line.at("ok").get<bool>()) {
          INFO(line.at("task").get<std::string>() << ", sample " << line.at("sample"));
          const State state = known.program(line.at("task"), line.at("sample"));
          compare_latencies(psa_of(state), line.at("psa_latency_ms"), latencies);
        }
      }
    }
  }
}

TEST_CASE("PSA latencies of programs that boards were measured with", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("logs_index.json")) {
    const Json logs = Json::parse(read_text(file.path));
    for (const auto& [name, log] : logs.items()) {
      const std::string path =
          file.path.substr(0, file.path.find_last_of('/') + 1) + "logs/" + name + ".json";
      if (!golden_is_own() && !std::filesystem::exists(path) &&
          !std::filesystem::exists(path + ".gz")) {
        std::printf("golden: log %s: not there, skipped\n", name.c_str());
        continue;
      }
      ComparedRows latencies(file.name + ", " + name);
      latencies.of("latencies");
      const State initial =
          State::initial(dag_from_definition(log.at("definition"), log.at("arg_order")));
      const std::vector<std::string> lines = text_lines(read_text(path));
      const Json& expected = log.at("psa_a100_40_latency_ms");
      REQUIRE(lines.size() == expected.size());
      for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!expected[i].is_null()) {
          INFO(name << ", record " << i);
          const double latency =
              psa_latency_ms(psa_of(replayed(initial, lines[i])), *psa_device("a100_40"));
          CHECK(latency == Approx(expected[i].get<double>()).epsilon(1e-6));
          ++latencies;
        }
      }
    }
  }
}

TEST_CASE("PSA latencies of made-up numbers and of tiled products", "[golden][cost]") {
  for (const GoldenFile& file : pruner_files("spec_cases.json")) {
    ComparedRows latencies(file.name);
    latencies.of("latencies");
    const Json cases = Json::parse(read_text(file.path));
    for (const Json& one : cases.at("score_only")) {
      FeatureBlock rows{psa_schema(), 0, {}};
      for (const Json& row : one.at("rows")) {
        const auto numbers = row.get<std::vector<float>>();
        std::copy(numbers.begin(), numbers.end(), rows.add_row().begin());
      }
      compare_latencies(rows, one.at("latency_ms"), latencies);
    }
    for (const Json& one : cases.at("gemm_tiles")) {
      compare_latencies(psa_of(tiled_product(one)), one.at("psa_latency_ms"), latencies);
    }
    for (const auto& [key, row] : cases.at("device_table").items()) {
      INFO(key);
      const std::optional<PsaDevice> device = psa_device(key);
      REQUIRE(device.has_value());
      CHECK(device->peak_gflops == row.at("peak_performance").get<double>());
      CHECK(device->dram_gb_per_s == row.at("glbmem_bandwidth").get<double>());
      CHECK(device->active_blocks_per_sm == row.at("active_blocks_per_sm").get<double>());
      CHECK(device->num_sms == row.at("sm_nums").get<double>());
      CHECK(device->partitions_per_sm == row.at("arch_sm_partition").get<double>());
      CHECK(device->warp_size == row.at("arch_warp_size").get<double>());
    }
  }
}

}  // namespace tensorsmith::test
