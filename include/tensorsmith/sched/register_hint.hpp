// SPDX-License-Identifier: Apache-2.0
// register_hint: a kind of hint that the library does not have.
//
// Floor 3. Own design. Called once by a program:
//     register_hint<Mine>();
// From then on steps of that kind are applied, replayed, printed and searched as those of the
// library.
#pragma once

#include <string>

#include "tensorsmith/sched/hint_list.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {

/// Makes a kind known for as long as the program runs. Throws Error if its name is another kind's.
template <HintType H>
void register_hint() {
  static detail::OwnHint own;
  static const bool is_new = [] {
    if (find_hint_kind(H::name) != nullptr) {
      throw Error("register_hint: there is a hint \"" + std::string(H::name) + "\" already");
    }
    own.kind = &hint_kind<H>;
    own.next = detail::own_hints.load();
    while (!detail::own_hints.compare_exchange(own.next, &own)) {
    }
    return true;
  }();
  static_cast<void>(is_new);
}

}  // namespace tensorsmith
