// SPDX-License-Identifier: Apache-2.0
// KnownPrograms: what a run has proposed so far, told apart by what it lowers to.
//
// Private to lib/ and tests. Own design. Of a program that lowering refuses, or where nobody says
// what it lowers to, the steps stand for it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tensorsmith/measure/measure_result.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/search/policy.hpp"

namespace tensorsmith {

class KnownPrograms {
 public:
  explicit KnownPrograms(ProgramIdentity identity = {}) : identity_(std::move(identity)) {}

  bool contains(const State& state) const { return results_.count(key_of(state)) > 0; }
  /// Takes states from the back of `waiting` until `most` of them are programs that are new and no
  /// two the same.
  std::vector<State> take_new(std::vector<State>& waiting, std::size_t most) const {
    std::vector<State> taken;
    std::set<ProgramHash> keys;
    for (; taken.size() < most && !waiting.empty(); waiting.pop_back()) {
      const ProgramHash key = key_of(waiting.back());
      if (results_.count(key) == 0 && keys.insert(key).second) {
        taken.push_back(std::move(waiting.back()));
      }
    }
    return taken;
  }
  /// Whether it is new.
  bool insert(const State& state) { return results_.emplace(key_of(state), std::nullopt).second; }
  void set_result(const State& state, const MeasureResult& result) {
    results_[key_of(state)] = result;
  }
  /// Null: there is none yet.
  const MeasureResult* result_of(const State& state) const {
    const auto found = results_.find(key_of(state));
    return found == results_.end() || !found->second ? nullptr : &*found->second;
  }

 private:
  ProgramHash key_of(const State& state) const {
    const auto lowered = identity_ ? identity_(state) : std::nullopt;
    return lowered ? *lowered : ProgramHash{0, hash_steps(state.steps())};
  }

  ProgramIdentity identity_;
  std::map<ProgramHash, std::optional<MeasureResult>> results_;
};

}  // namespace tensorsmith
