// SPDX-License-Identifier: Apache-2.0
// The definitions of diagram.hpp.
//
// Floor 6. Own design. A layer's work is the part of the tape that its group settles. Constraints
// that hold, or fail, whatever the rows to come are told by intervals, so that nodes that differ in
// what nobody asks for any more are one. Included by space/diagram.hpp or compiled once
// (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/space/diagram.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {
namespace detail {

/// What the constraints still need of the rows chosen so far.
struct DiagramKey {
  SmallVector<std::int64_t, 12> words;
  std::uint64_t hash() const {
    std::uint64_t hash = words.size();
    for (std::int64_t word : words) {
      hash = hash_combine(hash, static_cast<std::uint64_t>(word));
    }
    return hash;
  }
  friend bool operator==(const DiagramKey& a, const DiagramKey& b) { return a.words == b.words; }
};

class DiagramBuilder {
 public:
  /// The roots of the tape are the constraints.
  DiagramBuilder(const Tape& tape, const std::vector<ValueTable>& groups, std::size_t num_variables)
      : tape_(tape), groups_(groups), values_(num_variables), registers_(tape.size()),
        bounds_(tape.size()), first_(tape.size(), none), last_(tape.size(), 0),
        is_needed_(tape.size()), is_root_(tape.size()), work_(groups.size()) {
    sort_instructions();
  }

  LegalDiagram build(std::size_t max_edges) {
    std::vector<LegalDiagram::Layer> layers;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      layers.push_back(classes_of(g));
    }
    budget_ = max_edges;
    Nodes nodes(1);
    std::size_t num_known = 0;
    for (; num_known < layers.size() && !nodes.empty(); ++num_known) {
      Nodes next;
      if (!connect(num_known, nodes, layers[num_known], next)) {
        break;
      }
      nodes = std::move(next);
    }
    layers.resize(num_known);
    count(layers);
    return LegalDiagram(std::move(layers));
  }

 private:
  using Nodes = std::vector<SmallVector<std::int64_t, 12>>;  ///< by node: what is kept
  /// Instructions by number, and results of constraints, of one group's layer.
  struct Work {
    std::vector<std::uint32_t> own, joint;  ///< of this group alone; with groups in front
    std::vector<std::uint32_t> roots;       ///< joint ones that are constraints
    std::vector<std::uint32_t> told;        ///< own ones that others read
    std::vector<std::uint32_t> kept;        ///< of groups in front, that are read from here on
    std::vector<std::int64_t> told_values;  ///< by class
  };
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::int64_t not_needed = INT64_MIN;

  void sort_instructions() {
    std::vector<std::uint32_t> group_of(values_.size(), none);
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      for (VariableId id : groups_[g].variables) {
        group_of[id.value] = g;
      }
    }
    std::vector<std::uint32_t> read_until(tape_.size(), 0);  // the last group whose layer reads it
    std::vector<bool> is_told(tape_.size());
    for (std::uint32_t i = 0; i < tape_.size(); ++i) {
      if (const std::optional<VariableId> variable = tape_.variable_at(i)) {
        first_[i] = last_[i] = group_of[variable->value];
      }
      tape_.for_each_operand(i, [&](std::uint32_t operand) {
        if (first_[operand] != none) {
          first_[i] = smaller_of(first_[i], first_[operand]);
          last_[i] = larger_of(last_[i], last_[operand]);
        }
      });
      tape_.for_each_operand(i, [&](std::uint32_t operand) {
        read_until[operand] = larger_of(read_until[operand], last_[i]);
        is_told[operand] = is_told[operand] || first_[i] != last_[i];
      });
      if (first_[i] == none) {  // a constant
        registers_[i] = tape_.value_at(i, values_.data(), registers_.data());
        bounds_[i] = {registers_[i], registers_[i]};
      } else {
        (first_[i] == last_[i] ? work_[last_[i]].own : work_[last_[i]].joint).push_back(i);
      }
    }
    for (std::uint32_t i = 0; i < tape_.size(); ++i) {
      if (first_[i] == none) {
        continue;
      }
      if (first_[i] == last_[i] && is_told[i]) {
        work_[last_[i]].told.push_back(i);
      }
      for (std::uint32_t g = last_[i] + 1; g <= read_until[i]; ++g) {
        work_[g].kept.push_back(i);
      }
    }
    for (std::size_t r = 0; r < tape_.num_roots(); ++r) {
      const std::uint32_t i = tape_.result_of(r);
      is_root_[i] = true;
      if (first_[i] == none) {
        is_impossible_ = is_impossible_ || registers_[i] == 0;
      } else if (first_[i] != last_[i]) {
        work_[last_[i]].roots.push_back(i);
      }
    }
  }

  /// False at the first constraint that fails.
  bool run(const std::vector<std::uint32_t>& instructions) {
    for (std::uint32_t i : instructions) {
      registers_[i] = tape_.value_at(i, values_.data(), registers_.data());
      if (is_root_[i] != 0 && registers_[i] == 0) {
        return false;
      }
    }
    return true;
  }

  /// The classes of a group's rows; bounds of what they tell.
  LegalDiagram::Layer classes_of(std::size_t g) {
    Work& work = work_[g];
    HashMap<DiagramKey, std::uint32_t> known;
    std::vector<std::uint32_t> class_of(groups_[g].size(), none);
    std::vector<std::uint32_t> sizes;
    for (std::uint32_t r = 0; r < class_of.size() && !is_impossible_; ++r) {
      groups_[g].assign(r, values_);
      if (!run(work.own)) {
        continue;
      }
      DiagramKey key;
      for (std::uint32_t i : work.told) {
        key.words.push_back(registers_[i]);
        bounds_[i] = sizes.empty() ? Interval{registers_[i], registers_[i]}
                                   : hull(bounds_[i], {registers_[i], registers_[i]});
      }
      const std::uint32_t* at = known.find(key);
      class_of[r] = at != nullptr ? *at : static_cast<std::uint32_t>(sizes.size());
      if (at == nullptr) {
        known.set(key, class_of[r]);
        sizes.push_back(0);
        work.told_values.insert(work.told_values.end(), key.words.begin(), key.words.end());
      }
      ++sizes[class_of[r]];
    }
    LegalDiagram::Layer layer;
    layer.classes.push_back(0);
    for (std::uint32_t size : sizes) {
      layer.classes.push_back(layer.classes.back() + size);
    }
    layer.rows.resize(layer.classes.back());
    std::vector<std::uint32_t> next(layer.classes.begin(), layer.classes.end() - 1);
    for (std::uint32_t r = 0; r < class_of.size(); ++r) {
      if (class_of[r] != none) {
        layer.rows[next[class_of[r]]++] = r;
      }
    }
    return layer;
  }

  /// All edges of a layer; false if they are too many.
  bool connect(std::size_t g, const Nodes& nodes, LegalDiagram::Layer& layer, Nodes& next) {
    const Work& work = work_[g];
    const std::size_t num_classes = layer.classes.size() - 1;
    HashMap<DiagramKey, std::uint32_t> seen, known;
    for (const auto& kept : nodes) {
      layer.nodes.push_back(static_cast<std::uint32_t>(layer.edges.size()));
      if (budget_ < num_classes) {
        return false;
      }
      budget_ -= num_classes;
      for (std::size_t i = 0; i < work.kept.size(); ++i) {
        registers_[work.kept[i]] = kept[i];
      }
      const std::int64_t* told = work.told_values.data();
      for (std::uint32_t c = 0; c < num_classes; ++c, told += work.told.size()) {
        for (std::size_t i = 0; i < work.told.size(); ++i) {
          registers_[work.told[i]] = told[i];
        }
        if (!run(work.joint)) {
          continue;
        }
        const std::uint32_t target = node_of(g + 1, seen, known, next);
        if (target != none) {
          layer.edges.push_back({c, target, 0});
        }
      }
    }
    layer.nodes.push_back(static_cast<std::uint32_t>(layer.edges.size()));
    return true;
  }

  /// The node in front of group `g` that the registers lead to; `none` where a constraint fails
  /// whatever the rows of the groups to come.
  std::uint32_t node_of(std::size_t g, HashMap<DiagramKey, std::uint32_t>& seen,
                        HashMap<DiagramKey, std::uint32_t>& known, Nodes& next) {
    DiagramKey key;
    if (g < work_.size()) {
      for (std::uint32_t i : work_[g].kept) {
        key.words.push_back(registers_[i]);
      }
    }
    if (const std::uint32_t* at = seen.find(key)) {
      return *at;
    }
    std::uint32_t node = none;
    if (std::optional<DiagramKey> needed = needed_of(g, key)) {
      if (const std::uint32_t* at = known.find(*needed)) {
        node = *at;
      } else {
        node = static_cast<std::uint32_t>(next.size());
        next.push_back(key.words);
        known.set(*needed, node);
      }
    }
    seen.set(key, node);
    return node;
  }

  /// The key without what only constraints need that hold in any case, and which do; nothing if
  /// one cannot hold.
  std::optional<DiagramKey> needed_of(std::size_t g, const DiagramKey& key) {
    DiagramKey needed;
    if (g == work_.size()) {
      return needed;
    }
    const std::vector<std::uint32_t>& kept = work_[g].kept;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      bounds_[kept[i]] = {key.words[i], key.words[i]};
      is_needed_[kept[i]] = false;
    }
    for (std::size_t later = g; later < work_.size(); ++later) {
      for (std::uint32_t i : work_[later].joint) {
        bounds_[i] = tape_.interval_at(i, bounds_);
        is_needed_[i] = false;
      }
    }
    for (std::size_t later = g; later < work_.size(); ++later) {
      for (std::uint32_t i : work_[later].roots) {
        if (bounds_[i] == Interval{0, 0}) {
          return std::nullopt;
        }
        is_needed_[i] = bounds_[i].contains(0);
        needed.words.push_back(is_needed_[i]);
      }
    }
    for (std::size_t later = work_.size(); later-- > g;) {
      const std::vector<std::uint32_t>& joint = work_[later].joint;
      for (std::size_t i = joint.size(); i-- > 0;) {
        if (is_needed_[joint[i]] != 0) {
          tape_.for_each_operand(joint[i],
                                 [&](std::uint32_t operand) { is_needed_[operand] = true; });
        }
      }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
      needed.words.push_back(is_needed_[kept[i]] != 0 ? key.words[i] : not_needed);
    }
    return needed;
  }

  /// Counts from the last layer to the first, without edges that lead nowhere.
  static void count(std::vector<LegalDiagram::Layer>& layers) {
    for (std::size_t g = layers.size(); g-- > 0;) {
      LegalDiagram::Layer& layer = layers[g];
      std::size_t left = 0, at = 0;
      for (std::size_t n = 0; n + 1 < layer.nodes.size(); ++n) {
        double sum = 0;
        layer.nodes[n] = static_cast<std::uint32_t>(left);
        for (; at < layer.nodes[n + 1]; ++at) {
          LegalDiagram::Layer::Edge edge = layer.edges[at];
          const double each = g + 1 == layers.size() ? 1 : layers[g + 1].count(edge.target);
          if (each > 0) {
            edge.end = sum += layer.num_rows(edge.row_class) * each;
            layer.edges[left++] = edge;
          }
        }
      }
      layer.nodes.back() = static_cast<std::uint32_t>(left);
      layer.edges.resize(left);
    }
  }

  const Tape& tape_;
  const std::vector<ValueTable>& groups_;
  Assignment values_;
  std::vector<std::int64_t> registers_;
  std::vector<Interval> bounds_;
  std::vector<std::uint32_t> first_, last_;  ///< groups that an instruction depends on
  std::vector<char> is_needed_, is_root_;
  std::vector<Work> work_;  ///< by group
  bool is_impossible_ = false;
  std::size_t budget_ = 0;
};

}  // namespace detail

TENSORSMITH_INLINE LegalDiagram LegalDiagram::make(const Tape& tape,
                                                   const std::vector<ValueTable>& groups,
                                                   std::size_t num_variables,
                                                   std::size_t max_edges) {
  return detail::DiagramBuilder(tape, groups, num_variables).build(max_edges);
}

}  // namespace tensorsmith
