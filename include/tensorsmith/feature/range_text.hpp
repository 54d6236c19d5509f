// range_texts: the ranges of all iterators as the reference prints them, expressions included.
//
// Floor 5. Ansor reference, ch. 2.5 and 2.6. A stage that is computed inside of another begins
// where its readers do: at an expression of the loops around, `for h (i_outer * 4,6)`. The search
// has no use for these texts, infer_bounds() gives the extents as numbers. Loops have the names of
// the reference's schedules: `x_outer`, `x_inner`, `x_y_fused`, `blockIdx_x`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/feature/stage_nests.hpp"
#include "tensorsmith/sched/print_state.hpp"

namespace tensorsmith {
namespace detail {

class RangeTexts : private StageNests {
 public:
  explicit RangeTexts(const State& state) : StageNests(state) { knows_fused_extents_ = false; }

  std::optional<StateRanges> run() {
    if (!analyse_stages()) {
      return std::nullopt;
    }
    StateRanges ranges(state_.num_stages());
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      if (!stages_[s].leaf_loop.empty()) {
        name_loops(s);
      }
    }
    for (std::size_t s = 0; s < state_.num_stages(); ++s) {
      const StageInfo& info = stages_[s];
      const StageDerivation& d = derivations_[s];
      for (std::size_t i = 0; i < info.leaf_loop.size(); ++i) {
        if (d.leaves[i].iterator < 0) {
          continue;
        }
        IteratorRange range;
        const std::int32_t loop = info.leaf_loop[i];
        range.extent = loop < 0 ? "1" : extent_text(program_.loops[static_cast<std::size_t>(loop)]);
        // Of an axis that was split or fused, the parts begin at 0.
        if (const auto axis = static_cast<std::size_t>(d.leaves[i].node);
            axis < info.box.low.size()) {
          range.minimum = text(info.box.low[axis]);
        }
        ranges[s].push_back(std::move(range));
      }
    }
    return ranges;
  }

 private:
  std::string extent_text(const FeatureLoop& loop) const {
    return loop.varying < 0
               ? std::to_string(loop.extent)
               : text(program_.varying_extents[static_cast<std::size_t>(loop.varying)]);
  }

  void name_loops(std::size_t s) {
    const Operation& op = dag_.operation(s);
    const StageDerivation& d = derivations_[s];
    std::vector<std::string> name(static_cast<std::size_t>(d.num_nodes));
    const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
    for (std::size_t a = 0; a < at(d.num_axes); ++a) {
      const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
      name[a] = dag_.pool().var_name(axis.var);
    }
    for (const IteratorRelation& r : d.relations) {
      if (!r.is_split) {
        std::string& fused = name[at(r.parent)];
        for (std::size_t i = 0; i < r.parts.size(); ++i) {
          fused += (i == 0 ? "" : "_") + name[at(r.parts[i])] + (i == 0 ? "" : "_fused");
        }
        continue;
      }
      // One length after the other, from the end where the lengths begin to count.
      std::string rest = name[at(r.parent)];
      const std::size_t n = r.lengths.size();
      for (std::size_t i = 0; i < n; ++i) {
        name[at(r.parts[r.inner_to_outer ? n - i : i])] =
            rest + (r.inner_to_outer ? "_inner" : "_outer");
        rest += r.inner_to_outer ? "_outer" : "_inner";
      }
      name[at(r.parts[r.inner_to_outer ? 0 : n])] = std::move(rest);
    }
    loop_name_.resize(program_.loops.size());
    for (std::size_t i = 0; i < stages_[s].leaf_loop.size(); ++i) {
      const std::int32_t loop = stages_[s].leaf_loop[i];
      if (loop < 0) {
        continue;
      }
      std::string& own = loop_name_[static_cast<std::size_t>(loop)];
      const bool is_bound = is_thread(loop) && annotation_of(loop) != Annotation::vthread;
      own = is_bound ? std::string(name_of(annotation_of(loop))) : name[at(d.leaves[i].node)];
      for (char& c : own) {
        c = c == '.' ? '_' : c;
      }
    }
  }

  /// Bare loops stand behind the other terms, bare remainders behind those.
  std::string text(const IndexForm& form) const {
    std::string out;
    for (std::int32_t place = 0; place < 3; ++place) {
      for (const IndexTerm& term : form.terms) {
        if (place_of(term) == place) {
          append(out, term.coefficient < 0, term_text(term));
        }
      }
    }
    if (form.constant != 0 || out.empty()) {
      append(out, form.constant < 0,
             std::to_string(form.constant < 0 ? -form.constant : form.constant));
    }
    return out;
  }
  static void append(std::string& out, bool is_negative, const std::string& part) {
    if (!out.empty()) {
      out += is_negative ? " - " : " + ";
    } else if (is_negative) {
      out += "-";
    }
    out += part;
  }
  std::int32_t place_of(const IndexTerm& term) const {
    const AtomKind kind = program_.atoms[term.atom].kind;
    return term.coefficient != 1        ? 0
           : kind == AtomKind::floormod ? 2
           : kind == AtomKind::loop     ? 1
                                        : 0;
  }
  std::string term_text(const IndexTerm& term) const {
    const std::int64_t c = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    return atom_text(term.atom) + (c == 1 ? "" : " * " + std::to_string(c));
  }
  std::string atom_text(std::int32_t id) const {
    const IndexAtom& atom = program_.atoms[id];
    const auto with = [&](const char* sign) {
      return operand(atom.a) + sign +
             (atom.b == IndexForm{} ? std::to_string(atom.divisor) : operand(atom.b));
    };
    switch (atom.kind) {
    case AtomKind::loop:
      return loop_name_[static_cast<std::size_t>(atom.loop)];
    case AtomKind::floordiv:
    case AtomKind::div_by:
      return with(" // ");
    case AtomKind::floormod:
    case AtomKind::mod_by:
      return with(" % ");
    case AtomKind::product:
      return with(" * ");
    case AtomKind::min:
    case AtomKind::max:
      return (atom.kind == AtomKind::min ? "min(" : "max(") + text(atom.a) + ", " + text(atom.b) +
             ")";
    case AtomKind::opaque:
      break;
    }
    return "?";
  }
  std::string operand(const IndexForm& form) const {
    const bool is_sum = form.terms.size() + (form.constant != 0 ? 1 : 0) > 1;
    return is_sum ? "(" + text(form) + ")" : text(form);
  }

  std::vector<std::string> loop_name_;
};

}  // namespace detail

/// Per stage and iterator; empty for inlined stages and inputs. Nothing if the state is not
/// concrete or cannot be built (an attached stage that is read from outside).
inline std::optional<StateRanges> range_texts(const State& state) {
  return detail::RangeTexts(state).run();
}

/// state_text() with these ranges: the reference's own text of a state with bounds.
inline std::optional<std::string> reference_state_text(const State& state) {
  const auto ranges = range_texts(state);
  if (!ranges) {
    return std::nullopt;
  }
  return state_text(state, {.ranges = &*ranges});
}

}  // namespace tensorsmith
