// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/schedule_error.hpp"

#include <set>

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/explain_error.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Code = ScheduleErrorCode;

namespace {

std::set<Code>& seen() {
  static std::set<Code> codes;
  return codes;
}

/// The last of `steps` is refused with `code`; those before it are legal.
void refused(Code code, const DagPtr& dag, const std::vector<Step>& steps) {
  INFO(name_of(code));
  State state = State::initial(dag);
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const StepCheck error = try_apply(state, steps[i]);
    if (error) {
      FAIL("step " << i << ": " << explain(*error, state));
    }
  }
  const std::string before = state_text(state);
  const StepCheck error = try_apply(state, steps.back());
  REQUIRE(error);
  CHECK(name_of(error->code) == name_of(code));
  CHECK(error->step == static_cast<std::int32_t>(steps.size()) - 1);
  CHECK(state_text(state) == before);
  CHECK(explain(*error, state).find('%') == std::string::npos);
  seen().insert(error->code);
}

void no_bounds(Code code, const DagPtr& dag, const std::vector<Step>& steps) {
  INFO(name_of(code));
  State state = State::initial(dag);
  for (const Step& step : steps) {
    REQUIRE(!try_apply(state, step));
  }
  const auto result = infer_bounds(state);
  REQUIRE(!result);
  CHECK(name_of(result.error().code) == name_of(code));
  CHECK(explain(result.error(), state).find('%') == std::string::npos);
  seen().insert(result.error().code);
}

SplitStep split(std::int32_t stage, std::int32_t iterator, const LengthList& lengths) {
  return {stage, iterator, 0, lengths, true};
}

}  // namespace

TEST_CASE("every illegal step has its own error") {
  const DagPtr chain = chain_dag();             // A, B, C
  const DagPtr matmul = matmul_dag(16, 8, 32);  // A, B, C
  const DagPtr two = two_output_dag();          // A, S, D
  te::Program rank_0;
  const auto one = rank_0.placeholder("A", {});
  const DagPtr scalar = rank_0.dag({one, rank_0.compute("B", {}, [&]() { return one() + 1; })});

  refused(Code::stage_out_of_range, chain, {split(3, 0, {2})});
  refused(Code::stage_out_of_range, chain, {CacheReadStep{-1, "local", {1}}});
  refused(Code::stage_is_placeholder, chain, {split(0, 0, {2})});
  refused(Code::iterator_out_of_range, chain, {split(1, 2, {2})});
  refused(Code::iterator_out_of_range, chain, {FuseStep{1, {1, 2}}});

  refused(Code::annotation_unknown, chain, {AnnotationStep{1, 0, Annotation::none}});
  refused(Code::annotation_unknown, chain, {AnnotationStep{1, 0, static_cast<Annotation>(12)}});
  refused(Code::annotation_tensorize, chain, {AnnotationStep{1, 0, Annotation::tensorize}});
  refused(Code::annotation_already_set, chain,
          {AnnotationStep{1, 0, Annotation::unroll}, AnnotationStep{1, 0, Annotation::parallel}});
  refused(Code::annotation_needs_spatial, matmul, {AnnotationStep{2, 2, Annotation::vectorize}});

  refused(Code::fuse_no_iterators, matmul, {FuseStep{2, {}}});
  refused(Code::fuse_not_consecutive, matmul, {FuseStep{2, {0, 2}}});
  refused(Code::fuse_not_consecutive, matmul, {FuseStep{2, {1, 0}}});
  refused(Code::fuse_attach_point, chain, {ComputeAtStep{1, 2, 0}, FuseStep{2, {0, 1}}});
  refused(Code::fuse_too_large, chain,
          {split(1, 0, {1 << 30, 1 << 30, 1 << 30}), FuseStep{1, {1, 2, 3}}});
  refused(Code::pragma_unknown, chain, {PragmaStep{1, 0, "unroll everything"}});
  refused(Code::pragma_value, chain, {PragmaStep{1, 0, "auto_unroll_max_step$many"}});
  refused(Code::pragma_value, chain, {PragmaStep{1, 0, "auto_unroll_max_step"}});
  refused(Code::pragma_value, chain, {PragmaStep{1, 0, "auto_unroll_max_step$4294967296"}});
  for (const char* text :
       {"prefetch", "prefetch$0$8", "prefetch$0$8$1$1", "prefetch$0$x$1", "prefetch$0$1025$1",
        "prefetch$0$8$0", "prefetch$0$8$4", "prefetch_block", "prefetch_block$0",
        "prefetch_block$0$4", "prefetch_block$0$1$1"}) {
    refused(Code::pragma_prefetch, chain, {PragmaStep{1, 0, text}});
  }
  for (const char* text : {"unroll_reduction", "unroll_reduction$0", "unroll_reduction$17",
                           "row_block", "row_block$0", "row_block$17", "row_block$2$2"}) {
    refused(Code::pragma_value, chain, {PragmaStep{1, 0, text}});
  }
  for (const char* text : {"tensorize", "tensorize$"}) {
    refused(Code::pragma_tensorize, chain, {PragmaStep{1, 0, text}});
  }
  for (const char* text : {"tensorizer$vdpbf16ps", "prefetched$0$8$1", "row_blocks", "$4", ""}) {
    refused(Code::pragma_unknown, chain, {PragmaStep{1, 0, text}});
  }
  refused(Code::reorder_wrong_count, chain, {ReorderStep{1, {0}}});
  refused(Code::reorder_not_permutation, chain, {ReorderStep{1, {1, 1}}});

  refused(Code::split_no_lengths, chain, {split(1, 0, {})});
  refused(Code::split_length_not_positive, chain, {split(1, 0, {4, 0})});
  refused(Code::split_length_too_large, chain, {split(1, 0, {std::int64_t{1} << 40})});
  refused(Code::split_length_too_large, chain,
          {split(1, 0, {1 << 20, 1 << 20}), FollowSplitStep{2, 0, 0, 1}});
  refused(Code::split_of_special, scalar, {FuseStep{1, {}}, split(1, 0, {2})});
  refused(Code::follow_source_out_of_range, chain, {FollowSplitStep{1, 0, 0, 1}});
  refused(Code::follow_source_not_split, chain,
          {ComputeInlineStep{1}, FollowSplitStep{2, 0, 0, 1}});
  refused(Code::follow_part_count, chain, {split(1, 0, {4, 2}), FollowSplitStep{2, 0, 0, 4}});
  refused(Code::follow_part_count, chain, {split(1, 0, {4, 2}), FollowSplitStep{2, 0, 0, 0}});
  refused(Code::follow_level_out_of_range, chain,
          {split(1, 0, {4, 2}), FollowFusedSplitStep{2, 0, {0}, 2, true}});
  refused(Code::storage_align_factor, chain, {StorageAlignStep{1, 0, 0, 4}});

  refused(Code::compute_at_target_out_of_range, chain, {ComputeAtStep{1, 3, 0}});
  refused(Code::compute_at_target_iterator, chain, {ComputeAtStep{1, 2, 2}});
  refused(Code::compute_at_target_iterator, chain, {ComputeAtStep{1, 0, 0}});
  refused(Code::compute_at_target_inlined, matmul,
          {CacheReadStep{0, "local", {2}}, ComputeInlineStep{1}, CacheReadStep{2, "local", {3}},
           ComputeAtStep{3, 1, 0}});
  refused(Code::compute_at_cycle, chain, {ComputeAtStep{1, 1, 0}});
  refused(Code::compute_at_cycle, matmul,
          {CacheWriteStep{2, "local"}, ComputeAtStep{2, 3, 0}, ComputeAtStep{3, 2, 0}});
  refused(Code::compute_at_output, chain, {ComputeAtStep{2, 1, 0}});
  refused(Code::inline_output, chain, {ComputeInlineStep{2}});
  refused(Code::inline_reduction, matmul, {CacheWriteStep{2, "local"}, ComputeInlineStep{2}});
  {
    te::Program p;
    auto A = p.placeholder("A", {4});
    auto P = p.compute_all("P", {4}, [&](auto i) {
      return std::vector<te::Expr>{A(i) + 1, A(i) * 2};
    });
    auto D = p.compute("D", {4}, [&](auto i) { return P[0](i) + P[1](i); });
    refused(Code::inline_multi_output, p.dag({A, D}), {ComputeInlineStep{1}});
  }
  refused(Code::inline_attach_point, matmul,
          {CacheReadStep{0, "local", {2}}, CacheReadStep{1, "local", {3}}, ComputeAtStep{1, 2, 0},
           ComputeInlineStep{2}});

  refused(Code::cache_scope_empty, matmul, {CacheReadStep{0, "", {2}}});
  refused(Code::cache_scope_empty, matmul, {CacheWriteStep{2, ""}});
  refused(Code::cache_read_no_readers, matmul, {CacheReadStep{0, "local", {}}});
  refused(Code::cache_read_not_a_reader, matmul, {CacheReadStep{0, "local", {1}}});
  refused(Code::cache_read_not_a_reader, matmul, {CacheReadStep{0, "local", {7}}});
  {
    te::Program p;
    auto A = p.placeholder("A", {4}), B = p.placeholder("B", {4});
    auto P = p.compute("P", {6}, [&](auto i) {  // reads A[-1] if nothing holds it back
      return te::if_then_else(i >= 1 && i < 5, A(i - 1), 0);
    });
    auto D = p.compute("D", {4}, [&](auto i) { return B(i) + B(3 - i) + P(i); });
    const DagPtr dag = p.dag({A, B, D});
    refused(Code::cache_read_no_patches, dag, {CacheReadStep{1, "patches", {2}}});
    refused(Code::cache_read_no_patches, dag, {CacheReadStep{0, "patches", {3}}});
  }
  refused(Code::cache_read_no_lanes, matmul, {CacheReadStep{0, "lanes", {2}}});
  refused(Code::factor_sum, matmul, {FactorSumStep{2, {0}, {2}}});
  {
    te::Program p;
    auto A = p.placeholder("A", {4, 3});
    auto k = p.reduce_axis("k", 3);
    auto D = p.compute("D", {4}, [&](auto i) { return te::sum(A(i, k) * 2, {k}); });
    refused(Code::factor_sum_transformed, p.dag({A, D}),
            {split(1, 0, {2}), FactorSumStep{1, {0}, {1}}});
  }
  refused(Code::cache_write_transformed, matmul, {split(2, 0, {4}), CacheWriteStep{2, "local"}});
  refused(Code::cache_write_multi_output, two, {CacheWriteStep{1, "local"}});

  refused(Code::rfactor_no_split, matmul, {RfactorStep{2, 2, 2}});
  refused(Code::rfactor_no_split, matmul,
          {split(2, 2, {4}), AnnotationStep{2, 0, Annotation::unroll}, RfactorStep{2, 2, 2}});
  refused(Code::rfactor_split_parts, matmul, {split(2, 2, {4, 2}), RfactorStep{2, 2, 2}});
  refused(Code::rfactor_touches_spatial, matmul, {split(2, 1, {4}), RfactorStep{2, 1, 2}});
  refused(Code::rfactor_not_split_part, matmul, {split(2, 2, {4}), RfactorStep{2, 0, 2}});
  refused(Code::rfactor_axis_out_of_range, matmul, {split(2, 2, {4}), RfactorStep{2, 2, 3}});
  refused(Code::rfactor_transformed, matmul,
          {split(2, 0, {4}), split(2, 3, {4}), RfactorStep{2, 3, 2}});

  refused(Code::expand_terms, matmul, {ExpandReductionStep{2}});  // 512 terms
  refused(Code::expand_terms, chain, {ExpandReductionStep{1}});
  refused(Code::expand_transformed, matmul_dag(4, 4, 3),
          {split(2, 0, {4}), ExpandReductionStep{2}});

  refused(Code::layout_of_argument, matmul, {StorageLayoutStep{2, {0, 0}, {0, 2}, 0}});
  const Step cached = CacheReadStep{0, "local", {2}};
  refused(Code::layout_rank, matmul, {cached, StorageLayoutStep{1, {4}, {0, 1}, 0}});
  refused(Code::layout_block_not_positive, matmul,
          {cached, StorageLayoutStep{1, {-4, 0}, {0, 2}, 0}});
  refused(Code::layout_order, matmul, {cached, StorageLayoutStep{1, {4, 0}, {0, 2}, 0}});
  refused(Code::layout_order, matmul, {cached, StorageLayoutStep{1, {4, 0}, {0, 2, 3}, 0}});
  refused(Code::layout_order, matmul, {cached, StorageLayoutStep{1, {4, 0}, {0, 1, 1}, 0}});
  refused(Code::layout_padding, matmul, {cached, StorageLayoutStep{1, {0, 0}, {0, 2}, -1}});

  no_bounds(Code::bounds_not_concrete, chain, {split(1, 0, {unknown_length})});
  no_bounds(
      Code::bounds_consumer_outside, matmul,
      {CacheReadStep{0, "local", {2}}, CacheReadStep{2, "local", {3}}, ComputeAtStep{1, 3, 0}});
  no_bounds(
      Code::bounds_consumer_outside, chain,
      {CacheReadStep{1, "local", {2}}, CacheReadStep{2, "local", {3}}, ComputeAtStep{3, 1, 0}});
  {
    te::Program p;
    auto A = p.placeholder("A", {4});
    auto M = p.compute("M", {4}, [&](auto i) { return A(i) + 1; });
    te::ComputeOptions constant;
    constant.attrs.const_matrix = true;
    auto K = p.compute(
        "K", {4}, [&](auto i) { return M(i) * 2; }, constant);
    auto D = p.compute("D", {4}, [&](auto i) { return A(i) + K(i); });
    no_bounds(Code::bounds_no_consumer, p.dag({A, D}),
              {ComputeInlineStep{2}, ComputeAtStep{1, 3, 0}});
  }

  for (std::size_t code = 0; code < num_schedule_errors; ++code) {
    INFO("no test for " << name_of(static_cast<Code>(code)));
    CHECK(seen().count(static_cast<Code>(code)) == 1);
  }
}

TEST_CASE("explain names stage, iterator and step") {
  State state = State::initial(chain_dag());
  REQUIRE(!try_apply(state, AnnotationStep{1, 1, Annotation::unroll}));
  const StepCheck error = try_apply(state, AnnotationStep{1, 1, Annotation::vectorize});
  REQUIRE(error);
  CHECK(explain(*error, state) ==
        "step 1: iterator 1 (j) of stage 1 (B) already carries annotation 1");
  CHECK(explain(ScheduleError{Code::stage_out_of_range, -1, -1, 9}, state) ==
        "there is no stage 9");
}
