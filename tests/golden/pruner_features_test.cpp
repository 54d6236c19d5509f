// SPDX-License-Identifier: Apache-2.0
// requires: json
// What the reference's PSA and PAM extractors see of programs, CPU and GPU: the same numbers, to
// 1e-5, rows in any order.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/feature_rows.hpp"
#include "support/golden_tasks.hpp"
#include "support/pruner_programs.hpp"
#include "tensorsmith/feature/access_sequence.hpp"
#include "tensorsmith/feature/pam_rows.hpp"
#include "tensorsmith/feature/psa_rows.hpp"
#include "tensorsmith/feature/workload_embedding.hpp"

namespace tensorsmith::test {
namespace {

/// What differs from the closest of the rows that are left, for each expected one; empty if nothing
/// does. `difference(i, expected)`: of row i.
template <class Difference>
std::string unmatched_rows(std::size_t num_rows, const Json& expected,
                           const Difference& row_difference) {
  if (num_rows != expected.size()) {
    return std::to_string(num_rows) + " rows instead of " + std::to_string(expected.size());
  }
  std::string text;
  std::vector<bool> used(num_rows, false);
  for (const Json& row : expected) {
    const auto numbers = row.get<std::vector<double>>();
    std::string closest;
    std::size_t best = num_rows;
    for (std::size_t r = 0; r < num_rows; ++r) {
      std::string found = used[r] ? std::string() : row_difference(r, numbers);
      if (!used[r] && (best == num_rows || found.size() < closest.size())) {
        closest = std::move(found);
        best = r;
      }
    }
    used[best] = true;
    text += closest;
  }
  return text;
}

std::string block_difference(std::span<const float> row, const std::vector<double>& expected,
                             const BlockSchema& schema) {
  std::string text;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (!agrees(row[c], expected[c])) {
      text += schema.tags()[c] + " " + std::to_string(row[c]) + " instead of " +
              std::to_string(expected[c]) + "; ";
    }
  }
  return text;
}

std::string psa_difference(const PrunerFeatures& features, const Json& expected) {
  return unmatched_rows(features.psa.num_rows, expected,
                        [&](std::size_t r, const std::vector<double>& row) {
                          return block_difference(features.psa.row(r), row, *psa_schema());
                        });
}

std::string pam_difference(const PrunerFeatures& features, const Json& expected) {
  return unmatched_rows(features.pam.statements.num_rows, expected,
                        [&](std::size_t r, const std::vector<double>& row) {
                          return difference(features.pam.statements.row(r), row);
                        });
}

/// Rows of the pattern have an order.
std::string dataflow_difference(const PrunerFeatures& features, const Json& expected) {
  const std::span<const float> all(features.pam.dataflow);
  std::string text;
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const auto row = expected[r].get<std::vector<double>>();
    text += block_difference(all.subspan(r * dataflow_columns, dataflow_columns), row,
                             *dataflow_schema());
  }
  return text;
}

void compare(const PrunerFeatures& features, const Json& line) {
  CHECK(psa_difference(features, line.at("psa")) == "");
  CHECK(features.digits == line.at("pattern").get<std::string>());
  const std::size_t match = dataflow_match(features.digits);
  CHECK((match == std::string::npos ? -1 : static_cast<int>(match)) == line.at("match"));
  CHECK(pam_difference(features, line.at("pam")) == "");
  CHECK(dataflow_difference(features, line.at("block")) == "");
}

void compare_programs(const std::string& name, const std::string& samples) {
  for (const GoldenFile& file : pruner_files(name)) {
    ComparedRows programs(file.name);
    programs.of("programs' features");
    const PrunerPrograms known(samples);
    for (const Json& line : read_json_lines(file.path)) {
      if (!line.at("ok").get<bool>()) {
        continue;
      }
      INFO(line.at("task").get<std::string>() << ", sample " << line.at("sample"));
      compare(pruner_features(known.program(line.at("task"), line.at("sample"))), line);
      ++programs;
    }
  }
}

}  // namespace

TEST_CASE("PSA and PAM features of the reference's CUDA programs", "[golden][feature]") {
  compare_programs("features_cuda.jsonl", "samples_cuda.jsonl");
}

TEST_CASE("PSA and PAM features of the reference's CPU programs", "[golden][feature]") {
  compare_programs("features_cpu.jsonl", "samples_cpu.jsonl");
}

TEST_CASE("PSA and PAM features of tiled products", "[golden][feature]") {
  for (const GoldenFile& file : pruner_files("spec_cases.json")) {
    ComparedRows programs(file.name);
    programs.of("products' features");
    const Json cases = Json::parse(read_text(file.path));
    for (const Json& one : cases.at("gemm_tiles")) {
      INFO(one.at("case"));
      compare(pruner_features(tiled_product(one)), one);
      ++programs;
    }
  }
}

TEST_CASE("workload embeddings of the reference's programs", "[golden][feature]") {
  for (const GoldenFile& file : pruner_files("workload_embedding.json")) {
    ComparedRows tasks(file.name);
    tasks.of("tasks");
    const Json json = Json::parse(read_text(file.path));
    CHECK(json.at("tags").size() == embedding_words.size());
    for (const auto& [task, expected] : json.at("embedding").items()) {
      INFO(task);
      const WorkloadEmbedding numbers = workload_embedding(*golden_task(task).dag);
      CHECK(std::vector<float>(numbers.begin(), numbers.end()) ==
            expected.get<std::vector<float>>());
      ++tasks;
    }
  }
}

}  // namespace tensorsmith::test
