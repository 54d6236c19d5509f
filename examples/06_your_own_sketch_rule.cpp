// SPDX-License-Identifier: Apache-2.0
// Lesson 6: add a rule of your own to the rules of the search.
//
// A rule looks at one stage of a half-made schedule and derives new ones from it; tile sizes stay
// open, the search fills them in. This one copies the input that stands right before a matrix-like
// stage into local memory, tile by tile:
//   C[i, j] += A[i, k] * B[k, j]  -->  B.local = B at k.0 of C;  C[i, j] += A[i, k] * B.local[k, j]
// requires: llvm json
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/tensorsmith.hpp"

namespace ts = tensorsmith;

struct CopyLastInput {
  static constexpr const char* name() { return "copy_last_input"; }

  ts::Applicability applicability(const ts::RuleInput& input) const {
    const bool follows_input =
        input.stage > 0 &&
        input.state.stage(static_cast<std::size_t>(input.stage) - 1).is_placeholder;
    const bool applies = follows_input && ts::needs_tiling(input.analysis, input.stage) &&
                         !ts::has_cache_write(input.state, input.stage);
    // `apply`: the rules behind this one are asked as well.
    return applies ? ts::Applicability::apply : ts::Applicability::skip;
  }

  std::vector<ts::Derivation> expand(const ts::RuleInput& input) const {
    ts::State state = input.state;
    const auto num_spatial = ts::tile_stage(state, input.stage, "SSRSRS").size();
    // The copy takes the stage's id, and the stage moves up by one.
    ts::grow(state, ts::CacheReadStep{input.stage - 1, "local", {input.stage}});
    const std::int32_t copy = input.stage, reader = input.stage + 1;
    // i.0 j.0 i.1 j.1 k.0 | i.2 j.2 k.1 i.3 j.3: at the first reduction loop.
    ts::grow(state, ts::ComputeAtStep{copy, reader, static_cast<std::int32_t>(2 * num_spatial)});
    return {ts::Derivation{std::move(state), input.stage - 1}};  // the copy is done, B is next
  }
};
static_assert(ts::SketchRule<CopyLastInput>);

static bool is_made_by_rule(const std::vector<ts::Step>& steps) {
  const auto copies = [](const ts::Step& step) { return ts::tag_of(step) == "CHR"; };
  return std::any_of(steps.begin(), steps.end(), copies);
}

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int main() {
  ts::ops::GemmParams params;
  params.m = 64, params.n = 64, params.k = 64;
  const ts::ops::Workload gemm = ts::ops::gemm(params);
  const char* journal = "example_06_journal.jsonl";
  std::remove(journal);

  int num_sketches = 0, num_own_sketches = 0;
  ts::TuneOptions options;
  options.budget = {0, 32};
  options.round_size = 32;  // one round, so all are drawn at random from all sketches
  options.database = journal;
  options.space = "ansor";  // its way to fill in tile sizes: any that divide, without preference
  options.sketches = [&](const auto& dag, const ts::SketchOptions& sketch_options) {
    const auto rules = ts::ansor_cpu_rules().preceded_by(CopyLastInput{});
    std::vector<ts::State> sketches = ts::generate_sketches(dag, rules, sketch_options);
    for (const ts::State& sketch : sketches) {
      ++num_sketches;
      if (is_made_by_rule(sketch.steps())) {
        ++num_own_sketches;
        std::printf("%s\n", ts::state_text(sketch).c_str());
      }
    }
    return sketches;
  };
  const ts::TuneResult result = ts::tune({gemm.dag, ts::host_target(), gemm.name}, options);
  require(num_own_sketches == 1 && num_sketches > 1, "one sketch more than without the rule");
  require(result.has_best(), "a candidate is right and measured");

  const auto contents = ts::read_journal(journal);
  require(contents.has_value(), "the journal can be read");
  std::size_t num_own = 0;
  for (const ts::Record& record : contents->records) {
    num_own += record.is_ok() && record.is_verified && is_made_by_rule(record.steps) ? 1 : 0;
  }
  std::printf("%zu of %zu trials came from the rule and are right; the best %s one of them\n",
              num_own, contents->records.size(), is_made_by_rule(result.steps) ? "is" : "is not");
  require(num_own > 0, "the rule's sketches are tuned");
  std::remove(journal);
}
