// SPDX-License-Identifier: Apache-2.0
// The canonical text of a state: what people read, and what equality and hashes are made of.
//
// Floor 3. Ansor reference, ch. 2.6. Two states with equal text are equal, whatever their
// histories.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/hash.hpp"

namespace tensorsmith {

constexpr std::string_view name_of(Annotation annotation) {
  constexpr std::string_view names[] = {"for",         "unroll",     "vectorize",   "parallel",
                                        "vthread",     "blockIdx.x", "threadIdx.x", "blockIdx.y",
                                        "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"};
  return names[static_cast<std::size_t>(annotation)];
}

/// "0" and "4"; of an attached stage also expressions of the loops around.
struct IteratorRange {
  std::string minimum = "0", extent;
};
using StateRanges = std::vector<std::vector<IteratorRange>>;  ///< per stage, per iterator

struct PrintStateOptions {
  /// Loops of extent 1 are left out; stages attached to them are not.
  bool delete_trivial_loops = true;
  /// Printed in place of "0" and the extents; null: those.
  const StateRanges* ranges = nullptr;
};

namespace detail {

template <class Extent>
class StatePrinter {
 public:
  StatePrinter(const BasicState<Extent>& state, const PrintStateOptions& options)
      : state_(state), options_(options) {}

  std::string print() {
    text_ = "Placeholder: ";
    bool first = true;
    for (std::size_t i = 0; i < state_.num_stages(); ++i) {
      if (state_.stage(i).is_placeholder) {
        text_ += first ? "" : ", ";
        text_ += state_.operation(i).name;
        first = false;
      }
    }
    text_ += '\n';
    for (std::size_t i = 0; i < state_.num_stages(); ++i) {
      if (!state_.stage(i).is_placeholder && state_.stage(i).compute_at == ComputeAt::root) {
        print_stage(i, 0);
      }
    }
    return std::move(text_);
  }

 private:
  void print_stage(std::size_t id, std::size_t indent) {
    const BasicStage<Extent>& stage = state_.stage(id);
    const std::string& name = state_.operation(id).name;
    const auto attribute = [&](std::string_view what, std::int32_t value) {
      if (value != 0) {
        text_.append(indent, ' ');
        text_ += name;
        text_ += what;
        text_ += std::to_string(value);
        text_ += '\n';
      }
    };
    attribute(" auto_unroll: ", stage.auto_unroll_max_step);
    attribute(" storage_offset: ", stage.storage_offset);
    for (const auto& [kind, hint] : stage.hints) {
      text_.append(indent, ' ');
      text_ += name + ' ' + kind->state_text(hint) + '\n';
    }
    const auto& attached = state_.attach_map().iterator_to_stages;
    for (std::size_t i = 0; i < stage.iterators.size(); ++i) {
      const BasicIterator<Extent>& it = stage.iterators[i];
      const IteratorRange* range = nullptr;
      if (options_.ranges != nullptr && id < options_.ranges->size() &&
          i < (*options_.ranges)[id].size()) {
        range = &(*options_.ranges)[id][i];
      }
      const bool is_trivial =
          range != nullptr ? range->extent == "1" : it.extent && *it.extent == Extent(1);
      if (!(options_.delete_trivial_loops && is_trivial)) {
        text_.append(indent, ' ');
        text_ += name_of(it.annotation);
        text_ += ' ';
        text_ += it.name;
        if (range != nullptr) {
          text_ += " (" + range->minimum + ',' + range->extent + ")\n";
        } else if (it.extent) {
          text_ += " (0,";
          text_ += extent_text(*it.extent);
          text_ += ")\n";
        } else {
          text_ += " (None)\n";
        }
        indent += 2;
      }
      const auto here =
          attached.find({static_cast<std::int32_t>(id), static_cast<std::int32_t>(i)});
      if (here != attached.end()) {
        for (std::int32_t other : here->second) {
          print_stage(static_cast<std::size_t>(other), indent);
        }
      }
    }
    text_.append(indent, ' ');
    text_ += name;
    text_ += " = ...\n";
  }
  template <class T>
  static std::string extent_text(const T& extent) {
    if constexpr (requires { std::to_string(extent); }) {
      return std::to_string(extent);
    } else {
      return text_of(extent);
    }
  }

  const BasicState<Extent>& state_;
  const PrintStateOptions& options_;
  std::string text_;
};

}  // namespace detail

/// Extent types other than numbers need a `text_of(extent)` that is found beside the type.
template <class Extent>
std::string state_text(const BasicState<Extent>& state, const PrintStateOptions& options = {}) {
  return detail::StatePrinter<Extent>(state, options).print();
}

template <class Extent>
bool same_program(const BasicState<Extent>& a, const BasicState<Extent>& b) {
  return state_text(a) == state_text(b);
}

template <class Extent>
std::uint64_t state_hash(const BasicState<Extent>& state) {
  return hash_text(state_text(state));
}

}  // namespace tensorsmith
