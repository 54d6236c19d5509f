// SPDX-License-Identifier: Apache-2.0
#include "onnx/operator_table.hpp"

#include <array>
#include <charconv>

#include "onnx/readers.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

constexpr auto node = OnnxStatus::node;
constexpr auto rewritten = OnnxStatus::rewritten;
constexpr auto folded = OnnxStatus::folded;
constexpr auto refused = OnnxStatus::refused;

constexpr OperatorRow rows[] = {
#define ONNX_OPERATOR_OF(domain, name, versions, inputs, outputs, attributes, status, reader,      \
                         reason)                                                                   \
  {domain, #name, versions, inputs, outputs, attributes, status, reader, reason},
#define ONNX_OPERATOR(name, versions, inputs, outputs, attributes, status, reader, reason)         \
  {"", #name, versions, inputs, outputs, attributes, status, reader, reason},
#include "onnx/operators.def"
#undef ONNX_OPERATOR
#undef ONNX_OPERATOR_OF
};

std::string_view next_word(std::string_view& rest, char separator = ' ') {
  const std::size_t end = rest.find(separator);
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return word;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "least..most" of inputs; * is any number.
struct Count {
  std::size_t least = 0, most = 0;
};
Count num_inputs(const OperatorRow& row, std::int64_t version) {
  Count count;
  for (std::string_view rest = row.num_inputs; !rest.empty();) {
    std::string_view word = next_word(rest);
    const bool has_version = word.find(':') != std::string_view::npos;
    if (has_version && number(next_word(word, ':')) > version) {
      break;
    }
    count.least = static_cast<std::size_t>(number(word));
    const std::string_view most = word.substr(word.find("..") + 2);
    count.most = most == "*" ? SIZE_MAX : static_cast<std::size_t>(number(most));
  }
  return count;
}

AttributeType type_of(char letter) {
  constexpr std::string_view letters = "?fistgFISTG";
  return static_cast<AttributeType>(letters.find(letter));
}
std::string_view type_text(AttributeType type) {
  constexpr std::array<std::string_view, 11> texts = {
      "nothing",      "a real number", "an integer", "a text",  "a tensor", "a graph",
      "real numbers", "integers",      "texts",      "tensors", "graphs"};
  return texts[static_cast<std::size_t>(type)];
}

/// One word of OperatorRow::attributes.
struct AttributeRule {
  std::string_view name;
  AttributeType type = AttributeType::undefined;
  bool is_needed = false;
  std::int64_t since = 0, before = INT64_MAX;
};
AttributeRule rule_of(std::string_view word) {
  AttributeRule rule;
  rule.name = next_word(word, ':');
  rule.type = type_of(word.front());
  word.remove_prefix(1);
  if (word.starts_with("!")) {
    rule.is_needed = true;
    word.remove_prefix(1);
  }
  if (word.starts_with(">=")) {
    rule.since = number(word.substr(2));
    const std::size_t end = word.find('<');
    word.remove_prefix(end == std::string_view::npos ? word.size() : end);
  }
  if (word.starts_with("<")) {
    rule.before = number(word.substr(1));
  }
  return rule;
}

std::string attribute_problem(const OperatorRow& row, std::int64_t version,
                              const NodeMessage& its_node) {
  std::size_t num_known = 0;
  std::vector<bool> is_known(its_node.attributes.size());
  for (std::string_view rest = row.attributes; !rest.empty();) {
    const AttributeRule rule = rule_of(next_word(rest));
    if (version < rule.since || version >= rule.before) {
      continue;
    }
    std::size_t num_given = 0;
    for (std::size_t i = 0; i < its_node.attributes.size(); ++i) {
      const AttributeMessage& attribute = its_node.attributes[i];
      if (attribute.name != rule.name) {
        continue;
      }
      is_known[i] = true;
      ++num_known;
      if (++num_given > 1) {
        return "it has the attribute " + in_quotes(rule.name) + " twice";
      }
      if (attribute.type != rule.type) {
        return "its attribute " + in_quotes(rule.name) + " is " +
               std::string(type_text(attribute.type)) + ", not " +
               std::string(type_text(rule.type));
      }
    }
    if (rule.is_needed && num_given == 0) {
      return "it lacks the attribute " + in_quotes(rule.name);
    }
  }
  for (std::size_t i = 0; i < is_known.size() && num_known < is_known.size(); ++i) {
    if (!is_known[i]) {
      return "the attribute " + in_quotes(its_node.attributes[i].name) + " is none of " +
             std::string(row.name) + " version " + std::to_string(version);
    }
  }
  return {};
}

std::string amount(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::span<const OperatorRow> operator_rows() { return rows; }

const OperatorRow* find_operator(std::string_view domain, std::string_view name) {
  for (const OperatorRow& row : rows) {
    const bool is_of_domain = is_own_domain(domain) ? row.domain.empty() : row.domain == domain;
    if (is_of_domain && row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

std::vector<std::int64_t> versions_of(const OperatorRow& row) {
  std::vector<std::int64_t> versions;
  for (std::string_view rest = row.versions; !rest.empty();) {
    versions.push_back(number(next_word(rest)));
  }
  return versions;
}

std::int64_t version_in_force(const OperatorRow& row, std::int64_t opset) {
  std::int64_t version = 0;
  for (const std::int64_t since : versions_of(row)) {
    version = since <= opset ? since : version;
  }
  return version;
}

std::string problem_of(const OperatorRow& row, std::int64_t version, const NodeMessage& its_node) {
  const Count count = num_inputs(row, version);
  std::size_t given = its_node.inputs.size();
  while (given > 0 && its_node.inputs[given - 1].empty()) {
    --given;  // absent ones at the end
  }
  if (given < count.least || given > count.most) {
    const bool is_exact = count.least == count.most;
    const bool is_too_few = given < count.least;
    return "it has " + amount(given, "input") + ", " +
           (is_exact     ? ""
            : is_too_few ? "at least "
                         : "at most ") +
           std::to_string(is_too_few ? count.least : count.most) + " are expected";
  }
  for (std::size_t i = 0; i < count.least; ++i) {
    if (its_node.inputs[i].empty()) {
      return "its input " + std::to_string(i) + " is absent";
    }
  }
  const std::size_t most_outputs =
      row.num_outputs == "*" ? SIZE_MAX : static_cast<std::size_t>(number(row.num_outputs));
  if (its_node.outputs.empty() || its_node.outputs.size() > most_outputs) {
    return "it has " + amount(its_node.outputs.size(), "result") +
           (its_node.outputs.empty()
                ? ""
                : ", at most " + std::to_string(most_outputs) + " are expected");
  }
  return attribute_problem(row, version, its_node);
}

}  // namespace tensorsmith::onnx
