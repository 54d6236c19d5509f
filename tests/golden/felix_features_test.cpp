// SPDX-License-Identifier: Apache-2.0
// requires: json
// What Felix's extractor sees of the Ansor reference's CUDA programs: the same rows, to 1e-5.
#include "tensorsmith/feature/felix_rows.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/feature_rows.hpp"
#include "support/pruner_programs.hpp"

namespace tensorsmith::test {
namespace {

std::string row_difference(std::span<const float> row, const Json& expected) {
  std::string text;
  for (std::size_t c = 0; c < felix_length; ++c) {
    if (!agrees(row[c], expected.at(c).get<double>())) {
      text += felix_name(c) + " " + std::to_string(row[c]) + " instead of " +
              expected.at(c).dump() + "; ";
    }
  }
  return text;
}

std::string buffers_of(const FelixRows& rows, const ComputeDag& dag) {
  std::string text;
  for (const TensorId tensor : rows.tensors) {
    text += dag.tensor(tensor).name + " ";
  }
  return text;
}
std::string buffers_of(const Json& names) {
  std::string text;
  for (const Json& name : names) {
    text += name.get<std::string>() + " ";
  }
  return text;
}

void compare(const State& program, const Json& line) {
  const ProgramView view(program);
  const FelixRows& rows = view.part<felix_rows_of>(FeatureContext());
  if (!line.at("ok").is_null() && !line.at("ok").get<bool>()) {
    return;  // refused before its features were asked for
  }
  CHECK(rows.is_known == !line.at("ok").is_null());
  if (line.at("ok").is_null()) {
    return;
  }
  REQUIRE(buffers_of(rows, program.dag()) == buffers_of(line.at("stores")));
  for (std::size_t r = 0; r < rows.tensors.size(); ++r) {
    INFO(program.dag().tensor(rows.tensors[r]).name);
    CHECK(row_difference(std::span(rows.values).subspan(r * felix_length, felix_length),
                         line.at("features")[r]) == "");
  }
}

}  // namespace

TEST_CASE("Felix's features of the reference's CUDA programs", "[golden][feature]") {
  const PrunerPrograms programs("samples_cuda.jsonl");
  for (const GoldenFile& file : felix_files("features_cuda.jsonl")) {
    ComparedRows compared(file.name);
    compared.of("programs' features");
    for (const Json& line : read_json_lines(file.path)) {
      INFO(line.at("task").get<std::string>() << ", sample " << line.at("sample"));
      compare(programs.program(line.at("task"), line.at("sample")), line);
      ++compared;
    }
  }
}

TEST_CASE("feature names of Felix", "[golden][feature]") {
  for (const GoldenFile& file : felix_files("feature_names.json")) {
    const Json names = Json::parse(read_text(file.path));
    ComparedRows rows(file.name);
    REQUIRE(names.size() == felix_length);
    for (std::size_t i = 0; i < felix_length; ++i) {
      CHECK(felix_name(i) == names[i]);
      ++rows;
    }
  }
}

}  // namespace tensorsmith::test
