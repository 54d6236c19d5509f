// SPDX-License-Identifier: Apache-2.0
// Which kinds of hints there are, and the hints of a stage.
//
// Floor 3. Own design. Not here: how a program adds kinds of its own (register_hint.hpp).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sched/hints.hpp"
#include "tensorsmith/support/atomic_pointer.hpp"

namespace tensorsmith {
namespace detail {

/// In the order in which a state's text has them.
inline constexpr const HintKind* library_hints[] = {
    &hint_kind<hints::AutoUnroll>,    &hint_kind<hints::SkipRegion>,
    &hint_kind<hints::FetchAhead>,    &hint_kind<hints::UnrollReduction>,
    &hint_kind<hints::RowBlock>,      &hint_kind<hints::LoadAhead>,
    &hint_kind<hints::StreamK>,       &hint_kind<hints::Prefetch>,
    &hint_kind<hints::PrefetchBlock>, &hint_kind<hints::StreamResult>,
    &hint_kind<hints::VectorizeSum>,  &hint_kind<hints::Tensorize>};

struct OwnHint {
  const HintKind* kind = nullptr;
  OwnHint* next = nullptr;
};
/// Kinds may be registered while other threads replay.
inline AtomicPointer<OwnHint> own_hints;

/// Its place among the kinds of the library; behind them if it is none.
inline std::size_t rank_of(const HintKind& kind) {
  std::size_t rank = 0;
  for (const HintKind* known : library_hints) {
    if (known->name == kind.name) {
      break;
    }
    ++rank;
  }
  return rank;
}

}  // namespace detail

/// Null: there is no such kind.
inline const HintKind* find_hint_kind(std::string_view name) {
  for (const HintKind* kind : detail::library_hints) {
    if (kind->name == name) {
      return kind;
    }
  }
  for (const detail::OwnHint* own = detail::own_hints.load(); own != nullptr; own = own->next) {
    if (own->kind->name == name) {
      return own->kind;
    }
  }
  return nullptr;
}

/// What is known of the hint in generic code: of an unknown kind, that the reference has it not.
inline StepTraits traits_of(const Hint& hint) {
  const HintKind* kind = find_hint_kind(hint.name());
  return kind != nullptr ? kind->traits : own_hint;
}

/// The hints of a stage: one per slot, in an order that does not depend on how they came.
class HintList {
 public:
  struct Entry {
    const HintKind* kind;
    Hint hint;
  };

  /// Of a legal hint: replaces what is in its slot.
  void set(const HintKind& kind, const Hint& hint) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.kind->slot == kind.slot; });
    if (!kind.is_set(hint)) {
      return;
    }
    auto at = entries_.begin();
    while (at != entries_.end() && is_before(*at->kind, kind)) {
      ++at;
    }
    entries_.insert(at, Entry{&kind, hint});
  }

  template <HintType H>
  bool has() const {
    return find<H>() != nullptr;
  }
  /// H{} if there is none.
  template <HintType H>
  H get() const {
    const Hint* hint = find<H>();
    return hint != nullptr ? *hint->template as<H>() : H{};
  }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  template <HintType H>
  const Hint* find() const {
    for (const Entry& entry : entries_) {
      if (entry.kind->name == H::name) {
        return &entry.hint;
      }
    }
    return nullptr;
  }
  static bool is_before(const HintKind& a, const HintKind& b) {
    const std::size_t of_a = detail::rank_of(a), of_b = detail::rank_of(b);
    return of_a != of_b ? of_a < of_b : a.name < b.name;
  }

  std::vector<Entry> entries_;
};

/// Either way of asking for an operand ahead. Off if `lines` is 0.
struct OperandPrefetch {
  std::int32_t operand = 0, lines = 0, level = 1;
  bool is_block = false;  ///< what the next block of the reduction reads, in place of `lines`
};

inline OperandPrefetch operand_prefetch(const HintList& list) {
  if (list.has<hints::PrefetchBlock>()) {
    const auto block = list.get<hints::PrefetchBlock>();
    return {block.operand, 1, block.level, true};
  }
  const auto ahead = list.get<hints::Prefetch>();
  return {ahead.operand, ahead.lines, ahead.level, false};
}

}  // namespace tensorsmith
