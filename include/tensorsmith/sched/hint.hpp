// SPDX-License-Identifier: Apache-2.0
// Hint: a remark for lowering, as records hold it and as a struct.
//
// Floor 3. Own design. A kind of hint is a struct with a name, fields, and what is legal of them;
// its text is the name and every field behind a dollar sign:
//     struct RowBlock { name = "row_block"; std::int32_t rows; }     RowBlock{4} <--> "row_block$4"
// A Hint keeps the text that it was made of, so that records stay as they are; who wants to know
// what it says asks for a struct. Fields are numbers from 0 to 2^31-1; the last one may be a word.
// Not here: the kinds of the library (hints.hpp), which kinds there are (hint_list.hpp).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tensorsmith/sched/schedule_error_code.hpp"
#include "tensorsmith/sched/step_traits.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct LoopProgram;

/// A struct is a kind of hint if it has these. Beside them it may have
///   slot           hints of one slot replace each other on a stage; else each has its own
///   error          why values are refused; else pragma_value
///   is_set()       whether the stage has the hint afterwards, or none in that slot
///   state_text()   its line in the text of a state; else "name: field, field"
///   lower(program, stage)   a pass over the lowered program, `stage` being the operation's name
template <class H>
concept HintType = requires(const H& hint) {
  { H::name } -> std::convertible_to<std::string_view>;
  { H::traits } -> std::convertible_to<StepTraits>;
  H::fields();
  { hint.is_legal() } -> std::same_as<bool>;
};

namespace detail {

/// Takes "$12" off the front of `rest`.
inline bool read_hint_field(std::string_view& rest, std::int32_t& value) {
  std::int64_t number = 0;
  std::size_t at = 1;
  while (at < rest.size() && rest[at] >= '0' && rest[at] <= '9' && number <= INT32_MAX) {
    number = number * 10 + (rest[at++] - '0');
  }
  if (at == 1 || rest.empty() || rest[0] != '$' || number > INT32_MAX) {
    return false;
  }
  value = static_cast<std::int32_t>(number);
  rest.remove_prefix(at);
  return true;
}
inline bool read_hint_field(std::string_view& rest, std::string& value) {
  if (rest.size() < 2 || rest[0] != '$') {
    return false;
  }
  value = rest.substr(1);
  rest = {};
  return true;
}

inline std::string hint_field_text(std::int32_t value) { return std::to_string(value); }
inline std::string hint_field_text(const std::string& value) { return value; }

}  // namespace detail

class Hint {
 public:
  Hint() = default;
  Hint(std::string text) : text_(std::move(text)) {}
  Hint(const char* text) : text_(text) {}
  template <HintType H>
  Hint(const H& hint) : text_(H::name) {
    H::fields()([&](auto... field) {
      ((text_ += '$', text_ += detail::hint_field_text(hint.*field)), ...);
    });
  }

  const std::string& text() const { return text_; }
  std::string_view name() const { return std::string_view(text_).substr(0, text_.find('$')); }

  template <HintType H>
  bool is() const {
    return name() == H::name;
  }
  /// Nothing if it is of another kind, or not as many fields as that kind has. Values need not be
  /// legal.
  template <HintType H>
  std::optional<H> as() const {
    if (!is<H>()) {
      return std::nullopt;
    }
    std::optional<H> hint(std::in_place);
    std::string_view rest = std::string_view(text_).substr(std::string_view(H::name).size());
    const bool is_read = H::fields()(
        [&](auto... field) { return (detail::read_hint_field(rest, (*hint).*field) && ...); });
    if (!is_read || !rest.empty()) {
      hint.reset();
    }
    return hint;
  }

  /// The field of that number, if it is one.
  std::optional<std::int32_t> number(std::size_t field) const {
    const auto [first, size] = place_of(field);
    std::string_view piece = std::string_view(text_).substr(first, size);
    std::int32_t value = 0;
    return detail::read_hint_field(piece, value) && piece.empty() ? std::optional(value)
                                                                  : std::nullopt;
  }
  /// False if there is no such field.
  bool set_number(std::size_t field, std::int64_t value) {
    const auto [first, size] = place_of(field);
    if (size == 0) {
      return false;
    }
    text_.replace(first, size, "$" + std::to_string(value));
    return true;
  }

  bool operator==(const Hint&) const = default;

 private:
  /// Where a field stands in the text, and how long it is with its dollar sign.
  std::pair<std::size_t, std::size_t> place_of(std::size_t field) const {
    std::size_t first = text_.find('$');
    for (; field > 0 && first != std::string::npos; --field) {
      first = text_.find('$', first + 1);
    }
    if (first == std::string::npos) {
      return {text_.size(), 0};
    }
    return {first, smaller_of(text_.find('$', first + 1), text_.size()) - first};
  }

  std::string text_;
};

/// What generic code knows of a kind.
struct HintKind {
  std::string_view name, slot;
  StepTraits traits;
  ScheduleErrorCode error;
  bool (*is_legal)(const Hint& hint);
  bool (*is_set)(const Hint& hint);  ///< of a legal one, as the next
  std::string (*state_text)(const Hint& hint);
  void (*lower)(const Hint& hint, LoopProgram& program, std::string_view stage);  ///< null: nothing
};

namespace detail {

template <HintType H>
constexpr HintKind make_hint_kind() {
  HintKind kind{H::name, H::name, H::traits, ScheduleErrorCode::pragma_value, {}, {}, {}, {}};
  if constexpr (requires { H::slot; }) {
    kind.slot = H::slot;
  }
  if constexpr (requires { H::error; }) {
    kind.error = H::error;
  }
  kind.is_legal = [](const Hint& hint) {
    const std::optional<H> known = hint.as<H>();
    return known && known->is_legal();
  };
  kind.is_set = [](const Hint& hint) {
    if constexpr (requires(const H& known) { known.is_set(); }) {
      return hint.as<H>()->is_set();
    } else {
      return hint.is<H>();
    }
  };
  kind.state_text = [](const Hint& hint) {
    const H known = *hint.as<H>();
    if constexpr (requires { known.state_text(); }) {
      return known.state_text();
    } else {
      std::string text(H::name);
      std::string_view before = ": ";
      H::fields()([&](auto... field) {
        ((text += before, text += hint_field_text(known.*field), before = ", "), ...);
      });
      return text;
    }
  };
  if constexpr (requires(const H& known, LoopProgram& program) { known.lower(program, H::name); }) {
    kind.lower = [](const Hint& hint, LoopProgram& program, std::string_view stage) {
      hint.as<H>()->lower(program, stage);
    };
  }
  return kind;
}

}  // namespace detail

template <HintType H>
inline constexpr HintKind hint_kind = detail::make_hint_kind<H>();

}  // namespace tensorsmith
