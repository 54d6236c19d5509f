// SPDX-License-Identifier: Apache-2.0
// Steps as JSON text, as v0.6 records hold them, and the type that belongs to a tag.
//
// Floor 3. Ansor reference, ch. 3.3: arrays that begin with the tag, separated by ", ". Flags are 0
// or 1; a length that is still unknown is null. Not here: reading (the record library parses JSON
// and fills the fields of the type `visit_step_type` hands it).
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

namespace detail {

inline void append_json(std::string& out, std::int64_t value) {
  out += value == unknown_length ? "null" : std::to_string(value);
}
inline void append_json(std::string& out, std::int32_t value) { out += std::to_string(value); }
inline void append_json(std::string& out, bool value) { out += value ? '1' : '0'; }
inline void append_json(std::string& out, Annotation value) {
  out += std::to_string(static_cast<std::int32_t>(value));
}
inline void append_json(std::string& out, const std::string& value) {
  out += '"';
  for (char c : value) {
    switch (c) {
    case '\r':
      out += "\\r";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\\':
    case '"':
      out += '\\';
      out += c;
      break;
    default:
      out += c;
    }
  }
  out += '"';
}
inline void append_json(std::string& out, const Hint& value) { append_json(out, value.text()); }
template <class T, std::size_t N>
void append_json(std::string& out, const SmallVector<T, N>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += i == 0 ? "" : ", ";
    append_json(out, values[i]);
  }
  out += ']';
}

}  // namespace detail

inline void append_step_json(std::string& out, const Step& step) {
  std::visit(
      [&](const auto& s) {
        using T = std::decay_t<decltype(s)>;
        out += "[\"";
        out += T::tag;
        out += '"';
        T::fields()(
            [&](auto... field) { ((out += ", ", detail::append_json(out, s.*field)), ...); });
        out += ']';
      },
      step);
}

inline std::string steps_json(const std::vector<Step>& steps) {
  std::string out = "[";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    out += i == 0 ? "" : ", ";
    append_step_json(out, steps[i]);
  }
  return out + "]";
}

namespace detail {
template <class F, std::size_t... I>
bool visit_step_type(std::string_view tag, F& f, std::index_sequence<I...>) {
  const auto try_one = [&](auto type) {
    using T = typename decltype(type)::type;
    if (T::tag != tag) {
      return false;
    }
    f(type);
    return true;
  };
  return (try_one(std::type_identity<std::variant_alternative_t<I, Step>>{}) || ...);
}
}  // namespace detail

/// Calls f(std::type_identity<TheStep>{}) for the step type with this tag; false if there is none.
/// Its T::fields() are the record's elements in order.
template <class F>
bool visit_step_type(std::string_view tag, F&& f) {
  return detail::visit_step_type(tag, f, std::make_index_sequence<std::variant_size_v<Step>>{});
}

}  // namespace tensorsmith
