// SPDX-License-Identifier: Apache-2.0
// SketchRule: what derives sketches from a state, and RuleSet: an ordered list of rules as a type.
//
// Floor 5. Ansor reference, ch. 4.2 (rule list, three answers) and OSDI 2020 sec. 4.1 (derivation).
// Not here: the walk over stages (sketch/generate.hpp), the rules of the reference (sketch/rules/).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/te/access_analysis.hpp"

namespace tensorsmith {

/// What a rule says about one stage of one state.
enum class Applicability : std::uint8_t {
  skip,                 ///< does not apply
  apply,                ///< applies; later rules are asked as well
  apply_and_skip_rest,  ///< applies; later rules are not asked
};

struct SketchOptions {
  HardwareParams hardware;
  /// Rules that the reference has in two forms take that of this kind.
  TargetKind kind = TargetKind::cpu;
  /// Loop levels of multi-level tiling, outermost first: S spatial, R reduction (ch. 4.1).
  std::string tiling_structure = "SSRSRS";
  /// What one core keeps close (its L2): a larger operand is worth a packed copy (native space).
  std::int64_t core_cache_bytes = 1 << 20;
  /// Of the target; their operands are worth a copy in the order in which they take them.
  std::vector<const TensorIntrinsic*> intrinsics = {};
  /// Adjacent axes that memory and reads see as one are tiled as one (native space).
  bool collapse_axes = false;
  DataReuse reuse = DataReuse::of_producers;  ///< of reads: what is read twice too (native space)

  bool is_gpu() const { return kind == TargetKind::cuda; }
};

/// The reference's for GPUs: blocks, virtual threads and threads are the three outer levels.
inline SketchOptions gpu_sketch_options(const HardwareParams& hardware) {
  SketchOptions options;
  options.hardware = hardware;
  options.kind = TargetKind::cuda;
  options.tiling_structure = "SSSRRSRS";
  return options;
}

/// The native space's for CPUs, with what does not depend on the space.
inline SketchOptions native_cpu_sketch_options(SketchOptions options = {}) {
  options.collapse_axes = true;
  options.reuse = DataReuse::of_reads;
  return options;
}

/// All that a rule may look at.
struct RuleInput {
  const State& state;
  const AccessAnalysis& analysis;  ///< of state.dag()
  std::int32_t stage;
  const SketchOptions& options;
};

/// A state with the stage that is looked at next; below 0 the sketch is finished.
struct Derivation {
  State state;
  std::int32_t next_stage;
};

template <class R>
concept SketchRule = requires(const R& rule, const RuleInput& input) {
  { rule.name() } -> std::convertible_to<std::string_view>;
  { rule.applicability(input) } -> std::same_as<Applicability>;
  { rule.expand(input) } -> std::same_as<std::vector<Derivation>>;
};

template <SketchRule... Rules>
class RuleSet {
 public:
  RuleSet() = default;
  explicit RuleSet(std::tuple<Rules...> rules) : rules_(std::move(rules)) {}

  static constexpr std::size_t size() { return sizeof...(Rules); }

  std::vector<std::string> names() const {
    return std::apply(
        [](const Rules&... rule) { return std::vector<std::string>{std::string(rule.name())...}; },
        rules_);
  }

  /// The same rules with `first` asked before them all.
  ///     RuleSet<A, B>.preceded_by(u)  -->  RuleSet<U, A, B>
  template <SketchRule First>
  RuleSet<First, Rules...> preceded_by(First first) const {
    return RuleSet<First, Rules...>(std::tuple_cat(std::tuple<First>(std::move(first)), rules_));
  }

  /// Calls visit(rule) in order until it returns false.
  template <class Visitor>
  void for_each_while(Visitor&& visit) const {
    std::apply([&](const Rules&... rule) { static_cast<void>((visit(rule) && ...)); }, rules_);
  }

 private:
  std::tuple<Rules...> rules_;
};

}  // namespace tensorsmith
