// SPDX-License-Identifier: Apache-2.0
// What a step or a hint declares in its struct: its fields, and traits that generic code asks for.
//
// Floor 3. Own design. A struct without `traits` has the usual ones.
#pragma once

namespace tensorsmith {

/// A list of fields is a function: field_list(m...)(f) is f(m...).
template <class... Members>
constexpr auto field_list(Members... members) {
  return [=](auto&& use) { return use(members...); };
}

struct StepTraits {
  bool adds_stage = false;          ///< ids of later stages grow by one
  bool adds_behind = false;         ///< the new stage is behind the one that is named, not before
  bool is_layout = false;           ///< says how elements lie in memory
  bool is_hint = false;             ///< a remark for lowering: values do not depend on it
  bool is_of_the_reference = true;  ///< stands in v0.6 records
};

/// Of a hint that the reference does not know.
inline constexpr StepTraits own_hint{.adds_stage = false,
                                     .adds_behind = false,
                                     .is_layout = false,
                                     .is_hint = true,
                                     .is_of_the_reference = false};
/// Of a hint that it knows.
inline constexpr StepTraits reference_hint{.adds_stage = false,
                                           .adds_behind = false,
                                           .is_layout = false,
                                           .is_hint = true,
                                           .is_of_the_reference = true};

}  // namespace tensorsmith
