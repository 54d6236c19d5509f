// The transform steps: plain structs in one closed variant.
//
// Floor 3. Ansor reference, ch. 2.3, for the fourteen steps with a two- or three-letter tag; the
// steps below the line are our own and say what the reference cannot. Every step has `tag` and one
// `fields()` list of member pointers, in record order: printing, JSON, hashing and equality are
// generic over it. A new step = one struct here + sched/apply/<step>.hpp.
// Stage and iterator ids are those valid at the time the step is applied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith {

using IdList = SmallVector<std::int32_t, 8>;
/// Split lengths; `unknown_length` while a sketch has not decided one.
using LengthList = SmallVector<std::int64_t, 4>;
constexpr std::int64_t unknown_length = -1;

/// How the text of a pragma begins that sets BasicStage::prefetch.
inline constexpr std::string_view prefetch_pragma = "prefetch";

/// The same for what the next block of the reduction reads.
inline constexpr std::string_view prefetch_block_pragma = "prefetch_block";

/// The text of a pragma that sets BasicStage::streams_result.
inline constexpr std::string_view stream_pragma = "stream_result";

/// How the text of a pragma begins that sets BasicStage::reduction_unroll.
inline constexpr std::string_view unroll_reduction_pragma = "unroll_reduction";

/// How the text of a pragma begins that sets BasicStage::row_block.
inline constexpr std::string_view row_block_pragma = "row_block";

/// The text of a pragma that sets BasicStage::vectorizes_sum.
inline constexpr std::string_view vectorize_sum_pragma = "vectorize_sum";

/// How the text of a pragma begins that sets BasicStage::fetch_stages.
inline constexpr std::string_view fetch_ahead_pragma = "fetch_ahead";

/// How the text of a pragma begins that sets BasicStage::load_sets.
inline constexpr std::string_view load_ahead_pragma = "load_ahead";

/// How the text of a pragma begins that sets BasicStage::stream_blocks.
inline constexpr std::string_view stream_k_pragma = "stream_k";

/// How the text of a pragma begins that sets BasicStage::intrinsic.
inline constexpr std::string_view tensorize_pragma = "tensorize";

/// Whether the reference does not know this pragma.
inline bool is_own_pragma(std::string_view text) {
  return !text.starts_with("auto_unroll_max_step$") && text != "debug_skip_region";
}

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

/// A list of fields is a function: field_list(m...)(f) is f(m...).
template <class... Members>
constexpr auto field_list(Members... members) {
  return [=](auto&& use) { return use(members...); };
}

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
  /// What it may say: apply/pragma.hpp.
  std::string pragma;
  static constexpr auto fields() {
    return field_list(&PragmaStep::stage, &PragmaStep::iterator, &PragmaStep::pragma);
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
  std::int32_t stage;
  std::string scope;
  IdList readers;
  static constexpr auto fields() {
    return field_list(&CacheReadStep::stage, &CacheReadStep::scope, &CacheReadStep::readers);
  }
};
struct CacheWriteStep {
  static constexpr std::string_view tag = "CHW";
  std::int32_t stage;
  std::string scope;
  static constexpr auto fields() {
    return field_list(&CacheWriteStep::stage, &CacheWriteStep::scope);
  }
};
struct RfactorStep {
  static constexpr std::string_view tag = "RF";
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
  std::int32_t stage;
  LengthList blocks;
  IdList order;
  std::int64_t pad_elements = 0;
  static constexpr auto fields() {
    return field_list(&StorageLayoutStep::stage, &StorageLayoutStep::blocks,
                      &StorageLayoutStep::order, &StorageLayoutStep::pad_elements);
  }
};

using Step =
    std::variant<AnnotationStep, FuseStep, PragmaStep, ReorderStep, SplitStep, FollowSplitStep,
                 FollowFusedSplitStep, StorageAlignStep, ComputeAtStep, ComputeInlineStep,
                 ComputeRootStep, CacheReadStep, CacheWriteStep, RfactorStep, StorageLayoutStep>;

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

/// Whether a step inserts a stage in front of later ones (cache read, cache write, rfactor).
inline bool adds_stage(const Step& step) {
  return std::holds_alternative<CacheReadStep>(step) ||
         std::holds_alternative<CacheWriteStep>(step) || std::holds_alternative<RfactorStep>(step);
}

/// The id that stage `id` has after `step`. A cache read inserts its stage behind the one that it
/// names, the others in front of it.
inline std::int32_t stage_after(const Step& step, std::int32_t id) {
  const std::int32_t first = stage_of(step) + (std::holds_alternative<CacheReadStep>(step) ? 1 : 0);
  return adds_stage(step) && id >= first ? id + 1 : id;
}

}  // namespace tensorsmith
