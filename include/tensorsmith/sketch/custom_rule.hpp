// SPDX-License-Identifier: Apache-2.0
// CustomRule: a sketch rule from two functions, for rules that are chosen at run time.
//
// Floor 5. Ansor reference, ch. 4.2 (custom rules: a meet and an apply function). A rule that is
// known when the program is compiled is better written as a type of its own.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {

class CustomRule {
 public:
  using Meet = Callback<Applicability(const RuleInput&)>;
  using Apply = Callback<std::vector<Derivation>(const RuleInput&)>;

  CustomRule(std::string name, Meet meet, Apply apply)
      : name_(std::move(name)), meet_(std::move(meet)), apply_(std::move(apply)) {
    if (!meet_ || !apply_) {
      throw Error("CustomRule \"" + name_ + "\": expected two functions, one is empty");
    }
  }

  std::string_view name() const { return name_; }
  Applicability applicability(const RuleInput& input) const { return meet_(input); }
  std::vector<Derivation> expand(const RuleInput& input) const { return apply_(input); }

 private:
  std::string name_;
  Meet meet_;
  Apply apply_;
};

}  // namespace tensorsmith
