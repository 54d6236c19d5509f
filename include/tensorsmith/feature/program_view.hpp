// SPDX-License-Identifier: Apache-2.0
// ProgramView: one candidate, and what has been found out about it.
//
// Floor 5. Own design. Feature extractors, drafts and checks of one candidate need the same facts:
// its stores, its draft, its lowered loops. Each is a part of the view: a function of the candidate
// that is called when somebody asks for the first time, and remembered. Whoever needs another fact
// writes another function; the view knows none of them.
//
//     std::optional<StoreProgram> store_program_of(const ProgramView&, const FeatureContext&);
//     view.part<store_program_of>(context)    // computed
//     view.part<store_program_of>(context)    // the same object
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/feature_options.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// What candidates are looked at for; the same for all of a search.
struct FeatureContext {
  Target target;
  std::int32_t num_threads = 1;  ///< that a CPU program is to run on
  FeatureOptions rows;           ///< of the reference's features
};

/// Refers to a state, which must outlive it; bounds must be inferred. A view converts to its state
/// and a state to a view that knows nothing yet, so that functions of either may be called with
/// both. Used by one thread at a time and with one context.
class ProgramView {
 public:
  ProgramView(const State& state) : state_(&state) {}
  ProgramView(ProgramView&& other) noexcept
      : state_(other.state_), parts_(std::exchange(other.parts_, {})) {}
  ProgramView(const ProgramView&) = delete;
  ProgramView& operator=(const ProgramView&) = delete;
  ProgramView& operator=(ProgramView&&) = delete;
  ~ProgramView() { forget(); }

  const State& state() const { return *state_; }
  operator const State&() const { return *state_; }
  const std::vector<Step>& steps() const { return state_->steps(); }

  /// make(*this, context), remembered until forget(); parts may ask for parts.
  template <auto make>
  const auto& part(const FeatureContext& context) const {
    using Part = decltype(make(*this, context));
    const void* const key = &Key<make>::id;
    for (const Entry& entry : parts_) {
      if (entry.key == key) {
        return *static_cast<const Part*>(entry.value);
      }
    }
    Part* const made = new Part(make(*this, context));
    parts_.push_back(Entry{key, made, [](void* value) { delete static_cast<Part*>(value); }});
    return *made;
  }

  /// Frees all parts; references to them become invalid.
  void forget() const {
    for (const Entry& entry : parts_) {
      entry.destroy(entry.value);
    }
    parts_.clear();
  }

 private:
  /// The address of `id` stands for the function.
  template <auto make>
  struct Key {
    static constexpr char id = 0;
  };
  struct Entry {
    const void* key;
    void* value;
    void (*destroy)(void*);
  };

  const State* state_;
  mutable std::vector<Entry> parts_;
};

}  // namespace tensorsmith
