// SPDX-License-Identifier: Apache-2.0
// Records and steps as JSON text. Readers trust nothing: a field of the wrong kind or range is an
// error with its name.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t most_list_entries = 4'096;
constexpr std::size_t most_costs = 1'000'000;

template <class T>
struct ListElement {
  static constexpr bool is_list = false;
};
template <class T, std::size_t N>
struct ListElement<SmallVector<T, N>> {
  static constexpr bool is_list = true;
  using Type = T;
};

template <class T>
OrderedJson field_to_json(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, Hint>) {
    return value.text();
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (ListElement<T>::is_list) {
    OrderedJson list = OrderedJson::array();
    for (const auto entry : value) {
      list.push_back(entry);
    }
    return list;
  } else {
    static_assert(std::is_integral_v<T>);
    return value;
  }
}

template <class T>
bool integer_from_json(const Json& json, T& value) {
  if (!json.is_number_integer()) {
    return false;
  }
  if (json.is_number_unsigned()) {
    const std::uint64_t wide = json.get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
      return false;
    }
    value = static_cast<T>(wide);
    return true;
  }
  const std::int64_t wide = json.get<std::int64_t>();
  if constexpr (std::is_signed_v<T>) {
    if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
      return false;
    }
    value = static_cast<T>(wide);
    return true;
  } else {
    return false;  // negative, or nlohmann would have called it unsigned
  }
}

template <class T>
bool field_from_json(const Json& json, T& value) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Hint>) {
    if (!json.is_string()) {
      return false;
    }
    value = json.get<std::string>();
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    std::int32_t number = 0;
    if (!integer_from_json(json, number) || (number != 0 && number != 1)) {
      return false;
    }
    value = number == 1;
    return true;
  } else if constexpr (std::is_same_v<T, Annotation>) {
    std::int32_t number = 0;
    if (!integer_from_json(json, number) || number < 0 ||
        number > static_cast<std::int32_t>(Annotation::tensorize)) {
      return false;
    }
    value = static_cast<Annotation>(number);
    return true;
  } else if constexpr (ListElement<T>::is_list) {
    if (!json.is_array() || json.size() > most_list_entries) {
      return false;
    }
    value.clear();
    for (const Json& entry : json) {
      typename ListElement<T>::Type element{};
      if (!integer_from_json(entry, element)) {
        return false;
      }
      value.push_back(element);
    }
    return true;
  } else {
    return integer_from_json(json, value);
  }
}

OrderedJson step_to_json(const Step& step) {
  return std::visit(
      [](const auto& s) {
        using S = std::decay_t<decltype(s)>;
        OrderedJson list = OrderedJson::array();
        list.push_back(std::string(S::tag));
        S::fields()([&](auto... field) { (list.push_back(field_to_json(s.*field)), ...); });
        return list;
      },
      step);
}

template <class S>
std::optional<std::string> read_step(const Json& json, S& step) {
  constexpr std::size_t num_fields = S::fields()([](auto... field) { return sizeof...(field); });
  if (json.size() != num_fields + 1) {
    return "has " + std::to_string(json.size() - 1) + " fields, expected " +
           std::to_string(num_fields);
  }
  std::size_t position = 0;
  std::size_t bad = 0;
  S::fields()([&](auto... field) {
    (((++position, field_from_json(json[position], step.*field)) || (bad != 0) ||
      ((bad = position), true)),
     ...);
  });
  if (bad != 0) {
    return "field " + std::to_string(bad) + " is out of range or of the wrong kind";
  }
  return std::nullopt;
}

template <std::size_t I = 0>
Result<Step, RecordError> step_from_json(const Json& json, const std::string& tag) {
  if constexpr (I == std::variant_size_v<Step>) {
    return fail(RecordError{"unknown step " + in_quotes(tag)});
  } else {
    using S = std::variant_alternative_t<I, Step>;
    if (tag != S::tag) {
      return step_from_json<I + 1>(json, tag);
    }
    S step{};
    if (const std::optional<std::string> problem = read_step(json, step)) {
      return fail(RecordError{"step " + in_quotes(tag) + " " + *problem});
    }
    return Step(std::move(step));
  }
}

Result<std::vector<Step>, RecordError> steps_from_json(const Json& json) {
  if (!json.is_array()) {
    return fail(RecordError{"the steps are not a list"});
  }
  if (json.size() > most_record_steps) {
    return fail(RecordError{"a record of " + std::to_string(json.size()) + " steps, more than " +
                            std::to_string(most_record_steps)});
  }
  std::vector<Step> steps;
  for (const Json& entry : json) {
    if (!entry.is_array() || entry.empty() || !entry[0].is_string()) {
      return fail(RecordError{"step " + std::to_string(steps.size()) + " is not a tagged list"});
    }
    Result<Step, RecordError> step = step_from_json(entry, entry[0].get<std::string>());
    if (!step) {
      return fail(
          RecordError{"step " + std::to_string(steps.size()) + ": " + step.error().message});
    }
    steps.push_back(std::move(step).value());
  }
  if (const std::string problem = too_many_steps(steps); !problem.empty()) {
    return fail(RecordError{"a record of " + problem});
  }
  return steps;
}

OrderedJson steps_to_json(const std::vector<Step>& steps) {
  OrderedJson list = OrderedJson::array();
  for (const Step& step : steps) {
    list.push_back(step_to_json(step));
  }
  return list;
}

std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Json parse(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

double finite_or_zero(double value) { return std::isfinite(value) ? value : 0.0; }

/// Reads fields of one object and remembers the first problem.
class FieldReader {
 public:
  explicit FieldReader(const Json& json) : json_(json) {}

  void text(const char* name, std::string& value) {
    if (const Json* field = find(name)) {
      check(name, field->is_string());
      value = field->is_string() ? field->get<std::string>() : value;
    }
  }
  template <class T>
  void integer(const char* name, T& value, T low) {
    if (const Json* field = find(name)) {
      check(name, integer_from_json(*field, value) && value >= low);
    }
  }
  void boolean(const char* name, bool& value) {
    if (const Json* field = find(name)) {
      check(name, field->is_boolean());
      value = field->is_boolean() && field->get<bool>();
    }
  }
  void number(const char* name, double& value) {
    if (const Json* field = find(name)) {
      check(name,
            field->is_number() && std::isfinite(field->get<double>()) && field->get<double>() >= 0);
      value = field->is_number() ? field->get<double>() : 0;
    }
  }
  const Json* find(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) {
      note(std::string("field \"") + name + "\" is missing");
      return nullptr;
    }
    return &*found;
  }
  void note(std::string problem) { problem_ = problem_.empty() ? std::move(problem) : problem_; }
  const std::string& problem() const { return problem_; }

 private:
  void check(const char* name, bool is_good) {
    if (!is_good) {
      note(std::string("field \"") + name + "\" is out of range or of the wrong kind");
    }
  }
  const Json& json_;
  std::string problem_;
};

OrderedJson log_to_json(const LogFields& log) {
  OrderedJson json;
  if (log.hardware) {
    json["hardware"] = *log.hardware;
  }
  json["host"] = log.target_host;
  json["layout"] = log.layout_rewrite;
  json["inputs"] = log.input_names;
  json["costs"] = OrderedJson::array();
  for (const double cost : log.costs) {
    json["costs"].push_back(finite_or_zero(cost));
  }
  json["error"] = log.error;
  json["all_cost"] = finite_or_zero(log.all_cost);
  json["date"] = log.timestamp;
  if (!log.other_fields.empty()) {
    json["other"] = log.other_fields;
  }
  return json;
}

template <class List, class Read>
bool list_from_json(const Json& json, List& list, std::size_t most, const Read& read) {
  if (!json.is_array() || json.size() > most) {
    return false;
  }
  for (const Json& entry : json) {
    typename List::value_type value{};
    if (!read(entry, value)) {
      return false;
    }
    list.push_back(std::move(value));
  }
  return true;
}

std::optional<std::string> read_log(const Json& json, LogFields& log) {
  if (!json.is_object()) {
    return "field \"log\" is no object";
  }
  FieldReader in(json);
  const auto check = [&](const char* name, const auto& read) {
    const Json* const field = in.find(name);
    if (field != nullptr && !read(*field)) {
      in.note(std::string("field \"") + name + "\" is out of range or of the wrong kind");
    }
  };
  const auto real = [](const Json& field, double& value) {
    value = field.is_number() ? field.get<double>() : NAN;
    return std::isfinite(value);
  };
  if (json.contains("hardware")) {
    check("hardware", [&](const Json& field) {
      std::vector<std::int64_t> numbers;
      log.hardware.emplace();
      const bool is_good =
          list_from_json(field, numbers, log.hardware->size(), &integer_from_json<std::int64_t>) &&
          numbers.size() == log.hardware->size();
      std::copy(numbers.begin(), numbers.end(), log.hardware->begin());
      return is_good;
    });
  }
  in.text("host", log.target_host);
  check("layout", [&](const Json& f) { return integer_from_json(f, log.layout_rewrite); });
  check("inputs", [&](const Json& field) {
    return list_from_json(field, log.input_names, most_list_entries, &field_from_json<std::string>);
  });
  check("costs", [&](const Json& f) { return list_from_json(f, log.costs, most_costs, real); });
  check("error", [&](const Json& field) { return integer_from_json(field, log.error); });
  check("all_cost", [&](const Json& field) { return real(field, log.all_cost); });
  check("date", [&](const Json& field) { return integer_from_json(field, log.timestamp); });
  if (json.contains("other")) {
    in.text("other", log.other_fields);
    const Json other = parse("{" + log.other_fields + "}");
    if (!other.is_object()) {
      in.note("field \"other\" holds no fields");
    }
  }
  return in.problem().empty() ? std::nullopt : std::optional(in.problem());
}

constexpr std::string_view format_name(RecordKind kind) {
  return kind == RecordKind::trial ? "tensorsmith-1" : "tensorsmith-winner-1";
}

}  // namespace

std::string steps_to_text(const std::vector<Step>& steps) { return dump(steps_to_json(steps)); }

Result<std::vector<Step>, RecordError> steps_from_text(std::string_view text) {
  const Json json = parse(text);
  if (json.is_discarded()) {
    return fail(RecordError{"the steps are not JSON"});
  }
  return steps_from_json(json);
}

std::uint64_t hash_steps(const std::vector<Step>& steps) { return hash_text(steps_to_text(steps)); }

std::string record_to_line(const Record& record, RecordKind kind) {
  OrderedJson json;
  json["v"] = std::string(format_name(kind));
  json["workload"] = record.workload;
  json["key"] = record.workload_key;
  json["target"] = record.target;
  json["cpu"] = record.cpu;
  if (!record.machine.empty()) {
    json["machine"] = record.machine;
  }
  json["threads"] = record.num_threads;
  json["space"] = record.space;
  json["policy"] = record.policy;
  json["seed"] = record.seed;
  json["round"] = record.round;
  json["trial"] = record.trial;
  json["status"] = std::string(name_of(record.status));
  json["verified"] = record.is_verified;
  json["min_ns"] = finite_or_zero(record.min_ns);
  json["median_ns"] = finite_or_zero(record.median_ns);
  if (kind == RecordKind::winner) {
    json["low_ns"] = finite_or_zero(record.low_ns);
    json["high_ns"] = finite_or_zero(record.high_ns);
    json["ties"] = record.num_ties;
  }
  json["seconds"] = finite_or_zero(record.seconds);
  json["message"] = record.message;
  if (record.log) {
    json["log"] = log_to_json(*record.log);
  }
  json["steps"] = steps_to_json(record.steps);
  return dump(json);
}

namespace {

/// `wanted`: the only kind that is taken; nothing: the line says which one it is.
Result<JournalLine, RecordError> read_line(std::string_view line,
                                           std::optional<RecordKind> wanted) {
  const Json json = parse(line);
  if (json.is_discarded()) {
    return fail(RecordError{"not JSON"});
  }
  if (!json.is_object()) {
    return fail(RecordError{"not a JSON object"});
  }
  FieldReader in(json);
  JournalLine result;
  Record& record = result.record;
  std::string format;
  in.text("v", format);
  const bool is_winner = format == format_name(RecordKind::winner);
  result.kind = wanted.value_or(is_winner ? RecordKind::winner : RecordKind::trial);
  if (in.problem().empty() && format != format_name(result.kind)) {
    return fail(RecordError{"format " + in_quotes(format) + ", expected \"" +
                            std::string(format_name(result.kind)) + "\""});
  }
  in.text("workload", record.workload);
  in.text("key", record.workload_key);
  in.text("target", record.target);
  in.text("cpu", record.cpu);
  if (json.contains("machine")) {
    in.text("machine", record.machine);
  }
  in.integer<std::int32_t>("threads", record.num_threads, 1);
  in.text("space", record.space);
  in.text("policy", record.policy);
  in.integer<std::uint64_t>("seed", record.seed, 0);
  in.integer<std::int64_t>("round", record.round, 0);
  in.integer<std::int64_t>("trial", record.trial, 0);
  std::string status;
  in.text("status", status);
  if (const std::optional<MeasureStatus> known = measure_status_from_name(status)) {
    record.status = *known;
  } else {
    in.note("unknown status " + in_quotes(status));
  }
  in.boolean("verified", record.is_verified);
  in.number("min_ns", record.min_ns);
  in.number("median_ns", record.median_ns);
  if (is_winner && json.contains("low_ns")) {  // older winners have none
    in.number("low_ns", record.low_ns);
    in.number("high_ns", record.high_ns);
    in.integer<std::int32_t>("ties", record.num_ties, 0);
  }
  in.number("seconds", record.seconds);
  in.text("message", record.message);
  if (json.contains("log")) {
    if (const auto problem = read_log(json["log"], record.log.emplace())) {
      in.note(*problem);
    }
  }
  if (const Json* steps = in.find("steps")) {
    Result<std::vector<Step>, RecordError> read = steps_from_json(*steps);
    if (read) {
      record.steps = std::move(read).value();
    } else {
      in.note(read.error().message);
    }
  }
  if (in.problem().empty() && record.is_ok() && !(record.min_ns > 0 && record.median_ns > 0)) {
    in.note("an ok trial without times");
  }
  if (!in.problem().empty()) {
    return fail(RecordError{in.problem()});
  }
  return result;
}

}  // namespace

Result<Record, RecordError> record_from_line(std::string_view line, RecordKind kind) {
  Result<JournalLine, RecordError> read = read_line(line, kind);
  if (!read) {
    return fail(read.error());
  }
  return std::move(read).value().record;
}

Result<JournalLine, RecordError> journal_line_from_text(std::string_view line) {
  return read_line(line, std::nullopt);
}

}  // namespace tensorsmith
