// SPDX-License-Identifier: Apache-2.0
// Steps from the JSON arrays of v0.6 records; null is an unknown split length.
//
// Test support. Fields are filled in the order of Step::fields(), whatever the step.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensorsmith/sched/step_json.hpp"

namespace tensorsmith::test {

namespace json_steps {

using nlohmann::json;

inline void read(const json& from, std::int32_t& to) { to = from.get<std::int32_t>(); }
inline void read(const json& from, std::int64_t& to) {
  to = from.is_null() ? unknown_length : from.get<std::int64_t>();
}
inline void read(const json& from, bool& to) { to = from.get<int>() != 0; }
inline void read(const json& from, std::string& to) { to = from.get<std::string>(); }
inline void read(const json& from, Hint& to) { to = from.get<std::string>(); }
inline void read(const json& from, Annotation& to) {
  to = static_cast<Annotation>(from.get<std::int32_t>());
}
template <class T, std::size_t N>
void read(const json& from, SmallVector<T, N>& to) {
  to.clear();
  for (const json& item : from) {
    T value;
    read(item, value);
    to.push_back(value);
  }
}

}  // namespace json_steps

inline Step step_from_json(const nlohmann::json& record) {
  Step result = ComputeRootStep{};
  const std::string tag = record.at(0);
  const bool known = visit_step_type(tag, [&](auto type) {
    typename decltype(type)::type step{};
    std::size_t at = 1;
    step.fields()([&](auto... field) { (json_steps::read(record.at(at++), step.*field), ...); });
    result = step;
  });
  if (!known) {
    throw std::runtime_error("unknown step tag " + tag);
  }
  return result;
}

inline std::vector<Step> steps_from_json(const nlohmann::json& records) {
  std::vector<Step> steps;
  for (const nlohmann::json& record : records) {
    steps.push_back(step_from_json(record));
  }
  return steps;
}

}  // namespace tensorsmith::test
