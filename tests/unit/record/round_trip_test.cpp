// SPDX-License-Identifier: Apache-2.0
// Laws: what a log says survives a journal, and both survive their texts.
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/record/convert.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/support/text_writer.hpp"

using namespace tensorsmith;

namespace {

class Draw {
 public:
  explicit Draw(std::uint32_t number) : rng_(test::seed(), 7, number) {}

  std::uint32_t below(std::uint32_t bound) { return rng_.next_below(bound); }
  bool coin() { return below(2) == 0; }
  std::int64_t integer() {
    const auto high = static_cast<std::int64_t>(rng_.next_u64() >> below(64));
    return coin() ? high : -high;
  }
  double real() {
    const double value =
        std::ldexp(static_cast<double>(1 + below(1u << 30)), static_cast<int>(below(80)) - 70);
    return below(8) == 0 ? 1e10 : std::stod(text_of_real(value, 6));  // as logs hold them
  }
  std::string text() {
    static const char* const pieces[] = {"a",
                                         "\\",
                                         "\"",
                                         " ",
                                         "\n",
                                         "\t",
                                         "\r",
                                         "[",
                                         "]",
                                         "{",
                                         ",",
                                         "\xC3\xA4",
                                         "\xF0\x9F\x98\x80",
                                         "512",
                                         "-mcpu=x"};
    std::string text;
    for (std::uint32_t i = below(9); i > 0; --i) {
      text += pieces[below(std::size(pieces))];
    }
    return text;
  }
  /// Any value of JSON, as it may stand in a file.
  std::string json(int depth) {
    switch (below(depth > 0 ? 7 : 5)) {
    case 0:
      return std::to_string(integer());
    case 1:
      return "true";
    case 2:
      return "null";
    case 3:
      return "-1.5e-07";
    case 4:
      return "\"\\u00e4 \\\"x\\\" [}\"";
    case 5:
      return "[" + json(depth - 1) + (coin() ? "," + json(depth - 1) : "") + "]";
    default:
      return "{\"k\":" + json(depth - 1) + " }";
    }
  }

  void field(std::int32_t& value) { value = static_cast<std::int32_t>(integer()); }
  void field(std::int64_t& value) { value = std::abs(integer()); }
  void field(std::string& value) { value = coin() ? "local" : "shared"; }
  void field(Hint& value) { value = hints::AutoUnroll{static_cast<std::int32_t>(below(1024))}; }
  void field(bool& value) { value = coin(); }
  void field(Annotation& value) { value = static_cast<Annotation>(below(12)); }
  template <class T, std::size_t N>
  void field(SmallVector<T, N>& list) {
    for (std::uint32_t i = below(7); i > 0; --i) {
      T value{};
      field(value);
      list.push_back(value);
    }
  }
  template <class S>
  Step step() {
    S made{};
    S::fields()([&](auto... member) { (field(made.*member), ...); });
    return made;
  }
  template <std::size_t I = 0>
  Step step_of(std::size_t kind) {
    if constexpr (I + 1 == std::variant_size_v<Step>) {
      return step<std::variant_alternative_t<I, Step>>();
    } else {
      return kind == I ? step<std::variant_alternative_t<I, Step>>() : step_of<I + 1>(kind);
    }
  }

  AnsorRecord record() {
    AnsorRecord made;
    made.workload_key = "[\"" + std::to_string(integer()) + "\", " + text() + "]";
    made.target = text();
    if (below(4) != 0) {
      made.hardware.emplace();
      for (std::int64_t& number : *made.hardware) {
        number = integer();
      }
      made.target_host = text();
      made.layout_rewrite = below(3);
      for (std::uint32_t i = below(3); i > 0; --i) {
        made.input_names.push_back(text());
      }
    }
    for (std::uint32_t i = below(12); i > 0; --i) {
      Step drawn = step_of(below(std::variant_size_v<Step>));
      if (std::holds_alternative<PragmaStep>(drawn) || traits_of(drawn).is_of_the_reference) {
        made.steps.push_back(std::move(drawn));
      }
    }
    for (std::uint32_t i = below(5); i > 0; --i) {
      made.costs.push_back(below(6) == 0 ? 0 : real());
    }
    made.error = coin() ? 0 : integer();
    made.all_cost = real();
    made.timestamp = integer();
    for (std::uint32_t i = below(3); i > 0; --i) {
      made.other_fields +=
          (made.other_fields.empty() ? "\"x" : ", \"x") + std::to_string(i) + "\": " + json(3);
    }
    return made;
  }

 private:
  CounterRng rng_;
};

}  // namespace

TEST_CASE("law: a log's record is the same behind its text, and behind a journal", "[record]") {
  std::uint32_t num_with_others = 0, num_costs = 0;
  for (std::uint32_t number = 0; number < 3000; ++number) {
    INFO("seed " << test::seed() << ", number " << number);
    const AnsorRecord record = Draw(number).record();
    const Result<std::string, RecordError> line = ansor_record_to_line(record);
    REQUIRE(line);
    INFO(*line);
    const Result<AnsorRecord, RecordError> read = ansor_record_from_line(*line);
    REQUIRE(read);
    REQUIRE(*read == record);

    const std::string journal = record_to_line(record_from_ansor(record));
    INFO(journal);
    const Result<Record, RecordError> kept = record_from_line(journal);
    REQUIRE(kept);
    REQUIRE(record_to_ansor(*kept) == record);
    REQUIRE(*ansor_record_to_line(record_to_ansor(*kept)) == *line);
    REQUIRE(record_to_line(*kept) == journal);
    num_with_others += record.other_fields.empty() ? 0 : 1;
    num_costs += record.costs.size() > 1 ? 1 : 0;
  }
  CHECK(num_with_others > 500);
  CHECK(num_costs > 500);
}

TEST_CASE("fields of later versions are kept as they stand", "[record]") {
  const std::string task = R"({"i": [["k", "llvm"], [[], []]], )";
  const std::string line = task + R"("r": [[0.5], 0, 1, 7], "v": "v0.6", "w": {"a": [1, "b"]}})";
  const Result<AnsorRecord, RecordError> record = ansor_record_from_line(line);
  REQUIRE(record);
  CHECK(record->other_fields == R"("w": {"a": [1, "b"]})");
  CHECK(*ansor_record_to_line(*record) == line);
  const auto problem = [&](const std::string& field) {
    const auto read = ansor_record_from_line(task + R"("r": [[0.5], 0, 1, 7], )" + field + "}");
    return read ? std::string() : read.error().message;
  };
  CHECK(problem(R"("w": [1, 2)") != "");
  CHECK(problem(R"("w": nothing)") == "expected a value in a field");
  CHECK(problem(R"("w": 1e999)") == "expected a value in a field");
  CHECK(problem("\"w\": \"\x01\"") == "a control character in a field");
  CHECK(problem("\"w\": " + std::string(1000, '[')) == "too deep a value in a field");
  CHECK(problem(R"("i": [["k", "llvm"], [[], []]])") == "field \"i\" twice");
}

TEST_CASE("text of a log may be written in units of UTF-16", "[record]") {
  const auto key = [](const std::string& text) {
    const auto record = ansor_record_from_line(R"({"i": [[")" + text +
                                               R"(", "llvm"], [[], []]], "r": [[0.5], 0, 1, 7]})");
    return record ? record->workload_key : "error: " + record.error().message;
  };
  CHECK(key(R"(\u0041\u00e4\u20AC\ud83d\ude00\b\f)") ==
        "A\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\b\f");
  for (const char* wrong : {R"(\ud83d)", R"(\ud83d\u0041)", R"(\ude00)", R"(\u12)", R"(\ux000)"}) {
    CHECK(key(wrong) == "error: unknown escape in the workload key");
  }
}

TEST_CASE("schedules of a thousand stages are read back, those of a thousand loops are not",
          "[record]") {
  Record record;
  record.workload = "chain";
  for (std::int32_t stage = 3000; stage > 0; --stage) {
    record.steps.push_back(ComputeInlineStep{stage});
  }
  const auto read = record_from_line(record_to_line(record));
  REQUIRE(read);
  CHECK(read->steps == record.steps);
  const auto logged = ansor_record_to_line(record_to_ansor(record));
  REQUIRE(logged);
  const auto read_log = ansor_record_from_line(*logged);
  REQUIRE(read_log);
  CHECK(read_log->steps == record.steps);

  record.steps.assign(most_stage_steps + 1, SplitStep{2, 0, 12, {1}, true});
  const auto refused = record_from_line(record_to_line(record));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("more than 1000 steps of stage 2") != std::string::npos);
  const auto refused_log = ansor_record_from_line(*ansor_record_to_line(record_to_ansor(record)));
  REQUIRE_FALSE(refused_log);
  CHECK(refused_log.error().message == "more than 1000 steps of stage 2");
}
