// SPDX-License-Identifier: Apache-2.0
// Numbers inside of steps, by field and item: what an expression of a template may stand for.
//
// Floor 6. Own design. A field has the number it has in the step's fields(); an item counts inside
// of a list, and among the fields of a hint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

struct StepField {
  std::size_t field = 0, item = 0;
};

namespace detail {

inline bool write_number(std::int32_t& to, std::size_t, std::int64_t value) {
  to = static_cast<std::int32_t>(value);
  return value >= INT32_MIN && value <= INT32_MAX;
}
inline bool write_number(std::int64_t& to, std::size_t, std::int64_t value) {
  to = value;
  return true;
}
inline bool write_number(bool& to, std::size_t, std::int64_t value) {
  to = value != 0;
  return value == 0 || value == 1;
}
inline bool write_number(Annotation& to, std::size_t, std::int64_t value) {
  to = static_cast<Annotation>(value);
  return value >= 0 && value <= static_cast<std::int64_t>(Annotation::tensorize);
}
inline bool write_number(std::string&, std::size_t, std::int64_t) { return false; }
inline bool write_number(Hint& to, std::size_t item, std::int64_t value) {
  return to.set_number(item, value);
}
template <class T, std::size_t N>
bool write_number(SmallVector<T, N>& to, std::size_t item, std::int64_t value) {
  return item < to.size() && write_number(to[item], 0, value);
}

inline std::optional<std::int64_t> read_number(const std::string&, std::size_t) {
  return std::nullopt;
}
inline std::optional<std::int64_t> read_number(const Hint& from, std::size_t item) {
  return from.number(item);
}
template <class T>
std::optional<std::int64_t> read_number(const T& from, std::size_t) {
  return static_cast<std::int64_t>(from);
}
template <class T, std::size_t N>
std::optional<std::int64_t> read_number(const SmallVector<T, N>& from, std::size_t item) {
  return item < from.size() ? std::optional<std::int64_t>(from[item]) : std::nullopt;
}

/// Calls use(member) for one field of a step; false if it has none of that number.
template <class AnyStep, class Use>
bool use_field(AnyStep& step, std::size_t field, const Use& use) {
  return std::visit(
      [&](auto& s) {
        return std::remove_reference_t<decltype(s)>::fields()([&](auto... member) {
          std::size_t at = 0;
          bool done = false;
          ((at++ == field ? void(done = use(s.*member)) : void()), ...);
          return done;
        });
      },
      step);
}

}  // namespace detail

/// False if the step has no such number, or it cannot have this value.
inline bool set_field(Step& step, StepField at, std::int64_t value) {
  return detail::use_field(
      step, at.field, [&](auto& member) { return detail::write_number(member, at.item, value); });
}

inline std::optional<std::int64_t> get_field(const Step& step, StepField at) {
  std::optional<std::int64_t> found;
  detail::use_field(step, at.field, [&](const auto& member) {
    found = detail::read_number(member, at.item);
    return true;
  });
  return found;
}

}  // namespace tensorsmith
