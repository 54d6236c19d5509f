// SPDX-License-Identifier: Apache-2.0
// v0.6 records: a reader that goes once over the bytes, and the writer. Logs have tens of
// thousands of lines of a kilobyte, so no tree of values is built.
#include "tensorsmith/record/ansor_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "record/log_cursor.hpp"
#include "tensorsmith/record/foreign_log.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/text_writer.hpp"

namespace tensorsmith {
namespace ansor_line {
namespace {

constexpr std::size_t most_list_entries = 4'096;

void read_field(Cursor& in, std::int32_t& value) { in.read_integer(value, "a step"); }
/// A record holds no length that is still open.
void read_field(Cursor& in, std::int64_t& value) {
  in.read_integer(value, "a step");
  if (value == unknown_length) {
    in.note("expected a length in a step");
  }
}
void read_field(Cursor& in, std::string& value) { in.read(value, "a step"); }
void read_field(Cursor& in, Hint& value) {
  std::string text;
  in.read(text, "a step");
  value = Hint(std::move(text));
}
void read_field(Cursor& in, bool& value) {
  std::int32_t number = 0;
  in.read_integer(number, "a step");
  value = number == 1;
  if (number != 0 && number != 1) {
    in.note("expected 0 or 1 in a step");
  }
}
void read_field(Cursor& in, Annotation& value) {
  std::int32_t number = 0;
  in.read_integer(number, "a step");
  if (number < 0 || number > static_cast<std::int32_t>(Annotation::tensorize)) {
    return in.note("unknown annotation in a step");
  }
  value = static_cast<Annotation>(number);
}
template <class T, std::size_t N>
void read_field(Cursor& in, SmallVector<T, N>& list) {
  in.expect('[', "before a list of a step");
  for (bool is_first = true; in.next(']', is_first, "in a list of a step");) {
    T value{};
    read_field(in, value);
    list.push_back(value);
    if (list.size() > most_list_entries) {
      in.note("a list of a step is too long");
    }
  }
}

template <class S>
void read_fields(Cursor& in, std::vector<Step>& steps) {
  S step{};
  S::fields()([&](auto... field) {
    ((in.expect(',', "in a step"), in.is_good() ? read_field(in, step.*field) : void()), ...);
  });
  in.expect(']', "behind a step");
  if (in.is_good()) {
    steps.emplace_back(std::move(step));
  }
}

void read_step(Cursor& in, std::string& tag, std::vector<Step>& steps) {
  in.expect('[', "before a step");
  in.read(tag, "the tag of a step");
  if (!in.is_good()) {
    return;
  }
  bool is_known = false;
  visit_step_type(tag, [&](auto type) {
    using S = typename decltype(type)::type;
    if constexpr (step_traits<S>().is_of_the_reference) {
      is_known = true;
      read_fields<S>(in, steps);
    }
  });
  if (!is_known) {
    in.note("unknown step " + in_quotes(tag));
  } else if (const auto* pragma = steps.empty() ? nullptr : std::get_if<PragmaStep>(&steps.back());
             pragma != nullptr && !traits_of(pragma->hint).is_of_the_reference) {
    in.note("unknown pragma " + in_quotes(pragma->hint.text()));
  } else if (steps.size() > most_record_steps) {
    in.note(too_many_steps(steps));
  }
}

/// [workload key, target, [hardware], host, layout option, [input names]]: two, three, five or six.
void read_task(Cursor& in, AnsorRecord& record) {
  in.expect('[', "before the task");
  in.read(record.workload_key, "the workload key");
  in.expect(',', "behind the workload key");
  in.read(record.target, "the target");
  if (in.accept(']')) {
    return;
  }
  in.expect(',', "behind the target");
  in.expect('[', "before the hardware");
  AnsorHardware hardware{};
  std::size_t count = 0;
  for (bool is_first = true; in.next(']', is_first, "in the hardware"); ++count) {
    if (count == hardware.size()) {
      return in.note("more than eight numbers in the hardware");
    }
    in.read_integer(hardware[count], "the hardware");
  }
  if (in.is_good() && count != hardware.size()) {
    return in.note("fewer than eight numbers in the hardware");
  }
  record.hardware = hardware;
  if (in.accept(']')) {
    return;
  }
  in.expect(',', "behind the hardware");
  in.read(record.target_host, "the host's target");
  in.expect(',', "behind the host's target");
  in.read_integer(record.layout_rewrite, "the layout option");
  if (in.accept(']')) {
    return;
  }
  in.expect(',', "behind the layout option");
  in.expect('[', "before the input names");
  for (bool is_first = true; in.next(']', is_first, "in the input names");) {
    in.read(record.input_names.emplace_back(), "the input names");
  }
  in.expect(']', "behind the task");
}

void read_input(Cursor& in, AnsorRecord& record, std::string& scratch) {
  in.expect('[', "before the input");
  read_task(in, record);
  in.expect(',', "behind the task");
  in.expect('[', "before the state");
  in.expect('[', "before the stages");
  in.expect(']', "behind the stages, which a record does not hold");
  in.expect(',', "behind the stages");
  in.expect('[', "before the steps");
  record.steps.reserve(32);
  for (bool is_first = true; in.next(']', is_first, "in the steps");) {
    read_step(in, scratch, record.steps);
  }
  if (const std::string problem = too_many_steps(record.steps); !problem.empty()) {
    in.note(problem);
  }
  in.expect(']', "behind the state");
  in.expect(']', "behind the input");
}

void read_result(Cursor& in, AnsorRecord& record) {
  in.expect('[', "before the result");
  in.expect('[', "before the costs");
  for (bool is_first = true; in.next(']', is_first, "in the costs");) {
    in.read_real(record.costs.emplace_back(), "the costs");
  }
  in.expect(',', "behind the costs");
  in.read_integer(record.error, "the error number");
  in.expect(',', "behind the error number");
  in.read_real(record.all_cost, "the time of the measurement");
  in.expect(',', "behind the time of the measurement");
  in.read_integer(record.timestamp, "the date");
  in.expect(']', "behind the result");
}

void append_text(std::string& out, const std::string& text) { detail::append_json(out, text); }

template <class List, class Append>
void append_list(std::string& out, const List& list, const Append& append) {
  out += '[';
  bool is_first = true;
  for (const auto& item : list) {
    out += is_first ? "" : ", ";
    is_first = false;
    append(item);
  }
  out += ']';
}

}  // namespace
}  // namespace ansor_line

double AnsorRecord::mean_cost() const {
  if (costs.empty()) {
    return 1e10;
  }
  double sum = 0;
  for (const double cost : costs) {
    sum += cost;
  }
  return sum / static_cast<double>(costs.size());
}

Result<AnsorRecord, RecordError> ansor_record_from_line(std::string_view line) {
  AnsorRecord record;
  ansor_line::Cursor in(line);
  std::string name;
  bool has_input = false, has_result = false;
  in.expect('{', "at the beginning");
  for (bool is_first = true; in.next('}', is_first, "in the record");) {
    in.read(name, "a field's name");
    in.expect(':', "behind a field's name");
    if (name == "i" && !has_input) {
      ansor_line::read_input(in, record, name);
      has_input = true;
    } else if (name == "r" && !has_result) {
      ansor_line::read_result(in, record);
      has_result = true;
    } else if (name == "v") {
      in.read(name, "the format");
    } else if (name == "i" || name == "r") {
      in.note("field \"" + name + "\" twice");
    } else {
      const std::string_view value = in.read_any("a field");
      const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
      if (std::any_of(value.begin(), value.end(), is_control) ||
          std::any_of(name.begin(), name.end(), is_control)) {
        in.note("a control character in a field");
      }
      record.other_fields += record.other_fields.empty() ? "" : ", ";
      ansor_line::append_text(record.other_fields, name);
      record.other_fields.append(": ").append(value);
    }
  }
  if (in.is_good() && !in.is_at_end()) {
    in.note("text behind the record");
  }
  if (in.is_good() && !(has_input && has_result)) {
    in.note(has_input ? "no result" : "no input");
  }
  if (!in.is_good()) {
    return fail(RecordError{in.problem()});
  }
  return record;
}

Result<std::string, RecordError> ansor_record_to_line(const AnsorRecord& record) {
  std::string out = "{\"i\": [[";
  ansor_line::append_text(out, record.workload_key);
  out += ", ";
  ansor_line::append_text(out, record.target);
  if (record.hardware) {
    out += ", ";
    ansor_line::append_list(out, *record.hardware,
                            [&](std::int64_t value) { out += std::to_string(value); });
    out += ", ";
    ansor_line::append_text(out, record.target_host);
    out += ", " + std::to_string(record.layout_rewrite) + ", ";
    ansor_line::append_list(out, record.input_names,
                            [&](const std::string& name) { ansor_line::append_text(out, name); });
  }
  out += "], [[], [";
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    const auto* pragma = std::get_if<PragmaStep>(&record.steps[i]);
    if (!traits_of(record.steps[i]).is_of_the_reference) {
      return fail(RecordError{"step " + std::to_string(i) + " \"" +
                              std::string(tag_of(record.steps[i])) +
                              (pragma != nullptr ? " " + pragma->hint.text() : std::string()) +
                              "\" is not in this format"});
    }
    if (const auto* split = std::get_if<SplitStep>(&record.steps[i]);
        split != nullptr &&
        (split->extent == unknown_length ||
         std::count(split->lengths.begin(), split->lengths.end(), unknown_length) > 0)) {
      return fail(RecordError{"step " + std::to_string(i) + " has a length that is still open"});
    }
    out += i == 0 ? "" : ", ";
    append_step_json(out, record.steps[i]);
  }
  out += "]]], \"r\": [";
  ansor_line::append_list(out, record.costs, [&](double cost) { out += text_of_real(cost, 6); });
  out += ", " + std::to_string(record.error) + ", " + text_of_real(record.all_cost, 6) + ", " +
         std::to_string(record.timestamp) + "], \"v\": \"v0.6\"";
  if (!record.other_fields.empty()) {
    out += ", " + record.other_fields;
  }
  return out + '}';
}

AnsorLog ansor_log_from_text(std::string_view text) {
  AnsorLog log;
  if (text.starts_with("\xEF\xBB\xBF")) {  // the mark that some editors put before UTF-8
    text.remove_prefix(3);
  }
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line[0] == '#' || line[0] == ' ' || line == "\r") {
      continue;
    }
    Result<AnsorRecord, RecordError> record = ansor_record_from_line(line);
    if (record) {
      log.records.push_back(std::move(record).value());
    } else {
      log.skipped.push_back({number, record.error().message});
    }
  }
  return log;
}

Result<AnsorLog, RecordError> read_ansor_log(const std::string& path) {
  const Result<std::string, FileError> text = read_file(path);
  if (!text) {
    return fail(RecordError{text.error().message});
  }
  AnsorLog log = ansor_log_from_text(*text);
  if (log.records.empty() && !log.skipped.empty()) {
    const std::string foreign = describe_foreign_log(*text);
    return fail(RecordError{in_quotes(path, 1000) +
                            (!foreign.empty() ? " " + foreign
                                              : " holds no records; line " +
                                                    std::to_string(log.skipped[0].number) + ": " +
                                                    log.skipped[0].reason)});
  }
  return log;
}

}  // namespace tensorsmith
