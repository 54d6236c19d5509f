// SPDX-License-Identifier: Apache-2.0
// The transform steps: plain structs in one closed variant.
//
// Floor 3. Ansor reference, ch. 2.3, for the fourteen steps with a two- or three-letter tag; the
// steps below the line are our own and say what the reference cannot. Every step has `tag` and one
// `fields()` list of member pointers, in record order, and may have `traits`: printing, JSON,
// hashing and equality are generic over them. A new step = one struct here +
// sched/apply/<step>.hpp. A remark for lowering is no step of its own but a kind of hint (hint.hpp)
// in PR. Stage and iterator ids are those valid at the time the step is applied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "tensorsmith/sched/hint_list.hpp"
#include "tensorsmith/sched/step_traits.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith {

using IdList = SmallVector<std::int32_t, 8>;
/// Split lengths; `unknown_length` while a sketch has not decided one.
using LengthList = SmallVector<std::int64_t, 4>;
constexpr std::int64_t unknown_length = -1;

/// Codes of the reference (ch. 2.1), in records as numbers.
enum class Annotation : std::int32_t {
  none = 0,
  unroll = 1,
  vectorize = 2,
  parallel = 3,
  vthread = 4,
  block_x = 5,
  thread_x = 6,
  block_y = 7,
  thread_y = 8,
  block_z = 9,
  thread_z = 10,
  tensorize = 11
};

struct AnnotationStep {
  static constexpr std::string_view tag = "AN";
  std::int32_t stage, iterator;
  Annotation annotation;
  static constexpr auto fields() {
    return field_list(&AnnotationStep::stage, &AnnotationStep::iterator,
                      &AnnotationStep::annotation);
  }
};
struct FuseStep {
  static constexpr std::string_view tag = "FU";
  std::int32_t stage;
  IdList iterators;
  static constexpr auto fields() { return field_list(&FuseStep::stage, &FuseStep::iterators); }
};
struct PragmaStep {
  static constexpr std::string_view tag = "PR";
  std::int32_t stage, iterator;
  /// What it may say: hints.hpp.
  Hint hint;
  static constexpr auto fields() {
    return field_list(&PragmaStep::stage, &PragmaStep::iterator, &PragmaStep::hint);
  }
};
struct ReorderStep {
  static constexpr std::string_view tag = "RE";
  std::int32_t stage;
  IdList after;
  static constexpr auto fields() { return field_list(&ReorderStep::stage, &ReorderStep::after); }
};
struct SplitStep {
  static constexpr std::string_view tag = "SP";
  std::int32_t stage, iterator;
  std::int64_t extent;  ///< of the iterator when the step was made, 0 if unknown
  LengthList lengths;
  bool inner_to_outer = true;
  static constexpr auto fields() {
    return field_list(&SplitStep::stage, &SplitStep::iterator, &SplitStep::extent,
                      &SplitStep::lengths, &SplitStep::inner_to_outer);
  }
};
struct FollowSplitStep {
  static constexpr std::string_view tag = "FSP";
  std::int32_t stage, iterator;
  std::int32_t source_step;
  std::int32_t num_split;
  static constexpr auto fields() {
    return field_list(&FollowSplitStep::stage, &FollowSplitStep::iterator,
                      &FollowSplitStep::source_step, &FollowSplitStep::num_split);
  }
};
struct FollowFusedSplitStep {
  static constexpr std::string_view tag = "FFSP";
  std::int32_t stage, iterator;
  IdList source_steps;
  std::int32_t level;
  bool factor_or_nparts = true;
  static constexpr auto fields() {
    return field_list(&FollowFusedSplitStep::stage, &FollowFusedSplitStep::iterator,
                      &FollowFusedSplitStep::source_steps, &FollowFusedSplitStep::level,
                      &FollowFusedSplitStep::factor_or_nparts);
  }
};
struct StorageAlignStep {
  static constexpr std::string_view tag = "SA";
  static constexpr StepTraits traits{.adds_stage = false,
                                     .adds_behind = false,
                                     .is_layout = true,
                                     .is_hint = false,
                                     .is_of_the_reference = true};
  std::int32_t stage, iterator;
  std::int32_t factor, offset;
  static constexpr auto fields() {
    return field_list(&StorageAlignStep::stage, &StorageAlignStep::iterator,
                      &StorageAlignStep::factor, &StorageAlignStep::offset);
  }
};
struct ComputeAtStep {
  static constexpr std::string_view tag = "CA";
  std::int32_t stage, target_stage, target_iterator;
  static constexpr auto fields() {
    return field_list(&ComputeAtStep::stage, &ComputeAtStep::target_stage,
                      &ComputeAtStep::target_iterator);
  }
};
struct ComputeInlineStep {
  static constexpr std::string_view tag = "CI";
  std::int32_t stage;
  static constexpr auto fields() { return field_list(&ComputeInlineStep::stage); }
};
struct ComputeRootStep {
  static constexpr std::string_view tag = "CR";
  std::int32_t stage;
  static constexpr auto fields() { return field_list(&ComputeRootStep::stage); }
};
struct CacheReadStep {
  static constexpr std::string_view tag = "CHR";
  static constexpr StepTraits traits{.adds_stage = true,
                                     .adds_behind = true,
                                     .is_layout = false,
                                     .is_hint = false,
                                     .is_of_the_reference = true};
  std::int32_t stage;
  std::string scope;
  IdList readers;
  static constexpr auto fields() {
    return field_list(&CacheReadStep::stage, &CacheReadStep::scope, &CacheReadStep::readers);
  }
};
struct CacheWriteStep {
  static constexpr std::string_view tag = "CHW";
  static constexpr StepTraits traits{.adds_stage = true,
                                     .adds_behind = false,
                                     .is_layout = false,
                                     .is_hint = false,
                                     .is_of_the_reference = true};
  std::int32_t stage;
  std::string scope;
  static constexpr auto fields() {
    return field_list(&CacheWriteStep::stage, &CacheWriteStep::scope);
  }
};
struct RfactorStep {
  static constexpr std::string_view tag = "RF";
  static constexpr StepTraits traits{.adds_stage = true,
                                     .adds_behind = false,
                                     .is_layout = false,
                                     .is_hint = false,
                                     .is_of_the_reference = true};
  std::int32_t stage, iterator;
  std::int32_t factor_iterator;  ///< position of the factored axis among the .rf spatial axes
  static constexpr auto fields() {
    return field_list(&RfactorStep::stage, &RfactorStep::iterator, &RfactorStep::factor_iterator);
  }
};

// --- our own steps (never in v0.6 records)
// ---------------------------------------------------------

/// Storage layout of a stage that is not an argument (a cache stage): dimension d of the stored
/// region is cut into blocks of blocks[d] (0 = not blocked); the pieces are stored in the order of
/// `order`: entry 2*d = the outer piece (or the whole) of dimension d, 2*d+1 = its inner piece. The
/// last stride-carrying piece may be padded: `pad_elements` are added to the extent of the
/// innermost piece when strides are computed.
///     Ap[i, k]  with blocks [12, 0], order [0, 2, 1]  -->  Ap[i floordiv 12][k][i floormod 12]
struct StorageLayoutStep {
  static constexpr std::string_view tag = "TSL";
  static constexpr StepTraits traits{.adds_stage = false,
                                     .adds_behind = false,
                                     .is_layout = true,
                                     .is_hint = false,
                                     .is_of_the_reference = false};
  std::int32_t stage;
  LengthList blocks;
  IdList order;
  std::int64_t pad_elements = 0;
  static constexpr auto fields() {
    return field_list(&StorageLayoutStep::stage, &StorageLayoutStep::blocks,
                      &StorageLayoutStep::order, &StorageLayoutStep::pad_elements);
  }
};

/// A reduction of a few terms becomes a formula: no loops over them, no accumulator. The terms are
/// combined in the order of the loops.
///     L[i] += X[i,k] * X[i,k], k in 2  -->  L[i] = 0 + X[i,0] * X[i,0] + X[i,1] * X[i,1]
struct ExpandReductionStep {
  static constexpr std::string_view tag = "TER";
  static constexpr StepTraits traits{.adds_stage = false,
                                     .adds_behind = false,
                                     .is_layout = false,
                                     .is_hint = false,
                                     .is_of_the_reference = false};
  std::int32_t stage;
  static constexpr auto fields() { return field_list(&ExpandReductionStep::stage); }
};

/// A sum of products in two stages: the factors that axes `summed` move are summed over those
/// first, for every point of the axes `kept`. Positions are those of the stage's axes, spatial ones
/// first.
///     M[i,r] += X[i,j,k] * B[j,r] * C[k,r]  -->  M.sum[i,j,r] += X[i,j,k] * C[k,r]
///                                                M[i,r] += B[j,r] * M.sum[i,j,r]
struct FactorSumStep {
  static constexpr std::string_view tag = "TFS";
  static constexpr StepTraits traits{.adds_stage = true,
                                     .adds_behind = false,
                                     .is_layout = false,
                                     .is_hint = false,
                                     .is_of_the_reference = false};
  std::int32_t stage;
  IdList kept, summed;
  static constexpr auto fields() {
    return field_list(&FactorSumStep::stage, &FactorSumStep::kept, &FactorSumStep::summed);
  }
};

using Step = std::variant<AnnotationStep, FuseStep, PragmaStep, ReorderStep, SplitStep,
                          FollowSplitStep, FollowFusedSplitStep, StorageAlignStep, ComputeAtStep,
                          ComputeInlineStep, ComputeRootStep, CacheReadStep, CacheWriteStep,
                          RfactorStep, StorageLayoutStep, ExpandReductionStep, FactorSumStep>;

template <class T>
concept TransformStep = requires {
  T::tag;
  T::fields();
};

template <TransformStep T>
bool operator==(const T& a, const T& b) {
  return T::fields()([&](auto... field) { return ((a.*field == b.*field) && ...); });
}

/// Stage a step acts on.
inline std::int32_t stage_of(const Step& step) {
  return std::visit([](const auto& s) { return s.stage; }, step);
}
inline std::string_view tag_of(const Step& step) {
  return std::visit([](const auto& s) { return s.tag; }, step);
}

/// As the struct declares them.
template <class StepType>
constexpr StepTraits step_traits() {
  if constexpr (requires { StepType::traits; }) {
    return StepType::traits;
  } else {
    return {};
  }
}
/// Of a pragma, as its hint declares them.
inline StepTraits traits_of(const Step& step) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.hint; }) {
          return traits_of(s.hint);
        } else {
          return step_traits<std::decay_t<decltype(s)>>();
        }
      },
      step);
}

/// Whether a step inserts a stage in front of later ones (cache read, cache write, rfactor,
/// factored sum).
inline bool adds_stage(const Step& step) {
  return !std::holds_alternative<PragmaStep>(step) && traits_of(step).adds_stage;
}

/// The id that stage `id` has after `step`. A cache read inserts its stage behind the one that it
/// names, the others in front of it.
inline std::int32_t stage_after(const Step& step, std::int32_t id) {
  const StepTraits traits =
      std::holds_alternative<PragmaStep>(step) ? StepTraits{} : traits_of(step);
  const std::int32_t first = stage_of(step) + (traits.adds_behind ? 1 : 0);
  return traits.adds_stage && id >= first ? id + 1 : id;
}

/// The hint of a step, if it is one of that kind and has its fields.
template <HintType H>
std::optional<H> hint_in(const Step& step) {
  const PragmaStep* pragma = std::get_if<PragmaStep>(&step);
  return pragma != nullptr ? pragma->hint.as<H>() : std::nullopt;
}

/// Whether a step is a hint of one of these kinds.
template <HintType... Kinds>
bool has_hint(const Step& step) {
  const PragmaStep* pragma = std::get_if<PragmaStep>(&step);
  return pragma != nullptr && (pragma->hint.is<Kinds>() || ...);
}

}  // namespace tensorsmith
